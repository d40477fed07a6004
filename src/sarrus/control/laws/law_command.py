"""`command_of`: the controls of a law at a state, and what became of its demands."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sarrus.base.arrays import read_only
from sarrus.base.status import Status
from sarrus.control.laws.demands import Command, Level
from sarrus.control.laws.law_failure import what_was_open
from sarrus.control.laws.law_limits import damped_where_refused
from sarrus.kernels.memory import law_layout as ll


def command_of(law: Any, q: ArrayLike, v: ArrayLike, t: float) -> Command:
    """Return the controls of a `Law` with a `Level` for each demand.

    If contacts of the plant take part, forward dynamics with the controls must give the acceleration of the law.
    """
    own = None if law.plant is None else law.plant.limits
    with damped_where_refused(law.limits) as held, damped_where_refused(own):
        u = law._run(q, v, t, ll.ANSWER_ONLY)  # noqa: SLF001  of the law
    levels, outcome, acting, otherwise = law._told(), law.outcome, law.acting, ""  # noqa: SLF001
    refuses = outcome == "damped"
    if refuses and not held:
        outcome = "infeasible"
    achieved = all(level.achieved for level in levels)
    if outcome == "exact" and not achieved:
        outcome = "unreachable" if acting is None or not acting.pressed else "relaxed"
    status = Status.OK if achieved else Status.NOT_ACHIEVABLE
    if law.plant is not None and not refuses:
        otherwise = law.plant.differs(q, v, u, t)
        status = Status.NOT_ACHIEVABLE if otherwise else status
    if what_was_open(law, q, t):
        status = Status.NOT_CLOSED
    return Command(
        read_only(u),
        int(law.arrays.answer[law.unknowns]),
        levels,
        Status.INFEASIBLE if refuses and status is not Status.NOT_CLOSED else status,
        outcome,
        law._conflict(),  # noqa: SLF001
        _relaxed(law, levels),
        {} if acting is None else acting.modes,
        otherwise,
    )


def _relaxed(law: Any, levels: tuple[Level, ...]) -> tuple[str, ...]:
    """Return the names of levels with a residual because of limits, soft ones included."""
    first = 0 if law.limits is None or law.acting else law.limits.first_missed
    if law.outcome not in ("relaxed", "jumped"):
        return ()
    return tuple(level.name for level in levels[first:] if level.misses)
