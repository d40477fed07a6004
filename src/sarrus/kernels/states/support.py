"""Least controls, then least forces of contacts, stops and dry friction, for an acceleration: inverse dynamics in C.

This is `sarrus.dynamics.solve.support` with `sarrus.dynamics.optimize.force_balance`, for exported C: with the motions
Z that the constraints allow, Zᵀ(S u + Jᵀ r) = Zᵀ w, r within the laws of the modes that (q, v, a) give. Two cone
programs: u is minimal, then r is minimal for this u.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact.rows import add_row, along, load_gaps
from sarrus.kernels.contact.state_problem import first_row, row_rate, size_of
from sarrus.kernels.contact.tolerances import ARRIVED, STEADY, STILL
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory import state_support_layout as ss
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.state_contacts_layout import StateAnswer
from sarrus.kernels.memory.state_support_layout import StateSupport, SupportRoom
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.states.choices import ask_nothing, choice_count, leave_out


@internal
def support(table: Table, x: StateSupport):
    """Write u to ``room.best`` and r to ``x.answer`` for the state in the table's x; return how well they balance."""
    contact_table, nv, nu, nc = table.contact_table, table.nv, table.nu, table.nc
    rows, size = tl.fixed_rows(contact_table), la.input_size(table)
    work = tl.contact_work(contact_table, table.nq, nv, size)
    answer, room = sl.answer_of(x, contact_table, rows, nv), ss.support_room(x, rows, nv, nu, nc)
    copy(table.x, x.input, size)
    copy(table.x, work.middle, size)
    call_native(x.terms, x.input, room.terms)
    if contact_table.motion != 0:
        call_native(contact_table.motion, work.middle, work.native)
    load_gaps(contact_table, work.middle, work.gap)
    f = _load_free(table, room)
    ask_nothing(table, x)
    code = _load_modes(table, x, answer, work)
    if code == ss.DEEP:
        return code
    pairs = _closed_flanks(table, x, answer)
    if pairs > 0:
        _guess_flanks(table, x, pairs, f, room, work)
        _choose_flanks(table, x, pairs, f, answer, room, work)
        _load_modes(table, x, answer, work)
    found = _balance(table, x, f, answer, room, work)
    return ss.IMPOSSIBLE if code == ss.IMPOSSIBLE or _contradicts(table, x, room) else found


@internal
def _contradicts(table: Table, x: StateSupport, room: SupportRoom):
    """Tell whether the acceleration contradicts the constraints."""
    nv, nu, nc, square, size, largest = table.nv, table.nu, table.nc, 0.0, 0.0, 0.0
    missed = room.terms + (nv + nv * nu + nc * nv)
    for j in range(nc):
        square += missed[j] * missed[j]
    for i in range(nv):
        size += x.input[la.input_size(table) + i] ** 2
    for i in range(nc * nv):
        largest = max(largest, abs(room.terms[nv + nv * nu + i]))
    return np.sqrt(square) > x.tolerances.reached * (1.0 + np.sqrt(size) * largest)


@internal
def _load_free(table: Table, room: SupportRoom):
    """Write a basis of the motions that the constraints allow, orthonormal in characteristic units; return its size."""
    nv, nc, factors, settings = table.nv, table.nc, la.factors_of(table), table.settings
    rank, order = 0, la.permutation(table)
    A = fa.Matrix(room.copy, nc, nv, order, room.diagonal, room.beta, room.beta2, room.norms)
    for j in range(nc):
        for i in range(nv):
            entry = room.terms[nv + nv * table.nu + j * nv + i]
            room.copy[j * nv + i] = factors.rows[j] * entry / factors.velocities[i]
    if nc > 0:
        rank = fa.factor(A, table.generic_rank, settings.singular_cut, settings.scale_of_measured_rows)
        rank = max(rank, 0)
    for k in range(nv - rank):
        line = room.free + k * nv
        fill(line, 0.0, nv)
        line[rank + k] = 1.0
        if nc > 0:
            fa.apply_q(A, rank, line)
        for i in range(nv):
            line[i] /= factors.velocities[i]
    return nv - rank


