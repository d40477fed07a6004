"""Controls and contact forces of least cost within all limits: the kernel of laws with limits or contacts.

The unknowns are x = (u, λ): in the equations of motion, a contact force is one more actuator. In laws with contacts
level 0 is physics: closed contacts do not accelerate and open contacts have no force. The tasks follow level by level
as in `sarrus.kernels.laws.hierarchy`; inequalities among them are limits as long as they are feasible. In the
directions that tasks leave free,

    minimise xᵀW x   subject to √(λ_t1² + λ_t2²) ≤ μ λ_n, λ_n ≤ σ λ_max, u_min ≤ u ≤ u_max, rows of the user

(Aghili, Optimal control of legged robots subject to friction cone constraints, eq. (29)). Where this program is
infeasible, the tasks are relaxed and physics is not. Level after level,

    minimise ‖T_k x − d_k‖² + ε ‖x − x_0‖²,   then xᵀW x

subject to the limits; of an inequality only the positive part of T_k x − d_k counts. x_0 is the solution before, and
lower levels move within the optimal solutions of higher levels (`sarrus.kernels.laws.faces`; for inequalities Kanoun,
Lamiraux and Wieber 2011, Kinematic control of redundant manipulators). Or all at once, with weights (Aghili, section
3.3, for several priorities),

    minimise xᵀW x + Σ ρ_k ‖T_k x − d_k‖²

T_k x = d_k are the equations of level k. The last levels may be soft: they have only shares of the limits
(`sarrus.kernels.laws.soft_levels`). While rows are switched on or off, the unknowns are interpolated by the
activities a_1 ≥ a_2 ≥ … of the rows: x = Σ (a_j − a_j+1) x(rows 1 … j) with a_0 = 1 (the extension of Lovász). This x
is continuous in all activities, and within all limits, as these are convex.
"""

from __future__ import annotations

from typing import Any

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.laws.emergency_damping import emergency_damping
from sarrus.kernels.laws.faces import IDLE
from sarrus.kernels.laws.hierarchy import begin_levels, prepare, remember, rows_of_level, solve_level
from sarrus.kernels.laws.level_program import ALL, LEAST, first_task, minimise, misses_of, program_of
from sarrus.kernels.laws.limit_rows import (
    NONE,
    accuse,
    enter,
    largest_control,
    largest_of,
    recall,
    wake,
    write_limit_rows,
)
from sarrus.kernels.laws.one_level import demanded_by, fulfil, is_proof, pass_on
from sarrus.kernels.laws.soft_levels import begin_cuts, first_soft, is_spared
from sarrus.kernels.laws.tolerances import ABSURD_DEMAND, SAME_ACTIVITY, TIGHTER_LIMITS, WELL_WITHIN_SHARE
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.law_contact_layout import DistributionWorkspace
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.pointers import internal


def hierarchy_in_cones(table: LawTable, x: Floats, request: int) -> int:
    """Write u and λ at the state x to ``table.answer``; return the rank of A, negative where there is no solution."""
    rank, total = prepare(table, x)
    code = within_limits(table, rank, total, request)
    if code >= 0 and request == ll.SAMPLE:
        _go_on(table)
    return code


@internal
def within_limits(table: LawTable, rank: int, total: int, request: Any):
    """Write the unknowns within all limits, for ``total`` rows T and d in the workspace, to ``table.answer``.

    Return the rank of A, negative where there is no solution. The memory of the law stays as it is.
    """
    contacts, answer = table.contacts, table.answer
    contacts.report[0] = cn.EXACT
    if rank < 0:
        forget_programs(table)
        return rank
    work, n, free = ll.law_workspace(table), table.nu, table.nv - rank
    room = view_fields(
        contacts.work, cn.distribution_sizes(n, total, table.n_levels, cn.most_rows_of(table), 0)
    )
    row = 0
    for level in range(table.n_levels):
        room.firsts[level] = row
        row += rows_of_level(table, level, free)
    room.firsts[table.n_levels] = row
    if table.on_activity == 1:
        outcome = _between(table, work, room, total, free, request)
    else:
        outcome = _distribute(table, work, room, total, free, request)
    contacts.report[0] = outcome
    if outcome == cn.FAILED:
        forget_programs(table)
        return -2
    for level in range(table.n_used, table.n_levels):  # which do not count here
        answer[_out(table, level)] = 0.0
        answer[_out(table, level) + 1] = misses_of(table, room, level, room.right)
        answer[_out(table, level) + 2] = demanded_by(table, room, level)
    _to_controls(table)
    if not (is_finite(answer, n) and is_finite(work.memory, table.n_states)):
        forget_programs(table)
        return -1
    if not largest_of(room.right, total) < ABSURD_DEMAND:
        forget_programs(table)
    return rank


