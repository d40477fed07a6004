"""Closures assembled the wrong way round: parallel axes that point in opposite directions.

Rows n1 and n2 of a closure vanish for opposite axes too (see `sarrus.multibody.closures`), so a descent on
the residual may end there. No motion leads from such an assembly to the one that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sarrus.mechanism.elements import CLOSURE_ROWS, WORLD
from sarrus.mechanism.pose import Array

if TYPE_CHECKING:
    from sarrus.system import System


def flipped(system: System, q: Array) -> tuple[str, ...]:
    """Return the names of the closures with rows n1, n2 whose axes point in opposite directions at q."""
    if system.mechanism is None:
        return ()
    closures = [c for c in system.mechanism.closures.values() if "n1" in CLOSURE_ROWS[c.kind]]
    if not closures:
        return ()
    _, rotations = system.body_placements(q)
    turn = {WORLD: np.eye(3), **dict(zip(system.mechanism.bodies, rotations))}
    return tuple(c.name for c in closures if (turn[c.body1] @ c.axis1) @ (turn[c.body2] @ c.axis2) < 0.0)


def half_turns(system: System, q: Array, names: tuple[str, ...], t: float, free: Array) -> Iterator[Array]:
    """Yield steps (nv,) of the ``free`` velocities that turn the axes of the named closures round.

    Each is the least step that turns one of them, or in the end all, by π about a normal, to either side, and
    that holds, to first order, all other rows. Where joints cannot turn them the step does not either.
    """
    rows = [system.constraint_names.index(f"{name}.{row}") for name in names for row in ("n1", "n2")]
    inverse = np.linalg.pinv(system.constraint_jacobian(q, t) * free, rcond=1e-6)[:, rows]
    columns = list(inverse.T)
    if len(names) > 1:
        columns += [inverse[:, normal::2].sum(axis=1) for normal in (0, 1)]
    for column in columns:
        for angle in (np.pi, -np.pi):
            step = angle * free * column
            yield step * min(1.0, np.pi / max(float(np.abs(step).max()), 1e-300))
