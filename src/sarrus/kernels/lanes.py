"""Runs side by side: fixed steps of LANES runs at once by straight-line code, one run in each lane.

A lane whose constraints come near a singular configuration, or that straight-line code cannot serve for another reason,
goes on alone for a stretch of steps, by the kernel that decides ranks, and waits there for the others. What a run does
never depends on the runs beside it.

Number i of lane k lies at ``array[LANES * i + k]``.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import batch_layout as bl
from sarrus.kernels import layout as la
from sarrus.kernels import run_state as rs
from sarrus.kernels.batch import begin, end_of, finish_run, held_inputs, keep
from sarrus.kernels.flat import flat_at, integers_at, internal, run_at
from sarrus.kernels.lane_stability import NOT_LOOKED, measure_lanes, note_lane
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.recording import record
from sarrus.kernels.stepping import set_control

W = bl.LANES
# Clearance (squared sine of the angle between a row and those before it) that straight-line code needs: at most two
# digits of the acceleration are lost then.
CLEAR = 0.01
# Newton steps on the positions after each step, at most; from the second one on loops that are open by no more than
# rounding are closed.
CORRECTIONS = 4
ROUNDING = 1e-12
# What a lane is doing.
AWAKE, ASLEEP, ENDED = 0.0, 1.0, 2.0


def lanes(table, x, what):
    """Do the runs FIRST to LAST of the batch, at most LANES of them; x is room for one state. Returns 0."""
    todo = integers_at(table[la.BATCH])
    times = flat_at(todo[bl.TIMES])
    size, n = la.input_size(table), table[la.NQ] + table[la.NV]
    before = flat_at(todo[bl.WORK])
    after = before + W * size
    slopes = after + W * size
    answer = slopes + 4 * W * (n + la.N_GAUGE)
    lane = answer + W * (table[la.NQ] + table[la.NH] + table[la.NV] + table[la.NU])
    count, steps = todo[bl.LAST] - todo[bl.FIRST], todo[bl.STEPS]
    _begin_lanes(table, todo, count, before, lane, x)
    for i in range(W * size):
        after[i] = before[i]
    for step in range(steps):
        time = times[bl.BEGIN] + step * times[bl.STEP]
        target = times[bl.END] if step == steps - 1 else times[bl.BEGIN] + (step + 1) * times[bl.STEP]
        _rouse(lane, step)
        _hold(table, todo, step, before, lane)
        if not _any_awake(lane):
            continue
        _stages(table, todo, step, time, target, before, after, slopes, answer, lane, x)
        if not _any_awake(lane):
            continue
        _close(table, todo, after, answer, lane)
        for k in range(W):
            if lane[W * bl.MODE + k] == AWAKE:
                if lane[W * bl.OPEN + k] < np.inf:
                    _accept(table, todo, step, k, before, after, lane, x)
                else:
                    _alone(table, todo, step, k, before, lane, x)
    for k in range(count):
        if lane[W * bl.MODE + k] != ENDED:
            state = _state(todo, lane, k)
            state.steps = float(steps)
            _gather(before, k, size, x)
            finish_run(table, todo, todo[bl.FIRST] + k, rs.DONE, _number(todo, steps) + 1, state, x)
    return 0


@internal
def _begin_lanes(table, todo, count, before, lane, x):
    """Put each run into its lane; lanes to spare repeat the last one and are asleep for good."""
    size = la.input_size(table)
    for k in range(W):
        run = todo[bl.FIRST] + min(k, count - 1)
        lane[W * bl.MODE + k] = AWAKE if k < count else ENDED
        lane[W * bl.SIZE_OF_PIVOT + k], lane[W * bl.GREATEST_PIVOT + k] = -1.0, 0.0
        lane[W * bl.RISE + k] = NOT_LOOKED
        begin(todo, _state(todo, lane, k), table, run, x)
        for i in range(size):
            before[W * i + k] = x[i]
        if k < count and todo[bl.EVERY] <= todo[bl.STEPS]:
            _sample(table, todo, run, 0, x)


@internal
def _rouse(lane, step):
    """Wake the lanes that have waited until this step."""
    for k in range(W):
        if lane[W * bl.MODE + k] == ASLEEP and lane[W * bl.UNTIL + k] <= step:
            lane[W * bl.MODE + k] = AWAKE
            lane[W * bl.SIZE_OF_PIVOT + k] = -1.0
            lane[W * bl.RISE + k] = NOT_LOOKED


@internal
def _any_awake(lane):
    """Tell whether a lane is awake."""
    found = False
    for k in range(W):
        found = found or lane[W * bl.MODE + k] == AWAKE
    return found


@internal
def _hold(table, todo, step, before, lane):
    """Put the controls that are held during this step into the lanes that are awake, if they are given."""
    if todo[bl.INPUTS] == 0:
        return
    nu, first = table[la.NU], table[la.NQ] + table[la.NV]
    interval = step // todo[bl.STEPS_HELD]
    for k in range(W):
        if lane[W * bl.MODE + k] == AWAKE:
            run = todo[bl.FIRST] + k
            own = held_inputs(table, todo, run, interval)
            for i in range(nu):
                before[W * (first + i) + k] = own[i]


@internal
def _stages(table, todo, step, time, target, before, after, slopes, answer, lane, x):
    """Run the four stages and write the unprojected end to ``after``; what is not clear goes on alone."""
    n, nu = table[la.NQ] + table[la.NV], table[la.NU]
    a, b, c = flat_at(table[la.STAGE_WEIGHTS]), flat_at(table[la.END_WEIGHTS]), flat_at(table[la.NODES])
    settings, pitch, h = flat_at(table[la.SETTINGS]), W * (n + la.N_GAUGE), target - time
    _slope(table, todo, before, slopes, answer)
    for k in range(W):
        if lane[W * bl.MODE + k] == AWAKE:
            note_lane(table, before, slopes, pitch, h, k, lane, _state(todo, lane, k), x)
    for k in range(W):
        if lane[W * bl.MODE + k] == AWAKE and not (
            _is_clear(settings, slopes, W * n + k) and _is_far(settings, lane, slopes, W * n, k)
        ):
            _alone(table, todo, step, k, before, lane, x)
    for i in range(W * n, W * (n + nu)):
        after[i] = before[i]
    for stage in range(1, 4):
        _combine(before, slopes, a, 4 * stage, stage, h, n, pitch, after)
        for k in range(W):
            after[W * (n + nu) + k] = time + c[stage] * h
        own = slopes + stage * pitch
        _slope(table, todo, after, own, answer)
        for k in range(W):
            if lane[W * bl.MODE + k] == AWAKE and not _is_clear(settings, own, W * n + k):
                _alone(table, todo, step, k, before, lane, x)
    measure_lanes(table, slopes, pitch, step, lane)
    _combine(before, slopes, b, 0, 4, h, n, pitch, after)
    for k in range(W):
        after[W * (n + nu) + k] = target


@internal
def _combine(before, slopes, weights, first, count, h, n, pitch, after):
    """Write (q, v) + h Σ weights[first + j] × slope j to ``after``."""
    for i in range(W * n):
        after[i] = before[i]
    for j in range(count):
        weight = h * weights[first + j]
        if weight != 0.0:
            row = slopes + j * pitch
            for i in range(W * n):
                after[i] += weight * row[i]


@internal
def _slope(table, todo, states, slope, answer):
    """Write (q̇, a, gauge) at the states, after the control law has had its say."""
    if todo[bl.CONTROL] != 0:
        nu, first = table[la.NU], W * (table[la.NQ] + table[la.NV])
        bounds = flat_at(table[la.BOUNDS])
        call_native(todo[bl.CONTROL], states, 0, answer, 0)
        for i in range(nu):
            for k in range(W):
                states[first + W * i + k] = min(max(answer[W * i + k], bounds[i]), bounds[nu + i])
    call_native(todo[bl.SLOPE], states, 0, slope, 0)


@internal
def _is_clear(settings, gauge, at):
    """Tell whether the rows are clearly independent, so that straight-line code is exact."""
    least, largest = gauge[at + W * la.LEAST_PIVOT], gauge[at + W * la.LARGEST_ENTRY]
    size = max(largest, settings[la.SCALE_OF_EVEN_ROWS] ** 2)
    cut = max(10.0 * settings[la.SINGULAR_CUT], 1e-5)
    return gauge[at + W * la.CLEARANCE] > CLEAR and least > cut * cut * size


@internal
def _is_far(settings, lane, gauge, at, k):
    """Tell whether a lane is far from singular configurations, and note its smallest pivot.

    Near them the stages are to be projected too; see `sarrus.kernels.stepping.stages`.
    """
    pivot = np.sqrt(gauge[at + W * la.LEAST_PIVOT + k])
    greatest = max(lane[W * bl.GREATEST_PIVOT + k], pivot)
    size, last = pivot / greatest, lane[W * bl.SIZE_OF_PIVOT + k]
    lane[W * bl.GREATEST_PIVOT + k], lane[W * bl.SIZE_OF_PIVOT + k] = greatest, size
    return size >= settings[la.NEAR] and not (last >= 0.0 and size < 2.0 * (last - size))


@internal
def _close(table, todo, after, answer, lane):
    """Project positions and velocities on the constraints; OPEN is infinite where that fails.

    A lane that is closed stays as it is while others are corrected once more: none depends on another.
    """
    nq, nv, nh = table[la.NQ], table[la.NV], table[la.NH]
    settings = flat_at(table[la.SETTINGS])
    tolerance = settings[la.POSITION_TOLERANCE]
    for k in range(W):
        lane[W * bl.OPEN + k] = np.inf
    for correction in range(CORRECTIONS):
        call_native(todo[bl.NEWTON], after, 0, answer, 0)
        for i in range(nq):
            for k in range(W):
                if lane[W * bl.OPEN + k] == np.inf:
                    after[W * i + k] = answer[W * i + k]
        call_native(todo[bl.VELOCITY], after, 0, answer, 0)
        closed = True
        for k in range(W):
            gap = wrong = 0.0
            for j in range(nh):
                gap = max(gap, abs(answer[W * j + k]) * settings[la.FACTORS + j])
            for i in range(nq):
                wrong += 0.0 * after[W * i + k]
            for i in range(nv):
                wrong += 0.0 * answer[W * (nh + i) + k]
            good = wrong == 0.0 and (gap <= tolerance or (correction > 0 and gap <= ROUNDING))
            lane[W * bl.OPEN + k] = gap if good else np.inf
            closed = closed and (good or lane[W * bl.MODE + k] != AWAKE)
        if closed:
            break
    for i in range(W * nv):
        after[W * nq + i] = answer[W * nh + i]


@internal
def _accept(table, todo, step, k, before, after, lane, x):
    """Let a lane go on from the end of its step, and sample it if that is due."""
    size, steps = la.input_size(table), todo[bl.STEPS]
    for i in range(table[la.NQ] + table[la.NV] + table[la.NU] + 1):
        before[W * i + k] = after[W * i + k]
    if (step + 1) % todo[bl.EVERY] == 0 or step + 1 == steps:
        _gather(before, k, size, x)
        _sample(table, todo, todo[bl.FIRST] + k, _number(todo, step + 1), x)
        ws = la.workspace(table)
        found = flat_at(table[la.WORK])[ws.facts + la.OUTCOME]
        if found > la.SINGULAR_ANSWER:
            _state(todo, lane, k).unsound = found


@internal
def _alone(table, todo, step, k, before, lane, x):
    """Have one lane go through a stretch of steps on its own."""
    size, clock = la.input_size(table), table[la.NQ] + table[la.NV] + table[la.NU]
    times, run, steps = flat_at(todo[bl.TIMES]), todo[bl.FIRST] + k, todo[bl.STEPS]
    state = _state(todo, lane, k)
    _gather(before, k, size, x)
    interval = step // todo[bl.STEPS_HELD] if todo[bl.INPUTS] != 0 else 0
    state.end = end_of(todo, times, interval)
    state.keep_last = 1.0 if state.end == times[bl.END] else 0.0
    state.start, state.steps, state.every = times[bl.BEGIN], float(step), 1.0
    state.unrecorded, state.last_step = 0.0, 0.0
    done, limit, code = step, bl.STRETCH, rs.RUNNING
    while True:
        table[la.RECORDS] = todo[bl.BLOCK]
        code = _advance(table, todo, lane, k, x, limit)
        for row in range(int(state.filled)):
            done += 1
            if done % todo[bl.EVERY] == 0 or done == steps:
                keep(table, todo, run, row, _number(todo, done))
        # A step that passes a singular configuration may end beyond its target: then there is one more.
        ahead = x[clock] - (times[bl.BEGIN] + state.steps * times[bl.STEP])
        if code != rs.RUNNING or abs(ahead) <= 1e-9 * times[bl.STEP]:
            break
        limit = 4
    if code == rs.RUNNING or code == rs.DONE:
        for i in range(size):
            before[W * i + k] = x[i]
        lane[W * bl.MODE + k], lane[W * bl.UNTIL + k] = ASLEEP, state.steps
    else:
        lane[W * bl.MODE + k] = ENDED
        samples = done // todo[bl.EVERY] + 1 if todo[bl.EVERY] <= steps else 0
        finish_run(table, todo, run, code, samples, state, x)


@internal
def _advance(table, todo, lane, k, x, limit):
    """Call the kernel of a single run with the state of a lane."""
    own = table[la.RUN]
    table[la.RUN] = todo[bl.WORK] + 8 * (_states(table) + k * rs.N_STATE)
    code = call_kernel(todo[bl.ADVANCE], table, x, limit)
    table[la.RUN] = own
    return code


@internal
def _states(table):
    """Return where the states of the lanes begin in the array at WORK."""
    return bl.lane_storage(table) - W * rs.N_STATE


@internal
def _state(todo, lane, k):
    """Return the state of the run in a lane."""
    return run_at(lane + (W * bl.LANE_FACTS + k * rs.N_STATE))


@internal
def _gather(states, k, size, x):
    """Copy the state in a lane to x."""
    for i in range(size):
        x[i] = states[W * i + k]


@internal
def _number(todo, step):
    """Return the number of the sample after a step; the end of a run is always one."""
    beyond = step == todo[bl.STEPS] and step % todo[bl.EVERY] != 0
    return step // todo[bl.EVERY] + (1 if beyond else 0)


@internal
def _sample(table, todo, run, number, x):
    """Keep the state x as a sample of a run, with control, acceleration, multipliers and pivots."""
    s, ws = flat_at(table[la.WORK]), la.workspace(table)
    table[la.RECORDS] = todo[bl.BLOCK]
    set_control(table, x, s, ws)
    rank = call_kernel(table[la.ACCELERATION], table, x, la.VERIFIED)
    record(table, x, rank, 0, s, ws)
    keep(table, todo, run, 0, number)
