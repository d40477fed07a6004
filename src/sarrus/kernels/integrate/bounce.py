"""A single contact or stop that hits and leaves again, while nothing else is closed, in runs by events.

The velocity after it is by Newton's law of restitution and Coulomb's law for impulses
(`sarrus.kernels.contact.lone_impulse`), with loops closed. Positions are corrected by the change of velocity times the
delay of the impulse, so that errors of the instants of impacts do not add up. `rebound` is for contacts that are
constraints, `bounce` for all others.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import axpy, dot, fill
from sarrus.kernels.contact.lone_impulse import find_lone_impulse, sticking_impulse
from sarrus.kernels.contact.rows import rest_speed_of, scale_of, still_speed
from sarrus.kernels.contact.tolerances import (
    CORRECTED_GAPS,
    DEPENDENT_CONTACT_PIVOT,
    IMPACT_GAP_ROUNDING,
    STILL,
)
from sarrus.kernels.integrate.contact_modes import probe
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import impact_layout as il
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.impact_layout import Rebound
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import factored_acceleration, kinetic_row


def bounce(table: Table, x: Floats, level: int) -> int:
    """Set q and v of x after the impact of the only block that touches; return its number, with −1: nothing is done.

    −1 if no block or several ones touch, or if the block does not rebound, has no simple impulse, or would be moved
    far. The kinetic energy lost [J] is written to ``contact_table.settings.bounced``. ``level`` is not used.
    """
    contact_table, nq, nv = table.contact_table, table.nq, table.nv
    work = tl.contact_work(contact_table, nq, nv, la.input_size(table))
    probe(table, x, 0)
    k = _only_one(contact_table, still_speed(table, x + nq), work)
    if k < 0:
        return -1
    row, m = contact_table.first_rows[k], contact_table.sizes[k]
    rate, gap = work.velocity[row], work.gap[k]
    rebound = -contact_table.restitution[k] * rate
    if rebound < rest_speed_of(contact_table, k):
        return -1
    for i in range(m):
        work.which[i], work.owner[i] = row + i, k
    if probe(table, x, m) < 0:
        return -1
    friction = contact_table.friction[k] if k < contact_table.contacts else 0.0
    W, u, found, late = work.delassus, work.velocity + row, work.impulses, work.left
    if not find_lone_impulse(W, u, m, rebound, friction, found, work.solver):
        return -1
    length = contact_table.settings.stick_speed / STILL
    fill(late, 0.0, m)
    if abs(gap) > IMPACT_GAP_ROUNDING * length * scale_of(contact_table, k):
        for i in range(m):
            late[i] = gap / rate * found[i]
        if abs(dot(W, late, m)) <= 2.0 * abs(gap) * (1.0 + CORRECTED_GAPS):
            _combine(row, m, nv, late, work, work.way)
            retract(table, x, work.way, work.scratch)
    loss = 0.0
    for i in range(m):
        loss -= 0.5 * found[i] * (2.0 * u[i] + dot(W + i * m, found, m))
    _combine(row, m, nv, found, work, work.way)
    axpy(1.0, work.way, x + nq, nv)
    contact_table.settings.bounced = loss
    return k


def rebound(table: Table, x: Rebound, level: int) -> int:
    """Set q and v of ``x.state`` after the impact of a contact that is a constraint, with Newton's law; return 0.

    The normal velocity becomes −e u_n, the tangential ones zero: Δv = M⁻¹JᵀΛ, J M⁻¹Jᵀ Λ = (−(1 + e) u_n, −u_t). It
    leaves from its plane. Loops stay closed. −1: nothing is done, as M has no factor, the loops hold the normal, rows
    are dependent, or the contact would have to pull or create energy. ``level`` is not used.
    """
    nv, m, work, state, facts = table.nv, x.width, la.workspace(table), x.state, x.facts
    rank = -1 if table.dynamics == 0 else factored_acceleration(table, state, work)
    if rank < 0:
        return -1
    room, rows, u, free = il.rebound_room(x), x.rows, x.velocities, 0.0
    for i in range(m):
        compliance = kinetic_row(table, rank, rows + i * nv, work)
        free = compliance if i == 0 else free
    for i in range(m):
        for j in range(m):
            room.delassus[i * m + j] = dot(rows + i * nv, rows + j * nv, nv)
    W, found, missing = room.delassus, room.impulse, -(1.0 + facts.restitution) * u[0]
    fill(room.zeros, 0.0, m)
    if not (
        DEPENDENT_CONTACT_PIVOT * free < W[0] < np.inf
        and sticking_impulse(W, u, m, missing, found, room.solver)
        and sticking_impulse(W, room.zeros, m, -facts.gap, room.shift, room.solver)
    ):
        return -1
    loss = 0.0
    for i in range(m):
        loss -= 0.5 * found[i] * (2.0 * u[i] + dot(W + i * m, found, m))
    if not (found[0] > 0.0 and loss >= 0.0):
        return -1
    fill(work.step, 0.0, nv)
    for i in range(m):
        fa.solve_l(work.mass, nv, rows + i * nv)
        axpy(room.shift[i], rows + i * nv, work.step, nv)
        axpy(found[i], rows + i * nv, state + table.nq, nv)
    retract(table, state, work.step, work.spare)
    facts.loss = loss
    return 0


@internal
def _only_one(contact_table: ContactTable, still: float, work: ContactWork):
    """Return the block that approaches with a closed gap, if no other block touches; else −1.

    ``still`` is the speed [m/s] of contacts that counts as zero.
    """
    settings, found = contact_table.settings, -1
    length = settings.stick_speed / STILL
    for k in range(tl.lasting_contacts(contact_table)):
        scale, rate = scale_of(contact_table, k), work.velocity[contact_table.first_rows[k]]
        gap, fast = work.gap[k], abs(rate) > still * scale
        if gap <= settings.closed / length * (length * scale + abs(rate)) or (
            not fast and gap <= settings.at_bound * scale
        ):
            if found >= 0 or not fast or rate > 0.0:
                return -1
            found = k
    return found


@internal
def _combine(row: int, m: int, nv: int, impulses: Floats, work: ContactWork, out: Floats):
    """Write the change of velocity (nv) by impulses on m rows from ``row`` on."""
    fill(out, 0.0, nv)
    for i in range(m):
        axpy(impulses[i], work.response + (row + i) * nv, out, nv)
