"""Synthesis: dimensions, springs, counterweights and motors that fulfil goals best, by exact derivatives."""

from sarrus.synthesis.conditions import Configuration, Rest, sweep
from sarrus.synthesis.design import Design
from sarrus.synthesis.goals import (
    Clearance,
    Goal,
    Linear,
    between,
    clearance,
    cost,
    drive_force,
    function,
    linear,
    peak,
    peak_drive_force,
    point,
    pose,
    shaking_force,
    shaking_moment,
    squares,
)
from sarrus.synthesis.problem import Problem, Value
from sarrus.synthesis.quantities import Quantities

__all__ = [
    "Clearance",
    "Configuration",
    "Design",
    "Goal",
    "Linear",
    "Problem",
    "Quantities",
    "Rest",
    "Value",
    "between",
    "clearance",
    "cost",
    "drive_force",
    "function",
    "linear",
    "peak",
    "peak_drive_force",
    "point",
    "pose",
    "shaking_force",
    "shaking_moment",
    "squares",
    "sweep",
]
