"""Controls and contact forces of least cost inside all limits: the kernel of laws with limits or contacts.

The unknowns are x = (u, λ): to the motion, the force of a contact is one more actuator. Of laws with contacts the first
level is physics: closed contacts do not accelerate and open ones have no force. The tasks follow level by level as in
`sarrus.kernels.command`; inequalities among them are limits as long as they can be kept. In the directions that tasks
leave free,

    minimise xᵀW x   subject to √(λ_t1² + λ_t2²) ≤ μ λ_n, λ_n ≤ σ λ_max, u_min ≤ u ≤ u_max, rows of the user

(Aghili, Optimal control of legged robots subject to friction cone constraints, eq. (29)). Where that has no solution,
the tasks are relaxed and physics is not. Level after level,

    minimise ‖T_k x − d_k‖² + ε ‖x − x_0‖²,   then xᵀW x

subject to the limits, of an inequality the positive part of T_k x − d_k: x_0 is what was found before, and later levels
go along the best answers of those before them (`sarrus.kernels.faces`; for inequalities Kanoun, Lamiraux and Wieber
2011, Kinematic control of redundant manipulators). Or all at once, with weights (Aghili, section 3.3, for several
priorities),

    minimise xᵀW x + Σ ρ_k ‖T_k x − d_k‖²

T_k x = d_k is what level k wants. Where rows come or go, the unknowns are between those with and those without them:
with activities a_1 ≥ a_2 ≥ … of the rows, x = Σ (a_j − a_j+1) x(rows 1 … j) with a_0 = 1 (the extension of Lovász). It
is continuous in all of them, and inside all limits, as these are convex.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import contact_layout as cn
from sarrus.kernels import law_layout as ll
from sarrus.kernels.command import begin_levels, prepare, remember, rows_of_level, solve_level
from sarrus.kernels.faces import COUNTS, ENDED, FREE, IDLE, LATER, SLACK, add_across, mark, use_up
from sarrus.kernels.fallback import damp_joints
from sarrus.kernels.flat import internal
from sarrus.kernels.law_layout import LawTable
from sarrus.kernels.level_program import ALL, LEAST, ONE, first_task, minimise, misses_of, program_of, size_of
from sarrus.kernels.limit_rows import (
    NONE,
    accuse,
    count_rows,
    enter,
    excess,
    largest_control,
    largest_of,
    lay,
    order_of,
    recall,
    wake,
    whole_sizes,
)
from sarrus.kernels.record import Floats, laid
from sarrus.kernels.vectors import axpy, copy, dot, fill, is_finite

# Programs for a level, each near what was found by that before it: at least so many, at most, and what another may find
# it to miss less for which that is worth it, in parts of what it wants.
_PASSES, _MOST_PASSES, _LESS = 3, 12, 1e-9
# ε, relative to the square of the size of T; larger by this factor where rounding ends a program, smaller where a
# program leads on, within the last two.
_NEARBY, _LARGER, _SMALLEST, _LARGEST = 1e-7, 100.0, 1e-11, 1e-2
# The first of programs one after the other has limits that are so much tighter, relative to the largest control, every
# other one half of that before it: so what was found before is inside.
TIGHTER = 1e-9
# What a level misses, relative to what it wants, up to which it is fulfilled.
_MET = 1e-9
# A miss proves that there is nothing better nearer than this many times the largest unknown. What rounding leaves of
# its slope, relative to that.
_FAR_AWAY, _FLAT = 1e3, 1e-10
# Programs with larger demands are no beginning for others.
_ABSURD = 1e12
# Activities that are nearer to 0, to 1 or to each other are the same.
_SAME = 1e-6


def distribution(table: LawTable, x: Floats, what: int) -> int:
    """Write u and λ at the state in x to the law's answer; return the rank of A, negative where there are none."""
    contacts, answer = table.contacts, table.answer
    contacts.report[0] = cn.EXACT
    rank, total = prepare(table, x)
    if rank < 0:
        forget_programs(table)
        return rank
    work, n, free = ll.law_workspace(table), table.nu, table.nv - rank
    room = laid(contacts.work, cn.distribution_sizes(n, total, table.n_levels, _most_rows(table), 0))
    row = 0
    for level in range(table.n_levels):
        room.firsts[level] = row
        row += rows_of_level(table, level, free)
    room.firsts[table.n_levels] = row
    if table.on_activity == 1:
        outcome = _between(table, work, room, total, free, what)
    else:
        outcome = _distribute(table, work, room, total, free, what)
    contacts.report[0] = outcome
    if outcome == cn.FAILED:
        forget_programs(table)
        return -2
    _to_controls(table)
    if not (is_finite(answer, n) and is_finite(work.memory, table.n_states)):
        forget_programs(table)
        return -1
    if what == ll.SAMPLE:
        _go_on(table)
    if not largest_of(room.right, total) < _ABSURD:
        forget_programs(table)
    return rank


