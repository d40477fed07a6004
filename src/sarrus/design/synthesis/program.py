"""`Program`: a problem as functions of its variables, for the solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.design.synthesis.evaluation import Evaluation, Found
from sarrus.design.synthesis.least_squares import descend
from sarrus.design.synthesis.state import BranchLostError
from sarrus.design.synthesis.tolerances import LEAST_SIZE


@dataclass(frozen=True, eq=False)
class Ended:
    """The end of a search: x, its values, whether it converged, and the solver's message."""

    found: Found
    converged: bool
    said: str


class Program:
    """The cost, its gradient and the constraints of a problem at designs that close."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.scale = evaluation, evaluation.variables.scale
        self.accepted: Found | None = None
        kinds = [g.goal.kind for g in evaluation.goals]
        self.squares, self.costs, self.peaks, self.limited = (
            [i for i, k in enumerate(kinds) if k == kind] for kind in ("squares", "cost", "peak", "between")
        )
        self.plain = not (self.costs or self.peaks or self.limited) and not (
            evaluation.clearances or evaluation.relations
        )

    # --- values ------------------------------------------------------------------------------------

    def cost(self, found: Found) -> float:
        """Return the weighted sum of all goals."""
        goals, values = self.evaluation.goals, found.goals
        total = sum(goals[i].goal.weight * float(values[i] @ values[i]) for i in self.squares)
        total += sum(goals[i].goal.weight * float(values[i].sum()) for i in self.costs)
        return total + sum(goals[i].goal.weight * float(np.abs(values[i]).max()) for i in self.peaks)

    def gradient(self, found: Found) -> Array:
        """Return the gradient of squares and costs by x (n,)."""
        e = self.evaluation
        out = np.zeros(len(self.scale))
        for i in self.squares:
            out += 2.0 * e.goals[i].goal.weight * (e.jacobian(found, i).T @ found.goals[i])
        for i in self.costs:
            out += e.goals[i].goal.weight * e.jacobian(found, i).sum(axis=0)
        return out

    def inequalities(self, found: Found) -> tuple[Array, Array, Array]:
        """Return values c ≥ 0 of clearances, limits and relations, their derivatives by x, and their scales."""
        e = self.evaluation
        values, rows, sizes = [np.zeros(0)], [np.zeros((0, len(self.scale)))], [np.zeros(0)]

        def add(value: Array, row: Array, lower: float, upper: float) -> None:
            size = np.ones(len(value)) * max(
                [LEAST_SIZE, *(abs(b) for b in (lower, upper) if np.isfinite(b))]
            )
            for sign, bound in ((1.0, lower), (-1.0, upper)):
                if np.isfinite(bound):
                    values.append(sign * (value - bound))
                    rows.append(sign * row)
                    sizes.append(size)

        for k, (clearance, _) in enumerate(e.clearances):
            add(found.margins[k], e.margin_jacobian(found, k), clearance.least, np.inf)
        for i in self.limited:
            add(found.goals[i], e.jacobian(found, i), *e.goals[i].goal.limits)
        for row, lower, upper in e.relations:
            if lower < upper:
                add(np.array([row @ found.x]), row[None, :], lower, upper)
        return np.concatenate(values), np.vstack(rows), np.concatenate(sizes)

    def equalities(self, found: Found) -> tuple[Array, Array]:
        """Return values and derivatives of exact relations."""
        own = [(row, lower) for row, lower, upper in self.evaluation.relations if lower == upper]
        return (
            np.array([row @ found.x - value for row, value in own]),
            np.vstack([np.zeros((0, len(self.scale))), *(row[None, :] for row, _ in own)]),
        )

    def heights(self, found: Found) -> Array:
        """Return the peaks."""
        return np.array([max(float(np.abs(found.goals[i]).max()), LEAST_SIZE) for i in self.peaks])

    # --- squares -----------------------------------------------------------------------------------

    def least_squares(self, found: Found, iterations: int) -> Ended:
        """Return the end of a Levenberg–Marquardt search from a design that closes, for squares within bounds."""
        v = self.evaluation.variables
        self.accepted = found
        _, converged = descend(self, np.clip(found.x, v.lower, v.upper), iterations)
        return Ended(self.accepted, converged, "no step makes the cost less")

    def residual(self, x: Array) -> Array | None:
        """Return √weight × the values of squares; None if the design does not close."""
        self.evaluation.last = self.accepted  # each trial is followed from there
        try:
            return self.residuals_alone(self.evaluation.at(x))
        except BranchLostError:
            return None

    def jacobian(self, x: Array) -> Array:
        """Return the derivative of `residual` by x in its scales, at an accepted design."""
        e = self.evaluation
        self.accepted = found = e.at(x)
        roots = [np.sqrt(e.goals[i].goal.weight) for i in self.squares]
        return np.vstack([r * e.jacobian(found, i) for r, i in zip(roots, self.squares)]) * self.scale

    def moved(self, x: Array, step: Array) -> Array:
        """Return x after a step in the scales, clipped to the bounds."""
        v = self.evaluation.variables
        return np.clip(x + self.scale * step, v.lower, v.upper)

    def stops(self, x: Array, step: Array) -> np.ndarray:
        """Return the mask of variables at a bound that a step would cross."""
        return self.evaluation.variables.stops(x, step)

    def residuals_alone(self, found: Found) -> Array:
        """Return √weight × the values of squares."""
        goals = self.evaluation.goals
        return np.concatenate([np.sqrt(goals[i].goal.weight) * found.goals[i] for i in self.squares])
