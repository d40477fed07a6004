"""`Regulator`: set-point control with springs, dampers and gravity compensation (Aghili 2022, section 3.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.errors import check_is
from sarrus.control.laws.demands import ForceDemand, Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.reference import Reference, trace_reference
from sarrus.control.quantities.quantities import position_quantity
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class Regulation:
    """The force of a `Regulator`, −τ_g − K_D v + Λᵀ K_P e, as a level of laws with contacts, inside friction cones.

    τ_g: generalized force of gravity and springs; e = x_d − x; Λ = ∂x/∂q. The robot moves as without gravity, with
    springs K_P from x to x_d and dampers K_D at its joints, on its closed contacts, as far as levels above, cones and
    limits allow; otherwise its accelerations are as near as possible in the kinetic metric. The level is soft: it is
    never missed.

    ``quantity``, ``target``, ``stiffness`` and ``damping`` as in `Regulator`; settings NAME.target, NAME.stiffness and
    NAME.damping.
    """

    quantity: Any
    target: Reference
    stiffness: ArrayLike
    damping: ArrayLike
    name: str = "regulation"

    def demand(self, system: System, settings: Settings, name: str) -> ForceDemand:
        """Return the level."""
        return ForceDemand(name, self.force(system, settings, f"{name}."), soft=True)

    def force(self, system: System, settings: Settings, prefix: str) -> ca.SX:
        """Return −τ_g − K_D v + Λᵀ K_P e (nv,); the names of its settings begin with ``prefix``."""
        e, x = system.equations, position_quantity(system, self.quantity, "a regulator")
        wanted, _, _ = trace_reference(system, self.target, len(x.rows), settings, f"{prefix}target")
        spring = settings.add(f"{prefix}stiffness", self.stiffness, len(x.rows), "regulator")
        damper = settings.add(f"{prefix}damping", self.damping, system.nv, "regulator")
        at_rest = ca.substitute(e.bias_force - e.passive_force, e.v, ca.SX.zeros(system.nv))
        return at_rest - damper * e.v + x.jacobian.T @ (spring * x.error(wanted))


class Regulator(Law):
    """Set-point control of x(q): u produces τ_c = P(−τ_g − K_D v + Λᵀ K_P e), e = x_d − x (Aghili 2022, eq. (22)).

    P = I − A⁺A projects on the motions, τ_g is the generalized force of gravity and springs, Λ = ∂x/∂q P. The mechanism
    moves as without gravity and springs, with springs K_P from x to x_d and dampers K_D at its joints; V = T + ½ eᵀK_P
    e decreases. If x are independent coordinates this is PD control with gravity compensation. u has least weighted
    norm.

    Parameters
    ----------
    system : the model of the law.
    quantity : x, as in `sarrus.control.Task`.
    target : x_d, numbers (settings of the law, to be changed between calls) or a slow function of t.
    stiffness : K_P, force per x [N/m, N m/rad]: a number or one for each row of x.
    damping : K_D, force per velocity [N s/m, N m s/rad]: a number or one for each of the nv velocities.
    weights : (nu,) of the norm of u.
    limits : `LawOptions`, each by its name, or all as options=.

    If the actuators cannot produce τ_c, the accelerations are as near as possible (`solve` returns NOT_ACHIEVABLE), and
    V need not decrease.
    """

    def __init__(
        self,
        system: System,
        quantity: Any,
        target: Reference,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        weights: ArrayLike | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        settings = Settings()
        force = Regulation(quantity, target, stiffness, damping).force(system, settings, "")
        super().__init__(system, [ForceDemand("regulation", force)], settings, weights=weights, **limits)
