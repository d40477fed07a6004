"""Checked answers: residuals, iterative refinement, an estimate of the error, and the status that follows.

The answer of every formulation must satisfy the equations as they were given, in double precision. Residuals are
componentwise: the residual of a row divided by the sum of the sizes of its terms,

    |M a + h − τ − F|ᵢ / (|M||a| + |h| + |τ| + |F|)ᵢ,     |A a + γ|ᵢ / (|A||a| + |γ|)ᵢ

with F the constraint force. This is the smallest relative change of the data that makes the answer exact (Oettli and
Prager, Numerische Mathematik 6, 1964), independent of units of coordinates and rows. If it exceeds rounding, the same
formulation solves for a correction (iterative refinement in one precision: Skeel, Mathematics of Computation 35, 1980).
`sarrus.formulations.balance` has the units in which this is done, `sarrus.formulations.residuals` the status.
"""

from __future__ import annotations

import ctypes

import numpy as np

from sarrus.codegen.addresses import beginning
from sarrus.formulations.balance import Array, Solve
from sarrus.formulations.problem import Problem
from sarrus.formulations.residuals import Residuals
from sarrus.kernels.memory.tolerances import CERTAIN_ACCELERATION
from sarrus.kernels.memory.verification_layout import MET, N_RESULTS, UNMET
from sarrus.kernels.platform.c_function import verify_solution

# Most corrections; they end earlier where the residual no longer halves.
CORRECTIONS = 8
_Sizes = ctypes.c_int64 * 3


def refine(problem: Problem, solve: Solve, applied: Array) -> tuple[tuple[Array, Array, Array], Residuals]:
    """Return (a, F, λ) of a formulation under the force ``applied``, corrected until the residuals are rounding.

    Corrections stop when they no longer lower the residuals; the best answer is returned.
    """
    current = solve(applied, problem.gamma)
    at_once = _verify(problem, solve, current, applied)
    if at_once is not None:
        return current, at_once
    balance = problem.balance
    found, bare, candidate = balance.judge(current, solve, applied)
    for _ in range(CORRECTIONS):
        if candidate is None:
            break
        trial = candidate
        better, less, candidate = balance.judge(trial, solve, applied)
        lower = better.largest < 0.5 * found.largest
        if not (lower or (better.largest <= max(found.largest, balance.rounding) and less < bare)):
            break
        current, found, bare = trial, better, less
    return current, balance.verdict(current[0], current[1], found, applied)


def _verify(problem: Problem, solve: Solve, answer: tuple[Array, ...], applied: Array) -> Residuals | None:
    """Return the residuals of an answer that is plainly good, None if it may not be (`kernels.solve.verification`).

    Plainly good: every row at rounding, and one solve with residuals of that size, of alternating signs, moves no
    entry of a by more than `SURE`. In the units of the data, far from overflow and underflow. The kernel solves by
    itself; where it has not the digits to, or A another rank, the formulation is asked.
    """
    n, m = problem.n, len(problem.gamma)
    room = np.empty(N_RESULTS + 2 * n + (3 + m) * m)
    x = np.concatenate((room, problem.M.ravel(), problem.A.ravel("F"), applied, problem.gamma, *answer))
    found = verify_solution.entry(_Sizes(n, m, problem.rank), beginning(x), 0)
    if found == UNMET:
        return None
    force, multipliers, rows, error = x[:N_RESULTS].tolist()
    if found == MET:
        first = N_RESULTS + n
        change = np.abs(solve(x[N_RESULTS:first], x[first : first + m])[0])
        size = np.abs(answer[0])
        if not (change <= CERTAIN_ACCELERATION * size).all():
            return None
        error = float((change / np.where(size > 0.0, size, 1.0)).max())
    return Residuals(force, multipliers, rows, rows, 0.0, 0.0, error)
