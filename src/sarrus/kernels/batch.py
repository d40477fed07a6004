"""Many runs one after the other, and their starts, with no Python per run."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import batch_layout as bl
from sarrus.kernels import layout as la
from sarrus.kernels import run_state as rs
from sarrus.kernels.flat import flat_at, integers_at, internal, run_at
from sarrus.kernels.native_call import call_kernel, call_native


def batch(table, x, what):
    """Do the runs FIRST to LAST of the batch; x is room for one state. Returns 0."""
    todo = integers_at(table[la.BATCH])
    for run in range(todo[bl.FIRST], todo[bl.LAST]):
        _run(table, todo, run, x)
    return 0


@internal
def _run(table, todo, run, x):
    """Do one run."""
    times, state = flat_at(todo[bl.TIMES]), run_at(flat_at(table[la.RUN]))
    begin(todo, state, table, run, x)
    code, sample = rs.DONE, 0
    intervals = max(todo[bl.N_INTERVALS], 1)
    for interval in range(intervals):
        hold_inputs(table, todo, run, interval, x)
        state.end = end_of(todo, times, interval)
        state.keep_last = 1.0 if interval == intervals - 1 else 0.0
        code = rs.RUNNING
        while code == rs.RUNNING:
            table[la.RECORDS] = todo[bl.BLOCK]
            code = call_kernel(todo[bl.ADVANCE], table, x, todo[bl.ROOM])
            for row in range(int(state.filled)):
                keep(table, todo, run, row, sample)
                sample += 1
        if code != rs.DONE:
            break
    finish_run(table, todo, run, code, sample, state, x)


@internal
def begin(todo, state, table, run, x):
    """Fetch the start of a run, and the energy that it is to keep."""
    template = flat_at(todo[bl.TEMPLATE])
    for i in range(rs.N_STATE):
        state[i] = template[i]
    fetch(table, todo, run, x)
    if todo[bl.KEEP_ENERGY] != 0:
        settings = flat_at(table[la.SETTINGS])
        call_native(table[la.ENERGY], x, 0, settings, la.TARGET_ENERGY)


@internal
def fetch(table, todo, run, x):
    """Copy the state of a run to x."""
    size = la.input_size(table)
    own = flat_at(todo[bl.STATES] + 8 * run * size)
    for i in range(size):
        x[i] = own[i]


@internal
def store(table, todo, run, x):
    """Copy x to the state of a run."""
    size = la.input_size(table)
    own = flat_at(todo[bl.STATES] + 8 * run * size)
    for i in range(size):
        own[i] = x[i]


@internal
def hold_inputs(table, todo, run, interval, x):
    """Put the controls of an interval into x, if they are given."""
    if todo[bl.INPUTS] == 0:
        return
    first, own = table[la.NQ] + table[la.NV], held_inputs(table, todo, run, interval)
    for k in range(table[la.NU]):
        x[first + k] = own[k]


@internal
def held_inputs(table, todo, run, interval):
    """Return the controls that a run holds in an interval."""
    return flat_at(todo[bl.INPUTS] + 8 * (run * todo[bl.N_INTERVALS] + interval) * table[la.NU])


@internal
def end_of(todo, times, interval):
    """Return when an interval of the inputs ends."""
    if interval >= todo[bl.N_INTERVALS] - 1:
        return times[bl.END]
    return times[bl.BEGIN] + (interval + 1) * times[bl.HOLD]


@internal
def keep(table, todo, run, row, sample):
    """Keep a row of the block as a sample of a run, the last one where there is room for one, and fold it."""
    width = bl.record_width(table)
    values = flat_at(todo[bl.BLOCK] + 8 * row * width)
    slot = run * todo[bl.N_SAMPLES] + min(sample, todo[bl.N_SAMPLES] - 1)
    kept = flat_at(todo[bl.SAMPLES] + 8 * slot * width)
    for i in range(width):
        kept[i] = values[i]
    offset = 8 * run * width
    if todo[bl.LEAST] != 0:
        least = flat_at(todo[bl.LEAST] + offset)
        for i in range(width):
            least[i] = values[i] if sample == 0 else min(least[i], values[i])
    if todo[bl.GREATEST] != 0:
        greatest = flat_at(todo[bl.GREATEST] + offset)
        for i in range(width):
            greatest[i] = values[i] if sample == 0 else max(greatest[i], values[i])
    if todo[bl.SUM] != 0:
        total = flat_at(todo[bl.SUM] + offset)
        for i in range(width):
            total[i] = values[i] + (0.0 if sample == 0 else total[i])
    if todo[bl.SQUARES] != 0:
        squares = flat_at(todo[bl.SQUARES] + offset)
        for i in range(width):
            squares[i] = values[i] * values[i] + (0.0 if sample == 0 else squares[i])


@internal
def finish_run(table, todo, run, code, samples, state, x):
    """Note the end of a run."""
    store(table, todo, run, x)
    outcome = flat_at(todo[bl.OUTCOMES] + 8 * run * bl.N_OUTCOME)
    unstable = state.unstable_since < np.inf and code in (rs.DONE, rs.NOT_FINITE)
    if unstable:
        outcome[bl.CODE] = float(rs.UNSTABLE_STEP)
    else:
        sound = code != rs.DONE or state.unsound == 0.0
        outcome[bl.CODE] = float(code) if sound else state.unsound
    outcome[bl.REACHED] = x[table[la.NQ] + table[la.NV] + table[la.NU]]
    outcome[bl.ACCEPTED], outcome[bl.REJECTED] = state.steps, state.rejected
    outcome[bl.SAMPLED] = float(samples)


def prepare(table, x, what):
    """Project the starts of the runs FIRST to LAST on the constraints and tell about each in its outcome; returns 0."""
    todo = integers_at(table[la.BATCH])
    s, ws = flat_at(table[la.WORK]), la.workspace(table)
    nh, nc = table[la.NH], table[la.NC]
    for run in range(todo[bl.FIRST], todo[bl.LAST]):
        fetch(table, todo, run, x)
        outcome = flat_at(todo[bl.OUTCOMES] + 8 * run * bl.N_OUTCOME)
        gap = slip = 0.0
        if nh > 0:
            call_native(table[la.POSITION], x, 0, s, ws.native)
            gap = _largest(s, ws.native, nh)
        if nc > 0:
            call_native(table[la.VELOCITY], x, 0, s, ws.native)
            slip = _largest(s, ws.native, nc)
        outcome[bl.GAP], outcome[bl.SLIP] = gap, slip
        rank = 0
        if nc > 0:
            rank = call_kernel(table[la.PROJECTION], table, x, la.CONSTRAINTS)
        outcome[bl.PROJECTED] = 1.0 if rank >= 0 else 0.0
        call_kernel(table[la.ACCELERATION], table, x, la.PIVOTS)
        largest = s[ws.facts + la.LARGEST]
        generic = table[la.GENERIC_RANK]
        outcome[bl.SMALLEST] = s[ws.facts + la.SMALLEST] / largest if generic > 0 else 1.0
        outcome[bl.BEYOND] = s[ws.facts + la.BEYOND] / largest if generic > 0 else s[ws.facts + la.BEYOND]
        store(table, todo, run, x)
    return 0


@internal
def _largest(s, first, count):
    """Return the largest absolute value; NaN if there is one."""
    largest = 0.0
    for i in range(first, first + count):
        value = abs(s[i])
        if not value <= largest:
            largest = value
    return largest if np.isfinite(largest) else np.nan
