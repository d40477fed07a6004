"""Projected inverse dynamics: tracking control of constrained mechanisms with least actuation (Aghili 2005, 2022).

Both laws give the same u: `ProjectedInverseDynamics` is formulated for coordinates (2005, section 7),
`OperationalSpaceTracking` for any quantity (2022, section 3.1.1).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sarrus.base.errors import check_is
from sarrus.control.laws.demands import Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.reference import Reference
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.system import System


class ProjectedInverseDynamics(Law):
    """Tracking: coordinates θ(q) follow a reference, ë + G_D ė + G_P e = 0, e = θ_d − θ, with least weighted actuation.

    f∥ = h∥ + P M u_p with u_p = Λ̇θ̇ + Λ(θ̈_d + G_D ė + G_P e) (Aghili 2005, eqs. (45), (46)), P = I − A⁺A; actuators
    that cannot act along all motions get the additional part across them, f = (I + H) f∥ (eq. (62)). u has least norm
    uᵀ diag(weights) u among all u whose projection on the motions is f∥, for actuators of any kind, also between two
    moving bodies.

    Parameters
    ----------
    system : the model of the law.
    quantity : θ, as in `sarrus.control.Task`: names of coordinates, points and orientations of bodies, or a function
        θ(q, t); at most as many rows as there are degrees of freedom; fewer rows leave the remaining motion
        uncontrolled.
    reference : θ_d(t), numbers or a function of t.
    stiffness, damping : G_P [1/s²], G_D [1/s], numbers or one for each θ.
    weights : (nu,) positive, the norm of u, such as the copper losses R/K_t² of each motor; or ``metric=`` (section
        7.2), see `LawOptions`. Default: motors are weighted by their limits, or by the forces they exert in
        characteristic units.
    limits : `LawOptions`, each by its name, or all as options=.

    Redundant closures and singular configurations only change the rank. If the actuators cannot produce the motion,
    `solve` returns NOT_ACHIEVABLE; `sarrus.control.controllability` names the motions out of reach.
    """

    def __init__(
        self,
        system: System,
        quantity: Any,
        reference: Reference,
        *,
        stiffness: ArrayLike = 100.0,
        damping: ArrayLike = 20.0,
        weights: ArrayLike | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        settings = Settings()
        task = Task(quantity, reference, stiffness, damping)
        super().__init__(
            system, [task.demand(system, settings, "motion")], settings, weights=weights, **limits
        )


class OperationalSpaceTracking(ProjectedInverseDynamics):
    """Tracking: x(q) follows a reference, ë + K_D ė + K_P e = 0, e = x_d − x, with the u of least weighted norm.

    τ_c = P C q̇ − P τ_g + P M (Λ⁺(ẍ_d + K_D ė + K_P e) − Γ q̇), Λ = ∂x/∂q P, and u = (P B)⁺ τ_c (Aghili 2022, eqs. (17)
    and (14), in the metric of ``weights``). If x has fewer rows than there are degrees of freedom, the remaining
    controls have least norm, not least acceleration energy as in `sarrus.control.TaskHierarchy`.

    Parameters are those of `ProjectedInverseDynamics`; with copper losses R/K_t² of each motor as ``weights``, u has
    least heat loss.
    """
