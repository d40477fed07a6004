"""Cone program of a control law: minimum of a cost over the free directions, within all limits."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.cones.cones import Shape
from sarrus.kernels.cones.interior_point import interior_point
from sarrus.kernels.laws.faces import SLACK, kind_of_faces
from sarrus.kernels.laws.limit_rows import (
    ALL_LEVELS,
    NONE,
    accuse,
    allow,
    are_kept,
    count_rows,
    largest_of,
    order_of,
    sizes_of,
    tighten,
    wake,
    whole_sizes,
    write_rows,
)
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.law_contact_layout import DistributionWorkspace
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal, limits_at

# Costs: xᵀW x; residual of one level with a proximal term; xᵀW x and weighted residuals of all levels.
LEAST, ONE, ALL = 0, 1, 2


@internal
def minimise(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    kind: float,
    cost: int,
    level: int,
    slot: Floats,
    used: int,
    begins: bool,
):
    """Write the unknowns of least cost in the free directions turned[:, used:] to ``table.answer``; tell whether any
    exist.

    The program has ``lines`` half-lines and ``cones`` cones; ``kind`` is its hash. Inequalities of ``level`` have
    slack variables where the cost is ONE, inequalities of all levels where it is ALL. The unknowns before the call
    satisfy the limits unless ``begins``. With ``begins`` an infeasible program also reports the limits in conflict.
    """
    n, missable = table.nu, level if cost == ONE else NONE
    if cost == ALL:
        missable = ALL_LEVELS
    allow(room, lines, missable)
    copy(table.answer, room.base, n)
    while True:
        if not _solve(table, work, room, lines, cones, kind, cost, level, slot, used, begins):
            return False
        if wake(table, room, lines, missable) == 0:
            room.margin[0] *= 0.5
            return True
        copy(room.base, table.answer, n)


@internal
def program_of(table: LawTable, room: DistributionWorkspace, lines: int, cones: int, used: int):
    """Return the workspace of the last cone program, for its numbers of variables and rows."""
    rows, slack = count_rows(table, room, lines, cones)
    return cl.cone_workspace(room.program, table.nu - used + slack, rows)


@internal
def _solve(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    lines: int,
    cones: int,
    kind: float,
    cost: int,
    level: int,
    slot: Floats,
    used: int,
    begins: bool,
):
    """Solve the program of the half-lines in the working set; tell whether it has a solution.

    The solution is added to ``table.answer`` and, for a program without slack variables, stored in ``slot``.
    """
    n, answer, told, sizes = table.nu, table.answer, cn.report_of(table), sizes_of(table)
    free = n - used
    rows, slack = count_rows(table, room, lines, cones)
    width = free + slack
    cone = cl.cone_workspace(room.program, width, rows)
    _write_cost(table, work, room, cone, lines, cost, level, used, width)
    half, hard, left, rows = write_rows(table, work, room, cone, used, free, slack, lines, cones, sizes)
    if room.margin[0] > 0.0:
        tighten(table, room, cone, hard, half, left, sizes, begins)
    if width == 0:
        fill(told.facts, 0.0, cl.N_FACTS)
        kept = are_kept(cone, half, left, sizes, largest_of(answer, n))
        if not kept and begins:
            accuse(table, room, cone, lines, cones)
        return kept
    signature = kind_of_faces(room.faces, lines + cones, kind)
    warm = slack == 0 and slot[0] == signature
    if warm:
        fill(cone.x, 0.0, free)
        for k in range(n):
            away = slot[1 + k] - answer[k]
            axpy(away, work.turned + (k * n + used), cone.x, free)
        for i in range(rows):
            cone.s[i] = cone.limits[i] - dot(cone.rows + i * width, cone.x, width)
            cone.z[i] = slot[1 + n + int(room.places[i])]
    shape = Shape(width, rows, half, left, sizes, order_of(table))
    verdict = interior_point(cone, shape, limits_at(cn.physics_of(table).solver), warm)
    _tell(cone, width, rows, told.facts)
    slot[0] = -1.0
    if verdict != cl.SOLVED:
        if begins:
            accuse(table, room, cone, lines, cones)
        return False
    for k in range(n):
        answer[k] += dot(work.turned + (k * n + used), cone.x, free)
    if slack == 0:
        slot[0] = signature
        copy(answer, slot + 1, n)
        fill(slot + (1 + n), 0.0, _all_rows(table, lines, cones))
        for i in range(rows):
            slot[1 + n + int(room.places[i])] = cone.z[i]
    return True


@internal
def _all_rows(table: LawTable, lines: int, cones: int):
    """Return the number of rows of all half-lines and cones."""
    whole, rows = whole_sizes(table), lines
    for c in range(cones):
        rows += whole[c]
    return rows


@internal
def _tell(cone: ConeWorkspace, n: int, m: int, told: Floats):
    """Write the residuals, costs and duality gap of a program, computed from its data, to ``told``."""
    curve = cost = bound = dual = primal = 0.0
    for c in range(n):
        slope = dot(cone.quadratic + c * n, cone.x, n)
        curve += cone.x[c] * slope
        cost += cone.linear[c] * cone.x[c]
        slope += cone.linear[c]
        for i in range(m):
            slope += cone.rows[i * n + c] * cone.z[i]
        dual = max(dual, abs(slope))
    for i in range(m):
        bound -= cone.limits[i] * cone.z[i]
        missed = cone.limits[i] - cone.s[i] - dot(cone.rows + i * n, cone.x, n)
        primal = max(primal, abs(missed))
    told[cl.COUNT] = cone.iterations[0]
    told[cl.PRIMAL], told[cl.DUAL], told[cl.GAP] = primal, dual, curve + cost - bound
    told[cl.COST], told[cl.DUAL_COST] = 0.5 * curve + cost, bound - 0.5 * curve


@internal
def first_task(table: LawTable):
    """Return the first level whose residual may be nonzero, after physics of contacts of the law and of the plant."""
    first = 1 if table.own_unknowns > table.actuators else 0
    return first + 1 if table[ll.LEVELS] == ll.PHASE else first


@internal
def size_of(table: LawTable, room: DistributionWorkspace, level: int):
    """Return the largest squared row norm of T of a level, 1 where all its rows are zero."""
    n, size = table.nu, 0.0
    for i in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        size = max(size, dot(room.rows + i * n, room.rows + i * n, n))
    return size if size > 0.0 else 1.0


@internal
def _write_cost(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    lines: int,
    cost: int,
    level: int,
    used: int,
    width: int,
):
    """Write P (width, width) and q (width,) of the cost to the program."""
    free = table.nu - used
    fill(cone.quadratic, 0.0, width * width + width)
    if cost == ONE:
        rho = 1.0 / size_of(table, room, level)
        for a in range(free):
            cone.quadratic[a * (width + 1)] += room.nearby[0]
    else:
        rho = 0.0
        _add_least(table, work, cone, used, width)
    for k in range(first_task(table), table.n_used):
        if cost == ALL:
            rho = cn.physics_of(table).relaxation[k]
        if cost == ALL or (cost == ONE and k == level):
            if table[ll.LEVELS + 3 * k] == ll.AT_MOST:
                _add_slack(room, cone, lines, free, width, k, rho)
            else:
                _add_misses(table, work, room, cone, k, used, width, rho)
    for a in range(free):
        for b in range(a):
            cone.quadratic[b * width + a] = cone.quadratic[a * width + b]


@internal
def _add_slack(
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    lines: int,
    free: int,
    width: int,
    level: int,
    rho: float,
):
    """Add P of ρ times the sum of squares of the slack variables of a level's inequalities."""
    variable = free
    for i in range(lines):
        if room.faces[i] == SLACK:
            if room.belongs[i] == level:
                cone.quadratic[variable * (width + 1)] = 2.0 * rho
            variable += 1


