"""`ServoConstraint`: actuators that enforce further constraints on the motion (Liu et al. 2015, after Chen)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_is
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.law_options import LawOptions, chosen
from sarrus.control.laws.least_norm import constant_norm, least_norm
from sarrus.control.laws.row_units import units_of_rows
from sarrus.dynamics.model.control_metric import control_norm
from sarrus.dynamics.model.state_functions import trace_function
from sarrus.dynamics.system import System
from sarrus.symbolic.equations.symbolic import traced


class ServoConstraint(Law):
    """Servo constraints: the actuators enforce φ(q, t) = 0 and ψ(q, v, t) = 0, with deviations that decay.

    At acceleration level A_s a = b_s from φ̈ + 2 α φ̇ + β² φ = 0 and ψ̇ + α ψ = 0. With a = a₀ + B̄ u, a₀ the
    constrained acceleration without actuators, B̄ the one by unit controls, including the reaction of the passive
    constraints, and C = A_s:

        u = (C B̄)⁺ b̄ + (I − (C B̄)⁺ C B̄) s,   b̄ = b_s − C a₀.

    This is the law of Liu et al. (2015) made consistent: in their eq. (35) the passive constraint force is computed
    without the servo force, which violates the closures. Rows of ψ are their first order form (18), Σ A_i(q, t) q̇_i +
    A(q, t) = 0: no φ with φ̇ = ψ need exist (nonholonomic), and rows may be nonlinear in v. Without samples ψ decays as
    exp(−α t); with ``integral``, ψ̇ + α ψ + κ ∫ψ dt = 0, which removes the offset of ψ by a constant unmodelled force,
    if the sample time is short compared with 1/α.

    Parameters
    ----------
    system : the model of the law.
    holonomic : function φ(q, t) of CasADi vectors, any number of rows, also rheonomic.
    velocity : function ψ(q, v, t), rows linear or nonlinear in v. At least one of the two is needed.
    alpha, beta : α, β [1/s] of the deviations: a number or one for each row (β for the rows of φ).
    integral : κ [1/s²], a number or one for each row of ψ. The integral is a memory of the law and needs samples:
        ``sr.simulate(..., sample_time=...)``, or `sample`.
    preferred : s (nu,), the controls to be approached if the servo constraints leave freedom, in the norm of
        ``weights``: numbers, or a function s(q, v, t) of CasADi vectors.
    weights : (nu,) of the norm of u − s.
    limits : `LawOptions`, each by its name, or all as options=.

    Redundant actuation: least norm. Under-actuation, and servo constraints that contradict each other or the closures:
    least squares, reported by `solve` as NOT_ACHIEVABLE.
    """

    def __init__(
        self,
        system: System,
        holonomic: Callable[..., Any] | None = None,
        velocity: Callable[..., Any] | None = None,
        *,
        alpha: ArrayLike = 10.0,
        beta: ArrayLike = 10.0,
        integral: ArrayLike = 0.0,
        preferred: ArrayLike | Callable[..., Any] | None = None,
        weights: ArrayLike | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        options = chosen(limits.pop("options", None), LawOptions, limits)
        e, settings = system.equations, Settings()
        if holonomic is None and velocity is None:
            raise ArgumentError(
                f"{system.name}: a servo constraint needs holonomic= or velocity=", element="holonomic"
            )
        phi = _trace(system, holonomic, (e.q, e.t), "holonomic")
        psi = _trace(system, velocity, (e.q, e.v, e.t), "velocity")
        rate = ca.jtimes(phi, e.q, e.rate) + ca.jtimes(phi, e.t, ca.SX(1))
        size = phi.numel() + psi.numel()
        slips = ca.vertcat(rate, psi)
        drift = ca.jtimes(slips, e.q, e.rate) + ca.jtimes(slips, e.t, ca.SX(1))
        a = settings.add("alpha", alpha, size, "servo")
        wanted = -drift - a * slips
        if phi.numel():
            b = settings.add("beta", beta, phi.numel(), "servo")
            wanted -= ca.vertcat(a[: phi.numel()] * rate + b**2 * phi, ca.SX.zeros(psi.numel()))
        if np.any(integral):
            if not psi.numel():
                raise ArgumentError(
                    f"{system.name}: integral= is about the rows of velocity=, and there are none",
                    element="integral",
                )
            gain = settings.add("integral", integral, psi.numel(), "servo")
            total = settings.remember("memory", 0.0, psi.numel(), "servo")
            wanted -= ca.vertcat(ca.SX.zeros(phi.numel()), gain * total.value)
            total.next = total.value + settings.period * psi
        names = tuple(f"servo[{k}]" for k in range(size))
        rows = ca.jacobian(slips, e.v)
        demand, fixed = Demand("servo", names, rows, wanted, units=units_of_rows(system, rows)), None
        levels = [demand]
        if callable(preferred):
            s = trace_function(system, preferred, system.nu, f"{system.name}: preferred")
            norm = constant_norm(system, control_norm(system, weights, options.metric))
            levels.append(least_norm(system, norm, s, 0, "preferred"))
        else:
            fixed = preferred
        super().__init__(system, levels, settings, weights=weights, preferred=fixed, options=options)
        self._demand, self._symbols = demand, settings.symbols

    def printed(self, q: ArrayLike) -> Callable[[Any, Any, Any], Any]:
        """Return u(q, v, t) of eq. (35) of Liu et al. (2015) as printed, a function of CasADi vectors, for comparison.

        u = (C M⁻¹ S)⁺ (b_s − C a₀): the passive constraint force is the one without servo force, so the closures do not
        react to u, and A a + γ = 0 is violated by A M⁻¹ S u. Gains are the present ones; the norm has no weights and no
        preferred controls. ``q`` is a closed configuration at which independent rows are chosen; see
        `System.to_casadi`.
        """
        e, demand = self.system.equations, self._demand
        solve = self.system.to_casadi("forward_dynamics", rows="independent", q=q)
        free = solve(e.q, e.v, ca.SX.zeros(e.u.shape[0]), e.t, e.p)[0]
        response = demand.jacobian @ ca.solve(e.mass_matrix, e.actuation)
        u = response.T @ ca.solve(response @ response.T, demand.wanted - demand.jacobian @ free)
        numbers = [*self.settings.values(), *self.system.parameters.values()]
        u = ca.substitute(u, ca.vertcat(*self._symbols, e.p), ca.DM(numbers))
        return ca.Function("printed", [e.q, e.v, e.t], [u])


def _trace(
    system: System, function: Callable[..., Any] | None, symbols: tuple[ca.SX, ...], what: str
) -> ca.SX:
    if function is None:
        return ca.SX(0, 1)
    return traced(function, symbols, f"{system.name}: {what}", "Write it with CasADi operations")
