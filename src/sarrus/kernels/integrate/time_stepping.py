"""A step of a time-stepping method for contacts with friction, stops and dry friction (Moreau, 1988; Jean, 1999).

Impulses r act at the middle of the step, where forces and rows are those of the midpoint rule:

    v⁺ = v + h a(q_m, v_m) + K Hᵀ r,    q_m = q ⊕ h/2 v,    v_m = (v + v⁺)/2,    u⁺ = H v⁺ + h/2 Ḣ v_m,

a the acceleration with the loops closed, K the compliance of the mechanism (accelerations by generalized forces). r and
u⁺ obey the laws of Signorini and Coulomb (`sarrus.kernels.contact.contact_problem`): a closed contact does not close
further, and rebounds by Newton's law, or by Poisson's (`sarrus.kernels.contact.step_impact`). A contact that would
close within the step closes at a time given by its gaps at both ends. A first pass with v in the place of v_m gives v⁺
for v_m. The position at the end is

    q⁺ = q ⊕ (h (v⁺ − h/2 a_s) − K Hᵀ τ r),

a_s the acceleration with the forces of contacts closed at the start, without impacts, τ the times until further
contacts close. Dry friction of a joint that a stop stops acts at the time of the stop. The method has order two if no
contact opens, closes, begins to stick or begins to slip, otherwise order one; without contacts it is symplectic
(position Verlet). Closed contacts stay closed to rounding: positions are corrected along K Hᵀ. The impulses of lasting
contacts, divided by h, are the forces in the accelerations of a run.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import add, axpy, copy, copy_scaled, fill, is_finite
from sarrus.kernels.contact.closing_gaps import factor_chosen, solve_chosen
from sarrus.kernels.contact.geometry_rows import keep_contacts, meet, note_way, rows_now
from sarrus.kernels.contact.islands import close_gaps
from sarrus.kernels.contact.rows import (
    add_response,
    add_row,
    along,
    bias_of,
    drift_of,
    drifts,
    find_slot,
    follow_back,
    load_gaps,
    load_gaps_behind,
    load_motion,
    rest_speed_of,
    scale_of,
    speed_before,
    still_speed,
    turn_of,
)
from sarrus.kernels.contact.step_impact import has_poisson, impulse_of_impact
from sarrus.kernels.contact.step_problem import find_impulses, stop_of
from sarrus.kernels.contact.tolerances import OUT_OF_REACH, SAME_TIME
from sarrus.kernels.integrate.stepping import set_control
from sarrus.kernels.integrate.tolerances import (
    CALM_STEP,
    CORRECTION_RIDGE,
    EXACT_GAP_OF_MODES,
    LEADING_INSTANT,
    MOST_PARTS,
    PASSES_NEARBY,
    POSITION_CORRECTIONS,
    STANDING_SPEED,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork, Slot
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.local_layout import local_array
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal

# Modes of a time step: middle projected on the constraints; only the forces at the start, no step.
NEAR, AT_ONCE = 1, 2


def contact_acceleration(table: Table, x: Floats, level: int) -> int:
    """Write the acceleration at x with the lasting contact forces of the step that ended at x; return the rank."""
    contact_table, nv = table.contact_table, table.nv
    found = find_slot(table, x)
    if found < 0:
        found = 0
        if call_kernel(table.implicit, table, x, AT_ONCE) < 0:
            return -1
    work = tl.contact_work(contact_table, table.nq, nv, la.input_size(table))
    applied = tl.slot(contact_table, nv, found).applied
    tau = x + (la.input_size(table) - nv)
    copy(tau, work.scratch, nv)
    add(applied, tau, nv)
    rank = call_kernel(contact_table.inner, table, x, level)
    copy(work.scratch, tau, nv)
    return rank


def time_step(table: Table, x: Floats, near: int) -> int:
    """Write the end of a step of length ``local.header.length`` from x to ``local.state``; return 0, −1 if it fails.

    The step fails if the contact problem is not solved or a number is not finite. Where velocities change too much,
    such as velocities of light links that an impact has set spinning, a part of it is divided into four parts, and
    these again. ``near`` = 1 (near a singular configuration) projects the middle on the constraints. `AT_ONCE`
    writes the forces at x alone to slot 0: the forces of a very short step.
    """
    local, contact_table = local_array(table), table.contact_table
    nv, size, h = table.nv, la.input_size(table), local.header.length
    follow_back(table, x, True)
    begun, kept = _remembered(table, x), tl.slot(contact_table, nv, tl.ROOM)
    slot_size = tl.slot_size(contact_table, nv)
    if near == AT_ONCE:
        loss = begun.facts.loss
        fill(begun.forces, 0.0, tl.row_count(contact_table))
        length = LEADING_INSTANT * table.run.step
        if _part(table, x, length, length, False, begun, begun, False) < 0:
            return -1
        begun.facts.time, begun.facts.length = x[table.nq + nv + table.nu], table.run.step
        begun.facts.loss = loss
        return 0
    copy(x, local.start, size)
    copy(begun.facts, kept.facts, slot_size)
    fill(kept.forces, 0.0, tl.row_count(contact_table))
    taken, part = 0, MOST_PARTS if contact_table.divides == 0 else MOST_PARTS // 4
    while taken < MOST_PARTS:
        verdict = _part(table, local.start, h * part / MOST_PARTS, h, part > 1, kept, kept, near == NEAR)
        if verdict < 0:
            return -1
        if verdict > 0:
            part //= 4
            continue
        taken += part
        if taken < MOST_PARTS:
            copy(local.state, local.start, size)
            if call_kernel(table.projection, table, local.start, la.CONSTRAINTS) < 0:
                return -1
            while taken % (4 * part) == 0:
                part *= 4
    contact_table.given = 0
    kept.facts.time, kept.facts.length = x[table.nq + nv + table.nu] + h, h
    whole = abs(h - table.run.step) <= SAME_TIME * h
    if not whole:
        contact_table.turn = (contact_table.turn + 1) % tl.PARTIAL
    copy(kept.facts, tl.slot(contact_table, nv, 1 if whole else 2 + contact_table.turn).facts, slot_size)
    return 0 if is_finite(local.state, table.nq + nv) else -1


@internal
def _part(
    table: Table, x: Floats, h: float, whole: float, divides: bool, begun: Slot, kept: Slot, near: bool
):
    """Write the end of a part of length h of a step of length ``whole`` from x to ``local.state``; return 0.

    Returns 1 if velocities change too much and the part ``divides``, −1 if it fails.
    """
    local, contact_table = local_array(table), table.contact_table
    nq, nv, size = table.nq, table.nv, la.input_size(table)
    work = tl.contact_work(contact_table, nq, nv, size)
    contact_table.settings.step_start, contact_table.settings.length = x[nq + nv + table.nu], h
    copy(x, work.middle, size)
    work.middle[nq + nv + table.nu] += 0.5 * h
    copy_scaled(0.5 * h, x + nq, work.way, nv)
    retract(table, work.middle, work.way, work.scratch)
    if near and call_kernel(table.projection, table, work.middle, la.CONSTRAINTS) < 0:
        return -1
    fill(work.known, 0.0, tl.row_count(contact_table))
    work.assembled[0] = -1.0
    load_gaps(contact_table, x, work.gap)
    _close_at_rest(table, x, work)
    if exists(contact_table.geometry) and not meet(table, x, h, begun, work):
        return -1
    m = _pass(table, x, h, begun, False, 0, work)
    if m < 0:
        return -1
    _find_smooth(table, x, h, m, work)
    _halve(x + nq, work.ahead, work.middle + nq, nv)
    copy(work.ahead, work.first, nv)
    m = _pass(table, x, h, begun, True, m, work)
    if m < 0:
        return -1
    _find_smooth(table, x, h, m, work)
    _end(table, x, h, m, local.state, work)
    if divides and not _is_calm(table, h, work):
        return 1
    _remember(table, x, h, whole, begun, kept, m, work)
    return 0


@internal
def _close_at_rest(table: Table, x: Floats, work: ContactWork):
    """Set gaps of plane contacts and stops that are closed within tolerance and at rest to zero."""
    contact_table, settings = table.contact_table, table.contact_table.settings
    count, found = tl.lasting_contacts(contact_table), False
    for k in range(count):
        over = work.gap[k] / scale_of(contact_table, k)
        found = found or settings.closed < over <= settings.at_bound
    if not found:
        return
    if contact_table.contacts > 0:
        call_native(contact_table.motion, x, work.native)
    still = still_speed(table, x + table.nq)
    for k in range(count):
        scale, row = scale_of(contact_table, k), contact_table.first_rows[k]
        rate = work.native[row]
        if k >= contact_table.contacts:
            own = k - contact_table.contacts
            rate = contact_table.signs[own] * x[table.nq + contact_table.speeds[own]]
        if settings.closed * scale < work.gap[k] <= settings.at_bound * scale and abs(rate) <= still * scale:
            work.gap[k] = 0.0


@internal
def _is_calm(table: Table, h: float, work: ContactWork):
    """Return True if both passes have about equal velocities at the end of the step."""
    factors, largest, apart = la.factors_of(table).velocities, 0.0, 0.0
    for i in range(table.nv):
        largest = max(largest, factors[i] * (abs(work.ahead[i]) + h * abs(work.free[i])))
        apart = max(apart, factors[i] * abs(work.ahead[i] - work.first[i]))
    # of many bodies one that is hit is no reason to have all take shorter steps, unless it turns far within one
    return apart <= CALM_STEP * largest or (
        exists(table.contact_table.geometry) and h * apart <= PASSES_NEARBY
    )


@internal
def _halve(v: Floats, ahead: Floats, out: Floats, n: int):
    """Write the mean of the velocities at both ends to ``out`` (n)."""
    for i in range(n):
        out[i] = 0.5 * (v[i] + ahead[i])


@internal
def _pass(table: Table, x: Floats, h: float, begun: Slot, again: bool, before: int, work: ContactWork):
    """Write the impulses and the velocity at the end; return the number of active rows, −1 without a solution."""
    nq, nv, kernel_work = table.nq, table.nv, la.workspace(table)
    set_control(table, work.middle, kernel_work)
    if call_kernel(table.contact_table.inner, table, work.middle, la.SLOPE) < 0:
        return -1
    copy(kernel_work.a, work.free, nv)
    if not again:
        copy(work.free, work.smooth, nv)
    copy(x + nq, work.ahead, nv)
    axpy(h, work.free, work.ahead, nv)
    count, m = _begin(table, x, h, again, work), 0
    fill(work.begin, 0.0, tl.row_count(table.contact_table))  # rows that become active start at no impulse
    if again:
        _keep(work, before)
    known = again
    if _is_answered(table.contact_table):
        copy(work.answer, work.begin, tl.row_count(table.contact_table))
        known = True
    for _ in range(count + 1):
        m = find_impulses(table, x, h, begun, again, known, work)
        if m < 0:
            return -1
        copy(x + nq, work.ahead, nv)
        axpy(h, work.free, work.ahead, nv)
        for k in range(m):
            add_response(table, work, int(work.which[k]), work.impulses[k], work.ahead)
        if not _close_more(table, x, h, work):
            break
        if exists(table.contact_table.geometry) and not again:  # they become active in the second pass
            break
        if exists(table.contact_table.geometry):  # the next problem begins with these
            _keep(work, m)
            known = True
    return m


@internal
def _is_answered(contact_table: ContactTable):
    """Return True if the impulses of this part of a step are given in advance."""
    settings = contact_table.settings
    same = settings.step_start == settings.answered and settings.length == settings.answered_length
    return contact_table.given != 0 and same


@internal
def _keep(work: ContactWork, m: int):
    """Copy the impulses of the m active rows to ``work.begin``."""
    for i in range(m):
        work.begin[int(work.which[i])] = work.impulses[i]


@internal
def _find_smooth(table: Table, x: Floats, h: float, m: int, work: ContactWork):
    """Write the acceleration with the forces of lasting contacts, without impacts, to ``work.smooth`` (nv)."""
    nv = table.nv
    copy(work.free, work.smooth, nv)
    last, good = -1, True
    for i in range(m):
        row, k = int(work.which[i]), int(work.owner[i])
        if k < 0:
            good = _stop_that_hits(table.contact_table, row, i, work) < 0
        elif k != last:
            good, last = _lasts(table, x, k, table.contact_table.first_rows[k], h, work), k
        work.lasts[i] = 1.0 if good else 0.0
        if good:
            lasting = work.impulses[i] - impulse_of_impact(table.contact_table, row)
            add_response(table, work, row, lasting / h, work.smooth)


@internal
def _stop_that_hits(contact_table: ContactTable, row: int, active: int, work: ContactWork):
    """Return the number of the stop that stops the joint of a row of dry friction in this step, −1 if there is none."""
    i = stop_of(contact_table, row, active, work)
    return int(work.owner[i]) if i >= 0 and work.lasts[i] == 0.0 and work.impulses[i] > 0.0 else -1


@internal
def _lasts(table: Table, x: Floats, k: int, row: int, h: float, work: ContactWork):
    """Return True if an active contact or stop was closed at the start of the step, and neither hits nor rebounds."""
    contact_table = table.contact_table
    if work.active[k] != tl.ACTIVE or work.gap[k] > contact_table.settings.closed * scale_of(
        contact_table, k
    ):
        return False
    return -speed_before(table, work, row, x + table.nq, h) < STANDING_SPEED * rest_speed_of(contact_table, k)


@internal
def _remembered(table: Table, x: Floats):
    """Copy the slot of the step that ended at x to slot 0; return slot 0."""
    contact_table, nv = table.contact_table, table.nv
    found, first = find_slot(table, x), tl.slot(contact_table, nv, 0)
    length = tl.slot_size(contact_table, nv)
    if found < 0:  # loss and residual are those of the last step that ended before x
        time, loss, residual, latest = x[table.nq + nv + table.nu], 0.0, 0.0, -np.inf
        for k in range(tl.ROOM):
            facts = tl.slot(contact_table, nv, k).facts
            if facts.length > 0.0 and latest < facts.time <= time:
                latest, loss, residual = facts.time, facts.loss, facts.residual
        fill(contact_table.slots, 0.0, length)
        first.facts.loss, first.facts.residual = loss, residual
    elif found > 0:
        copy(contact_table.slots + found * length, contact_table.slots, length)
    return first


@internal
def _begin(table: Table, x: Floats, h: float, again: bool, work: ContactWork):
    """Write the velocity of each row without contacts, and which contacts and stops may close; return their number.

    In the second pass the contacts that the impulses of the first pass would close are active, too.
    """
    contact_table, nq = table.contact_table, table.nq
    unilateral, settings = tl.unilateral_count(contact_table), contact_table.settings
    load_motion(table, h, work)
    fill(work.rebound, 0.0, tl.row_count(contact_table))
    for row in range(rows_now(contact_table)):
        speed = along(table, work, row, work.ahead) + drift_of(table, work, row)
        work.velocity[row] = speed + turn_of(table, h, row, work)
    for k in range(unilateral):
        row, closed = contact_table.first_rows[k], settings.closed * scale_of(contact_table, k)
        joined = again and work.active[k] == tl.ACTIVE and work.gap[k] > closed and work.forecast[k] >= 0.0
        if not joined:
            work.active[k] = work.delay[k] = 0.0
        if work.gap[k] > closed:
            # the gap at the end over h, as it is without contacts
            bias = bias_of(table, work, row) if drifts(contact_table, row) else 0.0
            turn = along(table, work, row, work.smooth) + bias
            work.forecast[k] = work.gap[k] / h + work.velocity[row] - 0.5 * h * turn
            if work.forecast[k] >= 0.0:
                continue
            joined = False
            work.delay[k] = h * work.gap[k] / (work.gap[k] - h * work.forecast[k])
        work.active[k] = tl.ACTIVE
        before = speed_before(table, work, row, x + nq, h)
        approach = before + work.delay[k] / h * (work.velocity[row] - before)
        rebound = -contact_table.restitution[k] * approach
        if rebound >= rest_speed_of(contact_table, k) and not has_poisson(contact_table, k):
            work.active[k] = tl.REBOUNDS
            if not exists(contact_table.impact):  # `strike` knows what else collides
                work.rebound[row] = -rebound
                work.velocity[row] -= rebound
    return unilateral


@internal
def _close_more(table: Table, x: Floats, h: float, work: ContactWork):
    """Activate the contacts and stops that close by the velocities at the end of the step; return False if none."""
    contact_table, more = table.contact_table, False
    for k in range(tl.unilateral_count(contact_table)):
        if work.active[k] != 0.0:
            continue
        row = contact_table.first_rows[k]
        free = along(table, work, row, x + table.nq) + h * along(table, work, row, work.free)
        left = work.forecast[k] + along(table, work, row, work.ahead) - free
        if left < 0.0:
            work.active[k] = tl.ACTIVE
            work.delay[k] = h * work.gap[k] / (work.gap[k] - h * left)
            more = True
    return more


@internal
def _end(table: Table, x: Floats, h: float, m: int, state: Floats, work: ContactWork):
    """Write the state at the end of the step to ``state``, with positions corrected along the closed contacts."""
    contact_table, nq, nv = table.contact_table, table.nq, table.nv
    copy(x, state, la.input_size(table))
    state[nq + nv + table.nu] += h
    copy_scaled(h, work.ahead, work.way, nv)
    axpy(-0.5 * h * h, work.smooth, work.way, nv)
    for i in range(m):
        k, row = int(work.owner[i]), int(work.which[i])
        if k < 0:
            k = _stop_that_hits(contact_table, row, i, work)
        if k >= 0 and work.delay[k] > 0.0:
            add_response(table, work, row, -work.delay[k] * work.impulses[i], work.way)
        elif exists(contact_table.impact):
            struck = impulse_of_impact(contact_table, row)
            if struck != 0.0:
                add_response(table, work, row, -contact_table.impact.instant[0] * struck, work.way)
    if exists(contact_table.geometry):
        note_way(table, work.way, 1.0, True)
        note_way(table, x + nq, -0.5 * h, False)
    retract(table, state, work.way, work.scratch)
    copy(work.ahead, state + nq, nv)
    for _ in range(POSITION_CORRECTIONS):
        if not _correct(table, h, m, state, work):
            break


@internal
def _correct(table: Table, h: float, m: int, state: Floats, work: ContactWork):
    """Close the gaps of contacts with a normal force that do not rebound; return False if closed or not closable."""
    contact_table, nv, count, largest, last = table.contact_table, table.nv, 0, 0.0, -1
    rows, gaps = work.left, work.given
    load_gaps_behind(table, state, h, work)
    fill(gaps, 0.0, m)
    fill(work.turn, 0.0, m)
    for i in range(m):
        k = int(work.owner[i])
        if k < 0 or k == last or int(work.which[i]) != contact_table.first_rows[k]:
            continue
        last = k
        deep = k >= tl.lasting_contacts(contact_table) and work.after[k] < -contact_table.settings.closed
        if work.active[k] == tl.ACTIVE and (work.impulses[i] > 0.0 or deep) and work.after[k] < OUT_OF_REACH:
            rows[count] = i
            gaps[i], work.turn[i] = -work.after[k], 1.0
            largest = max(largest, abs(work.after[k]) / scale_of(contact_table, k))
            count += 1
    if not largest > EXACT_GAP_OF_MODES * contact_table.settings.closed:
        return False
    if exists(contact_table.geometry):
        close_gaps(table, m, work)
        note_way(table, work.way, 1.0, False)
    else:
        for i in range(count):
            work.velocity[i] = gaps[int(rows[i])]
        if not factor_chosen(work.delassus, m, rows, count, 0.0, CORRECTION_RIDGE, work.matrix):
            return False
        solve_chosen(work.matrix, count, work.velocity)
        fill(work.way, 0.0, nv)
        for i in range(count):
            add_response(table, work, int(work.which[int(rows[i])]), work.velocity[i], work.way)
    retract(table, state, work.way, work.scratch)
    return True


@internal
def _remember(
    table: Table, x: Floats, h: float, whole: float, begun: Slot, kept: Slot, m: int, work: ContactWork
):
    """Write the forces of a part to ``kept``, the means over the ``whole`` step, and the energy lost."""
    contact_table, nv = table.contact_table, table.nv
    rows = tl.row_count(contact_table)
    facts = kept.facts
    facts.residual = max(
        begun.facts.residual, cp.contact_workspace(contact_table.problem.work, 0, 0, 0).facts.residual
    )
    if exists(contact_table.impact):
        facts.residual = max(facts.residual, contact_table.impact.residual[0])
    fill(kept.lasting, 0.0, rows)
    fill(kept.applied, 0.0, nv)
    work_done = 0.0
    for i in range(m):
        row, impulse = int(work.which[i]), work.impulses[i]
        kept.forces[row] += impulse / whole
        speed = along(table, work, row, x + table.nq) + along(table, work, row, work.ahead)
        work_done += 0.5 * impulse * (speed + 2.0 * drift_of(table, work, row))
        if work.lasts[i] != 0.0:
            lasting = (impulse - impulse_of_impact(contact_table, row)) / h
            kept.lasting[row] = lasting
            add_row(table, work, row, lasting, kept.applied)
    facts.loss = begun.facts.loss - work_done
    if exists(contact_table.geometry):
        keep_contacts(table, h, m, kept, work)
