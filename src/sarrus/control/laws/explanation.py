"""`Explanation`: which level of a law gets what at a state, what that costs, and which limits are reached."""

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
    """One level: what became of it, and what it costs.

    Attributes
    ----------
    level : its rank, what it demanded, what it misses (`Level`).
    rows : names of its rows; none of a generalized force.
    at_most : whether they are inequalities.
    cost : by how much uᵀW u (of what is preferred on) is more with this level than with those before it alone; it is
        negative where a level asks for less.
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
    """One limit: whose it is and of what, the value there, the limits; whether one of these is reached."""

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
    """Why a law commands what it does at a state; ``print`` shows it as a table.

    Attributes
    ----------
    law : its name and that of its system.
    u : (nu,).
    outcome, conflict : as in `Command`.
    levels : in order of priority.
    limits : all limits of controls, contacts and inequalities; ``reached`` are those that something is at.
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
        who = f", for the limits of {', '.join(self.conflict)}" if self.conflict else ""
        lines = [f"{self.law}: {self.outcome}{who}"]
        lines.append(f"{'level':32}   rank       wants      misses        costs")
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
