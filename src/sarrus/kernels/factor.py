"""Rank-revealing factorisation of a constraint matrix, and the minimum-norm solves that use it.

A (m × n, rows are constraints) = Πᵀ L Qᵀ, with L lower trapezoidal, by Householder reflections with row
pivoting; the same as column-pivoted QR of Aᵀ (Golub and Van Loan, Matrix Computations, 4th ed., §5.4.2).
Where the rank r is below m, a second sweep reduces L = V T to a lower triangle T (complete orthogonal
decomposition, ibid. §5.4.7), so that

    A⁺ b = Q T⁻¹ Vᵀ Π b           least squares and minimum norm for any rank,
    (Aᵀ)⁺ g = Πᵀ V T⁻ᵀ Qᵀ g       minimum-norm multipliers.

Everything is stored in place: reflector k in row k, from its diagonal on; L below the diagonal.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Below this multiple of the largest pivot a row is rounding noise whatever rank is asked for.
NOISE = 1e-14


@njit(cache=True, inline="never")
def factor(w, m, n, limit, cut, perm, diagonal, beta, norms):
    """Factor the m × n matrix in the flat row-major array ``w`` in place and return its rank.

    ``limit`` bounds the rank, ``cut`` is the relative size of the smallest pivot kept. ``diagonal`` gets
    the pivots |L_kk| in descending order, also the first one that was cut; zeros after it.
    """
    steps = min(m, n)
    for j in range(m):
        perm[j] = j
        total = 0.0
        for c in range(n):
            total += w[j * n + c] * w[j * n + c]
        norms[j] = total
    for k in range(steps):
        diagonal[k] = 0.0
    rank = 0
    largest = 0.0
    for k in range(steps):
        pivot = k
        for j in range(k + 1, m):
            if norms[j] > norms[pivot]:
                pivot = j
        size = np.sqrt(norms[pivot])
        if k == 0:
            largest = size
        diagonal[k] = size
        if not size > max(cut, NOISE) * largest or k >= limit:
            break
        if pivot != k:
            for c in range(n):
                w[k * n + c], w[pivot * n + c] = w[pivot * n + c], w[k * n + c]
            perm[k], perm[pivot] = perm[pivot], perm[k]
            norms[pivot] = norms[k]
        # Reflector that maps row k onto the axis k; v overwrites the row, L_kk goes to the diagonal.
        row = k * n
        head = w[row + k]
        signed = -size if head > 0.0 else size
        w[row + k] = head - signed
        beta[k] = 1.0 / (size * (size + abs(head)))
        for j in range(k + 1, m):
            other = j * n
            inner = 0.0
            for c in range(k, n):
                inner += w[row + c] * w[other + c]
            inner *= beta[k]
            total = 0.0
            w[other + k] -= inner * w[row + k]
            for c in range(k + 1, n):
                value = w[other + c] - inner * w[row + c]
                w[other + c] = value
                total += value * value
            norms[j] = total
        diagonal[k] = signed
        rank = k + 1
    return rank


@njit(cache=True)
def reduce(w, m, n, rank, diagonal, beta2):
    """Turn the trapezoid L (m × rank) into the triangle T by reflections from the left, last column first."""
    for k in range(rank - 1, -1, -1):
        below = 0.0
        for j in range(rank, m):
            below += w[j * n + k] * w[j * n + k]
        if below == 0.0:
            beta2[k] = 0.0
            continue
        head = diagonal[k]
        size = np.sqrt(head * head + below)
        signed = -size if head > 0.0 else size
        # v = (head − signed, below…), scaled so that its head is one.
        scale = 1.0 / (head - signed)
        for j in range(rank, m):
            w[j * n + k] *= scale
        beta2[k] = (signed - head) / signed
        diagonal[k] = signed
        for c in range(k):
            inner = w[k * n + c]
            for j in range(rank, m):
                inner += w[j * n + k] * w[j * n + c]
            inner *= beta2[k]
            w[k * n + c] -= inner
            for j in range(rank, m):
                w[j * n + c] -= inner * w[j * n + k]


@njit(cache=True)
def least_squares(w, m, n, rank, perm, diagonal, beta, beta2, b, y, x):
    """Write x = A⁺ b and, to y (≥ m), T⁻¹ Vᵀ Π b; return the norm of the residual b − A x."""
    for j in range(m):
        y[j] = b[perm[j]]
    if rank < m:
        for k in range(rank - 1, -1, -1):
            if beta2[k] == 0.0:
                continue
            inner = y[k]
            for j in range(rank, m):
                inner += w[j * n + k] * y[j]
            inner *= beta2[k]
            y[k] -= inner
            for j in range(rank, m):
                y[j] -= inner * w[j * n + k]
    for k in range(rank):
        value = y[k]
        for c in range(k):
            value -= w_lower(w, n, k, c) * y[c]
        y[k] = value / diagonal[k]
    left = 0.0
    for j in range(rank, m):
        left += y[j] * y[j]
    for c in range(n):
        x[c] = y[c] if c < rank else 0.0
    apply_q(w, n, rank, beta, x)
    return np.sqrt(left)


@njit(cache=True, inline="always")
def w_lower(w, n, k, c):
    """Return L_kc (or T_kc), c < k."""
    return w[k * n + c]


@njit(cache=True)
def apply_q(w, n, rank, beta, x):
    """Replace x by Q x."""
    for k in range(rank - 1, -1, -1):
        row = k * n
        inner = 0.0
        for c in range(k, n):
            inner += w[row + c] * x[c]
        inner *= beta[k]
        for c in range(k, n):
            x[c] -= inner * w[row + c]


@njit(cache=True)
def apply_q_transposed(w, n, rank, beta, x):
    """Replace x by Qᵀ x."""
    for k in range(rank):
        row = k * n
        inner = 0.0
        for c in range(k, n):
            inner += w[row + c] * x[c]
        inner *= beta[k]
        for c in range(k, n):
            x[c] -= inner * w[row + c]


@njit(cache=True)
def multipliers(w, m, n, rank, perm, diagonal, beta2, g, work, lam):
    """Write the minimum-norm λ with Tᵀ Vᵀ Π λ = g, g the first ``rank`` entries of Qᵀ (Aᵀ λ)."""
    for k in range(rank - 1, -1, -1):
        value = g[k]
        for j in range(k + 1, rank):
            value -= w_lower(w, n, j, k) * work[j]
        work[k] = value / diagonal[k]
    for j in range(rank, m):
        work[j] = 0.0
    if rank < m:
        for k in range(rank):
            if beta2[k] == 0.0:
                continue
            inner = work[k]
            for j in range(rank, m):
                inner += w[j * n + k] * work[j]
            inner *= beta2[k]
            work[k] -= inner
            for j in range(rank, m):
                work[j] -= inner * w[j * n + k]
    for j in range(m):
        lam[perm[j]] = work[j]


@njit(cache=True)
def cholesky_ltl(a, n):
    """Factor the symmetric flat n × n matrix in place as LᵀL (L in the lower triangle); return False if not PD."""
    for k in range(n - 1, -1, -1):
        pivot = a[k * n + k]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        a[k * n + k] = root
        for j in range(k):
            a[k * n + j] /= root
        for i in range(k):
            factor_i = a[k * n + i]
            if factor_i != 0.0:
                for j in range(i + 1):
                    a[i * n + j] -= factor_i * a[k * n + j]
    return True


@njit(cache=True)
def solve_l(a, n, x):
    """Replace x by L⁻¹ x."""
    for k in range(n):
        value = x[k]
        for j in range(k):
            value -= a[k * n + j] * x[j]
        x[k] = value / a[k * n + k]


@njit(cache=True)
def solve_l_transposed(a, n, x, offset):
    """Replace the n entries of x from ``offset`` on by L⁻ᵀ of them: a row of A becomes a row of A L⁻¹."""
    for k in range(n - 1, -1, -1):
        value = x[offset + k] / a[k * n + k]
        x[offset + k] = value
        if value != 0.0:
            for j in range(k):
                x[offset + j] -= a[k * n + j] * value
