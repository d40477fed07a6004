"""`ContactProbe`: gaps, velocities, Delassus matrix W, accelerations of contacts, stops and dry friction."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import contact_elements
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.slip_onset import slip_onsets
from sarrus.kernels.contact.tolerances import STILL, still_speed
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING
from sarrus.kernels.platform.c_function import mode_probe
from sarrus.motion.contacts.slip_directions import Beginning, Rubbing, first_directions

if TYPE_CHECKING:
    from sarrus.motion.loop.contact_run import ContactRun
    from sarrus.motion.loop.time_loop import TimeLoop


class ContactProbe:
    """Data of the kernel on the present state of a run. Blocks are contacts, then stops, then dry frictions.

    ``first`` are the first rows of the blocks and ``sizes`` their numbers of rows; the first ``unilateral`` blocks only
    push.
    """

    def __init__(self, loop: TimeLoop, contact_run: ContactRun) -> None:
        self.loop, self.contact_run = loop, contact_run
        contact_table = contact_run.contact_table
        self.contacts, self.unilateral = contact_table.contacts, contact_table.contacts + contact_table.stops
        self.sizes = [*contact_run.rows_of_contacts, *([1] * (contact_table.stops + contact_table.dry))]
        self.first = np.array([one.rows.start for one in contact_elements(loop.system)], dtype=np.int64)
        self.units = np.array([one.unit for one in contact_elements(loop.system)])
        self._columns = loop.system.characteristic.columns
        self._still = STILL

    def look(self, rows: list[int]) -> int:
        """Evaluate gaps and velocities of all rows, and W and the accelerations of ``rows``, at the present state.

        Negative if a number is not finite.
        """
        work = self.contact_run.work
        work.which[: len(rows)] = rows
        speeds = np.abs(self._columns * self.loop.v)
        self._still = still_speed(float(np.maximum.reduce(speeds)) if len(speeds) else 0.0)
        return mode_probe(self.loop.table, self.loop.x, len(rows))

    def still(self, k: int) -> float:
        """Return the speed [m/s, rad/s] below which block k counts as at rest, at the state of the last `look`."""
        return self._still * self.units.item(k)

    @property
    def slow(self) -> Array:
        """Normal speeds [m/s, rad/s] below which the unilateral blocks count as at rest."""
        return self._still * self.units[: self.unilateral]

    def rates(self) -> Array:
        """Return the normal velocities [m/s, rad/s] of the unilateral blocks."""
        return self.contact_run.work.velocity[self.first[: self.unilateral]].copy()

    def rows(self, blocks: list[int]) -> list[int]:
        """Return the rows of blocks."""
        return [row for k in blocks for row in range(self.first[k], self.first[k] + self.sizes[k])]

    def delassus(self, m: int) -> Array:
        """Return the Delassus matrix W (m, m) of the m rows of the last `look`."""
        return self.contact_run.work.delassus[: m * m].reshape(m, m)

    def surface(self, k: int) -> slice:
        """Return the rows of a block that have friction, as a slice."""
        first = int(self.first[k])
        return slice(first + (k < self.unilateral), first + self.sizes[k])

    def slip(self, velocity: Array, k: int) -> float:
        """Return the slip speed of a block [m/s, rad/s]."""
        return dense.norm(velocity[self.surface(k)])

    def friction(self, k: int) -> float:
        """Return the coefficient of sliding friction of a unilateral block."""
        return self.contact_run.friction[k] if k < self.contacts else 0.0

    def first_directions(self, members: list[int], before: dict[int, Array]) -> list[Beginning] | None:
        """Return how contacts begin to slide; sticking ones start from the directions ``before``. None if no solution
        is found.
        """
        modes, directions = self.contact_run.modes, self.contact_run.directions
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
        delassus, given = self.delassus(len(rows)), self.contact_run.work.given[: len(rows)]
        own, scales = np.diag(delassus), np.ones(len(rows))
        for place in at.values():
            scales[place] = own[place].mean() or 1.0
        try:
            return first_directions(delassus, given, self.contact_run.start_forces[rows], sliding, scales)
        except np.linalg.LinAlgError:
            return None

    def slip_onsets(self, blocks: list[int], a: Array) -> list[Array]:
        """Return the slip direction that each block begins with at the acceleration a; zero if the constraints
        hold it.
        """
        loop = self.loop
        system, q, t = loop.system.copy(), loop.q.copy(), loop.time  # ranks of the run stay as they are
        answer = partial(forward_dynamics, system, q, t=t, throw=False, may_be_open=True)
        return slip_onsets(
            system, q, loop.v.copy(), a, t, [contact_elements(system)[k] for k in blocks], answer
        )
