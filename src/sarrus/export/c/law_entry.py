"""Control laws in C: their tables, and the functions for their controls."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.law_limits import LawLimits
from sarrus.control.laws.row_units import units_of_rows
from sarrus.control.laws.tolerances import ACHIEVED
from sarrus.control.legged.contact_law import ContactLaw
from sarrus.dynamics.closing.closed_state import largest_opening
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, array, clean
from sarrus.export.c.entry_points import Entry, example, function, left_out, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import listing, macros
from sarrus.export.c.plant_plan import PlantPlan
from sarrus.export.c.state_plan import StatePlan
from sarrus.export.c.topology_lookup import lookup
from sarrus.export.c.values import DOUBLE, INT, Address, Native, Table, Term, Value, View
from sarrus.export.topologies import topologies
from sarrus.kernels.laws.hierarchy import hierarchy
from sarrus.kernels.laws.hierarchy_in_cones import hierarchy_in_cones
from sarrus.kernels.laws.plant_contacts import law_on_contacts
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll


class LawPlan:
    """A law in C: its tables, constants and members of the workspace, with names that begin with ``prefix``."""

    def __init__(
        self,
        law: Law,
        natives: Natives,
        q: np.ndarray,
        prefix: str = "law",
        at_state: StatePlan | None = None,
    ) -> None:
        self.law, self.prefix = law, prefix
        cut = float(law.arrays.tolerances.singular_cut)

        def look(work: Workspace, near: np.ndarray) -> tuple[float, ...]:
            rank, cuts = law.rank_near(work, near, np.zeros(law.system.nv), 0.0)
            still = np.zeros(law.system.nv)
            return rank, *cuts.tolist(), *(one.counts(work, near, still, 0.0) for one in law.hand_overs)

        most = float(min(law.constraint_rows, law.system.nv))
        otherwise = (most, cut, 0.0, *(1.0 for _ in law.hand_overs))
        self.topologies = topologies(law.system, q, law.shaping_parameters, look, otherwise, 1)
        compiled = law.system.compiled
        native = natives.add(f"{prefix}_all_terms", lambda: ([*compiled.inputs, *law.symbols], law.outputs()))
        self.constants = {f"{prefix}_roots": law.arrays.roots, f"{prefix}_preferred": law.arrays.preferred}
        contacts = None if law.limits is None else self._contact_table(law.limits)
        self.table = self._law_table(native, contacts)
        self.tables = [self.table] if contacts is None else [self.table, contacts]
        self.members = self._members()
        if law.limits is not None and contacts is not None:
            self.members += self._contact_members(law.limits, contacts)
        self.plant: PlantPlan | None = None
        if law.plant is not None and at_state is not None:
            given = None if contacts is None else View(f"W->{prefix}_limits", DOUBLE)
            self.plant = PlantPlan(law.plant, at_state, self.table, native, given)
            self.tables += self.plant.tables
            self.members += self.plant.members
            self.constants[f"{prefix}_columns"] = law.system.characteristic.columns

    def _entries(self, constants: dict[str, str], **members: str) -> dict[str, Value]:
        """Return entries of a table: pointers to constants and to members of the workspace."""
        texts = {entry: f"W->{self.prefix}_{member}" for entry, member in members.items()}
        texts |= {entry: f"{self.prefix}_{constant}" for entry, constant in constants.items()}
        return {entry: Address(View(text, DOUBLE, entry in constants)) for entry, text in texts.items()}

    def _law_table(self, native: Native, contacts: Table | None) -> Table:
        table = self.law.table
        entries = self._entries(
            {"roots": "roots", "preferred": "preferred"},
            own="input",
            work="work",
            settings="tolerances",
            answer="answer",
        )
        entries["native"] = Address(native)
        entries["generic_rank"] = Term(f"W->{self.prefix}_rank", INT, counts=True)
        if contacts is not None:
            entries["contacts"] = Address(contacts)
        room = int(ll.LEVELS + 3 * table.n_levels + table.n_measured + table.n_states)
        order = f"W->{self.prefix}_order"
        return Table("the law", clean(table, entries), entries, room, order, f"{self.prefix}_table")

    def _contact_table(self, limits: LawLimits) -> Table:
        table = limits.table
        entries = self._entries(
            {"extra": "rows"}, physics="limits", memory="memory", work="program", report="report"
        )
        self.constants[f"{self.prefix}_rows"] = limits.arrays["extra"]
        room = int(cn.PLACES + 2 * self.law.table.n_contacts + table.extra_cones)
        order = f"W->{self.prefix}_cones"
        return Table("the limits", clean(table, entries), entries, room, order, f"{self.prefix}_contacts")

    def _members(self) -> list[Member]:
        law, p, s = self.law, self.prefix, self.law.system
        rank = np.array([law.table.generic_rank])
        return [
            Member(f"{p}_state", s.nq + s.nv + s.nu + 1, "q, v, u, t"),
            array(f"{p}_input", "q, v, u, t, parameters, tau, settings", np.array(law.arrays.input)),
            array(f"{p}_tolerances", "tolerances", law.arrays.tolerances),
            Member(f"{p}_rank", 0, "of A at ordinary closed configurations", rank, INT),
            Member(
                f"{p}_order", len(law.table) - self.table.entry_count, "permutation of the rows", type=INT
            ),
            Member(f"{p}_answer", len(law.arrays.answer), "unknowns, rank, what became of the levels"),
            Member(f"{p}_work", len(law.arrays.work), "room to compute in"),
        ]

    def _contact_members(self, limits: LawLimits, contacts: Table) -> list[Member]:
        p, arrays = self.prefix, limits.arrays
        forgotten = np.zeros(len(arrays["memory"]))  # state before the first sample
        forgotten[limits.slots] = -1.0
        room = len(contacts.numbers) - contacts.entry_count
        return [
            array(f"{p}_limits", "limits and weights", arrays["physics"]),
            array(f"{p}_memory", "of the last sample", forgotten),
            Member(f"{p}_program", len(arrays["work"]), "room for a cone program"),
            Member(f"{p}_report", len(arrays["report"]), "of the last distribution"),
            Member(f"{p}_cones", room, "sizes of cones, permutation", type=INT),
        ]

    def run(self, name: str, kernels: Kernels) -> str:
        """Return the C function that loads the state, solves, and returns the status of the demands."""
        law, p, s, upper = self.law, self.prefix, self.law.system, name.upper()
        start = hierarchy if law.limits is None else hierarchy_in_cones, self.table
        if self.plant is not None:
            start = law_on_contacts, self.plant.table
        kernel, _ = kernels.call(start[0], [start[1], View(f"W->{p}_state", DOUBLE), Term("what", INT)])
        infeasible = damped = ""
        if law.limits is not None or self.plant is not None:
            outcome = "" if law.limits is None else f"W->{p}_report[{law.limits.report.outcome}]"
            if self.plant is not None:
                otherwise = outcome or f"{cn.EXACT}.0"
                outcome = f"({self.plant.fact('acts')} != 0.0 ? {self.plant.outcome} : {otherwise})"
            infeasible = (
                f"    if (code < 0 && {outcome} == {cn.FAILED}.0)\n        return {upper}_INFEASIBLE;"
            )
            damped = f"    if ({outcome} == {cn.DAMPED}.0)\n        return {upper}_INFEASIBLE;"
        levels = [
            f"    missed |= W->{p}_answer[{at + 1}] > {ACHIEVED!r} * (1.0 + W->{p}_answer[{at + 2}]);"
            for level, at in zip(law.levels, range(law.unknowns + 1, 10**9, ll.PER_LEVEL))
            if not level.soft
        ]
        left_open = ""
        if s.nh > 0:
            allowed = largest_opening(s.workspace())
            left_open = (
                f"    if (W->{p}_work[{law.gap_place}] > {allowed!r})\n        return {upper}_NOT_CLOSED;"
            )
        n, known, find = s.nq + s.nv, "", ""
        if self.topologies is not None:
            places = ll.LawSettings.places
            cut, scale = (f"W->{p}_tolerances[{places[key]}]" for key in ("singular_cut", "scale_of_rows"))
            signature = f"static void {p}_topology({name}_workspace *W)"
            counts = [f"W->{p}_input[{s.parts.tau.stop + one.counts_at}]" for one in law.hand_overs]
            known = lookup(self.topologies, signature, [f"W->{p}_rank", cut, scale, *counts]) + "\n"
            find = f"    {p}_topology(W);"
        return known + function(
            f"static int {p}_run({name}_workspace *W, const double *q, const double *v, double t, int what, "
            "double *u)",
            "    double wrong = 0.0 * t;",
            "    int i = 0, code = 0, missed = 0;",
            loop(s.nq, f"W->{p}_state[i] = q[i]"),
            loop(s.nv, f"W->{p}_state[{s.nq} + i] = v[i]"),
            f"    W->{p}_state[{n + s.nu}] = t;",
            loop(len(s.parameters), f"W->{p}_input[{s.parts.p.start} + i] = W->parameters[i]"),
            find,
            f"    code = {kernel}(W, W->{p}_state, what);",
            infeasible,
            loop(n, f"wrong += 0.0 * W->{p}_state[i]"),
            f"    for (i = 0; code < 0 && i < {law.native.n_out}; i++)",
            f"        wrong += 0.0 * W->{p}_work[i];",
            "    if (code < 0 || wrong != 0.0)",
            f"        return wrong == 0.0 ? {upper}_ILL_POSED : {upper}_NOT_FINITE;",
            loop(s.nu, f"u[i] = W->{p}_answer[i]"),
            left_open,
            damped,
            *levels,
            *(self.plant.verdict(name, p) if self.plant is not None else []),
            f"    return missed ? {upper}_NOT_ACHIEVABLE : {upper}_OK;",
        )


def control_law(name: str, plan: LawPlan, kernels: Kernels) -> Entry:
    """Return the entry for u = law(q, v, t), called directly and at samples."""
    law, p, upper = plan.law, plan.prefix, name.upper()
    own = law.system.parts.tau.stop
    ask = f"int {name}_law({name}_workspace *W, const double *q, const double *v, double t, double *u)"
    ask_sample = (
        f"int {name}_law_sample({name}_workspace *W, const double *q, const double *v, double t,\n"
        "    double period, const double *multipliers, double *u)"
    )
    reset = f"void {name}_law_reset({name}_workspace *W)"
    text = (
        f"{law.name} of {law.system.name}: the controls u at a state, as they are, without limits unless the law "
        "has them. Returns OK; NOT_ACHIEVABLE where a demand is missed (least squares, those before it first); "
        "INFEASIBLE where limits allow no forces; NOT_CLOSED where the loops are open by more than steps take, "
        "then u is that of q as it is; ILL_POSED or NOT_FINITE, then u is not written. "
        "Quaternions in q must have length one."
    ) + (left_out(law.system) if plan.plant is None else plan.plant.text)
    sample = (
        "The same at a sample: what the law remembers goes on by period [s]. multipliers are those of the plant, "
        "or NULL. reset forgets what was remembered."
    )
    parts = [
        f"#define {upper}_SETTING(W, k) ((W)->{p}_input[{own} + (k)])\n",
        prototype(ask, text),
        f"{prototype(ask_sample, sample)}{reset};\n",
    ]
    if isinstance(law, ContactLaw):
        rows = [
            f"{n}.{k}" for n, p in zip(law.terms.names, law.terms.places) for k in range(p.stop - p.start)
        ]
        heading = "/* Forces of the contacts that go with the last controls [N]. */"
        names = macros(f"{upper}_FORCE", rows)
        parts.append(listing(heading, [(macro, k, "") for k, macro in enumerate(names)]))
        parts.append(f"#define {upper}_FORCE(W, k) ((W)->{plan.prefix}_answer[{upper}_NU + (k)])\n")
    measured, forgotten = _memory(plan, own)
    definitions = [
        plan.run(name, kernels),
        function(ask, f"    return {p}_run(W, q, v, t, {ll.ANSWER_ONLY}, u);"),
        function(
            ask_sample,
            *measured,
            f"    W->{p}_input[{law.table.period}] = period;",
            f"    return {p}_run(W, q, v, t, {ll.SAMPLE}, u);",
        ),
        function(reset, *forgotten),
    ]
    shown = example(
        f"{name}_law(&W, q, v, t, u)", ("u", "u", law.system.nu), said='"law: status %d\\n", status'
    )
    return Entry(plan.members, "\n".join(parts), "\n".join(definitions), shown)


def _memory(plan: LawPlan, own: int) -> tuple[list[str], list[str]]:
    """Return C functions that store measured multipliers, and that reset; ``own`` is the index of the settings."""
    law, p, at = plan.law, plan.prefix, plan.law.table.measured
    measure, reset = ["    (void)multipliers;"], []
    if law.measured:
        measure = [
            "    if (multipliers) {",
            f"        W->{p}_input[{at}] = 1.0;",
            *(
                f"        W->{p}_input[{at + 1 + k}] = multipliers[{row}];"
                for k, row in enumerate(law.measured)
            ),
            "    }",
        ]
        reset += [f"    W->{p}_input[{at + k}] = 0.0;" for k in range(1 + len(law.measured))]
    reset.append(f"    W->{p}_input[{law.table.period}] = 0.0;")
    for state in law.states:
        for k, number in enumerate(state.start.tolist()):
            like = repr(number) if state.like is None else f"W->{p}_input[{own + state.like + k}]"
            reset.append(f"    W->{p}_input[{own + state.place + k}] = {like};")
    if law.limits is not None:
        values = ((law.limits.memory.known, "0.0"), *((slot, "-1.0") for slot in law.limits.slots))
        reset += [f"    W->{p}_memory[{place}] = {value};" for place, value in values]
    return measure, reset


def demanding_law(system: System, q: np.ndarray) -> Law:
    """Return the law that demands given accelerations: inverse dynamics."""
    settings = Settings()
    wanted = settings.add("a", 0.0, system.nv, "inverse dynamics")
    rows = ca.SX.eye(system.nv)
    demand = Demand("a", system.velocity_names, rows, wanted, units=units_of_rows(system, rows))
    law = Law(system, [demand], settings, limits=(-np.inf, np.inf), contacts=False)
    law.prepare(q, np.zeros(system.nv))
    return law


def inverse_dynamics(name: str, plan: LawPlan, kernels: Kernels) -> Entry:
    """Return the entry for the controls of least norm that produce given accelerations."""
    s = plan.law.system
    signature = (
        f"int {name}_inverse_dynamics({name}_workspace *W, const double *q, const double *v,\n"
        "    const double *a, double t, double *u)"
    )
    text = (
        "Inverse dynamics: the controls u of least norm that produce the acceleration a, loops and passive joints "
        "respected. Returns OK; NOT_ACHIEVABLE where the constraints or the actuators do not allow a (least "
        "squares); NOT_CLOSED where the loops are open by more than steps take; ILL_POSED or NOT_FINITE, then u is "
        "not written. Quaternions in q must have length one."
    ) + left_out(s)
    public = function(
        signature,
        "    int i = 0;",
        loop(s.nv, f"W->inverse_input[{s.parts.tau.stop} + i] = a[i]"),
        "    return inverse_run(W, q, v, t, 0, u);",
    )
    shown = example(
        f"{name}_inverse_dynamics(&W, q, v, v, t, u)",
        ("u", "u", s.nu),
        said='"inverse dynamics at rest: status %d\\n", status',
    )
    return Entry(plan.members, prototype(signature, text), f"{plan.run(name, kernels)}\n{public}", shown)
