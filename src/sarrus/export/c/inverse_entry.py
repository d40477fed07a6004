"""Inverse dynamics in C: a law that demands the accelerations it is given."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.control.demands import Demand, Settings
from sarrus.control.law import Law
from sarrus.dynamics.system import System
from sarrus.export.c.contents import Natives
from sarrus.export.c.identifiers import note
from sarrus.export.c.law_entry import LawEntry


class InverseDynamics(LawEntry):
    """Controls of least norm that produce given accelerations."""

    def __init__(self, system: System, natives: Natives, q: np.ndarray) -> None:
        settings = Settings()
        wanted = settings.add("a", 0.0, system.nv, "inverse dynamics")
        law = Law(system, [Demand("a", system.velocity_names, ca.SX.eye(system.nv), wanted)], settings)
        law.prepare(q, np.zeros(system.nv))
        super().__init__(law, natives, "inverse")

    def declare(self, name: str) -> str:
        """Return the prototype."""
        text = note(
            "Inverse dynamics: the controls u of least norm that produce the acceleration a, loops and passive joints "
            "respected. Returns OK; NOT_ACHIEVABLE where the constraints or the actuators do not allow a (least "
            "squares); ILL_POSED or NOT_FINITE, then u is not written. Quaternions in q must have length one."
        )
        return (
            f"{text}\nint {name}_inverse_dynamics({name}_workspace *W, const double *q, const double *v,\n"
            "    const double *a, double t, double *u);\n"
        )

    def _public(self, name: str) -> str:
        s = self.law.system
        return f"""
int {name}_inverse_dynamics({name}_workspace *W, const double *q, const double *v,
    const double *a, double t, double *u)
{{
    int i = 0;
    for (i = 0; i < {s.nv}; i++)
        W->inverse_input[{s.parts.tau.stop} + i] = a[i];
    return inverse_run(W, q, v, t, 0, u);
}}
"""

    def example(self, name: str) -> str:
        """Return what holds the mechanism at rest."""
        return f"""\
    {{
        status = {name}_inverse_dynamics(&W, q, v, v, t, u);
        printf("inverse dynamics at rest: status %d\\n", status);
        show("u", u, {self.law.system.nu});
        TIME({name}_inverse_dynamics(&W, q, v, v, t, u));
    }}"""
