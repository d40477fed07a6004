"""The functions of a system that C code offers: what they declare, define and need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca
import numpy as np

from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, SystemPlan
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import note
from sarrus.export.c.values import DOUBLE, Term, View
from sarrus.kernels import layout as la
from sarrus.kernels import single_step as one
from sarrus.kernels.forward import forward
from sarrus.kernels.projection import normalize


@dataclass
class Code:
    """The public functions of an entry in C, and what they use by name."""

    text: str
    roots: list[str] = field(default_factory=list)


class Entry(Protocol):
    """One thing that an export offers."""

    @property
    def members(self) -> list[Member]:
        """What it needs in the workspace."""

    @property
    def constants(self) -> Mapping[str, np.ndarray]:
        """Arrays of constants that its kernels read."""

    def declare(self, name: str) -> str:
        """Return its part of the header; ``name`` is the prefix of all names."""

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return its functions."""

    def example(self, name: str) -> str:
        """Return statements that show it, with q, v, u and t there."""


def block(type_: str, members: list[tuple[str, int, str]]) -> str:
    """Return the definition of a structure of arrays of doubles, those of no length left out."""
    lines = [f"    double {m}[{size}]; {note(text)}" for m, size, text in members if size]
    return "typedef struct {\n" + "\n".join(lines) + f"\n}} {type_};\n"


