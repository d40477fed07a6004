"""Priority level of a control law within all limits: optimum, proof of infeasibility, directions left for lower
levels."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot
from sarrus.kernels.laws.faces import ENDED, FREE, IDLE, LATER, SLACK, add_across, mark, use_up
from sarrus.kernels.laws.level_program import ONE, minimise, misses_of, program_of, size_of
from sarrus.kernels.laws.limit_rows import (
    accuse,
    count_rows,
    excess,
    largest_of,
    order_of,
    wake,
    whole_sizes,
)
from sarrus.kernels.laws.tolerances import (
    FAR_BEYOND_SOLUTION,
    FLAT_SLOPE,
    LEAST_PROXIMAL_WEIGHT,
    LEVEL_MET,
    MOST_PROGRAMS_PER_LEVEL,
    MOST_PROXIMAL_WEIGHT,
    POSITIVE_MULTIPLIER,
    PROGRAMS_PER_LEVEL,
    PROXIMAL_FACTOR,
    PROXIMAL_WEIGHT,
    WORTH_A_PROGRAM,
)
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.law_contact_layout import Across, DistributionWorkspace
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.pointers import internal


@internal
def fulfil(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    kind: float,
    slot: Floats,
    level: int,
    used: int,
    tells: bool,
    once: bool,
):
    """Find an optimum of a level; return the norm of its residual and the norm of its right-hand side d.

    The residual is zero where no program is solved, and negative where none is needed. With ``tells`` the limits in
    conflict are reported. With ``once`` the first program is not repeated if it fails: its start may violate the
    limits.
    """
    at_most = table[ll.LEVELS + 3 * level] == ll.AT_MOST
    demanded = demanded_by(table, room, level)
    turns, missed, done = 0, 0.0, False
    for i in range(lines):
        if room.faces[i] == LATER and room.belongs[i] == level:
            room.faces[i] = IDLE
    if at_most and wake(table, room, lines, level) == 0:
        return -1.0, demanded
    room.nearby[0] = PROXIMAL_WEIGHT
    while not done:
        # the first program begins at unknowns that need not satisfy the tighter limits
        begins = tells and turns == 0
        solved = minimise(table, work, room, lines, cones, kind, ONE, level, slot, used, begins)
        turns += 1
        if solved:
            if begins:
                cone = program_of(table, room, lines, cones, used)
                accuse(table, room, cone, lines, cones)
            missed = misses_of(table, room, level, room.goals)
            done = turns >= PROGRAMS_PER_LEVEL
            if done and _leads_on(table, room, level, missed, demanded):
                room.nearby[0], done = max(room.nearby[0] / PROXIMAL_FACTOR, LEAST_PROXIMAL_WEIGHT), False
        else:
            room.nearby[0] *= PROXIMAL_FACTOR
            done = room.nearby[0] > MOST_PROXIMAL_WEIGHT or (once and turns == 1)
        done = done or turns >= MOST_PROGRAMS_PER_LEVEL
    return missed if solved else 0.0, demanded


@internal
def pass_on(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    level: int,
    used: int,
    missed: float,
    demanded: float,
):
    """Use up the directions across the optimal solutions of a level; return the number of directions used up.

    ``missed`` is the norm of the level's residual, ``demanded`` the norm of its right-hand side.
    """
    n, free, first, end = table.nu, table.nu - used, int(room.firsts[level]), int(room.firsts[level + 1])
    scale = np.sqrt(size_of(table, room, level))
    out = view_fields(
        room.across, cn.across_sizes(n, int(room.firsts[table.n_levels]), cn.most_rows_of(table))
    )
    count = 0
    if missed > LEVEL_MET * (1.0 + demanded):
        cone = program_of(table, room, lines, cones, used)
        _, slack = count_rows(table, room, lines, cones)
        least = POSITIVE_MULTIPLIER * (2.0 * missed / scale)
        count = mark(cone, lines, cones, whole_sizes(table), free + slack, free, least, room.faces, out)
    if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
        count = _settle(table, work, room, lines, level, used, demanded, scale, out, count)
    else:
        count = add_across(room.rows, first, end, n, work.turned, used, scale, out, count)
    return use_up(work.turned, n, used, out, count, order_of(table))


@internal
def is_proof(table: LawTable, room: DistributionWorkspace, level: int, missed: float, least: float):
    """Tell whether the residual ``missed`` of a level proves that the limits exclude its residual without limits,
    ``least``.

    At the minimum of ‖T x − d‖²/s² + ε ‖x − x_0‖² with r = T x − d, every feasible x' has rᵀ(T x' − d) ≥ ‖r‖² − s² e
    ‖x' − x‖, where e = ε ‖x − x_0‖ plus the rounding of the slope. A solution as good as without limits has rᵀ(T x' −
    d) = least², so its distance from x is large.
    """
    slope = _slope_left(table, room, level) + FLAT_SLOPE * missed * np.sqrt(size_of(table, room, level))
    return missed**2 - least**2 > FAR_BEYOND_SOLUTION * slope * largest_of(table.answer, table.nu)


@internal
def demanded_by(table: LawTable, room: DistributionWorkspace, level: int):
    """Return the norm of the right-hand side d of a level; of inequalities, only rows at or beyond d count."""
    n, total, at_most = table.nu, 0.0, table[ll.LEVELS + 3 * level] == ll.AT_MOST
    for row in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        missed = dot(room.rows + row * n, table.answer, n) - room.right[row]
        if not at_most or missed > -LEVEL_MET * (1.0 + abs(room.right[row])):
            total += room.right[row] ** 2
    return np.sqrt(total)


@internal
def _slope_left(table: LawTable, room: DistributionWorkspace, level: int):
    """Return s² ε ‖x − x_0‖ of the last program of a level: a bound on the slope of ½ ‖T x − d‖² that remains."""
    moved = 0.0
    for k in range(table.nu):
        moved += (table.answer[k] - room.base[k]) ** 2
    return size_of(table, room, level) * room.nearby[0] * np.sqrt(moved)


@internal
def _leads_on(table: LawTable, room: DistributionWorkspace, level: int, missed: float, demanded: float):
    """Tell whether another program may reduce the residual of a level noticeably, judged by the remaining slope."""
    if missed <= LEVEL_MET * (1.0 + demanded):
        return False
    less = _slope_left(table, room, level) * largest_of(table.answer, table.nu) / missed
    return less > WORTH_A_PROGRAM * (1.0 + demanded)


@internal
def _settle(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    level: int,
    used: int,
    demanded: float,
    scale: float,
    out: Across,
    count: int,
):
    """Fix violated inequalities of a level at their residual and make its satisfied inequalities limits; return the
    row count.

    Rows of the violated inequalities are appended to ``out``, which has ``count`` rows before.
    """
    n = table.nu
    for i in range(lines):
        if room.faces[i] == SLACK and room.belongs[i] == level:
            more, _ = excess(table, room, i)
            if more > LEVEL_MET * (1.0 + demanded):
                room.faces[i] = ENDED
                count = add_across(room.limits, i, i + 1, n, work.turned, used, scale, out, count)
            else:
                room.faces[i] = FREE
                room.most[i] += max(more, 0.0)
    return count