@internal
def forget_programs(table):
    """Have the next call begin its programs without the last ones: they led nowhere, or to what is no number."""
    kept, size = cn.memory_of(table), cn.slot_size(table.nu, _most_rows(table))
    kept.missing[0] = kept.kind[0] = 0.0
    kept.exact[0] = -1.0
    for slot in range(2 * table.n_levels):
        kept.relaxed[slot * size] = -1.0


@internal
def _to_controls(table):
    """Turn unknowns into controls and forces, none outside its limits by what rounding has left."""
    answer, limits = table.answer, cn.physics_of(table)
    for k in range(table.nu):
        answer[k] = table.preferred[k] + table.roots[k] * answer[k]
    for k in range(table.actuators):
        answer[k] = min(max(answer[k], limits.lower[k]), limits.upper[k])


@internal
def _go_on(table):
    """Remember controls and forces, and what the law is to know at the next sample."""
    kept = cn.memory_of(table)
    kept.known[0] = 1.0
    copy(table.answer, kept.controls, table.nu)
    remember(table)


@internal
def _between(table, work, room, total, free, what):
    """Find the unknowns between those of rows that count and of all rows as they come or go; return the worst
    outcome."""
    n, outcome, threshold = table.nu, cn.EXACT, 1.0
    copy(work.table, room.all_rows, total * n)
    copy(work.right, room.all_right, total)
    fill(room.between, 0.0, n)
    while True:
        below = _next_activity(table, work, threshold)
        _choose_rows(table, work, room, total, threshold)
        found = _distribute(table, work, room, total, free, what)
        if found == cn.FAILED or found == cn.DAMPED:
            return found
        outcome = max(outcome, found)
        axpy(threshold - below, table.answer, room.between, n)
        if below == 0.0:
            break
        threshold = below
    copy(room.between, table.answer, n)
    _choose_rows(table, work, room, total, 1.0)
    copy(work.table, room.rows, total * n)
    copy(work.right, room.right, total)
    _note_misses(table, room, True)
    return outcome


@internal
def _next_activity(table, work, threshold):
    """Return the largest activity below a threshold, 0 where there is none."""
    below = 0.0
    for i in range(table.n_demands):
        if work.active[i] > _SAME and work.active[i] < threshold - _SAME:
            below = max(below, work.active[i])
    return below


@internal
def _choose_rows(table, work, room, total, threshold):
    """Have the rows count whose activity reaches a threshold, the others ask for nothing."""
    n = table.nu
    copy(room.all_rows, work.table, total * n)
    copy(room.all_right, work.right, total)
    for level in range(table.n_levels):
        at = ll.LEVELS + 3 * level
        if table[at] != ll.FORCE:
            first = int(room.firsts[level])
            for i in range(table[at + 2]):
                if work.active[table[at + 1] + i] < threshold - _SAME:
                    fill(work.table + (first + i) * n, 0.0, n)
                    work.right[first + i] = 0.0


