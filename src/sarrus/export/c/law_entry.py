"""Control laws in C: their tables, and the functions that ask them for controls."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.control.contact_law import ContactLaw
from sarrus.control.demands import ACHIEVED, ForceDemand
from sarrus.control.law import Law
from sarrus.export.c.contents import Member, Natives, clean
from sarrus.export.c.entry_points import Code
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import macros, note
from sarrus.export.c.values import DOUBLE, INT, Address, Native, Table, Term, Value, View
from sarrus.kernels import contact_layout as cn
from sarrus.kernels import law_layout as ll
from sarrus.kernels.command import command
from sarrus.kernels.distribution import distribution


class LawEntry:
    """u = law(q, v, t); ``prefix`` begins the names of its members in the workspace."""

    def __init__(self, law: Law, natives: Natives, prefix: str = "law") -> None:
        self.law, self.prefix = law, prefix
        compiled = law.system.compiled
        native = natives.add(f"{prefix}_all_terms", lambda: ([*compiled.inputs, *law.symbols], law.outputs()))
        self.constants = {f"{prefix}_roots": law.arrays.roots, f"{prefix}_preferred": law.arrays.preferred}
        contacts = self._contact_table() if isinstance(law, ContactLaw) else None
        self.table = self._law_table(native, contacts)
        self.tables = {self.table.text: self.table}
        if contacts is not None:
            self.tables[contacts.text] = contacts
        self.members = self._members(contacts)

    def _view(self, name: str, *, constant: bool = False) -> Address:
        text = f"{self.prefix}_{name}" if constant else f"W->{self.prefix}_{name}"
        return Address(View(text, DOUBLE, constant))

    def _law_table(self, native: Native, contacts: Table | None) -> Table:
        table = self.law.table
        entries: dict[str, Value] = {
            "native": Address(native),
            "own": self._view("input"),
            "work": self._view("work"),
            "settings": self._view("tolerances"),
            "answer": self._view("answer"),
            "roots": self._view("roots", constant=True),
            "preferred": self._view("preferred", constant=True),
            "generic_rank": Term(f"W->{self.prefix}_rank", INT, counts=True),
        }
        if contacts is not None:
            entries["contacts"] = Address(contacts)
        room = int(ll.LEVELS + 3 * table.n_levels + table.n_measured)
        order = f"W->{self.prefix}_order"
        return Table("the law", clean(table, entries), entries, room, order, f"{self.prefix}_table")

    def _contact_table(self) -> Table:
        law = self.law
        assert isinstance(law, ContactLaw)
        table = law.contact_table
        entries: dict[str, Value] = {
            "physics": self._view("limits"),
            "extra": self._view("rows", constant=True),
            "memory": self._view("memory"),
            "work": self._view("program"),
            "report": self._view("report"),
        }
        self.constants[f"{self.prefix}_rows"] = law.contact_arrays["extra"]
        room = int(cn.PLACES + 2 * len(law.terms.names) + table.extra_cones)
        order = f"W->{self.prefix}_cones"
        return Table("the contacts", clean(table, entries), entries, room, order, f"{self.prefix}_contacts")

    def _members(self, contacts: Table | None) -> list[Member]:
        law, p, s = self.law, self.prefix, self.law.system
        law_input = np.array(law.arrays.input)
        members = [
            Member("double", f"{p}_state", s.nq + s.nv + s.nu + 1, "q, v, u, t"),
            Member(
                "double", f"{p}_input", len(law_input), "q, v, u, t, parameters, tau, settings", law_input
            ),
            Member(
                "double", f"{p}_tolerances", len(law.arrays.tolerances), "tolerances", law.arrays.tolerances
            ),
            Member(
                "int",
                f"{p}_rank",
                0,
                "of A at ordinary closed configurations",
                np.array([law.table.generic_rank]),
            ),
            Member("int", f"{p}_order", len(law.table) - self.table.room, "permutation of the rows"),
            Member(
                "double", f"{p}_answer", len(law.arrays.answer), "unknowns, rank, what became of the levels"
            ),
            Member("double", f"{p}_work", len(law.arrays.work), "room to compute in"),
        ]
        if contacts is not None:
            assert isinstance(law, ContactLaw)
            arrays = law.contact_arrays
            members += [
                Member(
                    "double", f"{p}_limits", len(arrays["physics"]), "limits and weights", arrays["physics"]
                ),
                Member(
                    "double", f"{p}_memory", len(arrays["memory"]), "of the last sample", self._forgotten()
                ),
                Member("double", f"{p}_program", len(arrays["work"]), "room for a cone program"),
                Member("double", f"{p}_report", len(arrays["report"]), "of the last distribution"),
                Member(
                    "int", f"{p}_cones", len(contacts.numbers) - contacts.room, "sizes of cones, permutation"
                ),
            ]
        return members

    def _forgotten(self) -> np.ndarray:
        """Return the memory of a law with contacts before its first sample."""
        assert isinstance(self.law, ContactLaw)
        kept, layout = np.zeros(len(self.law.contact_arrays["memory"])), self.law.memory_layout
        kept[[layout.exact, layout.relaxed]] = -1.0
        return kept

    # --- C -----------------------------------------------------------------------------------------------

    def declare(self, name: str) -> str:
        """Return the prototypes."""
        law, upper = self.law, name.upper()
        start = law.system.parts.tau.stop
        text = note(
            f"{law.name} of {law.system.name}: the controls u at a state, as they are, without limits unless the law "
            "has them. Returns OK; NOT_ACHIEVABLE where a demand is missed (least squares, those before it first); "
            "INFEASIBLE where limits allow no forces; ILL_POSED or NOT_FINITE, then u is not written. "
            "Quaternions in q must have length one."
        )
        sample = note(
            "The same at a sample: what the law remembers goes on by period [s]. multipliers are those of the plant, "
            "or NULL. reset forgets what was remembered."
        )
        parts = [
            f"#define {upper}_SETTING(W, k) ((W)->{self.prefix}_input[{start} + (k)])\n",
            f"{text}\nint {name}_law({name}_workspace *W, const double *q, const double *v, double t, double *u);\n",
            f"{sample}\nint {name}_law_sample({name}_workspace *W, const double *q, const double *v, double t,\n"
            f"    double period, const double *multipliers, double *u);\n"
            f"void {name}_law_reset({name}_workspace *W);\n",
        ]
        if isinstance(law, ContactLaw):
            rows = [
                f"{n}.{k}" for n, p in zip(law.terms.names, law.terms.places) for k in range(p.stop - p.start)
            ]
            names = macros(f"{upper}_FORCE", rows)
            places = "\n".join(
                f"    {m} = {k}{',' if k + 1 < len(names) else ''}" for k, m in enumerate(names)
            )
            parts.append(
                f"/* Forces of the contacts that go with the last controls [N]. */\nenum {{\n{places}\n}};\n"
            )
            parts.append(f"#define {upper}_FORCE(W, k) ((W)->{self.prefix}_answer[{upper}_NU + (k)])\n")
        return "\n".join(parts)

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return the functions that load the state and tell what became of the demands."""
        law, p, s, upper = self.law, self.prefix, self.law.system, name.upper()
        kernel, _ = kernels.call(
            distribution if isinstance(law, ContactLaw) else command,
            [self.table, View(f"W->{p}_state", DOUBLE), Term("what", INT)],
        )
        count = len(s.parameters)
        parameters = (
            f"    for (i = 0; i < {count}; i++)\n        W->{p}_input[{s.parts.p.start} + i] = W->parameters[i];\n"
            if count
            else ""
        )
        infeasible = held = ""
        if isinstance(law, ContactLaw):
            outcome = f"W->{p}_report[{law.report_layout.outcome}]"
            infeasible = (
                f"    if (code < 0 && {outcome} == {cn.FAILED}.0)\n        return {upper}_INFEASIBLE;\n"
            )
            held = f"    if ({outcome} == {cn.HELD}.0)\n        return {upper}_INFEASIBLE;\n"
        levels = "".join(
            f"    missed |= W->{p}_answer[{at + 1}] > {ACHIEVED!r} * (1.0 + W->{p}_answer[{at + 2}]);\n"
            for level, at in zip(law.levels, range(law.unknowns + 1, 10**9, ll.PER_LEVEL))
            if not (isinstance(level, ForceDemand) and level.soft)
        )
        n = s.nq + s.nv
        run = f"""\
static int {p}_run({name}_workspace *W, const double *q, const double *v, double t, int what, double *u)
{{
    double wrong = 0.0 * t;
    int i = 0, code = 0, missed = 0;
    for (i = 0; i < {s.nq}; i++)
        W->{p}_state[i] = q[i];
    for (i = 0; i < {s.nv}; i++)
        W->{p}_state[{s.nq} + i] = v[i];
    W->{p}_state[{n + s.nu}] = t;
{parameters}    code = {kernel}(W, W->{p}_state, what);
{infeasible}    for (i = 0; i < {n}; i++)
        wrong += 0.0 * W->{p}_state[i];
    if (code < 0 || wrong != 0.0)
        return wrong == 0.0 ? {upper}_ILL_POSED : {upper}_NOT_FINITE;
    for (i = 0; i < {s.nu}; i++)
        u[i] = W->{p}_answer[i];
{held}{levels}    return missed ? {upper}_NOT_ACHIEVABLE : {upper}_OK;
}}
"""
        return Code(run + self._public(name), [kernel])

    def _public(self, name: str) -> str:
        law, p, memory = self.law, self.prefix, self.law.memory
        own = law.system.parts.tau.stop
        measure, reset = "    (void)multipliers;\n", []
        if memory is not None:
            if memory.measured:
                at = own + memory.measured_at
                writes = [f"        W->{p}_input[{at}] = 1.0;"]
                writes += [
                    f"        W->{p}_input[{at + 1 + k}] = multipliers[{row}];"
                    for k, row in enumerate(memory.measured)
                ]
                measure = "    if (multipliers) {\n" + "\n".join(writes) + "\n    }\n"
                reset += [f"W->{p}_input[{at + k}] = 0.0;" for k in range(1 + len(memory.measured))]
            reset += [
                f"W->{p}_input[{own + memory.state_at + k}] = 0.0;" for k in range(int(memory.rate.numel()))
            ]
        if isinstance(law, ContactLaw):
            layout = law.memory_layout
            reset += [
                f"W->{p}_memory[{place}] = {value};"
                for place, value in ((layout.known, "0.0"), (layout.exact, "-1.0"), (layout.relaxed, "-1.0"))
            ]
        forget = "".join(f"    {line}\n" for line in reset) or "    (void)W;\n"
        return f"""
int {name}_law({name}_workspace *W, const double *q, const double *v, double t, double *u)
{{
    return {p}_run(W, q, v, t, {ll.ANSWER_ONLY}, u);
}}

int {name}_law_sample({name}_workspace *W, const double *q, const double *v, double t,
    double period, const double *multipliers, double *u)
{{
{measure}    W->{p}_tolerances[{ll.LawSettings.places["period"]}] = period;
    return {p}_run(W, q, v, t, {ll.SAMPLE}, u);
}}

void {name}_law_reset({name}_workspace *W)
{{
{forget}}}
"""

    def example(self, name: str) -> str:
        """Return a call at rest."""
        return f"""\
    {{
        status = {name}_law(&W, q, v, t, u);
        printf("law: status %d\\n", status);
        show("u", u, {self.law.system.nu});
        TIME({name}_law(&W, q, v, t, u));
    }}"""


def settings_of(law: Any) -> dict[str, float]:
    """Return the settings of a law with their present values."""
    return {name: law.settings[name] for name in law.settings}
