"""`Nonlinear`: a problem as a nonlinear program in y = x / scale, followed by an upper bound for each peak."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.design.synthesis.evaluation import Found
from sarrus.design.synthesis.program import Ended, Program
from sarrus.design.synthesis.state import BranchLostError


class Nonlinear:
    """Minimise ``objective`` subject to ``above`` ≥ 0, ``equal`` = 0 and lower ≤ y ≤ upper, from a design that closes.

    The objective is the cost relative to the start; a peak is a variable that bounds all values of its goal, relative
    to its value at the start. A design that does not close has no objective, and the constraints of the last one that
    closed.
    """

    def __init__(self, program: Program, found: Found) -> None:
        e, s = program.evaluation, program.scale
        self.program, self.evaluation, self.scale, self.seen = program, e, s, found
        self.unit = abs(program.cost(found)) or 1.0
        self.heights = program.heights(found)
        self.weights = np.array([e.goals[i].goal.weight * h for i, h in zip(program.peaks, self.heights)])
        v, count = e.variables, len(self.heights)
        self.start = np.concatenate([np.clip(found.x, v.lower, v.upper) / s, np.ones(count)])
        self.lower = np.concatenate([v.lower / s, np.zeros(count)])
        self.upper = np.concatenate([v.upper / s, np.full(count, np.inf)])

    def at(self, y: Array) -> bool:
        """Evaluate a design; return whether it closes."""
        try:
            self.seen = self.evaluation.at(y[: len(self.scale)] * self.scale)
        except BranchLostError:
            return False
        return True

    def objective(self, y: Array) -> float | None:
        """Return the cost relative to the start; None if the design does not close."""
        if not self.at(y):
            return None
        goals, now, program = self.evaluation.goals, self.seen, self.program
        peaks = sum(goals[i].goal.weight * float(np.abs(now.goals[i]).max()) for i in program.peaks)
        smooth = program.cost(now) - peaks
        return (smooth + float(self.weights @ y[len(self.scale) :])) / self.unit

    def slope(self, y: Array) -> Array:
        """Return the derivative of the objective by y."""
        self.at(y)
        return np.concatenate([self.program.gradient(self.seen) * self.scale, self.weights]) / self.unit

    def above(self, y: Array) -> Array:
        """Return the inequality values ≥ 0: clearances, limits and relations, and peaks minus values."""
        self.at(y)
        values, _, sizes = self.program.inequalities(self.seen)
        parts = [values / sizes]
        for bound, i, h in zip(y[len(self.scale) :], self.program.peaks, self.heights):
            value = self.seen.goals[i] / h
            parts += [bound - value, bound + value]
        return np.concatenate(parts)

    def above_slope(self, y: Array) -> Array:
        """Return the derivative of the inequality values by y."""
        self.at(y)
        values, rows, sizes = self.program.inequalities(self.seen)
        count = len(self.heights)
        parts = [np.hstack([rows * self.scale / sizes[:, None], np.zeros((len(values), count))])]
        for k, (i, h) in enumerate(zip(self.program.peaks, self.heights)):
            row = self.evaluation.jacobian(self.seen, i) * self.scale / h
            bound = np.zeros((len(row), count))
            bound[:, k] = 1.0
            parts += [np.hstack([-row, bound]), np.hstack([row, bound])]
        return np.concatenate(parts)

    def equal(self, y: Array) -> Array:
        """Return the equality values: relations."""
        self.at(y)
        return self.program.equalities(self.seen)[0]

    def equal_slope(self, y: Array) -> Array:
        """Return the derivative of the equality values by y."""
        self.at(y)
        values, rows = self.program.equalities(self.seen)
        return np.hstack([rows * self.scale, np.zeros((len(values), len(self.heights)))])

    def ended(self, y: Array, converged: bool, said: str) -> Ended:
        """Return the end of a search, or the last design that closed."""
        v = self.evaluation.variables
        try:
            end = self.evaluation.at(np.clip(y[: len(self.scale)] * self.scale, v.lower, v.upper))
        except BranchLostError:
            end = self.seen
        return Ended(end, converged, said)
