"""`Design`: the result of a synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sarrus.base.arrays import Array
from sarrus.base.status import Answer, Status
from sarrus.model.builders.mechanism import Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Design(Answer):
    """The parameter values that minimise the goals, a local optimum near the start; ``print`` shows a table.

    Attributes
    ----------
    parameters, start : values by name, found and initial.
    drivers : values of free drivers, such as "crank[2]" of condition 2.
    cost, start_cost : weighted sum of the goals; ``start_cost`` is None if the start did not close.
    goals : by name of a goal the largest absolute value of its expression: the error of a point, a peak.
    q : (nq,) of each condition, loops closed.
    active : names of the variables at a bound.
    optimality : norm of the gradient of the cost projected on bounds and active constraints, in the scales of the
        variables; zero at a local minimum.
    status : OK (a local minimum, all targets reached), NOT_ACHIEVABLE (a local minimum that misses a goal or
        constraint), ALMOST (the search ended before a minimum, for instance at the boundary of closing designs),
        NOT_CONVERGED (too few evaluations), NOT_CLOSED (no start closes). ``success`` is True for OK only.
    reason : explanation of the status. mechanism : a new `Mechanism` with the values.
    evaluations : number of designs evaluated, over all starts. starts : final cost of each start, infinite if it
        failed.
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
        """The outcome as a sentence."""
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
