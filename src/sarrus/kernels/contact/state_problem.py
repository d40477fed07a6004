"""Contact problem on accelerations at a state: which blocks take part, W and b, for `kernels.contact.state_forces`."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import copy, dot, fill, is_finite
from sarrus.kernels.contact.compliance import compliance_column_of_row
from sarrus.kernels.contact.rows import add_row, along, load_gaps, still_speed
from sarrus.kernels.contact.tolerances import (
    ARRIVED,
    HELD_BY_CONSTRAINTS,
    STEADY,
    STILL,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.state_contacts_layout import StateAnswer, StateContacts, StateRoom
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import factored_acceleration, kinetic_row


@internal
def sort_blocks(table: Table, x: StateContacts, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Sort all blocks by the state; return `FOUND` or why there are no forces, and the number of rows of the problem.

    Without native functions in the table of contacts their gaps and motion are in ``work`` already.

    A block is open or opening, approaches, slides (``going``), or may stick, unless something is asked of it. Dry
    friction that slides has a known force, which goes to the applied forces.
    """
    contact_table, nq, nv = table.contact_table, table.nq, table.nv
    state, facts = work.middle, answer.facts
    if contact_table.motion != 0:
        call_native(contact_table.motion, state, work.native)
    load_gaps(contact_table, state, work.gap)
    tau = state + (la.input_size(table) - nv)
    unilateral = tl.lasting_contacts(contact_table)
    still = still_speed(table, state + nq) * STILL / contact_table.settings.stick_speed
    facts.still = still
    m, blocks, code = 0, 0, sl.IDLE
    for k in range(unilateral + contact_table.dry):
        dry = k >= unilateral
        row, n, unit, head = first_row(table, k), size_of(table, k), x.units[k], 0.0
        answer.modes[k], answer.going[k], answer.start[k] = tl.OPEN, 0.0, -1.0
        if x.asked[k] == sl.LEFT_OUT:
            continue
        if not dry and x.asked[k] == sl.NOTHING:
            gap = work.gap[k]
            if k >= contact_table.contacts:
                gap = max(gap, 0.0)  # a coordinate beyond its limit is at its stop
            elif gap < -x.reach[k]:
                facts.at_fault, facts.gap = k, gap
                return sl.DEEP, 0
            head = row_rate(table, work, row) / unit
            near = abs(gap) <= x.reach[k]
            if near and gap <= ARRIVED * unit and head < -still:
                if code != sl.CLOSING:
                    facts.at_fault, facts.speed, code = k, -head * unit, sl.CLOSING
                continue
            if not near or abs(head) > still:
                continue
        first, square = 0 if dry else 1, 0.0
        for j in range(first, n):
            square += (row_rate(table, work, row + j) / unit) ** 2
        speed = np.sqrt(square)
        going = x.asked[k] == sl.NOTHING and speed > still
        if x.asked[k] != sl.SLIDES_ALONG:
            for j in range(first, n):
                answer.directions[row + j] = row_rate(table, work, row + j) / (unit * speed) if going else 0.0
        going = going or x.asked[k] == sl.SLIDES_ALONG
        code = code if code == sl.CLOSING else sl.FOUND
        if dry and going:
            answer.modes[k], answer.going[k] = tl.SLIDING, 2.0
            force = -contact_table.limits[k - unilateral] * answer.directions[row]
            answer.forces[row] = force
            add_row(table, work, row, force, tau)
            continue
        answer.going[k], answer.start[k] = 1.0 if going else 0.0, m
        if dry:
            answer.friction[k] = contact_table.limits[k - unilateral] * unit
        else:
            answer.friction[k] = contact_table.friction[k] if going else contact_table.static[k]
        room.block_of[blocks] = k
        blocks += 1
        for j in range(n):
            work.which[m] = row + j
            m += 1
    facts.blocks = blocks
    return code, m


