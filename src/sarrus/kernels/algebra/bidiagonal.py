"""Singular values without singular vectors, by reduction to a bidiagonal matrix.

This takes a fraction of the work of the full decomposition. All singular values: reflections from both sides (Golub
and Kahan, SIAM J. Numer. Anal. B 2, 1965), to rounding of the largest value. The largest singular value: Lanczos'
method, from a few products with A and Aᵀ.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.tolerances import COUPLED_VALUES, LANCZOS_STEPS, SWEEPS_PER_VALUE, UNIT_ROUNDOFF
from sarrus.kernels.algebra.vectors import axpy, divide, fill, inner, multiply
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def all_values(A: Floats, d: Floats, e: Floats, w: Floats, m: int, n: int):
    """Write the singular values of A (m × n, m ≤ n; overwritten) to d (m,), unsorted; return 0, −1 on failure."""
    for k in range(m):
        row, length = A + (k * n + k), n - k
        d[k] = _reflection(row, np.sqrt(inner(row, row, length)))
        if d[k] != 0.0:
            scale = -1.0 / (d[k] * row[0])
            for i in range(k + 1, m):
                other = A + (i * n + k)
                axpy(-scale * inner(row, other, length), row, other, length)
        if k + 1 == m:
            break
        column, squares = A + ((k + 1) * n + k), 0.0
        for i in range(m - k - 1):
            squares += column[i * n] * column[i * n]
        e[k] = _reflection(column, np.sqrt(squares))
        if e[k] != 0.0:
            scale = -1.0 / (e[k] * column[0])
            fill(w, 0.0, length - 1)
            for i in range(m - k - 1):
                axpy(column[i * n], column + (i * n + 1), w, length - 1)
            for i in range(m - k - 1):
                axpy(-scale * column[i * n], w, column + (i * n + 1), length - 1)
    return values_of_bidiagonal(d, e, m)


@internal
def _reflection(x: Floats, length: float):
    """Replace x₀ by entry 0 of x − y e₀, the normal of the reflection that maps x to y e₀; return y, 0 for x = 0.

    ``length`` is ‖x‖.
    """
    if not length > 0.0:
        return 0.0
    y = -np.copysign(length, x[0])
    x[0] -= y
    return y


@internal
def largest_value(A: Floats, u: Floats, v: Floats, d: Floats, e: Floats, m: int, n: int):
    """Write the largest singular value of A (m × n, m ≤ n) to d[0]; return 0, −1 on failure."""
    for i in range(m):
        u[i] = 1.0 + (0.618 * i) % 1.0  # unequal entries: u is not orthogonal to a vector by symmetry
    divide(u, np.sqrt(inner(u, u, m)), m)
    fill(v, 0.0, n)
    count, top = 0, 0.0
    while count < min(m, LANCZOS_STEPS):
        multiply(v, -e[count - 1] if count > 0 else 0.0, n)
        for i in range(m):
            axpy(u[i], A + i * n, v, n)
        d[count] = np.sqrt(inner(v, v, n))
        top, count = max(top, d[count]), count + 1
        if not d[count - 1] > UNIT_ROUNDOFF * top:
            break
        divide(v, d[count - 1], n)
        for i in range(m):
            u[i] = inner(A + i * n, v, n) - d[count - 1] * u[i]
        e[count - 1] = np.sqrt(inner(u, u, m))
        top = max(top, e[count - 1])
        if not e[count - 1] > UNIT_ROUNDOFF * top:
            break
        divide(u, e[count - 1], m)
    found = values_of_bidiagonal(d, e, count)
    for k in range(count):
        d[0] = max(d[0], d[k])
    return found


@internal
def values_of_bidiagonal(d: Floats, e: Floats, m: int):
    """Replace the diagonal d (m,) of a bidiagonal matrix by its singular values; return 0, −1 on failure.

    The off-diagonal e (m − 1,) is overwritten. QR sweeps with shifts; without a shift where it would be rounding or a
    value is zero (Demmel and Kahan, SIAM J. Sci. Stat. Comput. 11, 1990). Sweeps run from the larger end of a block
    to the smaller one.
    """
    largest = 0.0
    for k in range(m):
        largest = max(largest, max(abs(d[k]), abs(e[k]) if k < m - 1 else 0.0))
    if not largest < np.inf:
        return -1
    last, left = m - 1, SWEEPS_PER_VALUE * m
    begins = ends = -1
    while last > 0:
        if _is_small(d, e, last - 1, largest):
            last -= 1
            continue
        first = last - 1
        least = min(abs(d[first]), abs(d[last]))
        while first > 0 and not _is_small(d, e, first - 1, largest):
            first -= 1
            least = min(least, abs(d[first]))
        left -= 1
        if left < 0:
            return -1
        if (first >= ends or last <= begins) and abs(d[first]) < abs(d[last]):
            _turn_round(d + first, last - first + 1)
            _turn_round(e + first, last - first)
        begins, ends = first, last
        larger, smaller = _values_of_two(d[last - 1], e[last - 1], d[last])
        if last - first == 1:
            d[first], d[last], e[first] = larger, smaller, 0.0
        else:
            _sweep(d, e, first, last, smaller if least > UNIT_ROUNDOFF * largest else 0.0)
    for k in range(m):
        d[k] = abs(d[k])
    return 0


@internal
def _turn_round(x: Floats, n: int):
    """Reverse n numbers in place; reversing a whole bidiagonal matrix changes no singular value."""
    for k in range(n // 2):
        x[k], x[n - 1 - k] = x[n - 1 - k], x[k]


@internal
def _is_small(d: Floats, e: Floats, k: int, largest: float):
    """Tell whether the off-diagonal entry e_k is rounding beside its diagonal entries or the largest entry."""
    return abs(e[k]) <= COUPLED_VALUES * (abs(d[k]) + abs(d[k + 1])) or abs(e[k]) <= UNIT_ROUNDOFF * largest


@internal
def _values_of_two(a: float, b: float, c: float):
    """Return the singular values of [[a, b], [0, c]] in descending order."""
    total, difference = abs(a) + abs(c), abs(a) - abs(c)
    larger = 0.5 * (np.sqrt(total * total + b * b) + np.sqrt(difference * difference + b * b))
    return larger, abs(a * c) / larger if larger > 0.0 else 0.0


@internal
def _sweep(d: Floats, e: Floats, first: int, last: int, shift: float):
    """Apply one implicit QR step with a shift to the block from ``first`` to ``last``."""
    top = abs(d[first])
    if not (top > 0.0 and shift * shift > UNIT_ROUNDOFF * top * top):
        cosine, before, behind = 1.0, 1.0, 0.0
        for i in range(first, last):
            r, cosine, sine = _rotation(d[i] * cosine, e[i])
            if i > first:
                e[i - 1] = behind * r
            d[i], before, behind = _rotation(before * r, d[i + 1] * sine)
        h = d[last] * cosine
        d[last], e[last - 1] = h * before, h * behind
        return
    f, g = (top - shift) * (np.copysign(1.0, d[first]) + shift / d[first]), e[first]
    for i in range(first, last):
        r, cosine, sine = _rotation(f, g)
        if i > first:
            e[i - 1] = r
        f, e[i] = cosine * d[i] + sine * e[i], cosine * e[i] - sine * d[i]
        g, d[i + 1] = sine * d[i + 1], cosine * d[i + 1]
        d[i], cosine, sine = _rotation(f, g)
        f, d[i + 1] = cosine * e[i] + sine * d[i + 1], cosine * d[i + 1] - sine * e[i]
        if i < last - 1:
            g, e[i + 1] = sine * e[i + 1], cosine * e[i + 1]
    e[last - 1] = f


@internal
def _rotation(f: float, g: float):
    """Return r, cosine and sine of the rotation that maps (f, g) to (r, 0)."""
    r = np.sqrt(f * f + g * g)
    if not r > 0.0:
        return 0.0, 1.0, 0.0
    return r, f / r, g / r
