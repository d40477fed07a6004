"""Contacts, stops and dry friction at a state in C: the table of their kernel, arrays in the workspace, names."""

from __future__ import annotations

from functools import partial

import numpy as np

from sarrus.dynamics.contacts.contact_elements import (
    contact_elements,
    contact_names,
    require_limited_friction,
)
from sarrus.dynamics.contacts.contact_functions import gap_outputs, motion_outputs
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.solve.state_contacts import StateContactTable
from sarrus.dynamics.system import System
from sarrus.export.c.contact_step_entry import problem_table, traced
from sarrus.export.c.contents import Member, Natives, SystemPlan, array, clean
from sarrus.export.c.entry_points import loop
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import enumeration, listing, note
from sarrus.export.c.values import DOUBLE, INT, Address, KernelCode, Known, Table, Value, View
from sarrus.kernels.contact.contact_problem import contact_problem
from sarrus.kernels.contact.state_forces import contact_forces
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.states.choices import choose_forces

_INTEGERS = ("sizes", "first_rows", "widths", "coordinates", "speeds")
_FLOATS = ("signs", "scales", "bounds", "friction", "static", "limits", "lightness", "settings")
_MODES = ("OPEN", "STICKING", "SLIDING")
_TEXT = (
    " Contacts with Coulomb friction, ropes, limits and dry friction of joints act, by their exact laws, where the "
    "status is OK or SINGULAR. Where they have no forces the answer is that without them, and the status says why: "
    "INCONSISTENT, an element closes with a velocity, which takes an impact (contact_step has it); NOT_CLOSED, an "
    "element is below its plane by more than 1e-6 lengths; INFEASIBLE, no finite forces let a contact slide on, or "
    "no acceleration keeps all from closing; "
    "NOT_CONVERGED, no forces were found that obey the laws. Forces that the laws leave open are the least ones."
)
# Names in C of what the kernel says where it has no forces, and the status that is returned.
ENDS = {
    sl.DEEP: "NOT_CLOSED",
    sl.CLOSING: "INCONSISTENT",
    sl.IMPOSSIBLE: "INFEASIBLE",
    sl.NO_CHOICE: "INFEASIBLE",
    sl.NO_MOTION: "INFEASIBLE",
    sl.NOT_FINITE: "NOT_CONVERGED",
    sl.NOT_SOLVED: "NOT_CONVERGED",
}


def takes_part(system: System, contacts: bool) -> bool:
    """Tell whether contacts, stops or dry friction act in C."""
    if not contacts:
        return False
    require_limited_friction(system)
    return bool(contact_elements(system))


