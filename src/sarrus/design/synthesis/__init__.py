"""Synthesis: dimensions, springs, counterweights and motors that minimise goals, with exact derivatives.

Start with `Problem`, its goals (`goals`, `force_goals`) and its result `Design`.
"""

from sarrus.design.synthesis.conditions import Configuration, Rest, sweep
from sarrus.design.synthesis.decoupling import decoupling
from sarrus.design.synthesis.design import Design
from sarrus.design.synthesis.force_goals import (
    drive_force,
    peak_drive_force,
    peak_reaction,
    reaction,
    reaction_below,
    shaking_force,
    shaking_moment,
)
from sarrus.design.synthesis.goals import (
    Clearance,
    Goal,
    Linear,
    between,
    clearance,
    cost,
    function,
    linear,
    peak,
    point,
    pose,
    squares,
)
from sarrus.design.synthesis.loads import Reaction
from sarrus.design.synthesis.problem import Problem, Value
from sarrus.design.synthesis.quantities import Quantities

__all__ = [
    "Clearance",
    "Configuration",
    "Design",
    "Goal",
    "Linear",
    "Problem",
    "Quantities",
    "Reaction",
    "Rest",
    "Value",
    "between",
    "clearance",
    "cost",
    "decoupling",
    "drive_force",
    "function",
    "linear",
    "peak",
    "peak_drive_force",
    "peak_reaction",
    "point",
    "pose",
    "reaction",
    "reaction_below",
    "shaking_force",
    "shaking_moment",
    "squares",
    "sweep",
]