@internal
def _distribute(table, work, room, total, free, what):
    """Find the unknowns for the rows that count; return what became of it."""
    n, answer = table.nu, table.answer
    copy(work.table, room.rows, total * n)
    copy(work.right, room.right, total)
    copy(work.right, room.goals, total)
    for level in range(table.n_levels):
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:  # no matter of the hierarchy
            first = int(room.firsts[level])
            fill(work.table + first * n, 0.0, (int(room.firsts[level + 1]) - first) * n)
    done = begin_levels(table, work, total)
    for level in range(table.n_used):
        first = int(room.firsts[level])
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
            at = _out(table, level)
            answer[at] = answer[at + 1] = answer[at + 2] = 0.0
        else:
            end = int(room.firsts[level + 1])
            done = solve_level(table, work, level, first, end - first, done, total)
            if table.settings.damping > 0.0 and answer[_out(table, level) + 1] > 0.0:
                # what it misses for want of rank or by damping is no matter of limits
                for i in range(first, end):
                    room.goals[i] = dot(room.rows + i * n, answer, n)
        room.ends[level] = done
    copy(answer, room.wanted, n)
    copy(work.turned, room.turned, n * n)
    room.margin[0] = 0.0
    return _choose(table, work, room, done, free, what)


@internal
def _choose(table, work, room, done, free, what):
    """Find the unknowns: with tasks as they are, relaxed, relaxed with a jump, or of damped joints; return which."""
    kept, limits = cn.memory_of(table), cn.physics_of(table)
    near = what == ll.SAMPLE and limits.rate[0] > 0.0 and kept.known[0] == 1.0
    if kept.missing[0] > 0.0 and _descend(table, work, room, near, True):
        _note_misses(table, room, True)
        return cn.RELAXED
    kept.missing[0] = 0.0
    if _keep_all(table, work, room, done, near):
        _note_misses(table, room, False)
        return cn.EXACT
    for attempt in range(2 if near else 1):
        held = near and attempt == 0
        if limits.relaxation[first_task(table)] == 0.0:
            found = _descend(table, work, room, held, False)
        else:
            found = _weigh(table, work, room, held)
        if found:
            _note_misses(table, room, True)
            return cn.JUMPED if near and attempt == 1 else cn.RELAXED
    if table.contacts.hold == 1 and damp_joints(table, work, free, near):
        return cn.DAMPED
    return cn.FAILED


@internal
def _keep_all(table, work, room, used, near):
    """Find the unknowns of least cost with all levels as they are; tell whether the limits allow any."""
    lines, cones, kind = lay(table, work, room, near)
    kept = cn.memory_of(table)
    enter(table, room, lines, cones, table.n_used - 1, kept.kind[0] == kind)
    kept.kind[0] = kind
    if table.n_contacts == 0 and cones == 0:
        # they are of least norm already
        for i in range(lines):
            room.faces[i] = IDLE
        if wake(table, room, lines, NONE) == 0:
            return True
    slot = kept.exact
    return _least(table, work, room, lines, cones, kind, slot, used, True)


@internal
def _least(table, work, room, lines, cones, kind, slot, used, begins):
    """Find the unknowns of least cost; tell whether there are any."""
    if not minimise(table, work, room, lines, cones, kind, LEAST, 0, slot, used, begins):
        return False
    cone = program_of(table, room, lines, cones, used)
    recall(table, room, lines, cone)
    return True


@internal
def _weigh(table, work, room, near):
    """Solve with costs of what all levels miss at once; tell whether there is a solution."""
    first = first_task(table)
    used = int(room.ends[0]) if first == 1 else 0
    copy(room.turned, work.turned, table.nu * table.nu)
    copy(room.wanted, table.answer, table.nu)
    lines, cones, kind = lay(table, work, room, near)
    enter(table, room, lines, cones, table.n_used - 1, False)
    slot = cn.memory_of(table).relaxed
    found = minimise(table, work, room, lines, cones, kind, ALL, 0, slot, used, True)
    if found:
        cone = program_of(table, room, lines, cones, used)
        accuse(table, room, cone, lines, cones)
        recall(table, room, lines, cone)
    return found