# --- modes ---------------------------------------------------------------------------------------------------


@internal
def _load_modes(table: Table, x: StateSupport, answer: StateAnswer, work: ContactWork):
    """Write the modes of all blocks; return SUPPORTED, DEEP, or IMPOSSIBLE where a block is penetrated."""
    contact_table, code = table.contact_table, ss.SUPPORTED
    v, a = work.middle + table.nq, x.input + la.input_size(table)
    speed = longest_entry(table, v)
    slow = STILL * (1.0 + speed)
    steady = STEADY * (1.0 + speed * speed + longest_entry(table, a))
    unilateral = tl.lasting_contacts(contact_table)
    for k in range(unilateral + contact_table.dry):
        row, n, unit, first = first_row(table, k), size_of(table, k), x.units[k], 0
        answer.modes[k] = tl.OPEN
        if x.asked[k] == sl.LEFT_OUT:
            continue
        if unilateral > 0 and k < unilateral:
            gap, first = work.gap[k], 1
            if k >= contact_table.contacts:
                gap = max(gap, 0.0)
            elif gap < -x.reach[k]:
                answer.facts.at_fault, answer.facts.gap = k, gap
                return ss.DEEP
            head, change = row_rate(table, work, row) / unit, _change(table, work, row, a) / unit
            if gap > x.reach[k] or head > slow or (head < -slow and gap > ARRIVED * unit):
                continue
            if head < -slow:
                code = _fault(code, k, answer)
            elif change > steady:
                continue
            elif change < -steady:
                code = _fault(code, k, answer)
        answer.modes[k] = tl.STICKING
        for again in range(2):
            square = 0.0
            for j in range(first, n):
                value = _change(table, work, row + j, a) if again else row_rate(table, work, row + j)
                answer.directions[row + j] = value / unit
                square += (value / unit) ** 2
            length = np.sqrt(square)
            if length > (steady if again else slow):
                answer.modes[k] = tl.SLIDING
                for j in range(first, n):
                    answer.directions[row + j] /= length
                break
    return code


@internal
def _fault(code: int, k: int, answer: StateAnswer):
    """Note the first block that is penetrated; return IMPOSSIBLE."""
    if code != ss.IMPOSSIBLE:
        answer.facts.at_fault = k
    return ss.IMPOSSIBLE


@internal
def _change(table: Table, work: ContactWork, row: int, a: Floats):
    """Return the acceleration of a row."""
    own = table.contact_table.contact_rows
    return along(table, work, row, a) + (work.native[own + row] if row < own else 0.0)


# --- the balance ---------------------------------------------------------------------------------------------


@internal
def _load_ways(table: Table, x: StateSupport, answer: StateAnswer, room: SupportRoom, work: ContactWork):
    """Write the forces that the modes leave free as base + ways · y; return the number of y."""
    contact_table, rows, count = table.contact_table, tl.fixed_rows(table.contact_table), 0
    unilateral = tl.lasting_contacts(contact_table)
    fill(room.base, 0.0, rows)
    for k in range(unilateral + contact_table.dry):
        row, n, mode, free = first_row(table, k), size_of(table, k), answer.modes[k], 1
        if mode == tl.OPEN:
            continue
        answer.friction[k] = 0.0
        if unilateral == 0 or k >= unilateral:
            answer.friction[k] = contact_table.limits[k - unilateral]
            if mode == tl.SLIDING:
                room.base[row] = -answer.friction[k] * answer.directions[row]
                continue
        elif mode == tl.STICKING and contact_table.static[k] > 0.0:
            answer.friction[k], free = contact_table.static[k], n
        for j in range(free):
            way = room.ways + count * rows
            fill(way, 0.0, rows)
            way[row + j] = 1.0
            if free == 1 and unilateral > 0 and k < unilateral and mode == tl.SLIDING:
                for i in range(1, n):
                    way[row + i] = -contact_table.friction[k] * answer.directions[row + i]
            room.block[count] = k
            length = contact_table.settings.stick_speed / STILL
            room.units[table.nu + count] = length / x.units[k]
            count += 1
    return count