@internal
def forget_programs(table: LawTable):
    """Mark the stored solutions of cone programs as unusable starts, after a failure or a number that is not
    finite."""
    kept, size = cn.memory_of(table), cn.slot_size(table.nu, cn.most_rows_of(table))
    kept.missing[0] = kept.kind[0] = 0.0
    kept.exact[0] = -1.0
    for slot in range(2 * table.n_levels):
        kept.relaxed[slot * size] = -1.0


@internal
def _to_controls(table: LawTable):
    """Convert the unknowns to controls and forces in their units, with the controls clipped to their bounds."""
    answer, limits = table.answer, cn.physics_of(table)
    for k in range(table.nu):
        answer[k] = table.preferred[k] + table.roots[k] * answer[k]
    for k in range(table.actuators):
        answer[k] = min(max(answer[k], limits.lower[k]), limits.upper[k])


@internal
def _go_on(table: LawTable):
    """Store the controls and forces, and the states of the law, for the next sample."""
    kept = cn.memory_of(table)
    kept.known[0] = 1.0
    copy(table.answer, kept.controls, table.nu)
    remember(table)


@internal
def _between(
    table: LawTable, work: LawWorkspace, room: DistributionWorkspace, total: int, free: int, request: Any
):
    """Write the unknowns interpolated by the activities of the rows to ``table.answer``; return the worst outcome."""
    n, outcome, threshold = table.nu, cn.EXACT, 1.0
    copy(work.table, room.all_rows, total * n)
    copy(work.right, room.all_right, total)
    fill(room.between, 0.0, n)
    while True:
        below = _next_activity(table, work, threshold)
        _choose_rows(table, work, room, total, threshold)
        found = _distribute(table, work, room, total, free, request)
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
def _next_activity(table: LawTable, work: LawWorkspace, threshold: float):
    """Return the largest activity below a threshold, 0 where there is none."""
    below = 0.0
    for i in range(table.n_demands):
        if work.active[i] > SAME_ACTIVITY and work.active[i] < threshold - SAME_ACTIVITY:
            below = max(below, work.active[i])
    return below


@internal
def _choose_rows(
    table: LawTable, work: LawWorkspace, room: DistributionWorkspace, total: int, threshold: float
):
    """Write the rows T and d of all levels, with rows whose activity is below a threshold set to zero."""
    n = table.nu
    copy(room.all_rows, work.table, total * n)
    copy(room.all_right, work.right, total)
    for level in range(table.n_levels):
        at = ll.LEVELS + 3 * level
        if table[at] == ll.ROWS or table[at] == ll.AT_MOST:
            first = int(room.firsts[level])
            for i in range(table[at + 2]):
                if work.active[table[at + 1] + i] < threshold - SAME_ACTIVITY:
                    fill(work.table + (first + i) * n, 0.0, n)
                    work.right[first + i] = 0.0


@internal
def _distribute(
    table: LawTable, work: LawWorkspace, room: DistributionWorkspace, total: int, free: int, request: Any
):
    """Find the unknowns for the present rows T and d; return the outcome."""
    n, answer = table.nu, table.answer
    copy(work.table, room.rows, total * n)
    copy(work.right, room.right, total)
    copy(work.right, room.goals, total)
    for level in range(table.n_levels):
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:  # inequalities are limits here
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
                # residuals by lack of rank or by damping are not caused by limits
                for i in range(first, end):
                    room.goals[i] = dot(room.rows + i * n, answer, n)
        room.ends[level] = done
    copy(answer, room.wanted, n)
    copy(work.turned, room.turned, n * n)
    room.margin[0] = 0.0
    return _choose(table, work, room, done, free, request)


@internal
def _choose(
    table: LawTable, work: LawWorkspace, room: DistributionWorkspace, done: int, free: int, request: Any
):
    """Find the unknowns by the first strategy that succeeds; return the outcome.

    The strategies: tasks met exactly, tasks relaxed, tasks relaxed without limits of rates (JUMPED), damped joints.
    """
    kept, limits = cn.memory_of(table), cn.physics_of(table)
    near = request == ll.SAMPLE and limits.rate[0] > 0.0 and kept.known[0] == 1.0
    if kept.missing[0] > 0.0:
        found = _descend(table, work, room, near, True)
        if found != cn.FAILED:
            _note_misses(table, room, found == cn.RELAXED)
            return found
    kept.missing[0] = 0.0
    exact, spares = _keep_all(table, work, room, done, near), first_soft(table) < table.n_used
    if exact and (not spares or is_spared(table, work, 1.0)):
        _note_misses(table, room, False)
        return cn.EXACT
    for attempt in range(2 if near else 1):
        held = near and attempt == 0
        if limits.relaxation[first_task(table)] == 0.0:
            found = _descend(table, work, room, held, False)
        else:
            found = _weigh(table, work, room, held)
        if found != cn.FAILED:
            _note_misses(table, room, found == cn.RELAXED)
            return cn.JUMPED if near and attempt == 1 else found
    if exact:  # rounding ended the programs with reduced limits
        _begin_anew(table, work, room)
        if _keep_all(table, work, room, done, near):
            _note_misses(table, room, False)
            return cn.EXACT
    if table.contacts.hold == 1 and emergency_damping(table, work, free, near):
        return cn.DAMPED
    return cn.FAILED


