"""Forces at a state with what they leave to choose: one of two opposite flanks, slips that begin at dead centres.

Of two opposite flanks at most one pushes. `sarrus.dynamics.solve.accelerate` and exported C call this kernel.

A dead centre is a state where a contact with friction begins to slip although the constraints hold it at this instant:
a slider there has the velocity J v = 0, and nearly no acceleration J a + J̇ v for any forces. On a motion
v t⁰ + a t + … along closed constraints the velocity is then B(v, v) t + … + B(a, a) t³/2, with the quadratic part B of
J a + J̇ v in velocities; for one motion both terms have the same direction, and so has the reversed motion. Friction
there does no work to first order, but it acts from this instant on.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.rows import along
from sarrus.kernels.contact.state_forces import load_ways, square_matrix
from sarrus.kernels.contact.state_problem import first_row, size_of
from sarrus.kernels.contact.tolerances import (
    ARRIVED,
    DETERMINED_PIVOT,
    STEADY,
    STILL,
    UNLOADED,
    UNMOVED_FORCE,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.state_contacts_layout import StateAnswer, StateChoices, StateRoom
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.states.infeasible import closes_further

# Pairs of closed flanks of which all choices are tried; of more, the first choice and those that differ in one pair.
MOST_PAIRS = 6


def choices(table: Table, x: StateChoices, level: int) -> int:
    """Write the forces at the state in the table's x to ``x.answer``; return `FOUND` or why there are none.

    At level 0 M must have a factor; at level 1 compliances are differences of accelerations where it has none. At the
    levels of runs ``x.asked`` says what touches, slides and rests, and no flank is left out.
    """
    return choose_forces(table, x, level)


@internal
def choose_forces(table: Table, x: StateChoices, level: int):
    """Write the forces at the state in the table's x to ``x.answer``; return `FOUND` or why there are none."""
    contact_table = table.contact_table
    work = tl.contact_work(contact_table, table.nq, table.nv, la.input_size(table))
    answer = sl.answer_of(x, contact_table, tl.fixed_rows(contact_table), table.nv)
    room = sl.room_of(x, tl.fixed_rows(contact_table), table.nv)
    by_run = level >= sl.IN_RUN
    if by_run:
        level -= sl.IN_RUN
    else:
        ask_nothing(table, x)
    _forget_marks(table, answer)
    code = _find(table, x, level)
    if code != sl.FOUND:
        return code
    pairs = 0 if by_run else _closed_flanks(table, x, answer, work)
    if pairs > 0:
        _mark_jams(table, x, answer)
        code = _on_flanks(table, x, level, pairs, answer, work)
    else:
        code = _judged(table, x, level, answer, work)
    _mark_jams(table, x, answer)
    failed = code == sl.IMPOSSIBLE or code == sl.NOT_SOLVED
    if failed and closes_further(table, answer, room, work):
        return sl.NO_MOTION
    if code == sl.FOUND:
        _mark_shares(table, x, answer, room)
    return code


@internal
def ask_nothing(table: Table, x: StateChoices):
    """Ask of no block anything but what the state says."""
    for k in range(tl.lasting_contacts(table.contact_table) + table.contact_table.dry):
        x.asked[k] = sl.NOTHING


@internal
def _forget_marks(table: Table, answer: StateAnswer):
    """Mark no force as ambiguous."""
    fill(answer.ambiguous, 0.0, tl.lasting_contacts(table.contact_table) + table.contact_table.dry)


@internal
def _find(table: Table, x: StateChoices, level: int):
    """Return the end of the kernel of forces, at level 1 by differences of accelerations where M has no factor."""
    code = call_kernel(x.forces, table, x, 0)
    if code == sl.NO_FACTOR and level > 0:
        code = call_kernel(x.forces, table, x, 1)
    return code