class ForwardDynamics:
    """Accelerations, constraint forces and multipliers at a state."""

    def __init__(self, plan: SystemPlan) -> None:
        self.plan = plan
        self.constants: dict[str, np.ndarray] = {}
        self.members = [
            Member("double", "answer", plan.work.output_size, "of the last solve"),
            Member("double", "unit", plan.system.nq, "q with unit quaternions"),
        ]

    def declare(self, name: str) -> str:
        """Return the result and the prototype."""
        s = self.plan.system
        arrays = [
            ("a", s.nv, "acceleration"),
            ("constraint_force", s.nv, "A' lambda: the force of the constraints on the mechanism"),
            ("multipliers", s.nc, "lambda, of least norm where the rows are redundant"),
        ]
        body = block(f"{name}_motion", arrays).replace(
            "\n} ", "\n    int rank; /* of A; the mechanism has nv - rank degrees of freedom */\n} "
        )
        text = note(
            "Forward dynamics: M a + h = k + S u + tau + A' lambda, A a + gamma = 0, for any rank of A. "
            "u and tau may be NULL: zeros. Quaternions in q are brought to length one. Returns OK; SINGULAR where the "
            "rank is below the one in the workspace (a lost direction is unconstrained); INCONSISTENT where the "
            "constraints contradict each other (least squares); ALMOST where the residuals stay above 1e-9 of what is "
            "summed in them, ILL_CONDITIONED where M is so near to singular that a may have lost all digits; ILL_POSED "
            "or NOT_FINITE, then there is no answer."
        )
        return (
            f"{body}\n{text}\nint {name}_forward_dynamics({name}_workspace *W, const double *q, const double *v, "
            f"const double *u,\n    double t, const double *tau, {name}_motion *out);\n"
        )

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return the function that checks and sorts what the kernel gives."""
        s, table = self.plan.system, self.plan.table
        kernel, _ = kernels.call(
            forward,
            [
                table,
                *(View(text, DOUBLE, True, n) for text, n in (("q", s.nq), ("v", s.nv), ("tau", s.nv))),
                Term("t", DOUBLE),
                View("W->answer", DOUBLE),
            ],
        )
        roots = [kernel]
        solve = f"{kernel}(W, {{q}}, v, tau ? tau : none, t, W->answer)"
        lines = [
            "    static const double none[" + str(s.nv) + "] = {0};",
            "    int i = 0, code = 0;",
            f"    {name}_load(W, u);",
            f"    code = {solve.format(q='q')};",
        ]
        if len(s.equations.quaternions):
            unit, _ = kernels.call(normalize, [table, View("W->unit", DOUBLE)])
            roots.append(unit)
            lines += [
                f"    if (code == {la.NOT_UNIT}) {{",
                f"        for (i = 0; i < {s.nq}; i++)\n            W->unit[i] = q[i];",
                f"        {unit}(W, W->unit);",
                f"        code = {solve.format(q='W->unit')};",
                "    }",
            ]
        lines += [f"    for (i = 0; i < {s.nv}; i++)\n        out->a[i] = W->answer[i];"]
        if s.nc:
            lines += [
                f"    for (i = 0; i < {s.nc}; i++)\n        out->multipliers[i] = W->answer[{s.nv} + i];"
            ]
        lines += [
            f"    for (i = 0; i < {s.nv}; i++)\n        out->constraint_force[i] = W->answer[{s.nv + s.nc} + i];"
        ]
        if not s.model.is_ideal:
            roots.append("model_non_ideal")
            lines += [
                "    model_non_ideal(W->x, W->work);",
                f"    for (i = 0; i < {s.nv}; i++)\n        out->constraint_force[i] += W->work[i];",
            ]
        lines += [
            f"    out->rank = code < 0 ? -1 : code % {la.STRIDE};",
            "    if (code < 0)",
            f"        return {name}_finite(W, tau);",
            f"    return code / {la.STRIDE};",
        ]
        head = (
            f"int {name}_forward_dynamics({name}_workspace *W, const double *q, const double *v, const double *u,\n"
            f"    double t, const double *tau, {name}_motion *out)\n"
        )
        return Code(head + "{\n" + "\n".join(lines) + "\n}\n", roots)

    def example(self, name: str) -> str:
        """Return a call at rest."""
        call = f"{name}_forward_dynamics(&W, q, v, u, t, NULL, &motion)"
        s = self.plan.system
        return f"""\
    {{
        {name}_motion motion;
        status = {call};
        printf("forward dynamics: status %d, rank %d\\n", status, motion.rank);
        show("a", motion.a, {s.nv});
        TIME({call});
    }}"""


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


class Terms:
    """All terms of the equations of motion at a state."""

    def __init__(self, plan: SystemPlan, natives: Natives) -> None:
        self.plan = plan
        self.constants: dict[str, np.ndarray] = {}
        compiled = plan.system.compiled
        e = compiled.equations
        self.outputs: dict[str, ca.SX] = {name: getattr(e, name) for name in TERMS}
        natives.add("model_all_terms", lambda: (compiled.inputs, self.outputs))
        self.sizes = {name: int(expression.numel()) for name, expression in self.outputs.items()}
        self.members = [Member("double", "terms", sum(self.sizes.values()), "of the last evaluation")]

    def declare(self, name: str) -> str:
        """Return the structure and the prototype."""
        arrays = [(public, self.sizes[own], text) for own, (public, text) in TERMS.items()]
        text = note(
            "All terms of M a + h = k + S u + tau + A' lambda, A a + gamma = 0 at a state. Quaternions in q must have "
            "length one."
        )
        return (
            f"{block(f'{name}_terms_at', arrays)}\n{text}\nvoid {name}_terms({name}_workspace *W, const double *q, "
            f"const double *v, double t, {name}_terms_at *out);\n"
        )

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return the function that hands the terms out one by one."""
        lines, at = [], 0
        for own, (public, _) in TERMS.items():
            size = self.sizes[own]
            if size:
                lines.append(
                    f"    for (i = 0; i < {size}; i++)\n        out->{public}[i] = W->terms[{at} + i];"
                )
            at += size
        head = (
            f"void {name}_terms({name}_workspace *W, const double *q, const double *v, double t, "
            f"{name}_terms_at *out)\n"
        )
        body = f"    int i = 0;\n    {name}_state(W, q, v, 0, t, 0);\n    model_all_terms(W->x, W->terms);\n"
        return Code(head + "{\n" + body + "\n".join(lines) + "\n}\n", ["model_all_terms"])

    def example(self, name: str) -> str:
        """Return a call at rest."""
        return f"""\
    {{
        static {name}_terms_at terms;
        {name}_terms(&W, q, v, t, &terms);
        show("bias force", terms.bias_force, {self.plan.system.nv});
        TIME({name}_terms(&W, q, v, t, &terms));
    }}"""


# Answers of a step that has not been done.
NOT_DONE = (Status.ILL_POSED, Status.NOT_FINITE, Status.PROJECTION_FAILED)


