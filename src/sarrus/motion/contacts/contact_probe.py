"""`ContactProbe`: gaps, velocities, Delassus matrix W, accelerations of contacts, stops and dry friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.contacts.contact_elements import contact_elements, contact_names
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.impacts.collisions import ImpactBlocks
from sarrus.dynamics.solve.accelerate import without_forces
from sarrus.dynamics.solve.state_contacts import StateContactTable
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING
from sarrus.kernels.memory.state_contacts_layout import NOT_FINITE, StateAnswer
from sarrus.kernels.platform.c_function import mode_probe
from sarrus.motion.contacts.slip_directions import Beginning, Rubbing, first_directions

if TYPE_CHECKING:
    from sarrus.dynamics.optimize.contact_problem import ContactSolution
    from sarrus.motion.loop.contact_run import ContactRun
    from sarrus.motion.loop.time_loop import TimeLoop


class ContactProbe(ImpactBlocks):
    """Data of the kernel on the present state of a run. Blocks are contacts, then stops, then dry frictions."""

    def __init__(self, loop: TimeLoop, contact_run: ContactRun) -> None:
        super().__init__(loop.system)
        self.loop, self.contact_run = loop, contact_run
        self._table: Any = None  # `StateContactTable`, once used
        self._near: Any = None  # what was known of the constraints then

    @property
    def restitution(self) -> Array:
        """Coefficients of restitution of the unilateral blocks."""
        return self.contact_run.restitution

    @property
    def velocity(self) -> Array:
        """Velocities of all rows at the state of the last `look`, a view."""
        return self.contact_run.work.velocity

    @property
    def rest(self) -> Array:
        """Speeds [m/s, rad/s] below which the blocks stay closed after an impact."""
        settings, length = self.contact_run.settings, self.loop.system.characteristic.length
        return np.where(self.units == length, settings.rest_speed, settings.rest_turn)

    def look(self, rows: list[int]) -> int:
        """Evaluate gaps and velocities of all rows, and W and the accelerations of ``rows``, at the present state.

        Negative if a number is not finite.
        """
        work = self.contact_run.work
        work.which[: len(rows)] = rows
        self.note_speed(self.loop.v)
        return mode_probe(self.loop.table, self.loop.x, len(rows))

    def delassus(self, m: int) -> Array:
        """Return the Delassus matrix W (m, m) of the m rows of the last `look`."""
        return self.contact_run.work.delassus[: m * m].reshape(m, m)

    def friction(self, k: int) -> float:
        """Return the coefficient of sliding friction of a unilateral block."""
        return self.contact_run.friction[k] if k < self.contacts else 0.0

    def answer(
        self,
        delassus: Array,
        which: Sequence[int],
        given: Array,
        contacts: list[tuple[int, float]],
        dry: list[tuple[int, float]],
    ) -> ContactSolution:
        """Return the answer to the contact problem of the rows ``which``; raises `SolveError` if there is none."""
        return self.contact_run.answer(delassus, which, given, contacts, dry)

    def change(self, rows: list[int], found: Array) -> Array:
        """Return the change of velocity (nv,) by impulses on rows of the last `look`."""
        nv, contact_run = self.loop.system.nv, self.contact_run
        responses = contact_run.work.response[: len(contact_run.names) * nv].reshape(-1, nv)[rows]
        return np.asarray((found[:, None] * responses).sum(axis=0))

    def push(self, change: Array) -> None:
        """Add a change (nv,) to the velocity of the state."""
        self.loop.v[:] += change

    def move(self, change: Array) -> None:
        """Move the position of the state by δ (nv,)."""
        self.loop.q[:] = self.loop.system.move(self.loop.q.copy(), change)

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

    def forces(self, asked: list[int], directions: Array) -> tuple[int, StateAnswer]:
        """Return how the kernel of forces at a state ended, and its answer, see `StateContactTable.find`."""
        system = self.loop.system
        if self._table is None or self._near is not system.near:
            own = system.copy()  # ranks and answers of the run stay as they are
            own.load_functions("dynamics", "checked", "position", "velocity")
            self._table, self._near = (
                StateContactTable(own, contact_elements(own), contact_names(own)),
                system.near,
            )
        if self.look([0]) < 0:
            return NOT_FINITE, self._table.view(np.zeros(0))
        self._table.work.x[:] = self.loop.x
        code, self._answer = self._table.find(asked, directions)
        return code, self._answer

    def shared_delassus(self, blocks: list[int]) -> Array:
        """Return W (m, m) of the rows of blocks in units, with the springs along normal forces of the last `forces`."""
        answer = self._answer
        rows = [int(answer.start[k]) + j for k in blocks for j in range(self.sizes[k])]
        return self._table.sprung[np.ix_(rows, rows)]

    def no_forces(self, code: int, answer: StateAnswer) -> SolveError:
        """Return the error that says why there are no forces."""
        found = without_forces(ContactForces(self._table.elements, self._table.names, answer), code)
        return found.status.error(self.loop.system.name, found.reason)
