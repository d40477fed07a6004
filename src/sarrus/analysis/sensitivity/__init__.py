"""Exact derivatives of equilibria, eigenvalues and motions with respect to the parameters of a system.

Parameters are those in ``system.parameters``: names given to a `sarrus.System` with the numbers they drive, or those of
equations of one's own.
"""

from sarrus.analysis.sensitivity.equilibrium_derivatives import (
    EigenvalueSensitivity,
    EquilibriumSensitivity,
    eigenvalue_derivatives,
    equilibrium_derivatives,
)
from sarrus.analysis.sensitivity.motion_derivatives import MotionSensitivity, motion_derivatives
from sarrus.analysis.sensitivity.step import StepDerivatives, step_derivatives

__all__ = [
    "EigenvalueSensitivity",
    "EquilibriumSensitivity",
    "MotionSensitivity",
    "StepDerivatives",
    "eigenvalue_derivatives",
    "equilibrium_derivatives",
    "motion_derivatives",
    "step_derivatives",
]
