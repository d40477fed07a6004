"""A time step with contacts in C, by the time-stepping method of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.contact_elements import contact_elements, contact_names
from sarrus.dynamics.contacts.contact_functions import motion_outputs, step_gap_outputs
from sarrus.dynamics.contacts.contact_state import require_poisson_in_steps
from sarrus.dynamics.model.joint_limits import joint_limits
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, SystemPlan, array, clean
from sarrus.export.c.entry_points import Entry, example, function, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.values import DOUBLE, INT, Address, KernelCode, Known, Table, Term, Value, View
from sarrus.kernels.algebra.retraction import normalize
from sarrus.kernels.contact.contact_problem import contact_problem
from sarrus.kernels.contact.rows import begin_where_beyond
from sarrus.kernels.integrate.stepping import finish
from sarrus.kernels.integrate.time_stepping import time_step
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.impact_layout import StepImpact
from sarrus.kernels.memory.local_layout import LocalHeader, local_sizes
from sarrus.kernels.memory.run_state import Run
from sarrus.motion.loop.contact_run import ContactRun
from sarrus.motion.loop.step_impact_arrays import StepImpactArrays

_INTEGERS = ("sizes", "first_rows", "widths", "coordinates", "speeds")
_FLOATS = (
    "signs", "scales", "bounds", "given_bounds", "ends", "friction", "static", "limits", "restitution", "lightness",
)  # fmt: skip

_IMPACT_INTEGERS = ("sizes", "originals")
_IMPACT_FLOATS = (
    "coefficients", "before", "known", "impulses", "instant", "residual", "numbers", "delassus", "velocities", "turn",
    "forces", "work",
)  # fmt: skip


def contact_step(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives, q: np.ndarray) -> Entry:
    """Return a step with contacts, stops and dry friction."""
    system, upper = plan.system, name.upper()
    if not contact_elements(system):
        raise ArgumentError(
            f"{system.name}: functions asks for contact_step, but the system has no contacts with friction='coulomb', "
            "no limits and no dry friction; use step",
            element="contact_step",
        )
    system.require_no_activations("steps with contacts")
    require_poisson_in_steps(system)
    members = _attach(plan, natives, ContactRun(system.workspace(), q, 0.0))
    names, state = contact_names(system), local_sizes(plan.table.numbers)
    at = state.header + state.start + state.ranks
    new = View(f"W->local + {at}", DOUBLE)
    step_of, _ = kernels.call(time_step, [plan.table, View("W->x", DOUBLE), Term("0", INT)])
    finish_of, _ = kernels.call(finish, [plan.table, new, Known(la.CONSTRAINTS)])
    unit, _ = kernels.call(normalize, [plan.table, View("W->x", DOUBLE)])
    contact_table = plan.table.field("contact_table")
    stops = [int(place) for place in joint_limits(system).places]
    begin = ""
    if stops:
        kernel, _ = kernels.call(begin_where_beyond, [contact_table, View("W->x", DOUBLE)])
        begin = f"    {kernel}(W, W->x);"
    signature = (
        f"int {name}_contact_step({name}_workspace *W, double *q, double *v, const double *u, double *t,\n"
        "    const double *tau, double h, double *forces)"
    )
    text = (
        "One step of h [s] with contacts, stops and dry friction, u and tau held, either may be NULL: the method "
        "moreau-jean. q, v and t are replaced; forces are means over the step and may be NULL. A step that begins "
        "where the one before ended goes on with its forces. A joint beyond its limit is held where it is: it may come "
        "back and goes no further out. NOT_CONVERGED: no forces were found that obey the laws "
        "of contact; PROJECTION_FAILED, NOT_FINITE, NOT_CLOSED (loops open by more than steps leave them): no step; "
        "then all stays as it is. "
        "NOT_FINITE also for an h that is not positive: the laws of contact do not run backwards."
    )
    header, run = LocalHeader.places["length"], Run.places["step"]
    slot = tl.slot_sizes(contact_table.numbers, system.nv)  # type: ignore[union-attr]
    kept = tl.ROOM * sum(slot) + slot.facts
    return Entry(
        members,
        prototype(signature, text),
        function(
            signature,
            "    int i = 0;",
            "    double wrong = 0.0 * h;",
            f"    if (!(h > 0.0) || wrong != 0.0)\n        return {upper}_NOT_FINITE;",
            f"    {name}_state(W, q, v, u, *t, tau);",
            f"    {unit}(W, W->x);",
            *plan.where_open(f"isfinite(W->gap[0]) ? {upper}_NOT_CLOSED : {upper}_NOT_FINITE"),
            begin,
            f"    W->local[{header}] = h;",
            f"    W->run[{run}] = h;",
            "    W->contact_failed = 0;",
            f"    if ({step_of}(W, W->x, 0) < 0)",
            f"        return W->contact_failed ? {upper}_NOT_CONVERGED : {name}_finite(W, tau);",
            f"    if (!{finish_of}(W, {new.text}, {la.CONSTRAINTS}))",
            f"        return {upper}_PROJECTION_FAILED;",
            loop(system.nq + system.nv, f"wrong += 0.0 * W->local[{at} + i]"),
            f"    if (wrong != 0.0)\n        return {upper}_NOT_FINITE;",
            loop(system.nq, f"q[i] = W->local[{at} + i]"),
            loop(system.nv, f"v[i] = W->local[{at + system.nq} + i]"),
            *(f"    W->contact_ends[{s}] = W->local[{at + place}];" for s, place in enumerate(stops)),
            loop(len(names), f"if (forces)\n            forces[i] = W->contact_slots[{kept} + i]"),
            f"    *t = W->local[{at + system.parts.t}];",
            f"    return {upper}_OK;",
        ),
        example(
            f"{name}_contact_step(&W, q, v, u, &t, NULL, 1e-3, forces)",
            ("forces", "forces", len(names)),
            said='"contact step: status %d\\n", status',
            declared=f"static double forces[{len(names)}];",
        ),
    )  # fmt: skip


def step_on_contacts(name: str, system: System) -> Entry:
    """Return the entry for ``step`` of a system with contacts, stops or dry friction: contact_step."""
    signature = (
        f"int {name}_step({name}_workspace *W, double *q, double *v, const double *u, double *t,\n"
        "    const double *tau, double h)"
    )
    text = (
        "One step of h [s] with contacts, stops and dry friction: contact_step, without its forces. An export without "
        "them (contacts=False) has a Runge-Kutta step instead."
    )
    return Entry(
        [],
        prototype(signature, text),
        function(signature, f"    return {name}_contact_step(W, q, v, u, t, tau, h, 0);"),
        example(
            f"{name}_step(&W, q, v, u, &t, NULL, 1e-3)",
            ("q", "q", system.nq),
            said='"step: status %d\\n", status',
        ),
    )


def _attach(plan: SystemPlan, natives: Natives, contact_run: ContactRun) -> list[Member]:
    """Add the contacts to the table of a system; return their members of the workspace."""
    contact_table = contact_run.contact_table
    contact_table.slope = contact_table.n_factors = 0  # C has no code for several states at once
    problem, entries = problem_table(plan, contact_table, "contact"), plan.table.entries
    arrays = contact_run.arrays
    own: dict[str, Value] = {
        **{key: Address(View(f"W->contact_{key}", INT)) for key in _INTEGERS},
        **{
            key: Address(View(f"W->contact_{key}", DOUBLE)) for key in (*_FLOATS, "settings", "slots", "work")
        },
        **{key: Term(f"W->contact_{key}", INT, counts=True) for key in ("failed", "given", "turn")},
        "problem": Address(problem),
        "inner": entries["acceleration"],
        "solver": Address(KernelCode(contact_problem)),
    }
    natives_of = {"gaps": (step_gap_outputs, contact_table.contacts)}
    natives_of["motion"] = motion_outputs, contact_table.contact_rows
    for key, (outputs, count) in natives_of.items():
        if count:
            trace = partial(traced, plan.system, outputs)
            own[key] = Address(natives.add(f"model_touch_{key}", trace))
    impact = contact_run.impact
    if impact is not None:
        own["impact"] = Address(_impact(impact))
    numbers = clean(contact_table, own)
    table = Table("contacts", numbers, own, len(numbers), "W->contact_none", "contact_table")
    plan.enter(
        {"contact_table": Address(table), **{k: Address(View(f"W->{k}", DOUBLE)) for k in ("local", "run")}}
    )
    n = plan.system
    sizes = tl.contact_sizes(contact_table, n.nq, n.nv, la.input_size(plan.table.numbers))
    note, blocks = "of contacts and stops", contact_table.contacts + contact_table.stops + contact_table.dry
    counts = ("rows", "blocks", "closed", "failed", "given", "turn")
    found = [
        Member("local", sum(local_sizes(plan.table.numbers)), "of the step"),
        Member("run", len(Run.fields), "of the step"),
        array("contact_settings", "tolerances of contacts", np.array(arrays["settings"])),
        Member("contact_slots", len(contact_run.slots), "what is known of the last steps"),
        Member("contact_work", sum(sizes), "room for contacts"),
        Member("contact_block_sizes", blocks, "of the contact problem", type=INT),
        *(Member(f"contact_{key}", 0, "of the contact problem", np.zeros(1), INT) for key in counts),
    ]
    if impact is not None:
        note = "of impacts with Poisson's law"
        for key in (*_IMPACT_INTEGERS, *_IMPACT_FLOATS):
            kind = INT if key in _IMPACT_INTEGERS else DOUBLE
            given = np.array(impact.coefficients) if key == "coefficients" else None
            found.append(Member(f"impact_{key}", len(getattr(impact, key)), note, given, kind))
        found += [Member(f"impact_{key}", 0, note, np.zeros(1), INT) for key in ("rows", "blocks", "closed")]
    for key in (*_FLOATS, *_INTEGERS):
        values = arrays[key] if len(arrays[key]) else np.zeros(1)
        found.append(Member(f"contact_{key}", len(values), note, values, INT if key in _INTEGERS else DOUBLE))
    return found


def _impact(impact: StepImpactArrays) -> Table:
    """Return the table of impacts with Poisson's law, whose arrays are members of the workspace."""

    def views(keys: tuple[str, ...]) -> dict[str, Value]:
        return {
            key: Address(View(f"W->impact_{key}", INT if key in _IMPACT_INTEGERS else DOUBLE)) for key in keys
        }

    counts = {"rows": "rows", "blocks": "blocks", "contacts": "closed"}
    entries = {
        **{key: Term(f"W->impact_{name}", INT, counts=True) for key, name in counts.items()},
        **views(impact.of_problem),
    }
    numbers = clean(cp.ContactProblem.zeros(), entries)
    problem = Table(
        "the problem of an impact", numbers, entries, len(numbers), "W->contact_none", "impact_problem_table"
    )
    own = {**views(impact.of_table), "problem": Address(problem)}
    numbers_of_impact = clean(StepImpact.zeros(), own)
    return Table("impacts", numbers_of_impact, own, len(numbers_of_impact), "W->contact_none", "impact_table")