@internal
def _keep_all(table: LawTable, work: LawWorkspace, room: DistributionWorkspace, used: int, near: bool):
    """Find the unknowns of least cost that meet all levels exactly; tell whether the limits allow any."""
    lines, cones, kind = write_limit_rows(table, work, room, near, False)
    kept = cn.memory_of(table)
    enter(table, room, lines, cones, table.n_used - 1, kept.kind[0] == kind)
    kept.kind[0] = kind
    if table.n_contacts == 0 and cones == 0:
        # the unknowns have least norm already
        for i in range(lines):
            room.faces[i] = IDLE
        if wake(table, room, lines, NONE) == 0:
            return True
    slot = kept.exact
    return _least(table, work, room, lines, cones, kind, slot, used, True)


@internal
def _least(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    kind: float,
    slot: Floats,
    used: int,
    begins: bool,
):
    """Find the unknowns of least cost, and store the working set; tell whether the program has a solution."""
    if not minimise(table, work, room, lines, cones, kind, LEAST, 0, slot, used, begins):
        return False
    cone = program_of(table, room, lines, cones, used)
    recall(table, room, lines, cone)
    return True


@internal
def _weigh(table: LawTable, work: LawWorkspace, room: DistributionWorkspace, near: bool):
    """Minimise xᵀW x plus the weighted residuals of all levels; return RELAXED, or FAILED where limits are
    infeasible."""
    first = first_task(table)
    used = _used_by(room, first - 1)
    copy(room.turned, work.turned, table.nu * table.nu)
    copy(room.wanted, table.answer, table.nu)
    lines, cones, kind = write_limit_rows(table, work, room, near, False)
    enter(table, room, lines, cones, table.n_used - 1, False)
    slot = cn.memory_of(table).relaxed
    if not minimise(table, work, room, lines, cones, kind, ALL, 0, slot, used, True):
        return cn.FAILED
    cone = program_of(table, room, lines, cones, used)
    accuse(table, room, cone, lines, cones)
    recall(table, room, lines, cone)
    return cn.RELAXED


@internal
def _descend(table: LawTable, work: LawWorkspace, room: DistributionWorkspace, near: bool, again: bool):
    """Solve level after level, then for the least cost; return the outcome, FAILED where the limits are infeasible.

    The highest levels that the limits allow exactly take one program together. Each lower level takes several
    programs, each with a proximal term about the solution before. Its optimal solutions are left to the next level:
    the face of the limits that contains them, and the directions in the null space of its rows. If rounding ends a
    program, the solution before it is kept. Soft levels come last, within shares of the limits.

    With ``again`` the first level with a residual is taken from the last call. The outcome is FAILED if this level is
    met now, or if its residual proves nothing.
    """
    n, levels, memory, first = table.nu, table.n_used, cn.memory_of(table), first_task(table)
    slots, size, soft = memory.relaxed, cn.slot_size(n, cn.most_rows_of(table)), first_soft(table)
    _begin_anew(table, work, room)
    lines, cones, kind = write_limit_rows(table, work, room, near, False)
    kept, found, least, before = min(soft, levels - 1), False, 0.0, levels
    if again:
        before = int(memory.missing[0]) - 1
        if before > levels or (before == levels and soft == levels):
            return cn.FAILED
        kept = min(before, soft) - 1
    if again and before < soft:
        least = misses_of(table, room, before, room.goals)
        found = _begin_at(table, work, room, slots + (levels + before) * size, kept)
        enter(table, room, lines, cones, kept, True)
    elif again:
        found = _least_of(table, work, room, lines, cones, kind, slots, kept, True)
    while kept >= first and not found and not again:
        kept -= 1
        found = _least_of(table, work, room, lines, cones, kind, slots, kept, False)
    if not found:
        return cn.FAILED
    memory.missing[0], used = kept + 2.0, _used_by(room, kept)
    room.margin[0] = TIGHTER_LIMITS * largest_control(table, room, near)
    for level in range(kept + 1, soft):
        slot, tells = slots + (levels + level) * size, level == kept + 1
        once = again and tells  # the first program begins outside the limits
        missed, demanded = fulfil(table, work, room, lines, cones, kind, slot, level, used, tells, once)
        if once and not is_proof(table, room, level, missed, least):
            _begin_anew(table, work, room)
            return cn.FAILED
        if missed >= 0.0:
            used = pass_on(table, work, room, lines, cones, level, used, missed, demanded)
    if soft == levels or kept < soft - 1:
        cost = slots + (max(soft - 1, 0) if soft < levels else levels) * size
        _least(table, work, room, lines, cones, kind, cost, used, False)
    if soft == levels:
        return cn.RELAXED
    return _come_close(table, work, room, near, used, kept == soft - 1, before if again else -1)


