"""Contact rows between geometries: detected at the middle of a step, with their change up to the end of the step.

A row is stored in parts, one for each component of velocities that it depends on (two at most). In a model with
geometries the rows of plane contacts, stops and dry friction are stored in parts, too. The gap at the start of a step
is the stored gap of the nearest contact of the same pair in the step before; for a new contact it is g − h/2 ġ, with
the gap g at the middle.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill
from sarrus.kernels.contact.geometry_parts import along_parts, fill_contact_rows, tangent, width_of
from sarrus.kernels.contact.narrow_phase import FULL, collide, nearest, place
from sarrus.kernels.contact.tolerances import JUMP_OF_GAP, SAME_NORMAL, SUDDEN_ACCELERATION
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork, Slot
from sarrus.kernels.memory.geometry_layout import ContactPoint, GeometryTable, GeometryWork, StoredContact
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.local_layout import local_array
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import contact_point_at, force_inline, internal, stored_contact_at


@force_inline
def work_of(table: Table):
    """Return the workspace of the geometries."""
    contact_table = table.contact_table
    return cl.geometry_work(contact_table.geometry, tl.row_count(contact_table), table.nv)


@internal
def meet(table: Table, x: Floats, h: float, begun: Slot, work: ContactWork):
    """Write the contacts of a step, their rows and gaps to the workspace; return False if they exceed its room.

    The rows at the end of the step are evaluated at the configuration that the velocity at the start leads to, held
    in ``local.state``.
    """
    contact_table = table.contact_table
    geometry, room, state = contact_table.geometry, work_of(table), local_array(table).state
    call_native(geometry.motion, work.middle, room.motion)
    margin = _reach(table, geometry, room, work.middle + table.nq, h)
    place(geometry, work.middle, room.places)
    count = collide(geometry, margin, room.found)
    if count == FULL:
        return _without_room(contact_table)
    contact_table.found = count
    _number(contact_table, room, count)
    for k in range(count):
        seen = contact_point_at(room.found + cl.N_SEEN * k)
        row = contact_table.first_rows[tl.lasting_contacts(contact_table) + k]
        fill_contact_rows(geometry, room, room.motion, room.parts, room.own, row, seen, seen)
    copy(x, state, la.input_size(table))
    state[table.nq + table.nv + table.nu] += h
    copy_scaled(h, x + table.nq, work.way, table.nv)
    retract(table, state, work.way, work.scratch)
    call_native(geometry.motion, state, room.ahead)
    place(geometry, state, room.places)
    later = collide(geometry, margin, room.later)
    if later == FULL:
        return _without_room(contact_table)
    _turn_rows(table, room, count, later)
    _recall(table, h, begun, work, room, count)
    _fill_fixed(table, room)
    _begin_impulses(table, h, begun, work)
    room.ready[0] = 0.0
    return True


@internal
def _begin_impulses(table: Table, h: float, begun: Slot, work: ContactWork):
    """Write the initial impulses of the contact problem, h times the lasting forces, to ``work.begin``."""
    copy_scaled(h, begun.lasting, work.begin, rows_now(table.contact_table))


@internal
def _without_room(contact_table: ContactTable):
    """Set the failure `NO_ROOM` and zero contacts; return False."""
    contact_table.failed, contact_table.found = tl.NO_ROOM, 0
    return False


@internal
def _reach(table: Table, geometry: GeometryTable, room: GeometryWork, v: Floats, h: float):
    """Return the largest distance [m] of two geometries that may come into contact within a step of length h."""
    fastest = 0.0
    for b in range(geometry.bodies):
        own, n, first = room.motion + geometry.offsets[b], width_of(geometry, b), 0
        linear, angular = 0.0, 0.0
        if n > 0:
            first = geometry.starts[geometry.owners[b]]
        for i in range(6):
            speed = own[i]
            for j in range(n):
                speed += own[6 + i * n + j] * v[geometry.order[first + j]]
            if i < 3:
                linear += speed * speed
            else:
                angular += speed * speed
        fastest = max(fastest, np.sqrt(linear) + geometry.extents[b] * np.sqrt(angular))
    return 2.0 * h * (fastest + h * SUDDEN_ACCELERATION) + 10.0 * table.contact_table.settings.closed


@internal
def _number(contact_table: ContactTable, room: GeometryWork, count: int):
    """Write first row, number of rows, friction and restitution coefficients of each contact to the contact table."""
    geometry, base, row = (
        contact_table.geometry,
        tl.lasting_contacts(contact_table),
        tl.fixed_rows(contact_table),
    )
    for k in range(count):
        pair = int(room.found[cl.N_SEEN * k])
        contact_table.first_rows[base + k] = row
        contact_table.sizes[base + k] = geometry.widths[pair]
        contact_table.friction[base + k] = geometry.friction[pair]
        contact_table.static[base + k] = geometry.static[pair]
        contact_table.restitution[base + k] = geometry.restitution[pair]
        row += geometry.widths[pair]


@internal
def _turn_rows(table: Table, room: GeometryWork, count: int, later: int):
    """Write the change of the rows from the middle to the end of the step; zero for contacts that have gone there."""
    contact_table, first = table.contact_table, 0
    geometry, base = contact_table.geometry, tl.lasting_contacts(contact_table)
    for k in range(count):
        seen = contact_point_at(room.found + cl.N_SEEN * k)
        at, first = nearest(seen, first, room.later, cl.N_SEEN, later)
        row, width = contact_table.first_rows[base + k], contact_table.sizes[base + k]
        size, start = 2 * width * geometry.widest, 2 * row * geometry.widest
        end = contact_point_at(room.later + cl.N_SEEN * max(at, 0))
        aligned = seen.nx * end.nx + seen.ny * end.ny + seen.nz * end.nz
        if at < 0 or aligned < SAME_NORMAL:
            fill(room.turned + start, 0.0, size)
            fill(room.own_turned + row, 0.0, width)
            continue
        fill_contact_rows(geometry, room, room.ahead, room.turned, room.own_turned, row, end, seen)
        axpy(-1.0, room.parts + start, room.turned + start, size)
        axpy(-1.0, room.own + row, room.own_turned + row, width)


@internal
def _recall(table: Table, h: float, begun: Slot, work: ContactWork, room: GeometryWork, count: int):
    """Write the gaps at the start of the step to ``work.gap`` and the stored lasting forces to ``begun.lasting``."""
    contact_table, first = table.contact_table, 0
    geometry, base, many = contact_table.geometry, tl.lasting_contacts(contact_table), int(begun.facts.kept)
    v, closed = work.middle + table.nq, contact_table.settings.closed
    for k in range(count):
        seen = contact_point_at(room.found + cl.N_SEEN * k)
        row, width = contact_table.first_rows[base + k], contact_table.sizes[base + k]
        rate = along_parts(geometry, room, room.parts, row, v) + room.own[row]
        turn = along_parts(geometry, room, room.turned, row, v) + room.own_turned[row]
        begin = seen.gap - 0.5 * h * (rate - 0.5 * turn)
        fill(begun.lasting + row, 0.0, width)
        at, first = nearest(seen, first, begun.kept, cl.N_KEPT, many)
        work.gap[base + k] = begin
        if at < 0:
            continue
        kept = stored_contact_at(begun.kept + cl.N_KEPT * at)
        doubt = abs(kept.gap - begin)
        alone = _is_alone(begun.kept, cl.N_KEPT, many, at, room.found, count, k)
        if doubt > 0.5 * h * abs(rate) + JUMP_OF_GAP * closed and not alone:
            continue
        work.gap[base + k] = kept.gap
        if kept.lasts != 0.0:
            _resolve(geometry, seen, kept, width, begun.lasting + row)


@internal
def _is_alone(others: Floats, width: int, many: int, at: int, found: Floats, count: int, k: int):
    """Return True if a pair has a single contact: record k of ``found`` and record ``at`` of ``others``.

    The records of ``others`` have ``width`` numbers; ``many`` is their number.
    """
    alone = True
    if at > 0:
        alone = alone and others[width * (at - 1)] != others[width * at]
    if at + 1 < many:
        alone = alone and others[width * (at + 1)] != others[width * at]
    if k > 0:
        alone = alone and found[cl.N_SEEN * (k - 1)] != found[cl.N_SEEN * k]
    if k + 1 < count:
        alone = alone and found[cl.N_SEEN * (k + 1)] != found[cl.N_SEEN * k]
    return alone


@internal
def _resolve(geometry: GeometryTable, seen: ContactPoint, kept: StoredContact, width: int, out: Floats):
    """Write the components of a stored force and moment along the rows of a contact to ``out``."""
    pair = int(seen.pair)
    nx, ny, nz = seen.nx, seen.ny, seen.nz
    tx, ty, tz = tangent(nx, ny, nz)
    sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    out[0] = kept.fx * nx + kept.fy * ny + kept.fz * nz
    if width > 1:
        out[1] = kept.fx * tx + kept.fy * ty + kept.fz * tz
        out[2] = kept.fx * sx + kept.fy * sy + kept.fz * sz
    if width == 4 or width == 6:
        out[3] = (kept.mx * nx + kept.my * ny + kept.mz * nz) / geometry.torsion[pair]
    if width > 4:
        out[width - 2] = (kept.mx * tx + kept.my * ty + kept.mz * tz) / geometry.rolling[pair]
        out[width - 1] = (kept.mx * sx + kept.my * sy + kept.mz * sz) / geometry.rolling[pair]


@internal
def keep_contacts(table: Table, h: float, m: int, kept: Slot, work: ContactWork):
    """Write the contacts, their gaps at the end of the step and the forces of m active rows to the slot ``kept``."""
    contact_table = table.contact_table
    geometry, room, base = contact_table.geometry, work_of(table), tl.lasting_contacts(contact_table)
    kept.facts.kept = contact_table.found
    for k in range(contact_table.found):
        seen, own = contact_point_at(room.found + cl.N_SEEN * k), stored_contact_at(kept.kept + cl.N_KEPT * k)
        copy(seen, own, cl.N_SEEN)
        fill(kept.kept + (cl.N_KEPT * k + cl.N_SEEN), 0.0, cl.N_KEPT - cl.N_SEEN)
        own.gap = work.after[base + k]
    for i in range(m):
        k = int(work.owner[i]) - base
        if k < 0:
            continue
        own, row = stored_contact_at(kept.kept + cl.N_KEPT * k), int(work.which[i])
        force, which, pair = work.impulses[i] / h, row - contact_table.first_rows[base + k], int(own.pair)
        if geometry.widths[pair] == 5 and which > 2:  # no torsion
            which += 1
        nx, ny, nz = own.nx, own.ny, own.nz
        tx, ty, tz = tangent(nx, ny, nz)
        if which == 2 or which == 5:
            tx, ty, tz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
        elif which == 0 or which == 3:
            tx, ty, tz = nx, ny, nz
        if which < 3:
            own.fx += force * tx
            own.fy += force * ty
            own.fz += force * tz
        else:
            force *= geometry.torsion[pair] if which == 3 else geometry.rolling[pair]
            own.mx += force * tx
            own.my += force * ty
            own.mz += force * tz
        own.lasts = work.lasts[i]


@internal
def find_gaps(table: Table, x: Floats, h: float, out: Floats):
    """Write the gaps [m] at x, the end of a step, of the contacts found at its middle to ``out``.

    A contact that is not found at x has the gap at the middle plus the displacement along its normal row.
    """
    contact_table, first = table.contact_table, 0
    geometry, room, base = contact_table.geometry, work_of(table), tl.lasting_contacts(contact_table)
    place(geometry, x, room.places)
    margin = 0.0
    for k in range(contact_table.found):
        margin = max(margin, room.found[cl.N_SEEN * k + 1])
    later = collide(geometry, 2.0 * margin + 10.0 * contact_table.settings.closed, room.later)
    for k in range(contact_table.found):
        seen, row = contact_point_at(room.found + cl.N_SEEN * k), contact_table.first_rows[base + k]
        at, first = nearest(seen, first, room.later, cl.N_SEEN, max(later, 0))
        change = along_parts(geometry, room, room.parts, row, room.moved) + 0.5 * h * room.own[row]
        out[k] = seen.gap + change
        if at < 0:
            continue
        end = contact_point_at(room.later + cl.N_SEEN * at)
        if seen.nx * end.nx + seen.ny * end.ny + seen.nz * end.nz < SAME_NORMAL:
            continue
        doubt = abs(end.gap - out[k]) - 0.5 * abs(change) - JUMP_OF_GAP * contact_table.settings.closed
        if doubt <= 0.0 or _is_alone(
            room.later, cl.N_SEEN, max(later, 0), at, room.found, contact_table.found, k
        ):
            out[k] = end.gap


@internal
def note_way(table: Table, way: Floats, factor: float, begin: bool):
    """Add ``factor`` times the displacement ``way`` to the displacement since the middle of the step, ``room.moved``.

    ``begin`` sets the displacement to zero first.
    """
    room = work_of(table)
    if begin:
        fill(room.moved, 0.0, table.nv)
    axpy(factor, way, room.moved, table.nv)


@internal
def _fill_fixed(table: Table, room: GeometryWork):
    """Write the components of all fixed rows, and the parts of the rows of stops and dry friction."""
    contact_table = table.contact_table
    geometry, contact_rows = contact_table.geometry, contact_table.contact_rows
    for row in range(tl.fixed_rows(contact_table)):
        for s in range(2):
            room.shared[2 * row + s] = geometry.shared[2 * row + s]
        if row < contact_rows:
            continue
        own, part = row - contact_rows, room.parts + 2 * row * geometry.widest
        fill(part, 0.0, 2 * geometry.widest)
        c = int(room.shared[2 * row])
        for j in range(geometry.starts[c + 1] - geometry.starts[c]):
            if geometry.order[geometry.starts[c] + j] == contact_table.speeds[own]:
                part[j] = contact_table.signs[own] if own < contact_table.stops else 1.0


@internal
def load_rates(table: Table, h: float, work: ContactWork):
    """Write the velocity and the bias of each contact row at the middle of the step to ``room.rates``, ``room.bias``.

    Rows of plane contacts are copied from the native function, with their parts.
    """
    contact_table, nv, v = table.contact_table, table.nv, work.middle + table.nq
    geometry, room, contact_rows = contact_table.geometry, work_of(table), contact_table.contact_rows
    for row in range(contact_rows):
        native = work.native + (2 * contact_rows + row * nv)
        room.rates[row], room.bias[row] = work.native[row], work.native[contact_rows + row]
        for s in range(2):
            c = int(room.shared[2 * row + s])
            part = room.parts + (2 * row + s) * geometry.widest
            if c >= 0:
                for j in range(geometry.starts[c + 1] - geometry.starts[c]):
                    part[j] = native[geometry.order[geometry.starts[c] + j]]
    for row in range(tl.fixed_rows(contact_table), rows_now(contact_table)):
        room.rates[row] = along_parts(geometry, room, room.parts, row, v) + room.own[row]
        turn = along_parts(geometry, room, room.turned, row, v) + room.own_turned[row]
        room.bias[row] = 2.0 / h * turn


@internal
def rows_now(contact_table: ContactTable):
    """Return the number of rows (contacts, stops, dry friction) of the present step."""
    if contact_table.found == 0:
        return tl.fixed_rows(contact_table)
    last = tl.unilateral_count(contact_table) - 1
    return contact_table.first_rows[last] + contact_table.sizes[last]


@internal
def compliance_of_row(geometry: GeometryTable, room: GeometryWork, row: int):
    """Write the compliance column of a row to ``room.compliance_column``, in parts: its acceleration by a unit force.

    Needs the compliance of the velocities, ``room.block``.
    """
    for s in range(2):
        c = int(room.shared[2 * row + s])
        if c < 0:
            continue
        n, at = geometry.starts[c + 1] - geometry.starts[c], (2 * row + s) * geometry.widest
        block = room.block + geometry.blocks[c]
        for i in range(n):
            room.compliance_column[at + i] = dot(block + i * n, room.parts + at, n)