@internal
def _judged(table: Table, x: StateChoices, level: int, answer: StateAnswer, work: ContactWork):
    """Return `FOUND` where the forces obey the laws, with slips that begin at dead centres, or why there are none."""
    if answer.facts.residual <= CONTACT_RESIDUAL and answer.facts.at_rest != 0.0:
        if not _begin_slips(table, x, answer, work):
            return sl.FOUND
        code = _find(table, x, level)
        if code == sl.NOT_FINITE:
            return code
        answer.facts.at_rest = 0.0
    if answer.facts.residual <= CONTACT_RESIDUAL:
        return sl.FOUND
    return sl.IMPOSSIBLE if _mark_jams(table, x, answer) else sl.NOT_SOLVED


@internal
def _mark_jams(table: Table, x: StateChoices, answer: StateAnswer):
    """Mark slipping contacts whose normal acceleration falls with the normal force (Painlevé); tell if any does."""
    m, found = int(answer.facts.rows), False
    for k in range(tl.lasting_contacts(table.contact_table)):
        if answer.start[k] < 0.0 or answer.going[k] != 1.0:
            continue
        at, row = int(answer.start[k]), first_row(table, k)
        line, rub = answer.delassus + at * m, 0.0
        for j in range(1, size_of(table, k)):
            rub += line[at + j] * answer.directions[row + j]
        if line[at] - answer.friction[k] * rub <= UNLOADED * line[at]:
            answer.ambiguous[k] = 1.0
            found = True
    return found


@internal
def _mark_shares(table: Table, x: StateChoices, answer: StateAnswer, room: StateRoom):
    """Mark blocks whose forces the laws leave open although the acceleration depends on them.

    These are contacts that share a load with contacts that slide in other directions: changes y of the forces of the
    modes with which what is held stays at rest, W_h ways y = 0, but W ways y is not zero.
    """
    m, slides = int(answer.facts.rows), False
    for blocks in range(int(answer.facts.blocks)):
        slides = slides or answer.modes[int(room.block_of[blocks])] == tl.SLIDING
    if not slides:
        return
    c, largest = load_ways(table, m, answer, room), 0.0
    for j in range(c):
        for i in range(c):
            row = int(room.held[i])
            room.square[i * c + j] = dot(answer.delassus + row * m, room.ways + j * m, m) / room.weights[row]
    A = square_matrix(table, x, room, c, c)
    rank = fa.factor(A, c, DETERMINED_PIVOT, 0.0) if c > 0 else 0
    if rank == c:
        return
    for j in range(c):
        for i in range(m):
            largest = max(largest, abs(dot(answer.delassus + i * m, room.ways + j * m, m)))
    for k in range(max(rank, 0), c):
        change, y = room.known, room.best
        fill(y, 0.0, c)
        y[k] = 1.0
        fa.apply_q(A, rank, y)
        fill(change, 0.0, m)
        for j in range(c):
            axpy(y[j], room.ways + j * m, change, m)
        felt = 0.0
        for i in range(m):
            felt = max(felt, abs(dot(answer.delassus + i * m, change, m)))
        if felt > UNMOVED_FORCE * largest:
            _mark_changed(table, answer, room)


@internal
def _mark_changed(table: Table, answer: StateAnswer, room: StateRoom):
    """Mark the blocks whose forces ``room.known`` changes."""
    for blocks in range(int(answer.facts.blocks)):
        k = int(room.block_of[blocks])
        at = int(answer.start[k])
        for i in range(at, at + size_of(table, k)):
            if abs(room.known[i]) * room.weights[i] > UNMOVED_FORCE:
                answer.ambiguous[k] = 1.0


@internal
def _load_acceleration(table: Table, answer: StateAnswer, work: ContactWork, out: Floats):
    """Write the acceleration with the forces of the answer to ``out``."""
    size, nv = la.input_size(table), table.nv
    copy(table.x, work.middle, size)
    axpy(1.0, answer.force, work.middle + (size - nv), nv)
    call_kernel(table.contact_table.inner, table, work.middle, la.SLOPE)
    copy(la.workspace(table).a, out, nv)


# --- dead centres --------------------------------------------------------------------------------------------


