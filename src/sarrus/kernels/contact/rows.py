"""Rows of contacts, stops and joints with dry friction in kernels: what they are along, their gaps and speeds."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, fill, inner
from sarrus.kernels.contact.geometry_rows import add_parts, along_parts, find_gaps, load_rates, work_of
from sarrus.kernels.contact.tolerances import (
    HELD_BY_CONSTRAINTS,
    HELD_ROUNDING,
    LARGE_ACCELERATIONS,
    LEAST_REACH,
    LIFT,
    SAME_TIME,
    STILL,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal


@internal
def forget(table):
    """Have a run begin: nothing is known of a step before."""
    touching = table.touching
    fill(touching.slots, 0.0, (tl.ROOM + 1) * tl.slot_size(touching, table.nv))
    touching.failed = touching.given = touching.turn = 0


@internal
def comes_back(touching, s):
    """Tell whether a coordinate began beyond a limit and was not inside of it since."""
    return touching.bounds[s] != touching.given_bounds[s]


@internal
def follow_back(table, x, turned):
    """Have the bounds of coordinates that began beyond their limits follow these as far as they have come back.

    In steps in time where they have ``turned``: a bound next to what leaves it would push within the step.
    """
    touching = table.touching
    for s in range(touching.stops):
        if comes_back(touching, s):
            place, sign = x[touching.coordinates[s]], touching.signs[s]
            leaves = sign * x[table.nq + touching.speeds[s]] > 0.0
            if sign * (place - touching.given_bounds[s]) >= 0.0:
                touching.bounds[s] = touching.given_bounds[s]
            elif sign * (place - touching.bounds[s]) > 0.0 and not (turned and leaves):
                touching.bounds[s] = place


@internal
def begin_where_beyond(touching, x):
    """Have bounds act where coordinates are that are beyond them, if a step before did not end there."""
    for s in range(touching.stops):
        place, bound = x[touching.coordinates[s]], touching.given_bounds[s]
        if place != touching.ends[s]:
            beyond = touching.signs[s] * (place - bound) < -touching.settings.closed
            touching.bounds[s] = place if beyond else bound


@internal
def scale_of(touching, k):
    """Return what tolerances of gaps and speeds of a block are times those of contacts."""
    own = k - touching.contacts
    return touching.scales[own] if 0 <= own < touching.stops else 1.0


@internal
def scale_of_row(touching, row):
    """Return what tolerances of speeds of a row are times those of contacts."""
    own = row - touching.contact_rows
    return touching.scales[own] if 0 <= own < touching.stops + touching.dry else 1.0


@internal
def rest_speed_of(touching, k):
    """Return the speed after an impact [m/s, rad/s] below which a block does not rebound."""
    settings = touching.settings
    return settings.rest_speed if scale_of(touching, k) == 1.0 else settings.rest_turn


@internal
def still_speed(table, v):
    """Return the speed [m/s] that is none, of contacts, at the velocity v of the mechanism."""
    return table.touching.settings.still * (1.0 + longest_entry(table, v))


@internal
def keep_slots(touching, nv):
    """Put aside what is known of the last steps, before others are tried."""
    copy(touching.slots, touching.kept, (tl.ROOM + 1) * tl.slot_size(touching, nv))


@internal
def restore_slots(touching, nv):
    """Forget the steps that were tried."""
    copy(touching.kept, touching.slots, (tl.ROOM + 1) * tl.slot_size(touching, nv))


@internal
def find_slot(table, x):
    """Return which slot knows the step that ended at x, −1 where none does."""
    time = x[table.nq + table.nv + table.nu]
    for k in range(tl.ROOM):
        facts = tl.slot(table.touching, table.nv, k).facts
        if facts.length > 0.0 and abs(time - facts.time) <= SAME_TIME * facts.length:
            return k
    return -1


@internal
def keep(table, x):
    """Keep what is known of the step that ended at x, whatever is tried after it."""
    found, length = find_slot(table, x), tl.slot_size(table.touching, table.nv)
    if found > 1:
        copy(table.touching.slots + found * length, table.touching.slots + length, length)


@internal
def power_before(table, x):
    """Bring what is known of the end of a step at x to the first slot; return the power of the forces there."""
    if table.touching.acting == 0:
        return 0.0
    found, length = find_slot(table, x), tl.slot_size(table.touching, table.nv)
    if found > 0:
        copy(table.touching.slots + found * length, table.touching.slots, length)
    return tl.slot(table.touching, table.nv, 0).facts.power


@internal
def note_end(table, time, h, work_done):
    """Note where a step of length h ends that begins where the first slot says, and the work of the forces in it."""
    touching = table.touching
    if touching.acting == 0:
        return
    begun = tl.slot(touching, table.nv, 0).facts
    touching.turn = (touching.turn + 1) % tl.PARTIAL
    facts = tl.slot(touching, table.nv, 2 + touching.turn).facts
    facts.time, facts.length, facts.power = time, h, 0.0
    facts.loss, facts.residual = begun.loss - work_done, begun.residual


@internal
def row_of(table, work, row):
    """Return where a row begins: that of a contact as it is, a row of one entry for the others."""
    return work.native + 2 * table.touching.contact_rows + row * table.nv


@internal
def hurry_of(table, work):
    """Return the size of accelerations, and one more, in radians and characteristic lengths."""
    return 1.0 + longest_entry(table, work.free)


@internal
def free_response(table, work, row):
    """Return about what a row's response is without constraints, and its size in radians and characteristic lengths."""
    touching, factors, free, reach = table.touching, la.factors_of(table), 0.0, 0.0
    if row >= touching.contact_rows:
        k = touching.speeds[row - touching.contact_rows]
        return touching.lightness[k], 1.0 / factors.velocities[k]
    entries = row_of(table, work, row)
    for k in range(table.nv):
        free += entries[k] ** 2 * touching.lightness[k]
        reach += abs(entries[k]) / factors.velocities[k]
    return free, max(reach, LEAST_REACH * table.touching.settings.still / STILL)


