"""The C functions of a system: declarations, definitions and workspace members."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.system import System
from sarrus.export.c.contents import TOPOLOGY, Member, Natives, SystemPlan
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import note
from sarrus.export.c.topology_lookup import lookup
from sarrus.export.c.values import DOUBLE, Term, View
from sarrus.export.topologies import Topologies
from sarrus.kernels.algebra.retraction import normalize
from sarrus.kernels.integrate import single_step as one


@dataclass
class Entry:
    """One exported function: its members of the workspace and its parts of header, source and example."""

    members: list[Member]
    declaration: str
    definition: str
    example: str


def prototype(signature: str, text: str) -> str:
    """Return the declaration of a function, with its comment above."""
    return f"{note(text)}\n{signature};\n"


def function(signature: str, *body: str) -> str:
    """Return the definition of a function from the lines of its body."""
    return "\n".join([signature, "{", *(line for line in body if line), "}\n"])


def loop(count: int, statement: str) -> str:
    """Return a loop over i < count of a statement; empty for count 0."""
    return f"    for (i = 0; i < {count}; i++)\n        {statement};" if count else ""


def block(type_: str, members: list[tuple[str, int, str]], *others: str) -> str:
    """Return the definition of a structure of double arrays (those of length zero omitted) and other members."""
    lines = [f"    double {m}[{size}]; {note(text)}" for m, size, text in members if size]
    return "\n".join(["typedef struct {", *lines, *others, f"}} {type_};\n"])


def example(call: str, shown: tuple[str, str, int | str], *, said: str = "", declared: str = "") -> str:
    """Return a block that calls and times a function: ``said`` is printed with its status, ``shown`` its result."""
    lines = [
        declared,
        f"{'status = ' if said else ''}{call};",
        said and f"printf({said});",
        'show("{}", {}, {});'.format(*shown),
        f"TIME({call});",
    ]
    return "\n".join(["    {", *(f"        {line}" for line in lines if line), "    }"])


def loaded(name: str, plan: SystemPlan, kernels: Kernels, controls: str = "0", tau: str = "0") -> list[str]:
    """Return the lines that bring a state to where native functions read it, with unit quaternions."""
    lines = [f"    {name}_state(W, q, v, {controls}, t, {tau});"]
    if len(plan.system.equations.quaternions):
        kernel, _ = kernels.call(normalize, [plan.table, View("W->x", DOUBLE)])
        lines.append(f"    {kernel}(W, W->x);")
    return lines


# Elements of a system that an export without contacts leaves out, by the kind of `ContactTable`.
_LEFT_OUT = {
    "contact": "contacts with Coulomb friction",
    "rope": "ropes",
    "stop": "limits of joints",
    "friction": "dry friction of joints",
}


def left_out(system: System) -> str:
    """Return the sentence about the elements that a function leaves out, empty if there are none."""
    kinds = dict.fromkeys(one.what for one in contact_elements(system))
    names = [_LEFT_OUT[kind] for kind in kinds]
    if system.contact_geometries:
        names.append("contacts between geometries")
    return f" Left out: {', '.join(names)}." if names else ""


TERMS = {
    "mass_matrix": ("mass_matrix", "M, nv x nv by rows"),
    "bias_force": ("bias_force", "h: Coriolis, centrifugal and gravity forces"),
    "passive_force": ("passive_force", "k: springs, dampers, user forces"),
    "actuation": ("actuation", "S, nv x nu by rows"),
    "position_residual": ("constraint_residual", "phi, of the holonomic constraints"),
    "velocity_residual": ("velocity_residual", "psi = A v - b"),
    "jacobian": ("constraint_jacobian", "A, nc x nv by rows"),
    "constraint_bias": ("constraint_bias", "gamma: A a + gamma = 0"),
    "rate": ("coordinate_rate", "N v, the rates of q"),
}


def terms(name: str, plan: SystemPlan, natives: Natives) -> Entry:
    """Return the entry for all terms of the equations of motion at a state."""
    compiled = plan.system.compiled
    outputs: dict[str, ca.SX] = {own: getattr(compiled.equations, own) for own in TERMS}
    natives.add("model_all_terms", lambda: (compiled.inputs, outputs))
    arrays = [(public, int(outputs[own].numel()), text) for own, (public, text) in TERMS.items()]
    copies, at = [], 0
    for public, size, _ in arrays:
        copies.append(loop(size, f"out->{public}[i] = W->terms[{at} + i]"))
        at += size
    signature = (
        f"void {name}_terms({name}_workspace *W, const double *q, const double *v, double t, "
        f"{name}_terms_at *out)"
    )
    text = (
        "All terms of M a + h = k + S u + tau + A' lambda, A a + gamma = 0 at a state. Quaternions in q must have "
        "length one."
    )
    return Entry(
        [Member("terms", at, "of the last evaluation")],
        f"{block(f'{name}_terms_at', arrays)}\n{prototype(signature, text)}",
        function(
            signature,
            "    int i = 0;",
            f"    {name}_state(W, q, v, 0, t, 0);",
            "    model_all_terms(W->x, W->terms);",
            *copies,
        ),
        example(
            f"{name}_terms(&W, q, v, t, &terms)",
            ("bias force", "terms.bias_force", plan.system.nv),
            declared=f"static {name}_terms_at terms;",
        ),
    )


# Return codes of a step that was not taken.
NOT_DONE = (Status.ILL_POSED, Status.NOT_FINITE, Status.PROJECTION_FAILED)


def step(name: str, plan: SystemPlan, kernels: Kernels) -> Entry:
    """Return the entry for one time step: Runge–Kutta of order 4, then projection on the constraints."""
    s, table = plan.system, plan.table
    start = one.StepMemory.zeros()
    start.typical_pivot = plan.work.typical_pivot
    signature = (
        f"int {name}_step({name}_workspace *W, double *q, double *v, const double *u, double *t,\n"
        "    const double *tau, double h)"
    )
    text = (
        "One step of h [s] with u and tau held, either may be NULL: classical Runge-Kutta of order 4, then "
        "projection on the constraints, positions and velocities. q, v and t are replaced; they stay as they are "
        "where the answer is ILL_POSED, NOT_FINITE, PROJECTION_FAILED or NOT_CLOSED: the loops are open by more than "
        "steps leave them. With any other answer the step is done. "
        "INCONSISTENT, ILL_CONDITIONED, ALMOST: forward dynamics had no full answer where it began. UNSTABLE_STEP: "
        "h is too long for the fastest forces, and errors have grown for four steps, each from where the one "
        "before ended."
    ) + left_out(plan.system)
    memory = View("W->steps", DOUBLE, record=one.StepMemory)
    kernel, _ = kernels.call(one.single_step, [table, View("W->x", DOUBLE), Term("h", DOUBLE), memory])
    unit, _ = kernels.call(normalize, [table, View("W->x", DOUBLE)])
    failed = " || ".join(f"code == {name.upper()}_{status.name}" for status in NOT_DONE)
    return Entry(
        [Member("steps", len(start), "what steps remember of the way", start)],
        prototype(signature, text),
        function(
            signature,
            "    int i = 0, code = 0;",
            "    double wrong = 0.0 * h, huge = 0.0;",
            f"    {name}_state(W, q, v, u, *t, tau);",
            f"    {unit}(W, W->x);",
            loop(s.parts.tau.stop, "wrong += 0.0 * W->x[i]"),
            loop(s.parts.tau.stop, "huge += 0.0 * (W->x[i] * W->x[i])"),
            f"    if (wrong != 0.0)\n        return {name.upper()}_NOT_FINITE;",
            *plan.where_open(f"{name.upper()}_NOT_CLOSED"),
            f"    code = {kernel}(W, W->x, h, W->steps);",
            f"    if (code == {name.upper()}_ILL_POSED && huge != 0.0)\n        return {name.upper()}_NOT_FINITE;",
            f"    if ({failed})\n        return code;",
            loop(s.nq + s.nv, "wrong += 0.0 * W->x[i]"),
            f"    if (wrong != 0.0)\n        return {name.upper()}_NOT_FINITE;",
            loop(s.nq, "q[i] = W->x[i]"),
            loop(s.nv, f"v[i] = W->x[{s.nq} + i]"),
            f"    *t = W->x[{s.parts.t}];",
            "    return code;",
        ),
        example(
            f"{name}_step(&W, q, v, u, &t, NULL, 1e-3)",
            ("q", "q", s.nq),
            said='"step: status %d\\n", status',
        ),
    )


def state_functions(system: System, name: str, known: Topologies | None) -> list[str]:
    """Return C functions that load a state for the kernels, and functions that diagnose a missing answer."""
    n, tau, count = system.nq + system.nv, system.parts.tau.start, len(system.parameters)
    load = [
        loop(system.nu, f"W->x[{n} + i] = u ? u[i] : 0.0") or "    (void)u;",
        loop(count, f"W->x[{system.parts.p.start} + i] = W->parameters[i]"),
    ]
    found = []
    if known is not None:
        signature = f"static void {name}_topology({name}_workspace *W)"
        found = [lookup(known, signature, TOPOLOGY)]
        load.append(f"    {name}_topology(W);")
    counter = "    int i = 0;" if system.nu or count else "    (void)W;"
    return [
        *found,
        function(f"static void {name}_load({name}_workspace *W, const double *u)", counter, *load),
        function(
            f"static void {name}_state({name}_workspace *W, const double *q, const double *v, const double *u, "
            "double t,\n    const double *tau)",
            "    int i = 0;",
            loop(system.nq, "W->x[i] = q[i]"),
            loop(system.nv, f"W->x[{system.nq} + i] = v[i]"),
            f"    W->x[{system.parts.t}] = t;",
            loop(system.nv, f"W->x[{tau} + i] = tau ? tau[i] : 0.0"),
            f"    {name}_load(W, u);",
        ),
        function(
            f"static int {name}_finite(const {name}_workspace *W, const double *tau)",
            "    double wrong = 0.0;",
            "    int i = 0;",
            loop(tau, "wrong += 0.0 * (W->x[i] * W->x[i])"),
            loop(system.nv, "wrong += tau ? 0.0 * (tau[i] * tau[i]) : 0.0"),
            f"    return wrong == 0.0 ? {name.upper()}_ILL_POSED : {name.upper()}_NOT_FINITE;",
        ),
    ]
