"""Rank-revealing factorisation of a constraint matrix, and the minimum-norm solves that use it.

A (m × n, rows are constraints) = Πᵀ L Qᵀ, with L lower trapezoidal, by Householder reflections with row
pivoting; the same as column-pivoted QR of Aᵀ (Golub and Van Loan, Matrix Computations, 4th ed., §5.4.2).
Where the rank r is below m, a second sweep reduces L = V T to a lower triangle T (complete orthogonal
decomposition, ibid. §5.4.7), so that

    A⁺ b = Q T⁻¹ Vᵀ Π b           least squares and minimum norm for any rank,
    (Aᵀ)⁺ g = Πᵀ V T⁻ᵀ Qᵀ g       minimum-norm multipliers.

Everything is stored in place: reflector k in row k, from its diagonal on; L below the diagonal. All vectors
and matrices are parts of one flat array or view ``s`` and named by their offset in it.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.flat import internal

# Below this multiple of the largest pivot a row is rounding noise whatever rank is asked for.
NOISE = 1e-14


@internal
def factor(s, w, m, n, limit, cut, scale, perm, diagonal, beta, norms):
    """Factor the m × n row-major matrix at ``w`` in place and return its rank.

    ``limit`` bounds the rank; a pivot is kept while it is above ``cut`` times the largest one or ``scale``, the
    size that pivots have elsewhere, whichever is more. ``diagonal`` gets the pivots L_kk in descending
    size, also the first one that was cut; zeros after it. Returns −1 where the matrix is not finite.
    """
    steps = min(m, n)
    for j in range(m):
        perm[j] = j
        total = 0.0
        row = w + j * n
        for c in range(row, row + n):
            total += s[c] * s[c]
        s[norms + j] = total
    for k in range(steps):
        s[diagonal + k] = 0.0
    rank = 0
    smallest = 0.0
    for k in range(steps):
        pivot, largest = k, s[norms + k]
        for j in range(k + 1, m):
            if s[norms + j] > largest:
                pivot, largest = j, s[norms + j]
        size = np.sqrt(largest)
        if k == 0:
            smallest = max(cut, NOISE) * max(size, scale)
        s[diagonal + k] = size
        if not np.isfinite(size):
            return -1
        if not size > smallest or k >= limit:
            break
        row = w + k * n
        if pivot != k:
            other = w + pivot * n
            for c in range(n):
                s[row + c], s[other + c] = s[other + c], s[row + c]
            perm[k], perm[pivot] = perm[pivot], perm[k]
            s[norms + pivot] = s[norms + k]
        # Reflector that maps row k onto the axis k; v overwrites the row, L_kk goes to the diagonal.
        head = s[row + k]
        signed = -size if head > 0.0 else size
        s[row + k] = head - signed
        weight = 1.0 / (size * (size + abs(head)))
        s[beta + k] = weight
        s[diagonal + k] = signed
        for j in range(k + 1, m):
            other = w + j * n
            inner = 0.0
            for c in range(k, n):
                inner += s[row + c] * s[other + c]
            inner *= weight
            s[other + k] -= inner * s[row + k]
            total = 0.0
            for c in range(k + 1, n):
                value = s[other + c] - inner * s[row + c]
                s[other + c] = value
                total += value * value
            s[norms + j] = total
        rank = k + 1
    return rank


@internal
def reduce(s, w, m, n, rank, diagonal, beta2):
    """Turn the trapezoid L (m × rank) into the triangle T by reflections from the left, last column first."""
    for k in range(rank - 1, -1, -1):
        below = 0.0
        for j in range(rank, m):
            below += s[w + j * n + k] ** 2
        if below == 0.0:
            s[beta2 + k] = 0.0
            continue
        head = s[diagonal + k]
        size = np.sqrt(head * head + below)
        signed = -size if head > 0.0 else size
        # v = (head − signed, below…), scaled so that its head is one.
        scale = 1.0 / (head - signed)
        for j in range(rank, m):
            s[w + j * n + k] *= scale
        weight = (signed - head) / signed
        s[beta2 + k] = weight
        s[diagonal + k] = signed
        for c in range(k):
            inner = s[w + k * n + c]
            for j in range(rank, m):
                inner += s[w + j * n + k] * s[w + j * n + c]
            inner *= weight
            s[w + k * n + c] -= inner
            for j in range(rank, m):
                s[w + j * n + c] -= inner * s[w + j * n + k]


@internal
def least_squares(s, w, m, n, rank, perm, diagonal, beta, beta2, b, y, x):
    """Write x = A⁺ b and, to y (≥ m), T⁻¹ Vᵀ Π b; return the norm of the residual b − A x."""
    for j in range(m):
        s[y + j] = s[b + perm[j]]
    left = 0.0
    if rank < m:
        for k in range(rank - 1, -1, -1):
            weight = s[beta2 + k]
            if weight == 0.0:
                continue
            inner = s[y + k]
            for j in range(rank, m):
                inner += s[w + j * n + k] * s[y + j]
            inner *= weight
            s[y + k] -= inner
            for j in range(rank, m):
                s[y + j] -= inner * s[w + j * n + k]
        for j in range(rank, m):
            left += s[y + j] ** 2
    for k in range(rank):
        value = s[y + k]
        row = w + k * n
        for c in range(k):
            value -= s[row + c] * s[y + c]
        value /= s[diagonal + k]
        s[y + k] = value
        s[x + k] = value
    for c in range(rank, n):
        s[x + c] = 0.0
    apply_q(s, w, n, rank, beta, x)
    return np.sqrt(left)


@internal
def solve(s, w, m, n, limit, cut, scale, perm, diagonal, beta, beta2, norms, b, y, x):
    """Factor the matrix at w and write x = A⁺ b; return (rank, norm of b − A x), rank −1 where it is not finite.

    Arguments and what is left in the workspace are those of `factor`, `reduce` and `least_squares`.
    """
    rank = factor(s, w, m, n, limit, cut, scale, perm, diagonal, beta, norms)
    if rank < 0:
        return rank, np.inf
    if rank < m:
        reduce(s, w, m, n, rank, diagonal, beta2)
    return rank, least_squares(s, w, m, n, rank, perm, diagonal, beta, beta2, b, y, x)


@internal
def apply_q(s, w, n, rank, beta, x):
    """Replace the vector at x by Q x."""
    for k in range(rank - 1, -1, -1):
        row = w + k * n
        inner = 0.0
        for c in range(k, n):
            inner += s[row + c] * s[x + c]
        inner *= s[beta + k]
        for c in range(k, n):
            s[x + c] -= inner * s[row + c]


@internal
def apply_q_transposed(s, w, n, rank, beta, x):
    """Replace the vector at x by Qᵀ x."""
    for k in range(rank):
        row = w + k * n
        inner = 0.0
        for c in range(k, n):
            inner += s[row + c] * s[x + c]
        inner *= s[beta + k]
        for c in range(k, n):
            s[x + c] -= inner * s[row + c]


@internal
def multipliers(s, w, m, n, rank, perm, diagonal, beta2, g, work, lam):
    """Write the minimum-norm λ with Tᵀ Vᵀ Π λ = g, g the first ``rank`` entries of Qᵀ (Aᵀ λ)."""
    for k in range(rank):
        s[work + k] = s[g + k]
    for k in range(rank - 1, -1, -1):
        value = s[work + k] / s[diagonal + k]
        s[work + k] = value
        row = w + k * n
        for j in range(k):
            s[work + j] -= value * s[row + j]
    if rank < m:
        for j in range(rank, m):
            s[work + j] = 0.0
        for k in range(rank):
            weight = s[beta2 + k]
            if weight == 0.0:
                continue
            inner = s[work + k]
            for j in range(rank, m):
                inner += s[w + j * n + k] * s[work + j]
            inner *= weight
            s[work + k] -= inner
            for j in range(rank, m):
                s[work + j] -= inner * s[w + j * n + k]
    for j in range(m):
        s[lam + perm[j]] = s[work + j]


@internal
def cholesky_ltl(s, a, n):
    """Factor the symmetric n × n matrix at ``a`` in place as LᵀL (L in the lower triangle); False if not PD."""
    for k in range(n - 1, -1, -1):
        row = a + k * n
        pivot = s[row + k]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        s[row + k] = root
        inverse = 1.0 / root
        for j in range(k):
            s[row + j] *= inverse
        for i in range(k):
            weight = s[row + i]
            if weight != 0.0:
                other = a + i * n
                for j in range(i + 1):
                    s[other + j] -= weight * s[row + j]
    return True


@internal
def solve_l(s, a, n, x):
    """Replace the vector at x by L⁻¹ x."""
    for k in range(n):
        value = s[x + k] / s[a + k * (n + 1)]
        s[x + k] = value
        for i in range(k + 1, n):
            s[x + i] -= s[a + i * n + k] * value


@internal
def solve_l_transposed(s, a, n, x):
    """Replace the vector at x by L⁻ᵀ x; so a row of A becomes a row of A L⁻¹."""
    for k in range(n - 1, -1, -1):
        row = a + k * n
        value = s[x + k] / s[row + k]
        s[x + k] = value
        if value != 0.0:
            for j in range(k):
                s[x + j] -= s[row + j] * value
