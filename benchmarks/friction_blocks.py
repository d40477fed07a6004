"""Friction forces in blocks, cones and balls, and their rows in cone programs.

A contact has a head, its normal force, and tails, its tangential forces: K = {‖tails‖ ≤ μ head}. Dry friction has tails
only: ‖tails‖ ≤ limit. Rows of one contact are consecutive, the head first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.cone_rows import ConeRows, stack


@dataclass(frozen=True, eq=False)
class Blocks:
    """The product of friction cones and of balls.

    Attributes
    ----------
    owner : (m,) the block of each row.
    head : (m,) mask of the normal forces.
    friction, limit : of each block; μ is zero for balls, the limit infinite for cones.
    """

    owner: np.ndarray
    head: np.ndarray
    friction: Array
    limit: Array

    @classmethod
    def of(cls, contacts: Sequence[tuple[int, float]], dry: Sequence[tuple[int, float]] = ()) -> Blocks:
        """Return the blocks of contacts, (rows, μ) each, and of dry friction, (rows, limit), whose rows come last."""
        sizes = [int(size) for size, _ in (*contacts, *dry)]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        head = np.zeros(len(owner), dtype=bool)
        head[np.cumsum([0, *sizes])[: len(contacts)]] = True
        friction = [*(float(mu) for _, mu in contacts), *(0.0 for _ in dry)]
        limit = [*(np.inf for _ in contacts), *(float(limit) for _, limit in dry)]
        return cls(owner, head, np.array(friction), np.array(limit))

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.friction)

    @property
    def cone(self) -> np.ndarray:
        """Mask of the blocks that are cones (count,)."""
        return np.isinf(self.limit)

    @property
    def idle(self) -> np.ndarray:
        """Mask (m,) of the rows without force: tails without friction."""
        stiff = np.where(self.cone, self.friction, self.limit)
        return np.asarray(~self.head & (stiff[self.owner] == 0.0))


def allowed_rows(along: Array, base: Array, blocks: Blocks) -> ConeRows:
    """Return the rows of x for admissible forces base + along x."""
    parts = []
    for k in range(blocks.count):
        mine = np.flatnonzero(blocks.owner == k)
        rows, offset, mu = along[mine], base[mine], blocks.friction[k]
        if not blocks.cone[k]:
            if blocks.limit[k] > 0.0:
                ball = np.vstack([np.zeros(along.shape[1]), -rows])
                parts.append(ConeRows(ball, np.append(blocks.limit[k], offset), 0, (len(ball),)))
        elif len(mine) == 1 or mu == 0.0:
            parts.append(ConeRows(-rows[:1], offset[:1], 1))
        else:
            weights = np.where(blocks.head[mine], mu, 1.0)
            parts.append(ConeRows(-weights[:, None] * rows, weights * offset, 0, (len(mine),)))
    return stack(parts)
