"""Contact problem of a step: impulses of the active rows that obey the laws of contact."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, dot, is_finite
from sarrus.kernels.contact.compliance import find_columns
from sarrus.kernels.contact.inconsistent_drift import find_inconsistent_drift
from sarrus.kernels.contact.islands import BEGINNINGS, keep_rows, solve_islands
from sarrus.kernels.contact.rows import (
    along,
    free_response,
    is_held,
    is_still,
    scale_of_row,
    still_speed,
    turn_of,
    turns_round,
)
from sarrus.kernels.contact.step_impact import add_impact, strike
from sarrus.kernels.contact.tolerances import DRIFT_RIDGE, NULL_RIDGE, STICKING_COMPLIANCE, UNLOADED
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork, Slot
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import exists, internal


@internal
def _breaks_loose(contact_table: ContactTable, m: int, work: ContactWork):
    """Set the sliding coefficient for contacts that slide with the static one; return False if there are none."""
    block, last, found = -1, -1, False
    for i in range(m):
        k = int(work.owner[i])
        if k < 0 or k >= contact_table.contacts or block + 1 > contact_table.problem.contacts:
            break
        if k != last:
            block, last = block + 1, k
            continue
        if work.numbers[block] > contact_table.friction[k]:
            speed = work.given[i] + dot(work.delassus + i * m, work.impulses, m)
            if abs(speed) > contact_table.settings.stick_speed:
                work.numbers[block] = contact_table.friction[k]
                found = True
    return found


@internal
def _may_stick(table: Table, x: Floats, h: float, m: int, work: ContactWork):
    """Set the static coefficient for contacts whose slip reverses within the step; return False if there are none.

    A contact that slides in the opposite direction at the end has stopped in between, and may stick.
    """
    contact_table, problem, at, found = table.contact_table, table.contact_table.problem, 0, False
    for block in range(problem.contacts):
        k, n = int(work.owner[at]), problem.sizes[block]
        if (
            np.inf > contact_table.static[k] > contact_table.friction[k]
            and work.numbers[block] == contact_table.friction[k]
        ):
            for i in range(at + 1, at + n):
                work.left[i] = work.given[i] + dot(work.delassus + i * m, work.impulses, m)
            if turns_round(table, x, h, k, work.left + at, work):
                work.numbers[block], found = contact_table.static[k], True
        at += n
    return found


@internal
def _soften(m: int, first: int, work: ContactWork):
    """Add a small compliance to rows from ``first`` on: redundant ones then share their impulses, with bounds."""
    for i in range(first, m):
        work.delassus[i * (m + 1)] *= 1.0 + STICKING_COMPLIANCE


@internal
def _turn_together(m: int, work: ContactWork):
    """Subtract from the velocities of rows the part of their drift that no motion has, which no impulse cancels."""
    ridge = 0.0
    for i in range(m):
        ridge = max(ridge, DRIFT_RIDGE * work.delassus[i * (m + 1)])
    if find_inconsistent_drift(work.delassus, work.turn, ridge, work.matrix, work.left, m):
        axpy(-1.0, work.left, work.given, m)
        axpy(-1.0, work.left, work.turn, m)


@internal
def _remove_inconsistent_velocity(table: Table, x: Floats, m: int, work: ContactWork):
    """Subtract the part of the velocities of rows that no motion has; return False if rows of contacts have it.

    Redundant rows of dry friction have such a part, since loops are closed at another place of the step, and at rest by
    rounding. No impulse cancels it, whatever dry friction can take. In rows of contacts a part of at most the stick
    speed is zero.
    """
    ridge = np.inf
    for i in range(m):
        ridge = min(ridge, NULL_RIDGE * work.delassus[i * (m + 1)])
    if not (
        ridge > 0.0
        and find_inconsistent_drift(work.delassus, work.given, ridge, work.matrix, work.left, m)
        and is_finite(work.left, m)
    ):
        return False
    still = still_speed(table, x + table.nq)
    for i in range(m):
        if work.owner[i] >= 0.0 and abs(work.left[i]) > still * scale_of_row(
            table.contact_table, int(work.which[i])
        ):
            return False
    axpy(-1.0, work.left, work.given, m)
    return True


@internal
def _hold(contact_table: ContactTable, m: int, work: ContactWork, solved: bool):
    """Let contacts without a limit of friction stick only where they push; return True if the problem is solved.

    All that stick without a normal impulse are freed at once, until the others push. Then freed contacts that push are
    set to stick again, one by one, and stay so if all that stick push then.
    """
    problem = contact_table.problem
    first = problem.contacts + contact_table.dry
    while solved and _loosen(contact_table, m, work, first, True):
        solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    for block in range(first, problem.blocks):
        if not solved or work.numbers[block] != 0.0 or _head_of(contact_table, block, m, work) < 0:
            continue
        work.numbers[block] = np.inf
        solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
        if not solved or _loosen(contact_table, m, work, first, False):
            work.numbers[block] = 0.0
            solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    return solved


@internal
def _loosen(contact_table: ContactTable, m: int, work: ContactWork, first: int, frees: bool):
    """Return True if a block from ``first`` on sticks without a normal impulse; ``frees`` sets its limit to zero."""
    found = False
    for block in range(first, contact_table.problem.blocks):
        if work.numbers[block] > 0.0 and _head_of(contact_table, block, m, work) < 0:
            found = True
            if frees:
                work.numbers[block] = 0.0
    return found


@internal
def _head_of(contact_table: ContactTable, block: int, m: int, work: ContactWork):
    """Return the place of the normal row of the contact whose tangential rows are this block, −1 if it does not
    push."""
    at, largest = m, 0.0
    for b in range(block, contact_table.problem.blocks):
        at -= contact_table.problem.sizes[b]
    k = int(work.owner[at])
    for i in range(m):
        largest = max(largest, abs(work.impulses[i]))
    for i in range(at):
        if int(work.which[i]) == contact_table.first_rows[k]:
            return i if work.impulses[i] > UNLOADED * largest else -1
    return -1


@internal
def stop_of(contact_table: ContactTable, row: int, active: int, work: ContactWork):
    """Return the number of the active row of a stop, that does not rebound, of a joint with dry friction; −1 if none.

    ``row`` is that of dry friction, ``active`` the number of active rows in front of those of dry friction.
    """
    joint, first = row - contact_table.contact_rows, contact_table.contact_rows
    for i in range(active if joint >= 0 else 0):
        stop = int(work.which[i]) - first
        same = 0 <= stop < contact_table.stops and contact_table.speeds[stop] == contact_table.speeds[joint]
        if same and work.active[int(work.owner[i])] == tl.ACTIVE:
            return i
    return -1


@internal
def _share_with_stops(contact_table: ContactTable, h: float, m: int, work: ContactWork):
    """Let the dry friction of a joint at rest at a stop take half the impulse of both, at most its limit."""
    for i in range(m if contact_table.stops > 0 and contact_table.dry > 0 else 0):
        place = stop_of(contact_table, int(work.which[i]), i, work) if work.owner[i] < 0.0 else -1
        if place < 0:
            continue
        stop = int(work.which[place]) - contact_table.contact_rows
        limit = h * contact_table.limits[tl.dry_of_row(contact_table, int(work.which[i]))]
        if work.impulses[place] > 0.0 or abs(work.impulses[i]) < limit:
            sign = contact_table.signs[stop]
            both = work.impulses[place] + sign * work.impulses[i]
            work.impulses[place] = max(0.0, 0.5 * both, both - limit)
            work.impulses[i] = sign * (both - work.impulses[place])


@internal
def _leave_held(table: Table, m: int, work: ContactWork):
    """Decouple friction rows that the constraints hold, such as a slider's at its dead centre, in W.

    Their computed entries of W are rounding, which may be negative. They become zero, and the diagonal entry becomes
    the compliance without constraints, so that the impulse opposes the slip.
    """
    head = 0.0
    for i in range(m):
        row, k = int(work.which[i]), int(work.owner[i])
        if k >= 0 and row == table.contact_table.first_rows[k]:
            head = work.delassus[i * (m + 1)]
            continue
        if is_held(table, work, row, work.delassus[i * (m + 1)]):
            for j in range(m):
                work.delassus[i * m + j] = work.delassus[j * m + i] = 0.0
            free, _ = free_response(table, work, row)
            work.delassus[i * (m + 1)] = max(free, head) if k >= 0 else free


@internal
def find_impulses(
    table: Table, x: Floats, h: float, begun: Slot, again: bool, known: bool, work: ContactWork
):
    """Write the impulses of the active rows to ``work.impulses``; return the number of rows, −1 without a solution.

    The solver starts at ``work.begin`` if ``known``, otherwise at h times the lasting forces of the slot ``begun``.
    Unless this is the solve ``again``, finite impulses with a large residual are accepted, too.
    """
    contact_table, nv, problem = table.contact_table, table.nv, table.contact_table.problem
    m, blocks, same = 0, 0, True
    for k in range(tl.unilateral_count(contact_table)):
        if work.active[k] == 0.0:
            continue
        row, n = contact_table.first_rows[k], contact_table.sizes[k]
        if contact_table.static[k] == np.inf:
            n = 1  # its tangential rows follow below, as friction without a limit
        problem.sizes[blocks] = n
        stands = (
            n > 1
            and contact_table.static[k] > contact_table.friction[k]
            and is_still(table, x, h, row, n, work)
        )
        work.numbers[blocks] = contact_table.static[k] if stands else contact_table.friction[k]
        blocks += 1
        for j in range(n):
            same = same and work.which[m] == row + j
            work.which[m], work.owner[m] = row + j, k
            m += 1
    problem.contacts = blocks
    for d in range(contact_table.dry):
        problem.sizes[blocks] = 1
        work.numbers[blocks] = h * contact_table.limits[d]
        blocks += 1
        work.which[m], work.owner[m] = tl.row_of_dry(contact_table, d), -1
        m += 1
    unlimited = 0  # rows
    for k in range(contact_table.contacts):
        n = contact_table.sizes[k] - 1
        if work.active[k] == 0.0 or n == 0 or contact_table.static[k] != np.inf:
            continue
        problem.sizes[blocks], work.numbers[blocks] = n, np.inf
        blocks, unlimited = blocks + 1, unlimited + n
        for j in range(n):
            row = contact_table.first_rows[k] + 1 + j
            same = same and work.which[m] == row
            work.which[m], work.owner[m] = row, k
            m += 1
    problem.rows, problem.blocks = m, blocks
    if m == 0:
        return 0
    for i in range(m):
        row = int(work.which[i])
        work.given[i], work.turn[i] = work.velocity[row], turn_of(table, h, row, work)
        work.impulses[i] = work.begin[row] if known else h * begun.lasting[row]
    if exists(contact_table.geometry):
        return solve_islands(table, x, h, m, again, work)
    closes = False
    for i in range(m):
        k = int(work.owner[i])
        closes = closes or (k >= 0 and work.delay[k] > 0.0)
    if closes:
        keep_rows(work.given, work.turn, m)
    for i in range(m):
        work.turn[i] += work.rebound[int(work.which[i])]
    find_columns(table, m, work)
    if not (same and work.assembled[0] == m):
        work.assembled[0] = m
        for i in range(m):
            row = int(work.which[i])
            for j in range(i + 1):
                value = along(table, work, row, work.response + int(work.which[j]) * nv)
                work.delassus[i * m + j] = value
                work.delassus[j * m + i] = value
        _leave_held(table, m, work)
        if blocks > problem.contacts + contact_table.dry:
            _soften(m, m - unlimited, work)
    if blocks > problem.contacts + contact_table.dry and not closes:
        _turn_together(m, work)
    if not is_finite(work.delassus, m * m) or not is_finite(work.given, m):
        return -1
    if exists(contact_table.impact) and not strike(table, x, h, m, known, work):
        contact_table.failed = tl.NOT_SOLVED
        return -1
    solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    if not solved and contact_table.dry > 0 and _remove_inconsistent_velocity(table, x, m, work):
        solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    if solved and _may_stick(table, x, h, m, work):
        solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    while solved and _breaks_loose(contact_table, m, work):
        solved = call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    if blocks > problem.contacts + contact_table.dry:
        solved = _hold(contact_table, m, work, solved)
    if solved:
        _share_with_stops(contact_table, h, m, work)
    if exists(contact_table.impact):
        add_impact(contact_table, m, work)
    if solved:
        return m
    if again or not is_finite(work.impulses, m):
        contact_table.failed = tl.NOT_SOLVED
        return -1
    return m
