"""Rows that depend on each other made to agree: of their turn within a step what no motion has is taken off.

The velocities b of a step have the turn h/2 Ḣ v of the rows up to its end. Those of four corners of a box then do not
quite belong to one motion: one of them has to slip, by 1e-7 of what they do, and which way it does decides on friction.
Such a problem is as hard to solve as its answer is without meaning. What is taken off is

    e = (ρ (W + ρ)⁻¹)ᵏ h/2 Ḣ v,

the part that no forces change, with a small ρ and a few k (iterated Tikhonov regularization: Engl, Hanke and Neubauer,
Regularization of Inverse Problems, 1996, 5.1).
"""

from __future__ import annotations

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.block_elimination import clear, eliminate
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite, multiply
from sarrus.kernels.contact.sparse_problem import couple_block, pull_all, push_all
from sarrus.kernels.contact.tolerances import DRIFT_RIDGE, DRIFT_ROUNDS, NO_DRIFT
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import exists, internal


@internal
def remove_inconsistent_drift(table: ContactProblem, work: ContactWorkspace, m: int):
    """Remove the inconsistent drift with W as one matrix; return False where none was removed."""
    if not exists(table.turn):
        return False
    matrix, left = work.matrix, work.way
    copy(work.delassus, matrix, m * m)
    for i in range(m):
        matrix[i * (m + 1)] += DRIFT_RIDGE
    if not fa.cholesky_ltl(matrix, m):
        return False
    copy(work.turn, left, m)
    for _ in range(DRIFT_ROUNDS):
        fa.solve_l_transposed(matrix, m, left)
        fa.solve_l(matrix, m, left)
        multiply(left, DRIFT_RIDGE, m)
    return _take_off(work, left, m)


@internal
def make_parts_agree(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Remove the inconsistent drift of rows that are given by their parts (large problems)."""
    if not exists(table.turn):
        return False
    parts, left = table.parts, work.way
    room = cp.parts_work(parts)
    copy(work.turn, left, m)
    for _ in range(DRIFT_ROUNDS):
        for i in range(m):
            work.ahead[i] = left[i] / DRIFT_RIDGE
        push_all(table, work.ahead, blocks)
        clear(parts, room)
        at = 0
        for k in range(blocks):
            n, D = table.sizes[k], room.slopes + at * cp.WIDEST
            fill(D, 0.0, n * n)
            for i in range(n):
                D[i * (n + 1)] = 1.0 / DRIFT_RIDGE
            couple_block(parts, room, k, at, n, D)
            at += n
        if not eliminate(parts, room, room.speed):
            return False
        fill(work.ahead, 0.0, m)
        pull_all(table, work.ahead, blocks)
        axpy(-1.0, work.ahead, left, m)
    return _take_off(work, left, m)


@internal
def _take_off(work: ContactWorkspace, left: Floats, m: int):
    """Take what is left of the turn off b."""
    if not (is_finite(left, m) and dot(left, left, m) > NO_DRIFT * NO_DRIFT):
        return False
    axpy(-1.0, left, work.velocities, m)
    return True
