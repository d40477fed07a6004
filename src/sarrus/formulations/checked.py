"""Answers that are checked: residuals, iterative refinement, an estimate of the error, and the status that follows.

Whatever the formulation, its answer has to satisfy the equations that it was asked to solve, in the arithmetic at
hand and with the numbers as they were given. Residuals are componentwise: what is left of a row, divided by the sum of
the sizes of its terms,

    |M a + h − τ − F|ᵢ / (|M||a| + |h| + |τ| + |F|)ᵢ,     |A a + γ|ᵢ / (|A||a| + |γ|)ᵢ

with F the force of the constraints. This is the smallest relative change of the data that makes the answer exact
(Oettli and Prager, Numerische Mathematik 6, 1964), and depends on no unit of a coordinate or a row. Where they are
not at rounding, the same formulation solves for the correction (iterative refinement in one precision: Skeel,
Mathematics of Computation 35, 1980). `sarrus.formulations.balance` has the units in which this is done,
`sarrus.formulations.residuals` the status that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sarrus.formulations.balance import EPSILON, Array, Solve
from sarrus.formulations.residuals import Residuals

if TYPE_CHECKING:
    from sarrus.formulations.problem import Problem

# A change of every entry of a by less than this needs no closer look.
SURE = 1e-7
# Most corrections; they end earlier where the residual no longer halves.
CORRECTIONS = 8


@dataclass(frozen=True, eq=False)
class Answer:
    """Acceleration, constraint force and multipliers with their residuals."""

    a: Array
    force: Array
    multipliers: Array
    residuals: Residuals


def refine(problem: Problem, solve: Solve, applied: Array) -> Answer:
    """Return the answer of a formulation under the force ``applied``, corrected until its residuals are rounding.

    Corrections stop where they no longer lower the residuals; the best answer is kept.
    """
    current = solve(applied, problem.gamma)
    at_once = _glance(problem, solve, current, applied)
    if at_once is not None:
        return Answer(*current, at_once)
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
    a, force, multipliers = current
    return Answer(a, force, multipliers, balance.verdict(a, force, found, applied))


def _glance(problem: Problem, solve: Solve, answer: tuple[Array, ...], applied: Array) -> Residuals | None:
    """Return the residuals of an answer that is plainly good, at the cost of one more solve; None if it may not be.

    Plainly good: every row at rounding, and one solve with residuals of that size, of alternating signs, moves no
    entry of a by more than `SURE`. In the units of the data, far from overflow and underflow.
    """
    a, force, multipliers = answer
    M, A, gamma = problem.M, problem.A, problem.gamma
    n = problem.n
    free = M @ a - applied
    sizes = np.abs(M) @ np.abs(a) + np.abs(applied)
    left = np.concatenate([free - force, free - A.T @ multipliers, A @ a + gamma])
    terms = np.concatenate(
        [
            sizes + np.abs(force),
            sizes + np.abs(A.T) @ np.abs(multipliers),
            np.abs(A) @ np.abs(a) + np.abs(gamma),
        ]
    )
    if not (terms.min() > 1e-200 and terms.max() < 1e200):
        return None
    ratio = np.abs(left) / terms
    if not ratio.max() <= 8.0 * (n + len(gamma) + 4) * EPSILON:
        return None
    rounding = (np.abs(left) + EPSILON * terms) * np.where(np.arange(len(left)) % 2, 1.0, -1.0)
    change = np.abs(solve(rounding[n : 2 * n], rounding[2 * n :])[0])
    if not (change <= SURE * np.abs(a)).all():
        return None
    rows = float(ratio[2 * n :].max(initial=0.0))
    error = float((change / np.where(a != 0.0, np.abs(a), 1.0)).max())
    return Residuals(float(ratio[:n].max()), float(ratio[n : 2 * n].max()), rows, rows, 0.0, 0.0, error)
