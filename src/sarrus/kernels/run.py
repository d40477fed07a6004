"""The simulation loop: steps, error control, projection, events and recording, with no Python per step."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, flat_pointer, internal
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.passage import enter, follow, is_full
from sarrus.kernels.power import power
from sarrus.kernels.recording import count_wanted, record, record_between, record_passed
from sarrus.kernels.run_state import (
    ABSOLUTE,
    BETWEEN,
    BLOCKED,
    CONTROL_FAILED,
    DONE,
    DOUBTFUL,
    END,
    EVENT,
    EVERY,
    FACTOR,
    FILLED,
    ILL_POSED,
    KEEP_LAST,
    LARGEST_PIVOT,
    LAST_PIVOT,
    LAST_STEP,
    LOGGED,
    LONGEST,
    MOST_STEPS,
    NEXT_PIVOT,
    NOT_FINITE,
    OTHER_METHOD,
    POWER,
    PROJECTION_FAILED,
    REJECTED,
    RELATIVE,
    RENEW_CHART,
    RUNNING,
    SHORTEST,
    SPLIT,
    SPLIT_PIVOT,
    START,
    STEP,
    STEP_LIMIT,
    STEP_TOO_SMALL,
    STEPS,
    THRESHOLD,
    TRIED_ERROR,
    TRIES,
    UNRECORDED,
    UNSOUND,
)  # fmt: skip
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


def advance(table_pointer, x_pointer, limit):
    """Advance x to the time state[END] or until the records are full; return how it ended.

    ``state`` at table[RUN] persists between calls (see `sarrus.kernels.run_state`). Without error estimates the steps
    are state[START] + k × state[STEP]; else state[STEP] adapts. The first row of a run is its initial state
    (state[UNRECORDED] = −1). Event modes (n × 2): direction −1, 0 or 1, and whether terminal. Records are wanted after
    every state[EVERY] steps, on a grid, or at given times (see `sarrus.kernels.recording`). The event log gets a row
    (index, time) per crossing, state[LOGGED] counts them. ``limit`` is the number of rows to write at most.
    """
    table, x = flat_pointer(table_pointer), flat_pointer(x_pointer)
    state = flat_at(table[la.RUN])
    code, rows = _advance(table, x, state, limit)
    state[FILLED] = rows
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
    end, every, between = state[END], state[EVERY], state[BETWEEN]
    rtol, atol, h_max, h_min, exponent = (
        state[RELATIVE],
        state[ABSOLUTE],
        state[LONGEST],
        state[SHORTEST],
        state[POWER],
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
    begins = state[STEPS] == 0.0
    rank = slope(table, x, la.VERIFIED if begins else la.PIVOTS, slopes, 0, work, ws)
    if rank < 0:
        return ILL_POSED, rows
    if begins:
        note_solve(table, state, rank, work, ws)
    size, speed = _approach(work, ws, state)
    if state[UNRECORDED] < 0.0:
        record(table, x, rank, rows, work, ws)
        rows += 1
        state[UNRECORDED] = 0.0
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
        and state[LOGGED] + n_events <= table[la.LOG_ROOM]
        and not (watch and is_full(table))
    ):
        if state[STEPS] + state[REJECTED] >= state[MOST_STEPS]:
            return STEP_LIMIT, rows
        t, halt = x[time], next_sample(state, end)
        last = False
        near = project > 0 and (size < settings[la.NEAR] or state[SPLIT] > 0.0)
        crossing = limited = False
        whole, beside, h_lambda = True, False, 0.0
        if adaptive:
            h = min(state[STEP], h_max)
            if project > 0 and speed > 0.0 and h * speed > 0.5 * size:
                # The singular configuration is at most 2 h away: go across, with it between two stages, or half
                # way to it.
                arrival = size / speed
                crossing = state[BLOCKED] == 0.0
                limited = True
                h = min(arrival / between, h_max) if crossing else 0.5 * arrival
                near = True
            if t + h >= halt - 1e-12 * max(abs(halt), h):
                h, last = halt - t, True
            if h < h_min and not last:
                return STEP_TOO_SMALL, rows
        else:
            target = state[START] + (state[STEPS] + 1.0) * state[STEP]
            if target >= halt - 1e-9 * state[STEP]:
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
            state[SPLIT] = 1.0
        if adaptive:
            error = error_norm(table, slopes, x, new, h, rtol, atol) if good else np.inf
            tolerance, least = max(rtol, atol), 0.0
            if near and size > 0.0:
                # Rounding of the positions makes the acceleration uncertain by about ε/σ²: ask for no more. What
                # it is exactly depends on the stages, so patience with an attempt wears off.
                least = max(NOISE_LEVEL, 10.0 * tolerance) * power(10.0, state[TRIES] / PATIENCE)
                error /= max(1.0, min(ROUNDING / (size * size), least) / tolerance)
            if crossing and error > 1.0:
                # Across a singular configuration the field on the constraints is smooth, and the estimate falls
                # as the approach comes closer, until rounding of the stages takes over: enough then.
                if good and error >= 0.05 * state[TRIED_ERROR] and error * tolerance < least:
                    error = 1.0
                else:
                    state[REJECTED] += 1.0
                    state[TRIES] += 1.0
                    state[TRIED_ERROR] = error if good else np.inf
                    state[BLOCKED] = 1.0
                    continue
            if not error <= 1.0:
                state[REJECTED] += 1.0
                state[TRIES] += 1.0
                shrink = max(0.2, 0.9 * power(error, exponent)) if np.isfinite(error) else 0.2
                state[STEP] = h * shrink
                state[FACTOR] = 1.0
                if state[STEP] < h_min:
                    return STEP_TOO_SMALL, rows
                continue
            state[BLOCKED], state[TRIES] = 0.0, 0.0
            if state[THRESHOLD] > 0.0:
                note_stiffness(table, slopes, h, crossing, state)
            if not near or crossing:
                state[TRIED_ERROR] = np.inf
            growth = 10.0 if error == 0.0 else min(10.0, 0.9 * power(error, exponent))
            proposed = h * min(growth, state[FACTOR])
            if not (last or limited) or growth < 1.0:
                state[STEP] = proposed
            state[FACTOR] = 10.0
        elif not good:
            return _lost(table, new), rows
        else:
            h_lambda = classical_size(table, slopes)
        if last:
            new[time] = halt
        else:
            new[time] = target if whole and not adaptive else t + h
        what = project if project_every > 0 and (int(state[STEPS]) + 1) % project_every == 0 else 0
        if not finish(table, new, what):
            if adaptive and h > max(2.0 * h_min, settings[la.SHORTEST_CLOSING]):
                state[REJECTED] += 1.0
                state[STEP] = 0.25 * h
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
            state[STEPS] += 1.0
            state[UNRECORDED] += 1.0
            if state[UNRECORDED] >= every and not (stop and new[time] < target):
                if not record_between(table, near, x, target, slopes, trial, work, ws, what, rows):
                    return PROJECTION_FAILED, rows
                rows += 1
                state[UNRECORDED] = 0.0
        for i in range(la.input_size(table)):
            x[i] = new[i]
        due = x[time] < end and is_due(state, x[time])
        if due and not measures(table) and not take_sample(table, x, state, False, work, ws):
            return CONTROL_FAILED, rows
        looks = int(state[STEPS]) % LOOK_EVERY == 0 or x[time] >= end
        rank = slope(table, x, la.VERIFIED if looks else la.PIVOTS, slopes, 0, work, ws)
        if looks:
            note_solve(table, state, rank, work, ws)
        state[LAST_PIVOT], state[LAST_STEP] = state[NEXT_PIVOT], h
        size, speed = _approach(work, ws, state)
        if whole:
            state[STEPS] += 1.0
            state[UNRECORDED] += 1.0
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
        if stop or on_time or state[UNRECORDED] >= every or (x[time] >= end and state[KEEP_LAST] != 0.0):
            record(table, x, rank, rows, work, ws)
            rows += 1
            state[UNRECORDED] = 0.0
        if watch:
            ended = x[time] >= end and state[KEEP_LAST] != 0.0
            follow(table, x, size, near, what, ended or stop, slopes, trial, work, ws)
        if stop:
            return EVENT, rows
        if table[la.CHART] != 0 and x[time] < end and _worn(flat_at(table[la.CHART]), settings, adaptive):
            return RENEW_CHART, rows
        if state[THRESHOLD] > 0.0 and x[time] < end and wants_other_method(state):
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
    if found != 0.0 and found == state[DOUBTFUL]:
        state[UNSOUND] = found
    state[DOUBTFUL] = found


@internal
def _realign(state, time):
    """Let the grid of fixed steps begin anew where a sample is not on it."""
    if abs(state[START] + state[STEPS] * state[STEP] - time) > 1e-9 * state[STEP]:
        state[START] = time - state[STEPS] * state[STEP]


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
    state[LARGEST_PIVOT] = max(state[LARGEST_PIVOT], smallest)
    if state[LARGEST_PIVOT] == 0.0:
        return 1.0, 0.0
    size = smallest / state[LARGEST_PIVOT]
    speed = (state[LAST_PIVOT] - size) / state[LAST_STEP] if state[LAST_STEP] > 0.0 else 0.0
    state[NEXT_PIVOT] = size
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
            row = int(state[LOGGED])
            log[2 * row] = k
            log[2 * row + 1] = x[clock] + after[found + k]
            state[LOGGED] += 1.0
    return stop
