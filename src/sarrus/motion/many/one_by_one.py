"""Runs of a batch done one by one, as `sarrus.simulate` does a run: by events at contacts, and with jumps of drives."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.progress import progress_bar
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.dynamics.contacts.contact_elements import event_function_count
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import batch_layout as bl
from sarrus.motion.accuracy import estimated
from sarrus.motion.inputs.drive_jumps import DriveJumps, may_jump
from sarrus.motion.inputs.run_options import Recording
from sarrus.motion.loop.integration import Integration
from sarrus.motion.many.plan import Group, Plan
from sarrus.motion.many.workers import Batch
from sarrus.motion.motion import Motion
from sarrus.motion.outcome import trajectory_of
from sarrus.motion.past_jumps import advance_past_jumps
from sarrus.motion.switching import Switcher

_FOLDS: dict[str, Callable[[Array], Array]] = {
    "min": lambda rows: rows.min(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "mean": lambda rows: rows.sum(axis=0),
    "rms": lambda rows: (rows**2).sum(axis=0),
}


def find_jumps(plan: Plan, todo: Batch, duration: float | None = None) -> DriveJumps | None:
    """Return the jumps of drives during the runs; None without a jump. A start at a jump is moved to one side of it.

    ``duration`` [s] is the length of time that is searched, by default the duration of the runs.
    """
    s, o = plan.system, plan.options
    if not may_jump(s):
        return None
    first = todo.states[0]
    own = s.copy()
    own.parameters.update(dict(zip(s.parameters, first[s.parts.p].tolist())))
    jumps = DriveJumps.of(own, first[s.parts.q], o.t0, duration or o.duration)
    if not jumps.jumps:
        return None
    for x in todo.states:
        x[s.parts.t] = jumps.beginning(s, x[s.parts.q], x[s.parts.v], o.t0)
    return jumps


def do_one_by_one(
    plan: Plan, group: Group, jumps: DriveJumps | None, update: Callable[[float], None]
) -> None:
    """Do the runs of a group one by one, in the threads of the plan; write their samples, reductions and statuses.

    The first run is done alone, so that what it compiles is there for the threads.
    """
    todo, runs = group.todo, len(group.todo.states)
    numbers, done = count(0), count(1)

    def work(last: int) -> None:
        while not todo.stop[0] and (run := next(numbers)) < runs:
            number = run if group.runs is None else int(group.runs[run])
            do_alone(plan, todo, run, jumps, f"run {number}: ")
            update(float(next(done)))
            if run >= last:
                return

    threads = min(plan.threads, runs - 1)
    work(0 if threads > 1 else runs)
    if threads <= 1:
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for future in [pool.submit(work, runs) for _ in range(threads)]:
                future.result()
        finally:
            todo.stop[0] = 1.0


def do_alone(plan: Plan, todo: Batch, run: int, jumps: DriveJumps | None, what: str = "") -> None:
    """Do one run with a record after every step, from which the samples are taken.

    Its status is that of the same run by `simulate`, with the estimate of its error, but for runs with held controls.

    Raises `ArgumentError`, which begins with ``what``, for a contact that begins deep below its plane.
    """
    s, o, x = plan.system.copy(), plan.options, todo.states[run].copy()
    s.parameters.update(dict(zip(s.parameters, x[s.parts.p].tolist())))
    given = s.copy()  # switches change parameters during the run
    control = plan.control.copy() if isinstance(plan.control, Law) else plan.control
    if isinstance(control, Law) and plan.by_events:
        control.join(s)  # so that the law knows which constraints are closed
    scheme, every = o.scheme, plan.every_step
    if scheme.adaptive:
        scheme = replace(scheme, dt=None if every is None else o.step * every)
    phased = plan.by_events and event_function_count(s) > 0
    switcher = Switcher.of(s, plan.by_events, phased=phased)
    if switcher is not None:
        switcher.prepare(o.t0)
        x[s.parts.p] = list(s.parameters.values())
    loop = Integration(
        s, replace(o, scheme=scheme, recording=Recording(1)),
        switches=switcher.events if switcher else (), watched=switcher.watched if switcher else (), phased=phased,
    )  # fmt: skip
    loop.jumps = jumps
    failure: SarrusError | None = None
    try:
        loop.begin(x, control)
    except SarrusError as error:
        failure, loop.status = error, Status.SWITCHING_FAILED
    if phased and loop.contact_run is not None:
        loop.contact_run.refuse_depth(loop.x, what)
        todo.begun[run] = loop.q
    if switcher is not None:
        switcher.attach(loop)
    try:
        with progress_bar(o.duration, False) as bar:
            for end, u in _intervals(todo, run) if loop.status is None else ():
                if u is not None:
                    loop.x[s.parts.u] = u
                advance_past_jumps(loop, switcher, end, bar, keep=True)
                if loop.status is not None:
                    break
    except SarrusError as error:
        failure, loop.status = error, Status.SWITCHING_FAILED
    begun = todo.states[run].copy()
    found = trajectory_of(loop, 0.0, failure)
    if found.status in (Status.OK, Status.EVENT) and todo.inputs is None:
        motion = Motion(
            system=given, q=begun[s.parts.q], v=begun[s.parts.v], options=replace(o, recording=Recording(1)),
            control=plan.control, force=None, sampling=None, coordinates=None, formulation=None, events=(),
            switching=plan.by_events,
        )  # fmt: skip
        switches = tuple(switcher.records) if switcher is not None else ()
        found = estimated(motion, found.revised(switches=switches), loop.looks)
    _note(plan, todo, run, loop, found.status)


def _intervals(todo: Batch, run: int) -> list[tuple[float, Array | None]]:
    """Return the pairs (end time [s], control (nu,) held until then) of a run; the control is None if there is none."""
    times = todo.times
    if todo.inputs is None:
        return [(float(times.end), None)]
    own = todo.inputs[run]
    ends = [float(times.begin + (k + 1) * times.hold) for k in range(len(own) - 1)]
    return list(zip([*ends, float(times.end)], own))


def _at(rows: Array, times: Array, close: float) -> tuple[np.ndarray, Array]:
    """Return a mask of the times at which there is a record, to within ``close`` [s], and the last record of each."""
    last = np.searchsorted(rows[:, 0], times + close, side="right") - 1
    found = (last >= 0) & (np.abs(rows[last, 0] - times) <= close)
    return found, rows[last[found]]


def _note(plan: Plan, todo: Batch, run: int, loop: Integration, status: Status) -> None:
    """Write the samples, reductions and status of a run to the batch."""
    rows, o = loop.recorder.all_rows()[:, : todo.samples.shape[2]], plan.options
    found, sampled = _at(rows, o.sample_times, SAME_INSTANT * o.step)
    todo.samples[run, found] = kept = sampled
    if (
        o.recording.every is None and not loop.adaptive
    ):  # every step once, and no record of an event between two
        _, kept = _at(
            rows, np.append(o.t0 + o.step * np.arange(o.steps), o.t0 + o.duration), SAME_INSTANT * o.step
        )
    for name, fold in todo.folds.items():
        fold[run] = _FOLDS[name](kept)
    state, s = loop.state, plan.system
    reached = loop.time
    if status.complete:
        reached = loop.x[s.parts.t] = plan.options.t0 + plan.options.duration
    todo.states[run] = loop.x
    outcome = todo.outcomes[run]
    outcome[bl.CODE], outcome[bl.REACHED] = status, reached
    outcome[bl.ACCEPTED], outcome[bl.REJECTED] = state.steps, state.rejected
    outcome[bl.SAMPLED] = len(kept)
