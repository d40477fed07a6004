"""Sensor readings in C at a state, with forward dynamics for sensors of accelerations or forces."""

from __future__ import annotations

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.solve.sensing import needs_accelerations, sensor_expressions, sensors_of
from sarrus.export.c.contents import Member, Natives, SystemPlan
from sarrus.export.c.entry_points import Entry, example, function, left_out, loaded, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import enumeration


def sensors(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives, contacts: bool) -> Entry:
    """Return the entry for all readings at a state; it calls forward_dynamics for accelerations.

    ``contacts``: forward_dynamics includes contacts, stops and dry friction.
    """
    system, upper = plan.system, name.upper()
    found = sensors_of(system)
    if not found:
        raise ArgumentError(
            f"{system.name}: functions asks for sensors, but the system has none: add_sensor",
            element="sensors",
        )
    a, multipliers = ca.SX.sym("a", system.nv), ca.SX.sym("multipliers", system.nc)
    natives.add(
        "model_readings",
        lambda: ([*system.compiled.inputs, a, multipliers], sensor_expressions(system, a, multipliers)),
    )
    labels = [(label, s.unit) for s in found.values() for label in s.labels]
    listed = enumeration("Readings of the sensors.", f"{upper}_SENSOR", *zip(*labels))
    signature = (
        f"int {name}_sensors({name}_workspace *W, const double *q, const double *v, const double *u,\n"
        "    double t, const double *tau, double *readings)"
    )
    text = (
        "What the sensors read at a state; u and tau may be NULL: zeros. Returns what forward dynamics does where "
        "a sensor measures accelerations or forces, else OK; where there is no answer, readings are not written."
    ) + (left_out(system) if needs_accelerations(found) and not contacts else "")
    size, solve, moved = system.parts.tau.stop, [], []
    if needs_accelerations(found):
        solve = [
            f"    {name}_motion motion;",
            f"    status = {name}_forward_dynamics(W, q, v, u, t, tau, &motion);",
            f"    if (status == {upper}_ILL_POSED || status == {upper}_NOT_FINITE)\n        return status;",
        ]
        moved = [
            loop(system.nv, f"W->sensed[{size} + i] = motion.a[i]"),
            loop(system.nc, f"W->sensed[{size + system.nv} + i] = motion.multipliers[i]"),
        ]
    return Entry(
        [Member("sensed", size + system.nv + system.nc, "what sensors depend on")],
        f"{listed}\n#define {upper}_NS {len(labels)}\n\n{prototype(signature, text)}",
        function(
            signature,
            f"    int i = 0, status = {upper}_OK;",
            *solve,
            *loaded(name, plan, kernels, "u", "tau"),
            loop(size, "W->sensed[i] = W->x[i]"),
            *moved,
            "    model_readings(W->sensed, readings);",
            "    return status;",
        ),
        example(
            f"{name}_sensors(&W, q, v, u, t, NULL, readings)",
            ("readings", "readings", f"{upper}_NS"),
            said='"sensors: status %d\\n", status',
            declared=f"static double readings[{upper}_NS];",
        ),
    )