def traced(
    system: System, outputs: Callable[[System], dict[str, ca.SX]]
) -> tuple[list[ca.SX], Mapping[str, ca.SX]]:
    """Return inputs and dense outputs of a native function."""
    return system.compiled.inputs, {key: ca.densify(part) for key, part in outputs(system).items()}


def problem_table(plan: SystemPlan, contact_table: tl.ContactTable, prefix: str) -> Table:
    """Return the table of the contact problem, whose arrays are members of the workspace named with ``prefix``."""
    s = plan.system
    sizes = tl.contact_sizes(contact_table, s.nq, s.nv, la.input_size(plan.table.numbers))
    starts = dict(zip(sizes._fields, np.cumsum([0, *sizes])[:-1].tolist()))
    parts = {
        "numbers": "numbers",
        "delassus": "delassus",
        "velocities": "given",
        "turn": "turn",
        "forces": "impulses",
        "work": "solver",
    }
    entries: dict[str, Value] = {
        "rows": Term(f"W->{prefix}_rows", INT, counts=True),
        "blocks": Term(f"W->{prefix}_blocks", INT, counts=True),
        "contacts": Term(f"W->{prefix}_closed", INT, counts=True),
        "sizes": Address(View(f"W->{prefix}_block_sizes", INT)),
        **{key: Address(View(f"W->{prefix}_work + {starts[part]}", DOUBLE)) for key, part in parts.items()},
    }
    numbers, text = clean(cp.ContactProblem.zeros(), entries), f"{prefix}_problem_table"
    return Table("the contact problem", numbers, entries, len(numbers), f"W->{prefix}_none", text)
