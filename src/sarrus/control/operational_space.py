"""Tracking in operational space with the constrained inertia (Aghili 2022, section 3.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sarrus.control.law import Law, Settings
from sarrus.control.reference import Reference
from sarrus.control.tasks import Task

if TYPE_CHECKING:
    from sarrus.dynamics.system import System


class OperationalSpaceTracking(Law):
    """Make x(q) follow a reference: ë + K_D ė + K_P e = 0, with the u of least weighted norm.

    τ_c = P C q̇ − P τ_g + P M (Λ⁺(ẍ_d + K_D ė + K_P e) − Γ q̇), Λ = ∂x/∂q P, and u = (P B)⁺ τ_c (Aghili 2022, eqs.
    (17) and (14), in the metric of ``weights``). x may have as many rows as there are degrees of freedom, or fewer:
    then the controls that are left are those of least norm, not of least acceleration as in
    `sarrus.control.TaskHierarchy`.

    Parameters
    ----------
    system : the model the law believes in.
    quantity, reference, stiffness, damping : as in `sarrus.control.Task`: points and orientations of bodies,
        coordinates, functions x(q, t); K_P [1/s²] and K_D [1/s].
    weights : (nu,) positive; copper losses R/K_t² of each motor make u the one that heats least.
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
    ) -> None:
        settings = Settings()
        task = Task(quantity, reference, stiffness, damping)
        super().__init__(system, [task.demand(system, settings, "motion")], settings, weights=weights)
