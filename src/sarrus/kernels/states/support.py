"""Least controls, then least forces of contacts, stops and dry friction, for a load and an acceleration.

With the motions Z along which forces must balance, Zᵀ(S u + Jᵀ r) = Zᵀ w, r within the laws of the modes that
(q, v, a) give: u is minimal, then r is minimal for this u (`sarrus.kernels.states.force_balance`). For
`sarrus.dynamics.solve.support`, and for inverse dynamics in exported C, which finds w and Z here, too.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact.rows import add_row, along, load_gaps
from sarrus.kernels.contact.state_problem import first_row, row_rate, size_of
from sarrus.kernels.contact.tolerances import ARRIVED, STEADY, STILL
from sarrus.kernels.memory import balance_layout as bl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory import state_support_layout as ss
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.state_contacts_layout import StateAnswer
from sarrus.kernels.memory.state_support_layout import StateSupport, SupportRoom
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.states.choices import ask_nothing, choice_count, leave_out
from sarrus.kernels.states.force_balance import balance, least_squares, mark_unique


def supported_state(table: Table, x: StateSupport, what: int) -> int:
    """Write modes, u and r at the state and acceleration of ``x.input`` to the answer; return how well they balance.

    w and S are in ``terms`` of the room, Z in ``free``. The table of contacts is ``table.contact_table`` during the
    call; without native functions in it, gaps and motion are in its room already. With ``what`` `MODES`, only modes
    and the ways of the forces.
    """
    answer, room, work = _answer(table, x), _room(table, x), _work(table)
    _begin(table, x, answer, work)
    if what == ss.MODES:
        if not _load_modes(table, x, answer, work):
            return ss.DEEP
        _load_ways(table, x, answer, room)
        return ss.SUPPORTED
    code = _support(table, x, answer, room, work)
    if code == ss.DEEP:
        return code
    mark_unique(x.balance, bl.balance_room(x.balance))
    fill(answer.force, 0.0, table.nv)
    for row in range(tl.fixed_rows(table.contact_table)):
        if answer.forces[row] != 0.0:
            add_row(table, work, row, answer.forces[row], answer.force)
    return code


@internal
def support(table: Table, x: StateSupport):
    """Write u to ``room.best`` and r to ``x.answer`` for the state in the table's x; return how well they balance."""
    answer, room, work = _answer(table, x), _room(table, x), _work(table)
    copy(table.x, x.input, la.input_size(table))
    call_native(x.terms, x.input, room.terms)
    _begin(table, x, answer, work)
    x.balance.motions = _load_free(table, room)
    code = _support(table, x, answer, room, work)
    if code != ss.DEEP and (answer.facts.at_fault >= 0.0 or _contradicts(table, x, room)):
        code = ss.IMPOSSIBLE
    return code


@internal
def _answer(table: Table, x: StateSupport):
    """Return the arrays of the answer."""
    return sl.answer_of(x, table.contact_table, tl.fixed_rows(table.contact_table), table.nv)


@internal
def _room(table: Table, x: StateSupport):
    """Return the arrays of the room."""
    return ss.support_room(x, tl.fixed_rows(table.contact_table), table.nv, table.nu, table.nc)


@internal
def _work(table: Table):
    """Return the arrays of the table of contacts."""
    return tl.contact_work(table.contact_table, table.nq, table.nv, la.input_size(table))


@internal
def _begin(table: Table, x: StateSupport, answer: StateAnswer, work: ContactWork):
    """Write gaps, rows and their velocities at the state of ``x.input``; ask nothing of the blocks."""
    contact_table = table.contact_table
    copy(x.input, work.middle, la.input_size(table))
    if contact_table.motion != 0:
        call_native(contact_table.motion, work.middle, work.native)
    load_gaps(contact_table, work.middle, work.gap)
    ask_nothing(table, x)
    answer.facts.at_fault = -1.0


