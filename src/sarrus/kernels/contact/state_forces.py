"""Forces of contacts, stops and dry friction at a state, with the acceleration: one contact problem on accelerations.

With the rows J of blocks that may stick, slide or open, W = J K Jᵀ and b = J a + J̇ v, a without forces on them, the
forces r and accelerations u = W r + b obey the laws of Signorini and Coulomb. K is the compliance with closed loops:
W = Ĵ Ĵᵀ, Ĵᵀ = P L⁻ᵀ Jᵀ, from the factors M = LᵀL and A of one forward dynamics (`kernels.solve.acceleration`).

A block that slides at the present velocity is one unknown r_n along n − μ d: its friction is exact whatever r_n is. If
sticking of all others obeys the laws, the forces follow from one linear system; otherwise a contact problem
(`kernels.contact.contact_problem`) gives the modes, and the forces of these modes follow from the linear system.
Normal forces that statics does not determine are those on equal springs, where a contact that would have to pull has
none; other forces are the least ones.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.contact_problem import power_of_two
from sarrus.kernels.contact.islands import BEGINNINGS
from sarrus.kernels.contact.rows import add_row
from sarrus.kernels.contact.state_problem import first_row, load_problem, size_of, sort_blocks
from sarrus.kernels.contact.tolerances import (
    DEPENDENT_CONTACT_PIVOT,
    DETERMINED_PIVOT,
    NO_ACCELERATION,
    NO_COMPLIANCE,
    REFINED_RESIDUAL,
    RESIDUAL_AT_ROUNDING,
    RESIDUAL_OF_SHARED_FORCES,
    SAME_SLIP,
    SLIP_ROUNDS,
    UNLOADED,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.state_contacts_layout import StateAnswer, StateContacts, StateRoom
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import internal


def contact_forces(table: Table, x: StateContacts, level: int) -> int:
    """Write the forces at the state in the table's x to ``x.answer``; return `FOUND` or why there are none.

    The residual in the facts tells how well the laws hold. The table of contacts is ``table.contact_table`` during the
    call. At level 0 M must have a factor; at level 1 compliances are differences of accelerations.
    """
    contact_table, nq, nv = table.contact_table, table.nq, table.nv
    rows, size = tl.fixed_rows(contact_table), la.input_size(table)
    work = tl.contact_work(contact_table, nq, nv, size)
    answer, room = sl.answer_of(x, contact_table, rows, nv), sl.room_of(x, rows, nv)
    fill(answer.facts, 0.0, sl.N_FACTS)
    fill(answer.forces, 0.0, rows)
    fill(answer.force, 0.0, nv)
    copy(table.x, work.middle, size)
    code, m = sort_blocks(table, x, answer, room, work)
    answer.facts.rows = m
    if code != sl.FOUND:
        return code
    code = load_problem(table, x, m, level, answer, room, work)
    if code != sl.FOUND:
        return code
    if m > 0:
        answer.facts.residual = _find(table, x, m, answer, room, work)
        answer.facts.at_rest = _at_rest(table, m, answer, room)
    _write(table, x, answer, room, work)
    return sl.FOUND if is_finite(answer.force, nv) else sl.NOT_FINITE


# --- the forces ----------------------------------------------------------------------------------------------


@internal
def _find(table: Table, x: StateContacts, m: int, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Write the forces on the m rows, in units, to ``room.scaled``, with modes and directions; return the residual.

    Normal forces are first those on equal springs, without contacts that would have to pull on them.
    """
    fill(room.lifted, 0.0, m)
    for _ in range(int(answer.facts.blocks)):
        normals = _add_springs(table, x, m, answer, room)
        if normals == 0:
            break
        left, most, pulls = _find_with(table, x, m, answer, room, work), 0.0, False
        for i in range(normals):
            most = max(most, room.scaled[int(room.normals[i])])
        for i in range(normals):
            at = int(room.normals[i])
            if not room.scaled[at] > UNLOADED * most:
                room.lifted[at], pulls = 1.0, True
        if left <= CONTACT_RESIDUAL and not pulls:
            return left
        _forget_slips(table, answer, room)
        if not pulls:
            break
    copy(answer.delassus, room.sprung, m * m)
    return _find_with(table, x, m, answer, room, work)


