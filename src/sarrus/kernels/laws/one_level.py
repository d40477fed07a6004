"""One level of a control law inside all limits: its best answer, what that proves, what it leaves to later levels."""

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
    """Find a best answer of a level; return what it misses, zero where no program is solved and negative where none is
    needed, and what it wants.

    With ``tells`` it says whose limits are in the way. The first of its programs is tried ``once`` where what was found
    before need not be inside the limits.
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
        # one that is the first does not know yet of tighter limits
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
    """Use up directions across the best answers of a level; return how many are used up."""
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
    """Tell whether the limits do not allow a level, by what it missed in the last of its programs; without limits it
    misses ``least``.

    At the minimum of ‖T x − d‖²/s² + ε ‖x − x_0‖² with r = T x − d, each x' that limits and levels allow has
    rᵀ(T x' − d) ≥ ‖r‖² − s² e ‖x' − x‖: e = ε ‖x − x_0‖ and what rounding leaves of the slope. One that is as good as
    without limits has rᵀ(T x' − d) = least², so it is far away.
    """
    slope = _slope_left(table, room, level) + FLAT_SLOPE * missed * np.sqrt(size_of(table, room, level))
    return missed**2 - least**2 > FAR_BEYOND_SOLUTION * slope * largest_of(table.answer, table.nu)


@internal
def demanded_by(table: LawTable, room: DistributionWorkspace, level: int):
    """Return what a level wants: the norm of d, of inequalities of those d that are reached."""
    n, total, at_most = table.nu, 0.0, table[ll.LEVELS + 3 * level] == ll.AT_MOST
    for row in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        missed = dot(room.rows + row * n, table.answer, n) - room.right[row]
        if not at_most or missed > -LEVEL_MET * (1.0 + abs(room.right[row])):
            total += room.right[row] ** 2
    return np.sqrt(total)


@internal
def _slope_left(table: LawTable, room: DistributionWorkspace, level: int):
    """Return s² ε ‖x − x_0‖ of the last program of a level: how steeply ½ ‖T x − d‖² may still fall."""
    moved = 0.0
    for k in range(table.nu):
        moved += (table.answer[k] - room.base[k]) ** 2
    return size_of(table, room, level) * room.nearby[0] * np.sqrt(moved)


@internal
def _leads_on(table: LawTable, room: DistributionWorkspace, level: int, missed: float, demanded: float):
    """Tell whether another program may find a level to miss less, by what is left of the slope."""
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
    """Have what inequalities of a level miss be what they miss for ever, the others limits; write the rows across."""
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