@internal
def _begin_anew(table: LawTable, work: LawWorkspace, room: DistributionWorkspace):
    """Reset the unknowns to the solution without limits, and the rotation of the unknowns to its value there."""
    copy(room.turned, work.turned, table.nu * table.nu)
    copy(room.wanted, table.answer, table.nu)
    room.margin[0] = 0.0


@internal
def _come_close(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    near: bool,
    used: int,
    exact: bool,
    before: int,
):
    """Solve the soft levels within their shares of the limits; return the outcome.

    The unknowns are the solution of the hard levels, ``exact`` where it meets all of them. ``before`` is the first
    level with a residual in the last call: n_used where no level had a residual, −1 where it is unknown.
    """
    n, levels, memory, soft = table.nu, table.n_used, cn.memory_of(table), first_soft(table)
    slots, size, least = memory.relaxed, cn.slot_size(n, cn.most_rows_of(table)), 0.0
    copy(table.answer, room.needed, n)
    lines, cones, kind = write_limit_rows(table, work, room, near, True)
    if exact:
        if before < 0 or before == levels:
            copy(room.wanted, table.answer, n)
            enter(table, room, lines, cones, levels - 1, before > 0)
            begin_cuts(table, room, lines)
            room.margin[0], slot = 0.0, slots + (levels - 1) * size
            if _least(table, work, room, lines, cones, kind, slot, _used_by(room, levels - 1), True):
                memory.missing[0] = 0.0 if is_spared(table, work, WELL_WITHIN_SHARE) else levels + 1.0
                return cn.EXACT
        copy(room.wanted, table.answer, n)
        least = misses_of(table, room, soft, room.goals)
        copy(room.needed, table.answer, n)
        enter(table, room, lines, cones, soft - 1, before > 0)
        room.margin[0] = TIGHTER_LIMITS * largest_control(table, room, near)
        memory.missing[0] = soft + 1.0
    begin_cuts(table, room, lines)
    for level in range(soft, levels):
        slot, tells = slots + (levels + level) * size, exact and level == soft
        missed, demanded = fulfil(table, work, room, lines, cones, kind, slot, level, used, tells, False)
        if tells and before == soft and not is_proof(table, room, level, missed, least):
            _begin_anew(table, work, room)
            return cn.FAILED
        used = pass_on(table, work, room, lines, cones, level, used, missed, demanded)
    _least(table, work, room, lines, cones, kind, slots + levels * size, used, False)
    return cn.RELAXED


@internal
def _least_of(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    kind: float,
    slots: Floats,
    kept: int,
    lazily: bool,
):
    """Find the unknowns of least cost that meet levels up to ``kept`` exactly; tell whether the limits allow any."""
    copy(room.wanted, table.answer, table.nu)
    enter(table, room, lines, cones, kept, lazily)
    slot = slots + max(kept, 0) * cn.slot_size(table.nu, cn.most_rows_of(table))
    return minimise(table, work, room, lines, cones, kind, LEAST, 0, slot, _used_by(room, kept), True)


@internal
def _used_by(room: DistributionWorkspace, level: int):
    """Return the number of rotated unknowns that levels up to ``level`` have used up."""
    return int(room.ends[level]) if level >= 0 else 0


@internal
def _begin_at(table: LawTable, work: LawWorkspace, room: DistributionWorkspace, slot: Floats, kept: int):
    """Move the unknowns to the solution stored in ``slot``, along directions that levels up to ``kept`` leave free.

    False where the slot is empty.
    """
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
def _out(table: LawTable, level: int):
    """Return the index of the report of a level (rank, residual, norm of d) in ``table.answer``."""
    return table.nu + 1 + ll.PER_LEVEL * level


@internal
def _note_misses(table: LawTable, room: DistributionWorkspace, all_levels: bool):
    """Write the residuals of inequalities, with ``all_levels`` of all levels, to the reports of their levels."""
    for level in range(first_task(table), table.n_used):
        at = _out(table, level)
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
            table.answer[at + 2] = demanded_by(table, room, level)
            table.answer[at + 1] = misses_of(table, room, level, room.right)
        elif all_levels:
            table.answer[at + 1] = misses_of(table, room, level, room.right)