@internal
def _forget_slips(table: Table, answer: StateAnswer, room: StateRoom):
    """Give all contacts that may stick their static coefficients again."""
    unilateral = tl.lasting_contacts(table.contact_table)
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        if unilateral > 0 and k < unilateral and answer.going[k] == 0.0:
            answer.friction[k] = table.contact_table.static[k]


@internal
def _add_springs(table: Table, x: StateContacts, m: int, answer: StateAnswer, room: StateRoom):
    """Write W with equal springs along changes of normal forces without effect on the motion to ``room.sprung``.

    Return the number of contacts that may share normal forces, with their rows in ``room.normals``; 0 if statics
    determines all of them. The changes are the null space of the part W_n of normal rows of contacts; a compliance
    along it makes N of the solution orthogonal to it, as a plate on equal springs. A contact that is ``lifted`` has a
    spring of its own, on which it has no force if it need not push.
    """
    copy(answer.delassus, room.sprung, m * m)
    n, mean, lifted = 0, 0.0, False
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        if k >= table.contact_table.contacts:
            continue
        at = int(answer.start[k])
        if room.lifted[at] != 0.0:
            room.sprung[at * (m + 1)] += answer.delassus[at * (m + 1)]
            lifted = True
        else:
            room.normals[n] = at
            n += 1
    for i in range(n):
        at = int(room.normals[i])
        mean += answer.delassus[at * (m + 1)] / n
        for j in range(n):
            room.square[i * n + j] = answer.delassus[at * m + int(room.normals[j])]
    if n < 2:
        return n if lifted else 0
    A = square_matrix(table, x, room, n, n)
    rank = fa.factor(A, n, DEPENDENT_CONTACT_PIVOT, 0.0)
    if rank < 0 or rank == n:
        return n if lifted and rank == n else 0
    for k in range(rank, n):
        way = room.speeds
        fill(way, 0.0, n)
        way[k] = 1.0
        fa.apply_q(A, rank, way)
        for i in range(n):
            for j in range(n):
                room.sprung[int(room.normals[i]) * m + int(room.normals[j])] += mean * way[i] * way[j]
    return n


@internal
def _find_with(
    table: Table, x: StateContacts, m: int, answer: StateAnswer, room: StateRoom, work: ContactWork
):
    """Write forces, modes and directions with the compliance ``room.sprung``; return the residual of the laws.

    A block that starts to slide has the kinetic coefficient from then on.
    """
    _weigh(table, m, answer, room)
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        answer.modes[k] = tl.SLIDING if answer.going[k] != 0.0 else tl.STICKING
    left = _find_by_modes(table, x, m, answer, room)
    if left <= RESIDUAL_AT_ROUNDING:
        _find_modes(table, m, answer, room)
        return left
    while True:
        left = _find_by_newton(table, m, answer, room, work)
        if not _find_modes(table, m, answer, room):
            break
    copy(room.scaled, room.best, m)
    again = _find_by_modes(table, x, m, answer, room)
    if again <= max(left, RESIDUAL_OF_SHARED_FORCES):
        return again
    copy(room.best, room.scaled, m)
    left = _residual(table, m, answer, room)
    _find_modes(table, m, answer, room)
    _turn_to_forces(table, answer, room)
    return left


@internal
def _turn_to_forces(table: Table, answer: StateAnswer, room: StateRoom):
    """Write the directions opposite to their friction for contacts that start to slide, however slowly they do."""
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n = int(answer.start[k]), size_of(table, k)
        if (
            k >= tl.lasting_contacts(table.contact_table)
            or answer.modes[k] != tl.SLIDING
            or answer.going[k] != 0.0
        ):
            continue
        rub = fr.length(room.scaled + (at + 1), n - 1)
        if rub > 0.5 * answer.friction[k] * room.scaled[at]:
            for j in range(1, n):
                answer.directions[first_row(table, k) + j] = -room.scaled[at + j] / rub


