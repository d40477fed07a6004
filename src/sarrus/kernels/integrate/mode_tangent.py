"""Contributions of contacts, stops and dry friction to the exact linear model of a smooth phase in local coordinates.

With R the held rows H, normal rows with their sliding friction, and r the forces on the held rows, a change
(δq, δv, δt) along a coordinate changes the motion by

    δF = −δ(Rᵀ) r,    δa = δa_f + K Rᵀ δr,    H δa_f + δ(H a + Ḣ v) + W δr = 0,    W = H K Rᵀ,

δa_f the change at constant r. The friction direction d of `sarrus.kernels.integrate.contact_modes` follows the slip
u, δd = (1 − d dᵀ) δu / ‖u‖; for a slow slip see `sarrus.kernels.integrate.slow_slip_tangent`. Rows of stops and of dry
friction are constant.
"""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact.rows import along, note_end, row_of
from sarrus.kernels.contact.slow_slip import begin_speed, friction_slip
from sarrus.kernels.integrate.contact_modes import hold_rows
from sarrus.kernels.integrate.slow_slip_tangent import load_steering, slow_contact, turn_steered
from sarrus.kernels.integrate.tolerances import MODES_REFINEMENTS
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork, PhaseTangent
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.local_layout import LocalArray
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal

# Returned in place of a number of held rows if no contact is closed and no dry friction acts.
NOTHING_ACTS = -1


@internal
def acts(table: Table):
    """Return True if a contact or stop is closed or dry friction acts, in a run by events."""
    return table.n_event_functions > 0 and exists(table.contact_table) and table.contact_table.n_active > 0


@internal
def _tangent(table: Table):
    return tl.phase_tangent(table.contact_table, table, la.input_size(table))


@internal
def particular_change(table: Table):
    """Return the array (nv) for A⁺ of the change of the constraints, which `add_held` reads."""
    return _tangent(table).particular


@internal
def load_tangent(table: Table, local: LocalArray):
    """Write the derivatives of contacts at the start of a step; return the number of held rows.

    The acceleration of the phase must have been found there just before. Returns `NOTHING_ACTS` if no contact is
    closed and no dry friction acts.
    """
    if not acts(table):
        return NOTHING_ACTS
    contact_table, size = table.contact_table, la.input_size(table) + table.nv
    own, work = _tangent(table), tl.contact_work(contact_table, table.nq, table.nv, size - table.nv)
    own.power[0] = contact_table.settings.power
    fill(own.spent, 0.0, 2 * table.nv + 1)
    if contact_table.contact_rows > 0:
        copy(local.start, own.input, size)
        copy(contact_table.forces, own.input + size, contact_table.contact_rows)
        call_native(contact_table.tangent, own.input, own.force_q)
    m, slow = hold_rows(contact_table, work), slow_contact(contact_table, work)
    steered = slow >= 0 and load_steering(table, m, slow, local.start + (size - table.nv), own, work)
    own.steered[0] = slow if steered else -1.0
    return m


@internal
def add_force_changes(table: Table, place: Floats, way: Floats, placed: bool, in_time: bool, force: Floats):
    """Subtract the derivative of Rᵀ r along (place, way), at constant r, from ``force`` (nv).

    Also writes the derivatives of the row velocities and of the drags.
    """
    contact_table, nv = table.contact_table, table.nv
    own, work = _tangent(table), tl.contact_work(contact_table, table.nq, nv, la.input_size(table))
    rows, contact_rows, wide = tl.row_count(contact_table), contact_table.contact_rows, nv + 1
    fill(own.drag, 0.0, rows)
    for row in range(rows):
        own.speeds[row] = along(table, work, row, way)
    for row in range(contact_rows):
        own.speeds[row] += _change(own.slip_q + row * wide, place, placed, in_time, nv)
    if placed or in_time:
        for i in range(nv if contact_table.contact_rows > 0 else 0):
            force[i] -= _change(own.force_q + i * wide, place, placed, in_time, nv)
    for k in range(contact_table.contacts):
        if (
            contact_table.modes[k] != tl.SLIDING
            or contact_table.friction[k] == 0.0
            or contact_table.sizes[k] < 3
        ):
            continue
        row = contact_table.first_rows[k]
        _turn(contact_table, k, own, work)
        for j in range(row + 1, row + contact_table.sizes[k]):
            axpy(-contact_table.forces[row] * own.drag[j], row_of(table, work, j), force, nv)


@internal
def _change(derivatives: Floats, place: Floats, placed: bool, in_time: bool, nv: int):
    """Return the directional derivative of a number, from its derivatives by place (nv) and time."""
    change = derivatives[nv] if in_time else 0.0
    return change + dot(derivatives, place, nv) if placed else change


