"""Contacts, stops and dry friction of the plant of an exported law: tables of its kernel, and their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.control.laws.plant_contacts import PlantContacts
from sarrus.control.laws.tolerances import SAME_ACCELERATION
from sarrus.export.c.contents import Member, array, clean
from sarrus.export.c.functions import Kernels
from sarrus.export.c.state_plan import StatePlan
from sarrus.export.c.values import DOUBLE, INT, Address, KernelCode, Native, Table, Term, Value, View
from sarrus.kernels.laws.hierarchy import hierarchy
from sarrus.kernels.laws.hierarchy_in_cones import hierarchy_in_cones
from sarrus.kernels.laws.plant_contacts import law_on_contacts
from sarrus.kernels.memory import plant_contact_layout as pl
from sarrus.kernels.memory import state_contacts_layout as sl

# Numbers of a law that change with the modes of the contacts.
_COUNTS = ("nu", "n_contacts", "phase_rows", "generic_rank", "n_used")
_TEXT = (
    " Contacts with Coulomb friction, ropes, limits and dry friction of joints act as they do at the state: OK says "
    "that forward_dynamics with u has the accelerations of the law, to 1e-9. NOT_ACHIEVABLE also where an element "
    "closes with a velocity or is below its plane, where no modes agree with the laws of contact, and where the plant "
    "moves otherwise."
)


class PlantPlan:
    """The contacts of the plant of a law in C.

    ``table`` is the table of the kernel, ``members`` its arrays in the workspace, ``outcome`` the C expression of the
    outcome of the last call.
    """

    text = _TEXT

    def __init__(
        self, plant: PlantContacts, at_state: StatePlan, base: Table, native: Native, given: View | None
    ) -> None:
        self.plant, law = plant, plant.law
        self.members = [
            Member(f"plant_{key}", 0, "of the law on contacts", np.zeros(1), INT) for key in _COUNTS
        ]
        self.table = self._law_table(base, native, self._limits(self._plant_table(at_state, base, given)))
        # the tables behind this one whose constants the code reads
        self.tables: list[Table] = []
        self.outcome = f"W->plant_report[{plant.limits.report.outcome}]"
        self._judged = law.own_contacts is None

    def _array(self, name: str, values: np.ndarray, said: str = "of the law on contacts") -> Address:
        """Return the address of an array of the workspace with these first values."""
        self.members.append(array(f"plant_{name}", said, np.array(values, dtype=float)))
        return Address(View(f"W->plant_{name}", DOUBLE))

    def _room(self, name: str, size: int) -> Address:
        self.members.append(Member(f"plant_{name}", size, "of the law on contacts"))
        return Address(View(f"W->plant_{name}", DOUBLE))

    def _integers(self, name: str, values: np.ndarray) -> str:
        """Return an array of integers of the workspace with these first values, in C."""
        self.members.append(
            Member(f"plant_{name}", len(values), "of the law on contacts", np.array(values), INT)
        )
        return f"W->plant_{name}"

    def _plant_table(self, at_state: StatePlan, base: Table, given: View | None) -> Table:
        plant, known = self.plant.plant, self.plant.law
        asked = self._integers("asked", np.zeros(max(len(at_state.elements), 1)))
        state_entries = {**at_state.entries, "asked": Address(View(asked, INT))}
        state_entries = {key: value for key, value in state_entries.items() if key in sl.StateContacts.fields}
        none = "W->state_none"
        state = Table(
            "a state",
            sl.StateContacts.zeros(),
            state_entries,
            len(sl.StateContacts.fields),
            none,
            "plant_state_table",
        )
        opposite = self._integers("opposite", np.array([one.opposite_flank for one in self.plant.elements]))
        first = np.zeros(sum(pl.plant_sizes(plant, known.system.nv, known.system.nu)))
        first[pl.PlantFacts.places["force_root"]] = self.plant.room.facts.force_root
        kernel = hierarchy if known.limits is None else hierarchy_in_cones
        entries: dict[str, Value] = {
            "of_law": Address(base),
            "plain": Address(KernelCode(kernel)),
            "model": Address(at_state.table),
            "state": Address(state),
            "opposite": Address(View(opposite, INT)),
            "given": self._array("given", self.plant._given) if given is None else Address(given),  # noqa: SLF001
            "work": self._array("room", first),
        }
        numbers = clean(plant, entries)
        numbers.run = numbers.off = 0
        return Table(
            "contacts of the plant", numbers, entries, len(pl.PlantTable.fields), none, "plant_contact_table"
        )

    def _limits(self, plant: Table) -> Table:
        limits = self.plant.limits
        memory = np.zeros(len(limits.arrays["memory"]))
        memory[limits.slots] = -1.0
        entries: dict[str, Value] = {
            "physics": self._array("limits", limits.arrays["physics"]),
            "extra": self._array("rows", limits.arrays["extra"]),
            "memory": self._array("memory", memory),
            "work": self._room("program", len(limits.arrays["work"])),
            "report": self._room("report", len(limits.arrays["report"])),
            "plant": Address(plant),
        }
        return self._written("limits of the law on contacts", "cones", limits.table, entries)

    def _law_table(self, base: Table, native: Native, contacts: Table) -> Table:
        arrays = self.plant.arrays
        entries: dict[str, Value] = {
            **{key: base.entries[key] for key in ("own", "settings")},
            **{key: Term(f"W->plant_{key}", INT, counts=True) for key in _COUNTS},
            "native": Address(native),
            "work": self._room("work", len(arrays.work)),
            "roots": self._array("roots", arrays.roots),
            "preferred": self._array("preferred", arrays.preferred),
            "answer": self._room("answer", len(arrays.answer)),
            "phase": self._room("phase", len(self.plant._phase)),  # noqa: SLF001
            "contacts": Address(contacts),
        }
        return self._written("the law on contacts", "order", arrays.table, entries)

    def _written(self, name: str, room: str, table: Any, entries: dict[str, Value]) -> Table:
        """Return a table whose entries behind the named ones are members of the workspace."""
        named = len(type(table).fields)
        text = self._integers(room, np.array(table[named:]))
        return Table(name, clean(table, entries), entries, named, text, f"plant_{room}_table", writable=True)

    def call(self, prefix: str, kernels: Kernels) -> str:
        """Return the name of the kernel in C."""
        kernel, _ = kernels.call(
            law_on_contacts, [self.table, View(f"W->{prefix}_state", DOUBLE), Term("what", INT)]
        )
        return kernel

    def fact(self, name: str) -> str:
        """Return what the last call found, in C."""
        return f"W->plant_room[{pl.PlantFacts.places[name]}]"

    def verdict(self, name: str, prefix: str) -> list[str]:
        """Return the C lines that set ``missed`` where the plant does not move as the law says."""
        upper, system = name.upper(), self.plant.law.system
        code = self.fact("code")
        lines = [
            f"    missed |= {self.fact('unsettled')} != 0.0 || {code} == {sl.CLOSING}.0 || {code} == {sl.DEEP}.0;",
        ]
        if not self._judged:
            return lines
        sizes = pl.plant_sizes(self.plant.plant, system.nv, system.nu)
        own = f"W->plant_room[{sum(sizes[: sizes._fields.index('acceleration')])} + i]"
        return [
            *lines,
            f"    if ({self.fact('acts')} != 0.0 && !missed) {{",
            f"        {name}_motion motion;",
            "        double most = 1.0;",
            f"        int found = {name}_forward_dynamics(W, q, v, u, t, 0, &motion);",
            f"        missed = motion.rank < 0 || found == {upper}_INCONSISTENT || found == {upper}_NOT_CLOSED;",
            f"        missed |= found == {upper}_INFEASIBLE || found == {upper}_NOT_CONVERGED;",
            f"        for (i = 0; i < {system.nv}; i++) {{",
            f"            double size = fabs({prefix}_columns[i] * {own});",
            "            most = 1.0 + size > most ? 1.0 + size : most;",
            "        }",
            f"        for (i = 0; i < {system.nv}; i++) {{",
            f"            double away = fabs({prefix}_columns[i] * (motion.a[i] - {own}));",
            f"            missed |= !(away <= {SAME_ACCELERATION!r} * most);",
            "        }",
            "    }",
        ]
