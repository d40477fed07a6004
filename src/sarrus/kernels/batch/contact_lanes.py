"""A step of time stepping with contacts and stops, of `LANES` runs at once (`sarrus.kernels.integrate.time_stepping`).

Each lane has its own contacts, in slots: contacts with friction first, then unilateral rows, in the order of the
table, then dry friction. Straight-line functions find columns, W and forces of all slots at once
(`sarrus.symbolic.equations.contact_lanes`). A lane leaves for the kernel of single runs if it has more contacts than
slots, if its forces are not found, if M is ill-conditioned, if a row is held by the constraints, if a coordinate
comes back from beyond its limit, or if the velocities of both passes differ by as much as that kernel divides steps
for.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.batch.contact_slots import (
    fill_slots,
    lasting_forces,
    load_gaps_of_lanes,
    load_tolerances,
    push_slots,
    pushed_slots,
    rows_of_slots,
    share_with_stops,
    stop_that_hits,
)
from sarrus.kernels.batch.lane_modes import AWAKE, DIVIDES, LEAVES
from sarrus.kernels.batch.tolerances import CLEARANCE_OF_LANES
from sarrus.kernels.contact.tolerances import RESIDUAL_AT_ROUNDING
from sarrus.kernels.integrate.tolerances import CALM_STEP, EXACT_GAP_OF_MODES, POSITION_CORRECTIONS
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.lane_layout import (
    CLEARANCE,
    LARGEST_ENTRY,
    LEAST_PIVOT,
    ContactLanes,
    Lanes,
)
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.tolerances import ILL_CONDITIONED_MASS
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import are_regular

W = bl.LANES
# Sweeps before Newton's method (three take as many of its steps), and its steps at most.
SWEEPS, NEWTON_STEPS = 1, 8
# So often contacts are added that the forces of others close.
MOST_ADDED = 3


@internal
def contact_step(table: Table, todo: BatchTable, time: float, target: float, lane: Lanes, own: ContactLanes):
    """Write the unprojected end of a step of all lanes to ``lane.after``; set lanes that leave to `LEAVES`."""
    nq, nv, nu, h = table.nq, table.nv, table.nu, target - time
    size, clock = la.input_size(table), nq + nv + nu
    load_tolerances(table, own)
    copy(lane.before, own.middle, W * size)
    copy(lane.before, own.trial, W * size)
    for i in range(W * nv):
        own.trial[W * size + i] = 0.5 * h * own.trial[W * nq + i]
    call_native(todo.moved, own.trial, own.middle)
    fill(own.middle + W * clock, time + 0.5 * h, W)
    fill(own.length, h, W)
    fill(own.again, 0.0, W)
    count = tl.lasting_contacts(table.contact_table)
    call_native(todo.start, own.trial, own.found)
    copy(own.found, own.gap, W * count)
    for k in range(W):
        if lane.mode[k] == AWAKE and own.found[W * count + k] != 0.0:  # it comes back from beyond a limit
            lane.mode[k] = LEAVES
    own.kept[0], own.known[0] = -1.0, 0.0
    _pass(table, todo, h, False, lane, own)
    copy(own.ahead, own.first, W * nv)
    for i in range(W * nv):
        own.middle[W * nq + i] = 0.5 * (own.trial[W * nq + i] + own.ahead[i])
    fill(own.again, 1.0, W)
    chosen = _pass(table, todo, h, True, lane, own)
    largest, apart = own.found + W * (2 * count + 4), own.found + W * (2 * count + 5)  # from `_pass`
    for k in range(W):
        if lane.mode[k] == AWAKE and not apart[k] <= CALM_STEP * largest[k]:
            lane.mode[k] = DIVIDES
    _end(table, todo, h, target, chosen, lane, own)
    fill(own.done, 0.0, W)
    for i in range(nq + nv):
        for k in range(W):
            own.done[k] += 0.0 * lane.after[W * i + k]
    for k in range(W):
        if lane.mode[k] == AWAKE and own.done[k] != 0.0:
            lane.mode[k] = LEAVES


@internal
def _pass(table: Table, todo: BatchTable, h: float, again: bool, lane: Lanes, own: ContactLanes):
    """Write velocities at the end and the acceleration ``smooth``; return the size of the problem, −1 without one."""
    nv, count = table.nv, tl.lasting_contacts(table.contact_table)
    _accelerate(table, todo, lane, own)
    call_native(todo.forecast, own.middle, own.found)
    copy(own.found, own.active, 3 * W * count)
    copy(own.found + 3 * W * count, own.counts, 3 * W)
    copy(own.found + W * (3 * count + 3), own.free, 2 * W * nv)
    chosen, more = -1, True
    for added in range(MOST_ADDED + 1):
        copy(own.free, own.ahead, W * nv)
        chosen = fill_slots(table, todo, h, again, lane, own)
        if chosen >= 0:
            _solve(table, todo, chosen, lane, own)
            share_with_stops(table, h, own)
            copy(own.best, pushed_slots(todo, chosen, own), W * rows_of_slots(todo, chosen))
            push_slots(table, todo, chosen, own.ahead, own)
        if chosen >= 0 or again:
            call_native(todo.more, own.middle, own.found)
        more = chosen >= 0 and _close_more(count, lane, own, added == MOST_ADDED)
        if not more:
            break
    copy(own.stage, own.smooth, W * nv)
    rows = W * tl.fixed_rows(table.contact_table)
    fill(own.impulse, 0.0, rows)
    fill(own.coming, 0.0, rows)
    if chosen >= 0 and lasting_forces(table, todo, h, chosen, own):
        push_slots(table, todo, chosen, own.smooth, own)
    return chosen


@internal
def _accelerate(table: Table, todo: BatchTable, lane: Lanes, own: ContactLanes):
    """Write the accelerations without contacts in the middle, with their factors, to ``own.stage``."""
    nu, first = table.nu, W * (table.nq + table.nv)
    if todo.control != 0:
        bounds = table.bounds
        call_native(todo.control, own.middle, lane.answer)
        for i in range(nu):
            for k in range(W):
                own.middle[first + W * i + k] = min(max(lane.answer[W * i + k], bounds[i]), bounds[nu + i])
    call_native(todo.stage, own.middle, own.stage)
    mass = own.stage + (first + W * la.N_CONDITIONING)
    for k in range(W):
        if lane.mode[k] == AWAKE and not mass[k] <= ILL_CONDITIONED_MASS:
            lane.mode[k] = LEAVES
    if table.nc == 0:
        return
    conditioning = own.stage + first
    for k in range(W):
        regular = are_regular(
            table.settings, conditioning[W * LEAST_PIVOT + k], conditioning[W * LARGEST_ENTRY + k]
        )
        if lane.mode[k] == AWAKE and not (conditioning[W * CLEARANCE + k] > CLEARANCE_OF_LANES and regular):
            lane.mode[k] = LEAVES


@internal
def _close_more(count: int, lane: Lanes, own: ContactLanes, last: bool):
    """Activate what the impulses close; return False if there is nothing. At the ``last`` trial such lanes leave."""
    found = False
    for k in range(W):
        if own.found[W * (2 * count + 3) + k] != 0.0 and lane.mode[k] == AWAKE:
            found = True
            if last:
                lane.mode[k] = LEAVES
    if found:
        copy(own.found, own.active, 2 * W * count)
        copy(own.found + 2 * W * count, own.counts, 3 * W)
    return found and not last


@internal
def _solve(table: Table, todo: BatchTable, chosen: int, lane: Lanes, own: ContactLanes):
    """Write the impulses of all slots to ``own.best``; lanes without a solution leave."""
    contacts, m = todo.slots[2 * chosen], rows_of_slots(todo, chosen)
    packed, functions = m * (m + 1) // 2, todo.problems + bl.N_PROBLEM * chosen
    call_native(functions[bl.SCALED], own.columns + W * m * table.nv, own.scaled)
    problem = own.scaled + W * m
    forces = problem + W * (packed + m + contacts + todo.dry)
    for _ in range(SWEEPS):
        call_native(functions[bl.SWEEP], problem, own.answer)
        copy(own.answer, forces, W * m)
    state = forces + W * m  # best forces, their residual, whether the iteration has ended
    fill(state, 0.0, W * m)
    residual, done = state + W * m, state + W * (m + 1)
    fill(residual, np.inf, W)
    fill(done, 0.0, W)
    for _ in range(NEWTON_STEPS + 1):
        call_native(functions[bl.NEWTON], problem, own.answer)
        copy(own.answer, forces, W * (2 * m + 2))
        ready = True
        for k in range(W):
            ready = ready and (done[k] != 0.0 or lane.mode[k] != AWAKE)
        if ready:
            break
    for i in range(W * m):
        own.best[i] = state[i] * own.scaled[i]
    copy(state, forces, W * m)
    call_native(functions[bl.SHARING], problem, own.answer)
    for k in range(W):
        if lane.mode[k] == AWAKE and (not residual[k] <= RESIDUAL_AT_ROUNDING or own.answer[k] != 0.0):
            lane.mode[k] = LEAVES


@internal
def _end(
    table: Table, todo: BatchTable, h: float, target: float, chosen: int, lane: Lanes, own: ContactLanes
):
    """Write the states at the end of the step, with positions corrected along the closed contacts."""
    nq, nv, size = table.nq, table.nv, la.input_size(table)
    for i in range(W * nv):
        own.trial[W * size + i] = h * own.ahead[i] - 0.5 * h * h * own.smooth[i]
    if chosen >= 0:
        forces, late = pushed_slots(todo, chosen, own), False
        fill(forces, 0.0, W * rows_of_slots(todo, chosen))
        for i in range(int(own.used[1])):
            at, unit = int(own.at[i]), int(own.unit_of[i])
            if i >= int(own.used[0]):
                unit = stop_that_hits(table, i, own)
            if unit >= 0 and own.delay[unit] != 0.0:
                forces[at] = -own.best[at] * own.delay[unit]
                late = True
        if late:
            push_slots(table, todo, chosen, own.trial + W * size, own)
    copy(lane.before, lane.after, W * size)
    call_native(todo.moved, own.trial, lane.after)
    copy(own.ahead, lane.after + W * nq, W * nv)
    fill(lane.after + W * (nq + nv + table.nu), target, W)
    if chosen >= 0:
        for _ in range(POSITION_CORRECTIONS):
            if not _correct(table, todo, chosen, lane, own):
                break


@internal
def _correct(table: Table, todo: BatchTable, chosen: int, lane: Lanes, own: ContactLanes):
    """Close the gaps of contacts with a normal force that do not rebound; return False if all are closed."""
    nq, nv, size = table.nq, table.nv, la.input_size(table)
    contacts, singles = todo.slots[2 * chosen], todo.slots[2 * chosen + 1]
    m, n, wanted = rows_of_slots(todo, chosen), contacts + singles, False
    problem, heads = own.columns + W * m * nv, m - todo.dry
    gaps = problem + W * (heads * (heads + 1) // 2)  # in place of rows of dry friction
    chosen_slots = gaps + W * n
    load_gaps_of_lanes(table, todo, lane.after, own.after, own)
    fill(gaps, 0.0, 2 * W * n)
    fill(own.done, 1.0, W)
    for i in range(int(own.used[0])):
        at, unit = int(own.at[i]), int(own.unit_of[i])
        if own.head[i] == 0.0 or own.active[unit] != 1.0 or not own.best[at] > 0.0:
            continue
        k, s = at % W, at // W
        j = s // 3 if s < 3 * contacts else s - 2 * contacts
        gaps[W * j + k], chosen_slots[W * j + k] = own.after[unit], 1.0
        if abs(own.after[unit]) > EXACT_GAP_OF_MODES * own.closed[unit] and lane.mode[k] == AWAKE:
            own.done[k], wanted = 0.0, True
    if not wanted:
        return False
    call_native(todo.problems[bl.N_PROBLEM * chosen + bl.CLOSING], problem, own.scaled)
    forces = pushed_slots(todo, chosen, own)
    fill(forces, 0.0, W * m)
    for k in range(W):
        wrong = 0.0
        for j in range(n):
            wrong += 0.0 * own.scaled[W * j + k]
        for j in range(n if own.done[k] == 0.0 and wrong == 0.0 else 0):
            forces[W * _head(contacts, j) + k] = own.scaled[W * j + k]
    copy(lane.after, own.trial, W * nq)
    fill(own.trial + W * size, 0.0, W * nv)
    push_slots(table, todo, chosen, own.trial + W * size, own)
    call_native(todo.moved, own.trial, own.place)
    for k in range(W):
        if own.done[k] == 0.0:
            for i in range(nq):
                lane.after[W * i + k] = own.place[W * i + k]
    return True


@internal
def _head(contacts: int, j: int):
    """Return the normal row of slot j."""
    return 3 * j if j < contacts else 2 * contacts + j
