"""The impact within a time step where contacts have Poisson's law of restitution.

The impulse of a step contains that of the weight, which restitution must not multiply. So the impact is solved alone,
as one of no duration at the instant when the contacts close (`sarrus.dynamics.impacts.restitution`): compression, then
expansion, both with the Delassus matrix W of the step. The remaining impulses of the step, those of lasting forces,
obey the laws of contact with the velocities behind the impact, and act beside its impulses.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact.islands import BEGINNINGS
from sarrus.kernels.contact.rows import along, bias_of, drift_of, drifts, rest_speed_of, speed_before
from sarrus.kernels.contact.tolerances import IMPACT_RIDGE, MOST_IMPACT_RIDGE
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import exists, internal


@internal
def has_poisson(contact_table: ContactTable, k: int):
    """Return True if the contact or stop k has Poisson's law."""
    return exists(contact_table.impact) and contact_table.impact.coefficients[k] >= 0.0


@internal
def impulse_of_impact(contact_table: ContactTable, row: int):
    """Return the part of the impulse of a row in this step that belongs to an impact with Poisson's law."""
    return contact_table.impact.impulses[row] if exists(contact_table.impact) else 0.0


@internal
def strike(table: Table, x: Floats, h: float, m: int, known: bool, work: ContactWork):
    """Solve the impact in a step from x; return False if no impulses are found.

    Adds the change of the velocities of the m active rows to ``work.given``: by the impact, or without one by the
    rebounds of Newton's law. If ``work.impulses`` are those of the whole step (``known``), the ones of the impact are
    taken off.
    """
    contact_table, impact = table.contact_table, table.contact_table.impact
    fill(impact.impulses, 0.0, tl.row_count(contact_table))
    impact.instant[0] = impact.residual[0] = 0.0
    if not _collides(table, x, h, m, work):
        for i in range(m):
            k = int(work.owner[i])
            if k >= 0 and work.active[k] == tl.REBOUNDS and int(work.which[i]) == contact_table.first_rows[k]:
                rebound = contact_table.restitution[k] * impact.before[i]
                work.given[i] += rebound
                work.turn[i] += rebound
        return True
    if not _compress(contact_table, m, work) or not _expand(contact_table, m, work):
        return False
    for i in range(m):
        change = dot(work.delassus + i * m, impact.known, m)
        work.given[i] += change
        if known:
            work.impulses[i] -= impact.known[i]
        impact.impulses[int(work.which[i])] = impact.known[i]
        k = int(work.owner[i])
        head = k >= 0 and int(work.which[i]) == contact_table.first_rows[k]
        leaves = head and impact.before[i] + change >= rest_speed_of(contact_table, k)
        if leaves and has_poisson(contact_table, k):
            work.active[k] = tl.LEAVING
    return True


@internal
def add_impact(contact_table: ContactTable, m: int, work: ContactWork):
    """Add the impulses of the impact to those of the m active rows."""
    for i in range(m):
        work.impulses[i] += impulse_of_impact(contact_table, int(work.which[i]))


@internal
def _collides(table: Table, x: Floats, h: float, m: int, work: ContactWork):
    """Write the velocities before an impact; return True if Poisson's law lets a contact leave at more than rest speed.

    The velocities are those at the instant when each contact closes.
    """
    contact_table, impact = table.contact_table, table.contact_table.impact
    fastest, largest, first, found = 0.0, 0.0, np.inf, False
    for i in range(m):
        k, row = int(work.owner[i]), int(work.which[i])
        impact.before[i] = 0.0
        if k < 0:
            continue
        if work.active[k] == tl.LEAVING:
            work.active[k] = tl.ACTIVE
        bias = bias_of(table, work, row) if drifts(contact_table, row) else 0.0
        change = along(table, work, row, work.smooth) + bias
        impact.before[i] = speed_before(table, work, row, x + table.nq, h) + work.delay[k] * change
        if row != contact_table.first_rows[k]:
            continue
        largest = max(largest, contact_table.restitution[k])
        found = found or has_poisson(contact_table, k)
        fast = -impact.before[i] / rest_speed_of(contact_table, k)
        fastest = max(fastest, fast)
        if fast >= 1.0:
            first = min(first, work.delay[k])
    if not found or largest * fastest < 1.0:
        return False
    impact.instant[0] = first
    for i in range(m):  # the part of the velocities that is not that of one motion at one instant
        row = int(work.which[i])
        together = along(table, work, row, x + table.nq) + first * along(table, work, row, work.smooth)
        apart = impact.before[i] - together - drift_of(table, work, row)
        impact.problem.turn[i] = apart if int(work.owner[i]) >= 0 else 0.0
    return True


