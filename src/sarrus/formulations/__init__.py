"""The published formulations of constrained dynamics, as NumPy functions of plain matrices.

    M a + h = τ + Aᵀλ,    A a + γ = 0

with λ the force of the constraints on the mechanism. Every formulation is called as f(M, h, A, gamma, tau) and returns
a `Formulation`. Redundant, zero, contradicting and singular rows have a defined answer or are refused with the reason.
Every answer is refined until the residuals of both equations are rounding, and its status follows from these
residuals (`Residuals`). `Problem` and `Formulation` document the common arguments and results,
docs/formulations/agreement.md compares the formulations.

Projection in the tangent space     `projection`, `symmetric_projection`, `parameterized_projection`,
                                    `oblique_projection`; `least_condition`, `LeastCondition` of its parameter,
                                    `LeastConditionRule` for runs
Gauss's principle                   `udwadia_kalaba`, `udwadia_phohomsiri` (singular M), `mass_weighted`
Independent accelerations           `null_space`, `spike_indicator`, `SpikeIndicator`
Baselines                           `lagrange`, `kkt`, `augmented_lagrangian`
Softened, to compare                `damped_least_squares`, `truncated_svd`, `tikhonov`: rows are met in part only
By name                             `METHODS`, `SOFTENED`, `LEAST_CONDITION`
Results                             `Formulation`, `Residuals`

Parts of the projections            `projector`, `projector_from_pseudo_inverse`, `projector_rate`, `ProjectorRate`,
                                    `decompose_force`, `decouples`
Inverse dynamics                    `projected_inverse_dynamics`, `ProjectedInverse`
Tasks                               `operational_space`, `OperationalSpace`; `task_orthogonalization`,
                                    `constrained_task_orthogonalization`, `TaskOrthogonalization`, `OrthogonalTask`
Friction cones                      `contact_forces`, `ContactForces`, `cone_inequalities`, `ConeInequality`;
                                    `optimal_distribution`, `relaxed_distribution`, `ForceDistribution`
Convex programs                     `log_barrier`, `Cone`, `BarrierResult`
Mixed units                         `characteristic_metric`, `actuator_metric`, `WeightedProblem`
"""

from __future__ import annotations

from collections.abc import Callable

from sarrus.formulations.classical.augmented_lagrangian import augmented_lagrangian
from sarrus.formulations.classical.kkt import kkt
from sarrus.formulations.classical.lagrange import lagrange
from sarrus.formulations.classical.mass_weighted import mass_weighted
from sarrus.formulations.classical.null_space import SpikeIndicator, null_space, spike_indicator
from sarrus.formulations.classical.softened import damped_least_squares, tikhonov, truncated_svd
from sarrus.formulations.classical.udwadia_kalaba import udwadia_kalaba
from sarrus.formulations.classical.udwadia_phohomsiri import udwadia_phohomsiri
from sarrus.formulations.friction.force_distribution import (
    ForceDistribution,
    optimal_distribution,
    relaxed_distribution,
)
from sarrus.formulations.friction.friction_cones import (
    ConeInequality,
    ContactForces,
    cone_inequalities,
    contact_forces,
)
from sarrus.formulations.friction.log_barrier import BarrierResult, Cone, log_barrier
from sarrus.formulations.metric import WeightedProblem, actuator_metric, characteristic_metric
from sarrus.formulations.problem import Formulation, Problem
from sarrus.formulations.projections.condition_rule import LEAST_CONDITION, LeastConditionRule
from sarrus.formulations.projections.constraint_inertia import (
    parameterized_projection,
    projection,
    symmetric_projection,
)
from sarrus.formulations.projections.least_condition import LeastCondition, least_condition
from sarrus.formulations.projections.oblique import oblique_projection
from sarrus.formulations.projections.projected_inverse import ProjectedInverse, projected_inverse_dynamics
from sarrus.formulations.projections.tangent_space import (
    ProjectorRate,
    decompose_force,
    decouples,
    projector,
    projector_from_pseudo_inverse,
    projector_rate,
)
from sarrus.formulations.residuals import Residuals
from sarrus.formulations.tasks.operational_space import OperationalSpace, operational_space
from sarrus.formulations.tasks.task_orthogonalization import (
    OrthogonalTask,
    TaskOrthogonalization,
    constrained_task_orthogonalization,
    task_orthogonalization,
)

METHODS: dict[str, Callable[..., Formulation]] = {
    "projection": projection,
    "symmetric-projection": symmetric_projection,
    "parameterized-projection": parameterized_projection,
    "oblique-projection": oblique_projection,
    "udwadia-kalaba": udwadia_kalaba,
    "udwadia-phohomsiri": udwadia_phohomsiri,
    "null-space": null_space,
    "mass-weighted": mass_weighted,
    "lagrange": lagrange,
    "kkt": kkt,
    "augmented-lagrangian": augmented_lagrangian,
}
SOFTENED: dict[str, Callable[..., Formulation]] = {
    "damped-least-squares": damped_least_squares,
    "truncated-svd": truncated_svd,
    "tikhonov": tikhonov,
}

__all__ = [
    "LEAST_CONDITION",
    "METHODS",
    "SOFTENED",
    "BarrierResult",
    "Cone",
    "ConeInequality",
    "ContactForces",
    "ForceDistribution",
    "Formulation",
    "LeastCondition",
    "LeastConditionRule",
    "OperationalSpace",
    "OrthogonalTask",
    "Problem",
    "ProjectedInverse",
    "ProjectorRate",
    "Residuals",
    "SpikeIndicator",
    "TaskOrthogonalization",
    "WeightedProblem",
    "actuator_metric",
    "augmented_lagrangian",
    "characteristic_metric",
    "cone_inequalities",
    "constrained_task_orthogonalization",
    "contact_forces",
    "damped_least_squares",
    "decompose_force",
    "decouples",
    "kkt",
    "lagrange",
    "least_condition",
    "log_barrier",
    "mass_weighted",
    "null_space",
    "oblique_projection",
    "operational_space",
    "optimal_distribution",
    "parameterized_projection",
    "projected_inverse_dynamics",
    "projection",
    "projector",
    "projector_from_pseudo_inverse",
    "projector_rate",
    "relaxed_distribution",
    "spike_indicator",
    "symmetric_projection",
    "task_orthogonalization",
    "tikhonov",
    "truncated_svd",
    "udwadia_kalaba",
    "udwadia_phohomsiri",
]
