"""Small convex programs with second-order cones, as they arise from friction.

Solve     `solve_cone_program`, `ConeProgram` (the same sizes again and again, warm starts) → `ConeSolution`
Rows      `bounds`, `friction_cone`, `quadratic_constraint`, put together by `stack`
"""

from sarrus.optimize.cone_program import ConeProgram, ConeSolution, solve_cone_program
from sarrus.optimize.cone_rows import ConeRows, bounds, friction_cone, quadratic_constraint, stack

__all__ = [
    "ConeProgram",
    "ConeRows",
    "ConeSolution",
    "bounds",
    "friction_cone",
    "quadratic_constraint",
    "solve_cone_program",
    "stack",
]
