"""Derivatives of results by the parameters of a system, exact: of equilibria, eigenvalues and motions.

Parameters are those in ``system.parameters``: names that a `sarrus.System` was given with what they drive, or those of
one's own equations.
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