@internal
def _descend(table, work, room, near, again):
    """Solve level after level, then for the least cost; tell whether the limits allow anything.

    The first levels that the limits allow as they are take one program together. Each of the others takes some, every
    one near where that before it has led, and leaves its best answers to those after it: the faces of the limits on
    which these are, in directions that the level does not see. A program that rounding ends leaves what was found
    before it.

    ``again`` begins with the level that was the first to be missed the last time; where it is met now, or its miss is
    no proof, there is nothing to tell.
    """
    n, levels, memory, first = table.nu, table.n_used, cn.memory_of(table), first_task(table)
    slots, size = memory.relaxed, cn.slot_size(n, _most_rows(table))
    copy(room.turned, work.turned, n * n)
    copy(room.wanted, table.answer, n)
    room.margin[0] = 0.0
    lines, cones, kind = lay(table, work, room, near)
    kept, found, least = levels - 1, False, 0.0
    if again:
        kept = int(memory.missing[0]) - 2
        least = misses_of(table, room, kept + 1, room.goals)
        found = _begin_at(table, work, room, slots + (levels + kept + 1) * size, kept)
        enter(table, room, lines, cones, kept, True)
    while kept >= first and not found and not again:
        kept -= 1
        copy(room.wanted, table.answer, n)
        enter(table, room, lines, cones, kept, False)
        slot, used = slots + max(kept, 0) * size, _used_by(room, kept)
        found = minimise(table, work, room, lines, cones, kind, LEAST, 0, slot, used, True)
    if not found:
        return False
    memory.missing[0], used = kept + 2.0, _used_by(room, kept)
    room.margin[0] = TIGHTER * largest_control(table, room, near)
    for level in range(kept + 1, levels):
        slot, tells = slots + (levels + level) * size, level == kept + 1
        once = again and tells  # it begins outside the limits
        missed, demanded = _fulfil(table, work, room, lines, cones, kind, slot, level, used, tells, once)
        if once and not _is_proof(table, room, level, missed, least):
            copy(room.wanted, table.answer, n)
            room.margin[0] = 0.0
            return False
        if missed >= 0.0:
            used = _pass_on(table, work, room, lines, cones, level, used, missed, demanded)
    _least(table, work, room, lines, cones, kind, slots + levels * size, used, False)
    return True


@internal
def _used_by(room, level):
    """Return how many turned unknowns levels up to one have used up."""
    return int(room.ends[level]) if level >= 0 else 0


@internal
def _begin_at(table, work, room, slot, kept):
    """Go on from the unknowns of a slot, along directions that levels up to ``kept`` leave; False where there are
    none."""
    if not slot[0] >= 0.0:
        return False
    n, answer, used = table.nu, table.answer, _used_by(room, kept)
    fill(room.vector, 0.0, n)
    for k in range(n):
        axpy(slot[1 + k] - answer[k], work.turned + (k * n + used), room.vector, n - used)
    for k in range(n):
        answer[k] += dot(work.turned + (k * n + used), room.vector, n - used)
    return True


@internal
def _is_proof(table, room, level, missed, least):
    """Tell whether the limits do not allow a level, by what it missed in the last of its programs; without limits it
    misses ``least``.

    At the minimum of ‖T x − d‖²/s² + ε ‖x − x_0‖² with r = T x − d, each x' that limits and levels allow has
    rᵀ(T x' − d) ≥ ‖r‖² − s² e ‖x' − x‖: e = ε ‖x − x_0‖ and what rounding leaves of the slope. One that is as good as
    without limits has rᵀ(T x' − d) = least², so it is far away.
    """
    slope = _slope_left(table, room, level) + _FLAT * missed * np.sqrt(size_of(table, room, level))
    return missed**2 - least**2 > _FAR_AWAY * slope * largest_of(table.answer, table.nu)


@internal
def _slope_left(table, room, level):
    """Return s² ε ‖x − x_0‖ of the last program of a level: how steeply ½ ‖T x − d‖² may still fall."""
    moved = 0.0
    for k in range(table.nu):
        moved += (table.answer[k] - room.base[k]) ** 2
    return size_of(table, room, level) * room.nearby[0] * np.sqrt(moved)


@internal
def _leads_on(table, room, level, missed, demanded):
    """Tell whether another program may find a level to miss less, by what is left of the slope."""
    if missed <= _MET * (1.0 + demanded):
        return False
    less = _slope_left(table, room, level) * largest_of(table.answer, table.nu) / missed
    return less > _LESS * (1.0 + demanded)


