"""Runs in lanes: fixed steps of LANES runs at once by straight-line code, one run in each lane.

The steps are those of RK4 or, with contacts and stops, of time stepping (`sarrus.kernels.batch.contact_lanes`).

A lane whose constraints come near a singular configuration, or whose straight-line code fails for another reason, is
advanced alone for a stretch of steps by the kernel that decides ranks, and then waits for the other lanes. The result
of a run never depends on the runs beside it.

Number i of lane k is at ``array[LANES * i + k]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.batch.batch import begin, end_of, finish_run, held_inputs, hold_inputs, keep
from sarrus.kernels.batch.contact_lanes import contact_step
from sarrus.kernels.batch.lane_contacts import (
    begin_contacts,
    keep_forces,
    lend_bounds,
    lend_contacts,
    take_contacts,
)
from sarrus.kernels.batch.lane_modes import ASLEEP, AWAKE, DIVIDES, ENDED, LEAVES
from sarrus.kernels.batch.lane_stability import NOT_LOOKED, measure_lanes, note_lane
from sarrus.kernels.batch.tolerances import CLEARANCE_OF_LANES
from sarrus.kernels.contact.rows import forget
from sarrus.kernels.integrate.recording import record
from sarrus.kernels.integrate.stepping import set_control
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.lane_layout import (
    CLEARANCE,
    LARGEST_ENTRY,
    LEAST_PIVOT,
    Lanes,
    contact_lanes_of,
    lanes_of,
    slope_width,
)
from sarrus.kernels.memory.layout import Settings, Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import Run
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal, run_at
from sarrus.kernels.solve.acceleration import are_regular
from sarrus.kernels.solve.tolerances import CLOSED_TO_ROUNDING

W = bl.LANES
# Largest number of Newton corrections of the positions after each step. From the second correction on, a residual of
# rounding is accepted.
CORRECTIONS = 4
# Number of rows of a stretch of a run with contacts that one lane computes alone.
CONTACT_STRETCH = 1


def lanes(table: Table, x: Floats, level: int) -> int:
    """Compute the runs ``first`` … ``last`` − 1 of the batch, LANES at a time; x is a buffer for one state. Returns
    0."""
    todo = table.batch
    first, last = todo.first, todo.last
    while todo.first < last:
        todo.last = min(todo.first + W, last)
        _portion(table, todo, x)
        todo.first += W
    todo.first = first
    return 0


@internal
def _portion(table: Table, todo: BatchTable, x: Floats):
    """Compute the runs ``first`` … ``last`` − 1 of the batch, at most LANES."""
    times, lane, size = todo.times, lanes_of(table, todo), la.input_size(table)
    count, steps = todo.last - todo.first, todo.steps
    _begin_lanes(table, todo, count, lane, x)
    for i in range(W * size):
        lane.after[i] = lane.before[i]
    touching = exists(table.contact_table)
    for step in range(steps):
        if step % bl.LOOK_EVERY == 0 and todo.stop[0] != 0.0:
            return
        time = times.begin + step * times.step
        target = times.end if step == steps - 1 else times.begin + (step + 1) * times.step
        _rouse(lane, step)
        _hold(table, todo, step, lane)
        if not _any_awake(lane):
            continue
        if touching:
            fill(lane.open, 0.0, W)
            contact_step(table, todo, time, target, lane, contact_lanes_of(table, todo))
            _leave(table, todo, step, lane, x)
        else:
            _stages(table, todo, step, time, target, lane, x)
        if not _any_awake(lane):
            continue
        if table.nc > 0 or not touching:  # without loops, time stepping ends with unit quaternions
            _close(table, todo, lane)
        _accept(table, todo, step, lane, x)
    for k in range(count):
        if lane.mode[k] != ENDED:
            state = _state(lane, k)
            state.steps = float(steps)
            _gather(lane, k, size, x)
            _finish(table, todo, k, rs.DONE, _number(todo, steps) + 1, lane, x)


@internal
def _begin_lanes(table: Table, todo: BatchTable, count: int, lane: Lanes, x: Floats):
    """Write the start of each run to its lane; spare lanes repeat the last run and have the mode ENDED."""
    size = la.input_size(table)
    for k in range(W):
        run = todo.first + min(k, count - 1)
        lane.mode[k] = AWAKE if k < count else ENDED
        lane.pivot[k], lane.greatest[k] = -1.0, 0.0
        lane.rise[k] = NOT_LOOKED
        begin(table, todo, _state(lane, k), run, x)
        hold_inputs(table, todo, run, 0, x)
        for i in range(size):
            lane.before[W * i + k] = x[i]
        if k < count and todo.every <= todo.steps:
            if exists(table.contact_table):
                forget(table)  # forces of another run at this time
            _sample(table, todo, run, 0, x)
    if exists(table.contact_table):
        begin_contacts(table, todo, count)


@internal
def _rouse(lane: Lanes, step: int):
    """Set lanes that have waited until this step to AWAKE."""
    for k in range(W):
        if lane.mode[k] == ASLEEP and lane.until[k] <= step:
            lane.mode[k] = AWAKE
            lane.pivot[k] = -1.0
            lane.rise[k] = NOT_LOOKED


@internal
def _any_awake(lane: Lanes):
    """Tell whether any lane is AWAKE."""
    found = False
    for k in range(W):
        found = found or lane.mode[k] == AWAKE
    return found


@internal
def _hold(table: Table, todo: BatchTable, step: int, lane: Lanes):
    """Write the controls held during this step to the lanes that are AWAKE, if controls are given."""
    if not exists(todo.inputs):
        return
    nu, first = table.nu, table.nq + table.nv
    interval = step // todo.steps_held
    for k in range(W):
        if lane.mode[k] == AWAKE:
            run = todo.first + k
            own = held_inputs(table, todo, run, interval)
            for i in range(nu):
                lane.before[W * (first + i) + k] = own[i]


@internal
def _stages(table: Table, todo: BatchTable, step: int, time: float, target: float, lane: Lanes, x: Floats):
    """Compute the four stages and write the unprojected end of the step to ``after``; unclear lanes are advanced
    alone."""
    n, nu = table.nq + table.nv, table.nu
    a, b, c = table.stage_weights, table.end_weights, table.nodes
    settings, h = table.settings, target - time
    _slope(table, todo, lane.before, lane.slopes, lane)
    for k in range(W):
        if lane.mode[k] == AWAKE:
            note_lane(table, h, k, lane, _state(lane, k), x)
    for k in range(W):
        if lane.mode[k] == AWAKE and not (
            _is_clear(settings, lane.slopes + (W * n + k)) and _is_far(settings, lane, n, k)
        ):
            _alone(table, todo, step, k, lane, x)
    for i in range(W * n, W * (n + nu)):
        lane.after[i] = lane.before[i]
    for stage in range(1, 4):
        _combine(table, a + 4 * stage, stage, h, lane)
        for k in range(W):
            lane.after[W * (n + nu) + k] = time + c[stage] * h
        own = lane.slopes + stage * slope_width(table)
        _slope(table, todo, lane.after, own, lane)
        for k in range(W):
            if lane.mode[k] == AWAKE and not _is_clear(settings, own + (W * n + k)):
                _alone(table, todo, step, k, lane, x)
    measure_lanes(table, step, lane)
    _combine(table, b, 4, h, lane)
    for k in range(W):
        lane.after[W * (n + nu) + k] = target


@internal
def _leave(table: Table, todo: BatchTable, step: int, lane: Lanes, x: Floats):
    """Advance the lanes alone that leave, those near singular configurations among them."""
    n = table.nq + table.nv
    if table.nc > 0:
        copy(contact_lanes_of(table, todo).stage + W * n, lane.slopes + W * n, W * la.N_CONDITIONING)
        for k in range(W):
            if lane.mode[k] == AWAKE and not _is_far(table.settings, lane, n, k):
                lane.mode[k] = LEAVES
    for k in range(W):
        if lane.mode[k] == LEAVES or lane.mode[k] == DIVIDES:
            _alone(table, todo, step, k, lane, x)


@internal
def _combine(table: Table, weights: Floats, count: int, h: float, lane: Lanes):
    """Write (q, v) + h Σ weights[j] × slope j to ``after``."""
    n, pitch = table.nq + table.nv, slope_width(table)
    for i in range(W * n):
        lane.after[i] = lane.before[i]
    for j in range(count):
        weight = h * weights[j]
        if weight != 0.0:
            row = lane.slopes + j * pitch
            for i in range(W * n):
                lane.after[i] += weight * row[i]


@internal
def _slope(table: Table, todo: BatchTable, states: Floats, slope: Floats, lane: Lanes):
    """Write (q̇, a, conditioning) at the states to ``slope``, after the control law has set u within its bounds."""
    if todo.control != 0:
        nu, first = table.nu, W * (table.nq + table.nv)
        bounds = table.bounds
        call_native(todo.control, states, lane.answer)
        for i in range(nu):
            for k in range(W):
                states[first + W * i + k] = min(max(lane.answer[W * i + k], bounds[i]), bounds[nu + i])
    call_native(todo.slope, states, slope)


@internal
def _is_clear(settings: Settings, conditioning: Any):
    """Tell whether the rows of a lane are clearly independent, so that straight-line code is accurate."""
    regular = are_regular(settings, conditioning[W * LEAST_PIVOT], conditioning[W * LARGEST_ENTRY])
    return conditioning[W * CLEARANCE] > CLEARANCE_OF_LANES and regular


@internal
def _is_far(settings: Settings, lane: Lanes, n: int, k: int):
    """Tell whether lane k is far from singular configurations, and store its smallest pivot.

    Near them the stages must be projected too; see `sarrus.kernels.integrate.stepping.stages`.
    """
    pivot = np.sqrt(lane.slopes[W * n + W * LEAST_PIVOT + k])
    greatest = max(lane.greatest[k], pivot)
    size, last = pivot / greatest, lane.pivot[k]
    lane.greatest[k], lane.pivot[k] = greatest, size
    return size >= settings.near and not (last >= 0.0 and size < 2.0 * (last - size))


@internal
def _close(table: Table, todo: BatchTable, lane: Lanes):
    """Project positions and velocities on the constraints; ``lane.open`` is the residual, infinite where this fails.

    A lane that has converged is not changed while other lanes are corrected further, so no lane depends on another.
    """
    nq, nv, nh = table.nq, table.nv, table.nh
    tolerance, factors = table.settings.position_tolerance, la.factors_of(table)
    for k in range(W):
        lane.open[k] = np.inf
    for correction in range(CORRECTIONS):
        call_native(todo.closed, lane.after, lane.answer)
        closed = True
        for k in range(W):
            if lane.open[k] < np.inf:
                continue
            gap = wrong = 0.0
            for j in range(nh):
                gap = max(gap, abs(lane.answer[W * j + k]) * factors.rows[j])
            for i in range(nq + nv):
                wrong += 0.0 * lane.answer[W * (nh + i) + k]
            good = wrong == 0.0 and (gap <= tolerance or (correction > 0 and gap <= CLOSED_TO_ROUNDING))
            for i in range(nq + nv if good else nq):
                lane.after[W * i + k] = lane.answer[W * (nh + i) + k]
            lane.open[k] = gap if good else np.inf
            closed = closed and (good or lane.mode[k] != AWAKE)
        if closed:
            break


@internal
def _accept(table: Table, todo: BatchTable, step: int, lane: Lanes, x: Floats):
    """Take the end of the step of all lanes that are AWAKE as their state, and store samples that are due.

    Lanes that are not closed are advanced alone.
    """
    steps, number, whole = todo.steps, table.nq + table.nv + table.nu + 1, True
    due = (step + 1) % todo.every == 0 or (step + 1 == steps and todo.n_samples > 0)
    for k in range(W):
        whole = whole and (lane.mode[k] == ENDED or (lane.mode[k] == AWAKE and lane.open[k] < np.inf))
    if whole:
        copy(lane.after, lane.before, W * number)
        if exists(table.contact_table):
            keep_forces(table, todo, -1)
    for k in range(W if due or not whole else 0):
        if lane.mode[k] != AWAKE:
            continue
        if not lane.open[k] < np.inf:
            _alone(table, todo, step, k, lane, x)
            continue
        if not whole:
            for i in range(number):
                lane.before[W * i + k] = lane.after[W * i + k]
            if exists(table.contact_table):
                keep_forces(table, todo, k)
        if due:
            _sample_end(table, todo, step, k, lane, x)


@internal
def _sample_end(table: Table, todo: BatchTable, step: int, k: int, lane: Lanes, x: Floats):
    """Store the state of lane k, at the end of a step, as a sample."""
    _gather(lane, k, la.input_size(table), x)
    if exists(table.contact_table):
        lend_contacts(table, todo, k, x)
    _sample(table, todo, todo.first + k, _number(todo, step + 1), x)
    found = la.workspace(table).facts.outcome
    if found > la.SINGULAR_ANSWER:
        _state(lane, k).unsound = found


@internal
def _alone(table: Table, todo: BatchTable, step: int, k: int, lane: Lanes, x: Floats):
    """Advance lane k alone through a stretch of steps, by the kernel of single runs."""
    size, clock = la.input_size(table), table.nq + table.nv + table.nu
    times, run, steps = todo.times, todo.first + k, todo.steps
    state = _state(lane, k)
    _gather(lane, k, size, x)
    if exists(table.contact_table):
        lend_contacts(table, todo, k, x)
    interval = step // todo.steps_held if exists(todo.inputs) else 0
    state.end = end_of(todo, times, interval)
    state.keep_last = 1.0 if state.end == times.end else 0.0
    state.start, state.steps, state.every = times.begin, float(step), 1.0
    state.unrecorded, state.last_step = 0.0, 0.0
    done, limit, code = step, bl.STRETCH, rs.RUNNING
    if exists(table.contact_table):
        limit = CONTACT_STRETCH
        table.contact_table.divides = 1 if lane.mode[k] == DIVIDES else 0
    while True:
        table.records = todo.block
        code = _advance(table, todo, state, x, limit)
        if exists(table.contact_table):
            table.contact_table.divides = 0
        for row in range(int(state.filled)):
            done += 1
            if done % todo.every == 0 or done == steps:
                keep(table, todo, run, row, _number(todo, done))
        # A step that passes a singular configuration may end beyond its target: then another step follows.
        ahead = x[clock] - (times.begin + state.steps * times.step)
        if code != rs.RUNNING or abs(ahead) <= SAME_INSTANT * times.step:
            break
        limit = 4
    if code == rs.RUNNING or code == rs.DONE:
        for i in range(size):
            lane.before[W * i + k] = x[i]
        lane.mode[k], lane.until[k] = ASLEEP, state.steps
        if exists(table.contact_table):
            take_contacts(table, todo, k, x)
    else:
        lane.mode[k] = ENDED
        samples = done // todo.every + 1 if todo.every <= steps else 0
        _finish(table, todo, k, code, samples, lane, x)


@internal
def _advance(table: Table, todo: BatchTable, state: Run, x: Floats, limit: int):
    """Call the kernel of single runs with the run state of a lane; return its code."""
    own = table.run
    table.run = state
    code = call_kernel(todo.advance, table, x, limit)
    table.run = own
    return code


@internal
def _finish(table: Table, todo: BatchTable, k: int, code: int, samples: int, lane: Lanes, x: Floats):
    """Store the final state and write the outcome of the run in lane k."""
    own = table.run
    table.run = _state(lane, k)
    if exists(table.contact_table):
        lend_bounds(table, todo, k)
    finish_run(table, todo, todo.first + k, code, samples, x)
    table.run = own


@internal
def _state(lane: Lanes, k: int):
    """Return the run state of lane k."""
    return run_at(lane.states + k * rs.N_STATE)


@internal
def _gather(lane: Lanes, k: int, size: int, x: Floats):
    """Copy the state in lane k to x."""
    for i in range(size):
        x[i] = lane.before[W * i + k]


@internal
def _number(todo: BatchTable, step: int):
    """Return the number of the sample after a step; the end of a run is always a sample."""
    beyond = step == todo.steps and step % todo.every != 0
    return step // todo.every + (1 if beyond else 0)


@internal
def _sample(table: Table, todo: BatchTable, run: int, number: int, x: Floats):
    """Store the state x as a sample of a run, with control, acceleration, multipliers and pivots."""
    work = la.workspace(table)
    table.records, table.run.filled = todo.block, 0.0
    set_control(table, x, work)
    rank = call_kernel(table.acceleration, table, x, la.VERIFIED)
    record(table, x, rank, work)
    keep(table, todo, run, 0, number)