@internal
def row_rate(table: Table, work: ContactWork, row: int):
    """Return the velocity of a row at the state."""
    if row < table.contact_table.contact_rows:
        return work.native[row]
    return along(table, work, row, work.middle + table.nq)


@internal
def load_problem(
    table: Table,
    x: StateContacts,
    m: int,
    level: int,
    answer: StateAnswer,
    room: StateRoom,
    work: ContactWork,
):
    """Write W and b, in units; return `FOUND`, `NOT_FINITE` or `NO_FACTOR`.

    Rows that the constraints hold have zeros instead of rounding.
    """
    contact_table, nv, own = table.contact_table, table.nv, la.workspace(table)
    W, b, rank, factored = answer.delassus, answer.given, 0, level == 0
    if factored:
        rank = factored_acceleration(table, work.middle, own)
        if rank < 0:
            return sl.NO_FACTOR
    elif call_kernel(contact_table.inner, table, work.middle, la.SLOPE) < 0:
        return sl.NOT_FINITE
    copy(own.a, work.free, nv)
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at = int(answer.start[k])
        for i in range(at, at + size_of(table, k)):
            row, hat = int(work.which[i]), room.hats + i * nv
            room.weights[i] = x.units[k]
            bias = work.native[contact_table.contact_rows + row] if row < contact_table.contact_rows else 0.0
            b[i] = (along(table, work, row, work.free) + bias) / x.units[k]
            fill(hat, 0.0, nv)
            add_row(table, work, row, 1.0 / x.units[k], hat)
            if factored:
                room.light[i] = kinetic_row(table, rank, hat, own)
    if factored:
        for i in range(m):
            for j in range(i + 1):
                W[i * m + j] = W[j * m + i] = dot(room.hats + i * nv, room.hats + j * nv, nv)
    else:
        _load_by_differences(table, m, answer, room, work)
    speed, push = longest_entry(table, work.middle + table.nq), longest_entry(table, work.free)
    steady, largest = STEADY * (1.0 + speed * speed + push), 0.0
    for i in range(m):
        largest = max(largest, abs(b[i]))
    answer.facts.largest = max(largest, steady)
    for i in range(m):
        if W[i * (m + 1)] <= HELD_BY_CONSTRAINTS * room.light[i]:
            for j in range(m):
                W[i * m + j] = W[j * m + i] = 0.0
            if abs(b[i]) <= steady:
                b[i] = 0.0
    return sl.FOUND if is_finite(W, m * m) and is_finite(b, m) else sl.NOT_FINITE


@internal
def _load_by_differences(table: Table, m: int, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Write W by differences of accelerations, where M has no factor."""
    contact_table, nv, W = table.contact_table, table.nv, answer.delassus
    fill(work.known, 0.0, tl.fixed_rows(contact_table))
    fill(work.drag, 0.0, tl.fixed_rows(contact_table))
    for i in range(m):
        compliance_column_of_row(table, int(work.which[i]), work)
        hat, free = room.hats + i * nv, 0.0
        for k in range(nv):
            free += hat[k] * hat[k] * contact_table.lightness[k]
        room.light[i] = free
    for i in range(m):
        for j in range(m):
            column = work.response + int(work.which[j]) * nv
            room.sprung[i * m + j] = dot(room.hats + i * nv, column, nv) / room.weights[j]
    for i in range(m):
        for j in range(m):
            W[i * m + j] = 0.5 * (room.sprung[i * m + j] + room.sprung[j * m + i])


@internal
def size_of(table: Table, k: int):
    """Return the number of rows of a block of the model."""
    contact_table = table.contact_table
    unilateral = tl.lasting_contacts(contact_table)
    return 1 if unilateral == 0 or k >= unilateral else contact_table.sizes[k]


@internal
def first_row(table: Table, k: int):
    """Return the first row of a block of the model."""
    contact_table = table.contact_table
    unilateral = tl.lasting_contacts(contact_table)
    if unilateral == 0 or k >= unilateral:
        return tl.row_of_dry(contact_table, k - unilateral)
    return contact_table.first_rows[k]