@internal
def _add_least(table: LawTable, work: LawWorkspace, cone: ConeWorkspace, used: int, width: int):
    """Add P and q of xᵀW x, with x in the free directions."""
    n, answer, limits = table.nu, table.answer, cn.physics_of(table)
    free = n - used
    for k in range(n):
        turned, weight = work.turned + k * n + used, 2.0 * limits.weights[k]
        for a in range(free):
            share = weight * turned[a]
            if share != 0.0:
                cone.linear[a] += share * answer[k]
                axpy(share, turned, cone.quadratic + a * width, a + 1)


@internal
def _add_misses(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    level: int,
    used: int,
    width: int,
    rho: float,
):
    """Add P and q of ρ ‖T x − d‖² of a level, with x in the free directions."""
    n, free = table.nu, table.nu - used
    for row in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        fill(room.vector, 0.0, free)
        for k in range(n):
            if room.rows[row * n + k] != 0.0:
                axpy(room.rows[row * n + k], work.turned + (k * n + used), room.vector, free)
        missed = dot(room.rows + row * n, table.answer, n) - room.goals[row]
        for a in range(free):
            share = 2.0 * rho * room.vector[a]
            cone.linear[a] += share * missed
            axpy(share, room.vector, cone.quadratic + a * width, a + 1)


@internal
def misses_of(table: LawTable, room: DistributionWorkspace, level: int, wanted: Floats):
    """Return the norm of the residual T x − d of a level, of inequalities the norm of its positive part.

    ``wanted`` are the right-hand sides d of all rows.
    """
    n, total, at_most = table.nu, 0.0, table[ll.LEVELS + 3 * level] == ll.AT_MOST
    for row in range(int(room.firsts[level]), int(room.firsts[level + 1])):
        missed = dot(room.rows + row * n, table.answer, n) - wanted[row]
        if missed > 0.0 or not at_most:
            total += missed**2
    return np.sqrt(total)
