"""Runs of a batch done one by one, as `sarrus.simulate` does a run: for drives whose speed jumps, which is an
impact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.progress import progress_bar
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import batch_layout as bl
from sarrus.motion.inputs.drive_jumps import DriveJumps, may_jump
from sarrus.motion.inputs.run_options import Recording
from sarrus.motion.loop.integration import Integration
from sarrus.motion.many.plan import Group, Plan
from sarrus.motion.many.workers import Batch
from sarrus.motion.outcome import verdict
from sarrus.motion.past_jumps import advance_past_jumps

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


def do_one_by_one(plan: Plan, group: Group, jumps: DriveJumps, update: Callable[[float], None]) -> None:
    """Do the runs of a group one by one and write their samples, reductions and statuses to the batch."""
    for run in range(len(group.todo.states)):
        do_alone(plan, group.todo, run, jumps)
        update(float(run + 1))


def do_alone(plan: Plan, todo: Batch, run: int, jumps: DriveJumps) -> None:
    """Do one run with a record after every step, from which the samples are taken."""
    s, o, x = plan.system.copy(), plan.options, todo.states[run]
    s.parameters.update(dict(zip(s.parameters, x[s.parts.p].tolist())))
    scheme, every = o.scheme, plan.every_step
    if scheme.adaptive:
        scheme = replace(scheme, dt=None if every is None else o.step * every)
    loop = Integration(s, replace(o, scheme=scheme, recording=Recording(1)))
    loop.jumps = jumps
    failure: SarrusError | None = None
    try:
        loop.begin(x.copy(), plan.control.copy() if isinstance(plan.control, Law) else plan.control)
        with progress_bar(o.duration, False) as bar:
            for end, u in _intervals(todo, run):
                if u is not None:
                    loop.x[s.parts.u] = u
                advance_past_jumps(loop, None, end, bar, keep=True)
                if loop.status is not None:
                    break
    except SarrusError as error:
        failure, loop.status = error, Status.SWITCHING_FAILED
    loop.collect()
    status, _ = verdict(loop, failure)
    _note(plan, todo, run, loop, status)


def _intervals(todo: Batch, run: int) -> list[tuple[float, Array | None]]:
    """Return the pairs (end time [s], control (nu,) held until then) of a run; the control is None if there is none."""
    times = todo.times
    if todo.inputs is None:
        return [(float(times.end), None)]
    own = todo.inputs[run]
    ends = [float(times.begin + (k + 1) * times.hold) for k in range(len(own) - 1)]
    return list(zip([*ends, float(times.end)], own))


def _note(plan: Plan, todo: Batch, run: int, loop: Integration, status: Status) -> None:
    """Write the samples, reductions and status of a run to the batch."""
    rows = loop.recorder.all_rows()[:, : todo.samples.shape[2]]
    wanted, close = plan.options.sample_times, SAME_INSTANT * plan.options.step
    last = np.searchsorted(rows[:, 0], wanted + close, side="right") - 1
    found = (last >= 0) & (np.abs(rows[last, 0] - wanted) <= close)
    todo.samples[run, found] = rows[last[found]]
    kept = rows[last[found]] if plan.options.recording.every is not None or loop.adaptive else rows
    for name, fold in todo.folds.items():
        fold[run] = _FOLDS[name](kept)
    state, s = loop.state, plan.system
    reached = loop.time
    if status.ok:
        reached = loop.x[s.parts.t] = plan.options.t0 + plan.options.duration
    todo.states[run] = loop.x
    outcome = todo.outcomes[run]
    outcome[bl.CODE], outcome[bl.REACHED] = status, reached
    outcome[bl.ACCEPTED], outcome[bl.REJECTED] = state.steps, state.rejected
    outcome[bl.SAMPLED] = len(kept)
