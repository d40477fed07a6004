"""Forward dynamics in C, with the forces of contacts, stops and dry friction."""

from __future__ import annotations

from sarrus.dynamics.closing.closed_state import largest_opening
from sarrus.export.c.contents import Member, SystemPlan
from sarrus.export.c.entry_points import Entry, block, example, function, left_out, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.state_plan import StatePlan
from sarrus.export.c.values import DOUBLE, View
from sarrus.kernels.algebra.retraction import normalize
from sarrus.kernels.memory import layout as la
from sarrus.kernels.solve.forward import answer_at, gap_of_answer


def forward_dynamics(name: str, plan: SystemPlan, kernels: Kernels, at_state: StatePlan | None) -> Entry:
    """Return the entry for accelerations, constraint forces and multipliers at a state, checked and sorted.

    ``at_state``: contacts, stops and dry friction that act, with their forces.
    """
    s, table = plan.system, at_state.table if at_state else plan.table
    arrays = [
        ("a", s.nv, "acceleration"),
        ("constraint_force", s.nv, "A' lambda: the force of the constraints on the mechanism"),
        ("multipliers", s.nc, "lambda, of least norm where the rows are redundant"),
    ]
    others = ["    int rank; /* of A; the mechanism has nv - rank degrees of freedom */"]
    if at_state is not None:
        arrays.append(
            ("forces", len(at_state.names), "of contacts, stops and dry friction, on the mechanism")
        )
        others += at_state.results
    signature = (
        f"int {name}_forward_dynamics({name}_workspace *W, const double *q, const double *v, const double *u,\n"
        f"    double t, const double *tau, {name}_motion *out)"
    )
    text = (
        "Forward dynamics: M a + h = k + S u + tau + A' lambda, A a + gamma = 0, for any rank of A. "
        "u and tau may be NULL: zeros. Quaternions in q are brought to length one. Returns OK; SINGULAR where the "
        "rank is below the one in the workspace (a lost direction is unconstrained); NOT_CLOSED where the loops are "
        "open by more than steps take, the answer is then that of the rows as they are; INCONSISTENT where the "
        "constraints contradict each other (least squares); ALMOST where the residuals stay above 1e-9 of what is "
        "summed in them, ILL_CONDITIONED where M is so near to singular that a may have lost all digits; ILL_POSED "
        "or NOT_FINITE, then there is no answer."
    ) + (at_state.text if at_state else left_out(s))
    kernel, _ = kernels.call(answer_at, [table, View("W->answer", DOUBLE)])
    solve, allowed = f"code = {kernel}(W, W->answer);", []
    if s.nh > 0:
        gap, _ = kernels.call(gap_of_answer, [table])
        allowed = [
            f"    if (!({gap}(W) <= {largest_opening(plan.work)!r}))\n        status = {name.upper()}_NOT_CLOSED;"
        ]
    again, non_ideal = [], []
    if len(s.equations.quaternions):
        unit, _ = kernels.call(normalize, [table, View("W->x", DOUBLE)])
        again = [
            f"    if (code == {la.NOT_UNIT}) {{",
            f"        {unit}(W, W->x);",
            f"        {solve}",
            "    }",
        ]
    if not s.model.is_ideal:
        non_ideal = [
            "    model_non_ideal(W->x, W->work);",
            loop(s.nv, "out->constraint_force[i] += W->work[i]"),
        ]
    call = f"{name}_forward_dynamics(&W, q, v, u, t, NULL, &motion)"
    return Entry(
        [Member("answer", plan.work.output_size, "of the last solve")],
        f"{block(f'{name}_motion', arrays, *others)}\n{prototype(signature, text)}",
        function(
            signature,
            "    int i = 0, code = 0, status = 0;",
            f"    {name}_state(W, q, v, u, t, tau);",
            f"    {solve}",
            *again,
            f"    status = code / {la.STRIDE};",
            *allowed,
            *(at_state.body(name.upper(), kernels, solve) if at_state else []),
            loop(s.nv, "out->a[i] = W->answer[i]"),
            loop(s.nc, f"out->multipliers[i] = W->answer[{s.nv} + i]"),
            loop(s.nv, f"out->constraint_force[i] = W->answer[{s.nv + s.nc} + i]"),
            *non_ideal,
            f"    out->rank = code < 0 ? -1 : code % {la.STRIDE};",
            f"    if (code < 0)\n        return {name}_finite(W, tau);",
            "    return status;",
        ),
        example(
            call,
            ("a", "motion.a", s.nv),
            said='"forward dynamics: status %d, rank %d\\n", status, motion.rank',
            declared=f"{'static ' if at_state else ''}{name}_motion motion;",
        ),
    )
