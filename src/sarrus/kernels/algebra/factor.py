"""Rank-revealing factorisation of a constraint matrix, and the minimum-norm solves that use it.

A (m × n, rows are constraints) = Πᵀ L Qᵀ, with L lower trapezoidal, by Householder reflections with row pivoting;
this equals column-pivoted QR of Aᵀ (Golub and Van Loan, Matrix Computations, 4th ed., §5.4.2). Where the rank r is
below m, a second sweep reduces L = V T to a lower triangle T (complete orthogonal decomposition, ibid. §5.4.7), so
that

    A⁺ b = Q T⁻¹ Vᵀ Π b           least squares and minimum norm for any rank,
    (Aᵀ)⁺ g = Πᵀ V T⁻ᵀ Qᵀ g       minimum-norm multipliers.

Everything is stored in place: reflector k in row k, from its diagonal on; L below the diagonal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels.algebra.tolerances import LEAST_RANK_CUT
from sarrus.kernels.algebra.vectors import axpy, copy, divide, dot, fill, multiply, swap
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


class Matrix(NamedTuple):
    """Matrix A (m × n) by rows, factored in place, and the vectors of its factorisation."""

    rows: Any
    m: Any
    n: Any
    order: Any  # Π, integers
    diagonal: Any  # pivots L_kk in descending size, including the first rejected pivot; zeros after it
    beta: Any  # weights of the reflections that give L
    beta2: Any  # weights of the reflections that give T
    norms: Any  # squared norms of the rows


@internal
def matrix(table: Table, work: Workspace, rows: Floats, m: int):
    """Return the matrix (m × nv) at ``rows``, with the vectors of the workspace for its factorisation."""
    order = la.permutation(table)
    return Matrix(rows, m, table.nv, order, work.diagonal, work.beta, work.beta2, work.norms)


@internal
def factor(A: Matrix, limit: int, cut: float, scale: float):
    """Factor A; return its rank, −1 where A is not finite.

    ``limit`` bounds the rank. A pivot is kept while it is above ``cut`` times the larger of the first pivot and
    ``scale``, the size of pivots in other configurations.
    """
    w, m, n, perm, diagonal, beta, norms = A.rows, A.m, A.n, A.order, A.diagonal, A.beta, A.norms
    steps = min(m, n)
    for j in range(m):
        perm[j] = j
        norms[j] = dot(w + j * n, w + j * n, n)
    fill(diagonal, 0.0, steps)
    rank = 0
    smallest = 0.0
    for k in range(steps):
        pivot, largest = k, norms[k]
        for j in range(k + 1, m):
            if norms[j] > largest:
                pivot, largest = j, norms[j]
        size = np.sqrt(largest)
        if k == 0:
            smallest = max(cut, LEAST_RANK_CUT) * max(size, scale)
        diagonal[k] = size
        if not np.isfinite(size):
            return -1
        if not size > smallest or k >= limit:
            break
        row = w + k * n
        if pivot != k:
            swap(row, w + pivot * n, n)
            perm[k], perm[pivot] = perm[pivot], perm[k]
            norms[pivot] = norms[k]
        # Reflector that maps row k onto the axis k; v overwrites the row, L_kk goes to the diagonal.
        head = row[k]
        signed = -size if head > 0.0 else size
        row[k] = head - signed
        weight = 1.0 / (size * (size + abs(head)))
        beta[k] = weight
        diagonal[k] = signed
        for j in range(k + 1, m):
            other = w + j * n
            inner = 0.0
            for c in range(k, n):
                inner += row[c] * other[c]
            inner *= weight
            other[k] -= inner * row[k]
            total = 0.0
            for c in range(k + 1, n):
                value = other[c] - inner * row[c]
                other[c] = value
                total += value * value
            norms[j] = total
        rank = k + 1
    return rank


@internal
def reduce(A: Matrix, rank: int):
    """Replace the trapezoid L (m × rank) by the triangle T, by reflections from the left, last column first."""
    w, m, n, diagonal, beta2 = A.rows, A.m, A.n, A.diagonal, A.beta2
    for k in range(rank - 1, -1, -1):
        below = 0.0
        for j in range(rank, m):
            below += w[j * n + k] ** 2
        if below == 0.0:
            beta2[k] = 0.0
            continue
        head = diagonal[k]
        size = np.sqrt(head * head + below)
        signed = -size if head > 0.0 else size
        # v = (head − signed, below…), scaled so that its first entry is 1.
        scale = 1.0 / (head - signed)
        for j in range(rank, m):
            w[j * n + k] *= scale
        weight = (signed - head) / signed
        beta2[k] = weight
        diagonal[k] = signed
        for c in range(k):
            inner = w[k * n + c]
            for j in range(rank, m):
                inner += w[j * n + k] * w[j * n + c]
            inner *= weight
            w[k * n + c] -= inner
            for j in range(rank, m):
                w[j * n + c] -= inner * w[j * n + k]


@internal
def _reflect_rows(A: Matrix, rank: int, k: int, y: Floats):
    """Apply reflection k of V to the vector y (m,); it acts on entry k and on the entries from ``rank`` on."""
    w, m, n, weight = A.rows, A.m, A.n, A.beta2[k]
    if weight == 0.0:
        return
    inner = y[k]
    for j in range(rank, m):
        inner += w[j * n + k] * y[j]
    inner *= weight
    y[k] -= inner
    for j in range(rank, m):
        y[j] -= inner * w[j * n + k]


@internal
def least_squares(A: Matrix, rank: int, b: Floats, y: Floats, x: Floats):
    """Write x = A⁺ b (n,) and, to y (≥ m), T⁻¹ Vᵀ Π b; return the norm of the residual b − A x."""
    w, m, n, perm, diagonal = A.rows, A.m, A.n, A.order, A.diagonal
    for j in range(m):
        y[j] = b[perm[j]]
    left = 0.0
    if rank < m:
        for k in range(rank - 1, -1, -1):
            _reflect_rows(A, rank, k, y)
        for j in range(rank, m):
            left += y[j] ** 2
    for k in range(rank):
        value = y[k]
        row = w + k * n
        for c in range(k):
            value -= row[c] * y[c]
        value /= diagonal[k]
        y[k] = value
        x[k] = value
    for c in range(rank, n):
        x[c] = 0.0
    apply_q(A, rank, x)
    return np.sqrt(left)


@internal
def solve(A: Matrix, limit: int, cut: float, scale: float, b: Floats, y: Floats, x: Floats):
    """Factor A and write x = A⁺ b (n,); return the rank and the norm of b − A x, rank −1 where A is not finite.

    ``limit``, ``cut`` and ``scale`` are the arguments of `factor`; y is the buffer of `least_squares`.
    """
    rank = factor(A, limit, cut, scale)
    if rank < 0:
        return rank, np.inf
    if rank < A.m:
        reduce(A, rank)
    return rank, least_squares(A, rank, b, y, x)


@internal
def _reflect(row: Floats, weight: float, k: int, n: int, x: Floats):
    """Apply I − weight · row rowᵀ to the vector x (n,); entries of ``row`` before entry k count as zero."""
    left = n - k
    axpy(-weight * dot(row + k, x + k, left), row + k, x + k, left)


@internal
def apply_q(A: Matrix, rank: int, x: Floats):
    """Replace the vector x (n,) by Q x."""
    w, n, beta = A.rows, A.n, A.beta
    for k in range(rank - 1, -1, -1):
        _reflect(w + k * n, beta[k], k, n, x)


@internal
def apply_q_transposed(A: Matrix, rank: int, x: Floats):
    """Replace the vector x (n,) by Qᵀ x."""
    w, n, beta = A.rows, A.n, A.beta
    for k in range(rank):
        _reflect(w + k * n, beta[k], k, n, x)


@internal
def multipliers(A: Matrix, rank: int, g: Floats, work: Floats, lam: Floats):
    """Write the minimum-norm λ (m,) with Tᵀ Vᵀ Π λ = g, where g is the first ``rank`` entries of Qᵀ (Aᵀ λ)."""
    w, m, n, perm, diagonal = A.rows, A.m, A.n, A.order, A.diagonal
    copy(g, work, rank)
    for k in range(rank - 1, -1, -1):
        value = work[k] / diagonal[k]
        work[k] = value
        row = w + k * n
        axpy(-value, row, work, k)
    if rank < m:
        for j in range(rank, m):
            work[j] = 0.0
        for k in range(rank):
            _reflect_rows(A, rank, k, work)
    for j in range(m):
        lam[perm[j]] = work[j]


@internal
def cholesky_ltl(a: Floats, n: int):
    """Replace the lower triangle of the symmetric a (n × n) by L with LᵀL = a; False where a is not positive
    definite."""
    for k in range(n - 1, -1, -1):
        row = a + k * n
        pivot = row[k]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        row[k] = root
        inverse = 1.0 / root
        multiply(row, inverse, k)
        for i in range(k):
            weight = row[i]
            if weight != 0.0:
                other = a + i * n
                axpy(-weight, row, other, i + 1)
    return True


@internal
def solve_l(a: Floats, n: int, x: Floats):
    """Replace the vector x (n,) by L⁻¹ x."""
    for k in range(n):
        value = x[k] / a[k * (n + 1)]
        x[k] = value
        for i in range(k + 1, n):
            x[i] -= a[i * n + k] * value


@internal
def solve_l_rows(a: Floats, n: int, x: Floats, count: int):
    """Replace the matrix x (n × count) by L⁻¹ x."""
    for k in range(n):
        row = x + k * count
        divide(row, a[k * (n + 1)], count)
        for i in range(k + 1, n):
            axpy(-a[i * n + k], row, x + i * count, count)


@internal
def solve_l_transposed_rows(a: Floats, n: int, x: Floats, count: int):
    """Replace the matrix x (n × count) by L⁻ᵀ x."""
    for k in range(n - 1, -1, -1):
        row = x + k * count
        divide(row, a[k * (n + 1)], count)
        for i in range(k):
            axpy(-a[k * n + i], row, x + i * count, count)


@internal
def solve_l_transposed(a: Floats, n: int, x: Floats):
    """Replace the vector x (n,) by L⁻ᵀ x; applied to a row of A it gives the row of A L⁻¹."""
    for k in range(n - 1, -1, -1):
        row = a + k * n
        value = x[k] / row[k]
        x[k] = value
        if value != 0.0:
            axpy(-value, row, x, k)
