"""Drift h/2 Ḣ v of redundant contact rows made consistent: the part e that no motion has is removed from b.

The velocities b of a step contain the drift h/2 Ḣ v, by which the rows turn up to the end of the step. The drifts of
the four corners of a box do not belong to one motion: one corner has to slip, by 1e-7 of the drift, and its direction
decides on the friction forces. This contact problem is hard to solve, and its solution has no physical meaning. So it
is with the velocities that restitution adds to b where a foot is to rebound and others are to stick. The part removed
is

    e = (ρ (W + ρ)⁻¹)ᵏ h/2 Ḣ v.

No forces change e. ρ is small and k a few (iterated Tikhonov regularization: Engl, Hanke and Neubauer, Regularization
of Inverse Problems, 1996, 5.1).
"""

from __future__ import annotations

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.block_elimination import clear, factorize, solve_factored
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite, multiply
from sarrus.kernels.contact.sparse_problem import couple_block, pull_all, push_all
from sarrus.kernels.contact.tolerances import DRIFT_RIDGE, DRIFT_ROUNDS, NO_DRIFT
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import exists, internal


@internal
def remove_inconsistent_drift(table: ContactProblem, work: ContactWorkspace, m: int):
    """Subtract the inconsistent drift from b (work.velocities), for dense W; return False if there is none."""
    if not exists(table.turn):
        return False
    if not find_inconsistent_drift(work.delassus, work.turn, DRIFT_RIDGE, work.matrix, work.way, m):
        return False
    return _take_off(work, work.way, m)


@internal
def find_inconsistent_drift(
    delassus: Floats, turn: Floats, ridge: float, matrix: Floats, out: Floats, m: int
):
    """Write the part e of ``turn`` that no motion has to ``out``, for dense W and ρ = ``ridge``; return False if W + ρ
    is not definite. ``matrix`` (m × m) is room.
    """
    copy(delassus, matrix, m * m)
    for i in range(m):
        matrix[i * (m + 1)] += ridge
    if not fa.cholesky_ltl(matrix, m):
        return False
    copy(turn, out, m)
    for _ in range(DRIFT_ROUNDS):
        fa.solve_l_transposed(matrix, m, out)
        fa.solve_l(matrix, m, out)
        multiply(out, ridge, m)
    return True


@internal
def make_parts_agree(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Subtract the inconsistent drift from b for rows stored in parts (large problems); return False if none."""
    if not exists(table.turn):
        return False
    parts, left = table.parts, work.way
    room = cp.parts_work(parts)
    copy(work.turn, left, m)
    clear(parts, room)
    at = 0
    for k in range(blocks):
        n, D = table.sizes[k], room.slopes + at * cp.WIDEST
        fill(D, 0.0, n * n)
        for i in range(n):
            D[i * (n + 1)] = 1.0 / DRIFT_RIDGE
        couple_block(parts, room, k, n, D)
        at += n
    if not factorize(parts, room):
        return False
    for _ in range(DRIFT_ROUNDS):
        for i in range(m):
            work.ahead[i] = left[i] / DRIFT_RIDGE
        push_all(table, work.ahead, blocks)
        solve_factored(parts, room, room.speed)
        fill(work.ahead, 0.0, m)
        pull_all(table, work.ahead, blocks)
        axpy(-1.0, work.ahead, left, m)
    return _take_off(work, left, m)


@internal
def _take_off(work: ContactWorkspace, left: Floats, m: int):
    """Subtract the inconsistent drift ``left`` from b (work.velocities); return False if ``left`` is rounding."""
    if not (is_finite(left, m) and dot(left, left, m) > NO_DRIFT * NO_DRIFT):
        return False
    axpy(-1.0, left, work.velocities, m)
    return True