@internal
def _begin_slips(table: Table, x: StateChoices, answer: StateAnswer, work: ContactWork):
    """Ask blocks at dead centres to slide as they do a moment later; return whether any does."""
    _load_acceleration(table, answer, work, work.first)
    return find_onsets(table, x, answer, work)


@internal
def find_onsets(table: Table, x: StateChoices, answer: StateAnswer, work: ContactWork):
    """Ask blocks whose ``going`` is negative to slide as they do a moment later; return whether any does.

    Their tangential rows have no velocity, acceleration or response to forces with the acceleration ``work.first``. The
    velocity of the state decides the direction, and if it gives none the acceleration.
    """
    nq, nv, begun = table.nq, table.nv, False
    a, way, still = work.first, work.way, work.smooth
    hurry = 1.0 + longest_entry(table, a)
    fill(still, 0.0, nv)
    _project(table, still, work)
    for again in range(2):
        copy(a if again else table.x + nq, way, nv)
        _project(table, way, work)
        axpy(-1.0, still, way, nv)
        speed = longest_entry(table, way)
        if not speed > STILL:
            continue
        scale = np.sqrt(hurry) / speed
        good = _load_changes(table, x, scale, work, work.velocity)
        good = good and _load_changes(table, x, -scale, work, work.begin)
        good = good and _load_changes(table, x, 0.0, work, work.answer)
        if not good:
            continue
        for row in range(tl.fixed_rows(table.contact_table)):
            mean = 0.5 * (work.velocity[row] + work.begin[row])
            work.velocity[row] = mean - work.answer[row]
        begun = _turn_blocks(table, x, STEADY * hurry, answer, work) or begun
    if x.motion != 0:
        call_native(x.motion, table.x, work.native)
    return begun


@internal
def _turn_blocks(table: Table, x: StateChoices, least: float, answer: StateAnswer, work: ContactWork):
    """Ask blocks at dead centres to slide along ``work.velocity`` where it is above ``least``; tell if any does."""
    unilateral, begun = tl.lasting_contacts(table.contact_table), False
    for k in range(unilateral + table.contact_table.dry):
        if answer.going[k] >= 0.0 or (x.asked[k] != sl.NOTHING and x.asked[k] != sl.RESTS):
            continue
        first = 0 if k >= unilateral else 1
        row, n, unit = first_row(table, k) + first, size_of(table, k) - first, x.units[k]
        length = fr.length(work.velocity + row, n) / unit
        if length > least:
            x.asked[k] = sl.SLIDES_ALONG
            for j in range(n):
                answer.directions[row + j] = work.velocity[row + j] / (unit * length)
            begun = True
    return begun


@internal
def _project(table: Table, v: Floats, work: ContactWork):
    """Replace v by the velocity closest to it that satisfies the constraints at the state."""
    if table.nc > 0:
        copy(table.x, work.middle, la.input_size(table))
        copy(v, work.middle + table.nq, table.nv)
        la.workspace(table).factored[0] = 0.0
        call_kernel(table.contact_table.projection, table, work.middle, la.VELOCITIES)
        copy(work.middle + table.nq, v, table.nv)


@internal
def _load_changes(table: Table, x: StateChoices, scale: float, work: ContactWork, out: Floats):
    """Write the accelerations of all rows at the velocity still + scale × way, without forces; False without them."""
    contact_table, nq, nv, size = table.contact_table, table.nq, table.nv, la.input_size(table)
    copy(table.x, work.middle, size)
    copy(work.smooth, work.middle + nq, nv)
    axpy(scale, work.way, work.middle + nq, nv)
    fill(work.middle + (size - nv), 0.0, nv)
    if call_kernel(contact_table.inner, table, work.middle, la.SLOPE) < 0:
        return False
    if x.motion != 0:
        call_native(x.motion, work.middle, work.native)
    for row in range(tl.fixed_rows(contact_table)):
        bias = work.native[contact_table.contact_rows + row] if row < contact_table.contact_rows else 0.0
        out[row] = along(table, work, row, la.workspace(table).a) + bias
    return True


# --- flanks --------------------------------------------------------------------------------------------------