@internal
def _turn(contact_table: ContactTable, k: int, own: PhaseTangent, work: ContactWork):
    """Write the derivative of the drag of a sliding contact, given the derivatives of its row velocities."""
    row, n, still = contact_table.first_rows[k] + 1, contact_table.sizes[k] - 1, begin_speed(contact_table)
    slip, way, ahead = work.native + row, contact_table.directions + row, own.left
    change, drag, across = own.speeds + row, own.drag + row, 0.0
    if own.steered[0] == k:
        return
    size = friction_slip(contact_table, k, slip, ahead)
    if not size > 0.0:
        return
    left = max(0.0, 1.0 - dot(slip, slip, n) / (2.0 * still) ** 2)
    fall = -left * dot(slip, change, n) / still
    if dot(slip, way, n) < 0.0:
        fall -= 2.0 * dot(change, way, n)
    for j in range(n):
        drag[j] = (change[j] + fall * way[j]) / size
        across += drag[j] * ahead[j] / size
    for j in range(n):
        drag[j] = -contact_table.friction[k] * (drag[j] - across * ahead[j] / size)


@internal
def add_held(
    table: Table, m: int, k: int, place: Floats, way: Floats, placed: bool, in_time: bool, local: LocalArray
):
    """Add the effect of the forces on the m held rows to ``local.change``, the derivative of η̇ along coordinate k.

    ``particular`` of the tangent holds A⁺ of the change of the constraints. Also writes the derivative of the power
    of all forces.
    """
    contact_table, nv, dof = table.contact_table, table.nv, table.nv - table.generic_rank
    own, work = _tangent(table), tl.contact_work(contact_table, table.nq, nv, la.input_size(table))
    for r in range(dof):
        axpy(local.change[r], local.motions + r * nv, own.particular, nv)
    for i in range(m):
        own.bias[i] = _change_of_row(table, int(work.which[i]), place, way, placed, in_time, own, work)
        own.forces[i] = 0.0
    fill(own.turned, 0.0, nv)
    if own.steered[0] >= 0.0:
        slow = int(own.steered[0])
        for j in range(1, contact_table.sizes[slow]):
            row = contact_table.first_rows[slow] + j
            own.bias[m + j - 1] = _change_of_row(table, row, place, way, placed, in_time, own, work)
        turn_steered(table, m, slow, own, work)
        for i in range(m):
            own.bias[i] += along(table, work, int(work.which[i]), own.turned)
    for _ in range(MODES_REFINEMENTS):
        for i in range(m):
            held = work.delassus[i * (m + 1)] == 0.0
            own.left[i] = 0.0 if held else -own.bias[i] - dot(work.delassus + i * m, own.forces, m)
        for i in range(m):
            own.forces[i] += dot(work.inverse + i * m, own.left, m)
    for i in range(m):
        axpy(own.forces[i], work.response + int(work.which[i]) * nv, own.turned, nv)
    for r in range(dof):
        local.change[r] += dot(local.motions + r * nv, own.turned, nv)
    own.spent[k] = _power_change(table, m, own, work)


@internal
def _change_of_row(
    table: Table,
    row: int,
    place: Floats,
    way: Floats,
    placed: bool,
    in_time: bool,
    own: PhaseTangent,
    work: ContactWork,
):
    """Return the derivative of the acceleration of a row, by the change ``particular`` of a and that of the row."""
    nv, change = table.nv, along(table, work, row, own.particular)
    if row >= table.contact_table.contact_rows:
        return change
    change += dot(own.bias_v + row * nv, way, nv)
    return change + _change(own.bias_q + row * (nv + 1), place, placed, in_time, nv)


@internal
def _power_change(table: Table, m: int, own: PhaseTangent, work: ContactWork):
    """Return the derivative of the power of all forces, by row velocities, friction directions and held forces."""
    contact_table, change = table.contact_table, 0.0
    for row in range(tl.row_count(contact_table)):
        change += contact_table.forces[row] * own.speeds[row]
    for k in range(contact_table.contacts):
        row = contact_table.first_rows[k]
        for j in range(row + 1, row + contact_table.sizes[k]):
            change += contact_table.forces[row] * own.drag[j] * work.native[j]
    for i in range(m):
        row = int(work.which[i])
        for j in range(row + 1, row + contact_table.widths[row]):
            if work.drag[j] != 0.0:
                change += own.forces[i] * work.drag[j] * work.native[j]
    return change


@internal
def stage_of_work(table: Table, stage: int, weights: Floats, slope: float, h: float, u: Floats, n: int):
    """Write the stage of the work of all forces, an additional coordinate on which no other coordinate depends.

    ``u`` (n) is the stage of the local coordinates, ``weights`` the row of C. The power at a stage is the power at
    the last acceleration.
    """
    own = _tangent(table)
    power = own.power[0] if stage == 0 else table.contact_table.settings.power
    value = h * (power + dot(own.spent, u, n) + h * slope * own.spent[n])
    value += dot(weights, own.stages, stage)
    own.stages[stage] = table.scheme[0] * value


@internal
def note_work(table: Table, time: float, h: float):
    """Write the end of a step of length h to its slot, with the work of all forces.

    The work is the sum of its stages times the weights m.
    """
    own, count = _tangent(table), table.n_implicit_stages
    ends = table.scheme + (1 + 2 * count * count + 2 * count)
    note_end(table, time, h, dot(ends, own.stages, count))