@internal
def _balance(
    table: Table, x: StateSupport, f: int, answer: StateAnswer, room: SupportRoom, work: ContactWork
):
    """Write the least u to ``room.best``, then the least r to ``answer.forces``; return how well they balance."""
    nv, nu, rows = table.nv, table.nu, tl.fixed_rows(table.contact_table)
    count = _load_ways(table, x, answer, room, work)
    n = nu + count
    size = _load_balance(table, x, f, n, room, work)
    reach = _least_squares(table, x, f, 0, n, room)
    code = ss.SUPPORTED if reach <= x.tolerances.balanced else ss.UNREACHABLE
    if count > 0:
        if code == ss.SUPPORTED:
            code = _least_forces(table, x, f, n, answer, room)
        if code != ss.SUPPORTED:
            _nearest(table, x, f, n, answer, room)
    left = _missing(f, n, room)
    if count > 0 and code != ss.SUPPORTED and left <= x.tolerances.balanced:
        code = ss.SUPPORTED
    if code == ss.SUPPORTED and left > x.tolerances.balanced:
        code = ss.ALMOST
    copy(room.base, answer.forces, rows)
    for j in range(n):
        value = room.x[j] * room.units[j] * size
        if j < nu:
            room.best[j] = value
        else:
            axpy(value, room.ways + (j - nu) * rows, answer.forces, rows)
    fill(answer.force, 0.0, nv)
    return code


@internal
def _load_balance(table: Table, x: StateSupport, f: int, n: int, room: SupportRoom, work: ContactWork):
    """Write [R C] in units and w in units of its length; return this length."""
    nv, nu, rows = table.nv, table.nu, tl.fixed_rows(table.contact_table)
    copy(room.terms, room.vector, nv)
    for row in range(rows):
        if room.base[row] != 0.0:
            add_row(table, work, row, -room.base[row], room.vector)
    square = 0.0
    for i in range(f):
        room.load[i] = dot(room.free + i * nv, room.vector, nv)
        square += room.load[i] * room.load[i]
    size = np.sqrt(square) if square > 0.0 else 1.0
    room.size[0] = size
    for i in range(f):
        room.load[i] /= size
    for j in range(n):
        if j < nu:
            room.units[j] = x.units_of_controls[j]
            for i in range(nv):
                room.vector[i] = room.terms[nv + i * nu + j]
        else:
            fill(room.vector, 0.0, nv)
            for row in range(rows):
                weight = room.ways[(j - nu) * rows + row]
                if weight != 0.0:
                    add_row(table, work, row, weight, room.vector)
        for i in range(f):
            room.matrix[i * n + j] = room.units[j] * dot(room.free + i * nv, room.vector, nv)
    return size


@internal
def _least_squares(table: Table, x: StateSupport, f: int, first: int, n: int, room: SupportRoom):
    """Write the least x from ``first`` on that balances best, with those before zero; return the residual."""
    width = n - first
    for i in range(f):
        copy(room.matrix + (i * n + first), room.copy + i * width, width)
    fill(room.x, 0.0, n)
    if width == 0 or f == 0:
        return np.sqrt(dot(room.load, room.load, f))
    A = fa.Matrix(room.copy, f, width, x.order, room.diagonal, room.beta, room.beta2, room.norms)
    rank, _ = fa.solve(A, width, x.tolerances.cut, 0.0, room.load, room.y, room.x + first)
    if rank < 0:
        fill(room.x, 0.0, n)
    return _missing(f, n, room)


