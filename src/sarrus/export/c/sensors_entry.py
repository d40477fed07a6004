"""Sensors in C: what they read at a state, by the forward dynamics where they measure accelerations or forces."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.sensing import needs_accelerations, sensor_expressions, sensors_of
from sarrus.export.c.contents import Member, Natives, SystemPlan
from sarrus.export.c.entry_points import Code
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import enumeration, note
from sarrus.export.c.values import DOUBLE, View
from sarrus.kernels.projection import normalize


class Sensors:
    """All readings at a state; needs the function forward_dynamics where `needs_motion` says so."""

    def __init__(self, plan: SystemPlan, natives: Natives) -> None:
        self.plan = plan
        self.constants: dict[str, np.ndarray] = {}
        system = plan.system
        if not sensors_of(system):
            raise ArgumentError(
                f"{system.name}: functions asks for sensors, and it has none: add_sensor", element="sensors"
            )
        self.sensors = sensors_of(system)
        self.size = sum(sensor.size for sensor in self.sensors.values())
        a, multipliers = ca.SX.sym("a", system.nv), ca.SX.sym("multipliers", system.nc)
        natives.add(
            "model_sensors",
            lambda: (
                [*system.compiled.inputs, a, multipliers],
                sensor_expressions(system, a, multipliers),
            ),
        )
        self._x = system.parts.tau.stop
        self.members = [Member("double", "sensed", self._x + system.nv + system.nc, "what sensors depend on")]

    @property
    def needs_motion(self) -> bool:
        """Whether a reading needs accelerations."""
        return needs_accelerations(self.sensors)

    def declare(self, name: str) -> str:
        """Return the enumeration of the readings and the prototype."""
        labels = [(label, s.unit) for s in self.sensors.values() for label in s.labels]
        prefix = name.upper()
        listed = enumeration("Readings of the sensors.", f"{prefix}_SENSOR", *zip(*labels))
        text = note(
            "What the sensors read at a state; u and tau may be NULL: zeros. Returns what forward dynamics does where "
            "a sensor measures accelerations or forces, else OK; where there is no answer, readings are not written."
        )
        return (
            f"{listed}\n#define {prefix}_NS {self.size}\n\n{text}\nint {name}_sensors({name}_workspace *W, "
            "const double *q, const double *v, const double *u,\n    double t, const double *tau, double *readings);\n"
        )

    def define(self, name: str, kernels: Kernels) -> Code:
        """Return the function that solves, if need be, and evaluates."""
        s, roots = self.plan.system, ["model_sensors"]
        upper = name.upper()
        lines = [f"    int i = 0, status = {upper}_OK;"]
        if self.needs_motion:
            lines += [
                f"    {name}_motion motion;",
                f"    status = {name}_forward_dynamics(W, q, v, u, t, tau, &motion);",
                f"    if (status == {upper}_ILL_POSED || status == {upper}_NOT_FINITE)\n        return status;",
            ]
        lines.append(f"    {name}_state(W, q, v, u, t, tau);")
        if len(s.equations.quaternions):
            unit, _ = kernels.call(normalize, [self.plan.table, View("W->x", DOUBLE)])
            roots.append(unit)
            lines.append(f"    {unit}(W, W->x);")
        lines.append(f"    for (i = 0; i < {self._x}; i++)\n        W->sensed[i] = W->x[i];")
        if self.needs_motion:
            for member, start, count in (("a", self._x, s.nv), ("multipliers", self._x + s.nv, s.nc)):
                if count:
                    copied = f"W->sensed[{start} + i] = motion.{member}[i];"
                    lines.append(f"    for (i = 0; i < {count}; i++)\n        {copied}")
        lines += ["    model_sensors(W->sensed, readings);", "    return status;"]
        head = (
            f"int {name}_sensors({name}_workspace *W, const double *q, const double *v, const double *u,\n"
            "    double t, const double *tau, double *readings)\n"
        )
        return Code(head + "{\n" + "\n".join(lines) + "\n}\n", roots)

    def example(self, name: str) -> str:
        """Return a call at rest."""
        return f"""\
    {{
        static double readings[{name.upper()}_NS];
        status = {name}_sensors(&W, q, v, u, t, NULL, readings);
        printf("sensors: status %d\\n", status);
        show("readings", readings, {name.upper()}_NS);
        TIME({name}_sensors(&W, q, v, u, t, NULL, readings));
    }}"""
