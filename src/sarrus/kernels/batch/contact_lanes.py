"""A step of time stepping with contacts and stops, of `LANES` runs at once (`sarrus.kernels.integrate.time_stepping`).

Each lane has its own contacts, in slots: contacts with friction first, then unilateral rows, in the order of the
table. Straight-line functions find columns, W and forces of all slots at once
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
    load_speeds,
    push_slots,
    pushed_slots,
    wants_motion,
)
from sarrus.kernels.batch.lane_modes import AWAKE, LEAVES
from sarrus.kernels.batch.tolerances import CLEARANCE_OF_LANES, SAME_FRICTION, SHARED_PIVOT
from sarrus.kernels.contact.rows import scale_of
from sarrus.kernels.contact.tolerances import RESIDUAL_AT_ROUNDING, RESIDUAL_OF_SHARED_FORCES
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
    contact_lanes_of,
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
def contact_step(table: Table, todo: BatchTable, time: float, target: float, lane: Lanes):
    """Write the unprojected end of a step of all lanes to ``lane.after``; set lanes that leave to `LEAVES`."""
    nq, nv, nu, h = table.nq, table.nv, table.nu, target - time
    own, size, clock = contact_lanes_of(table, todo), la.input_size(table), nq + nv + nu
    copy(lane.before, own.middle, W * size)
    copy(lane.before, own.trial, W * size)
    for i in range(W * nv):
        own.trial[W * size + i] = 0.5 * h * lane.before[W * nq + i]
    call_native(todo.moved, own.trial, own.middle)
    for k in range(W):
        own.middle[W * clock + k] = time + 0.5 * h
    copy(own.middle, own.probe, W * size)
    load_gaps_of_lanes(table, todo, lane.before, own.gap, own)
    _leave_beyond(table, lane, own)
    own.kept[0], own.known[0] = -1.0, 0.0
    _pass(table, todo, h, False, lane, own)
    copy(own.ahead, own.first, W * nv)
    for i in range(W * nv):
        own.middle[W * nq + i] = 0.5 * (lane.before[W * nq + i] + own.ahead[i])
    chosen = _pass(table, todo, h, True, lane, own)
    for k in range(W):
        if lane.mode[k] == AWAKE and not _is_calm(table, h, k, own):
            lane.mode[k] = LEAVES
    _end(table, todo, h, target, chosen, lane, own)
    for k in range(W):
        wrong = 0.0
        for i in range(nq + nv):
            wrong += 0.0 * lane.after[W * i + k]
        if lane.mode[k] == AWAKE and wrong != 0.0:
            lane.mode[k] = LEAVES


@internal
def _leave_beyond(table: Table, lane: Lanes, own: ContactLanes):
    """Set lanes to `LEAVES` whose coordinates come back from beyond a limit, or whose gaps are small, not closed."""
    contact_table, settings = table.contact_table, table.contact_table.settings
    for s in range(contact_table.stops):
        for k in range(W):
            if lane.mode[k] == AWAKE and own.bounds[W * s + k] != contact_table.given_bounds[s]:
                lane.mode[k] = LEAVES
    for u in range(tl.lasting_contacts(contact_table)):
        scale = scale_of(contact_table, u)
        closed, reach = settings.closed * scale, settings.at_bound * scale
        for k in range(W):
            if lane.mode[k] == AWAKE and closed < own.gap[W * u + k] <= reach:
                lane.mode[k] = LEAVES


@internal
def _is_calm(table: Table, h: float, k: int, own: ContactLanes):
    """Return True if both passes of lane k have about equal velocities at the end of the step."""
    factors, largest, apart = la.factors_of(table).velocities, 0.0, 0.0
    for i in range(table.nv):
        at = W * i + k
        largest = max(largest, factors[i] * (abs(own.ahead[at]) + h * abs(own.stage[at])))
        apart = max(apart, factors[i] * abs(own.ahead[at] - own.first[at]))
    return apart <= CALM_STEP * largest


@internal
def _pass(table: Table, todo: BatchTable, h: float, again: bool, lane: Lanes, own: ContactLanes):
    """Write velocities at the end and the acceleration ``smooth``; return the size of the problem, −1 without one."""
    nq, nv = table.nq, table.nv
    _accelerate(table, todo, lane, own)
    for i in range(W * nv):
        own.free[i] = lane.before[W * nq + i] + h * own.stage[i]
    if not again:
        copy(own.stage, own.smooth, W * nv)
    for i in range(W * nv):
        own.way[i] = own.free[i] - 0.5 * h * own.smooth[i]
    load_speeds(table, todo, own.way, own)
    _begin(table, h, again, own)
    chosen, loaded = -1, False
    for added in range(MOST_ADDED + 1):
        copy(own.free, own.ahead, W * nv)
        if not loaded and wants_motion(table, lane, own):
            call_native(todo.speeds if own.known[0] != 0.0 else todo.motion, own.middle, own.motion)
            loaded, own.known[0] = True, 1.0
        chosen = fill_slots(table, todo, h, again, lane, own)
        if chosen < 0:
            break
        _solve(table, todo, chosen, lane, own)
        copy(own.best, pushed_slots(todo, chosen, own), W * _count(todo, chosen))
        push_slots(table, todo, chosen, own.ahead, own)
        if not _close_more(table, todo, h, lane, own, added == MOST_ADDED):
            break
    copy(own.stage, own.smooth, W * nv)
    rows = W * tl.fixed_rows(table.contact_table)
    fill(own.impulse, 0.0, rows)
    fill(own.coming, 0.0, rows)
    if chosen >= 0:
        lasting_forces(table, todo, h, chosen, own)
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
def _begin(table: Table, h: float, again: bool, own: ContactLanes):
    """Write which contacts and stops are active, and when those that are open close, without contact forces.

    In the second pass those that the impulses of the first pass would close are active, too.
    """
    contact_table = table.contact_table
    for u in range(tl.lasting_contacts(contact_table)):
        closed = contact_table.settings.closed * scale_of(contact_table, u)
        for k in range(W):
            at = W * u + k
            gap, ahead = own.gap[at], own.gap[at] + h * own.rate[at]
            if gap > closed and ahead >= 0.0:  # it stays open, unless the impulses of the first pass close it
                if not (again and own.active[at] == 1.0 and own.ahead_gap[at] >= 0.0):
                    own.active[at] = own.delay[at] = 0.0
            else:
                own.active[at] = 1.0
                own.delay[at] = h * gap / (gap - ahead) if gap > closed else 0.0
            own.ahead_gap[at] = ahead


@internal
def _close_more(table: Table, todo: BatchTable, h: float, lane: Lanes, own: ContactLanes, last: bool):
    """Activate what the impulses close; return False if there is nothing. At the ``last`` trial such lanes leave."""
    contact_table, found = table.contact_table, False
    for i in range(W * table.nv):
        own.shifted[i] = own.way[i] + (own.ahead[i] - own.free[i])
    load_speeds(table, todo, own.shifted, own)
    for u in range(tl.lasting_contacts(contact_table)):
        for k in range(W):
            at = W * u + k
            left = own.gap[at] + h * own.rate[at]
            if left < 0.0 and own.active[at] == 0.0 and lane.mode[k] == AWAKE:
                own.active[at] = 1.0
                own.delay[at] = h * own.gap[at] / (own.gap[at] - left)
                found = True
                if last:
                    lane.mode[k] = LEAVES
    return found and not last


@internal
def _solve(table: Table, todo: BatchTable, chosen: int, lane: Lanes, own: ContactLanes):
    """Write the impulses of all slots to ``own.best``; lanes without a solution leave."""
    contacts, m = todo.slots[2 * chosen], 3 * todo.slots[2 * chosen] + todo.slots[2 * chosen + 1]
    packed, functions = m * (m + 1) // 2, todo.problems + bl.N_PROBLEM * chosen
    call_native(functions[bl.SCALED], own.columns + W * m * table.nv, own.scaled)
    forces, units = own.scaled + W * (packed + m + contacts), own.scaled + W * (packed + 2 * m + contacts)
    for _ in range(SWEEPS):
        call_native(functions[bl.SWEEP], own.scaled, own.answer)
        copy(own.answer, forces, W * m)
    for k in range(W):
        own.residual[k], own.done[k] = np.inf, 0.0
    for _ in range(NEWTON_STEPS + 1):
        call_native(functions[bl.NEWTON], own.scaled, own.answer)
        ready = True
        for k in range(W):
            if own.done[k] != 0.0:
                continue
            left = own.answer[k]
            if left < own.residual[k]:
                own.residual[k] = left
                for i in range(m):
                    own.best[W * i + k] = forces[W * i + k]
            elif own.residual[k] <= RESIDUAL_AT_ROUNDING:
                own.done[k] = 1.0
            if left <= RESIDUAL_OF_SHARED_FORCES:
                own.done[k] = 1.0
            else:
                for i in range(m):
                    forces[W * i + k] = own.answer[W * (1 + i) + k]
            ready = ready and (own.done[k] != 0.0 or lane.mode[k] != AWAKE)
        if ready:
            break
    for k in range(W):
        solved = own.residual[k] <= RESIDUAL_AT_ROUNDING
        if lane.mode[k] == AWAKE and (not solved or _shares_matter(todo, chosen, k, own)):
            lane.mode[k] = LEAVES
    for i in range(W * m):
        own.best[i] *= units[i]


@internal
def _shares_matter(todo: BatchTable, chosen: int, k: int, own: ContactLanes):
    """Return True if the motion of lane k may depend on how redundant contacts share a load.

    That is where normal rows depend on each other, one contact slides, and the friction of another one is another part
    of its normal force, or not known because it has none.
    """
    contacts, m = todo.slots[2 * chosen], 3 * todo.slots[2 * chosen] + todo.slots[2 * chosen + 1]
    packed = m * (m + 1) // 2
    if own.scaled[W * (packed + 3 * m + contacts) + k] > SHARED_PIVOT:
        return False
    mu, r = own.scaled + (W * (packed + m) + k), own.best + k
    found, px, py = False, 0.0, 0.0
    for c in range(contacts):
        head = r[W * 3 * c]
        tx, ty = r[W * (3 * c + 1)], r[W * (3 * c + 2)]
        if head > 0.0 and tx * tx + ty * ty >= (1.0 - SAME_FRICTION) * (mu[W * c] * head) ** 2:
            found, px, py = True, tx / head, ty / head
    if not found:
        return False
    for c in range(contacts):
        head = r[W * 3 * c]
        dx, dy = r[W * (3 * c + 1)] - px * head, r[W * (3 * c + 2)] - py * head
        unloaded = head == 0.0 and own.which[W * 3 * c + k] >= 0.0
        if unloaded or dx * dx + dy * dy > (SAME_FRICTION * head) ** 2:
            return True
    pushed = 0.0
    for row in range(3 * contacts, m):
        pushed = max(pushed, r[W * row])
    return pushed > 0.0


@internal
def _end(
    table: Table, todo: BatchTable, h: float, target: float, chosen: int, lane: Lanes, own: ContactLanes
):
    """Write the states at the end of the step, with positions corrected along the closed contacts."""
    nq, nv, size = table.nq, table.nv, la.input_size(table)
    for i in range(W * nv):
        own.trial[W * size + i] = h * own.ahead[i] - 0.5 * h * h * own.smooth[i]
    if chosen >= 0:
        forces = pushed_slots(todo, chosen, own)
        for s in range(W * _count(todo, chosen)):
            u = int(own.owner[s])
            forces[s] = -own.best[s] * own.delay[W * u + s % W] if u >= 0 else 0.0
        push_slots(table, todo, chosen, own.trial + W * size, own)
    copy(lane.before, lane.after, W * size)
    call_native(todo.moved, own.trial, lane.after)
    copy(own.ahead, lane.after + W * nq, W * nv)
    for k in range(W):
        lane.after[W * (nq + nv + table.nu) + k] = target
    if chosen >= 0:
        for _ in range(POSITION_CORRECTIONS):
            if not _correct(table, todo, chosen, lane, own):
                break


@internal
def _correct(table: Table, todo: BatchTable, chosen: int, lane: Lanes, own: ContactLanes):
    """Close the gaps of contacts with a normal force that do not rebound; return False if all are closed."""
    contact_table, nq, nv, size = table.contact_table, table.nq, table.nv, la.input_size(table)
    contacts, singles = todo.slots[2 * chosen], todo.slots[2 * chosen + 1]
    m, n, wanted = 3 * contacts + singles, contacts + singles, False
    problem = own.columns + W * m * nv
    gaps = problem + W * (m * (m + 1) // 2)
    chosen_slots = gaps + W * n
    load_gaps_of_lanes(table, todo, lane.after, own.after, own)
    fill(gaps, 0.0, 2 * W * n)
    for k in range(W):
        largest = 0.0
        for j in range(n):
            head = W * _head(contacts, j) + k
            u = int(own.owner[head])
            if u >= 0 and own.active[W * u + k] == 1.0 and own.best[head] > 0.0:
                gaps[W * j + k], chosen_slots[W * j + k] = own.after[W * u + k], 1.0
                largest = max(largest, abs(own.after[W * u + k]) / scale_of(contact_table, u))
        own.done[k] = 1.0
        if lane.mode[k] == AWAKE and largest > EXACT_GAP_OF_MODES * contact_table.settings.closed:
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
def _count(todo: BatchTable, chosen: int):
    """Return the number of rows of all slots."""
    return 3 * todo.slots[2 * chosen] + todo.slots[2 * chosen + 1]


@internal
def _head(contacts: int, j: int):
    """Return the normal row of slot j."""
    return 3 * j if j < contacts else 2 * contacts + j
