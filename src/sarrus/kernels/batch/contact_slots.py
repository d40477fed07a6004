"""Slots of the contact problems of all lanes: rows, columns, velocities and start, and sums over their forces."""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import fill
from sarrus.kernels.batch.lane_modes import AWAKE, LEAVES
from sarrus.kernels.batch.tolerances import HELD_IN_LANES
from sarrus.kernels.contact.rows import rest_speed_of, scale_of
from sarrus.kernels.integrate.tolerances import STANDING_SPEED
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.lane_layout import ContactLanes, Lanes
from sarrus.kernels.memory.layout import N_CONDITIONING, Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal

W = bl.LANES


@internal
def load_gaps_of_lanes(table: Table, todo: BatchTable, states: Floats, out: Floats, own: ContactLanes):
    """Write the gaps of contacts and stops at the states to ``out``."""
    contact_table = table.contact_table
    if contact_table.contacts > 0:
        call_native(todo.gaps, states, out)
    for s in range(contact_table.stops):
        place, sign = states + W * contact_table.coordinates[s], contact_table.signs[s]
        gap, bound = out + W * (contact_table.contacts + s), own.bounds + W * s
        for k in range(W):
            gap[k] = sign * (place[k] - bound[k])


@internal
def load_speeds(table: Table, todo: BatchTable, velocity: Floats, own: ContactLanes):
    """Write the rates of all gaps in the middle of the step, with the generalized ``velocity``, to ``own.rate``."""
    contact_table, first = table.contact_table, W * table.nq
    if contact_table.contacts > 0:
        for i in range(W * table.nv):
            own.probe[first + i] = velocity[i]
        call_native(todo.rates, own.probe, own.rate)
    for s in range(contact_table.stops):
        speed, sign = velocity + W * contact_table.speeds[s], contact_table.signs[s]
        rate = own.rate + W * (contact_table.contacts + s)
        for k in range(W):
            rate[k] = sign * speed[k]


@internal
def wants_motion(table: Table, lane: Lanes, own: ContactLanes):
    """Return True if a contact with a plane is active in a lane that is AWAKE."""
    for u in range(table.contact_table.contacts):
        for k in range(W):
            if own.active[W * u + k] != 0.0 and lane.mode[k] == AWAKE:
                return True
    return False