class StatePlan:
    """The contacts, stops and dry friction of a system at a state.

    ``text`` describes them in the header. ``table`` is the table of the system with these contacts, ``members`` their
    arrays in the workspace, ``elements`` and ``names`` the names of them and of their forces, in the order of C.
    """

    text = _TEXT

    def __init__(self, plan: SystemPlan, natives: Natives, q: np.ndarray) -> None:
        system = plan.system
        self._nv, self._tau = system.nv, system.parts.tau.start
        at_state = StateContactTable(system.workspace(), contact_elements(system), contact_names(system))
        self.elements = tuple(one.name for one in at_state.elements)
        self.names, self.members = contact_names(system), list[Member]()
        contact_table = self._contact_table(plan, natives, at_state, q)
        entries = {**plan.table.entries, "contact_table": Address(contact_table)}
        numbers, system_table = clean(plan.table.numbers, entries), plan.table
        self.table = Table(
            "the system", numbers, entries, system_table.entry_count, "W->order", "system_table"
        )
        self._choices = self._choice_table(plan, contact_table, at_state)
        sizes = sl.answer_sizes(contact_table.numbers, len(self.names), system.nv)
        self.starts = dict(zip(sizes._fields, np.cumsum([0, *sizes])[:-1].tolist()))

    @property
    def results(self) -> list[str]:
        """The members of the results that are no arrays of doubles."""
        return [
            "    int element; /* the one that closes with a velocity, or is too deep; -1: none */",
            f"    int modes[{len(self.elements)}]; /* of each element */",
            f"    int ambiguous[{len(self.elements)}]; /* 1: the laws leave its force open, and a depends on it */",
        ]

    def body(self, upper: str, kernels: Kernels, solve: str) -> list[str]:
        """Return the lines that find the forces at W->x, after a first solve, and solve again with them."""
        kernel, _ = kernels.call(choose_forces, [self.table, self._choices, Known(1)])
        answer, tau = self.starts, self._tau
        forces, modes, fault = answer["forces"], answer["modes"], sl.StateFacts.places["at_fault"]
        return [
            "    out->element = -1;",
            loop(len(self.names), "out->forces[i] = 0.0"),
            loop(len(self.elements), f"out->modes[i] = {upper}_MODE_OPEN"),
            loop(len(self.elements), "out->ambiguous[i] = 0"),
            f"    if (code >= 0 && status <= {upper}_SINGULAR) {{",
            f"        int found = {kernel}(W, 1);",
            f"        if (found == {sl.FOUND}) {{",
            inner(len(self.names), f"out->forces[i] = W->state_answer[{forces} + i]"),
            inner(len(self.elements), f"out->modes[i] = (int)W->state_answer[{modes} + i]"),
            inner(self._nv, f"W->x[{tau} + i] += W->state_answer[{answer['force']} + i]"),
            f"            {solve}",
            f"            status = code / {la.STRIDE};",
            "        }",
            *(
                f"        if (found == {end})\n            status = {upper}_{said};"
                for end, said in ENDS.items()
            ),
            f"        for (i = 0; i < {len(self.elements)}; i++)",
            f"            out->ambiguous[i] = (int)W->state_answer[{answer['ambiguous']} + i];",
            f"        if (found == {sl.DEEP} || found == {sl.CLOSING})",
            f"            out->element = (int)W->state_answer[{answer['facts'] + fault}];",
            "    }",
        ]

    def _contact_table(
        self, plan: SystemPlan, natives: Natives, at_state: StateContactTable, q: np.ndarray
    ) -> Table:
        """Return the table of contacts."""
        system, numbers = plan.system, at_state.contact_table
        arrays = at_state.arrays | {"lightness": lightness(system, q)}
        own: dict[str, Value] = {
            **{key: Address(View(f"W->state_{key}", INT)) for key in _INTEGERS},
            **{key: Address(View(f"W->state_{key}", DOUBLE)) for key in (*_FLOATS, "work")},
            "problem": Address(problem_table(plan, numbers, "state")),
            "inner": plan.table.entries["acceleration"],
            "projection": plan.table.entries["projection"],
            "solver": Address(KernelCode(contact_problem)),
        }
        for key, outputs, count in (
            ("gaps", gap_outputs, numbers.contacts),
            ("motion", motion_outputs, numbers.contact_rows),
        ):
            if count:
                own[key] = Address(natives.add(f"model_state_{key}", partial(traced, system, outputs)))
        sizes = tl.contact_sizes(numbers, system.nq, system.nv, la.input_size(plan.table.numbers))
        said, blocks = "of contacts and stops at a state", len(self.elements)
        self.members += [
            Member("state_work", sum(sizes), "room for contacts"),
            Member("state_block_sizes", blocks, "of the contact problem", type=INT),
            *(Member(f"state_{key}", 0, "of the contact problem", np.zeros(1), INT) for key in
              ("rows", "blocks", "closed")),
        ]  # fmt: skip
        for key in (*_FLOATS, *_INTEGERS):
            values = np.array(arrays[key]) if len(arrays[key]) else np.zeros(1)
            self.members.append(
                Member(f"state_{key}", len(values), said, values, INT if key in _INTEGERS else DOUBLE)
            )
        return Table(
            "contacts at a state", clean(numbers, own), own, len(numbers), "W->state_none", "state_table"
        )

    def _choice_table(self, plan: SystemPlan, contact_table: Table, at_state: StateContactTable) -> Table:
        """Return the table of the kernel that finds the forces."""
        blocks, rows, nv = len(self.elements), len(self.names), plan.system.nv
        numbers = {"asked": blocks, "order": rows + 1, "pairs": blocks, "firsts": blocks, "failed": blocks}
        own: dict[str, Value] = {
            "contact_table": Address(contact_table),
            "forces": Address(KernelCode(contact_forces)),
            **{key: Address(View(f"W->state_{key}", INT)) for key in (*numbers, "opposites")},
            **{key: Address(View(f"W->state_{key}", DOUBLE)) for key in ("units", "reach", "answer", "room")},
        }
        if "motion" in contact_table.entries:
            own["motion"] = contact_table.entries["motion"]
        self.members += [
            *(
                Member(f"state_{key}", size, "of contacts at a state", type=INT)
                for key, size in numbers.items()
            ),
            Member("state_opposites", blocks, "flanks", at_state.arrays["opposites"].astype(float), INT),
            *(
                array(f"state_{key}", "of contacts at a state", at_state.arrays[key])
                for key in ("units", "reach")
            ),
            Member(
                "state_answer", sum(sl.answer_sizes(contact_table.numbers, rows, nv)), "forces at a state"
            ),
            Member("state_room", sum(sl.room_sizes(rows, nv)), "room for these"),
        ]
        choices, self.entries = sl.StateChoices.zeros(), own
        return Table("a state", choices, own, len(choices), "W->state_none", "choice_table")

    def declaration(self, upper: str) -> str:
        """Return the enumerations of elements and modes."""
        modes = [(f"{upper}_MODE_{name}", k, "") for k, name in enumerate(_MODES)]
        return "\n".join(
            [
                enumeration("Contacts, ropes, stops and dry friction.", f"{upper}_ELEMENT", self.elements,
                            [""] * len(self.elements)),
                f"#define {upper}_NELEMENTS {len(self.elements)}\n",
                listing(note("Modes of these. Stops and ropes that push or pull are sticking."), modes),
            ]
        )  # fmt: skip


def inner(count: int, statement: str) -> str:
    """Return a loop over i < count of a statement, two levels deeper than the body of a function."""
    return f"            for (i = 0; i < {count}; i++)\n                {statement};"


def force_names(system: System, upper: str) -> str:
    """Return the enumeration of the forces of contacts, stops and dry friction."""
    names = contact_names(system)
    units = ["N, N m"] * len(names)
    title = "Forces of contacts, stops and dry friction."
    return f"{enumeration(title, f'{upper}_FORCE_OF', names, units)}\n#define {upper}_NFORCES {len(names)}\n"
