"""Dense linear algebra in a fixed order of operations: what a run depends on and LAPACK would give in other bits."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.flat import internal
from sarrus.kernels.record import Floats, Integers
from sarrus.kernels.vectors import axpy, divide, fill, swap

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
        return _multiply(x, m, table[2], n)
    if what == SINGULAR:
        return _orthogonalize(x, m, n)
    if what == COMPLETION:
        return _complete(x, m, n)
    if what == SOLUTION:
        return _eliminate(x, m, n)
    return _cholesky(x, m)


@internal
def _multiply(x, m, k, n):
    b, out = m * k, m * k + k * n
    for i in range(m):
        fill(x + (out + i * n), 0.0, n)
        for j in range(k):
            weight = x[i * k + j]
            axpy(weight, x + (b + j * n), x + (out + i * n), n)
    return 0


@internal
def _inner(x, a, b, n):
    """Return the scalar product of two rows, by four sums of every fourth product."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for c in range(0, whole, 4):
        one += x[a + c] * x[b + c]
        two += x[a + c + 1] * x[b + c + 1]
        three += x[a + c + 2] * x[b + c + 2]
        four += x[a + c + 3] * x[b + c + 3]
    for c in range(whole, n):
        one += x[a + c] * x[b + c]
    return (one + two) + (three + four)


@internal
def _turn(x, a, b, n, cosine, sine):
    """Turn two rows in their plane."""
    for c in range(n):
        p, q = x[a + c], x[b + c]
        x[a + c] = cosine * p + sine * q
        x[b + c] = cosine * q - sine * p


@internal
def _orthogonalize(x, m, n):
    """One-sided Jacobi rotations (Hestenes 1958; Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992)."""
    v = m * n
    lengths = v + m * m
    fill(x + v, 0.0, m * m)
    for k in range(m):
        x[v + k * m + k] = 1.0
    for _ in range(SWEEPS):
        clean = True
        for i in range(m):
            for j in range(i + 1, m):
                first, second = _inner(x, i * n, i * n, n), _inner(x, j * n, j * n, n)
                if not np.isfinite(first + second):
                    return -1
                across = _inner(x, i * n, j * n, n)
                size = np.sqrt(first) * np.sqrt(second)
                if abs(across) > ORTHOGONAL * size and size > 0.0:
                    clean = False
                    ratio = (second - first) / (2.0 * across)
                    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                    if ratio > 0.0:
                        tangent = -tangent
                    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                    _turn(x, i * n, j * n, n, cosine, cosine * tangent)
                    _turn(x, v + i * m, v + j * m, m, cosine, cosine * tangent)
        if clean:
            break
    for i in range(m):
        x[lengths + i] = np.sqrt(_inner(x, i * n, i * n, n))
    for i in range(m):
        longest = i
        for j in range(i + 1, m):
            if x[lengths + j] > x[lengths + longest]:
                longest = j
        if longest != i:
            x[lengths + i], x[lengths + longest] = x[lengths + longest], x[lengths + i]
            swap(x + i * n, x + longest * n, n)
            swap(x + (v + i * m), x + (v + longest * m), m)
    return 0


@internal
def _complete(x, m, n):
    """Project axes on what is left, the first of those that lose little, and make them orthonormal."""
    for row in range(m, n):
        largest = 0.0
        for c in range(n):
            left = 1.0
            for k in range(row):
                left -= x[k * n + c] * x[k * n + c]
            x[row * n + c] = left
            largest = max(largest, left)
        axis = 0
        while axis < n - 1 and not x[row * n + axis] >= COMPARABLE * largest:
            axis += 1
        fill(x + row * n, 0.0, n)
        x[row * n + axis] = 1.0
        for _ in range(2):
            for k in range(row):
                share = _inner(x, k * n, row * n, n)
                axpy(-share, x + k * n, x + row * n, n)
        size = np.sqrt(_inner(x, row * n, row * n, n))
        if not size > 0.0:
            return -1
        divide(x + row * n, size, n)
    return 0


@internal
def _eliminate(x, m, n):
    """Gauss's elimination with row pivoting, the first of equal pivots."""
    b = m * m
    for k in range(m):
        pivot = k
        for i in range(k + 1, m):
            if abs(x[i * m + k]) > abs(x[pivot * m + k]):
                pivot = i
        if not abs(x[pivot * m + k]) > 0.0 or not np.isfinite(x[pivot * m + k]):
            return -1
        if pivot != k:
            swap(x + k * m, x + pivot * m, m)
            swap(x + (b + k * n), x + (b + pivot * n), n)
        for i in range(k + 1, m):
            weight = x[i * m + k] / x[k * m + k]
            if weight != 0.0:
                for c in range(k + 1, m):
                    x[i * m + c] -= weight * x[k * m + c]
                axpy(-weight, x + (b + k * n), x + (b + i * n), n)
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            weight = x[k * m + j]
            axpy(-weight, x + (b + j * n), x + (b + k * n), n)
        for c in range(n):
            x[b + k * n + c] /= x[k * m + k]
    return 0


@internal
def _cholesky(x, m):
    for k in range(m):
        for i in range(k, m):
            x[i * m + k] -= _inner(x, i * m, k * m, k)
        pivot = x[k * m + k]
        if not pivot > 0.0 or not np.isfinite(pivot):
            return -1
        root = np.sqrt(pivot)
        for i in range(k, m):
            x[i * m + k] /= root
        for c in range(k + 1, m):
            x[k * m + c] = 0.0
    return 0
