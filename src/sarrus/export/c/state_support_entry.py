"""Inverse dynamics in C with contacts, ropes, stops and dry friction: least controls, then least forces."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from sarrus.dynamics.closing.closed_state import largest_opening
from sarrus.dynamics.model.control_metric import default_weights
from sarrus.dynamics.optimize.force_balance import BalanceTable
from sarrus.dynamics.solve.tolerances import REACHED_FORCES
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, SystemPlan, array
from sarrus.export.c.entry_points import Entry, example, function, loaded, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.state_plan import StatePlan
from sarrus.export.c.values import DOUBLE, INT, Address, KernelCode, Table, Term, Value, View
from sarrus.kernels.cones.cone_program import cone_program
from sarrus.kernels.memory import balance_layout as bl
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory import state_support_layout as ss
from sarrus.kernels.states.support import support

_ENDS = {
    ss.DEEP: "NOT_CLOSED",
    ss.IMPOSSIBLE: "INCONSISTENT",
    ss.UNREACHABLE: "NOT_ACHIEVABLE",
    ss.FORBIDDEN: "INFEASIBLE",
    ss.ALMOST: "ALMOST",
}
_TEXT = (
    "Inverse dynamics: the least controls u for which contacts with Coulomb friction, ropes, limits and dry friction "
    "of joints have admissible forces, so that a is the acceleration; then the least such forces, which may be NULL. "
    "Open, sliding or sticking is what q, v and a say. Loops and passive joints are respected. Returns OK; INFEASIBLE "
    "where the laws allow no such forces, NOT_ACHIEVABLE where no actuator or closed element acts (smallest residual); "
    "INCONSISTENT where a contradicts the constraints, or v or a penetrates an element; NOT_CLOSED where the loops are "
    "open by more than steps take, or an element is below its plane by more than 1e-6 lengths; ALMOST where the "
    "residual stays above 1e-9; NOT_FINITE, then u is not written."
)


def inverse_dynamics_on_contacts(
    name: str, plan: SystemPlan, kernels: Kernels, natives: Natives, at_state: StatePlan
) -> Entry:
    """Return the entry for the controls of least norm that produce given accelerations, with contacts."""
    system, upper = plan.system, name.upper()
    system.require_no_activations("inverse dynamics")
    members, table = _table(plan, natives, at_state)
    kernel, _ = kernels.call(support, [at_state.table, table])
    starts = _starts(ss.support_sizes(len(at_state.names), system.nv, system.nu, system.nc))
    size, forces = system.parts.tau.stop, at_state.starts["forces"]
    left_open = []
    if system.nh > 0:
        left_open = [
            "    model_gap(W->x, W->gap);",
            f"    if (!(W->gap[0] <= {largest_opening(plan.work)!r}))\n        return {upper}_NOT_CLOSED;",
        ]
    signature = (
        f"int {name}_inverse_dynamics({name}_workspace *W, const double *q, const double *v,\n"
        "    const double *a, double t, double *u, double *forces)"
    )
    nf = len(at_state.names)
    return Entry(
        members,
        prototype(signature, _TEXT),
        function(
            signature,
            "    int i = 0, code = 0;",
            "    double wrong = 0.0;",
            *loaded(name, plan, kernels),
            loop(size, "wrong += 0.0 * (W->x[i] * W->x[i])"),
            loop(system.nv, "wrong += 0.0 * (a[i] * a[i])"),
            f"    if (wrong != 0.0)\n        return {upper}_NOT_FINITE;",
            loop(system.nv, f"W->state_input[{size} + i] = a[i]"),
            f"    code = {kernel}(W);",
            f"    if (code == {ss.DEEP})\n        return {upper}_NOT_CLOSED;",
            loop(system.nu, f"u[i] = W->state_support[{starts['best']} + i]"),
            loop(nf, f"if (forces)\n            forces[i] = W->state_answer[{forces} + i]"),
            *left_open,
            *(f"    if (code == {end})\n        return {upper}_{said};" for end, said in _ENDS.items()),
            f"    return {upper}_OK;",
        ),
        example(
            f"{name}_inverse_dynamics(&W, q, v, v, t, u, supporting)",
            ("u", "u", system.nu),
            said='"inverse dynamics at rest: status %d\\n", status',
            declared=f"static double supporting[{nf}];",
        ),
    )


def _starts(sizes: tuple[int, ...]) -> dict[str, int]:
    """Return where each array begins."""
    return dict(zip(type(sizes)._fields, np.cumsum([0, *sizes])[:-1].tolist()))  # type: ignore[attr-defined]


def _terms(system: System) -> tuple[list[ca.SX], Mapping[str, ca.SX]]:
    """Return inputs and outputs of the native function: the load, S, A, and A a + γ."""
    e = system.equations
    a = ca.SX.sym("a", e.nv)
    outputs = {
        "load": e.mass_matrix @ a + e.bias_force - e.passive_force - e.non_ideal,
        "actuation": e.actuation,
        "jacobian": e.jacobian,
        "missed": e.jacobian @ a + e.constraint_bias,
    }
    return [*system.compiled.inputs, a], {key: ca.densify(part) for key, part in outputs.items()}


def _table(plan: SystemPlan, natives: Natives, at_state: StatePlan) -> tuple[list[Member], Table]:
    """Return the members of the workspace, and the table of the kernel."""
    system, rows = plan.system, len(at_state.names)
    nv, nu, nc = system.nv, system.nu, system.nc
    balance = BalanceTable(nv, nu, rows)
    numbers, largest, tolerances = balance.record, balance.program, balance.tolerances
    data, work, answer = balance.storage
    tolerances.reached = REACHED_FORCES
    counts, places = ("variables", "equalities", "linear", "cones"), ("program", "work", "answer", "limits")
    of_program: dict[str, Value] = {
        **{key: Term(f"W->cone_{key}", INT, counts=True) for key in counts},
        **{key: Address(View(f"W->cone_{key}", DOUBLE)) for key in places},
    }
    program = Table(
        "a cone program", cl.ConeTable.zeros(), of_program, cl.SIZES, "W->cone_sizes", "cone_table"
    )
    order: Value = Address(View("W->state_permutation", INT))
    parts: dict[str, Value] = {
        **{key: Term(f"W->balance_{key}", INT, counts=True) for key in ("motions", "forces")},
        "solver": Address(KernelCode(cone_program)),
        "program": Address(program),
        "tolerances": Address(View("W->state_tolerances", DOUBLE)),
        "order": order,
        "room": Address(View("W->balance_room", DOUBLE)),
    }
    entries = {
        **at_state.entries,
        "order": order,
        "terms": Address(natives.add("model_support", lambda: _terms(system))),
        "balance": Address(
            Table("a balance", numbers, parts, len(numbers), "W->state_none", "balance_table")
        ),
        **{
            key: Address(View(f"W->state_{key}", DOUBLE)) for key in ("units_of_controls", "input", "support")
        },
    }
    said, room = "of inverse dynamics", ss.support_sizes(rows, nv, nu, nc)
    members = [
        *(Member(f"cone_{key}", 0, "of a cone program", np.zeros(1), INT) for key in counts),
        Member("cone_sizes", len(largest) - cl.SIZES, "of cones, and permutations", type=INT),
        *(
            Member(f"cone_{key}", size, said)
            for key, size in (("program", data), ("work", work), ("answer", answer))
        ),
        array("cone_limits", "tolerances of cone programs", balance.limits),
        array("state_tolerances", said, tolerances),
        array("state_units_of_controls", said, 1.0 / np.sqrt(default_weights(system))),
        Member("state_input", system.parts.tau.stop + nv, "state and acceleration"),
        Member("state_support", sum(room), "room of inverse dynamics"),
        *(Member(f"balance_{key}", 0, said, np.zeros(1), INT) for key in ("motions", "forces")),
        Member("balance_room", sum(bl.balance_sizes(nv, nu + rows)), said),
        Member("state_permutation", max(rows, nv) + 1, said, type=INT),
    ]
    own = ss.StateSupport.zeros()
    return members, Table("a supported state", own, entries, len(own), "W->state_none", "support_table")
