"""Batch of runs, one after the other, and projection of their starts, without Python in between."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy
from sarrus.kernels.contact.rows import forget
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.memory.batch_layout import BatchTable, Times
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import Run
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal, outcome_at, start_at
from sarrus.kernels.solve.invariants import begin_invariants


def batch(table: Table, x: Floats, level: int) -> int:
    """Compute the runs ``first`` … ``last`` − 1 of the batch; x is a buffer for one state. Returns 0."""
    todo = table.batch
    for run in range(todo.first, todo.last):
        _run(table, todo, run, x)
    return 0


@internal
def _run(table: Table, todo: BatchTable, run: int, x: Floats):
    """Compute one run of the batch and write its samples and its outcome."""
    times, state = todo.times, table.run
    begin(table, todo, state, run, x)
    if exists(table.contact_table):
        forget(table)
    code, sample = rs.DONE, 0
    intervals = max(todo.n_intervals, 1)
    for interval in range(intervals):
        hold_inputs(table, todo, run, interval, x)
        state.end = end_of(todo, times, interval)
        state.keep_last = 1.0 if interval == intervals - 1 else 0.0
        code = rs.RUNNING
        while code == rs.RUNNING and todo.stop[0] == 0.0:
            table.records = todo.block
            state.pause = state.steps + state.rejected + bl.LOOK_EVERY
            code = call_kernel(todo.advance, table, x, todo.room)
            for row in range(int(state.filled)):
                keep(table, todo, run, row, sample)
                sample += 1
        if code != rs.DONE:
            break
    finish_run(table, todo, run, code, sample, x)


@internal
def begin(table: Table, todo: BatchTable, state: Run, run: int, x: Floats):
    """Write the start of a run to x, and initialise its run state, bounds of stops and invariants."""
    template = todo.template
    copy(template, state, rs.N_STATE)
    fetch(table, todo, run, x)
    if exists(table.contact_table):
        exchange_bounds(table, todo, run, False)
    if table.n_invariants > 0:
        begin_invariants(table, x)


@internal
def fetch(table: Table, todo: BatchTable, run: int, x: Floats):
    """Copy the state of a run of the batch to x."""
    size = la.input_size(table)
    own = todo.states + run * size
    copy(own, x, size)


@internal
def exchange_bounds(table: Table, todo: BatchTable, run: int, back: bool):
    """Copy the bounds of a run's stops to the table or, with ``back``, from the table to the run."""
    contact_table = table.contact_table
    own = todo.bounds + run * contact_table.stops
    if back:
        copy(contact_table.bounds, own, contact_table.stops)
    else:
        copy(own, contact_table.bounds, contact_table.stops)


@internal
def store(table: Table, todo: BatchTable, run: int, x: Floats):
    """Copy x to the state of a run of the batch."""
    size = la.input_size(table)
    own = todo.states + run * size
    copy(x, own, size)


@internal
def hold_inputs(table: Table, todo: BatchTable, run: int, interval: int, x: Floats):
    """Write the controls of an interval to x, if controls are given."""
    if not exists(todo.inputs):
        return
    first, own = table.nq + table.nv, held_inputs(table, todo, run, interval)
    copy(own, x + first, table.nu)


@internal
def held_inputs(table: Table, todo: BatchTable, run: int, interval: int):
    """Return the address of the controls (nu,) that a run holds in an interval."""
    return todo.inputs + (run * todo.n_intervals + interval) * table.nu


@internal
def end_of(todo: BatchTable, times: Times, interval: int):
    """Return the end time of an interval of the inputs [s]."""
    if interval >= todo.n_intervals - 1:
        return times.end
    return times.begin + (interval + 1) * times.hold


@internal
def keep(table: Table, todo: BatchTable, run: int, row: int, sample: int):
    """Store a row of the block as a sample of a run, and update the run's least, greatest, sum and sum of squares.

    Samples beyond ``n_samples`` overwrite sample n_samples − 1; nothing is stored where that is 0.
    """
    if todo.n_samples == 0:
        return
    width = bl.record_width(table)
    values = todo.block + row * width
    slot = run * todo.n_samples + min(sample, todo.n_samples - 1)
    kept = todo.samples + slot * width
    copy(values, kept, width)
    offset = run * width
    if exists(todo.least):
        least = todo.least + offset
        for i in range(width):
            least[i] = values[i] if sample == 0 else min(least[i], values[i])
    if exists(todo.greatest):
        greatest = todo.greatest + offset
        for i in range(width):
            greatest[i] = values[i] if sample == 0 else max(greatest[i], values[i])
    if exists(todo.total):
        total = todo.total + offset
        for i in range(width):
            total[i] = values[i] + (0.0 if sample == 0 else total[i])
    if exists(todo.squares):
        squares = todo.squares + offset
        for i in range(width):
            squares[i] = values[i] * values[i] + (0.0 if sample == 0 else squares[i])


@internal
def finish_run(table: Table, todo: BatchTable, run: int, code: int, samples: int, x: Floats):
    """Store the final state of a run and write its outcome; ``table.run`` is its run state."""
    state = table.run
    store(table, todo, run, x)
    if exists(table.contact_table):
        exchange_bounds(table, todo, run, True)
    outcome = outcome_at(todo.outcomes + run * bl.N_OUTCOME)
    unstable = state.unstable_since < np.inf and code in (rs.DONE, rs.NOT_FINITE)
    if unstable:
        outcome.code = float(rs.UNSTABLE_STEP)
    else:
        sound = code != rs.DONE or state.unsound == 0.0
        outcome.code = float(code) if sound else state.unsound
    outcome.reached = x[table.nq + table.nv + table.nu]
    outcome.accepted, outcome.rejected = state.steps, state.rejected
    outcome.sampled = float(samples)


def prepare(table: Table, x: Floats, level: int) -> int:
    """Project the starts of the runs on the constraints and write the checks of each start to its outcome; returns
    0."""
    todo = table.batch
    work = la.workspace(table)
    nh, nc = table.nh, table.nc
    for run in range(todo.first, todo.last):
        fetch(table, todo, run, x)
        start = start_at(todo.outcomes + run * bl.N_OUTCOME)
        gap = slip = 0.0
        if nh > 0:
            call_native(table.position, x, work.native)
            gap = _largest(work.native, nh)
        if nc > 0:
            call_native(table.velocity, x, work.native)
            slip = _largest(work.native, nc)
        start.gap, start.slip = gap, slip
        rank = 0
        if nc > 0:
            rank = call_kernel(table.projection, table, x, la.CONSTRAINTS)
        start.projected = 1.0 if rank >= 0 else 0.0
        call_kernel(table.acceleration, table, x, la.PIVOTS)
        largest = work.facts.largest
        generic = table.generic_rank
        start.smallest = work.facts.smallest / largest if generic > 0 else 1.0
        start.beyond = work.facts.beyond / largest if generic > 0 else work.facts.beyond
        store(table, todo, run, x)
    return 0


@internal
def _largest(values: Floats, count: int):
    """Return the largest |value| of ``count`` values, NaN if one of them is not finite."""
    largest = 0.0
    for i in range(count):
        value = abs(values[i])
        if not value <= largest:
            largest = value
    return largest if np.isfinite(largest) else np.nan