@internal
def lift_of(table, work, row):
    """Return the force or torque with which the response of a row is found, as a difference of accelerations.

    Where these are far larger than it, in radians and characteristic lengths, it grows with them: else the difference
    would be rounding.
    """
    settings = table.touching.settings
    length = settings.still / STILL
    more = length * hurry_of(table, work) / (LIFT * scale_of_row(table.touching, row))
    return settings.force * more if more > LARGE_ACCELERATIONS else settings.force


@internal
def is_held(table, work, row, response):
    """Tell whether the constraints hold a row, so that its response to a force on itself is rounding."""
    free, reach = free_response(table, work, row)
    noise = HELD_ROUNDING * hurry_of(table, work) / lift_of(table, work, row)
    return abs(response) <= HELD_BY_CONSTRAINTS * free + noise * reach


@internal
def along(table, work, row, v):
    """Return the velocity of a row for the generalized velocity v, without what moves by itself."""
    touching, nv = table.touching, table.nv
    if exists(touching.colliding):
        room = work_of(table)
        return along_parts(touching.colliding, room, room.parts, row, v)
    if row < touching.contact_rows:
        return inner(row_of(table, work, row), v, nv)
    own = row - touching.contact_rows
    value = v[touching.speeds[own]]
    return touching.signs[own] * value if own < touching.stops else value


@internal
def add_row(table, work, row, factor, out):
    """Add a multiple of a row."""
    touching = table.touching
    if exists(touching.colliding):
        room = work_of(table)
        add_parts(touching.colliding, room, room.parts, row, factor, out)
        return
    if row < touching.contact_rows:
        axpy(factor, row_of(table, work, row), out, table.nv)
        return
    own = row - touching.contact_rows
    out[touching.speeds[own]] += touching.signs[own] * factor if own < touching.stops else factor


@internal
def add_force(table, work, row, factor, out):
    """Add a multiple of the generalized force of a row: with the friction of what slides, if it is a normal one."""
    add_row(table, work, row, factor, out)
    for j in range(row + 1, row + table.touching.widths[row]):
        if work.drag[j] != 0.0:
            add_row(table, work, j, factor * work.drag[j], out)


@internal
def add_response(table, work, row, factor, out):
    """Add a multiple of the acceleration by a unit force on a row."""
    if exists(table.touching.colliding):
        room = work_of(table)
        add_parts(table.touching.colliding, room, room.reply, row, factor, out)
    else:
        axpy(factor, work.response + row * table.nv, out, table.nv)


@internal
def load_motion(table, h, work):
    """Write velocities of rows in the middle, the bias of their derivatives, and rows."""
    touching = table.touching
    if touching.contacts > 0:
        call_native(touching.motion, work.middle, work.native)
    if exists(touching.colliding):
        load_rates(table, h, work)


@internal
def drifts(touching, row):
    """Tell whether a row may move by itself and turn: those of contacts do."""
    return row < touching.contact_rows or row >= tl.fixed_rows(touching)


@internal
def rate_of(table, work, row):
    """Return the velocity of a row that drifts, in the middle."""
    return work_of(table).rates[row] if exists(table.touching.colliding) else work.native[row]


@internal
def bias_of(table, work, row):
    """Return the bias of its derivative."""
    if exists(table.touching.colliding):
        return work_of(table).bias[row]
    return work.native[table.touching.contact_rows + row]


@internal
def drift_of(table, work, row):
    """Return the velocity that a row has by itself, in the middle."""
    if not drifts(table.touching, row):
        return 0.0
    return rate_of(table, work, row) - along(table, work, row, work.middle + table.nq)


@internal
def turn_of(table, h, row, work):
    """Return by how much the velocity of a row changes from the middle to the end of a step as the row turns."""
    return 0.5 * h * bias_of(table, work, row) if drifts(table.touching, row) else 0.0


@internal
def load_gaps(touching, x, out):
    """Write the gaps at x."""
    if touching.contacts > 0:
        call_native(touching.gaps, x, out)
    for s in range(touching.stops):
        out[touching.contacts + s] = touching.signs[s] * (x[touching.coordinates[s]] - touching.bounds[s])


@internal
def load_gaps_behind(table, x, h, work):
    """Write the gaps at x, where a step of length h ends."""
    load_gaps(table.touching, x, work.after)
    if exists(table.touching.colliding):
        find_gaps(table, x, h, work.after + tl.lasting_contacts(table.touching))


@internal
def speed_before(table, work, row, v, h):
    """Return the velocity of a row where the step begins."""
    return along(table, work, row, v) + drift_of(table, work, row) - turn_of(table, h, row, work)


@internal
def is_still(table, x, h, row, n, work):
    """Tell whether a contact does not slide where the step begins."""
    square = 0.0
    for j in range(1, n):
        square += speed_before(table, work, row + j, x + table.nq, h) ** 2
    return np.sqrt(square) <= still_speed(table, x + table.nq)


@internal
def turns_round(table, x, h, k, ahead, work):
    """Tell whether a contact that was closed slides the other way at the end of a step: it has stopped in between.

    ``ahead`` are the velocities of its rows at the end.
    """
    touching, forward = table.touching, 0.0
    if work.gap[k] > touching.settings.closed or touching.sizes[k] == 1:
        return False
    row = touching.first_rows[k]
    for j in range(1, touching.sizes[k]):
        forward += speed_before(table, work, row + j, x + table.nq, h) * ahead[j]
    return forward < 0.0
