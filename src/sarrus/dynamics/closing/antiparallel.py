"""Antiparallel closures: closures assembled with opposite instead of parallel axes.

Rows n1 and n2 of a closure vanish for opposite axes too (see `sarrus.symbolic.rows.closures`), so a descent on the
residual may end there. No motion leads from such an assembly to the modelled one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import CLOSURE_ROWS, WORLD

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


def antiparallel(system: Evaluations, q: Array, t: float) -> tuple[str, ...]:
    """Return the names of the closures with rows n1, n2 whose axes point in opposite directions at (q, t)."""
    if system.mechanism is None:
        return ()
    closures = [c for c in system.mechanism.closures.values() if "n1" in CLOSURE_ROWS[c.kind]]
    if not closures:
        return ()
    _, rotations = system.body_placements(q, t)
    turn = {WORLD: np.eye(3), **dict(zip(system.mechanism.bodies, rotations))}
    return tuple(c.name for c in closures if (turn[c.body1] @ c.axis1) @ (turn[c.body2] @ c.axis2) < 0.0)
