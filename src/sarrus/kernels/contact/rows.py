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
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal


@internal
def forget(table: Table):
    """Have a run begin: nothing is known of a step before."""
    contact_table = table.contact_table
    fill(contact_table.slots, 0.0, (tl.ROOM + 1) * tl.slot_size(contact_table, table.nv))
    contact_table.failed = contact_table.given = contact_table.turn = 0


@internal
def comes_back(contact_table: ContactTable, s: int):
    """Tell whether a coordinate began beyond a limit and was not inside of it since."""
    return contact_table.bounds[s] != contact_table.given_bounds[s]


@internal
def follow_back(table: Table, x: Floats, turned: bool):
    """Have the bounds of coordinates that began beyond their limits follow these as far as they have come back.

    In steps in time where they have ``turned``: a bound next to what leaves it would push within the step.
    """
    contact_table = table.contact_table
    for s in range(contact_table.stops):
        if comes_back(contact_table, s):
            place, sign = x[contact_table.coordinates[s]], contact_table.signs[s]
            leaves = sign * x[table.nq + contact_table.speeds[s]] > 0.0
            if sign * (place - contact_table.given_bounds[s]) >= 0.0:
                contact_table.bounds[s] = contact_table.given_bounds[s]
            elif sign * (place - contact_table.bounds[s]) > 0.0 and not (turned and leaves):
                contact_table.bounds[s] = place


@internal
def begin_where_beyond(contact_table: ContactTable, x: Floats):
    """Have bounds act where coordinates are that are beyond them, if a step before did not end there."""
    for s in range(contact_table.stops):
        place, bound = x[contact_table.coordinates[s]], contact_table.given_bounds[s]
        if place != contact_table.ends[s]:
            beyond = contact_table.signs[s] * (place - bound) < -contact_table.settings.closed
            contact_table.bounds[s] = place if beyond else bound


@internal
def scale_of(contact_table: ContactTable, k: int):
    """Return what tolerances of gaps and speeds of a block are times those of contacts."""
    own = k - contact_table.contacts
    return contact_table.scales[own] if 0 <= own < contact_table.stops else 1.0


@internal
def scale_of_row(contact_table: ContactTable, row: int):
    """Return what tolerances of speeds of a row are times those of contacts."""
    own = row - contact_table.contact_rows
    return contact_table.scales[own] if 0 <= own < contact_table.stops + contact_table.dry else 1.0


@internal
def rest_speed_of(contact_table: ContactTable, k: int):
    """Return the speed after an impact [m/s, rad/s] below which a block does not rebound."""
    settings = contact_table.settings
    return settings.rest_speed if scale_of(contact_table, k) == 1.0 else settings.rest_turn


@internal
def still_speed(table: Table, v: Floats):
    """Return the speed [m/s] that is none, of contacts, at the velocity v of the mechanism."""
    return table.contact_table.settings.stick_speed * (1.0 + longest_entry(table, v))


@internal
def keep_slots(contact_table: ContactTable, nv: int):
    """Put aside what is known of the last steps, before others are tried."""
    copy(contact_table.slots, contact_table.kept, (tl.ROOM + 1) * tl.slot_size(contact_table, nv))


@internal
def restore_slots(contact_table: ContactTable, nv: int):
    """Forget the steps that were tried."""
    copy(contact_table.kept, contact_table.slots, (tl.ROOM + 1) * tl.slot_size(contact_table, nv))


@internal
def find_slot(table: Table, x: Floats):
    """Return which slot knows the step that ended at x, −1 where none does."""
    time = x[table.nq + table.nv + table.nu]
    for k in range(tl.ROOM):
        facts = tl.slot(table.contact_table, table.nv, k).facts
        if facts.length > 0.0 and abs(time - facts.time) <= SAME_TIME * facts.length:
            return k
    return -1


@internal
def keep(table: Table, x: Floats):
    """Keep what is known of the step that ended at x, whatever is tried after it."""
    found, length = find_slot(table, x), tl.slot_size(table.contact_table, table.nv)
    if found > 1:
        copy(table.contact_table.slots + found * length, table.contact_table.slots + length, length)