@internal
def _weigh(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Write the units in which forces are least: the compliance of a block, as in a contact problem."""
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n, square = int(answer.start[k]), size_of(table, k), 0.0
        for i in range(at, at + n):
            square += room.sprung[i * (m + 1)]
        fill(room.weights + at, power_of_two(np.sqrt(square)), n)


@internal
def _find_by_modes(table: Table, x: StateContacts, m: int, answer: StateAnswer, room: StateRoom):
    """Write the least forces of the modes, with friction exactly against the slip; return the residual of the laws."""
    left, c = np.inf, 0
    for _ in range(SLIP_ROUNDS):
        c = load_ways(table, m, answer, room)
        copy(room.known, room.scaled, m)
        if c > 0 and not _solve_ways(table, x, m, c, answer, room):
            return np.inf
        left, change = _residual(table, m, answer, room), 0.0
        for blocks in range(int(answer.facts.blocks)):
            k = int(room.block_of[blocks])
            if answer.modes[k] == tl.SLIDING and answer.going[k] == 0.0:
                change = max(change, _turn(table, answer, room, k))
        if change <= SAME_SLIP or not left < np.inf:
            break
    if (
        RESIDUAL_AT_ROUNDING < left <= REFINED_RESIDUAL and c > 0
    ):  # rows of one unit may differ by many decades: rolling
        copy(room.scaled, room.known, m)
        if _solve_ways(table, x, m, c, answer, room):
            left = _residual(table, m, answer, room)
    return left


@internal
def _turn(table: Table, answer: StateAnswer, room: StateRoom, k: int):
    """Write the direction of the slip acceleration of a block; return the change of its largest component."""
    first = 0 if k >= tl.lasting_contacts(table.contact_table) else 1
    at, n, change = int(answer.start[k]) + first, size_of(table, k) - first, 0.0
    own = answer.directions + (first_row(table, k) + first)
    speed = fr.length(room.speeds + at, n)
    if not speed > UNLOADED * answer.facts.largest:
        return 0.0
    for j in range(n):
        part = room.speeds[at + j] / speed
        change = max(change, abs(part - own[j]))
        own[j] = part
    return change


@internal
def load_ways(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Write the forces known + ways · y of the modes and the rows without acceleration; return the number of ways."""
    unilateral, c = tl.lasting_contacts(table.contact_table), 0
    fill(room.known, 0.0, m)
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n, mu, mode = int(answer.start[k]), size_of(table, k), answer.friction[k], answer.modes[k]
        own = answer.directions + first_row(table, k)
        if mode == tl.OPEN:
            continue
        if k >= unilateral and mode == tl.SLIDING:
            room.known[at] = -mu * own[0]
            continue
        if mode == tl.SLIDING or (k < unilateral and not mu > 0.0):
            way, square = room.ways + c * m, 1.0
            fill(way, 0.0, m)
            way[at] = 1.0
            for j in range(1, n if mode == tl.SLIDING else 1):
                way[at + j] = -mu * own[j]
                square += way[at + j] * way[at + j]
            length = room.weights[at] * np.sqrt(square)
            for j in range(n):
                way[at + j] /= length
            room.held[c] = at
            c += 1
            continue
        for j in range(n):
            way = room.ways + c * m
            fill(way, 0.0, m)
            way[at + j] = 1.0 / room.weights[at]
            room.held[c] = at + j
            c += 1
    return c


@internal
def square_matrix(table: Table, x: StateContacts, room: StateRoom, m: int, n: int):
    """Return the m × n matrix at ``room.square`` with the vectors of its factorization."""
    rows = tl.fixed_rows(table.contact_table) + 1
    v = room.vectors
    return fa.Matrix(room.square, m, n, x.order, v, v + rows, v + 2 * rows, v + 3 * rows)


@internal
def _solve_ways(table: Table, x: StateContacts, m: int, c: int, answer: StateAnswer, room: StateRoom):
    """Add the least combination of the c ways with which the held rows have no acceleration; False if not finite."""
    rows = tl.fixed_rows(table.contact_table) + 1
    rhs, y, least = room.vectors + 4 * rows, room.vectors + 5 * rows, room.vectors + 6 * rows
    for i in range(c):
        row = int(room.held[i])
        weight, line = 1.0 / room.weights[row], room.sprung + row * m
        rhs[i] = -weight * (answer.given[row] + dot(line, room.known, m))
        for j in range(c):
            room.square[i * c + j] = weight * dot(line, room.ways + j * m, m)
    rank, _ = fa.solve(square_matrix(table, x, room, c, c), c, DETERMINED_PIVOT, 0.0, rhs, y, least)
    if rank < 0:
        return False
    for j in range(c):
        axpy(least[j], room.ways + j * m, room.scaled, m)
    return is_finite(room.scaled, m)


@internal
def _find_by_newton(table: Table, m: int, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Write the forces of the contact problem whose sliding blocks are one unknown each; return the residual.

    Newton's method starts at ``room.scaled``, and if this fails without forces.
    """
    problem, unilateral = table.contact_table.problem, tl.lasting_contacts(table.contact_table)
    s, contacts = 0, 0
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n = int(answer.start[k]), size_of(table, k)
        if k < unilateral and (answer.going[k] != 0.0 or not answer.friction[k] > 0.0):
            n = 1
        problem.sizes[blocks], work.numbers[blocks] = n, answer.friction[k]
        contacts += 1 if k < unilateral else 0
        for j in range(n):
            room.unknowns[s] = at + j
            s += 1
    problem.rows, problem.blocks, problem.contacts = s, int(answer.facts.blocks), contacts
    column = 0
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, own = int(answer.start[k]), answer.directions + first_row(table, k)
        for j in range(problem.sizes[blocks]):
            for i in range(s):
                line = room.sprung + int(room.unknowns[i]) * m
                value = line[at + j]
                if answer.going[k] != 0.0:
                    for t in range(1, size_of(table, k)):
                        value -= answer.friction[k] * own[t] * line[at + t]
                work.delassus[i * s + column] = value
            column += 1
    for i in range(s):
        work.given[i] = answer.given[int(room.unknowns[i])]
        work.impulses[i] = room.scaled[int(room.unknowns[i])]
    if (
        not is_finite(work.impulses, s)
        or call_kernel(table.contact_table.solver, problem, work.solver, BEGINNINGS) != cp.SOLVED
    ):
        fill(work.impulses, 0.0, s)
        call_kernel(table.contact_table.solver, problem, work.solver, BEGINNINGS)
    fill(room.scaled, 0.0, m)
    i = 0
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, own = int(answer.start[k]), answer.directions + first_row(table, k)
        for j in range(problem.sizes[blocks]):
            room.scaled[at + j] = work.impulses[i]
            i += 1
        if answer.going[k] != 0.0:
            for j in range(1, size_of(table, k)):
                room.scaled[at + j] = -answer.friction[k] * own[j] * room.scaled[at]
    return _residual(table, m, answer, room)


@internal
def _least(m: int, room: StateRoom):
    """Return the force, in units, that counts as zero."""
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(room.scaled[i]))
    return UNLOADED * largest


@internal
def _open_unloaded(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Set the mode of contacts and stops without force to open."""
    least = _least(m, room)
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        if k < tl.lasting_contacts(table.contact_table) and room.scaled[int(answer.start[k])] <= least:
            answer.modes[k] = tl.OPEN


@internal
def _find_modes(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Write the modes of the forces ``room.scaled``; return True if a block starts to slide with a static coefficient.

    It has the kinetic coefficient then.
    """
    unilateral, loosened, largest = tl.lasting_contacts(table.contact_table), False, answer.facts.largest
    for i in range(m):
        largest = max(largest, abs(room.speeds[i]))
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        first = 0 if k >= unilateral else 1
        at, n = int(answer.start[k]), size_of(table, k)
        slides = fr.length(room.speeds + (at + first), n - first) > UNLOADED * largest
        answer.modes[k] = tl.SLIDING if answer.going[k] != 0.0 or slides else tl.STICKING
        if slides and answer.going[k] == 0.0:
            _turn(table, answer, room, k)
            kinetic = answer.friction[k]
            if unilateral > 0 and k < unilateral:
                kinetic = table.contact_table.friction[k]
            if answer.friction[k] > kinetic and room.scaled[at] > _least(m, room):
                answer.friction[k], loosened = kinetic, True
    if not loosened:
        _open_unloaded(table, m, answer, room)
    return loosened


@internal
def _residual(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Write the accelerations u of the rows, and return the largest violation of the laws.

    Forces are relative to the largest one, accelerations to the largest one without forces. Friction r_t of a block
    that may stick violates its law by ‖r_t − P(r_t − u_t)‖, P the projection on the forces that it can take.
    """
    unilateral, force, worst = tl.lasting_contacts(table.contact_table), 0.0, 0.0
    for i in range(m):
        room.speeds[i] = answer.given[i] + dot(answer.delassus + i * m, room.scaled, m)
        force = max(force, abs(room.scaled[i]))
    if not (is_finite(room.speeds, m) and is_finite(room.scaled, m)):
        return np.inf
    force, motion = force if force > 0.0 else 1.0, answer.facts.largest
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n, first, most = int(answer.start[k]), size_of(table, k), 0, answer.friction[k] / force
        if k < unilateral:
            head, rate = room.scaled[at] / force, room.speeds[at] / motion
            worst = max(worst, max(max(-head, -rate), min(head, rate)))
            first, most = 1, answer.friction[k] * max(head, 0.0)
        if n == first:
            continue
        rub, slip = room.scaled + (at + first), room.speeds + (at + first)
        own = answer.directions + (first_row(table, k) + first)
        going, square, size = answer.going[k] != 0.0, 0.0, 0.0
        for j in range(n - first):
            size += (rub[j] / force - slip[j] / motion) ** 2
        part = min(1.0, most / np.sqrt(size)) if size > 0.0 else 1.0
        for j in range(n - first):
            own_friction = -most * own[j] if going else part * (rub[j] / force - slip[j] / motion)
            square += (rub[j] / force - own_friction) ** 2
        worst = max(worst, np.sqrt(square))
    return worst


# --- the answer ----------------------------------------------------------------------------------------------


@internal
def _at_rest(table: Table, m: int, answer: StateAnswer, room: StateRoom):
    """Return 1.0 if a block that sticks, with friction, has tangential rows that neither move nor are moved, else 0.0.

    So it is at a dead centre (`sarrus.kernels.states.choices`).
    """
    unilateral, response, motion, found = tl.lasting_contacts(table.contact_table), 0.0, 0.0, 0.0
    for i in range(m):
        response = max(response, abs(answer.delassus[i * (m + 1)]))
        motion = max(motion, abs(answer.given[i]))
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, n, first = int(answer.start[k]), size_of(table, k), 0
        most = answer.friction[k]
        if k < unilateral:
            first, most = 1, most * max(room.scaled[at], 0.0)
        if answer.modes[k] != tl.STICKING or not most > 0.0:
            continue
        moved = False
        for i in range(at + first, at + n):
            moved = (
                moved
                or abs(answer.delassus[i * (m + 1)]) > NO_COMPLIANCE * response
                or abs(answer.given[i]) > NO_ACCELERATION * motion
            )
        if not moved:
            answer.going[k] = -1.0
            found = 1.0
    return found


@internal
def _write(table: Table, x: StateContacts, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Write the forces on all rows [N, N m], and their generalized force."""
    contact_table = table.contact_table
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at, row = int(answer.start[k]), first_row(table, k)
        for j in range(size_of(table, k)):
            answer.forces[row + j] = room.scaled[at + j] / x.units[k]
    for row in range(tl.fixed_rows(contact_table)):
        if answer.forces[row] != 0.0:
            add_row(table, work, row, answer.forces[row], answer.force)
