"""Vectors of n numbers and their products with matrices, by rows: a fixed order of operations, unlike that of a BLAS.

The code of most goes into the callers, as loops written there would.
"""

from __future__ import annotations

from typing import Any

from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import force_inline, internal


@force_inline
def copy(x: Any, y: Any, n: int):
    """Write x to y, from the first number on."""
    for i in range(n):
        y[i] = x[i]


@force_inline
def copy_scaled(factor: float, x: Floats, y: Floats, n: int):
    """Write a multiple of x to y."""
    for i in range(n):
        y[i] = factor * x[i]


@force_inline
def fill(x: Any, value: float, n: int):
    """Write one number to all of x."""
    for i in range(n):
        x[i] = value


@force_inline
def set_unit(x: Floats, k: int, n: int):
    """Write the k-th unit vector to x."""
    fill(x, 0.0, n)
    x[k] = 1.0


@force_inline
def multiply(x: Floats, factor: float, n: int):
    """Multiply x by a number."""
    for i in range(n):
        x[i] *= factor


@force_inline
def divide(x: Floats, divisor: float, n: int):
    """Divide x by a number."""
    for i in range(n):
        x[i] /= divisor


@force_inline
def axpy(factor: float, x: Floats, y: Floats, n: int):
    """Add a multiple of x to y."""
    for i in range(n):
        y[i] += factor * x[i]


@force_inline
def add(x: Floats, y: Floats, n: int):
    """Add x to y."""
    for i in range(n):
        y[i] += x[i]


@force_inline
def dot(x: Floats, y: Floats, n: int):
    """Return the scalar product, summed from the first product on."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@force_inline
def dot_from(start: float, x: Floats, y: Floats, n: int):
    """Return the scalar product, summed from a number on."""
    for i in range(n):
        start += x[i] * y[i]
    return start


@internal
def inner(a: Floats, b: Floats, n: int):
    """Return the scalar product of two long vectors, by four sums of every fourth product."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for c in range(0, whole, 4):
        one += a[c] * b[c]
        two += a[c + 1] * b[c + 1]
        three += a[c + 2] * b[c + 2]
        four += a[c + 3] * b[c + 3]
    return (dot_from(one, a + whole, b + whole, n - whole) + two) + (three + four)


@force_inline
def clear_dot(start: float, x: Floats, y: Floats, n: int, noise: float):
    """Return what `dot_from` does, zero where that is at most this part of the magnitudes that are summed: rounding."""
    total, size = start, abs(start)
    for i in range(n):
        product = x[i] * y[i]
        total += product
        size += abs(product)
    return total if abs(total) > noise * size else 0.0


@force_inline
def swap(x: Floats, y: Floats, n: int):
    """Exchange two vectors."""
    for i in range(n):
        x[i], y[i] = y[i], x[i]


@force_inline
def is_finite(x: Any, n: int):
    """Tell whether all of x are finite: zero times anything else is no number, and that is unequal to everything.

    Each is looked at on its own, for a sum would have to wait for every addition.
    """
    i = 0
    while i < n and 0.0 * x[i] == 0.0:
        i += 1
    return i >= n


@internal
def times(matrix: Floats, rows: int, n: int, x: Floats, out: Floats):
    """Write the product of a rows × n matrix with a vector."""
    for i in range(rows):
        out[i] = dot(matrix + i * n, x, n)


@internal
def add_transposed(matrix: Floats, rows: int, n: int, x: Floats, out: Floats):
    """Add the product of a transposed rows × n matrix with a vector."""
    for i in range(rows):
        axpy(x[i], matrix + i * n, out, n)