@internal
def power_before(table: Table, x: Floats):
    """Bring what is known of the end of a step at x to the first slot; return the power of the forces there."""
    if table.contact_table.n_active == 0:
        return 0.0
    found, length = find_slot(table, x), tl.slot_size(table.contact_table, table.nv)
    if found > 0:
        copy(table.contact_table.slots + found * length, table.contact_table.slots, length)
    return tl.slot(table.contact_table, table.nv, 0).facts.power


@internal
def note_end(table: Table, time: float, h: float, work_done: float):
    """Note where a step of length h ends that begins where the first slot says, and the work of the forces in it."""
    contact_table = table.contact_table
    if contact_table.n_active == 0:
        return
    begun = tl.slot(contact_table, table.nv, 0).facts
    contact_table.turn = (contact_table.turn + 1) % tl.PARTIAL
    facts = tl.slot(contact_table, table.nv, 2 + contact_table.turn).facts
    facts.time, facts.length, facts.power = time, h, 0.0
    facts.loss, facts.residual = begun.loss - work_done, begun.residual


@internal
def row_of(table: Table, work: ContactWork, row: int):
    """Return where a row begins: that of a contact as it is, a row of one entry for the others."""
    return work.native + 2 * table.contact_table.contact_rows + row * table.nv


@internal
def hurry_of(table: Table, work: ContactWork):
    """Return the size of accelerations, and one more, in radians and characteristic lengths."""
    return 1.0 + longest_entry(table, work.free)


@internal
def free_response(table: Table, work: ContactWork, row: int):
    """Return about what a row's response is without constraints, and its size in radians and characteristic lengths."""
    contact_table, factors, free, reach = table.contact_table, la.factors_of(table), 0.0, 0.0
    if row >= contact_table.contact_rows:
        k = contact_table.speeds[row - contact_table.contact_rows]
        return contact_table.lightness[k], 1.0 / factors.velocities[k]
    entries = row_of(table, work, row)
    for k in range(table.nv):
        free += entries[k] ** 2 * contact_table.lightness[k]
        reach += abs(entries[k]) / factors.velocities[k]
    return free, max(reach, LEAST_REACH * table.contact_table.settings.stick_speed / STILL)


@internal
def lift_of(table: Table, work: ContactWork, row: int):
    """Return the force or torque with which the response of a row is found, as a difference of accelerations.

    Where these are far larger than it, in radians and characteristic lengths, it grows with them: else the difference
    would be rounding.
    """
    settings = table.contact_table.settings
    length = settings.stick_speed / STILL
    more = length * hurry_of(table, work) / (LIFT * scale_of_row(table.contact_table, row))
    return settings.force * more if more > LARGE_ACCELERATIONS else settings.force


@internal
def is_held(table: Table, work: ContactWork, row: int, response: float):
    """Tell whether the constraints hold a row, so that its response to a force on itself is rounding."""
    free, reach = free_response(table, work, row)
    noise = HELD_ROUNDING * hurry_of(table, work) / lift_of(table, work, row)
    return abs(response) <= HELD_BY_CONSTRAINTS * free + noise * reach


@internal
def along(table: Table, work: ContactWork, row: int, v: Floats):
    """Return the velocity of a row for the generalized velocity v, without what moves by itself."""
    contact_table, nv = table.contact_table, table.nv
    if exists(contact_table.geometry):
        room = work_of(table)
        return along_parts(contact_table.geometry, room, room.parts, row, v)
    if row < contact_table.contact_rows:
        return inner(row_of(table, work, row), v, nv)
    own = row - contact_table.contact_rows
    value = v[contact_table.speeds[own]]
    return contact_table.signs[own] * value if own < contact_table.stops else value


@internal
def add_row(table: Table, work: ContactWork, row: int, factor: float, out: Floats):
    """Add a multiple of a row."""
    contact_table = table.contact_table
    if exists(contact_table.geometry):
        room = work_of(table)
        add_parts(contact_table.geometry, room, room.parts, row, factor, out)
        return
    if row < contact_table.contact_rows:
        axpy(factor, row_of(table, work, row), out, table.nv)
        return
    own = row - contact_table.contact_rows
    out[contact_table.speeds[own]] += (
        contact_table.signs[own] * factor if own < contact_table.stops else factor
    )


