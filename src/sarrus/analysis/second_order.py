"""Directions in which motion goes on to second order, where A has lost rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus import dense
from sarrus.mechanism.pose import Array

if TYPE_CHECKING:
    from sarrus.system import System

_ITERATIONS = 30
# What is left of the quadratic forms, relative to their size, when a direction counts as one of those asked for.
_ZERO = 1e-9


def passable(system: System, q: Array, t: float, tangent: Array, left_null: Array, x: Array) -> Array | None:
    """Return a unit motion near x = tangentᵀ y with uᵀγ(x) = 0 for all u in ``left_null``, None where none is found.

    A motion with velocity x needs an acceleration with A a + γ(x) = 0, hence uᵀγ(x) = 0 wherever uᵀA = 0: quadratic
    forms, whose common zeros Gauss–Newton steps approach from y. ``tangent`` has the motions by rows, ``left_null``
    (nh × l) the combinations of holonomic rows that vanish at q.
    """
    still = system.constraint_bias(q, np.zeros(system.nv), t)

    def forms(y: Array) -> Array:
        v = dense.product(tangent.T, y)
        there, back = system.constraint_bias(q, v, t), system.constraint_bias(q, -v, t)
        return dense.product(left_null.T, (0.5 * (there + back) - still)[: len(left_null)])

    y = dense.product(tangent, x)
    y /= dense.norm(y)
    unit = np.eye(len(y))
    size = max(dense.norm(forms(a + b)) for a in unit for b in unit)
    for _ in range(_ITERATIONS):
        value = forms(y)
        if dense.norm(value) <= _ZERO * size:
            return dense.product(tangent.T, y)
        slope = np.stack([0.5 * (forms(y + e) - forms(y - e)) for e in unit], axis=1)
        slope -= np.outer(dense.product(slope, y), y)  # along the unit sphere
        step = -dense.product(dense.pseudoinverse(slope, 1e-9), value)
        y = y + step / max(1.0, 2.0 * dense.norm(step))
        y /= dense.norm(y)
    return None
