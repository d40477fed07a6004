"""Rows of contacts, stops and joints with dry friction: their Jacobian rows, gaps and velocities."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, fill, inner
from sarrus.kernels.contact.geometry_parts import add_parts, along_parts
from sarrus.kernels.contact.geometry_rows import find_gaps, load_rates, work_of
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
    """Clear the slots of earlier steps and the failure flag, at the start of a run."""
    contact_table = table.contact_table
    fill(contact_table.slots, 0.0, (tl.ROOM + 1) * tl.slot_size(contact_table, table.nv))
    contact_table.failed = contact_table.given = contact_table.turn = 0


@internal
def comes_back(contact_table: ContactTable, s: int):
    """Return True if the coordinate of stop s began beyond its limit and has not been inside it since."""
    return contact_table.bounds[s] != contact_table.given_bounds[s]


@internal
def follow_back(table: Table, x: Floats, turned: bool):
    """Move the bounds of coordinates that began beyond their limits along with the coordinates as these come back.

    With ``turned`` (time stepping) a bound stays while its coordinate moves away from it: a bound next to the
    coordinate would push within the step.
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
    """Set the bound of a coordinate beyond its limit to the coordinate, and to the limit otherwise.

    Bounds of coordinates at which the previous step ended stay as they are.
    """
    for s in range(contact_table.stops):
        place, bound = x[contact_table.coordinates[s]], contact_table.given_bounds[s]
        if place != contact_table.ends[s]:
            beyond = contact_table.signs[s] * (place - bound) < -contact_table.settings.closed
            contact_table.bounds[s] = place if beyond else bound


@internal
def scale_of(contact_table: ContactTable, k: int):
    """Return the factor of the gap and speed tolerances of block k relative to those of a contact."""
    own = k - contact_table.contacts
    return contact_table.scales[own] if 0 <= own < contact_table.stops else 1.0


@internal
def scale_of_row(contact_table: ContactTable, row: int):
    """Return the factor of the speed tolerance of a row relative to that of a contact row."""
    own = row - contact_table.contact_rows
    count = contact_table.stops + contact_table.dry - contact_table.dry_lengths
    return contact_table.scales[own] if 0 <= own < count else 1.0


@internal
def rest_speed_of(contact_table: ContactTable, k: int):
    """Return the speed after an impact [m/s, rad/s] below which a block does not rebound."""
    settings = contact_table.settings
    return settings.rest_speed if scale_of(contact_table, k) == 1.0 else settings.rest_turn


@internal
def still_speed(table: Table, v: Floats):
    """Return the stick speed [m/s] of contacts at the generalized velocity v: a slower slip counts as zero."""
    return table.contact_table.settings.stick_speed * (1.0 + longest_entry(table, v))


@internal
def keep_slots(contact_table: ContactTable, nv: int):
    """Copy the slots of the last steps to ``kept``, before trial steps overwrite them."""
    copy(contact_table.slots, contact_table.kept, (tl.ROOM + 1) * tl.slot_size(contact_table, nv))


@internal
def restore_slots(contact_table: ContactTable, nv: int):
    """Copy ``kept`` back to the slots, which discards the trial steps."""
    copy(contact_table.kept, contact_table.slots, (tl.ROOM + 1) * tl.slot_size(contact_table, nv))


@internal
def find_slot(table: Table, x: Floats):
    """Return the number of the slot of the step that ended at x, or next to it, −1 if there is none."""
    time, found, least = x[table.nq + table.nv + table.nu], -1, np.inf
    for k in range(tl.ROOM):
        facts = tl.slot(table.contact_table, table.nv, k).facts
        since = abs(time - facts.time)
        if facts.length > 0.0 and since <= SAME_TIME * facts.length and since < least:
            found, least = k, since
    return found


@internal
def keep(table: Table, x: Floats):
    """Copy the slot of the step that ended at x to slot 1, which trial steps do not overwrite."""
    found, length = find_slot(table, x), tl.slot_size(table.contact_table, table.nv)
    if found > 1:
        copy(table.contact_table.slots + found * length, table.contact_table.slots + length, length)


@internal
def power_before(table: Table, x: Floats):
    """Copy the slot of the step that ended at x to slot 0; return the power of its contact forces, 0 if none act."""
    if table.contact_table.n_active == 0:
        return 0.0
    found, length = find_slot(table, x), tl.slot_size(table.contact_table, table.nv)
    if found > 0:
        copy(table.contact_table.slots + found * length, table.contact_table.slots, length)
    return tl.slot(table.contact_table, table.nv, 0).facts.power


@internal
def note_end(table: Table, time: float, h: float, work_done: float):
    """Write end time, length h and energy loss of a step that begins at slot 0 to the next slot.

    ``work_done`` is the work of the contact forces in the step.
    """
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
    """Return the address of the Jacobian row (nv) of a contact row in ``work.native``."""
    return work.native + 2 * table.contact_table.contact_rows + row * table.nv


@internal
def hurry_of(table: Table, work: ContactWork):
    """Return 1 + the largest free acceleration, in radians and characteristic lengths."""
    return 1.0 + longest_entry(table, work.free)


@internal
def free_response(table: Table, work: ContactWork, row: int):
    """Return the approximate compliance of a row without constraints, and the size of its Jacobian row.

    The size is in radians and characteristic lengths.
    """
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
    """Return the force or torque from which the compliance of a row is found, as a difference of accelerations.

    It grows with the free accelerations if these are far larger than the acceleration by the usual force; otherwise
    the difference would be rounding.
    """
    settings = table.contact_table.settings
    length = settings.stick_speed / STILL
    more = length * hurry_of(table, work) / (LIFT * scale_of_row(table.contact_table, row))
    return settings.force * more if more > LARGE_ACCELERATIONS else settings.force


