"""Sequential quadratic programming (Kraft 1988), by SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from sarrus.base.arrays import Array
from sarrus.design.synthesis.evaluation import Found
from sarrus.design.synthesis.nonlinear import Nonlinear
from sarrus.design.synthesis.program import Ended, Program
from sarrus.design.synthesis.tolerances import SEQUENTIAL_FALL

_TOO_MANY = 9


def slsqp(program: Program, found: Found, iterations: int) -> Ended:
    """Return the end of a search from a design that closes; designs that do not close have an infinite cost."""
    p = Nonlinear(program, found)

    def objective(y: Array) -> float:
        value = p.objective(y)
        return np.inf if value is None else value

    constraints = [
        {"type": kind, "fun": values, "jac": rows}
        for kind, values, rows in (("ineq", p.above, p.above_slope), ("eq", p.equal, p.equal_slope))
        if len(values(p.start))
    ]
    answer = minimize(
        objective,
        p.start,
        jac=p.slope,
        bounds=Bounds(p.lower, p.upper),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": iterations, "ftol": SEQUENTIAL_FALL},
    )
    return p.ended(answer.x, answer.status != _TOO_MANY, str(answer.message))
