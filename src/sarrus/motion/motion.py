"""`Motion`: the checked arguments of one simulation, and its runs: for the result, and again for the error estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base import interrupts
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.progress import progress_bar
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.control.sampling import Sampling
from sarrus.dynamics.contacts.contact_elements import event_function_count
from sarrus.dynamics.coordinates.state_chart import RunCoordinates
from sarrus.dynamics.model.joint_limits import sides_beyond, warn_beyond
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.motion.inputs.inputs import Event
from sarrus.motion.inputs.run_options import Recording, RunOptions, Scheme
from sarrus.motion.known_starts import ReadyLoops
from sarrus.motion.loop.integration import Integration
from sarrus.motion.loop.invariant_check import redundancy_at
from sarrus.motion.loop.singularity_watch import SingularityWatch, Watcher
from sarrus.motion.outcome import trajectory_of
from sarrus.motion.past_jumps import advance_past_jumps
from sarrus.motion.records.records import EventRecord
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.switching import Switcher, Switching
from sarrus.motion.tolerances import WHOLE_SAMPLES

if TYPE_CHECKING:
    from sarrus.motion.loop.formulated import Method

_EVERY_STEP = Recording()


@dataclass(frozen=True, eq=False)
class Motion:
    """The checked arguments of `sarrus.simulate`.

    ``system`` has the parameters with which every run begins, and ``force`` compiled into its equations unless it is
    sampled. ``ready`` caches loops at their start, if no other code writes to ``system``. ``beside`` marks a q, v that
    was changed by rounding.
    """

    system: Workspace
    q: ArrayLike
    v: ArrayLike | None
    options: RunOptions
    control: StateFunction | None
    force: StateFunction | None
    sampling: Sampling | None
    coordinates: RunCoordinates | None
    formulation: str | Method | None
    events: Sequence[Event]
    switching: Switching | bool
    watch: SingularityWatch | None = None
    ready: ReadyLoops | None = None
    beside: bool = False

    @property
    def called(self) -> list[tuple[StateFunction, str]]:
        """The Python functions that are called at samples, each with the name of the argument."""
        if self.sampling is None:
            return []
        both = ((self.control, "control"), (self.force, "force"))
        return [(f, what) for f, what in both if f is not None and not isinstance(f, Law)]

    @property
    def holds(self) -> dict[str, Any]:
        """The data of a trajectory about held controls: sample time [s], and to which side of a record they belong."""
        if self.control is None or self.sampling is None:
            return {}
        return {
            "sample_time": float(self.sampling.sample_time),
            "held_controls": 1 if isinstance(self.control, Law) else -1,
        }

    @property
    def is_event_driven(self) -> bool:
        """Return whether contacts with friction, stops or dry friction act in smooth phases between events."""
        in_phases = self.switching is not False and self.options.scheme.method != TIME_STEPPING
        return in_phases and event_function_count(self.system) > 0

    @property
    def follows_from_numbers(self) -> bool:
        """Return whether the motion follows from the system and numbers alone, without functions and switches."""
        functions = (self.control, self.force, self.sampling, self.coordinates, self.formulation)
        acts = any(function is not None for function in functions) or len(self.events) > 0
        return not (
            acts or self.is_event_driven or (self.switching is not False and self.system.equations.contacts)
        )

    def run(self, progress: bool | None, *, again: bool) -> tuple[Trajectory, float, Exception | None, Array]:
        """Return (trajectory, time reached [s], exception of a law or switch that ended the run or None, states [t |
        q]).

        The states are extra ones if few are recorded. The run changes ``system`` unless ``again`` is True.
        """
        loop, switcher = self.begin(copied=again)
        if again and self.ready is None:
            self.system.learn(loop.system)
        if self.watch is not None:
            loop.watcher = Watcher(self.watch, loop.system)
        if loop.contact_run is not None and (beyond := sides_beyond(loop.system, loop.q)):
            loop.records += [EventRecord(f"{text}, and goes no further", loop.time) for text in beyond]
            warn_beyond(self.system.name, beyond, stacklevel=3)
        if loop.options.kept is not None and (told := redundancy_at(loop.system, loop.options.kept, loop.x)):
            loop.records.append(EventRecord(told, loop.time))
        loop.warm_up()
        if switcher is None and loop.time >= self.options.t0:  # else a jump comes first
            loop.stop_where_rigid()
        if again and self.options.recording != _EVERY_STEP:
            loop.look_now_and_then()
        began = perf_counter()
        failure: Exception | None = None
        with progress_bar(self.options.duration, progress) as bar:
            try:
                with interrupts.allowed():
                    failure = self._go(loop, switcher, bar)
            except KeyboardInterrupt:
                loop.status = Status.INTERRUPTED
        trajectory = trajectory_of(loop, perf_counter() - began, failure)
        if self.ready is not None:
            self.ready.steps_of_a_call = loop.steps_of_a_call
        if switcher is not None:
            trajectory = trajectory.revised(switches=tuple(switcher.records))
        return trajectory, loop.time, failure, loop.looks

    def _go(self, loop: Integration, switcher: Switcher | None, bar: Any) -> Exception | None:
        """Run to the end, from sample to sample; return the exception of a law or a switch that ended the run, else
        None.
        """
        due, called = True, self.called
        for end, resample, keep in self._stops():
            try:
                for function, name in called if due else ():
                    loop.sample(function, name)
            except Exception as error:
                loop.status = Status.CONTROL_FAILED
                return error
            try:
                if loop.time == loop.began:
                    loop.find_first_forces()
                advance_past_jumps(loop, switcher, end, bar, keep=keep)
            except SarrusError as error:
                loop.status = Status.SWITCHING_FAILED
                return error
            if loop.status is not None:
                break
            due = resample
        return None

    def repeat(
        self,
        times: Array,
        scheme: Scheme,
        until: tuple[Callable[[float, Array], bool], float] | None = None,
        **others: Any,
    ) -> Array:
        """Return the coordinates at ascending ``times`` of the same motion with another scheme (times, nq).

        Its steps do not depend on the times. ``until``: a function of the time and q of a record that ends the
        repetition, and the number of steps after which it is asked. ``others`` are further fields that differ. NaN from
        the time on at which the repetition ends or fails.
        """
        control = self.control.copy() if isinstance(self.control, Law) else self.control
        options = replace(self.options, scheme=scheme, recording=Recording(at=tuple(times.tolist())))
        passed = [
            replace(event, terminal=False) for event in self.events if scheme.adaptive
        ]  # they end steps
        again = replace(self, options=options, control=control, events=passed, **others)
        with progress_bar(options.duration, False) as bar:
            loop, switcher = again.begin(copied=True)
            loop.passages.pause()
            if until is not None:
                loop.end_where(*until)
            with suppress(SarrusError):
                advance_past_jumps(loop, switcher, float(times[-1]), bar, keep=True)
        close = SAME_INSTANT * float(times[-1] - options.t0)
        return loop.recorder.at(times, close)[:, 1 : 1 + self.system.nq]

    def begin(self, *, copied: bool) -> tuple[Integration, Switcher | None]:
        """Return a time loop at the start and its `Switcher`; ``copied``: on a copy of ``system``, not on ``system``
        itself.
        """
        start = None
        if self.ready is not None:
            start = self.options.scheme, self.options.recording, self.beside
            if (loop := self.ready.copy(start)) is not None:
                return loop, None
        own = self.system.copy() if copied or self.ready is not None else self.system
        if isinstance(self.control, Law):
            self.control.join(own)
        phased = self.is_event_driven
        switcher = Switcher.of(own, self.switching, phased=phased)
        if switcher is not None:
            switcher.prepare(self.options.t0)
        loop = Integration(
            own,
            self.options,
            self.events,
            self.coordinates,
            self.formulation,
            switches=switcher.events if switcher else (),
            watched=switcher.watched if switcher else (),
            phased=phased,
            rest_speed=self.switching.rest_speed if isinstance(self.switching, Switching) else None,
        )
        loop.start(self.q, self.v, self.control, self.sampling)
        if switcher is not None:
            switcher.attach(loop)
        elif self.ready is not None:
            self.ready.note(start, loop)
        return loop, switcher

    def _stops(self) -> list[tuple[float, bool, bool]]:
        """Return the times [s] at which the kernel returns, each with (a sample is due, it is recorded)."""
        t0, duration = self.options.t0, self.options.duration
        end = t0 + duration
        if self.sampling is None or not self.called:  # all in one go
            return [(end, False, True)]
        sample_time = self.sampling.sample_time
        count = int(np.floor(duration / sample_time * (1 + WHOLE_SAMPLES)))
        stops = [(min(t0 + sample_time * k, end), True, False) for k in range(1, count + 1)]
        if end - stops[-1][0] > SAME_INSTANT * duration if stops else True:
            return [*stops, (end, False, True)]
        return [*stops[:-1], (end, True, True)]