@internal
def _missing(f: int, n: int, room: SupportRoom):
    """Write w − [R C] x to ``room.left``; return its length."""
    for i in range(f):
        room.left[i] = room.load[i] - dot(room.matrix + i * n, room.x, n)
    return np.sqrt(dot(room.left, room.left, f))


@internal
def _least_forces(table: Table, x: StateSupport, f: int, n: int, answer: StateAnswer, room: SupportRoom):
    """Write the x of least u, then of least y for this u; return FORBIDDEN where the laws allow none."""
    nu = table.nu
    if not _solve_program(table, x, f, 0, n, nu if nu > 0 else n, answer, room):
        return ss.FORBIDDEN
    if nu > 0:
        copy(room.x, room.change, n)
        copy(room.load, room.vector, f)
        for i in range(f):
            room.load[i] -= dot(room.matrix + i * n, room.x, nu)
        good = _solve_program(table, x, f, nu, n, n, answer, room)
        copy(room.vector, room.load, f)
        copy(room.change, room.x, n if not good else nu)
    return ss.SUPPORTED


@internal
def _solve_program(
    table: Table,
    x: StateSupport,
    f: int,
    first: int,
    n: int,
    weighed: int,
    answer: StateAnswer,
    room: SupportRoom,
):
    """Write the x from ``first`` on, least up to ``weighed``, that balances within the laws; tell if there is one."""
    program, width = x.program, n - first
    m = _shape(table, x, first, n, answer, room)
    program.variables, program.equalities = width, f
    data = program.program
    fill(data, 0.0, width * width + width + f * width + f + m * width + m)
    for j in range(first, min(weighed, n)):
        data[(j - first) * (width + 1)] = 1.0
    rows = data + (width * width + width)
    for i in range(f):
        copy(room.matrix + (i * n + first), rows + i * width, width)
        rows[f * width + i] = room.load[i]
    _load_laws(table, first, n, m, rows + (f * width + f), answer, room)
    if call_kernel(x.solver, program, program.work, cl.COLD) != cl.SOLVED:
        return False
    copy(program.answer, room.x + first, width)
    # what rounding of the program leaves of the load
    for i in range(f):
        room.left[i] = room.load[i] - dot(room.matrix + (i * n + first), room.x + first, width)
        copy(room.matrix + (i * n + first), room.copy + i * width, width)
    A = fa.Matrix(room.copy, f, width, x.order, room.diagonal, room.beta, room.beta2, room.norms)
    change, rank = program.answer, 0
    if f > 0:
        rank, _ = fa.solve(A, width, x.tolerances.cut, 0.0, room.left, room.y, change)
    if rank > 0:
        axpy(1.0, change, room.x + first, width)
    return True


@internal
def _nearest(table: Table, x: StateSupport, f: int, n: int, answer: StateAnswer, room: SupportRoom):
    """Write the x within the laws that balances best."""
    program = x.program
    m = _shape(table, x, 0, n, answer, room)
    program.variables, program.equalities = n, 0
    data = program.program
    fill(data, 0.0, n * n + n + m * n + m)
    for i in range(f):
        line = room.matrix + i * n
        for j in range(n):
            axpy(line[j], line, data + j * n, n)
        axpy(-room.load[i], line, data + n * n, n)
    for j in range(n):
        data[j * (n + 1)] += x.tolerances.ridge
    _load_laws(table, 0, n, m, data + (n * n + n), answer, room)
    call_kernel(x.solver, program, program.work, cl.COLD)
    copy(program.answer, room.x, n)