class Step:
    """One step of the simulation: Runge–Kutta of order 4, then projection on the constraints."""

    def __init__(self, plan: SystemPlan) -> None:
        self.plan, self.constants = plan, plan.constants
        start = one.StepMemory.zeros()
        start.typical_pivot = plan.work.typical_pivot
        self.members = [Member("double", "steps", len(start), "what steps remember of the way", start)]

    def declare(self, name: str) -> str:
        """Return the prototype."""
        text = note(
            "One step of h [s] with u and tau held, either may be NULL: classical Runge-Kutta of order 4, then "
            "projection on the constraints, positions and velocities. q, v and t are replaced; they stay as they are "
            "where the answer is ILL_POSED, NOT_FINITE or PROJECTION_FAILED. With any other answer the step is done. "
            "INCONSISTENT, ILL_CONDITIONED, ALMOST: forward dynamics had no full answer where it began. UNSTABLE_STEP: "
            "h is too long for the fastest forces, and errors have grown for four steps, each from where the one "
            "before ended."
        )
        return (
            f"{text}\nint {name}_step({name}_workspace *W, double *q, double *v, const double *u, double *t,\n"
            "    const double *tau, double h);\n"
        )

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return the function that loads and unloads the state."""
        s, table = self.plan.system, self.plan.table
        kernel, _ = kernels.call(
            one.single_step,
            [table, View("W->x", DOUBLE), Term("h", DOUBLE), View("W->steps", DOUBLE, record=one.StepMemory)],
        )
        unit, _ = kernels.call(normalize, [table, View("W->x", DOUBLE)])
        head = (
            f"int {name}_step({name}_workspace *W, double *q, double *v, const double *u, double *t,\n"
            "    const double *tau, double h)\n"
        )
        failed = " || ".join(f"code == {name.upper()}_{status.name}" for status in NOT_DONE)
        lines = [
            "    int i = 0, code = 0;",
            f"    {name}_state(W, q, v, u, *t, tau);",
            f"    {unit}(W, W->x);",
            f"    code = {kernel}(W, W->x, h, W->steps);",
            f"    if ({failed})\n        return code;",
            f"    for (i = 0; i < {s.nq}; i++)\n        q[i] = W->x[i];",
            f"    for (i = 0; i < {s.nv}; i++)\n        v[i] = W->x[{s.nq} + i];",
            f"    *t = W->x[{s.parts.t}];",
            "    return code;",
        ]
        return Code(head + "{\n" + "\n".join(lines) + "\n}\n", [kernel, unit])

    def example(self, name: str) -> str:
        """Return steps from rest."""
        return f"""\
    {{
        status = {name}_step(&W, q, v, u, &t, NULL, 1e-3);
        printf("step: status %d\\n", status);
        show("q", q, {self.plan.system.nq});
        TIME({name}_step(&W, q, v, u, &t, NULL, 1e-3));
    }}"""


def state_functions(system: System, name: str) -> str:
    """Return functions that bring a state to where the kernels read it, and that look why there is no answer."""
    n = system.nq + system.nv
    lines = []
    if system.nu:
        lines.append(f"    for (i = 0; i < {system.nu}; i++)\n        W->x[{n} + i] = u ? u[i] : 0.0;")
    else:
        lines.append("    (void)u;")
    count = len(system.parameters)
    if count:
        lines.append(
            f"    for (i = 0; i < {count}; i++)\n        W->x[{system.parts.p.start} + i] = W->parameters[i];"
        )
    load = "\n".join(lines)
    counter = "    int i = 0;\n" if "for" in load else "    (void)W;\n"
    tau = system.parts.tau.start
    return f"""\
static void {name}_load({name}_workspace *W, const double *u)
{{
{counter}{load}
}}

static void {name}_state({name}_workspace *W, const double *q, const double *v, const double *u, double t,
    const double *tau)
{{
    int i = 0;
    for (i = 0; i < {system.nq}; i++)
        W->x[i] = q[i];
    for (i = 0; i < {system.nv}; i++)
        W->x[{system.nq} + i] = v[i];
    W->x[{system.parts.t}] = t;
    for (i = 0; i < {system.nv}; i++)
        W->x[{tau} + i] = tau ? tau[i] : 0.0;
    {name}_load(W, u);
}}

static int {name}_finite(const {name}_workspace *W, const double *tau)
{{
    double wrong = 0.0;
    int i = 0;
    for (i = 0; i < {tau}; i++)
        wrong += 0.0 * W->x[i];
    for (i = 0; i < {system.nv}; i++)
        wrong += tau ? 0.0 * tau[i] : 0.0;
    return wrong == 0.0 ? {name.upper()}_ILL_POSED : {name.upper()}_NOT_FINITE;
}}
"""
