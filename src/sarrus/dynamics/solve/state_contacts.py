"""`StateContactTable`: contacts, stops and dry friction of one workspace, for the kernel of forces at a state."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import contact_elements, contact_gaps, contact_motion_function
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import LIFT, STILL
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import contact_forces, contact_problem

if TYPE_CHECKING:
    from sarrus.dynamics.solve.workspace import Workspace

_PLACE = la.Table.places["contact_table"]


class StateContactTable:
    """The arrays of one workspace, and the call of the kernel. ``asked`` of all blocks are zero between calls."""

    def __init__(self, work: Workspace) -> None:
        self.work, self.elements = work, contact_elements(work)
        self.has_flanks = any(one.opposite_flank >= 0 for one in self.elements)
        contacts, limits, dry = work.equations.friction_contacts, joint_limits(work), dry_friction(work)
        size, widths = work.characteristic, [len(contact.row_names) for contact in contacts]
        sizes = [*widths, *[1] * len(limits.names)]
        table = self._table = tl.ContactTable.zeros()
        table.contacts, table.contact_rows = len(contacts), sum(widths)
        table.stops, table.dry = len(limits.names), len(dry.names)
        settings, problem, blocks = tl.ContactSettings.zeros(), cp.ContactProblem.zeros(), len(self.elements)
        settings.stick_speed, settings.force = STILL * size.length, LIFT * size.mass
        singles = [1] * (table.stops + table.dry)
        turning = size.columns[[*limits.rates, *dry.rates]] == 1.0
        coefficients = np.zeros((2, len(sizes)))
        for k, contact in enumerate(contacts):
            coefficients[:, k] = contact.friction_coefficient, contact.static_coefficient
        self._lightness = np.zeros(work.nv)
        arrays = {
            "sizes": np.array(sizes, dtype=np.int64),
            "first_rows": np.array([*accumulate(sizes, initial=0)], dtype=np.int64),
            "widths": np.array([*(n - k for n in widths for k in range(n)), *singles], dtype=np.int64),
            "coordinates": limits.places.astype(np.int64),
            "speeds": np.array([*limits.rates, *dry.rates], dtype=np.int64),
            "signs": -limits.signs,
            "scales": np.where(turning, 1.0 / size.length, 1.0),
            "bounds": limits.bounds,
            "friction": coefficients[0],
            "static": coefficients[1],
            "limits": dry.limits,
            "lightness": self._lightness,
            "settings": settings,
            "problem": problem,
        }  # fmt: skip
        rows, nv = tl.fixed_rows(table), work.nv
        lengths = tl.contact_sizes(table, work.nq, nv, la.input_size(work.table))
        room = np.zeros(sum(lengths))
        for name, array in (arrays | {"work": room}).items():
            setattr(table, name, array)
        own = view_fields(room, lengths)
        problem_sizes = np.zeros(blocks, dtype=np.int64)
        problem.sizes, problem.numbers, problem.delassus = problem_sizes, own.numbers, own.delassus
        problem.velocities, problem.forces, problem.work = own.given, own.impulses, own.solver
        table.inner, table.solver = work.acceleration_kernel.address, contact_problem.address
        if contacts:
            functions = contact_gaps(work), contact_motion_function(work)
            table.gaps, table.motion = functions[0].address, functions[1].address
            arrays["functions"] = functions
        self.asked, self._given = np.zeros(blocks, dtype=np.int64), sl.StateContacts.zeros()
        self._answer, more = (
            np.zeros(sum(sl.answer_sizes(table, rows, nv))),
            np.zeros(sum(sl.room_sizes(rows, nv))),
        )
        order, units = np.zeros(rows + 1, dtype=np.int64), np.array([one.unit for one in self.elements])
        reach = np.array([one.reach for one in self.elements])
        given = self._given
        given.contact_table, given.asked, given.units, given.reach = table, self.asked, units, reach
        given.order, given.answer, given.room = order, self._answer, more
        self._nothing = self.view(self._answer)
        self.directions = self._nothing.directions
        self._before_delassus = len(self._answer) - rows * rows
        self._kept = arrays, room, problem_sizes, more, order, units, reach
        self._at = table.ctypes.data
        self._call = contact_forces.entry
        self._places = work.table.ctypes.data, given.ctypes.data

    def view(self, answer: Array) -> sl.StateAnswer:
        """Return the arrays of an answer by name."""
        found: sl.StateAnswer = view_fields(
            answer, sl.answer_sizes(self._table, tl.fixed_rows(self._table), self.work.nv)
        )
        return found

    def find(self) -> tuple[int, sl.StateAnswer]:
        """Return how the kernel ended at the state in the x of the workspace, and a copy of its answer."""
        work, table = self.work, self.work.table
        before = table[_PLACE]
        table[_PLACE] = self._at
        try:
            code = self._call(*self._places, 0)
            if code == sl.NO_FACTOR:
                self._lightness[:] = lightness(work, work.x[work.parts.q], float(work.x[work.parts.t]))
                code = self._call(*self._places, 1)
        finally:
            table[_PLACE] = before
        if code == sl.IDLE:
            return code, self._nothing
        m = int(self._nothing.facts.rows)
        return code, self.view(self._answer[: self._before_delassus + m * m].copy())
