"""Derivatives of results by the parameters of a system, exact: `equilibrium`, `eigenvalues` and `motion`.

Parameters are those in ``system.parameters``: names that a `sarrus.System` was given with what they drive, or those of
one's own equations.
"""

from sarrus.sensitivity.equilibrium_derivatives import (
    EigenvalueSensitivity,
    EquilibriumSensitivity,
    eigenvalues,
    equilibrium,
)
from sarrus.sensitivity.motion_derivatives import MotionSensitivity, motion
from sarrus.sensitivity.step import StepDerivatives, step_derivatives

__all__ = [
    "EigenvalueSensitivity",
    "EquilibriumSensitivity",
    "MotionSensitivity",
    "StepDerivatives",
    "eigenvalues",
    "equilibrium",
    "motion",
    "step_derivatives",
]
