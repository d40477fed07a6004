"""The simulation loop, with no Python per step.

Each round has the step size and the acceptance of the step (`sarrus.kernels.integrate.step_control`), the step and
its projection, events (`sarrus.kernels.integrate.events`), records (`sarrus.kernels.integrate.recording`), and the
acceleration at the end of the step.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, is_finite
from sarrus.kernels.contact.rows import keep
from sarrus.kernels.integrate.events import are_defined, event_values, locate, look_between
from sarrus.kernels.integrate.recording import (
    count_wanted,
    note_look,
    record,
    record_between,
    record_passed,
)
from sarrus.kernels.integrate.sampling import is_due, measures, take_sample
from sarrus.kernels.integrate.singularity_crossing import enter, follow, is_full
from sarrus.kernels.integrate.step_control import AGAIN, GO, Step, adaptive_step, approach, fixed_step, judge
from sarrus.kernels.integrate.stepping import finish, separates, slope, take_step
from sarrus.kernels.integrate.stiffness import classical_size, note_stability, wants_other_method
from sarrus.kernels.integrate.stretches import passes_break
from sarrus.kernels.integrate.tolerances import CHART_AHEAD, CHART_NEARLY, SAME_INSTANT
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import exists, internal
from sarrus.kernels.solve.invariants import changes, note_changes

# [steps] Interval at which fixed steps check the residuals of the acceleration, besides start and end of a run.
LOOK_EVERY = 8


def advance(table: Table, x: Floats, room: int) -> int:
    """Advance x to the time ``end``, or until ``room`` records are written; return an end code of `run_state`.

    ``table.run`` persists between calls (see `sarrus.kernels.memory.run_state`). Without error estimates the steps
    end at start + k × step; otherwise the step size adapts. The first record of a run is its initial state
    (unrecorded = −1). Event modes (n × 2): direction −1, 0 or 1, and whether terminal. Records are written every
    ``every`` steps, on a grid, or at given times (see `sarrus.kernels.integrate.recording`). The event log has a row
    (index, time) for each crossing; ``logged`` is their number. A call also returns after ``pause`` steps. If
    ``table.looks`` exists, sample states are written there. ``filled`` is the number of records written.
    """
    state, work = table.run, la.workspace(table)
    stages, adaptive = la.stages_of(table, work), table.n_errors > 0
    clock, n_events = table.nq + table.nv + table.nu, la.event_count(table)
    state.filled = 0.0
    code, size, speed = _begin(table, x, stages, work)
    if code != GO:
        return code
    while (
        x[clock] < state.end
        and state.filled < room
        and state.steps + state.rejected < state.pause
        and state.logged + n_events <= table.log_room
        and not (exists(table.passage) and is_full(table))
    ):
        if exists(table.looks) and state.steps + state.rejected >= state.next_look:
            note_look(table, x)
        if state.steps + state.rejected >= state.most_steps:
            return rs.STEP_LIMIT
        if state.n_stretches > 0.0 and adaptive and passes_break(table, x):
            code, size, speed = _begin_behind(table, x, stages, work)
            if code != GO:
                return code
            continue
        if adaptive:
            code, step = adaptive_step(table, x, size, speed, stages, work)
        else:
            code, step = fixed_step(table, x, size, speed, room, stages, work)
        if code != GO:
            return code
        wanted = count_wanted(table, x[clock], step.h)
        if wanted > 0 and state.filled + wanted + 1.0 > room:
            return rs.RUNNING
        if table.n_invariants > 0 and changes(table, x, step.h, stages.slopes, work):
            return rs.NOT_INVARIANT
        level = _projected(table)
        code, h_lambda = _attempt(table, x, size, speed, step, level, stages, work)
        if code == AGAIN:
            continue
        if code != GO:
            return code
        code, stop, on_time = _pass(table, x, step, level, stages, work)
        if code == AGAIN:
            continue
        if code != GO:
            return code
        code, rank, size, speed = _arrive(table, x, step, h_lambda, stages, work)
        if code != GO:
            return code
        if table.n_invariants > 0:
            note_changes(table)
        ended = x[clock] >= state.end and state.keep_last != 0.0
        if stop or on_time or state.unrecorded >= state.every or ended:
            record(table, x, rank, work)
            state.unrecorded = 0.0
        if exists(table.passage):
            follow(table, x, size, step.near, level, ended or stop, stages, work)
        if stop:
            return rs.EVENT
        if x[clock] < state.end:
            if exists(table.chart) and _is_poor(table, adaptive):
                return rs.RENEW_CHART
            if state.threshold > 0.0 and wants_other_method(state):
                return rs.OTHER_METHOD
    return rs.DONE if x[clock] >= state.end else rs.RUNNING


@internal
def _begin(table: Table, x: Floats, stages: Stages, work: Workspace):
    """Write the slope at the start of a call, record the start of a run; return GO or an end code, and `approach`."""
    state, time = table.run, x[table.nq + table.nv + table.nu]
    if time < state.end and is_due(state, time) and not take_sample(table, x, False, work):
        return rs.CONTROL_FAILED, 1.0, 0.0
    begins = state.steps == 0.0
    rank = slope(table, x, la.VERIFIED if begins else la.PIVOTS, stages.slopes, 0, work)
    if rank < 0:
        return rs.ILL_POSED, 1.0, 0.0
    if begins:
        _note_solve(table, rank, time, work)
    size, speed = approach(table, work)
    if state.unrecorded < 0.0:
        record(table, x, rank, work)
        state.unrecorded = 0.0
        if la.event_count(table) > 0:
            event_values(table, x, table.values, work)
            if not are_defined(table, table.values, table.values):
                return rs.NOT_FINITE, 1.0, 0.0
    if exists(table.passage):
        enter(table, x, size, stages.slopes)
    return GO, size, speed


@internal
def _begin_behind(table: Table, x: Floats, stages: Stages, work: Workspace):
    """Write the slope after a break of functions of time; return GO or an end code, and the values of `approach`.

    If every step is recorded, the state after the break is, too, so that there is a record on both sides.
    """
    state, fresh = table.run, table.run.unrecorded == 0.0
    if table.project > 0 and not finish(table, x, table.project):
        return rs.PROJECTION_FAILED, 1.0, 0.0
    rank = slope(table, x, la.PIVOTS, stages.slopes, 0, work)
    if rank < 0:
        return rs.ILL_POSED, 1.0, 0.0
    state.last_step = 0.0
    size, speed = approach(table, work)
    if fresh and state.every == 1.0:
        record(table, x, rank, work)
    return GO, size, speed


@internal
def _projected(table: Table):
    """Return the level of the projection at the end of the next step."""
    every = table.project_every
    return table.project if every > 0 and (int(table.run.steps) + 1) % every == 0 else la.NOTHING


@internal
def _attempt(
    table: Table,
    x: Floats,
    size: float,
    speed: float,
    step: Step,
    level: int,
    stages: Stages,
    work: Workspace,
):
    """Write the projected end of a step from x to ``new``; return GO, AGAIN or an end code, and h |λ|.

    h |λ| is 0 with an adaptive method.
    """
    state, new, adaptive, h_lambda = table.run, stages.new, table.n_errors > 0, 0.0
    good = take_step(table, adaptive, step.near, x, step.h, stages.slopes, new, work)
    if table.project > 0 and not step.near and separates(work):
        # Redundant rows are inconsistent off the constraints: from now on stages are projected.
        state.split = 1.0
    if adaptive:
        code = judge(table, x, good, step, size, speed, stages, work)
        if code != GO:
            return code, 0.0
    elif not good:
        return _lost(table, new), 0.0
    else:
        h_lambda = classical_size(table, stages.slopes)
    new[table.nq + table.nv + table.nu] = step.end
    if finish(table, new, level):
        return GO, h_lambda
    if adaptive and step.h > max(2.0 * state.shortest, table.settings.shortest_closing):
        state.rejected += 1.0
        state.step = 0.25 * step.h
        return AGAIN, 0.0
    if not is_finite(new, table.nq + table.nv):
        return rs.NOT_FINITE, 0.0
    return rs.PROJECTION_FAILED, 0.0


@internal
def _lost(table: Table, new: Floats):
    """Return the end code of a failed fixed step: not converged, not finite, or a stage whose projection failed."""
    if exists(table.contact_table) and table.contact_table.failed != 0:
        return rs.NOT_CONVERGED
    if table.implicit == 0:
        if not is_finite(new, table.nq + table.nv):
            return rs.NOT_FINITE
        if call_kernel(table.acceleration, table, new, la.SLOPE) < 0:
            return rs.NOT_FINITE
    return rs.PROJECTION_FAILED


@internal
def _pass(table: Table, x: Floats, step: Step, level: int, stages: Stages, work: Workspace):
    """Log the events within the step and write its records; return a code and two flags.

    The code is GO, AGAIN if the step is to be repeated, or an end code. The flags are whether an event stops the run,
    and whether a record is wanted at ``new``.
    """
    state, stop = table.run, False
    if exists(table.contact_table):
        keep(table, stages.new)
    if la.event_count(table) > 0:
        event_values(table, stages.new, stages.values, work)
        if not are_defined(table, stages.values, table.values):
            return rs.NOT_FINITE, False, False
        known = table.n_event_functions == 0 or look_between(table, x, step.h, stages)
        if (
            not known
            and table.n_errors > 0
            and step.h > max(2.0 * state.shortest, table.settings.shortest_closing)
        ):
            state.rejected += 1.0
            state.step = 0.5 * step.h
            return AGAIN, False, False
        stop, early = locate(table, x, step, level, stages, work)
        if early:
            return AGAIN, False, False
        if stop and exists(table.contact_table):
            keep(table, stages.new)
    good, on_time = record_passed(table, x, step, level, stages, work)
    if not good:
        return rs.PROJECTION_FAILED, False, False
    if step.beside:
        # The step went past its target: the record at the target comes from a separate step.
        state.steps += 1.0
        state.unrecorded += 1.0
        time = stages.new[table.nq + table.nv + table.nu]
        if state.unrecorded >= state.every and not (stop and time < step.target):
            if not record_between(table, x, step, step.target, level, stages, work):
                return rs.PROJECTION_FAILED, False, False
            state.unrecorded = 0.0
    return GO, stop, on_time


@internal
def _arrive(table: Table, x: Floats, step: Step, h_lambda: float, stages: Stages, work: Workspace):
    """Copy ``new`` to x, sample the control law and write the slope; return a code, the rank and `approach`.

    The code is GO or an end code.
    """
    state, adaptive, slopes, clock = (
        table.run,
        table.n_errors > 0,
        stages.slopes,
        table.nq + table.nv + table.nu,
    )
    time = stages.new[clock]
    length = step.h if time == step.end else time - x[clock]
    copy(stages.new, x, la.input_size(table))
    state.before_event = np.inf
    due = time < state.end and is_due(state, time)
    if due and not measures(table) and not take_sample(table, x, False, work):
        return rs.CONTROL_FAILED, 0, 1.0, 0.0
    looks = adaptive or int(state.steps) % LOOK_EVERY == 0 or time >= state.end or state.doubtful != 0.0
    rank = slope(table, x, la.VERIFIED if looks else la.PIVOTS, slopes, 0, work)
    if looks:
        _note_solve(table, rank, time, work)
    state.last_pivot, state.last_step = state.next_pivot, length
    size, speed = approach(table, work)
    if step.whole:
        state.steps += 1.0
        state.unrecorded += 1.0
    if rank < 0:
        return rs.ILL_POSED, rank, size, speed
    if not adaptive:
        note_stability(table, x, slopes, step.h, h_lambda, state)
    if due and measures(table):
        if not take_sample(table, x, True, work):
            return rs.CONTROL_FAILED, rank, size, speed
        rank = slope(table, x, la.PIVOTS, slopes, 0, work)
    if (
        due
        and not adaptive
        and abs(state.start + state.steps * state.step - time) > SAME_INSTANT * state.step
    ):
        state.start = time - state.steps * state.step  # the grid of fixed steps restarts here
    return GO, rank, size, speed


@internal
def _note_solve(table: Table, rank: int, time: float, work: Workspace):
    """Write the outcome of failed residual checks to ``unsound``, if two checked states in a row have it.

    Singular states do not count.
    """
    state = table.run
    found = work.facts.outcome if rank == table.generic_rank else 0.0
    if state.unsound == 0.0:
        if found != 0.0 and found == state.doubtful:
            state.unsound = found
        elif found != 0.0:
            state.doubtful_since = time
    state.doubtful = found


@internal
def _is_poor(table: Table, adaptive: bool):
    """Return True if the independent coordinates are ill-conditioned, or will be within a few fixed steps.

    With adaptive steps the error estimate rejects a step before the coordinates fail.
    """
    chart = table.chart
    falling = chart.conditioning_before - chart.conditioning
    chart.conditioning_before, chart.failed = chart.conditioning, 0.0
    limit = table.settings.chart_limit
    soon = not adaptive and chart.conditioning < CHART_AHEAD * falling
    return chart.conditioning < limit or (
        soon and (table.n_own == 0 or chart.conditioning < CHART_NEARLY * limit)
    )
