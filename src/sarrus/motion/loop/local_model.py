"""`LocalModel`: matrices and derivatives of a system that an implicit method needs, handed to the kernels."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.derivatives import bias_rows, residual_force
from sarrus.dynamics.model.state_functions import StateFunction, trace_function
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.rosenbrock_tableau import RosenbrockTableau
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.local_layout import LocalHeader, local_sizes
from sarrus.kernels.platform.c_function import rosenbrock

# Outputs of the native function of [x | a | λ], as `sarrus.kernels.integrate.local_model` reads them: M, A, S and the
# derivatives of F, G, ψ and N v (see `sarrus.dynamics.model.derivatives.Derivatives`), the last one only where N is
# not the identity.
TERMS = ("mass", "jacobian", "force_q", "force_v", "bias_q", "bias_v", "slip_q", "actuation", "rate_q")


class LocalModel:
    """Arrays and functions of one run with an implicit method.

    A traced control law is differentiated with the equations, a `Law` by central differences in the kernel. Where an
    actuator is at its limit the derivative of its control is zero.
    """

    def __init__(
        self, system: Workspace, scheme: RosenbrockTableau, control: StateFunction | None = None
    ) -> None:
        self.system = system
        compiled = system.compiled
        lengths = {"a": system.nv, "multipliers": system.nc}
        if control is None or isinstance(control, Law):
            self.terms = compiled.named("local model", self._terms(None), lengths)
        else:
            symbols = [ca.SX.sym(name, length) for name, length in lengths.items()]
            self.terms = compiled.compile(
                "local model", self._terms(_clipped(system, control))(*symbols), symbols
            )
        self.rate_matrix = compiled.named(
            "rate matrix", lambda: {"N": ca.jacobian(system.equations.rate, system.equations.v)}
        )
        self.scheme, self.array = scheme.packed(), np.zeros(0)
        self.count = len(scheme.m)

    def attach(self, table: la.Table, x: Array) -> None:
        """Have the kernels take steps with this model, beginning at x = [q | v | u | t | p | τ].

        Raises `ArgumentError` if x is a singular configuration, about which there are no local coordinates.
        """
        s = self.system
        rank, _ = s.accelerate(x)
        if 0 <= rank < table.generic_rank:
            raise ArgumentError(
                f"{s.name}: the run starts in a singular configuration (rank {rank}, nearby "
                f"{table.generic_rank}), where an implicit method has no local coordinates. Start beside it, or with "
                "an explicit method; singular configurations during the run are no obstacle",
                element="q",
            )
        table.n_implicit_stages = self.count
        self.array = np.zeros(sum(local_sizes(table)))
        table.linear, table.rate_matrix = self.terms.address, self.rate_matrix.address
        table.scheme, table.local = self.scheme.ctypes.data, self.array.ctypes.data
        table.implicit = rosenbrock.address

    def forget(self) -> None:
        """Have the next step evaluate a new linear model, because the active forces have changed."""
        self.array[: len(LocalHeader.fields)].view(LocalHeader).valid = 0.0

    def _terms(self, control: ca.SX | None) -> Callable[[ca.SX, ca.SX], dict[str, ca.SX]]:
        def outputs(a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
            e = self.system.equations
            force = residual_force(self.system, a, multipliers)
            bias = bias_rows(self.system, a)
            if control is not None:
                force = ca.substitute(force, e.u, control)
            rows = [force, bias, e.velocity_residual]
            if not self.system.table.simple_rate:
                rows.append(e.rate)
            seeds = ca.densify(ca.diagcat(ca.jacobian(e.rate, e.v), 1))
            along = ca.jtimes(ca.vertcat(*rows), ca.vertcat(e.q, e.t), seeds)
            by_place = ca.vertsplit(along, np.cumsum([0, *(row.shape[0] for row in rows)]).tolist())
            by_velocity = ca.jacobian(ca.vertcat(force, bias), e.v)
            values = [e.mass_matrix, e.jacobian, by_place[0], by_velocity[: e.nv, :], by_place[1]]
            values += [by_velocity[e.nv :, :], by_place[2], e.input_jacobian, *by_place[3:]]
            return dict(zip(TERMS, values, strict=False))

        return outputs


def _clipped(system: Workspace, control: StateFunction) -> ca.SX:
    """Return the control law clipped to the limits of the actuators, as the kernel applies it."""
    lower, upper = control_bounds(system)
    u = trace_function(system, control, system.nu, "control")
    for k in range(system.nu):
        if np.isfinite(upper[k]):
            u[k] = ca.fmin(u[k], upper[k])
        if np.isfinite(lower[k]):
            u[k] = ca.fmax(u[k], lower[k])
    return u
