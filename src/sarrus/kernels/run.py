"""The simulation loop: steps, error control, projection, events and recording, with no Python per step."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal, run_at
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.passage import enter, follow, is_full
from sarrus.kernels.power import power
from sarrus.kernels.recording import count_wanted, record, record_between, record_passed
from sarrus.kernels.run_state import (
    CONTROL_FAILED,
    DONE,
    EVENT,
    ILL_POSED,
    NOT_FINITE,
    OTHER_METHOD,
    PROJECTION_FAILED,
    RENEW_CHART,
    RUNNING,
    SPLIT_PIVOT,
    STEP_LIMIT,
    STEP_TOO_SMALL,
)
from sarrus.kernels.sampling import is_due, measures, next_sample, take_sample
from sarrus.kernels.stepping import error_norm, finish, set_control, slope, take_step
from sarrus.kernels.stiffness import classical_size, note_stability, note_stiffness, wants_other_method

# Direction of an event that is switched off.
OFF = 2.0
# Rounding of positions of the order of one; and the error estimate, at least, that may be rounding near a singular
# configuration. It grows tenfold with every so many rejections of one step.
ROUNDING = 4e-15
NOISE_LEVEL = 1e-8
PATIENCE = 20.0
# Fixed steps stop this many steps before coordinates fail.
AHEAD = 4.0
# The residuals of the solve are looked at where a run begins and ends, and after every so many steps.
LOOK_EVERY = 8


def advance(table, x, limit):
    """Advance x to the time state.end or until the records are full; return how it ended.

    ``state`` at table[RUN] persists between calls (see `sarrus.kernels.run_state`). Without error estimates the steps
    are state.start + k × state.step; else state.step adapts. The first row of a run is its initial state
    (state.unrecorded = −1). Event modes (n × 2): direction −1, 0 or 1, and whether terminal. Records are wanted after
    every state.every steps, on a grid, or at given times (see `sarrus.kernels.recording`). The event log gets a row
    (index, time) per crossing, state.logged counts them. ``limit`` is the number of rows to write at most.
    """
    state = run_at(flat_at(table[la.RUN]))
    code, rows = _advance(table, x, state, limit)
    state.filled = rows
    return code


@internal
def _advance(table, x, state, room):
    """Do the work of `advance`; returns how it ended and the number of rows written."""
    nq, nv, nu = table[la.NQ], table[la.NV], table[la.NU]
    n = nq + nv
    time = n + nu
    s = table[la.N_STAGES]
    adaptive, n_events = table[la.N_ERRORS] > 0, table[la.N_EVENTS] + table[la.N_WATCHED]
    project, project_every = table[la.PROJECT], table[la.PROJECT_EVERY]
    end, every, between = state.end, state.every, state.between
    rtol, atol, h_max, h_min, exponent = (
        state.relative,
        state.absolute,
        state.longest,
        state.shortest,
        state.power,
    )
    ws = la.workspace(table)
    size_x = la.input_size(table)
    work, settings = flat_at(table[la.WORK]), flat_at(table[la.SETTINGS])
    slopes = flat_at(table[la.WORK] + 8 * ws.size)
    new = flat_at(table[la.WORK] + 8 * (ws.size + (s + 1) * n))
    trial = flat_at(table[la.WORK] + 8 * (ws.size + (s + 1) * n + size_x))
    values = flat_at(table[la.WORK] + 8 * (ws.size + (s + 1) * n + 2 * size_x))
    event_values = flat_at(table[la.VALUES])
    rows = 0

    if x[time] < end and is_due(state, x[time]) and not take_sample(table, x, state, False, work, ws):
        return CONTROL_FAILED, rows
    begins = state.steps == 0.0
    rank = slope(table, x, la.VERIFIED if begins else la.PIVOTS, slopes, 0, work, ws)
    if rank < 0:
        return ILL_POSED, rows
    if begins:
        note_solve(table, state, rank, work, ws)
    size, speed = _approach(work, ws, state)
    if state.unrecorded < 0.0:
        record(table, x, rank, rows, work, ws)
        rows += 1
        state.unrecorded = 0.0
        if n_events:
            _event_values(table, x, event_values, 0, work, ws)
            if not _defined(table, event_values, event_values):
                return NOT_FINITE, rows
    watch = table[la.PASSAGE] != 0
    if watch:
        enter(table, x, size, slopes)
    while (
        x[time] < end
        and rows < room
        and state.logged + n_events <= table[la.LOG_ROOM]
        and not (watch and is_full(table))
    ):
        if state.steps + state.rejected >= state.most_steps:
            return STEP_LIMIT, rows
        t, halt = x[time], next_sample(state, end)
        last = False
        near = project > 0 and (size < settings[la.NEAR] or state.split > 0.0)
        crossing = limited = False
        whole, beside, h_lambda = True, False, 0.0
        if adaptive:
            h = min(state.step, h_max)
            if project > 0 and speed > 0.0 and h * speed > 0.5 * size:
                # The singular configuration is at most 2 h away: go across, with it between two stages, or half
                # way to it.
                arrival = size / speed
                crossing = state.blocked == 0.0
                limited = True
                h = min(arrival / between, h_max) if crossing else 0.5 * arrival
                near = True
            if t + h >= halt - 1e-12 * max(abs(halt), h):
                h, last = halt - t, True
            if h < h_min and not last:
                return STEP_TOO_SMALL, rows
        else:
            target = state.start + (state.steps + 1.0) * state.step
            if target >= halt - 1e-9 * state.step:
                target, last = halt, True
            h = target - t
            near = project > 0 and (near or size < 2.0 * speed * h)
            if near and size < 2.0 * speed * h:
                h, whole, beside = _part(size / speed, h, halt - t, between)
                last = last and whole
            if beside and rows + 2 > room:
                return RUNNING, rows
        wanted = count_wanted(table, state, t, h)
        if wanted > 0 and rows + wanted + 1 > room:
            return RUNNING, rows
        good = take_step(table, adaptive, near, x, h, slopes, new, work, ws)
        if (
            project > 0
            and not near
            and work[ws.facts + la.BEYOND] > SPLIT_PIVOT * work[ws.facts + la.LARGEST]
        ):
            # Redundant rows contradict each other beside the constraints: from now on stages are projected.
            state.split = 1.0
        if adaptive:
            error = error_norm(table, slopes, x, new, h, rtol, atol) if good else np.inf
            tolerance, least = max(rtol, atol), 0.0
            if near and size > 0.0:
                # Rounding of the positions makes the acceleration uncertain by about ε/σ²: ask for no more. What
                # it is exactly depends on the stages, so patience with an attempt wears off.
                least = max(NOISE_LEVEL, 10.0 * tolerance) * power(10.0, state.tries / PATIENCE)
                error /= max(1.0, min(ROUNDING / (size * size), least) / tolerance)
            if crossing and error > 1.0:
                # Across a singular configuration the field on the constraints is smooth, and the estimate falls
                # as the approach comes closer, until rounding of the stages takes over: enough then.
                if good and error >= 0.05 * state.tried_error and error * tolerance < least:
                    error = 1.0
                else:
                    state.rejected += 1.0
                    state.tries += 1.0
                    state.tried_error = error if good else np.inf
                    state.blocked = 1.0
                    continue
            if not error <= 1.0:
                state.rejected += 1.0
                state.tries += 1.0
                shrink = max(0.2, 0.9 * power(error, exponent)) if np.isfinite(error) else 0.2
                state.step = h * shrink
                state.factor = 1.0
                if state.step < h_min:
                    return STEP_TOO_SMALL, rows
                continue
            state.blocked, state.tries = 0.0, 0.0
            if state.threshold > 0.0:
                note_stiffness(table, slopes, h, crossing, state)
            if not near or crossing:
                state.tried_error = np.inf
            growth = 10.0 if error == 0.0 else min(10.0, 0.9 * power(error, exponent))
            proposed = h * min(growth, state.factor)
            if not (last or limited) or growth < 1.0:
                state.step = proposed
            state.factor = 10.0
        elif not good:
            return _lost(table, new), rows
        else:
            h_lambda = classical_size(table, slopes)
        if last:
            new[time] = halt
        else:
            new[time] = target if whole and not adaptive else t + h
        what = project if project_every > 0 and (int(state.steps) + 1) % project_every == 0 else 0
        if not finish(table, new, what):
            if adaptive and h > max(2.0 * h_min, settings[la.SHORTEST_CLOSING]):
                state.rejected += 1.0
                state.step = 0.25 * h
                continue
            for i in range(n):
                if not np.isfinite(new[i]):
                    return NOT_FINITE, rows
            return PROJECTION_FAILED, rows
        stop = False
        if n_events:
            _event_values(table, new, values, 0, work, ws)
            if not _defined(table, values, event_values):
                return NOT_FINITE, rows
            stop = _locate(
                table, near, x, h, slopes, new, trial, work, ws, what,
                state, event_values, values, settings[la.EVENT_TOLERANCE],
            )  # fmt: skip
        written, on_time = record_passed(table, state, near, x, new, h, slopes, trial, work, ws, what, rows)
        if written < 0:
            return PROJECTION_FAILED, rows
        rows += written
        if beside:
            # The step went past its target: the record there comes from a step of its own.
            state.steps += 1.0
            state.unrecorded += 1.0
            if state.unrecorded >= every and not (stop and new[time] < target):
                if not record_between(table, near, x, target, slopes, trial, work, ws, what, rows):
                    return PROJECTION_FAILED, rows
                rows += 1
                state.unrecorded = 0.0
        for i in range(la.input_size(table)):
            x[i] = new[i]
        due = x[time] < end and is_due(state, x[time])
        if due and not measures(table) and not take_sample(table, x, state, False, work, ws):
            return CONTROL_FAILED, rows
        looks = int(state.steps) % LOOK_EVERY == 0 or x[time] >= end
        rank = slope(table, x, la.VERIFIED if looks else la.PIVOTS, slopes, 0, work, ws)
        if looks:
            note_solve(table, state, rank, work, ws)
        state.last_pivot, state.last_step = state.next_pivot, h
        size, speed = _approach(work, ws, state)
        if whole:
            state.steps += 1.0
            state.unrecorded += 1.0
        if rank < 0:
            return ILL_POSED, rows
        if not adaptive:
            note_stability(table, x, slopes, h, h_lambda, state)
        if due and measures(table):
            if not take_sample(table, x, state, True, work, ws):
                return CONTROL_FAILED, rows
            rank = slope(table, x, la.PIVOTS, slopes, 0, work, ws)
        if due and not adaptive:
            _realign(state, x[time])
        if stop or on_time or state.unrecorded >= every or (x[time] >= end and state.keep_last != 0.0):
            record(table, x, rank, rows, work, ws)
            rows += 1
            state.unrecorded = 0.0
        if watch:
            ended = x[time] >= end and state.keep_last != 0.0
            follow(table, x, size, near, what, ended or stop, slopes, trial, work, ws)
        if stop:
            return EVENT, rows
        if table[la.CHART] != 0 and x[time] < end and _worn(flat_at(table[la.CHART]), settings, adaptive):
            return RENEW_CHART, rows
        if state.threshold > 0.0 and x[time] < end and wants_other_method(state):
            return OTHER_METHOD, rows
    return (DONE if x[time] >= end else RUNNING), rows


@internal
def _lost(table, new):
    """Tell how a fixed step failed: at a stage off the constraints, unless something there is no number."""
    if table[la.IMPLICIT] == 0:
        for i in range(table[la.NQ] + table[la.NV]):
            if not np.isfinite(new[i]):
                return NOT_FINITE
        if call_kernel(table[la.ACCELERATION], table, new, la.SLOPE) < 0:
            return NOT_FINITE
    return PROJECTION_FAILED


@internal
def note_solve(table, state, rank, s, ws):
    """Note where two states looked at in a row, neither singular, have no answer whose residuals are met."""
    found = s[ws.facts + la.OUTCOME] if rank == table[la.GENERIC_RANK] else 0.0
    if found != 0.0 and found == state.doubtful:
        state.unsound = found
    state.doubtful = found


@internal
def _realign(state, time):
    """Let the grid of fixed steps begin anew where a sample is not on it."""
    if abs(state.start + state.steps * state.step - time) > 1e-9 * state.step:
        state.start = time - state.steps * state.step


@internal
def _worn(chart, settings, adaptive):
    """Tell whether independent coordinates are poor, or will fail within a few fixed steps like the last one.

    With adaptive steps the error estimate stops before that.
    """
    falling = chart[la.CHART_GAUGE_BEFORE] - chart[la.CHART_GAUGE]
    chart[la.CHART_GAUGE_BEFORE], chart[la.CHART_FAILED] = chart[la.CHART_GAUGE], 0.0
    return chart[la.CHART_GAUGE] < settings[la.CHART_LIMIT] or (
        not adaptive and chart[la.CHART_GAUGE] < AHEAD * falling
    )


@internal
def _part(arrival, h, room, between):
    """Lay a singular configuration ``arrival`` ahead between two stages: (step, it ends at h, it goes past h).

    The acceleration at a distance δ from it is uncertain by about ε/δ², so where there is ``room`` no step
    begins, has a stage or ends close to it; one that would end there goes past its end. ``between`` and
    1 − ``between`` are the middles of two wide gaps between stages.
    """
    late = max(between, 1.0 - between)
    early = 1.0 - late
    fraction = arrival / h
    part = h
    if 0.8 < fraction < 1.2 and arrival / late < 0.999 * room:
        return arrival / late, False, True
    if fraction < early:
        part = arrival / early
    elif fraction < 0.5:
        part = h - (h - arrival) / late
    elif fraction < late:
        part = arrival / late
    elif 0.8 < fraction < 1.0:
        part = h - (h - arrival) / early
    whole = not 1e-3 * h < part < 0.999 * h
    return (h if whole else part), whole, False


@internal
def _approach(s, ws, state):
    """Return the smallest pivot, relative to its largest value in the run, and how fast it falls [1/s]."""
    smallest = s[ws.facts + la.SMALLEST]
    state.largest_pivot = max(state.largest_pivot, smallest)
    if state.largest_pivot == 0.0:
        return 1.0, 0.0
    size = smallest / state.largest_pivot
    speed = (state.last_pivot - size) / state.last_step if state.last_step > 0.0 else 0.0
    state.next_pivot = size
    return size, speed


@internal
def _event_values(table, x, values, first, s, ws):
    """Write the event functions at x, then the multipliers that are watched, from values[first] on."""
    count = table[la.N_EVENTS]
    if count > 0:
        call_native(table[la.EVENTS], x, 0, values, first)
    if table[la.N_WATCHED] > 0:
        set_control(table, x, s, ws)
        call_kernel(table[la.ACCELERATION], table, x, la.ANSWER)
        watched = flat_at(table[la.WATCHED])
        for k in range(table[la.N_WATCHED]):
            values[first + count + k] = s[ws.lam + int(watched[k])]


@internal
def _defined(table, values, kept):
    """Tell whether the event functions are numbers; where one is none, keep the values for who asks."""
    for k in range(table[la.N_EVENTS]):
        if values[k] != values[k]:
            for i in range(table[la.N_EVENTS]):
                kept[i] = values[i]
            return False
    return True


@internal
def _crossing(before, after, direction):
    """Tell whether an event function crosses zero in its direction (−1 falling, 1 rising, 0 both, 2 never)."""
    if direction == OFF:
        return False
    if direction > 0:
        return before < 0.0 <= after
    if direction < 0:
        return before > 0.0 >= after
    return (before < 0.0 <= after) or (before > 0.0 >= after)


@internal
def _locate(table, near, x, h, slopes, new, trial, work, ws, what, state, before, after, tolerance):
    """Find crossings within the step by repeating it with a shorter h (Illinois method), and log them.

    The earliest terminal event shortens the step: its state goes to ``new`` and True is returned. ``after`` has room
    for two more sets of values.
    """
    count = table[la.N_EVENTS] + table[la.N_WATCHED]
    modes, log, values, found = flat_at(table[la.MODES]), flat_at(table[la.LOG]), count, 2 * count
    for i in range(la.input_size(table)):
        trial[i] = new[i]
    clock = table[la.NQ] + table[la.NV] + table[la.NU]
    earliest, stop = h, False
    for k in range(count):
        after[found + k] = np.inf
        if not _crossing(before[k], after[k], modes[2 * k]):
            continue
        low, high, f_low, f_high = 0.0, h, before[k], after[k]
        for _ in range(60):
            if high - low <= tolerance or f_low == f_high:
                break
            middle = low + (high - low) * f_low / (f_low - f_high)
            margin = 1e-3 * (high - low)
            middle = min(max(middle, low + margin), high - margin)
            good = take_step(table, False, near, x, middle, slopes, trial, work, ws)
            if not good or not finish(table, trial, what):
                break
            _event_values(table, trial, after, values, work, ws)
            if _crossing(before[k], after[values + k], modes[2 * k]):
                high, f_high, f_low = middle, after[values + k], 0.5 * f_low
            else:
                low, f_low, f_high = middle, after[values + k], 0.5 * f_high
        after[found + k] = high
        if modes[2 * k + 1] != 0.0 and high <= earliest:
            earliest, stop = high, True
    if stop:
        take_step(table, False, near, x, earliest, slopes, new, work, ws)
        finish(table, new, what)
        _event_values(table, new, after, 0, work, ws)
    for k in range(count):
        before[k] = after[k]
        if after[found + k] <= earliest:
            row = int(state.logged)
            log[2 * row] = k
            log[2 * row + 1] = x[clock] + after[found + k]
            state.logged += 1.0
    return stop
