"""`Design`: what a search found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sarrus.base.arrays import Array
from sarrus.base.status import Answer, Status
from sarrus.model.builders.mechanism import Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Design(Answer):
    """Values of the free numbers that fulfil the goals best, near where the search began; ``print`` shows a table.

    Attributes
    ----------
    parameters, start : values by name, found and as the mechanism has them.
    drivers : values of free drivers, such as "crank[2]" of condition 2.
    cost, start_cost : Σ of the goals with their weights; ``start_cost`` is None where the start did not close.
    goals : by name of a goal the largest absolute value of its expression: how far a point is missed, a peak.
    q : (nq,) of each condition, loops closed.
    active : names of the variables at a bound.
    optimality : norm of the gradient of the cost along what bounds and active constraints leave, in the scales of the
        variables; zero at a local minimum.
    status : OK (a local minimum, with all that must be reached reached), NOT_ACHIEVABLE (a local minimum that misses a
        goal or constraint), ALMOST (the search ended before a minimum, such as at the edge of what closes),
        NOT_CONVERGED (too few evaluations), NOT_CLOSED (no start closes). Only of OK is all true.
    reason : what of it, in words. mechanism : a new `Mechanism` with the numbers.
    evaluations : designs that were tried, over all starts. starts : costs that these ended at, infinite where none.
    """

    name: str
    parameters: Mapping[str, float]
    start: Mapping[str, float]
    drivers: Mapping[str, float]
    cost: float
    start_cost: float | None
    goals: Mapping[str, float]
    q: tuple[Array, ...]
    active: tuple[str, ...]
    optimality: float
    status: Status
    reason: str
    mechanism: Mechanism
    evaluations: int
    starts: tuple[float, ...]

    @property
    def message(self) -> str:
        """What became of it, in words."""
        return self.reason

    def __repr__(self) -> str:
        return f"<Design of {self.name}: {self.status}, cost {self.cost:.6g}>"

    def __str__(self) -> str:
        before = "-" if self.start_cost is None else f"{self.start_cost:.5g}"
        rows = [("", "before", "after", "")]
        for name, value in self.parameters.items():
            rows.append(
                (name, f"{self.start[name]:.5g}", f"{value:.5g}", "at bound" if name in self.active else "")
            )
        for name, value in self.drivers.items():
            rows.append((name, "", f"{value:.5g}", "at bound" if name in self.active else ""))
        rows.append(("cost", before, f"{self.cost:.5g}", ""))
        rows += [(name, "", f"{value:.3g}", "largest") for name, value in self.goals.items()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [f"{self.name}: {self.status}, {self.reason}"]
        lines += [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in rows
        ]
        return "\n".join(lines)
