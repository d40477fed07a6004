"""Discontinuous functions of time: jumps between two times, and the time just after a jump."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.tolerances import SIDE_OF_INSTANT, SMOOTH_SPEED


def jumps(values: Callable[[float], Array], before: float, after: float) -> NDArray[np.bool_]:
    """Return a mask of the values that jump between two times: their change exceeds rounding and smooth changes."""
    one, other, width = values(before), values(after), after - before
    smooth = np.abs(values(before - width) - one) + np.abs(values(after + width) - other)
    found: NDArray[np.bool_] = (
        np.abs(other - one) > SMOOTH_SPEED * np.maximum(np.abs(one), np.abs(other)) + 4.0 * smooth
    )
    return found


def behind_jump(system: Evaluations, q: Array, t: float) -> float:
    """Return t, or a time just after t [s] if the prescribed speed b(q, t) of a row jumps at t."""
    e = system.equations
    moves = system.model.cached("moves in time", lambda: bool(ca.depends_on(e.velocity_residual, e.t)))
    if not moves:
        return t
    still, side = np.zeros(system.nv), SIDE_OF_INSTANT * float(np.spacing(max(abs(t), 1.0)))

    def speeds(time: float) -> Array:
        return system.velocity_residual(q, still, time)

    return t + side if jumps(speeds, t - side, t + side).any() else t