@internal
def _fulfil(table, work, room, lines, cones, kind, slot, level, used, tells, once):
    """Find a best answer of a level; return what it misses, zero where no program is solved and negative where none is
    needed, and what it wants.

    With ``tells`` it says whose limits are in the way. The first of its programs is tried ``once`` where what was found
    before need not be inside the limits.
    """
    at_most = table[ll.LEVELS + 3 * level] == ll.AT_MOST
    demanded = _demanded(table, room, level)
    turns, missed, done = 0, 0.0, False
    for i in range(lines):
        if room.faces[i] == LATER and room.belongs[i] == level:
            room.faces[i] = IDLE
    if at_most and wake(table, room, lines, level) == 0:
        return -1.0, demanded
    room.nearby[0] = _NEARBY
    while not done:
        # one that is the first does not know yet of tighter limits
        begins = tells and turns == 0
        solved = minimise(table, work, room, lines, cones, kind, ONE, level, slot, used, begins)
        turns += 1
        if solved:
            if begins:
                cone = program_of(table, room, lines, cones, used)
                accuse(table, room, cone, lines, cones)
            missed = misses_of(table, room, level, room.goals)
            done = turns >= _PASSES
            if done and _leads_on(table, room, level, missed, demanded):
                room.nearby[0], done = max(room.nearby[0] / _LARGER, _SMALLEST), False
        else:
            room.nearby[0] *= _LARGER
            done = room.nearby[0] > _LARGEST or (once and turns == 1)
        done = done or turns >= _MOST_PASSES
    return missed if solved else 0.0, demanded


@internal
def _pass_on(table, work, room, lines, cones, level, used, missed, demanded):
    """Use up directions across the best answers of a level; return how many are used up."""
    n, free, first, end = table.nu, table.nu - used, int(room.firsts[level]), int(room.firsts[level + 1])
    scale = np.sqrt(size_of(table, room, level))
    out = laid(room.across, cn.across_sizes(n, int(room.firsts[table.n_levels]), _most_rows(table)))
    count = 0
    if missed > _MET * (1.0 + demanded):
        cone = program_of(table, room, lines, cones, used)
        _, slack = count_rows(table, room, lines, cones)
        least = COUNTS * (2.0 * missed / scale)
        count = mark(cone, lines, cones, whole_sizes(table), free + slack, free, least, room.faces, out)
    if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
        count = _settle(table, work, room, lines, level, used, demanded, scale, out, count)
    else:
        count = add_across(room.rows, first, end, n, work.turned, used, scale, out, count)
    return use_up(work.turned, n, used, out, count, order_of(table))


@internal
def _settle(table, work, room, lines, level, used, demanded, scale, out, count):
    """Have what inequalities of a level miss be what they miss for ever, the others limits; write the rows across."""
    n = table.nu
    for i in range(lines):
        if room.faces[i] == SLACK and room.belongs[i] == level:
            more, _ = excess(table, room, i)
            if more > _MET * (1.0 + demanded):
                room.faces[i] = ENDED
                count = add_across(room.limits, i, i + 1, n, work.turned, used, scale, out, count)
            else:
                room.faces[i] = FREE
                room.most[i] += max(more, 0.0)
    return count


@internal
def _demanded(table, room, level):
    """Return what a level wants: the norm of d, of inequalities of those d that are reached."""
    n, total, at_most = table.nu, 0.0, table[ll.LEVELS + 3 * level] == ll.AT_MOST
    for row in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        missed = dot(room.rows + row * n, table.answer, n) - room.right[row]
        if not at_most or missed > -_MET * (1.0 + abs(room.right[row])):
            total += room.right[row] ** 2
    return np.sqrt(total)


@internal
def _out(table, level):
    """Return where in the answer stands what became of a level."""
    return table.nu + 1 + ll.PER_LEVEL * level


@internal
def _most_rows(table):
    return cn.most_rows(table.actuators, table.n_contacts, cn.extra_of(table))


@internal
def _note_misses(table, room, all_levels):
    """Write what levels miss to what they tell; of inequalities, where all others are as they were."""
    for level in range(first_task(table), table.n_used):
        at = _out(table, level)
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
            table.answer[at + 2] = _demanded(table, room, level)
            table.answer[at + 1] = misses_of(table, room, level, room.right)
        elif all_levels:
            table.answer[at + 1] = misses_of(table, room, level, room.right)
