"""Closing of gaps: forces f on chosen rows of a contact problem with W f = b, as far as W allows it.

Redundant rows cannot close all gaps together. (W + R) f = b is solved instead, R a diagonal ridge: gaps that can be
closed shrink by about R over the compliance, and forces on the others have a bounded size. Forces f leave the gaps
b − W f = R f, so R f is the right-hand side of the next round, with the same factors. Rows of contacts that last have a
small ridge relative to the diagonal of W, and one round (`sarrus.kernels.integrate.time_stepping`). Contacts of shapes,
which change from step to step and are often nearly redundant, have R = ρ in the scaled problem, and two rounds. With
rows in parts (`sarrus.kernels.contact.sparse_problem`)

    (1 + K Gᵀ D G) w = K Gᵀ D b,    f = D (b − G w),    D = 1/ρ on the chosen rows, 0 elsewhere.
"""

from __future__ import annotations

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.block_elimination import clear, factorize, solve_factored
from sarrus.kernels.algebra.vectors import add, fill
from sarrus.kernels.contact.rows_in_parts import write_rows
from sarrus.kernels.contact.sparse_problem import couple_block, push_all, subtract_response
from sarrus.kernels.contact.tolerances import CLOSING_RIDGE, CLOSING_ROUNDS
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def close_rows(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write forces on the rows chosen by ``work.turn`` ≠ 0 to work.best; return False if W + R is singular.

    b is work.velocities; the forces on all other rows are zero.
    """
    fill(work.best, 0.0, m)
    if table.sparse != 0:
        return _close_by_parts(table, work, m, blocks)
    count, chosen, f = 0, work.active, work.way
    for i in range(m):
        if work.turn[i] != 0.0:
            chosen[count], f[count] = i, work.velocities[i]
            count += 1
    if not factor_chosen(work.delassus, m, chosen, count, CLOSING_RIDGE, 0.0, work.matrix):
        return False
    for _ in range(CLOSING_ROUNDS):
        solve_chosen(work.matrix, count, f)
        for a in range(count):
            work.best[int(chosen[a])] += f[a]
            f[a] *= CLOSING_RIDGE
    return True


@internal
def factor_chosen(
    delassus: Floats, m: int, chosen: Floats, count: int, ridge: float, part: float, matrix: Floats
):
    """Write the factor of W + R on the chosen rows to ``matrix`` (count, count); return False if it is not positive.

    ``delassus`` is W (m, m), ``chosen`` the numbers of ``count`` of its rows, and R = ``ridge`` + ``part`` · diag W.
    """
    for a in range(count):
        for b in range(count):
            matrix[a * count + b] = delassus[int(chosen[a]) * m + int(chosen[b])]
        matrix[a * (count + 1)] += ridge + part * matrix[a * (count + 1)]
    return fa.cholesky_ltl(matrix, count)


@internal
def solve_chosen(matrix: Floats, count: int, f: Floats):
    """Replace b (count,) in ``f`` by the forces that close the gaps, for the factor of `factor_chosen`."""
    fa.solve_l_transposed(matrix, count, f)
    fa.solve_l(matrix, count, f)


@internal
def _close_by_parts(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the forces of a problem by parts to work.best; return False if W + R is singular."""
    write_rows(table, work, blocks)
    parts, room, way, at = table.parts, cp.parts_work(table.parts), work.way, 0
    clear(parts, room)
    for k in range(blocks):
        n, D, chosen = table.sizes[k], room.slopes + at * cp.WIDEST, False
        fill(D, 0.0, n * n)
        for i in range(n):
            way[at + i] = 0.0
            if work.turn[at + i] != 0.0:
                D[i * (n + 1)], chosen = 1.0 / CLOSING_RIDGE, True
                way[at + i] = work.velocities[at + i] / CLOSING_RIDGE
        if chosen:
            couple_block(parts, room, k, n, D)
        at += n
    if not factorize(parts, room):
        return False
    for _ in range(CLOSING_ROUNDS):  # f, and D R f = f is the start of the next round
        push_all(table, way, blocks)
        solve_factored(parts, room, room.speed)
        subtract_response(table, room, blocks, 1.0, way)
        add(way, work.best, m)
    return True
