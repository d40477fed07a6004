"""MuJoCo's rows of connect and weld, which are in world axes, as the body that carries both ends sees them."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD

Array = NDArray[np.float64]


def seen_from_carrier(
    mechanism: Mechanism, name: str, model: mujoco.MjModel, data: mujoco.MjData, rows: Array, apart: Array
) -> tuple[Array, Array]:
    """Return the rows (3 × nv) and the distance d (3) of a closure in the axes R of the carrier.

    Rᵀd changes at the rate Rᵀ(ḋ − ω × d). Other rows follow the first three as they are.
    """
    closure = mechanism.closures[name]
    carrier = mechanism.carrier(closure.body1, closure.body2)
    if carrier == WORLD:
        return rows, apart
    body = list(mechanism.bodies).index(carrier) + 1
    spin = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, None, spin, body)
    axes, d = data.xmat[body].reshape(3, 3), apart[:3]
    seen = axes.T @ (rows[:3] - np.cross(spin.T, d).T)
    return np.vstack([seen, rows[3:]]), np.concatenate([axes.T @ d, apart[3:]])
