"""Identification of mechanisms with closed loops: inertial parameters, friction, springs and motors from logs.

`Regressor` is the matrix W of the equations of motion, which are linear in the parameters; `base_parameters` finds the
identifiable combinations; `identify` estimates them; `exciting_trajectory` plans a motion for a log.
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
