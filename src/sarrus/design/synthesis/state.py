"""What is there at a condition, how it follows the variables of a design, and the error of what no longer closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sarrus.base.arrays import Array
from sarrus.base.status import Status

# What goals ask for: coordinates, then velocities and accelerations, then forces of loops and drivers.
POSITION, RATES, FORCES = 0, 1, 2


class Lost(Exception):
    """A condition that a design does not have: it cannot close there, or its branch ends on the way.

    None where it is no condition but a number of the description, or a goal. No error: a search goes another way.
    """

    def __init__(self, condition: int | None, reason: str, status: Status = Status.NOT_CLOSED) -> None:
        super().__init__(condition, reason)
        self.condition, self.reason, self.status = condition, reason, status

    def __str__(self) -> str:
        return self.reason if self.condition is None else f"condition {self.condition} {self.reason}"


@dataclass(frozen=True, eq=False)
class State:
    """The input z of native functions at a condition, v, a, λ, μ, the rows that hold it, and what of these is there."""

    z: Array
    v: Array
    a: Array
    multipliers: Array
    drive: Array
    rows: Any
    level: int


@dataclass(frozen=True, eq=False)
class Follows:
    """How q (along velocities), v, a, λ, μ and p follow the variables: ``rows`` in this order, a column for each."""

    rows: Array
