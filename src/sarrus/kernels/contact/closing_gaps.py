"""Closing of gaps: forces f on chosen rows of a contact problem with W f = b, as far as W allows it.

Redundant rows cannot close all gaps together. (W + ρ) f = b is solved instead, and again for what is left: gaps that
can be closed shrink by about ρ over the compliance each time, and the others have forces of a bounded size. With rows
in parts (`sarrus.kernels.contact.sparse_problem`)

    (1 + K Gᵀ D G) w = K Gᵀ D b,    f = D (b − G w),    D = 1/ρ on the chosen rows.
"""

from __future__ import annotations

from sarrus.kernels.algebra.block_elimination import clear, factorize, solve_factored
from sarrus.kernels.algebra.dense import eliminate
from sarrus.kernels.algebra.vectors import add, dot, fill
from sarrus.kernels.contact.rows_in_parts import write_rows
from sarrus.kernels.contact.sparse_problem import couple_block, pull_all, push_all, subtract_response
from sarrus.kernels.contact.tolerances import CLOSING_RIDGE, CLOSING_ROUNDS
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def close_rows(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write forces on the rows chosen by ``work.turn`` ≠ 0 to work.best; return False if there are none.

    b is work.velocities.
    """
    fill(work.best, 0.0, m)
    if table.sparse == 0:
        return _close_dense(work, m)
    return _close_by_parts(table, work, m, blocks)


@internal
def _close_by_parts(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the forces of a problem by parts to work.best; return False if there are none."""
    write_rows(table, work, blocks)
    parts, room, at = table.parts, cp.parts_work(table.parts), 0
    clear(parts, room)
    for k in range(blocks):
        n, D, chosen = table.sizes[k], room.slopes + at * cp.WIDEST, False
        fill(D, 0.0, n * n)
        for i in range(n):
            if work.turn[at + i] != 0.0:
                D[i * (n + 1)], chosen = 1.0 / CLOSING_RIDGE, True
        if chosen:
            couple_block(parts, room, k, n, D)
        at += n
    if not factorize(parts, room):
        return False
    way, product = work.way, work.gap
    for _ in range(CLOSING_ROUNDS):
        push_all(table, work.best, blocks)
        fill(product, 0.0, m)
        pull_all(table, product, blocks)
        for i in range(m):
            way[i] = (work.velocities[i] - product[i]) / CLOSING_RIDGE if work.turn[i] != 0.0 else 0.0
        push_all(table, way, blocks)
        solve_factored(parts, room, room.speed)
        subtract_response(table, room, blocks, 1.0, way)
        add(way, work.best, m)
    return True


@internal
def _close_dense(work: ContactWorkspace, m: int):
    """Write the forces of a problem with dense W to work.best; return False if there are none."""
    count, chosen, way = 0, work.active, work.way
    for i in range(m):
        if work.turn[i] != 0.0:
            chosen[count] = i
            count += 1
    for _ in range(CLOSING_ROUNDS):
        for a in range(count):
            i = int(chosen[a])
            way[a] = work.velocities[i] - dot(work.delassus + i * m, work.best, m)
            for b in range(count):
                work.matrix[a * count + b] = work.delassus[i * m + int(chosen[b])]
            work.matrix[a * (count + 1)] += CLOSING_RIDGE
        if eliminate(work.matrix, way, count, 1) != 0:
            return False
        for a in range(count):
            work.best[int(chosen[a])] += way[a]
    return True
