"""Slots of the contact problems of all lanes: rows, columns, velocities and start, and sums over their forces."""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.batch.lane_modes import AWAKE, LEAVES
from sarrus.kernels.batch.tolerances import HELD_IN_LANES
from sarrus.kernels.contact.rows import rest_speed_of, scale_of
from sarrus.kernels.integrate.tolerances import STANDING_SPEED
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.contact_layout import ContactTable
from sarrus.kernels.memory.lane_layout import ContactLanes, Lanes
from sarrus.kernels.memory.layout import N_CONDITIONING, Table, factors_of
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal

W = bl.LANES


@internal
def load_tolerances(table: Table, own: ContactLanes):
    """Write the tolerances of all contacts and stops and the units of velocities, once for a workspace."""
    contact_table, factors = table.contact_table, factors_of(table).velocities
    settings = contact_table.settings
    if own.ready[0] != 0.0:
        return
    for u in range(tl.lasting_contacts(contact_table)):
        scale = scale_of(contact_table, u)
        fill(own.closed + W * u, settings.closed * scale, W)
        fill(own.reach + W * u, settings.at_bound * scale, W)
        fill(own.still + W * u, settings.stick_speed * scale, W)
    for i in range(table.nv):
        fill(own.factors + W * i, factors[i], W)
    own.ready[0] = 1.0


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
def fill_slots(table: Table, todo: BatchTable, h: float, again: bool, lane: Lanes, own: ContactLanes):
    """Write the contact problems of all lanes; return their size, −1 if nothing is active.

    Lanes with more contacts than slots leave, and lanes whose rows the constraints hold.
    """
    chosen = _choose(todo, lane, own)
    if chosen < 0:
        return -1
    contacts, m = todo.slots[2 * chosen], rows_of_slots(todo, chosen)
    _load_motion(table, todo, lane, own)
    _take_slots(table, contacts, m, lane, own)
    n = int(own.used[1])
    same = own.kept[0] == chosen and own.kept[1] == n
    for i in range(n if same else 0):
        if own.at[i] != own.known_at[i] or own.row_of[i] != own.known_row[i]:
            same = False
            break
    problem = own.columns + W * m * table.nv
    if not same:
        copy(own.at, own.known_at, n)
        copy(own.row_of, own.known_row, n)
        own.kept[0], own.kept[1] = float(chosen), float(n)
        _load_rows(table, m, own)
        factors = own.stage + W * (table.nv + table.nq + N_CONDITIONING + 1)
        call_native(todo.problems[bl.N_PROBLEM * chosen + bl.COLUMNS], factors, own.columns)
        if table.nc > 0:
            _leave_held(table, m, problem, lane, own)
    given = problem + W * (m * (m + 1) // 2)
    _load_velocities(table, h, again, contacts, m, given, own)
    return chosen


@internal
def _choose(todo: BatchTable, lane: Lanes, own: ContactLanes):
    """Return the number of the smallest size of problem that has slots for all lanes, −1 if nothing is active."""
    wide, single = 0, 0
    for k in range(W):
        contacts, singles = int(own.counts[k]), int(own.counts[W + k])
        if lane.mode[k] == AWAKE:
            if contacts > todo.most_contacts or singles > todo.most_single:
                lane.mode[k] = LEAVES
            else:
                wide, single = max(wide, contacts), max(single, singles)
    if wide + single + todo.dry == 0:
        return -1
    for chosen in range(todo.n_sizes):
        if todo.slots[2 * chosen] >= wide and todo.slots[2 * chosen + 1] >= single:
            return chosen
    return todo.n_sizes - 1


@internal
def _load_motion(table: Table, todo: BatchTable, lane: Lanes, own: ContactLanes):
    """Write the velocities of all rows of contacts and, once a step, the rows J, if a contact is active.

    Those of stops and of dry friction are written in any case.
    """
    contact_table, stands = table.contact_table, table.contact_table.dry_lengths > 0
    for k in range(W):
        stands = stands or (lane.mode[k] == AWAKE and own.counts[2 * W + k] > 0.0)
    if stands:
        call_native(todo.speeds if own.known[0] != 0.0 else todo.motion, own.middle, own.motion)
        own.known[0] = 1.0
        return
    rows, begin = tl.fixed_rows(contact_table), own.trial + W * table.nq
    for s in range(rows - contact_table.contact_rows):
        at, place = W * (contact_table.contact_rows + s), W * contact_table.speeds[s]
        sign = _sign_of(contact_table, s)
        for k in range(W):
            own.motion[at + k] = sign * own.free[place + k]
            own.motion[W * rows + at + k] = sign * begin[place + k]
            own.motion[2 * W * rows + at + k] = 0.0


@internal
def _sign_of(contact_table: ContactTable, s: int):
    """Return the entry of the row of stop s, and of the joints with dry friction behind the stops."""
    return contact_table.signs[s] if s < contact_table.stops else 1.0


@internal
def _take_slots(table: Table, contacts: int, m: int, lane: Lanes, own: ContactLanes):
    """Write the row of each slot, −1 if it is not used, and the places of the rows of all slots that are used."""
    contact_table, n = table.contact_table, 0
    fill(own.stopped, 0.0, W * table.nv if contact_table.dry > 0 else 0)
    fill(own.which, -1.0, W * m)
    fill(own.taken, 0.0, W)
    fill(own.taken + W, 3.0 * contacts, W)
    for u in range(tl.lasting_contacts(contact_table)):
        first, size, active = contact_table.first_rows[u], contact_table.sizes[u], own.active + W * u
        taken = own.taken + (W if size == 1 else 0)
        for k in range(W):
            if active[k] != 0.0 and lane.mode[k] == AWAKE:
                slot, stop = int(taken[k]), first - contact_table.contact_rows
                if stop >= 0:
                    own.stopped[W * contact_table.speeds[stop] + k] = 1.0 + n
                taken[k] += float(size)
                for j in range(size):
                    at = W * (slot + j) + k
                    own.which[at] = float(first + j)
                    own.at[n], own.row_of[n] = float(at), float(W * (first + j) + k)
                    own.unit_of[n], own.head[n] = float(W * u + k), 1.0 if j == 0 else 0.0
                    n += 1
    own.used[0] = float(n)
    for d in range(contact_table.dry):
        slot, row = m - contact_table.dry + d, tl.row_of_dry(contact_table, d)
        for k in range(W):
            if lane.mode[k] == AWAKE:
                at = W * slot + k
                own.which[at] = float(row)
                own.at[n], own.row_of[n], own.head[n] = float(at), float(W * row + k), 0.0
                n += 1
    own.used[1] = float(n)


@internal
def _load_rows(table: Table, m: int, own: ContactLanes):
    """Write the rows J of all slots, zeros in slots that are not used."""
    contact_table, nv = table.contact_table, table.nv
    rows = own.motion + 3 * W * tl.fixed_rows(contact_table)
    fill(own.rows, 0.0, W * m * nv)
    for i in range(int(own.used[1])):
        at, place = int(own.at[i]), int(own.row_of[i])
        slot, row, k = at // W, place // W, at % W
        out = own.rows + (W * slot * nv + k)
        if row < contact_table.contact_rows:
            source = rows + (W * row * nv + k)
            for j in range(nv):
                out[W * j] = source[W * j]
        else:
            stop = row - contact_table.contact_rows
            out[W * contact_table.speeds[stop]] = _sign_of(contact_table, stop)


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
    table: Table, h: float, again: bool, contacts: int, m: int, given: Floats, own: ContactLanes
):
    """Write b, μ, limits and the start r of all slots to ``given``; contacts that rebound become active by 2.

    In lanes in which something closes rows do not turn up to the end of the step.
    """
    contact_table, n, dry = table.contact_table, int(own.used[0]), table.contact_table.dry
    rows = W * tl.fixed_rows(contact_table)
    friction, start = given + W * m, given + W * (m + contacts + dry)
    fill(given, 0.0, W * (2 * m + contacts + dry))
    fill(own.hits, 0.0, W)
    for i in range(n):
        if own.delay[int(own.unit_of[i])] > 0.0:
            own.hits[int(own.at[i]) % W] = 1.0
    for i in range(n, int(own.used[1])):
        at, row = int(own.at[i]), int(own.row_of[i])
        limit = friction + (at - W * (m - dry - contacts))
        limit[0] = h * contact_table.limits[at // W - (m - dry)]
        given[at] = own.motion[row]
        if own.hits[at % W] == 0.0:
            given[at] += own.motion[2 * rows + row]
        start[at] = own.impulse[row] if again else h * own.lasting[row]
    for i in range(n):
        at, row, unit = int(own.at[i]), int(own.row_of[i]), int(own.unit_of[i])
        ahead, before, turn = own.motion[row], own.motion[rows + row], own.motion[2 * rows + row]
        if own.head[i] != 0.0:
            u = unit // W
            at_hit = before + own.delay[unit] / h * (ahead + turn - before)
            own.active[unit] = 1.0
            if _rebounds(contact_table, u, unit, at_hit, own):
                own.active[unit] = 2.0
                ahead += contact_table.restitution[u] * at_hit
            stands = own.active[unit] == 1.0 and own.gap[unit] <= own.closed[unit]
            stands = stands and -before < STANDING_SPEED * rest_speed_of(contact_table, u)
            own.lasts[unit] = 1.0 if stands else 0.0
            if at < 3 * W * contacts:
                friction[W * (at // (3 * W)) + at % W] = contact_table.friction[u]
        given[at] = ahead if own.hits[at % W] != 0.0 else ahead + turn
        start[at] = own.impulse[row] if again else h * own.lasting[row]


@internal
def _rebounds(contact_table: ContactTable, u: int, unit: int, at_hit: float, own: ContactLanes):
    """Return True if contact or stop u, at the place ``unit``, meets at a speed after which it rebounds."""
    if contact_table.restitution[u] == 0.0:
        return False
    meets = own.gap[unit] <= own.closed[unit] or own.ahead_gap[unit] < 0.0
    return meets and -contact_table.restitution[u] * at_hit >= rest_speed_of(contact_table, u)


@internal
def pushed_slots(todo: BatchTable, chosen: int, own: ContactLanes):
    """Return the address of the forces of all slots that `push_slots` takes, in front of the columns."""
    most = 3 * todo.most_contacts + todo.most_single + todo.dry
    return own.pushed + W * (most - rows_of_slots(todo, chosen))


@internal
def rows_of_slots(todo: BatchTable, chosen: int):
    """Return the number of rows of all slots."""
    return 3 * todo.slots[2 * chosen] + todo.slots[2 * chosen + 1] + todo.dry


@internal
def push_slots(table: Table, todo: BatchTable, chosen: int, out: Floats, own: ContactLanes):
    """Add the columns of all slots times the forces at `pushed_slots` to ``out`` (nv)."""
    call_native(todo.problems[bl.N_PROBLEM * chosen + bl.PUSH], pushed_slots(todo, chosen, own), own.products)
    for i in range(W * table.nv):
        out[i] += own.products[i]


@internal
def lasting_forces(table: Table, todo: BatchTable, h: float, chosen: int, own: ContactLanes):
    """Write forces of lasting contacts and dry friction to `pushed_slots`, and to ``own.coming`` by rows; others are 0.

    The impulses of all rows go to ``own.impulse``. Returns False if there are no such forces.
    """
    forces, found, n = pushed_slots(todo, chosen, own), False, int(own.used[0])
    fill(forces, 0.0, W * rows_of_slots(todo, chosen))
    for i in range(int(own.used[1])):
        at, row = int(own.at[i]), int(own.row_of[i])
        own.impulse[row] = own.best[at]
        if (i < n and own.lasts[int(own.unit_of[i])] != 0.0) or (
            i >= n and stop_that_hits(table, i, own) < 0
        ):
            forces[at] = own.coming[row] = own.best[at] / h
            found = True
    return found


@internal
def _stop_of(contact_table: ContactTable, i: int, own: ContactLanes):
    """Return the number of the row in use of an active stop at the joint of row i of dry friction, −1 without one."""
    row = int(own.row_of[i])
    joint = row // W - contact_table.contact_rows
    return int(own.stopped[W * contact_table.speeds[joint] + row % W]) - 1 if joint >= 0 else -1


@internal
def stop_that_hits(table: Table, i: int, own: ContactLanes):
    """Return the place of the stop that stops the joint of row i of dry friction in this step, −1 if there is none.

    Stop and dry friction share the impulse in any way, so both act at the same time.
    """
    stop = _stop_of(table.contact_table, i, own)
    unit = int(own.unit_of[stop]) if stop >= 0 else -1
    hits = unit >= 0 and own.active[unit] == 1.0 and own.lasts[unit] == 0.0
    return unit if hits and own.best[int(own.at[stop])] > 0.0 else -1


@internal
def share_with_stops(table: Table, h: float, own: ContactLanes):
    """Let the dry friction of a joint at rest at a stop take half the impulse of both, at most its limit."""
    contact_table, n = table.contact_table, int(own.used[0])
    for i in range(n, int(own.used[1])):
        stop = _stop_of(contact_table, i, own)
        if stop < 0 or own.active[int(own.unit_of[stop])] != 1.0:
            continue
        row, at, place = int(own.row_of[stop]) // W, int(own.at[i]), int(own.at[stop])
        limit, sign = (
            h * contact_table.limits[tl.dry_of_row(contact_table, int(own.row_of[i]) // W)],
            contact_table.signs[row - contact_table.contact_rows],
        )
        if own.best[place] > 0.0 or abs(own.best[at]) < limit:
            both = own.best[place] + sign * own.best[at]
            own.best[place] = max(0.0, 0.5 * both, both - limit)
            own.best[at] = sign * (both - own.best[place])