@internal
def _compress(contact_table: ContactTable, m: int, work: ContactWork):
    """Write the impulses after which no contact approaches to ``known``; return False if there are none."""
    impact, step = contact_table.impact, contact_table.problem
    problem, at = impact.problem, 0
    problem.rows, problem.blocks, problem.contacts = m, step.blocks, step.contacts
    for block in range(step.blocks):
        n, k = step.sizes[block], int(work.owner[at])
        problem.sizes[block] = n
        problem.numbers[block] = contact_table.friction[k] if k >= 0 else 0.0
        at += n
    copy(work.delassus, problem.delassus, m * m)
    copy(impact.before, problem.velocities, m)
    fill(problem.forces, 0.0, m)
    if not _solve(contact_table, m):
        return False
    copy(problem.forces, impact.known, m)
    return True


@internal
def _expand(contact_table: ContactTable, m: int, work: ContactWork):
    """Replace the impulses of compression in ``known`` by those of the whole impact; return False without solution.

    In expansion the friction of compression times e is dry friction on the same rows.
    """
    impact = contact_table.impact
    problem, rows, at = impact.problem, m, 0
    blocks = problem.blocks
    fill(problem.forces, 0.0, m)
    for i in range(m):
        impact.originals[i] = i
    for block in range(blocks):
        n, k = problem.sizes[block], int(work.owner[at])
        e = impact.coefficients[k] if k >= 0 else -1.0
        if e < 0.0:
            for i in range(at, at + n):
                impact.known[i] = 0.0
        elif n > 1:
            limit = contact_table.friction[k] * e * impact.known[at]
            if limit > 0.0:
                problem.sizes[problem.blocks], problem.numbers[problem.blocks] = n - 1, limit
                problem.blocks += 1
                for i in range(at + 1, at + n):
                    impact.originals[rows], problem.forces[rows] = i, e * impact.known[i]
                    rows += 1
        impact.known[at] *= 1.0 + max(e, 0.0)
        at += n
    for i in range(rows):
        own = impact.originals[i]
        k = int(work.owner[own])
        speed = impact.before[own] + dot(work.delassus + own * m, impact.known, m)
        if k >= 0 and work.active[k] == tl.REBOUNDS and int(work.which[own]) == contact_table.first_rows[k]:
            speed += contact_table.restitution[k] * impact.before[own]
        problem.velocities[i] = speed
        problem.turn[i] = problem.turn[own]
        for j in range(rows):
            problem.delassus[i * rows + j] = work.delassus[own * m + impact.originals[j]]
    problem.rows = rows
    if not _solve(contact_table, rows):
        return False
    for i in range(rows):
        impact.known[impact.originals[i]] += problem.forces[i]
    return True


@internal
def _solve(contact_table: ContactTable, rows: int):
    """Solve the problem of the impact; return False if no impulses are found.

    Without an answer it is tried with velocities of one motion at one instant: those of dependent rows, each at its
    own, may have a contact slip by rounding. Then it begins with the impulses of rows that give a little. If nothing
    helps, these are the answer, and the residual of the run says so.
    """
    problem = contact_table.impact.problem
    if call_kernel(contact_table.solver, problem, problem.work, BEGINNINGS) == cp.SOLVED:
        return True
    axpy(-1.0, problem.turn, problem.velocities, rows)
    fill(problem.turn, 0.0, rows)
    fill(problem.forces, 0.0, rows)
    if call_kernel(contact_table.solver, problem, problem.work, BEGINNINGS) == cp.SOLVED:
        return True
    ridge, least = IMPACT_RIDGE, 0.0
    while ridge <= MOST_IMPACT_RIDGE:
        if _solve_softly(contact_table, rows, ridge):
            if least == 0.0:
                least = ridge
            if call_kernel(contact_table.solver, problem, problem.work, BEGINNINGS) == cp.SOLVED:
                return True
        ridge *= 10.0
    contact_table.impact.residual[0] = max(contact_table.impact.residual[0], least)
    return least > 0.0 and _solve_softly(contact_table, rows, least)


@internal
def _solve_softly(contact_table: ContactTable, rows: int, ridge: float):
    """Solve the problem of the impact with rows that give by ``ridge``; return False if no impulses are found."""
    problem = contact_table.impact.problem
    fill(problem.forces, 0.0, rows)
    for i in range(rows):
        problem.delassus[i * (rows + 1)] *= 1.0 + ridge
    found = call_kernel(contact_table.solver, problem, problem.work, BEGINNINGS) == cp.SOLVED
    for i in range(rows):
        problem.delassus[i * (rows + 1)] /= 1.0 + ridge
    return found
