"""Projected inverse dynamics: motion of constrained mechanisms with the least actuation (Aghili 2005, 2022).

The two laws are one: what `ProjectedInverseDynamics` says of coordinates (2005, section 7) `OperationalSpaceTracking`
says of any quantity (2022, section 3.1.1), with the same u.
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
    """Make coordinates θ(q) follow a reference: ë + G_D ė + G_P e = 0, e = θ_d − θ, with the least weighted actuation.

    f∥ = h∥ + P M u_p with u_p = Λ̇θ̇ + Λ(θ̈_d + G_D ė + G_P e) (Aghili 2005, eqs. (45), (46)); actuators that
    cannot push along all motions get what eq. (62) adds across them, f = (I + H) f∥. Both are the u of least norm
    uᵀ diag(weights) u whose projection on the motions is f∥, for actuators of any kind, also between two moving
    bodies.

    Parameters
    ----------
    system : the model the law believes in.
    quantity : θ, as `sarrus.control.Task` takes it: names of coordinates, points and orientations of bodies, or a
        function θ(q, t); as many rows as there are degrees of freedom, or fewer, which leaves the rest of the motion
        alone.
    reference : θ_d(t), numbers or a function of t.
    stiffness, damping : G_P [1/s²], G_D [1/s], numbers or one for each θ.
    weights : (nu,) positive, the norm of u, such as copper losses of each motor; or ``metric=`` (section 7.2), see
        `LawOptions`. By default motors are compared by their limits, or by what they exert in characteristic units.
    limits : `LawOptions`, each by its name, or all as options=.

    Redundant closures and singular configurations change nothing but the rank. Where θ is not reachable with the
    actuators, `solve` says so (NOT_ACHIEVABLE); `sarrus.control.controllability` tells which motions are out of
    reach.
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
    """Make x(q) follow a reference: ë + K_D ė + K_P e = 0, with the u of least weighted norm.

    τ_c = P C q̇ − P τ_g + P M (Λ⁺(ẍ_d + K_D ė + K_P e) − Γ q̇), Λ = ∂x/∂q P, and u = (P B)⁺ τ_c (Aghili 2022, eqs.
    (17) and (14), in the metric of ``weights``). Where x has fewer rows than there are degrees of freedom, the controls
    that are left are those of least norm, not of least acceleration as in `sarrus.control.TaskHierarchy`.

    Parameters are those of `ProjectedInverseDynamics`; copper losses R/K_t² of each motor as ``weights`` make u the one
    that heats least.
    """
