"""Smooth phases of motion with contacts, stops and dry friction, between the events at which a mode changes.

The normal row of a closed contact or stop is held, H a + Ḣ v = 0; the tangential rows are held, too, if the contact
sticks. A sliding contact has the friction force r_t = −μ r_n u_t/‖u_t‖. With K the compliance of the mechanism with
its loops closed (accelerations by generalized forces),

    a = a_f + K Rᵀ r,    H K Rᵀ r = −(H a_f + Ḣ v),

R the held rows H, normal rows with their sliding friction. The forces of redundant rows are the solution nearest to
the forces at the start of the phase, which obey the laws of contact; each block of rows is measured in units in which
it is of size one. Rows that the constraints hold, H K Hᵀ = 0 but for rounding, have no force. Past the instant at
which a contact stops, its friction keeps the direction as if the contact slid on: the field of a phase is smooth
across its end.
"""

from __future__ import annotations

from sarrus.kernels.algebra.dense import eliminate
from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.contact.compliance import find_columns
from sarrus.kernels.contact.rows import (
    add_force,
    add_row,
    along,
    find_slot,
    follow_back,
    free_response,
    hurry_of,
    is_held,
    load_gaps,
    scale_of,
    scale_of_row,
)
from sarrus.kernels.contact.slow_slip import add_slow_rows, begin_speed, friction_slip, steer, steered_block
from sarrus.kernels.integrate.stepping import set_control
from sarrus.kernels.integrate.tolerances import (
    COUPLED_CONTACTS,
    EXACT_GAP_OF_MODES,
    EXACT_SPEED_OF_MODES,
    HELD_ACCELERATION,
    MODES_CORRECTIONS,
    MODES_REFINED,
    MODES_REFINEMENTS,
    MODES_RIDGE,
    MOST_MODES_REFINEMENTS,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal


def mode_acceleration(table: Table, x: Floats, level: int) -> int:
    """Write the acceleration at x with the forces of closed contacts and dry friction; return the rank, or −1."""
    contact_table, nq, nv, size = table.contact_table, table.nq, table.nv, la.input_size(table)
    if contact_table.n_active == 0:
        return call_kernel(contact_table.inner, table, x, level)
    work, found = tl.contact_work(contact_table, nq, nv, size), contact_table.forces
    fill(found, 0.0, tl.row_count(contact_table))
    contact_table.settings.power = 0.0
    m = hold_rows(contact_table, work)
    if m == 0 and not _rubs(contact_table):
        return call_kernel(contact_table.inner, table, x, level)
    copy(x, work.middle, size)
    tau = work.middle + (size - nv)
    if contact_table.contact_rows > 0:
        call_native(contact_table.motion, x, work.native)
    _rub(table, tau, work)
    rank = _find_forces(table, m, work)
    if rank < 0:
        return -1
    for i in range(m):
        row = int(work.which[i])
        found[row] = work.impulses[i]
        if work.delassus[i * (m + 1)] == 0.0 and work.given[i] != 0.0:
            found[row] = _beyond(contact_table, row, int(work.owner[i]), work.given[i])
        for j in range(row + 1, row + contact_table.widths[row]):
            if work.drag[j] != 0.0:
                found[j] = work.drag[j] * work.impulses[i]
    contact_table.settings.power = _power(table, x, work)
    if level != la.SLOPE:
        for i in range(m):
            add_force(table, work, int(work.which[i]), work.impulses[i], tau)
        if level >= la.PIVOTS:
            _note(table, x, m, work)
        return call_kernel(contact_table.inner, table, work.middle, level)
    a = la.workspace(table).a
    copy(work.free, a, nv)
    for i in range(m):
        axpy(work.impulses[i], work.response + int(work.which[i]) * nv, a, nv)
    return rank


def mode_projection(table: Table, x: Floats, level: int) -> int:
    """Project q and v of x on the constraints, closed contacts and closed stops; return the rank, −1 on failure."""
    contact_table, nq, nv, size = table.contact_table, table.nq, table.nv, la.input_size(table)
    rank = 0
    if table.nc > 0 or level == la.CONSTRAINTS_AND_INVARIANTS:
        rank = call_kernel(contact_table.projection, table, x, level)
    if rank < 0 or contact_table.n_active == 0:
        return rank
    work = tl.contact_work(contact_table, nq, nv, size)
    m = hold_rows(contact_table, work)
    if m == 0:
        return rank
    fill(work.drag, 0.0, tl.row_count(contact_table))
    for _ in range(MODES_CORRECTIONS):
        copy(x, work.middle, size)
        if contact_table.contact_rows > 0:
            call_native(contact_table.motion, x, work.native)
        load_gaps(contact_table, x, work.gap)
        if contact_table.held_gaps != 0:
            call_native(contact_table.held_gaps, x, work.gap)
        slow, near = _measure(table, x, m, work)
        if slow and (near or level == la.VELOCITIES):
            break
        if _assemble(table, m, work) < 0 or not _solve(table, m, work):
            return -1
        fill(work.way, 0.0, nv)
        for i in range(m):
            row, k = int(work.which[i]), int(work.owner[i])
            gap = work.gap[k] if k >= 0 and row == contact_table.first_rows[k] else 0.0
            work.begin[i], work.velocity[i] = -_speed(table, x, work, row), -gap
        for i in range(m):
            response = work.response + int(work.which[i]) * nv
            axpy(dot(work.inverse + i * m, work.begin, m), response, x + nq, nv)
            axpy(dot(work.inverse + i * m, work.velocity, m), response, work.way, nv)
        if level != la.VELOCITIES:
            retract(table, x, work.way, work.scratch)
    return rank


def mode_probe(table: Table, x: Floats, m: int) -> int:
    """Write the gaps and the velocities of all rows at x for `sarrus.motion.contacts.event_driven`; return the rank.

    Bounds of coordinates that began beyond them follow first. For the first m rows at ``which`` it also writes W,
    their compliance columns and their accelerations without contact forces (sliding dry friction included). Returns 0
    if m is 0, −1 if a number is not finite.
    """
    return probe(table, x, m)


@internal
def probe(table: Table, x: Floats, m: int):
    """Do what `mode_probe` does."""
    contact_table, nq, nv, size = table.contact_table, table.nq, table.nv, la.input_size(table)
    work = tl.contact_work(contact_table, nq, nv, size)
    follow_back(table, x, False)
    if m > 0:
        set_control(table, x, la.workspace(table))
    copy(x, work.middle, size)
    if contact_table.contact_rows > 0:
        call_native(contact_table.motion, x, work.native)
    load_gaps(contact_table, x, work.gap)
    for row in range(tl.row_count(contact_table)):
        work.velocity[row] = _speed(table, x, work, row)
    if m == 0:
        return 0
    _rub(table, work.middle + (size - nv), work)
    fill(work.drag, 0.0, tl.row_count(contact_table))
    return _assemble(table, m, work)


@internal
def hold_rows(contact_table: ContactTable, work: ContactWork):
    """Write the held rows to ``work.which`` and the block of each to ``work.owner``; return their number."""
    m, unilateral = 0, contact_table.contacts + contact_table.stops
    for k in range(unilateral):
        if contact_table.modes[k] == tl.OPEN:
            continue
        row, n = contact_table.first_rows[k], 1
        if k < contact_table.contacts and contact_table.modes[k] == tl.STICKING:
            n = contact_table.sizes[k]
        for j in range(n):
            work.which[m], work.owner[m] = row + j, k
            m += 1
    for d in range(contact_table.dry):
        if contact_table.modes[unilateral + d] == tl.STICKING:
            work.which[m], work.owner[m] = tl.row_of_dry(contact_table, d), -1
            m += 1
    return m


@internal
def _beyond(contact_table: ContactTable, row: int, k: int, given: float):
    """Return a friction force for a sticking row that the constraints move: twice its limit, which ends the phase.

    It is 0 for a normal row.
    """
    if k < 0:
        most = contact_table.limits[tl.dry_of_row(contact_table, row)]
    elif row > contact_table.first_rows[k]:
        most = contact_table.static[k] * contact_table.forces[contact_table.first_rows[k]]
    else:
        return 0.0
    return -2.0 * most if given > 0.0 else 2.0 * most


@internal
def _rubs(contact_table: ContactTable):
    """Return True if a joint or a length with dry friction slides."""
    rubs = False
    for d in range(contact_table.dry):
        rubs = rubs or contact_table.modes[contact_table.contacts + contact_table.stops + d] != tl.STICKING
    return rubs


@internal
def _rub(table: Table, tau: Floats, work: ContactWork):
    """Write the friction of sliding contacts over their normal force to ``work.drag``; add dry friction to τ."""
    contact_table = table.contact_table
    fill(work.drag, 0.0, tl.row_count(contact_table))
    for k in range(contact_table.contacts):
        if contact_table.modes[k] != tl.SLIDING:
            continue
        # The direction of a single slow contact follows from the held rows, see `_assemble_steered`.
        row = contact_table.first_rows[k]
        size = friction_slip(contact_table, k, work.native + (row + 1), work.drag + (row + 1))
        for j in range(row + 1, row + contact_table.sizes[k]):
            part = work.drag[j] / size if size > 0.0 else contact_table.directions[j]
            work.drag[j] = -contact_table.friction[k] * part
    for d in range(contact_table.dry):
        if contact_table.modes[contact_table.contacts + contact_table.stops + d] == tl.SLIDING:
            row = tl.row_of_dry(contact_table, d)
            contact_table.forces[row] = -contact_table.limits[d] * contact_table.directions[row]
            add_row(table, work, row, contact_table.forces[row], tau)


@internal
def _assemble(table: Table, m: int, work: ContactWork):
    """Write the compliance columns and W of the m rows at ``which``; return the rank, −1 if not finite.

    Also writes the acceleration without forces on these rows, ``work.free``, and its components along the rows.
    """
    contact_table, nv, rows = table.contact_table, table.nv, tl.row_count(table.contact_table)
    rank = call_kernel(contact_table.inner, table, work.middle, la.SLOPE)
    if rank < 0:
        return -1
    copy(la.workspace(table).a, work.free, nv)
    fill(work.known, 0.0, rows)
    find_columns(table, m, work)
    for i in range(m):
        row = int(work.which[i])
        bias = work.native[contact_table.contact_rows + row] if row < contact_table.contact_rows else 0.0
        work.given[i] = along(table, work, row, work.free) + bias
    _load_operator(table, m, work)
    hurry = hurry_of(table, work)
    for i in range(m):
        if work.delassus[i * (m + 1)] == 0.0:
            _, reach = free_response(table, work, int(work.which[i]))
            if abs(work.given[i]) <= HELD_ACCELERATION * hurry * reach:
                work.given[i] = 0.0
    return rank if is_finite(work.delassus, m * m) and is_finite(work.given, m) else -1


@internal
def _load_operator(table: Table, m: int, work: ContactWork):
    """Write W (m × m) of the first m rows at ``which`` from their compliance columns.

    Rows that the constraints hold have zeros.
    """
    nv = table.nv
    for i in range(m):
        for j in range(m):
            response = work.response + int(work.which[j]) * nv
            work.delassus[i * m + j] = along(table, work, int(work.which[i]), response)
    for i in range(m):
        if is_held(table, work, int(work.which[i]), work.delassus[i * (m + 1)]):
            for j in range(m):
                work.delassus[i * m + j] = work.delassus[j * m + i] = 0.0


@internal
def _assemble_steered(table: Table, m: int, work: ContactWork):
    """Write W and the row accelerations of the m held rows; return the rank, −1 on failure.

    The friction direction of a slow contact is found first; ``work.owner`` is −1 at its first row if there is none.
    """
    nv, count = table.nv, add_slow_rows(table.contact_table, m, work)
    rank = _assemble(table, count, work)
    if rank < 0 or count == m:
        return rank
    found = steer(table.contact_table, m, count, work)
    normal = int(work.which[int(work.owner[m])])
    for i in range(m, count):
        row = int(work.which[i])
        axpy(work.drag[row], work.response + row * nv, work.response + normal * nv, nv)
    _load_operator(table, m, work)
    if not found:
        work.owner[m] = -1.0
    return rank


@internal
def _find_forces(table: Table, m: int, work: ContactWork):
    """Write the forces that hold the m rows at ``which``, and the inverse of W; return the rank, −1 if singular."""
    rank = _assemble_steered(table, m, work)
    return -1 if rank < 0 or not _solve(table, m, work) else rank


@internal
def _solve(table: Table, m: int, work: ContactWork):
    """Write the forces for given W and row accelerations, and the inverse of W; return False if W is singular."""
    copy(work.delassus, work.matrix, m * m)
    fill(work.inverse, 0.0, m * m)
    _load_sizes(table.contact_table.contacts, m, work)
    for i in range(m):
        held = work.delassus[i * (m + 1)] == 0.0
        work.matrix[i * (m + 1)] += 1.0 if held else MODES_RIDGE * work.left[i]
        work.inverse[i * (m + 1)] = 0.0 if held else 1.0
    if eliminate(work.matrix, work.inverse, m, m) != 0:
        return False
    for i in range(m):
        held = work.delassus[i * (m + 1)] == 0.0
        work.impulses[i] = 0.0 if held else table.contact_table.start_forces[int(work.which[i])]
    for n in range(MOST_MODES_REFINEMENTS):
        size = left = 0.0
        for i in range(m):
            work.left[i] = -work.given[i] - dot(work.delassus + i * m, work.impulses, m)
            size, left = max(size, abs(work.given[i])), max(left, abs(work.left[i]))
        if n >= MODES_REFINEMENTS and not left > MODES_REFINED * size:
            break
        for i in range(m):
            work.impulses[i] += dot(work.inverse + i * m, work.left, m)
    return is_finite(work.impulses, m)


@internal
def _load_sizes(contacts: int, m: int, work: ContactWork):
    """Write the unit of the ridge of each held row to ``left``: the sum of the diagonal entries of W of its block.

    Coupled contacts have the largest unit among them. With W Z = 0 for forces Z that cause no acceleration, Zᵀ r then
    keeps its value of the start of the phase, so that the forces of redundant rows follow from the state.
    """
    i = 0
    while i < m:
        end, size = i, 0.0
        while end < m and (end == i or (work.owner[end] == work.owner[i] and work.owner[i] >= 0.0)):
            size += abs(work.delassus[end * (m + 1)])
            end += 1
        fill(work.left + i, size, end - i)
        i = end
    grows = True
    while grows:
        grows = False
        for i in range(m):
            if not 0.0 <= work.owner[i] < contacts or work.delassus[i * (m + 1)] == 0.0:
                continue
            for j in range(m):
                if work.left[j] > work.left[i] and 0.0 <= work.owner[j] < contacts:
                    both = work.delassus[i * (m + 1)] * work.delassus[j * (m + 1)]
                    if work.delassus[i * m + j] ** 2 > COUPLED_CONTACTS**2 * abs(both):
                        work.left[i], grows = work.left[j], True


@internal
def _speed(table: Table, x: Floats, work: ContactWork, row: int):
    """Return the velocity of a row at x."""
    return (
        work.native[row] if row < table.contact_table.contact_rows else along(table, work, row, x + table.nq)
    )


@internal
def _measure(table: Table, x: Floats, m: int, work: ContactWork):
    """Return whether the velocities of the m held rows are within tolerance, and whether their gaps are."""
    settings, slow, near = table.contact_table.settings, True, True
    for i in range(m):
        k = int(work.owner[i])
        row = int(work.which[i])
        scale = scale_of_row(table.contact_table, row)
        slow = (
            slow and abs(_speed(table, x, work, row)) <= EXACT_SPEED_OF_MODES * settings.stick_speed * scale
        )
        near = near and (
            k < 0
            or abs(work.gap[k]) <= EXACT_GAP_OF_MODES * settings.closed * scale_of(table.contact_table, k)
        )
    return slow, near


@internal
def _power(table: Table, x: Floats, work: ContactWork):
    """Return the power [W] of all forces on rows at x; the power of friction is negative."""
    power = 0.0
    for row in range(tl.row_count(table.contact_table)):
        if table.contact_table.forces[row] != 0.0:
            power += table.contact_table.forces[row] * _speed(table, x, work, row)
    return power


@internal
def _note(table: Table, x: Floats, m: int, work: ContactWork):
    """Write the power at x to the slot of the step that ended there, and the slip directions to the contact table."""
    contact_table, found = table.contact_table, find_slot(table, x)
    if found >= 0:
        tl.slot(contact_table, table.nv, found).facts.power = contact_table.settings.power
    alone = steered_block(contact_table, m, work)
    steered = int(work.owner[alone]) if alone >= 0 and work.owner[m] >= 0.0 else -1
    for k in range(contact_table.contacts):
        if contact_table.modes[k] != tl.SLIDING or contact_table.friction[k] == 0.0:
            continue
        row, square = contact_table.first_rows[k], 0.0
        for j in range(row + 1, row + contact_table.sizes[k]):
            square += work.native[j] ** 2
        if k != steered and square < (2.0 * begin_speed(contact_table)) ** 2:
            continue  # the direction stays, so that the field of the phase is one in all its steps
        for j in range(row + 1, row + contact_table.sizes[k]):
            contact_table.directions[j] = -work.drag[j] / contact_table.friction[k]
