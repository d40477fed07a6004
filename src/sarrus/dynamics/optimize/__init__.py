"""Small convex programs with second-order cones, and contact problems with Coulomb friction.

Solve     `solve_cone_program`, `ConeProgram` (the same sizes again and again, warm starts) → `ConeSolution`
Contact   `solve_contact_problem` → `ContactSolution` with `Mode` and `SolverStage`: exact Coulomb friction
          `contact_tangent` → `ContactTangent`: derivatives of the answer, with modes held
Rows      `bounds`, `friction_cone`, `quadratic_constraint`, put together by `stack`
"""

from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.optimize.cone_program import ConeProgram, ConeSolution, solve_cone_program
from sarrus.dynamics.optimize.cone_rows import ConeRows, bounds, friction_cone, quadratic_constraint, stack
from sarrus.dynamics.optimize.contact_problem import ContactSolution, SolverStage, solve_contact_problem
from sarrus.dynamics.optimize.contact_tangent import ContactTangent, contact_tangent

__all__ = [
    "ConeProgram",
    "ConeRows",
    "ConeSolution",
    "ContactSolution",
    "ContactTangent",
    "Mode",
    "SolverStage",
    "bounds",
    "contact_tangent",
    "friction_cone",
    "quadratic_constraint",
    "solve_cone_program",
    "solve_contact_problem",
    "stack",
]
