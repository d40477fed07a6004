"""Linear models at many states by the straight-line code of `sarrus.analysis.linear.traced`, in one compiled loop.

The code uses the coordinates of its own `Partition`. In other coordinates y' = R q the model is

    ẍ' = R ∂q̈/∂(y, ẏ) [P 0; Q P]⁻¹,  P = R ∂q/∂y,  Q = R ∂q̇/∂y.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, fill, is_finite, multiply, set_unit, swap
from sarrus.kernels.memory.models_layout import States, StraightLineTable, whole_width
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.models.tolerances import CLEAR_CHANGE_OF_COORDINATES
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal


def own_models(table: StraightLineTable, x: States, level: int) -> int:
    """Write [A | B | E | affine] at every state; return their number. ``good`` is 1 where a model is reliable, else
    0.

    The native code writes each model in place, with two conditioning numbers where A and E have zeros in the first
    row. The first must be positive, the second must exceed ``least``.
    """
    time = 2 * table.dof + table.nu
    size, count = 2 * table.dof * (time + 2), x.q.lengths[0]
    out, good, native, state, least = x.out.numbers, x.good.numbers, table.native, table.x, table.least[0]
    nq, nv, nu, q, v, u, t = table.nq, table.nv, table.nu, x.q.numbers, x.v.numbers, x.u.numbers, x.t.numbers
    for k in range(count):
        model = out + k * size
        _put_state(state, q + k * nq, nq, v + k * nv, nv, u + k * nu, nu, t[k])
        call_native(native, state, model)
        clear = model[0] > 0.0 and model[time] > least
        model[0], model[time] = 0.0, 0.0
        clear = clear and is_finite(model + size // 2, size - size // 2)
        good[k] = 1.0 if clear else 0.0
    return count


def whole_models(table: StraightLineTable, x: States, level: int) -> int:
    """Write [A | B | E | affine] at every state in the coordinates y' = R q; return their number.

    The native code writes [P | drift | Q | ∂q̈ | q̇ | q̈] by rows of q and two conditioning numbers. R is in the
    table. ``good`` is 1 where a model is reliable, else 0.
    """
    nq, nv, nu, dof, count = table.nq, table.nv, table.nu, table.dof, x.q.lengths[0]
    q, v, u, t = x.q.numbers, x.v.numbers, x.u.numbers, x.t.numbers
    out, good, native, state, least = x.out.numbers, x.good.numbers, table.native, table.x, table.least[0]
    n = 2 * dof
    turn, second = dof + 1, 2 * dof + 2  # columns of Q and of ∂q̈; drift is the column before Q
    rate = second + n + nu + 1
    width = whole_width(nu, dof)
    conditioning, size, row_size = nq * width, n * (n + nu + 2), n + nu + 2
    values = table.work
    rows = values + (conditioning + 2)
    square = rows + dof * width
    starts, columns, weights = table.starts, table.columns, table.weights
    for k in range(count):
        _put_state(state, q + k * nq, nq, v + k * nv, nv, u + k * nu, nu, t[k])
        call_native(native, state, values)
        for r in range(dof):
            row, inverted = rows + r * width, square + r * n
            fill(row, 0.0, width)
            for e in range(starts[r], starts[r + 1]):
                axpy(weights[e], values + columns[e] * width, row, width)
            copy(row, inverted, dof)
            set_unit(inverted + dof, r, dof)
        clear = values[conditioning] > 0.0 and values[conditioning + 1] > least and _invert(square, dof)
        for r in range(dof):
            row = rows + r * width
            by_y, by_rate = row + second, row + (second + dof)
            _times_inverse(by_rate, square, dof)
            for j in range(dof):
                other = rows + (j * width + turn)
                axpy(-by_rate[j], other, by_y, dof)
                row[rate - 1] -= by_rate[j] * other[dof]
            _times_inverse(by_y, square, dof)
            for j in range(dof):
                row[rate - 1] -= by_y[j] * rows[j * width + dof]
            top, bottom = out + (k * size + r * row_size), out + (k * size + (dof + r) * row_size)
            set_unit(top, dof + r, row_size - 1)
            copy(by_y, bottom, row_size - 1)
            clear = clear and is_finite(by_y, row_size - 1)
            top[row_size - 1] = row[rate]
            bottom[row_size - 1] = row[rate + 1]
        good[k] = 1.0 if clear else 0.0
    return count


@internal
def _put_state(x: Floats, q: Floats, nq: int, v: Floats, nv: int, u: Floats, nu: int, t: float):
    """Write q, v, u, t to the start of x."""
    copy(q, x, nq)
    copy(v, x + nq, nv)
    copy(u, x + (nq + nv), nu)
    x[nq + nv + nu] = t


@internal
def _invert(P: Floats, n: int):
    """Replace [P | 1] (n × 2n) by [· | P⁻¹] by elimination with row pivoting; tell whether P is far from singular."""
    width, largest, smallest = 2 * n, 0.0, np.inf
    for r in range(n):
        for c in range(n):
            largest = max(largest, abs(P[r * width + c]))
    for k in range(n):
        pivot, row = k, P + k * width
        for r in range(k + 1, n):
            if abs(P[r * width + k]) > abs(P[pivot * width + k]):
                pivot = r
        if pivot != k:
            swap(row, P + pivot * width, width)
        smallest = min(smallest, abs(row[k]))
        behind, left = row + (k + 1), width - k - 1
        multiply(behind, 1.0 / row[k], left)
        for r in range(n):
            weight = P[r * width + k]
            if r != k and weight != 0.0:
                axpy(-weight, behind, P + (r * width + k + 1), left)
    return smallest > CLEAR_CHANGE_OF_COORDINATES * largest


@internal
def _times_inverse(x: Floats, P: Floats, n: int):
    """Replace the row x (n,) by x P⁻¹, P⁻¹ the right half of the result of `_invert`; its first rows are a buffer."""
    fill(P, 0.0, n)
    for j in range(n):
        axpy(x[j], P + (2 * j + 1) * n, P, n)
    copy(P, x, n)
    return n
