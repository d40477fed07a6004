"""Identification of mechanisms with closed loops: inertial numbers, friction, springs and motors from logs.

`Regressor` is the equations of motion as a linear function of the numbers, `base_parameters` finds which combinations
motions depend on, `identify` estimates them, and `exciting_trajectory` plans a motion that tells them.
"""

from sarrus.identification.base import BaseParameters, base_parameters
from sarrus.identification.excitation import ExcitingTrajectory, exciting_trajectory
from sarrus.identification.identify import identify
from sarrus.identification.regressor import Regressor
from sarrus.identification.result import Identification

__all__ = [
    "BaseParameters",
    "ExcitingTrajectory",
    "Identification",
    "Regressor",
    "base_parameters",
    "exciting_trajectory",
    "identify",
]