@internal
def is_held(table: Table, work: ContactWork, row: int, response: float):
    """Return True if the constraints hold a row, so that its own compliance ``response`` is rounding."""
    free, reach = free_response(table, work, row)
    noise = HELD_ROUNDING * hurry_of(table, work) / lift_of(table, work, row)
    return abs(response) <= HELD_BY_CONSTRAINTS * free + noise * reach


@internal
def along(table: Table, work: ContactWork, row: int, v: Floats):
    """Return the product of a Jacobian row and the generalized velocity v, without prescribed motion."""
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
    """Add ``factor`` times a Jacobian row to ``out`` (nv)."""
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
    """Add ``factor`` times the generalized force of a row, with its sliding friction if normal, to ``out`` (nv)."""
    add_row(table, work, row, factor, out)
    for j in range(row + 1, row + table.contact_table.widths[row]):
        if work.drag[j] != 0.0:
            add_row(table, work, j, factor * work.drag[j], out)


@internal
def add_response(table: Table, work: ContactWork, row: int, factor: float, out: Floats):
    """Add ``factor`` times the compliance column of a row to ``out`` (nv)."""
    if exists(table.contact_table.geometry):
        room = work_of(table)
        add_parts(table.contact_table.geometry, room, room.compliance_column, row, factor, out)
    else:
        axpy(factor, work.response + row * table.nv, out, table.nv)


@internal
def load_motion(table: Table, h: float, work: ContactWork):
    """Write velocities, acceleration bias and Jacobian rows of contacts at the middle of a step to the workspace."""
    contact_table = table.contact_table
    if contact_table.contact_rows > 0:
        call_native(contact_table.motion, work.middle, work.native)
    if exists(contact_table.geometry):
        load_rates(table, h, work)


@internal
def drifts(contact_table: ContactTable, row: int):
    """Return True if a row is a contact row, whose direction changes and whose surface may have prescribed motion."""
    return row < contact_table.contact_rows or row >= tl.fixed_rows(contact_table)


@internal
def rate_of(table: Table, work: ContactWork, row: int):
    """Return the velocity of a contact row at the middle of the step."""
    return work_of(table).rates[row] if exists(table.contact_table.geometry) else work.native[row]


@internal
def bias_of(table: Table, work: ContactWork, row: int):
    """Return the acceleration bias of a contact row at the middle of the step."""
    if exists(table.contact_table.geometry):
        return work_of(table).bias[row]
    return work.native[table.contact_table.contact_rows + row]


@internal
def drift_of(table: Table, work: ContactWork, row: int):
    """Return the velocity of a row by prescribed motion alone, at the middle of the step."""
    if not drifts(table.contact_table, row):
        return 0.0
    return rate_of(table, work, row) - along(table, work, row, work.middle + table.nq)


@internal
def turn_of(table: Table, h: float, row: int, work: ContactWork):
    """Return the change of the velocity of a row from the middle to the end of a step by the row's own change."""
    return 0.5 * h * bias_of(table, work, row) if drifts(table.contact_table, row) else 0.0


@internal
def load_gaps(contact_table: ContactTable, x: Floats, out: Floats):
    """Write the gaps of plane contacts and stops at x to ``out``."""
    if contact_table.contacts > 0 and contact_table.gaps != 0:
        call_native(contact_table.gaps, x, out)
    for s in range(contact_table.stops):
        out[contact_table.contacts + s] = contact_table.signs[s] * (
            x[contact_table.coordinates[s]] - contact_table.bounds[s]
        )


@internal
def load_gaps_behind(table: Table, x: Floats, h: float, work: ContactWork):
    """Write all gaps at x, the end of a step of length h, to ``work.after``."""
    load_gaps(table.contact_table, x, work.after)
    if exists(table.contact_table.geometry):
        find_gaps(table, x, h, work.after + tl.lasting_contacts(table.contact_table))


@internal
def speed_before(table: Table, work: ContactWork, row: int, v: Floats, h: float):
    """Return the velocity of a row at the start of the step, with the generalized velocity v there."""
    return along(table, work, row, v) + drift_of(table, work, row) - turn_of(table, h, row, work)


@internal
def is_still(table: Table, x: Floats, h: float, row: int, n: int, work: ContactWork):
    """Return True if the slip velocity of a contact at the start of the step is within the stick speed."""
    square = 0.0
    for j in range(1, n):
        square += speed_before(table, work, row + j, x + table.nq, h) ** 2
    return np.sqrt(square) <= still_speed(table, x + table.nq)


@internal
def turns_round(table: Table, x: Floats, h: float, k: int, ahead: Floats, work: ContactWork):
    """Return True if the slip of a closed contact reverses within a step: the contact has stopped in between.

    ``ahead`` holds the velocities of its rows at the end of the step.
    """
    contact_table, forward = table.contact_table, 0.0
    if work.gap[k] > contact_table.settings.closed or contact_table.sizes[k] == 1:
        return False
    row = contact_table.first_rows[k]
    for j in range(1, contact_table.sizes[k]):
        forward += speed_before(table, work, row + j, x + table.nq, h) * ahead[j]
    return forward < 0.0
