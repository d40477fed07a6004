"""`Survey`: gaps, velocities, Delassus matrix W and accelerations of contacts, stops and dry friction at a state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import touching_of
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.slip_onset import slip_onsets
from sarrus.kernels.contact.tolerances import STILL, still_speed
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING
from sarrus.kernels.platform.c_function import phase_survey
from sarrus.motion.contacts.slip_directions import Beginning, Rubbing, first_directions

if TYPE_CHECKING:
    from sarrus.motion.loop.contact_run import Touches
    from sarrus.motion.loop.time_loop import TimeLoop


class Survey:
    """Data of the kernel on the present state of a run. Blocks are contacts, then stops, then dry frictions.

    ``first`` are the first rows of the blocks and ``sizes`` their numbers of rows; the first ``unilateral`` blocks only
    push.
    """

    def __init__(self, loop: TimeLoop, touches: Touches) -> None:
        self.loop, self.touches = loop, touches
        touching = touches.touching
        self.contacts, self.unilateral = touching.contacts, touching.contacts + touching.stops
        self.sizes = [*touches.rows_of_contacts, *([1] * (touching.stops + touching.dry))]
        self.first = np.concatenate([[0], np.cumsum(self.sizes)])
        self.units = np.array([one.unit for one in touching_of(loop.system)])
        self._columns = loop.system.characteristic.columns
        self._still = STILL

    def look(self, rows: list[int]) -> int:
        """Evaluate gaps and velocities of all rows, and W and the accelerations of ``rows``, at the present state.

        Negative if a number is not finite.
        """
        work = self.touches.work
        work.which[: len(rows)] = rows
        speeds = np.abs(self._columns * self.loop.v)
        self._still = still_speed(float(np.maximum.reduce(speeds)) if len(speeds) else 0.0)
        return phase_survey(self.loop.table, self.loop.x, len(rows))

    def still(self, k: int) -> float:
        """Return the speed [m/s, rad/s] below which block k counts as at rest, at the state of the last `look`."""
        return self._still * self.units.item(k)

    @property
    def slow(self) -> Array:
        """Normal speeds [m/s, rad/s] below which the unilateral blocks count as at rest."""
        return self._still * self.units[: self.unilateral]

    def rates(self) -> Array:
        """Return the normal velocities [m/s, rad/s] of the unilateral blocks."""
        return self.touches.work.velocity[self.first[: self.unilateral]].copy()

    def rows(self, blocks: list[int]) -> list[int]:
        """Return the rows of blocks."""
        return [row for k in blocks for row in range(self.first[k], self.first[k + 1])]

    def operator(self, m: int) -> Array:
        """Return the Delassus matrix W (m, m) of the m rows of the last `look`."""
        return self.touches.work.operator[: m * m].reshape(m, m)

    def surface(self, k: int) -> slice:
        """Return the rows of a block that have friction, as a slice."""
        return slice(int(self.first[k]) + (k < self.unilateral), int(self.first[k + 1]))

    def slip(self, velocity: Array, k: int) -> float:
        """Return the slip speed of a block [m/s, rad/s]."""
        return dense.norm(velocity[self.surface(k)])

    def friction(self, k: int) -> float:
        """Return the coefficient of sliding friction of a unilateral block."""
        return self.touches.friction[k] if k < self.contacts else 0.0

    def first_directions(self, members: list[int], before: dict[int, Array]) -> list[Beginning] | None:
        """Return how contacts begin to slide; sticking ones start from the directions ``before``. None if no solution
        is found.
        """
        modes, directions = self.touches.modes, self.touches.directions
        closed = [k for k in range(self.unilateral) if modes[k] != OPEN]
        held = [k for k in range(self.unilateral, len(modes)) if modes[k] == STICKING]
        rows, at, start = self.rows([*closed, *held]), {}, 0
        for k in [*closed, *held]:
            at[k], start = slice(start, start + self.sizes[k]), start + self.sizes[k]
        if self.look(rows) < 0:
            return None
        sliding = [
            Rubbing(
                at[k],
                self.friction(k),
                before.get(k, directions[self.surface(k)].copy()),
                k in members,
            )
            for k in closed if k in members or modes[k] == SLIDING
        ]  # fmt: skip
        operator, given = self.operator(len(rows)), self.touches.work.given[: len(rows)]
        own, scales = np.diag(operator), np.ones(len(rows))
        for place in at.values():
            scales[place] = own[place].mean() or 1.0
        try:
            return first_directions(operator, given, self.touches.begun[rows], sliding, scales)
        except np.linalg.LinAlgError:
            return None

    def slip_onsets(self, blocks: list[int], a: Array) -> list[Array]:
        """Return the slip direction that each block begins with at the acceleration a; zero if the constraints
        hold it.
        """
        loop = self.loop
        system, q, t = loop.system.copy(), loop.q.copy(), loop.time  # ranks of the run stay as they are
        answer = partial(forward_dynamics, system, q, t=t, throw=False, may_be_open=True)
        return slip_onsets(system, q, loop.v.copy(), a, t, [touching_of(system)[k] for k in blocks], answer)
