"""The contact problem of a step: responses to forces on rows, and the impulses that obey the laws of contact."""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import copy, dot, fill, is_finite
from sarrus.kernels.contact.islands import BEGINNINGS, keep_rows, solve_islands
from sarrus.kernels.contact.rows import (
    add_force,
    along,
    free_response,
    is_held,
    is_still,
    lift_of,
    turn_of,
    turns_round,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal
from sarrus.kernels.solve.acceleration import are_regular
from sarrus.kernels.solve.tolerances import CLEARANCE_OF_STAGE

# Responses of so many rows are found one after the other.
ALONE = 2


@internal
def respond(table, row, work):
    """Find the acceleration by a unit force on a row, unless it is known."""
    if work.known[row] != 0.0:
        return
    nv, force = table.nv, lift_of(table, work, row)
    tau, out = work.middle + (la.input_size(table) - nv), work.response + row * nv
    copy(tau, work.scratch, nv)
    add_force(table, work, row, force, tau)
    call_kernel(table.touching.inner, table, work.middle, la.SLOPE)
    copy(work.scratch, tau, nv)
    a = la.workspace(table).a
    for i in range(nv):
        out[i] = (a[i] - work.free[i]) / force
    work.known[row] = 1.0


@internal
def respond_together(table, m, work):
    """Find the accelerations by unit forces on all rows that take part, several at once; what fails is left unknown."""
    nq, nv, size, slope = table.nq, table.nv, la.input_size(table), table.touching.slope
    states, slopes, at = work.states, work.slopes, 0
    while at < m:
        for i in range(size):
            for k in range(LANES):
                states[LANES * i + k] = work.middle[i]
        first, count = at, 0
        while at < m and count < LANES:
            row = int(work.which[at])
            if work.known[row] == 0.0:
                fill(work.scratch, 0.0, nv)
                add_force(table, work, row, lift_of(table, work, row), work.scratch)
                for i in range(nv):
                    states[LANES * (size - nv + i) + count] += work.scratch[i]
                count += 1
            at += 1
        if count == 0:
            continue
        call_native(slope, states, slopes)
        gauge, lane = slopes + LANES * (nq + nv), 0
        for i in range(first, at):
            row = int(work.which[i])
            if work.known[row] != 0.0:
                continue
            regular = are_regular(table.settings, gauge[LANES + lane], gauge[2 * LANES + lane])
            if gauge[lane] > CLEARANCE_OF_STAGE and regular:
                out, force = work.response + row * nv, lift_of(table, work, row)
                for j in range(nv):
                    out[j] = (slopes[LANES * (nq + j) + lane] - work.free[j]) / force
                if is_finite(out, nv):
                    work.known[row] = 1.0
            lane += 1


@internal
def _breaks_loose(touching, m, work):
    """Give contacts that slide, although they might have stuck, the coefficient of sliding; False where none does."""
    block, last, found = -1, -1, False
    for i in range(m):
        k = int(work.owner[i])
        if k < 0 or k >= touching.contacts:
            break
        if k != last:
            block, last = block + 1, k
            continue
        if work.numbers[block] > touching.friction[k]:
            speed = work.given[i] + dot(work.operator + i * m, work.impulses, m)
            if abs(speed) > touching.settings.still:
                work.numbers[block] = touching.friction[k]
                found = True
    return found


@internal
def _may_stick(table, x, h, m, work):
    """Give contacts that slide the other way in the end, and so stop in between, the coefficient of sticking.

    False where there is none.
    """
    touching, problem, at, found = table.touching, table.touching.problem, 0, False
    for block in range(problem.contacts):
        k, n = int(work.owner[at]), problem.sizes[block]
        if touching.static[k] > touching.friction[k] and work.numbers[block] == touching.friction[k]:
            for i in range(at + 1, at + n):
                work.left[i] = work.given[i] + dot(work.operator + i * m, work.impulses, m)
            if turns_round(table, x, h, k, work.left + at, work):
                work.numbers[block], found = touching.static[k], True
        at += n
    return found


@internal
def _leave_held(table, m, work):
    """Have rows with friction that the constraints hold, such as a slider's at its dead centre, move nothing.

    Their W is rounding, which may be below zero. With that of free rows in its place impulses oppose what slips.
    """
    head = 0.0
    for i in range(m):
        row, k = int(work.which[i]), int(work.owner[i])
        if k >= 0 and row == table.touching.first_rows[k]:
            head = work.operator[i * (m + 1)]
            continue
        if is_held(table, work, row, work.operator[i * (m + 1)]):
            for j in range(m):
                work.operator[i * m + j] = work.operator[j * m + i] = 0.0
            free, _ = free_response(table, work, row)
            work.operator[i * (m + 1)] = max(free, head) if k >= 0 else free


@internal
def find_impulses(table, x, h, begun, again, known, work):
    """Solve the contact problem of what takes part; return the number of its rows, −1 where it has no answer.

    It begins with what ``work.begin`` has if that is ``known``, with the forces that lasted else.
    """
    touching, nv, problem = table.touching, table.nv, table.touching.problem
    m, blocks, same = 0, 0, True
    for k in range(tl.unilateral_count(touching)):
        if work.active[k] == 0.0:
            continue
        row, n = touching.first_rows[k], touching.sizes[k]
        problem.sizes[blocks] = n
        stands = touching.static[k] > touching.friction[k] and is_still(table, x, h, row, n, work)
        work.numbers[blocks] = touching.static[k] if stands else touching.friction[k]
        blocks += 1
        for j in range(n):
            same = same and work.which[m] == row + j
            work.which[m], work.owner[m] = row + j, k
            m += 1
    problem.contacts = blocks
    for d in range(touching.dry):
        problem.sizes[blocks] = 1
        work.numbers[blocks] = h * touching.limits[d]
        blocks += 1
        work.which[m], work.owner[m] = touching.contact_rows + touching.stops + d, -1
        m += 1
    problem.rows, problem.blocks = m, blocks
    if m == 0:
        return 0
    for i in range(m):
        row = int(work.which[i])
        work.given[i], work.turn[i] = work.velocity[row], turn_of(table, h, row, work)
        work.impulses[i] = work.begin[row] if known else h * begun.lasting[row]
    if exists(touching.colliding):
        return solve_islands(table, x, h, m, again, work)
    closes = False
    for i in range(m):
        k = int(work.owner[i])
        closes = closes or (k >= 0 and work.delay[k] > 0.0)
    if closes:
        keep_rows(work.given, work.turn, m)
    if touching.slope != 0 and m > ALONE:
        respond_together(table, m, work)
    for i in range(m):
        respond(table, int(work.which[i]), work)
    if not (same and work.assembled[0] == m):
        work.assembled[0] = m
        for i in range(m):
            row = int(work.which[i])
            for j in range(i + 1):
                value = along(table, work, row, work.response + int(work.which[j]) * nv)
                work.operator[i * m + j] = value
                work.operator[j * m + i] = value
        _leave_held(table, m, work)
    if not is_finite(work.operator, m * m) or not is_finite(work.given, m):
        return -1
    solved = call_kernel(touching.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    if solved and _may_stick(table, x, h, m, work):
        solved = call_kernel(touching.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    while solved and _breaks_loose(touching, m, work):
        solved = call_kernel(touching.solver, problem, work.solver, BEGINNINGS) == cp.SOLVED
    if solved:
        return m
    if again or not is_finite(work.impulses, m):
        touching.failed = tl.NOT_SOLVED
        return -1
    return m
