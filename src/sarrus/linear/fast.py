"""Linear models at many states by the straight-line code of `sarrus.linear.traced`, in one compiled loop.

That code knows the coordinates of its own `Partition`; in others, y' = R q, it is

    ẍ' = R ∂q̈/∂(y, ẏ) [P 0; Q P]⁻¹,  P = R ∂q/∂y,  Q = R ∂q̇/∂y.
"""

# Numba's intrinsics take a typing context as first argument, which the caller does not give.
# mypy: disable-error-code="call-arg, var-annotated"

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels.dispatched import kept
from sarrus.kernels.flat import flat
from sarrus.kernels.native_call import call_native
from sarrus.kernels.vectors import axpy, copy, fill, is_finite, multiply, set_unit, swap

# Smallest pivot of P, as a fraction of its largest entry, below which the change of coordinates is left to others.
CLEAR = 2e-2


@kept(error_model="numpy")
def own_models(native, x, q, v, u, t, least, clear, out):
    """Write [A | B | E | affine] at every state (leading axis of q, v, u, t, clear, out); mark those to be believed.

    ``x`` is the input of ``native``, whose parameters stay. It writes each model in its place, with the two numbers of
    the gauge where A and E have zeros in the first row; the second of them must exceed ``least``.
    """
    size, time = out.shape[1] * out.shape[2], out.shape[2] - 2
    result = flat(out)
    for k in range(q.shape[0]):
        first = k * size
        _put_state(x, q, v, u, t, k)
        call_native(native, x, result + first)
        clear[k] = result[first] > 0.0 and result[first + time] > least
        result[first], result[first + time] = 0.0, 0.0
        clear[k] = clear[k] and is_finite(result + (first + size // 2), size - size // 2)
    return x.size + out.size


@kept(error_model="numpy")
def whole_models(native, d, x, q, v, u, t, starts, places, weights, least, clear, out):
    """Write the same in other coordinates, from code that writes [P | drift | Q | ∂q̈ | q̇ | q̈] by rows of q, the gauge.

    ``d`` has room for that. R is given by rows: entries ``weights`` in columns ``places``, those of row r from
    ``starts[r]`` on.
    """
    nq, nu, dof = q.shape[1], u.shape[1], len(starts) - 1
    n = 2 * dof
    turn, second = dof + 1, 2 * dof + 2  # columns of Q and of ∂q̈; drift is the one before Q
    rate = second + n + nu + 1
    width = rate + 2
    gauge, size, room = nq * width, n * (n + nu + 2), np.empty(dof * (width + n) + 1)
    values, result, rows = flat(d), flat(out), flat(room)
    square, row_size = rows + dof * width, n + nu + 2
    for k in range(q.shape[0]):
        _put_state(x, q, v, u, t, k)
        call_native(native, x, d)
        for r in range(dof):
            row, inverted = rows + r * width, square + r * n
            fill(row, 0.0, width)
            for e in range(starts[r], starts[r + 1]):
                axpy(weights[e], values + places[e] * width, row, width)
            copy(row, inverted, dof)
            set_unit(inverted + dof, r, dof)
        clear[k] = values[gauge] > 0.0 and values[gauge + 1] > least and _invert(square, dof)
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
            top, bottom = result + (k * size + r * row_size), result + (k * size + (dof + r) * row_size)
            set_unit(top, dof + r, row_size - 1)
            copy(by_y, bottom, row_size - 1)
            clear[k] = clear[k] and is_finite(by_y, row_size - 1)
            top[row_size - 1] = row[rate]
            bottom[row_size - 1] = row[rate + 1]
    return room.size + d.size + x.size + out.size


@njit(error_model="numpy")
def _put_state(x, q, v, u, t, k):
    """Put state k at the start of x."""
    nq, nv, nu, state = q.shape[1], v.shape[1], u.shape[1], flat(x)
    copy(flat(q) + k * nq, state, nq)
    copy(flat(v) + k * nv, state + nq, nv)
    copy(flat(u) + k * nu, state + (nq + nv), nu)
    state[nq + nv + nu] = t[k]


@njit(error_model="numpy")
def _invert(P, n):
    """Turn [P | 1] into [· | P⁻¹] by elimination with row pivoting; tell whether P is far from singular."""
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
    return smallest > CLEAR * largest


@njit(error_model="numpy")
def _times_inverse(x, P, n):
    """Replace the row x (n) by x P⁻¹, where [P | 1] was; the first block is room."""
    fill(P, 0.0, n)
    for j in range(n):
        axpy(x[j], P + (2 * j + 1) * n, P, n)
    copy(P, x, n)
    return n
