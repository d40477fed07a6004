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
        wrong = 0.0
        for i in range(first + size // 2, first + size):
            wrong += 0.0 * result[i]  # NaN where one is not finite
        clear[k] = clear[k] and wrong == 0.0
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
    values, result, s = flat(d), flat(out), flat(room)
    p, row_size = dof * width, n + nu + 2
    for k in range(q.shape[0]):
        _put_state(x, q, v, u, t, k)
        call_native(native, x, d)
        for r in range(dof):
            for c in range(width):
                s[r * width + c] = 0.0
            for e in range(starts[r], starts[r + 1]):
                source, weight = places[e] * width, weights[e]
                for c in range(width):
                    s[r * width + c] += weight * values[source + c]
            for c in range(dof):
                s[p + r * n + c] = s[r * width + c]
                s[p + r * n + dof + c] = 0.0
            s[p + r * n + dof + r] = 1.0
        clear[k] = values[gauge] > 0.0 and values[gauge + 1] > least and _invert(s, p, dof)
        for r in range(dof):
            row = r * width
            _times_inverse(s, row + second + dof, p, dof)
            for j in range(dof):
                weight, other = s[row + second + dof + j], j * width + turn
                for c in range(dof):
                    s[row + second + c] -= weight * s[other + c]
                s[row + rate - 1] -= weight * s[other + dof]
            _times_inverse(s, row + second, p, dof)
            for j in range(dof):
                s[row + rate - 1] -= s[row + second + j] * s[j * width + dof]
            top, bottom = k * size + r * row_size, k * size + (dof + r) * row_size
            wrong = 0.0
            for c in range(row_size - 1):
                result[top + c] = 0.0
                result[bottom + c] = s[row + second + c]
                wrong += 0.0 * s[row + second + c]
            result[top + dof + r] = 1.0
            result[top + row_size - 1] = s[row + rate]
            result[bottom + row_size - 1] = s[row + rate + 1]
            clear[k] = clear[k] and wrong == 0.0
    return room.size + d.size + x.size + out.size


@njit(error_model="numpy")
def _put_state(x, q, v, u, t, k):
    """Put state k at the start of x."""
    nq, nv, nu = q.shape[1], v.shape[1], u.shape[1]
    for i in range(nq):
        x[i] = q[k, i]
    for i in range(nv):
        x[nq + i] = v[k, i]
    for i in range(nu):
        x[nq + nv + i] = u[k, i]
    x[nq + nv + nu] = t[k]


@njit(error_model="numpy")
def _invert(s, p, n):
    """Turn [P | 1] into [· | P⁻¹] by elimination with row pivoting; tell whether P is far from singular."""
    width, largest, smallest = 2 * n, 0.0, np.inf
    for r in range(n):
        for c in range(n):
            largest = max(largest, abs(s[p + r * width + c]))
    for k in range(n):
        pivot = k
        for r in range(k + 1, n):
            if abs(s[p + r * width + k]) > abs(s[p + pivot * width + k]):
                pivot = r
        if pivot != k:
            for c in range(width):
                value = s[p + k * width + c]
                s[p + k * width + c] = s[p + pivot * width + c]
                s[p + pivot * width + c] = value
        smallest = min(smallest, abs(s[p + k * width + k]))
        inverse = 1.0 / s[p + k * width + k]
        for c in range(k + 1, width):
            s[p + k * width + c] *= inverse
        for r in range(n):
            weight = s[p + r * width + k]
            if r != k and weight != 0.0:
                for c in range(k + 1, width):
                    s[p + r * width + c] -= weight * s[p + k * width + c]
    return smallest > CLEAR * largest


@njit(error_model="numpy")
def _times_inverse(s, start, p, n):
    """Replace the row x of length n from ``start`` on by x P⁻¹, where [P | 1] was; the first block is room."""
    for c in range(n):
        s[p + c] = 0.0
    for j in range(n):
        weight = s[start + j]
        for c in range(n):
            s[p + c] += weight * s[p + (2 * j + 1) * n + c]
    for c in range(n):
        s[start + c] = s[p + c]
    return n