@internal
def fill_slots(table: Table, todo: BatchTable, h: float, again: bool, lane: Lanes, own: ContactLanes):
    """Write the contact problems of all lanes; return their size, −1 if nothing is active.

    Lanes with more contacts than slots leave, and lanes whose rows the constraints hold.
    """
    chosen = _choose(table, todo, lane, own)
    if chosen < 0:
        return -1
    contacts, singles = todo.slots[2 * chosen], todo.slots[2 * chosen + 1]
    m = 3 * contacts + singles
    _take_slots(table, contacts, m, lane, own)
    same = own.kept[0] == chosen
    for s in range(W * m):
        same = same and own.used[s] == own.which[s]
    problem = own.columns + W * m * table.nv
    diagonal = problem
    if not same:
        for s in range(W * m):
            own.used[s] = own.which[s]
        own.kept[0] = float(chosen)
        _load_rows(table, m, own)
        factors = own.stage + W * (table.nv + table.nq + N_CONDITIONING + 1)
        call_native(todo.problems[bl.N_PROBLEM * chosen + bl.COLUMNS], factors, own.columns)
        if table.nc > 0:
            _leave_held(table, m, diagonal, lane, own)
    given = problem + W * (m * (m + 1) // 2)
    product = todo.problems[bl.N_PROBLEM * chosen + bl.PRODUCTS]
    _load_velocities(table, product, h, again, contacts, m, given, own)
    return chosen


@internal
def _choose(table: Table, todo: BatchTable, lane: Lanes, own: ContactLanes):
    """Return the number of the smallest size of problem that has slots for all lanes, −1 if nothing is active."""
    contact_table, wide, single = table.contact_table, 0, 0
    fill(own.counts, 0.0, 2 * W)
    for u in range(tl.lasting_contacts(contact_table)):
        counts, active, seen = own.counts + (W if contact_table.sizes[u] == 1 else 0), own.active + W * u, 0.0
        for k in range(W):
            seen += active[k]
        if seen != 0.0:
            for k in range(W):
                if active[k] != 0.0:
                    counts[k] += 1.0
    for k in range(W):
        contacts, singles = int(own.counts[k]), int(own.counts[W + k])
        if lane.mode[k] == AWAKE:
            if contacts > todo.most_contacts or singles > todo.most_single:
                lane.mode[k] = LEAVES
            else:
                wide, single = max(wide, contacts), max(single, singles)
    if wide + single == 0:
        return -1
    for chosen in range(todo.n_sizes):
        if todo.slots[2 * chosen] >= wide and todo.slots[2 * chosen + 1] >= single:
            return chosen
    return todo.n_sizes - 1


@internal
def _take_slots(table: Table, contacts: int, m: int, lane: Lanes, own: ContactLanes):
    """Write the row and the contact or stop of each slot; −1 if it is not used."""
    contact_table = table.contact_table
    fill(own.which, -1.0, W * m)
    fill(own.owner, -1.0, W * m)
    for k in range(W):
        own.counts[k], own.counts[W + k] = 0.0, 3.0 * contacts
    for u in range(tl.lasting_contacts(contact_table)):
        first, n, active, seen = contact_table.first_rows[u], contact_table.sizes[u], own.active + W * u, 0.0
        taken = own.counts + (W if n == 1 else 0)
        for k in range(W):
            seen += active[k]
        if seen == 0.0:
            continue
        for k in range(W):
            if active[k] != 0.0 and lane.mode[k] == AWAKE:
                at = int(taken[k])
                taken[k] += float(n)
                for j in range(n):
                    own.which[W * (at + j) + k] = float(first + j)
                    own.owner[W * (at + j) + k] = float(u)


@internal
def _load_rows(table: Table, m: int, own: ContactLanes):
    """Write the rows J of all slots, zeros in slots that are not used."""
    contact_table, nv = table.contact_table, table.nv
    rows = own.motion + 2 * W * contact_table.contact_rows
    fill(own.rows, 0.0, W * m * nv)
    for s in range(m):
        out = own.rows + W * s * nv
        for k in range(W):
            row = int(own.which[W * s + k])
            if row < 0:
                continue
            if row < contact_table.contact_rows:
                source = rows + W * row * nv + k
                for i in range(nv):
                    out[W * i + k] = source[W * i]
            else:
                stop = row - contact_table.contact_rows
                out[W * contact_table.speeds[stop] + k] = contact_table.signs[stop]


@internal
def _leave_held(table: Table, m: int, diagonal: Floats, lane: Lanes, own: ContactLanes):
    """Set lanes to `LEAVES` in which the constraints nearly hold a row: its W is small beside that without loops."""
    contact_table, nv = table.contact_table, table.nv
    for s in range(m):
        for k in range(W):
            if lane.mode[k] != AWAKE or own.which[W * s + k] < 0.0:
                continue
            free = 0.0
            for i in range(nv):
                free += own.rows[W * (s * nv + i) + k] ** 2 * contact_table.lightness[i]
            if not diagonal[W * (s * (s + 1) // 2 + s) + k] > HELD_IN_LANES * free:
                lane.mode[k] = LEAVES


@internal
def _load_velocities(
    table: Table, product: int, h: float, again: bool, contacts: int, m: int, given: Floats, own: ContactLanes
):
    """Write b, μ and the start r of all slots to ``given``; contacts that rebound become active by 2.

    In lanes in which something closes rows do not turn up to the end of the step.
    """
    contact_table, nv = table.contact_table, table.nv
    rows, motion, closed = contact_table.contact_rows, own.motion, contact_table.settings.closed
    friction, start = given + W * m, given + W * (m + contacts)
    begin, middle = own.trial + W * table.nq, own.middle + W * table.nq
    ways, ahead_of, before_of = own.rows + W * m * nv, own.products, own.products + W * m
    if contacts > 0:
        for i in range(W * nv):
            ways[i], ways[W * nv + i] = own.free[i] - middle[i], begin[i] - middle[i]
        call_native(product, own.rows, own.products)
    for k in range(W):
        own.sums[k] = 0.0
    for s in range(m):
        for k in range(W):
            u = int(own.owner[W * s + k])
            if u >= 0 and own.delay[W * u + k] > 0.0:
                own.sums[k] = 1.0
    for s in range(m):
        for k in range(W):
            row, u = int(own.which[W * s + k]), int(own.owner[W * s + k])
            given[W * s + k] = start[W * s + k] = 0.0
            if s < 3 * contacts and s % 3 == 0:
                friction[W * (s // 3) + k] = contact_table.friction[u] if u >= 0 else 0.0
            if row < 0:
                continue
            ahead, before, turn = 0.0, 0.0, 0.0
            if row < rows:
                ahead = ahead_of[W * s + k] + motion[W * row + k]
                turn = 0.5 * h * motion[W * (rows + row) + k]
                before = before_of[W * s + k] + motion[W * row + k] - turn
            else:
                stop = row - rows
                place, sign = W * contact_table.speeds[stop] + k, contact_table.signs[stop]
                ahead, before = sign * own.free[place], sign * begin[place]
            if row == contact_table.first_rows[u]:
                own.before[W * u + k] = before
                at_hit = before + own.delay[W * u + k] / h * (ahead + turn - before)
                own.active[W * u + k] = 1.0
                meets = (
                    own.gap[W * u + k] <= closed * scale_of(contact_table, u)
                    or own.ahead_gap[W * u + k] < 0.0
                )
                if meets and -contact_table.restitution[u] * at_hit >= rest_speed_of(contact_table, u):
                    own.active[W * u + k] = 2.0
                    ahead += contact_table.restitution[u] * at_hit
            given[W * s + k] = ahead if own.sums[k] != 0.0 else ahead + turn
            start[W * s + k] = own.impulse[W * row + k] if again else h * own.lasting[W * row + k]


@internal
def pushed_slots(todo: BatchTable, chosen: int, own: ContactLanes):
    """Return the address of the forces of all slots that `push_slots` takes, in front of the columns."""
    return own.pushed + W * (3 * todo.most_contacts + todo.most_single - _rows(todo, chosen))


@internal
def _rows(todo: BatchTable, chosen: int):
    """Return the number of rows of all slots."""
    return 3 * todo.slots[2 * chosen] + todo.slots[2 * chosen + 1]


@internal
def push_slots(table: Table, todo: BatchTable, chosen: int, out: Floats, own: ContactLanes):
    """Add the columns of all slots times the forces at `pushed_slots` to ``out`` (nv)."""
    call_native(todo.problems[bl.N_PROBLEM * chosen + bl.PUSH], pushed_slots(todo, chosen, own), own.products)
    for i in range(W * table.nv):
        out[i] += own.products[i]


@internal
def lasting_forces(table: Table, todo: BatchTable, h: float, chosen: int, own: ContactLanes):
    """Write the forces of lasting contacts to `pushed_slots`, and to ``own.coming`` by rows; others are zero.

    The impulses of all rows go to ``own.impulse``.
    """
    contact_table = table.contact_table
    forces = pushed_slots(todo, chosen, own)
    for s in range(_rows(todo, chosen)):
        for k in range(W):
            row, u = int(own.which[W * s + k]), int(own.owner[W * s + k])
            forces[W * s + k] = 0.0
            if row < 0:
                continue
            own.impulse[W * row + k], at = own.best[W * s + k], W * u + k
            closed = contact_table.settings.closed * scale_of(contact_table, u)
            standing = -own.before[at] < STANDING_SPEED * rest_speed_of(contact_table, u)
            if own.active[at] == 1.0 and own.gap[at] <= closed and standing:
                forces[W * s + k] = own.coming[W * row + k] = own.best[W * s + k] / h
