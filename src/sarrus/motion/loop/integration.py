"""`Integration`: one run of the time loop, and the decisions in Python when the kernel stops."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from sarrus.base import interrupts
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.inertia import is_singular_at
from sarrus.dynamics.solve.ranks import has_left
from sarrus.kernels.memory import run_state as run
from sarrus.kernels.memory.tolerances import FIRST_LOOK, MOST_LOOKS
from sarrus.motion.loop.chattering import jump
from sarrus.motion.loop.jamming import jam
from sarrus.motion.loop.singularity_watch import Watcher
from sarrus.motion.loop.time_loop import TimeLoop
from sarrus.motion.loop.tolerances import (
    CALL_SECONDS,
    CREEP_STEPS,
    CREEPING,
    FIRST_CALL,
    HELD_UP,
    MORE_STEPS_OF_A_CALL,
    MOST_STEPS_OF_A_CALL,
    RESTARTED_STEP,
    SHORTEST_CALL,
)
from sarrus.motion.records.records import EventRecord

# Ends of a run by a contact problem without an answer, or by contacts that there is no room for.
_LOST_BY_CONTACTS = (run.NOT_CONVERGED, run.NOT_FINITE, run.ILL_POSED)
# Ends of a run that M may cause where it is singular at one configuration.
_LOST_BY_INERTIA = (run.ILL_POSED, run.NOT_FINITE, run.STEP_TOO_SMALL, run.PROJECTION_FAILED)
# Ends of a run whose loops may jam.
_LOST_BY_JAM = (run.NOT_FINITE, run.STEP_TOO_SMALL, run.PROJECTION_FAILED)
# Ends of an adaptive run that the other of two methods may prevent.
_LOST_BY_METHOD = (run.STEP_TOO_SMALL, run.PROJECTION_FAILED)
# Ends of a run that other independent coordinates may prevent, where a projection along them has failed.
_LOST_BY_CHART = (run.NOT_FINITE, run.STEP_TOO_SMALL, run.PROJECTION_FAILED)
# Ends of a run by which it may have left the motions of a rigid mechanism.
_LOST = (Status.NOT_FINITE, Status.STEP_TOO_SMALL, Status.PROJECTION_FAILED, Status.STEP_LIMIT)


class Integration(TimeLoop):
    """A time loop that continues with another method, other coordinates or another solve when the kernel stops."""

    #: steps that the next call of the kernel takes at most
    steps_of_a_call = FIRST_CALL
    _seen = np.empty((0, 1))
    _enough: Callable[[float, Array], bool] | None = None
    _most_steps_of_a_call = np.inf
    watcher: Watcher | None = None

    def look_now_and_then(self) -> None:
        """Have the kernel store some unrecorded states: the first after a few steps, then after three times as many
        each time.

        The error of a run with few records is estimated with these states.
        """
        self._seen = np.empty((MOST_LOOKS, 1 + self.system.nq))  # kept alive
        self.table.looks, self.state.next_look = self._seen, FIRST_LOOK

    @property
    def looks(self) -> Array:
        """The states [t | q] (k, 1 + nq) that were stored besides the records."""
        return self._seen[: int(self.state.looked)]

    def end_where(self, enough: Callable[[float, Array], bool], steps: float) -> None:
        """End the run with INACCURATE when ``enough(t, q)`` of a record is True, asked for from step number ``steps``
        on.
        """
        self._enough, self._most_steps_of_a_call = enough, steps

    def advance(self, end: float, bar: Any, *, keep: bool) -> int | None:
        """Run the kernel to ``end`` in calls of about a tenth of a second.

        Returns the index of the switch that stopped it (the events given as ``switches``, then the multipliers
        ``watched``), or None at ``end`` or with a ``status``. The rows of a call that an interrupt ends are those
        whose time is a number.
        """
        self.switched_by = None
        while self.status is None:
            room = self.recorder.room(self.scheme.limits.max_bytes)
            if room is None:
                self.status = Status.STEP_LIMIT
                break
            began = perf_counter()
            known = end
            if self.course is not None and self.time < end:
                known = self.course.extend(self.table, self.state, self.time, end)
            self.state.keep_last = float(keep and known >= end)
            steps = min(self.steps_of_a_call, self._most_steps_of_a_call)
            self.state.pause = self.state.steps + self.state.rejected + steps
            if self.watcher is not None:
                self.watcher.look(self)
                self.state.pause = min(self.state.pause, self.watcher.next_look)
            code, rows = self.run_kernel(known, room)
            seconds = perf_counter() - began
            self._pace(seconds)
            self.recorder.note(rows, seconds)
            if self.solver is not None and self.solver.interrupted:
                raise KeyboardInterrupt
            self.collect()
            interrupts.check()
            if self._enough is not None and self.recorder.filled:
                row = self.recorder.last
                if self._enough(float(row[0]), row[1 : 1 + self.system.nq]):
                    self.status = Status.INACCURATE
                    break
            bar.update(self.time - self.began)
            if code == run.DONE and known >= end:
                return None
            if code == run.EVENT and self.switched_by is not None:
                return self.switched_by
            if code in (run.RUNNING, run.DONE):
                paused = self.state.steps + self.state.rejected >= self.state.pause
                if rows == 0 and code == run.RUNNING and not paused:
                    self.recorder.enlarge()
                self._look_for_creep(end)
            elif code == run.OTHER_METHOD:
                if not self.take_turns():
                    self.state.hints = self.state.doubts = 0.0
            elif (
                (
                    code in _LOST_BY_CONTACTS
                    and self.contact_run is not None
                    and self.contact_run.solve(self.time)
                )
                or (code in _LOST_BY_INERTIA and self._turn_to_null_space())
                or (code in _LOST_BY_JAM and jam(self))
            ):
                continue
            elif self.chart is not None and (
                code == run.RENEW_CHART or (code in _LOST_BY_CHART and self.chart.failed)
            ):
                if self.chart.renew(self.table, self.settings, self.x):
                    if code == run.STEP_TOO_SMALL:
                        self.state.step = self.state.last_step
                else:
                    self.status = Status.COORDINATES_FAILED if self.chart.named else Status(code)
            elif not (code in _LOST_BY_METHOD and self.take_turns()):
                self.status = Status(code)
                weak = self.status is Status.NOT_FINITE and np.isfinite(self.x).all()
                if weak and is_singular_at(self.system, self.q, self.time):
                    self.status = Status.ILL_POSED
                if self.status is Status.ILL_POSED:
                    finite = np.isfinite(self.x).all()
                    self.status = self.system.diagnose(self.x) if finite else Status.NOT_FINITE
                if self.status in _LOST and has_left(self.system, self.x):
                    self.status = Status.RIGID
        return None

    def _pace(self, seconds: float) -> None:
        """Choose how many steps the next call takes, by how long this one took."""
        if seconds < 0.5 * CALL_SECONDS:
            more = min(0.5 * CALL_SECONDS / max(seconds, SHORTEST_CALL), MORE_STEPS_OF_A_CALL)
            self.steps_of_a_call = min(more * self.steps_of_a_call, MOST_STEPS_OF_A_CALL)
        elif seconds > 2.0 * CALL_SECONDS:
            self.steps_of_a_call = max(self.steps_of_a_call // 4.0, 1.0)

    def take_turns(self) -> bool:
        """Switch to the other of the two methods; return False if it cannot step here or has just failed here."""
        stiff, here = self.scheme.stiff, self.time
        if stiff is None or here == self.turned:
            return False
        self.turned = here
        other = self.scheme.method if self.method == stiff else stiff
        try:
            self.install(other)
        except ArgumentError:  # a singular configuration: the explicit method passes it
            self.install(self.scheme.method)
            return self.method == other
        self.state.step = max(self.state.step, RESTARTED_STEP * self.state.shortest)
        self.records.append(EventRecord(f"{other} takes over", here))
        return True

    def _turn_to_null_space(self) -> bool:
        """Have the kernel solve in the null space of A wherever M is nearly singular; return whether M is so at this
        state.
        """
        s, x = self.system, self.x
        if (
            not np.isfinite(x).all()
            or not is_singular_at(s, self.q, self.time)
            or not s.expect_singular_mass()
        ):
            return False
        self.table.whole, self.table.null_space_solve = s.table.whole, s.table.null_space_solve
        self.state.step = max(self.state.step, RESTARTED_STEP * self.state.shortest)
        return True

    def _look_for_creep(self, end: float) -> None:
        """End an adaptive run whose last thousand steps covered almost no time, if the cause is known.

        Known causes: forces push a rigid mechanism whose loops are barely open, or a force jumps (see
        `sarrus.motion.loop.chattering`).
        """
        steps, (time, before) = self.state.steps + self.state.rejected, self.milestone
        if not self.adaptive or steps - before < CREEP_STEPS:
            return
        self.milestone = self.time, steps
        part = (self.time - time) / (end - self.began)
        if part < CREEPING and has_left(self.system, self.x):
            self.status = Status.RIGID
        elif part < HELD_UP and not isinstance(self.law, Law):
            self.jump = jump(self)
            self.status = Status.CHATTERING if self.jump else None