@internal
def _closed_flanks(table: Table, x: StateChoices, answer: StateAnswer, work: ContactWork):
    """Write the pairs of opposite flanks that are both closed; return their number."""
    n = 0
    for k in range(table.contact_table.contacts):
        other = x.opposites[k]
        if k < other and answer.start[k] >= 0.0 and answer.start[other] >= 0.0:
            x.pairs[n] = k
            x.firsts[n] = 1 if work.gap[k] <= work.gap[other] + ARRIVED * x.units[k] else 0
            n += 1
    return n


@internal
def choice_count(pairs: int):
    """Return the number of choices of one flank each to leave out."""
    count = 1
    for _ in range(pairs):
        count = 2 * count if pairs <= MOST_PAIRS else pairs + 1
    return count


@internal
def leave_out(table: Table, x: StateChoices, pairs: int, choice: int):
    """Leave out one flank of each pair: the first choice, and those that differ from it."""
    ask_nothing(table, x)
    digits = choice
    for p in range(pairs - 1, -1, -1):
        flip = digits % 2 if pairs <= MOST_PAIRS else (1 if p == choice - 1 else 0)
        digits = digits // 2
        k = x.pairs[p]
        x.asked[x.opposites[k] if x.firsts[p] != flip else k] = sl.LEFT_OUT


@internal
def _on_flanks(table: Table, x: StateChoices, level: int, pairs: int, answer: StateAnswer, work: ContactWork):
    """Find forces in which at most one of two opposite flanks pushes, and the other one does not close further.

    Without any the answer is that of the first choice whose forces do not obey the laws, or of all flanks.
    """
    blocks, failed = tl.lasting_contacts(table.contact_table) + table.contact_table.dry, sl.NO_CHOICE
    for c in range(choice_count(pairs)):
        leave_out(table, x, pairs, c)
        for _ in range(2 * pairs + 2):
            if _find(table, x, level) == sl.NOT_FINITE:
                break
            code = _judged(table, x, level, answer, work)
            if code != sl.FOUND:
                if failed == sl.NO_CHOICE:
                    failed = code
                    for k in range(blocks):
                        x.failed[k] = sl.LEFT_OUT if x.asked[k] == sl.LEFT_OUT else sl.NOTHING
                break
            if not _swap_flanks(table, x, pairs, answer, work):
                return sl.FOUND
    _forget_marks(table, answer)
    for k in range(blocks):
        x.asked[k] = sl.NOTHING if failed == sl.NO_CHOICE else x.failed[k]
    _find(table, x, level)
    return failed if failed == sl.NO_CHOICE else _judged(table, x, level, answer, work)


@internal
def _swap_flanks(table: Table, x: StateChoices, pairs: int, answer: StateAnswer, work: ContactWork):
    """Leave out the other flank of pairs whose flank that was left out would close further; tell whether there are any.

    Nothing but the flanks is asked after that.
    """
    contact_table, a, swapped = table.contact_table, work.first, False
    _load_acceleration(table, answer, work, a)
    speed = longest_entry(table, table.x + table.nq)
    least = STEADY * (1.0 + speed * speed + longest_entry(table, a))
    if contact_table.motion != 0:
        call_native(contact_table.motion, table.x, work.native)
    for k in range(contact_table.contacts):
        x.asked[k] = sl.NOTHING if x.asked[k] == sl.SLIDES_ALONG else x.asked[k]
    for k in range(
        tl.lasting_contacts(contact_table), tl.lasting_contacts(contact_table) + contact_table.dry
    ):
        x.asked[k] = sl.NOTHING
    for p in range(pairs):
        k = x.pairs[p]
        out = k if x.asked[k] == sl.LEFT_OUT else x.opposites[k]
        row = first_row(table, out)
        change = along(table, work, row, a) + work.native[contact_table.contact_rows + row]
        if change / x.units[out] < -least:
            x.asked[out] = sl.NOTHING
            x.asked[x.opposites[out]] = sl.LEFT_OUT
            swapped = True
    return swapped
