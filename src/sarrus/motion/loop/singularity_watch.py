"""`SingularityWatch`: warnings and forecasts when a run comes near a singular configuration, at that time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING
from warnings import warn

import numpy as np

from sarrus.base.errors import ArgumentError, SingularityWarning
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.singularity_forecast import Rows, SingularityForecast, forecast_at, require_holonomic
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.loop.tolerances import WATCH_AGAIN, WATCH_GROWTH, WATCH_SHARE, WATCH_STEPS, WHOLE_STEPS
from sarrus.motion.records.records import EventRecord

if TYPE_CHECKING:
    from sarrus.motion.loop.time_loop import TimeLoop

# Halvings of a fixed step, at most.
_HALVES = 12


@dataclass(frozen=True)
class SingularityWatch:
    """Watch of the smallest singular value σ of A during a run, with a forecast before a singular configuration is
    reached.

    Attributes
    ----------
    within : bound of σ in characteristic units [1]. When σ falls below it the run warns, notes an event and forecasts.
    part : bound of the step as a part of σ / |d(Aᵀu)/dt|, the time in which σ and its direction change, while the run
        is near and will not pass. Fixed steps are halved accordingly, and recorded. None: the steps do not change. If
        the motion will pass, steps are not bounded: short steps come nearer to the singular configuration and amplify
        rounding.
    call : function (time, `SingularityForecast`), called at each warning, for instance to stop a machine. An exception
        that it raises ends the run.
    """

    within: float = 0.1
    part: float | None = None
    call: Callable[[float, SingularityForecast], object] | None = None

    def __post_init__(self) -> None:
        for name in ("within", "part"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0.0 < value < np.inf):
                raise ArgumentError(
                    f"SingularityWatch: {name} must be a positive number, got {value!r}", element=name
                )
        if self.call is not None and not callable(self.call):
            raise ArgumentError(
                f"SingularityWatch: call must be a function of (time, forecast), got {self.call!r}",
                element="call",
            )

    @classmethod
    def of(cls, given: SingularityWatch | float | None) -> SingularityWatch | None:
        """Return a `SingularityWatch` from a bound of σ, or the object itself; None for None."""
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, int | float) and not isinstance(given, bool):
            return cls(float(given))
        raise ArgumentError(
            f"watch must be a bound of the smallest singular value or a SingularityWatch, got {given!r}",
            element="watch",
        )


class Watcher:
    """The watch of one run: evaluates σ between kernel calls, more often the faster σ changes."""

    def __init__(self, watch: SingularityWatch, system: Workspace) -> None:
        require_holonomic(system, "watch")
        self.watch, self.near, self.next_look = watch, False, 0.0
        self._fastest, self._apart = 0.0, 1.0
        self._bounds = False  # whether steps are bounded: not where the motion passes

    def look(self, loop: TimeLoop) -> None:
        """Evaluate σ at the last state of a run, warn if it is below the bound, and set the number of steps to the next
        look.
        """
        state, s = loop.state, loop.system
        done = state.steps + state.rejected
        if done < self.next_look or loop.status is not None or not np.isfinite(loop.x).all():
            return
        rank = int(loop.table.generic_rank)
        if rank == 0:
            self.next_look = done + WATCH_STEPS
            return
        q, v, t = loop.q.copy(), loop.v.copy(), loop.time
        rows = Rows(s, q, t, rank)
        sigma, within, pace = rows.sigma, self.watch.within, rows.pace(q, v, t)
        self._fastest = max(self._fastest, pace)
        if sigma > WATCH_AGAIN * within and self.near:
            self.near = False
        elif sigma < within and not self.near and rows.rate(q, v, t) < 0.0:
            self.near = True
            u = loop.x[s.parts.u].copy() if s.nu else None
            forecast = forecast_at(s.copy(), q, v, u, t)
            self._bounds = self.watch.part is not None and forecast.outcome != "passes"
            self._tell(loop, forecast)
        if self._bounds:
            self._bound(loop, sigma, pace)
        if loop.adaptive or self._bounds:  # the next step may be any length, or is to be
            self.next_look = done + 1.0
            return
        ahead = sigma if self.near else max(sigma - within, 0.1 * within)
        steps = WATCH_SHARE * ahead / max(self._fastest * state.step, LEAST_DIVISOR)
        self._apart = float(min(max(np.floor(steps), 1.0), WATCH_GROWTH * self._apart))
        self.next_look = done + self._apart

    def _bound(self, loop: TimeLoop, sigma: float, pace: float) -> None:
        """Bound the next step while the run is near; remove the bound after it has left."""
        state, asked = loop.state, (self.watch.part or 1.0) * sigma / max(pace, LEAST_DIVISOR)
        if loop.adaptive:
            longest = loop.scheme.limits.max_step
            state.longest = min(longest, asked) if self.near else longest
            self._bounds = self.near
            return
        whole = float(loop.scheme.dt or state.step)
        t, step = loop.time, state.step
        if loop.method == TIME_STEPPING or abs(state.start + state.steps * step - t) > WHOLE_STEPS * step:
            return
        halves = ceil(log2(max(whole / asked, 1.0))) if self.near else 0
        new = whole / 2.0 ** min(halves, _HALVES)
        count = (t - loop.options.t0) / (2.0 * step)
        if new > step:  # by two at a time, from a time that the longer steps would have come to
            new = 2.0 * step if abs(count - round(count)) < WHOLE_STEPS else step
        if new != step:
            state.step, state.start = new, t - state.steps * new
        self._bounds = self.near or state.step < whole

    def _tell(self, loop: TimeLoop, forecast: SingularityForecast) -> None:
        text = f"near a singular configuration (σ = {forecast.sigma:.2g}): {forecast}"
        loop.records.append(EventRecord(text, loop.time))
        warn(f"{loop.system.name}: at t = {loop.time:.6g} s {text}", SingularityWarning, stacklevel=2)
        if self.watch.call is not None:
            self.watch.call(loop.time, forecast)