@internal
def _support(table: Table, x: StateSupport, answer: StateAnswer, room: SupportRoom, work: ContactWork):
    """Write u and r; return how well they balance, or `DEEP`."""
    if not _load_modes(table, x, answer, work):
        return ss.DEEP
    pairs = _closed_flanks(table, x, answer)
    if pairs > 0:
        _guess_flanks(table, x, pairs, room, work)
        _choose_flanks(table, x, pairs, answer, room, work)
        _load_modes(table, x, answer, work)
    return _balance(table, x, answer, room, work)


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
    return np.sqrt(square) > x.balance.tolerances.reached * (1.0 + np.sqrt(size) * largest)


@internal
def _load_free(table: Table, room: SupportRoom):
    """Write a basis of the motions that the constraints allow, orthonormal in characteristic units; return its size."""
    nv, nc, factors, settings = table.nv, table.nc, la.factors_of(table), table.settings
    rank, order = 0, la.permutation(table)
    A = fa.Matrix(room.rows, nc, nv, order, room.diagonal, room.beta, room.beta2, room.norms)
    for j in range(nc):
        for i in range(nv):
            entry = room.terms[nv + nv * table.nu + j * nv + i]
            room.rows[j * nv + i] = factors.rows[j] * entry / factors.velocities[i]
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
    """Write the modes of all blocks, and the first that is penetrated to the facts; return False if one is deep."""
    contact_table = table.contact_table
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
                return False
            head, change = row_rate(table, work, row) / unit, _change(table, work, row, a) / unit
            if gap > x.reach[k] or head > slow or (head < -slow and gap > ARRIVED * unit):
                continue
            if head < -slow:
                _note_fault(k, -head * unit, 0.0, answer)
            elif change > steady:
                continue
            elif change < -steady:
                _note_fault(k, 0.0, -change * unit, answer)
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
    return True


@internal
def _note_fault(k: int, speed: float, change: float, answer: StateAnswer):
    """Note the first block that is penetrated, with its speed or acceleration."""
    if answer.facts.at_fault < 0.0:
        answer.facts.at_fault, answer.facts.speed, answer.facts.gap = k, speed, change


@internal
def _change(table: Table, work: ContactWork, row: int, a: Floats):
    """Return the acceleration of a row."""
    own = table.contact_table.contact_rows
    return along(table, work, row, a) + (work.native[own + row] if row < own else 0.0)


# --- the balance ---------------------------------------------------------------------------------------------


@internal
def _load_ways(table: Table, x: StateSupport, answer: StateAnswer, room: SupportRoom):
    """Write the forces that the modes leave free as base + ways · y, with their laws, to the balance."""
    contact_table, rows, count = table.contact_table, tl.fixed_rows(table.contact_table), 0
    unilateral, own = tl.lasting_contacts(contact_table), bl.balance_room(x.balance)
    fill(room.base, 0.0, rows)
    for k in range(unilateral + contact_table.dry):
        row, n, mode, free = first_row(table, k), size_of(table, k), answer.modes[k], 1
        if mode == tl.OPEN:
            continue
        dry, law = unilateral == 0 or k >= unilateral, 0.0
        if dry:
            law = contact_table.limits[k - unilateral]
            if mode == tl.SLIDING:
                room.base[row] = -law * answer.directions[row]
                continue
            if law == 0.0:
                continue
        elif mode == tl.STICKING and contact_table.static[k] > 0.0:
            law, free = contact_table.static[k], n
        for j in range(free):
            way = room.ways + count * rows
            fill(way, 0.0, rows)
            way[row + j] = 1.0
            if not dry and mode == tl.SLIDING:
                for i in range(1, n):
                    way[row + i] = -contact_table.friction[k] * answer.directions[row + i]
            own.block[count], own.law[count], own.dry[count] = k, law, 1.0 if dry else 0.0
            length = contact_table.settings.stick_speed / STILL
            own.units[x.balance.controls + count] = length / x.units[k]
            count += 1
    x.balance.forces = count


