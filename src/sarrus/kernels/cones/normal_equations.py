"""Normal matrix P + GᵀW⁻²G of a direction of the interior-point method: its factor, and solves with it.

Far from the solution the matrix itself is factored. Near the solution the stack of √P and W⁻¹G is factored, whose
condition number is the square root of the condition number of the normal matrix.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.factor import (
    Matrix,
    apply_q,
    apply_q_transposed,
    cholesky_ltl,
    factor,
    solve_l,
    solve_l_transposed,
)
from sarrus.kernels.algebra.vectors import (
    add_transposed,
    axpy,
    copy,
    copy_scaled,
    dot,
    fill,
    set_unit,
    times,
)
from sarrus.kernels.cones.tolerances import (
    COST_RIDGE,
    DEPENDENT_COLUMNS,
    INFEASIBILITY_PROOF,
    LEAST_CURVATURE_UNIT,
    NEGATIVE_CURVATURE,
)
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.pointers import internal


@internal
def square_root(work: ConeWorkspace, n: int):
    """Write L with P = LᵀL to work.root; False where P is not positive semidefinite.

    A ridge on the diagonal gives semidefinite P, and P with negative eigenvalues of rounding, a factor.
    """
    largest = LEAST_CURVATURE_UNIT
    for a in range(n):
        largest = max(largest, work.p[a * n + a])
    ridge = n * COST_RIDGE
    while ridge < NEGATIVE_CURVATURE:
        copy(work.p, work.root, n * n)
        for a in range(n):
            work.root[a * n + a] += ridge * largest
        if cholesky_ltl(work.root, n):
            return True
        ridge *= 10.0
    return n == 0


@internal
def find_unseen(work: ConeWorkspace, n: int, m: int, perm: Integers):
    """Give directions d with P d = 0 and G d = 0 a curvature and no slope, so that x has no part along them.

    True where the cost had a slope along them; then its direction of descent is at work.fall.
    """
    # G at work.turned and P behind it, at work.normal, are one matrix of m + n rows
    stack = Matrix(work.turned, m + n, n, perm, work.x2, work.x1, work.x1, work.trial)
    copy(work.g, work.turned, m * n)
    copy(work.p, work.normal, n * n)
    rank = factor(stack, n, DEPENDENT_COLUMNS, 0.0)
    if rank < 0 or rank == n:
        return False
    largest = steepest = 0.0
    for c in range(n):
        work.fall[c] = work.q[c]
        largest = max(largest, abs(work.q[c]))
    apply_q_transposed(stack, rank, work.fall)
    fill(work.fall, 0.0, rank)
    apply_q(stack, rank, work.fall)
    for c in range(n):
        work.q[c] -= work.fall[c]
        work.fall[c] *= -1.0
        steepest = max(steepest, abs(work.fall[c]))
    for k in range(rank, n):
        set_unit(work.inner, k, n)
        apply_q(stack, rank, work.inner)
        for a in range(n):
            axpy(work.inner[a], work.inner, work.p + a * n, n)
    square_root(work, n)
    return steepest > INFEASIBILITY_PROOF * largest


@internal
def factor_normal(work: ConeWorkspace, n: int, m: int):
    """Write L with P + GᵀW⁻²G = LᵀL by Cholesky's method to work.normal; False where rounding prevents it."""
    for a in range(n):
        copy(work.p + a * n, work.normal + a * n, a + 1)
    for i in range(m):
        row = work.turned + i * n
        for a in range(n):
            weight = row[a]
            axpy(weight, row, work.normal + a * n, a + 1)
    return cholesky_ltl(work.normal, n)


@internal
def factor_stack(work: ConeWorkspace, n: int, m: int):
    """Write L with P + GᵀW⁻²G = LᵀL to work.normal by reflections of the stack of √P and W⁻¹G.

    The normal matrix is not formed: its condition number would cost twice the digits.
    """
    copy(work.root, work.normal, n * n)
    copy(work.turned, work.spare, m * n)
    for k in range(n - 1, -1, -1):
        row = work.normal + k * n
        head, size = row[k], row[k] ** 2
        for i in range(m):
            size += work.spare[i * n + k] ** 2
        size = np.sqrt(size)
        signed = -size if head > 0.0 else size
        weight, first = 1.0 / (size * (size + abs(head))), head - signed
        copy_scaled(first, row, work.inner, k)
        for i in range(m):
            other = work.spare + i * n
            axpy(other[k], other, work.inner, k)
        for j in range(k):
            work.inner[j] *= weight
            row[j] -= first * work.inner[j]
        for i in range(m):
            other = work.spare + i * n
            for j in range(k):
                other[j] -= other[k] * work.inner[j]
        row[k] = signed


@internal
def solve_normal(work: ConeWorkspace, n: int, m: int, rhs_x: Floats, rhs_z: Floats, x: Floats, z: Floats):
    """Solve P x + Ĝᵀz = rhs_x, Ĝ x − z = rhs_z with Ĝ = W⁻¹G (z in the scaled space); refined once."""
    copy(rhs_x, x, n)
    add_transposed(work.turned, m, n, rhs_z, x)
    solve_l_transposed(work.normal, n, x)
    solve_l(work.normal, n, x)
    times(work.turned, m, n, x, z)
    axpy(-1.0, rhs_z, z, m)
    rest = work.rest
    for c in range(n):
        rest[c] = dot(work.p + c * n, x, n) - rhs_x[c]
    add_transposed(work.turned, m, n, z, rest)
    solve_l_transposed(work.normal, n, rest)
    solve_l(work.normal, n, rest)
    axpy(-1.0, rest, x, n)
    for i in range(m):
        z[i] -= dot(work.turned + i * n, rest, n)
