"""Dense linear algebra in a fixed order of operations: what a run depends on and LAPACK would give in other bits."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.flat import internal
from sarrus.kernels.record import Floats, Integers
from sarrus.kernels.vectors import axpy, divide, dot_from, fill, set_unit, swap

PRODUCT, SINGULAR, COMPLETION, SOLUTION, CHOLESKY = range(5)

# Rows count as orthogonal below this cosine. It takes six to ten sweeps over all pairs.
ORTHOGONAL = 1e-15
SWEEPS = 60
# Of several axes that would do about as well the first is taken, so that no rounding and no small change decides.
COMPARABLE = 0.6


def dense(table: Integers, x: Floats, what: int) -> int:
    """Do what is asked for with matrices by rows in x, sizes in table; return 0, or −1 where it cannot be done.

    PRODUCT: A (m × k), B (k × n), room for A B. SINGULAR: G (m × n, m ≤ n), V (m × m), σ (m) with room for V and σ: G
    becomes V G, its rows orthogonal, of the lengths σ, longest first. COMPLETION: m orthonormal rows and room for
    n − m more that complete them. SOLUTION: A (m × m), B (m × n), which becomes A⁻¹ B. CHOLESKY: A (m × m) becomes L
    with L Lᵀ = A.
    """
    m, n = table[0], table[1]
    if what == PRODUCT:
        k = table[2]
        return _multiply(x, x + m * k, x + (m * k + k * n), m, k, n)
    if what == SINGULAR:
        return _orthogonalize(x, x + m * n, x + (m * n + m * m), m, n)
    if what == COMPLETION:
        return _complete(x, m, n)
    if what == SOLUTION:
        return _eliminate(x, x + m * m, m, n)
    return _cholesky(x, m)


@internal
def _multiply(A, B, out, m, k, n):
    for i in range(m):
        row = out + i * n
        fill(row, 0.0, n)
        for j in range(k):
            axpy(A[i * k + j], B + j * n, row, n)
    return 0


@internal
def _inner(a, b, n):
    """Return the scalar product of two rows, by four sums of every fourth product."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for c in range(0, whole, 4):
        one += a[c] * b[c]
        two += a[c + 1] * b[c + 1]
        three += a[c + 2] * b[c + 2]
        four += a[c + 3] * b[c + 3]
    return (dot_from(one, a + whole, b + whole, n - whole) + two) + (three + four)


@internal
def _turn(a, b, n, cosine, sine):
    """Turn two rows in their plane."""
    for c in range(n):
        p, q = a[c], b[c]
        a[c] = cosine * p + sine * q
        b[c] = cosine * q - sine * p


@internal
def _orthogonalize(G, V, lengths, m, n):
    """One-sided Jacobi rotations (Hestenes 1958; Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992)."""
    for k in range(m):
        set_unit(V + k * m, k, m)
        lengths[k] = _inner(G + k * n, G + k * n, n)  # squares, until the end
    for _ in range(SWEEPS):
        clean = True
        for i in range(m):
            a = G + i * n
            for j in range(i + 1, m):
                b = G + j * n
                first, second = lengths[i], lengths[j]
                if not np.isfinite(first + second):
                    return -1
                across = _inner(a, b, n)
                size = np.sqrt(first) * np.sqrt(second)
                if abs(across) > ORTHOGONAL * size and size > 0.0:
                    clean = False
                    ratio = (second - first) / (2.0 * across)
                    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                    if ratio > 0.0:
                        tangent = -tangent
                    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                    _turn(a, b, n, cosine, cosine * tangent)
                    _turn(V + i * m, V + j * m, m, cosine, cosine * tangent)
                    lengths[i], lengths[j] = _inner(a, a, n), _inner(b, b, n)
        if clean:
            break
    for i in range(m):
        lengths[i] = np.sqrt(lengths[i])
    for i in range(m):
        longest = i
        for j in range(i + 1, m):
            if lengths[j] > lengths[longest]:
                longest = j
        if longest != i:
            lengths[i], lengths[longest] = lengths[longest], lengths[i]
            swap(G + i * n, G + longest * n, n)
            swap(V + i * m, V + longest * m, m)
    return 0


@internal
def _complete(rows, m, n):
    """Project axes on what is left, the first of those that lose little, and make them orthonormal."""
    for k in range(m, n):
        row, largest = rows + k * n, 0.0
        for c in range(n):
            left = 1.0
            for j in range(k):
                left -= rows[j * n + c] * rows[j * n + c]
            row[c] = left
            largest = max(largest, left)
        axis = 0
        while axis < n - 1 and not row[axis] >= COMPARABLE * largest:
            axis += 1
        set_unit(row, axis, n)
        for _ in range(2):
            for j in range(k):
                axpy(-_inner(rows + j * n, row, n), rows + j * n, row, n)
        size = np.sqrt(_inner(row, row, n))
        if not size > 0.0:
            return -1
        divide(row, size, n)
    return 0


@internal
def _eliminate(A, B, m, n):
    """Gauss's elimination with row pivoting, the first of equal pivots."""
    for k in range(m):
        row, pivot = A + k * m, k
        for i in range(k + 1, m):
            if abs(A[i * m + k]) > abs(A[pivot * m + k]):
                pivot = i
        if not abs(A[pivot * m + k]) > 0.0 or not np.isfinite(A[pivot * m + k]):
            return -1
        if pivot != k:
            swap(row, A + pivot * m, m)
            swap(B + k * n, B + pivot * n, n)
        for i in range(k + 1, m):
            other = A + i * m
            weight = other[k] / row[k]
            if weight != 0.0:
                axpy(-weight, row + (k + 1), other + (k + 1), m - k - 1)
                axpy(-weight, B + k * n, B + i * n, n)
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            axpy(-A[k * m + j], B + j * n, B + k * n, n)
        divide(B + k * n, A[k * m + k], n)
    return 0


@internal
def _cholesky(A, m):
    for k in range(m):
        row = A + k * m
        for i in range(k, m):
            A[i * m + k] -= _inner(A + i * m, row, k)
        pivot = row[k]
        if not pivot > 0.0 or not np.isfinite(pivot):
            return -1
        root = np.sqrt(pivot)
        for i in range(k, m):
            A[i * m + k] /= root
        for c in range(k + 1, m):
            row[c] = 0.0
    return 0
