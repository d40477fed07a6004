"""`Survey`: gaps, velocities, responses and accelerations of contacts, stops and dry friction at a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.c_function import phase_survey
from sarrus.linalg import dense

if TYPE_CHECKING:
    from sarrus.simulation.time_loop import TimeLoop
    from sarrus.simulation.touching import Touches

# Normal velocities below this multiple of the largest one (or of 1 mm/s) are none.
SLOW = 1e-8


def slow_rate(rates: Array) -> float:
    """Return the normal velocity that is none among these."""
    return SLOW * max(1e-3, float(np.abs(rates).max(initial=0.0)))


class Survey:
    """What the kernel says of the present state of a run; blocks are contacts, then stops, then dry friction.

    ``first`` are the first rows of blocks and ``sizes`` their numbers; ``unilateral`` is that of those that only push.
    """

    def __init__(self, loop: TimeLoop, touches: Touches) -> None:
        self.loop, self.touches = loop, touches
        touching = touches.touching
        self.contacts, self.unilateral = touching.contacts, touching.contacts + touching.stops
        self.sizes = [*touches.rows_of_contacts, *([1] * (touching.stops + touching.dry))]
        self.first = np.concatenate([[0], np.cumsum(self.sizes)])

    def look(self, rows: list[int]) -> int:
        """Have the gaps and velocities of all rows, W and the accelerations of these rows at the present state.

        Negative where something is no number.
        """
        work = self.touches.work
        work.which[: len(rows)] = rows
        return phase_survey(self.loop.table, self.loop.x, len(rows))

    def rates(self) -> Array:
        """Return the normal velocities of those that only push."""
        return self.touches.work.velocity[self.first[: self.unilateral]].copy()

    def rows(self, blocks: list[int]) -> list[int]:
        """Return the rows of blocks."""
        return [row for k in blocks for row in range(self.first[k], self.first[k + 1])]

    def operator(self, m: int) -> Array:
        """Return W of the m rows that were looked at."""
        return self.touches.work.operator[: m * m].reshape(m, m)

    def surface(self, k: int) -> slice:
        """Return the rows of a block that have friction."""
        return slice(int(self.first[k]) + (k < self.unilateral), int(self.first[k + 1]))

    def slip(self, velocity: Array, k: int) -> float:
        """Return how fast a block slides."""
        return dense.norm(velocity[self.surface(k)])

    def friction(self, k: int) -> float:
        """Return the coefficient of sliding of a block that only pushes."""
        return self.touches.friction[k] if k < self.contacts else 0.0