@internal
def _balance(table: Table, x: StateSupport, answer: StateAnswer, room: SupportRoom, work: ContactWork):
    """Write the least u to ``room.best``, then the least r to ``answer.forces``; return how well they balance."""
    nu, rows, own = x.balance.controls, tl.fixed_rows(table.contact_table), bl.balance_room(x.balance)
    _load_ways(table, x, answer, room)
    _load_balance(table, x, room, work)
    code = balance(x.balance, own)
    copy(room.base, answer.forces, rows)
    for j in range(nu + x.balance.forces):
        value = own.x[j] * own.units[j] * own.size[0]
        if j < nu:
            room.best[j] = value
        else:
            axpy(value, room.ways + (j - nu) * rows, answer.forces, rows)
    return code


@internal
def _load_balance(table: Table, x: StateSupport, room: SupportRoom, work: ContactWork):
    """Write [R C] in units and w in units of its length to the balance."""
    nv, nu, rows, f = table.nv, x.balance.controls, tl.fixed_rows(table.contact_table), x.balance.motions
    own, n = bl.balance_room(x.balance), nu + x.balance.forces
    copy(room.terms, room.vector, nv)
    for row in range(rows):
        if room.base[row] != 0.0:
            add_row(table, work, row, -room.base[row], room.vector)
    square = 0.0
    for i in range(f):
        own.load[i] = dot(room.free + i * nv, room.vector, nv)
        square += own.load[i] * own.load[i]
    size = np.sqrt(square) if square > 0.0 else 1.0
    own.size[0] = size
    for i in range(f):
        own.load[i] /= size
    for j in range(n):
        if j < nu:
            own.units[j] = x.units_of_controls[j]
            for i in range(nv):
                room.vector[i] = room.terms[nv + i * nu + j]
        else:
            fill(room.vector, 0.0, nv)
            for row in range(rows):
                weight = room.ways[(j - nu) * rows + row]
                if weight != 0.0:
                    add_row(table, work, row, weight, room.vector)
        for i in range(f):
            own.matrix[i * n + j] = own.units[j] * dot(room.free + i * nv, room.vector, nv)


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
def _guess_flanks(table: Table, x: StateSupport, pairs: int, room: SupportRoom, work: ContactWork):
    """Write which flank of each pair is left out first: the one that would pull, without friction."""
    nu, rows, own = x.balance.controls, tl.fixed_rows(table.contact_table), bl.balance_room(x.balance)
    n = nu + pairs
    fill(room.base, 0.0, rows)
    for p in range(pairs):
        fill(room.ways + p * rows, 0.0, rows)
        room.ways[p * rows + first_row(table, x.pairs[p])] = 1.0
        own.units[nu + p] = 1.0
    x.balance.forces = pairs
    _load_balance(table, x, room, work)
    for j in range(nu):
        for i in range(x.balance.motions):
            own.matrix[i * n + j] /= own.units[j]
    least_squares(x.balance, 0, n, own)
    largest = 0.0
    for p in range(pairs):
        largest = max(largest, abs(own.x[nu + p]))
    for p in range(pairs):
        x.firsts[p] = 1 if own.x[nu + p] >= -x.balance.tolerances.none * largest else 0


@internal
def _choose_flanks(
    table: Table, x: StateSupport, pairs: int, answer: StateAnswer, room: SupportRoom, work: ContactWork
):
    """Leave out one of two opposite flanks each, with the least u of a balance; without one the first choice stays."""
    best, least = 0, np.inf
    for c in range(choice_count(pairs)):
        leave_out(table, x, pairs, c)
        _load_modes(table, x, answer, work)
        if _balance(table, x, answer, room, work) != ss.SUPPORTED:
            continue
        cost = 0.0
        for j in range(x.balance.controls):
            cost += (room.best[j] / x.units_of_controls[j]) ** 2
        if cost < (1.0 - x.balance.tolerances.none) * least:
            best, least = c, cost
        if least == 0.0:
            break
    leave_out(table, x, pairs, best)