@internal
def _shape(table: Table, x: StateSupport, first: int, n: int, answer: StateAnswer, room: SupportRoom):
    """Write the numbers of half-lines and cones of the laws, and the sizes of cones; return the number of rows."""
    program, unilateral, linear, cones, m = x.program, tl.lasting_contacts(table.contact_table), 0, 0, 0
    sizes, j = program + cl.SIZES, table.nu
    while j < n:
        k, width = int(room.block[j - table.nu]), 1
        while j + width < n and int(room.block[j + width - table.nu]) == k:
            width += 1
        if unilateral == 0 or k >= unilateral:
            sizes[cones] = 2
            cones += 1
            m += 2
        elif width == 1:
            linear += 1
            m += 1
        else:
            sizes[cones] = width
            cones += 1
            m += width
        j += width
    program.linear, program.cones = linear, cones
    return m


@internal
def _load_laws(table: Table, first: int, n: int, m: int, G: Floats, answer: StateAnswer, room: SupportRoom):
    """Write the rows G (m × n − first) and the limits h of the laws: half-lines, then cones."""
    unilateral, width, line, h = tl.lasting_contacts(table.contact_table), n - first, 0, G + m * (n - first)
    for conic in range(2):
        j = table.nu
        while j < n:
            k, count = int(room.block[j - table.nu]), 1
            while j + count < n and int(room.block[j + count - table.nu]) == k:
                count += 1
            dry = unilateral == 0 or k >= unilateral
            if dry and conic == 1:
                h[line] = answer.friction[k] / room.size[0]
                G[(line + 1) * width + (j - first)] = -room.units[j]
                line += 2
            elif not dry and (count > 1) == (conic == 1):
                for i in range(count):
                    weight = answer.friction[k] if i == 0 and count > 1 else 1.0
                    G[(line + i) * width + (j + i - first)] = -weight * room.units[j + i]
                line += count
            j += count


# --- flanks --------------------------------------------------------------------------------------------------


@internal
def _closed_flanks(table: Table, x: StateSupport, answer: StateAnswer):
    """Write the pairs of opposite flanks that are both closed; return their number."""
    n = 0
    for k in range(table.contact_table.contacts):
        other = x.opposites[k]
        if k < other and answer.modes[k] != tl.OPEN and answer.modes[other] != tl.OPEN:
            x.pairs[n] = k
            n += 1
    return n


@internal
def _guess_flanks(table: Table, x: StateSupport, pairs: int, f: int, room: SupportRoom, work: ContactWork):
    """Write which flank of each pair is left out first: the one that would pull, without friction."""
    nu, rows = table.nu, tl.fixed_rows(table.contact_table)
    n = nu + pairs
    fill(room.base, 0.0, rows)
    for p in range(pairs):
        fill(room.ways + p * rows, 0.0, rows)
        room.ways[p * rows + first_row(table, x.pairs[p])] = 1.0
        room.units[nu + p] = 1.0
    _load_balance(table, x, f, n, room, work)
    for j in range(nu):
        for i in range(f):
            room.matrix[i * n + j] /= room.units[j]
    _least_squares(table, x, f, 0, n, room)
    largest = 0.0
    for p in range(pairs):
        largest = max(largest, abs(room.x[nu + p]))
    for p in range(pairs):
        x.firsts[p] = 1 if room.x[nu + p] >= -x.tolerances.none * largest else 0


@internal
def _choose_flanks(
    table: Table,
    x: StateSupport,
    pairs: int,
    f: int,
    answer: StateAnswer,
    room: SupportRoom,
    work: ContactWork,
):
    """Leave out one of two opposite flanks each, with the least u of a balance; without one the first choice stays."""
    best, least = 0, np.inf
    for c in range(choice_count(pairs)):
        leave_out(table, x, pairs, c)
        _load_modes(table, x, answer, work)
        if _balance(table, x, f, answer, room, work) != ss.SUPPORTED:
            continue
        cost = 0.0
        for j in range(table.nu):
            cost += (room.best[j] / x.units_of_controls[j]) ** 2
        if cost < (1.0 - x.tolerances.none) * least:
            best, least = c, cost
        if least == 0.0:
            break
    leave_out(table, x, pairs, best)
