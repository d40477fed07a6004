"""`Explanation`: demand, residual and cost of each level of a law at a state, and the limits that are reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.control.laws.demands import Demand, Level
from sarrus.control.laws.law_failure import refusal
from sarrus.control.laws.tolerances import LIMIT_TOUCHED


@dataclass(frozen=True)
class LevelShare:
    """One level of a law: its result and its cost.

    Attributes
    ----------
    level : rank, size of the demand and residual (`Level`).
    rows : names of its rows; () for a generalized force.
    at_most : whether the rows are inequalities.
    cost : increase of uᵀW u (of u − preferred) by this level over the levels before it; negative if the level reduces
        u.
    """

    level: Level
    rows: tuple[str, ...]
    at_most: bool
    cost: float

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "="
        name, wants, misses = self.level.name, self.level.demanded, self.level.residual
        return f"{name:32.32} {sign} {self.level.rank:4} {wants:11.4g} {misses:11.3g} {self.cost:+12.4g}"


@dataclass(frozen=True)
class LimitUse:
    """One limit: its name (owner and quantity), the value, and the lower and upper limit; ``reached`` if it is
    at one.
    """

    name: str
    value: float
    lower: float
    upper: float

    @property
    def reached(self) -> bool:
        """Whether the value is at one of the limits."""
        size = LIMIT_TOUCHED * (1.0 + abs(self.value))
        return self.value <= self.lower + size or self.value >= self.upper - size

    def __str__(self) -> str:
        return f"{self.name:46.46} {self.value:11.4g} in [{self.lower:.4g}, {self.upper:.4g}]"


@dataclass(frozen=True)
class Explanation:
    """Demand, residual and cost of each level of a law at a state, and its limits; ``print`` shows a table.

    Attributes
    ----------
    law : names of the law and of its system.
    u : (nu,).
    outcome, conflict : as in `Command`.
    levels : in order of priority.
    limits : all limits of controls, contacts and inequalities; ``reached``: those with a value at the limit.
    """

    law: str
    u: Array
    outcome: str
    conflict: tuple[str, ...]
    levels: tuple[LevelShare, ...]
    limits: tuple[LimitUse, ...]

    @property
    def reached(self) -> tuple[LimitUse, ...]:
        """The limits that are reached."""
        return tuple(limit for limit in self.limits if limit.reached)

    def __str__(self) -> str:
        who = f", because of the limits of {', '.join(self.conflict)}" if self.conflict else ""
        lines = [f"{self.law}: {self.outcome}{who}"]
        lines.append(f"{'level':32}   rank    demanded    residual  cost uᵀW u")
        lines += [str(share) for share in self.levels]
        lines.append("limits reached" if self.reached else "no limit is reached")
        return "\n".join([*lines, *map(str, self.reached)])


def explained(law: Any, q: ArrayLike, v: ArrayLike, t: float) -> Explanation:
    """Return the explanation of a `Law` at a state; see `sarrus.control.Law.explain`."""
    own, costs = law.copy(), [0.0]
    for used in range(1, len(own.levels) + 1):
        own.table.n_used = used
        told = own.solve(q, v, t, throw=False)
        if told.outcome == "infeasible":
            text = refusal(told.conflict, law.table.n_contacts > 0)
            raise told.status.error(f"{law.name} of {law.system.name}", text, result=told)
        away = told.u - own.arrays.preferred[: own.system.nu]
        costs.append(float(away @ (own.cost_weights * away)))
    shares = tuple(
        LevelShare(level, demand.rows, demand.at_most, cost)
        if isinstance(demand, Demand)
        else LevelShare(level, (), False, cost)
        for level, demand, cost in zip(own._told(), own.levels, np.diff(costs).tolist())  # noqa: SLF001
    )
    uses = own._limits_in_use()  # noqa: SLF001  of the law
    return Explanation(f"{law.name} of {law.system.name}", told.u, told.outcome, told.conflict, shares, uses)