@internal
def add_force(table: Table, work: ContactWork, row: int, factor: float, out: Floats):
    """Add a multiple of the generalized force of a row: with the friction of what slides, if it is a normal one."""
    add_row(table, work, row, factor, out)
    for j in range(row + 1, row + table.contact_table.widths[row]):
        if work.drag[j] != 0.0:
            add_row(table, work, j, factor * work.drag[j], out)


@internal
def add_response(table: Table, work: ContactWork, row: int, factor: float, out: Floats):
    """Add a multiple of the acceleration by a unit force on a row."""
    if exists(table.contact_table.geometry):
        room = work_of(table)
        add_parts(table.contact_table.geometry, room, room.compliance_column, row, factor, out)
    else:
        axpy(factor, work.response + row * table.nv, out, table.nv)


@internal
def load_motion(table: Table, h: float, work: ContactWork):
    """Write velocities of rows in the middle, the bias of their derivatives, and rows."""
    contact_table = table.contact_table
    if contact_table.contacts > 0:
        call_native(contact_table.motion, work.middle, work.native)
    if exists(contact_table.geometry):
        load_rates(table, h, work)


@internal
def drifts(contact_table: ContactTable, row: int):
    """Tell whether a row may move by itself and turn: those of contacts do."""
    return row < contact_table.contact_rows or row >= tl.fixed_rows(contact_table)


@internal
def rate_of(table: Table, work: ContactWork, row: int):
    """Return the velocity of a row that drifts, in the middle."""
    return work_of(table).rates[row] if exists(table.contact_table.geometry) else work.native[row]


@internal
def bias_of(table: Table, work: ContactWork, row: int):
    """Return the bias of its derivative."""
    if exists(table.contact_table.geometry):
        return work_of(table).bias[row]
    return work.native[table.contact_table.contact_rows + row]


@internal
def drift_of(table: Table, work: ContactWork, row: int):
    """Return the velocity that a row has by itself, in the middle."""
    if not drifts(table.contact_table, row):
        return 0.0
    return rate_of(table, work, row) - along(table, work, row, work.middle + table.nq)


@internal
def turn_of(table: Table, h: float, row: int, work: ContactWork):
    """Return by how much the velocity of a row changes from the middle to the end of a step as the row turns."""
    return 0.5 * h * bias_of(table, work, row) if drifts(table.contact_table, row) else 0.0


@internal
def load_gaps(contact_table: ContactTable, x: Floats, out: Floats):
    """Write the gaps at x."""
    if contact_table.contacts > 0:
        call_native(contact_table.gaps, x, out)
    for s in range(contact_table.stops):
        out[contact_table.contacts + s] = contact_table.signs[s] * (
            x[contact_table.coordinates[s]] - contact_table.bounds[s]
        )


@internal
def load_gaps_behind(table: Table, x: Floats, h: float, work: ContactWork):
    """Write the gaps at x, where a step of length h ends."""
    load_gaps(table.contact_table, x, work.after)
    if exists(table.contact_table.geometry):
        find_gaps(table, x, h, work.after + tl.lasting_contacts(table.contact_table))


@internal
def speed_before(table: Table, work: ContactWork, row: int, v: Floats, h: float):
    """Return the velocity of a row where the step begins."""
    return along(table, work, row, v) + drift_of(table, work, row) - turn_of(table, h, row, work)


@internal
def is_still(table: Table, x: Floats, h: float, row: int, n: int, work: ContactWork):
    """Tell whether a contact does not slide where the step begins."""
    square = 0.0
    for j in range(1, n):
        square += speed_before(table, work, row + j, x + table.nq, h) ** 2
    return np.sqrt(square) <= still_speed(table, x + table.nq)


@internal
def turns_round(table: Table, x: Floats, h: float, k: int, ahead: Floats, work: ContactWork):
    """Tell whether a contact that was closed slides the other way at the end of a step: it has stopped in between.

    ``ahead`` are the velocities of its rows at the end.
    """
    contact_table, forward = table.contact_table, 0.0
    if work.gap[k] > contact_table.settings.closed or contact_table.sizes[k] == 1:
        return False
    row = contact_table.first_rows[k]
    for j in range(1, contact_table.sizes[k]):
        forward += speed_before(table, work, row + j, x + table.nq, h) * ahead[j]
    return forward < 0.0
