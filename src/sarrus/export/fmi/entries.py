"""Additional C functions of a system that a unit needs."""

from __future__ import annotations

import casadi as ca

from sarrus.dynamics.model.derivatives import bias_rows, residual_force
from sarrus.dynamics.solve.sensing import sensor_expressions
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Member, Natives, SystemPlan
from sarrus.export.c.entry_points import Entry, function, loaded, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.values import DOUBLE, Known, View
from sarrus.kernels.integrate.stepping import finish
from sarrus.kernels.memory import layout as la


def rate(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives) -> Entry:
    """Return the entry for q̇ at a state, activations included."""
    compiled = plan.system.compiled
    natives.add("model_all_rates", lambda: (compiled.inputs, {"rate": compiled.equations.whole_rate}))
    signature = (
        f"void {name}_coordinate_rate({name}_workspace *W, const double *q, const double *v, const double *u,\n"
        "    double t, double *rate)"
    )
    text = "The rates of q at a state, its quaternions scaled to length one."
    body = [*loaded(name, plan, kernels, "u"), "    model_all_rates(W->x, rate);"]
    return Entry([], prototype(signature, text), function(signature, *body), "")


def project(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives) -> Entry:
    """Return the entry for the projection of position and velocity after a step."""
    s = plan.system
    kernel, _ = kernels.call(finish, [plan.table, View("W->x", DOUBLE), Known(la.CONSTRAINTS)])
    signature = f"int {name}_project({name}_workspace *W, double *q, double *v, double t)"
    text = "Bring q and v, which are replaced, to the nearest values that the constraints allow. Zero where that fails."
    return Entry(
        [],
        prototype(signature, text),
        function(
            signature,
            "    int i = 0;",
            f"    {name}_state(W, q, v, 0, t, 0);",
            f"    if (!{kernel}(W, W->x, {la.CONSTRAINTS}))\n        return 0;",
            loop(s.nq, "q[i] = W->x[i]"),
            loop(s.nv, f"v[i] = W->x[{s.nq} + i]"),
            "    return 1;",
        ),
        "",
    )


def gaps(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives) -> Entry:
    """Return the entry for the residuals of position and velocity, the largest position residual, and the energies."""
    s, e = plan.system, plan.system.equations
    residuals = {"gaps": ca.vertcat(e.position_residual, e.velocity_residual)}
    natives.add("model_residuals", lambda: (s.compiled.inputs, residuals))
    energies = {"kinetic": e.kinetic_energy, "potential": e.potential_energy}
    natives.add("model_energies", lambda: (s.compiled.inputs, energies))
    state = f"{name}_workspace *W, const double *q, const double *v, double t"
    of_gaps = f"void {name}_gaps({state}, double *gaps)"
    of_watched = f"void {name}_watched({state}, double *watched)"
    size = max(s.nh + s.nc, 1)
    definitions = [
        function(of_gaps, *loaded(name, plan, kernels, "0"), "    model_residuals(W->x, gaps);"),
        function(
            of_watched,
            f"    double gaps[{size}] = {{0}}, worst = 0.0;",
            "    int i = 0;",
            f"    {name}_gaps(W, q, v, t, gaps);",
            loop(s.nh, "worst = gaps[i] < 0.0 ? (-gaps[i] > worst ? -gaps[i] : worst) : "
                       "(gaps[i] > worst ? gaps[i] : worst)"),
            "    (void)i;",
            "    watched[0] = worst;",
            "    model_energies(W->x, watched + 1);",
        ),
    ]  # fmt: skip
    declared = [
        prototype(of_gaps, "phi, of the holonomic constraints, then psi, of all."),
        prototype(of_watched, "The largest entry of phi in absolute value, kinetic and potential energy."),
    ]
    return Entry([], "\n".join(declared), "\n".join(definitions), "")


def slopes(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives) -> Entry:
    """Return the entry for the matrices of directional derivatives."""
    s = plan.system
    a, multipliers = ca.SX.sym("a", s.nv), ca.SX.sym("multipliers", s.nc)
    natives.add(
        "model_all_slopes", lambda: ([*s.compiled.inputs, a, multipliers], slope_outputs(s, a, multipliers))
    )
    signature = (
        f"void {name}_slopes({name}_workspace *W, const double *q, const double *v, const double *u, double t,\n"
        "    const double *a, const double *multipliers, double *slopes)"
    )
    text = (
        "M, A, the derivatives of F = M a + h - k - S u - tau - A' lambda and of A a + gamma by (q, v, u), and those "
        "of the outputs by (q, v, u), by a and by lambda; matrices by rows. a and lambda are held."
    )
    size = s.parts.tau.stop
    body = [
        *loaded(name, plan, kernels, "u"),
        loop(size, "W->sloped[i] = W->x[i]"),
        loop(s.nv, f"W->sloped[{size} + i] = a[i]"),
        loop(s.nc, f"W->sloped[{size + s.nv} + i] = multipliers[i]") or "    (void)multipliers;",
        "    model_all_slopes(W->sloped, slopes);",
    ]
    return Entry(
        [Member("sloped", size + s.nv + s.nc, "what derivatives depend on")],
        prototype(signature, text),
        function(signature, "    int i = 0;", *body),
        "",
    )


def slope_outputs(system: System, a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
    """Return the derivatives by z = (q, v, u) of the equations and of rates, sensors and energies."""
    e = system.equations
    z = ca.vertcat(e.q, e.v, e.u)
    shown = [e.whole_rate]
    if system.mechanism is not None and system.mechanism.sensors:
        shown += list(sensor_expressions(system, a, multipliers).values())
    outputs = ca.vertcat(*shown, e.kinetic_energy, e.potential_energy)
    return {
        "mass": e.mass_matrix,
        "jacobian": e.jacobian,
        "force": ca.jacobian(residual_force(system, a, multipliers), z),
        "bias": ca.jacobian(bias_rows(system, a), z),
        "by_state": ca.jacobian(outputs, z),
        "by_acceleration": ca.jacobian(outputs, a),
        "by_multipliers": ca.jacobian(outputs, multipliers),
    }
