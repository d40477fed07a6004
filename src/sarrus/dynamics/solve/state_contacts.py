"""`StateContactTable`: contacts, stops and dry friction of one workspace, for the kernel of forces at a state."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import ContactElement, contact_elements, contact_names
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.contact_state import ContactRowState, contact_row_state
from sarrus.dynamics.contacts.model_contacts import write_model_contacts
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.model.joint_limits import joint_limits
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import Kernel, choices, contact_forces, contact_problem, projection

if TYPE_CHECKING:
    from sarrus.dynamics.solve.workspace import Workspace

_MOTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_PLACE = la.Table.places["contact_table"]


def contacts_at(
    work: Workspace, q: Array, v: Array, t: float, found: ContactRowState | None = None
) -> StateContactTable:
    """Return the table of the contacts at a state; ``found`` are their rows there, if known.

    It is kept in the workspace; with geometries it is made anew where others touch than before.
    """
    table: StateContactTable | None = work.state_contacts
    if not work.contact_geometries:
        if table is None:
            table = work.state_contacts = StateContactTable(work, contact_elements(work), contact_names(work))
        return table
    found = contact_row_state(work, q, v, t) if found is None else found
    if table is None or table.names != found.names:
        table = work.state_contacts = StateContactTable(work, found.elements, found.names)
    table.load(found)
    return table


class StateContactTable:
    """The arrays of one workspace, and the calls of the kernel `sarrus.kernels.states.choices`.

    The kernel has contacts first, then stops, then dry friction, which is the order of ``elements``, and all rows of
    contacts before all others. The rows of ``elements`` and of answers are those of ``names``. ``contact_table`` is the
    table of the kernel, ``arrays`` its arrays by name, with units and reaches of the elements.
    """

    def __init__(self, work: Workspace, elements: tuple[ContactElement, ...], names: tuple[str, ...]) -> None:
        kinds = "contact", "stop", "friction"
        self._numbers = sorted(range(len(elements)), key=lambda k: kinds.index(elements[k].kind))
        self.work, self.names = work, names
        # the elements as given, and their numbers in the kernel
        self.given_elements, self.order = elements, np.argsort(self._numbers, kind="stable").tolist()
        self.support: Any = None  # `sarrus.dynamics.solve.support.SupportTable`, once used
        self.elements = tuple(elements[k] for k in self._numbers)
        contacts = [one for one in self.elements if one.kind == "contact"]
        widths = [one.rows.stop - one.rows.start for one in contacts]
        first = [row for one in contacts for row in range(one.rows.start, one.rows.stop)]
        self._rows = np.array([*first, *sorted({*range(len(names))} - {*first})], dtype=np.int64)
        self._is_sorted = bool((self._rows == np.arange(len(names))).all())
        self._places = np.argsort(self._rows)
        table = self.contact_table = tl.ContactTable.zeros()
        settings, problem, blocks = tl.ContactSettings.zeros(), cp.ContactProblem.zeros(), len(self.elements)
        of_model = write_model_contacts(work, table, settings, widths)
        pushing = self.elements[: len(contacts) + table.stops]
        self._lightness = np.zeros(work.nv)
        arrays = {
            "sizes": np.array([*widths, *[1] * table.stops], dtype=np.int64),
            "first_rows": self._places[[one.rows.start for one in pushing]],
            "bounds": joint_limits(work).bounds,
            "friction": np.array([one.friction for one in pushing]),
            "static": np.array([one.static for one in pushing]),
            "lightness": self._lightness,
            "settings": settings,
            "problem": problem,
        }  # fmt: skip
        rows, nv = tl.fixed_rows(table), work.nv
        sizes = tl.contact_sizes(table, work.nq, nv, la.input_size(work.table))
        room = np.zeros(sum(sizes))
        for name, array in (arrays | {"work": room}).items():
            setattr(table, name, array)
        own = self._own = view_fields(room, sizes)
        problem_sizes = np.zeros(blocks, dtype=np.int64)
        problem.sizes, problem.numbers, problem.delassus = problem_sizes, own.numbers, own.delassus
        problem.velocities, problem.forces, problem.work = own.given, own.impulses, own.solver
        table.inner, table.solver = work.acceleration_kernel.address, contact_problem.address
        table.projection = projection.address if work.nc else 0
        if table.contact_rows and not work.contact_geometries:
            functions = contact_gaps(work), contact_motion_function(work)
            table.gaps, table.motion = functions[0].address, functions[1].address
            self._functions = functions
        given = self._given = sl.StateChoices.zeros()
        of_state: dict[str, np.ndarray] = {
            "units": np.array([one.unit for one in self.elements]),
            "reach": np.array([one.reach for one in self.elements]),
            "opposites": np.array([one.opposite_flank for one in self.elements], dtype=np.int64),
            "order": np.zeros(rows + 1, dtype=np.int64),
            "answer": np.zeros(sum(sl.answer_sizes(table, rows, nv))),
            "room": np.zeros(sum(sl.room_sizes(rows, nv))),
            **{key: np.zeros(blocks, dtype=np.int64) for key in ("asked", "pairs", "firsts", "failed")},
        }
        for name, array in of_state.items():
            setattr(given, name, array)
        given.contact_table, given.forces, given.motion = table, contact_forces.address, table.motion
        self._error: BaseException | None = None
        if table.contact_rows and work.contact_geometries:
            self._motion = _MOTION(self._write_motion)
            given.motion = ctypes.cast(self._motion, ctypes.c_void_p).value or 0
        self._asked, self._answer = of_state["asked"], of_state["answer"]
        lengths = sl.answer_sizes(table, rows, nv)
        ends = np.cumsum(lengths).tolist()
        self._parts = [slice(end - length, end) for end, length in zip(ends, lengths)]
        self._nothing = self.view(self._answer)
        self._room = view_fields(of_state["room"], sl.room_sizes(rows, nv))
        self._before_delassus = len(self._answer) - rows * rows
        self.arrays = of_model | arrays | of_state
        self._kept = room, problem_sizes
        self._at = table.ctypes.data
        self._arguments = work.table.ctypes.data, given.ctypes.data

    def view(self, answer: Array) -> sl.StateAnswer:
        """Return the arrays of an answer by name."""
        facts, *others = [answer[part] for part in self._parts]
        return sl.StateAnswer(facts.view(sl.StateFacts), *others)

    def load(self, found: ContactRowState) -> None:
        """Store gaps and motion of the contacts at a state, in place of the native functions."""
        own, count, nv = self._own, int(self.contact_table.contact_rows), self.work.nv
        rows = self._rows[:count]
        own.gap[: self.contact_table.contacts] = found.gaps[self._numbers[: int(self.contact_table.contacts)]]
        own.native[:count], own.native[count : 2 * count] = found.rates[rows], found.bias[rows]
        own.native[2 * count : count * (2 + nv)] = found.rows[rows].ravel()

    def _write_motion(self, at: int, out: int) -> None:
        """Store the motion at another velocity: the x at an address; ``out`` is the room of `load`."""
        parts = self.work.parts
        x = np.ctypeslib.as_array((ctypes.c_double * parts.tau.stop).from_address(at))
        try:
            self.load(contact_row_state(self.work, x[parts.q], x[parts.v], float(x[parts.t])))
        except BaseException as error:  # C has no exceptions: it is raised behind the kernel
            self._error = error

    def find(
        self, asked: Sequence[int] | None = None, directions: Array | None = None
    ) -> tuple[int, sl.StateAnswer]:
        """Return how the kernel ended at the state in the x of the workspace, and a copy of its answer.

        Runs by events say what is ``asked`` of each of ``given_elements`` (`kernels.memory.state_contacts_layout`), and
        the unit ``directions`` in which some slide, by rows of ``names``.
        """
        level = 0
        if asked is not None and directions is not None:
            level = sl.IN_RUN
            self._asked[:] = [asked[k] for k in self._numbers]
            self._nothing.directions[:] = directions[self._rows]
        code = self.call(choices, self._arguments, level)
        if code == sl.NO_FACTOR:
            work = self.work
            self._lightness[:] = lightness(work, work.x[work.parts.q], float(work.x[work.parts.t]))
            code = self.call(choices, self._arguments, level + 1)
        if code == sl.IDLE:
            return code, self._nothing
        m = int(self._nothing.facts.rows)
        answer = self.view(self._answer[: self._before_delassus + m * m].copy())
        if self._is_sorted:
            return code, answer
        forces, directions = self.sorted_by_names(answer.forces), self.sorted_by_names(answer.directions)
        return code, answer._replace(forces=forces, directions=directions)

    @property
    def sprung(self) -> Array:
        """W (m, m) of the problem of the last `find`, in units, with the springs along normal forces if they push."""
        m = int(self._nothing.facts.rows)
        return self._room.sprung[: m * m].reshape(m, m)

    def call(self, kernel: Kernel, arguments: tuple[int, int], what: int) -> int:
        """Return the result of a kernel that has these contacts as those of the system."""
        table = self.work.table
        before = table[_PLACE]
        table[_PLACE] = self._at
        try:
            code = int(kernel.entry(*arguments, what))
        finally:
            table[_PLACE] = before
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return code

    def sorted_by_names(self, values: np.ndarray) -> np.ndarray:
        """Return a copy of values by rows of the kernel, in the order of ``names``."""
        return values[self._places]
