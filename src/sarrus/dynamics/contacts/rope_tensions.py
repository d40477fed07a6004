"""`rope_tensions`: the tensions of ropes from the forces on the rows of contacts."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.model.evaluations import Evaluations


def rope_tensions(system: Evaluations, x: Array, forces: Array) -> dict[str, Array]:
    """Return the forces (T,) [N] of limits of the lengths of tendons by name, zero or more.

    ``x`` (T, …) are states [q | v | u | t | p | τ], ``forces`` (T, …) the forces on the rows of all contacts. A rope
    with friction at a wrap has two tensions: NAME.1 before the wrap, T + G tanh(μθ/2), and NAME.2 behind it,
    T − G tanh(μθ/2), with the mean T and the grip G of its rows.
    """
    found = dict[str, Array]()
    rows = {one.name: one.rows.start for one in contact_elements(system) if one.rope}
    grips = grips_of(system, x)
    for name, row in rows.items():
        mean = forces[:, row]
        if name in grips:
            part = grips[name] * forces[:, row + 1]
            found[f"{name}.1"], found[f"{name}.2"] = (
                np.maximum(mean + part, 0.0),
                np.maximum(mean - part, 0.0),
            )
        else:
            found[name] = np.maximum(mean, 0.0)
    return found


def grips_of(system: Evaluations, x: Array) -> dict[str, Array]:
    """Return tanh(μθ/2) (T,) of the ropes with friction at a wrap by name, at states x (T, …)."""
    grips = {one.name: one.grip for one in system.equations.friction_contacts if one.grip is not None}
    if not grips:
        return {}
    native = system.compiled.named("grips of ropes", lambda: {"grips": ca.vertcat(*grips.values())})
    shares = native.evaluate_each(np.ascontiguousarray(x))["grips"].reshape(len(x), len(grips))
    return dict(zip(grips, shares.T))
