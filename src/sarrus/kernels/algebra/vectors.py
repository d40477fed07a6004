"""Vectors of n numbers and their products with matrices by rows, in a fixed order of operations (unlike a BLAS).

Most functions are inlined into their callers.
"""

from __future__ import annotations

from typing import Any

from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import force_inline, internal


@force_inline
def copy(x: Any, y: Any, n: int):
    """Write x (n,) to y, from the first number on."""
    for i in range(n):
        y[i] = x[i]


@force_inline
def copy_scaled(factor: float, x: Floats, y: Floats, n: int):
    """Write ``factor`` × x (n,) to y."""
    for i in range(n):
        y[i] = factor * x[i]


@force_inline
def fill(x: Any, value: float, n: int):
    """Set all n numbers of x to ``value``."""
    for i in range(n):
        x[i] = value


@force_inline
def set_unit(x: Floats, k: int, n: int):
    """Write the k-th unit vector (n,) to x."""
    fill(x, 0.0, n)
    x[k] = 1.0


@force_inline
def multiply(x: Floats, factor: float, n: int):
    """Multiply x (n,) by ``factor``, in place."""
    for i in range(n):
        x[i] *= factor


@force_inline
def divide(x: Floats, divisor: float, n: int):
    """Divide x (n,) by ``divisor``, in place."""
    for i in range(n):
        x[i] /= divisor


@force_inline
def axpy(factor: float, x: Floats, y: Floats, n: int):
    """Add ``factor`` × x (n,) to y."""
    for i in range(n):
        y[i] += factor * x[i]


@force_inline
def add(x: Floats, y: Floats, n: int):
    """Add x (n,) to y."""
    for i in range(n):
        y[i] += x[i]


@force_inline
def dot(x: Floats, y: Floats, n: int):
    """Return the scalar product of x and y (n,), summed from the first product on."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@force_inline
def dot_from(start: float, x: Floats, y: Floats, n: int):
    """Return ``start`` plus the scalar product of x and y (n,), summed from ``start`` on."""
    for i in range(n):
        start += x[i] * y[i]
    return start


@internal
def inner(a: Floats, b: Floats, n: int):
    """Return the scalar product of two long vectors (n,), by four sums of every fourth product."""
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
    """Return ``start`` plus the scalar product of x and y (n,), or zero where the sum is rounding.

    It is rounding where it is at most ``noise`` × the sum of the magnitudes of its terms.
    """
    total, size = start, abs(start)
    for i in range(n):
        product = x[i] * y[i]
        total += product
        size += abs(product)
    return total if abs(total) > noise * size else 0.0


@force_inline
def swap(x: Floats, y: Floats, n: int):
    """Exchange the vectors x and y (n,)."""
    for i in range(n):
        x[i], y[i] = y[i], x[i]


@force_inline
def is_finite(x: Any, n: int):
    """Tell whether all n numbers of x are finite: 0 × (infinity or NaN) is NaN, which is unequal to 0.

    Entries are tested one by one, since a sum would have to wait for every addition.
    """
    i = 0
    while i < n and 0.0 * x[i] == 0.0:
        i += 1
    return i >= n


@internal
def times(matrix: Floats, rows: int, n: int, x: Floats, out: Floats):
    """Write the product of ``matrix`` (rows × n) and x (n,) to ``out`` (rows,)."""
    for i in range(rows):
        out[i] = dot(matrix + i * n, x, n)


@internal
def add_transposed(matrix: Floats, rows: int, n: int, x: Floats, out: Floats):
    """Add the product of the transpose of ``matrix`` (rows × n) and x (rows,) to ``out`` (n,)."""
    for i in range(rows):
        axpy(x[i], matrix + i * n, out, n)
