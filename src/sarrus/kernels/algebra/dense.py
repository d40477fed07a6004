"""Dense linear algebra with a fixed order of operations: the same bits on every processor, unlike LAPACK."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.bidiagonal import all_values, largest_value
from sarrus.kernels.algebra.tolerances import (
    COMPARABLE_AXES,
    LANCZOS_STEPS,
    ORTHOGONAL,
    UNIT_ROUNDOFF_SQUARED,
)
from sarrus.kernels.algebra.vectors import axpy, divide, fill, inner, set_unit, swap
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.pointers import internal

PRODUCT, SINGULAR, VALUES, LARGEST, COMPLETION, SOLUTION, CHOLESKY = range(7)

SWEEPS = 60


def dense(table: Integers, x: Floats, level: int) -> int:
    """Run operation ``level`` on matrices by rows in x, sizes in table; return 0, or −1 if it has no result.

    PRODUCT: A (m × k), B (k × n), then a buffer for A B. SINGULAR: G (m × n, m ≤ n), then buffers for V (m × m), σ
    (m) and m more numbers: G becomes V G, with orthogonal rows of lengths σ, longest first. VALUES: A (m × n, m ≤ n;
    overwritten), then buffers for its singular values (m), unsorted, and for m + n numbers. LARGEST: A (m × n, m ≤
    n), then buffers for its largest singular value and for 2 `LANCZOS_STEPS` + m + n − 1 numbers. COMPLETION: m
    orthonormal rows, then a buffer for n − m rows that complete them. SOLUTION: A (m × m), B (m × n); B becomes A⁻¹
    B. CHOLESKY: A (m × m) becomes L with L Lᵀ = A.
    """
    m, n = table[0], table[1]
    if level == PRODUCT:
        k = table[2]
        return _multiply(x, x + m * k, x + (m * k + k * n), m, k, n)
    if level == SINGULAR:
        V = x + m * n
        lengths = V + m * m
        return orthogonalize(x, V, lengths, lengths + m, m, n)
    if level == VALUES:
        d = x + m * n
        return all_values(x, d, d + m, d + 2 * m, m, n)
    if level == LARGEST:
        d = x + m * n
        e = d + LANCZOS_STEPS
        u = e + LANCZOS_STEPS
        return largest_value(x, u, u + m, d, e, m, n)
    if level == COMPLETION:
        return _complete(x, m, n)
    if level == SOLUTION:
        return eliminate(x, x + m * m, m, n)
    return _cholesky(x, m)


@internal
def _multiply(A: Floats, B: Floats, out: Floats, m: int, k: int, n: int):
    for i in range(m):
        row = out + i * n
        fill(row, 0.0, n)
        for j in range(k):
            axpy(A[i * k + j], B + j * n, row, n)
    return 0


@internal
def _turn(a: Floats, b: Floats, n: int, cosine: float, sine: float):
    """Rotate the rows a and b (n,) in their plane by an angle given by ``cosine`` and ``sine``."""
    for c in range(n):
        p, q = a[c], b[c]
        a[c] = cosine * p + sine * q
        b[c] = cosine * q - sine * p


@internal
def orthogonalize(G: Floats, V: Floats, lengths: Floats, noise: Floats, m: int, n: int):
    """Replace G (m × n) by V G with orthogonal rows, longest first; return 0, −1 where G is not finite.

    V (m × m) and the row lengths (m,) are written. Method: one-sided Jacobi rotations (Hestenes 1958; Demmel and
    Veselić, SIAM J. Matrix Anal. Appl. 13, 1992), starting with the longest row (de Rijk, SIAM J. Sci. Stat. Comput.
    10, 1989). ``noise`` counts the squared rounding error of each row. A row no longer than its rounding error is not
    rotated, since its direction would never converge; an equally short row of A itself is rotated.
    """
    for k in range(m):
        set_unit(V + k * m, k, m)
        lengths[k] = inner(G + k * n, G + k * n, n)  # squared lengths, until the rotations end
        noise[k] = 0.0
    for _ in range(SWEEPS):
        clean = True
        for i in range(m):
            _exchange(G, V, lengths, noise, i, _longest(lengths, i, m), m, n)
            a = G + i * n
            for j in range(i + 1, m):
                b = G + j * n
                first, second = lengths[i], lengths[j]
                if not np.isfinite(first + second):
                    return -1
                if not (first > noise[i] and second > noise[j]):
                    continue
                across = inner(a, b, n)
                if abs(across) > ORTHOGONAL * np.sqrt(first) * np.sqrt(second):
                    clean = False
                    ratio = (second - first) / (2.0 * across)
                    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                    if ratio > 0.0:
                        tangent = -tangent
                    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                    _turn(a, b, n, cosine, cosine * tangent)
                    _turn(V + i * m, V + j * m, m, cosine, cosine * tangent)
                    lengths[i], lengths[j] = inner(a, a, n), inner(b, b, n)
                    own, other = cosine * cosine, cosine * cosine * tangent * tangent
                    p, q = noise[i] + UNIT_ROUNDOFF_SQUARED * first, noise[j] + UNIT_ROUNDOFF_SQUARED * second
                    noise[i], noise[j] = own * p + other * q, own * q + other * p
        if clean:
            break
    for i in range(m):
        lengths[i] = np.sqrt(lengths[i])
    for i in range(m):
        _exchange(G, V, lengths, noise, i, _longest(lengths, i, m), m, n)
    return 0


@internal
def _longest(lengths: Floats, first: int, m: int):
    """Return the index of the longest row among first … m − 1."""
    longest = first
    for j in range(first + 1, m):
        if lengths[j] > lengths[longest]:
            longest = j
    return longest


@internal
def _exchange(G: Floats, V: Floats, lengths: Floats, noise: Floats, i: int, j: int, m: int, n: int):
    """Exchange the rows i and j of G, V, ``lengths`` and ``noise``."""
    if i != j:
        lengths[i], lengths[j] = lengths[j], lengths[i]
        noise[i], noise[j] = noise[j], noise[i]
        swap(G + i * n, G + j * n, n)
        swap(V + i * m, V + j * m, m)


@internal
def _complete(rows: Floats, m: int, n: int):
    """Complete m orthonormal rows to an orthogonal n × n matrix; return 0, −1 on failure.

    Each new row is an axis projected on the complement of the rows before it. The first axis is taken whose squared
    projection is at least `COMPARABLE_AXES` × the largest squared projection.
    """
    for k in range(m, n):
        row, largest = rows + k * n, 0.0
        for c in range(n):
            left = 1.0
            for j in range(k):
                left -= rows[j * n + c] * rows[j * n + c]
            row[c] = left
            largest = max(largest, left)
        axis = 0
        while axis < n - 1 and not row[axis] >= COMPARABLE_AXES * largest:
            axis += 1
        set_unit(row, axis, n)
        for _ in range(2):
            for j in range(k):
                axpy(-inner(rows + j * n, row, n), rows + j * n, row, n)
        size = np.sqrt(inner(row, row, n))
        if not size > 0.0:
            return -1
        divide(row, size, n)
    return 0


@internal
def eliminate(A: Floats, B: Floats, m: int, n: int):
    """Replace B (m × n) by A⁻¹ B, by Gaussian elimination with row pivoting; return 0, −1 where A is singular."""
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
def _cholesky(A: Floats, m: int):
    for k in range(m):
        row = A + k * m
        for i in range(k, m):
            A[i * m + k] -= inner(A + i * m, row, k)
        pivot = row[k]
        if not pivot > 0.0 or not np.isfinite(pivot):
            return -1
        root = np.sqrt(pivot)
        for i in range(k, m):
            A[i * m + k] /= root
        for c in range(k + 1, m):
            row[c] = 0.0
    return 0
