"""`State` at a condition, its derivatives by the variables, and `BranchLostError`, the error of a condition that does
not close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sarrus.base.arrays import Array
from sarrus.base.status import Status

# What goals ask for: coordinates, then velocities and accelerations, then forces of loops and drivers.
POSITION, RATES, FORCES = 0, 1, 2


class BranchLostError(Exception):
    """A condition that a design cannot have: it does not close there, or its branch ends on the way.

    ``condition`` is None if a number of the description or a goal is the reason. The search takes another step.
    """

    def __init__(self, condition: int | None, reason: str, status: Status = Status.NOT_CLOSED) -> None:
        super().__init__(condition, reason)
        self.condition, self.reason, self.status = condition, reason, status

    def __str__(self) -> str:
        return self.reason if self.condition is None else f"condition {self.condition} {self.reason}"


@dataclass(frozen=True, eq=False)
class State:
    """The input z of native functions at a condition, v, a, λ, μ, the rows of loops and drivers, and the level
    evaluated.
    """

    z: Array
    v: Array
    a: Array
    multipliers: Array
    drive: Array
    rows: Any
    level: int


@dataclass(frozen=True, eq=False)
class StateDerivatives:
    """Derivatives of q (along velocities), v, a, λ, μ and p by the variables: ``rows`` in this order, a column for
    each.
    """

    rows: Array
