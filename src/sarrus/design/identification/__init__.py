"""Identification of mechanisms with closed loops: inertial numbers, friction, springs and motors from logs.

`Regressor` is the equations of motion as a linear function of the numbers, `base_parameters` finds which combinations
motions depend on, `identify` estimates them, and `exciting_trajectory` plans a motion that tells them.
"""

from sarrus.design.identification.base import BaseParameters, base_parameters
from sarrus.design.identification.excitation import ExcitingTrajectory, exciting_trajectory
from sarrus.design.identification.identify import identify
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.result import Identification

__all__ = [
    "BaseParameters",
    "ExcitingTrajectory",
    "Identification",
    "Regressor",
    "base_parameters",
    "exciting_trajectory",
    "identify",
]
