"""Linear models at many states by the straight-line code of `sarrus.linear.traced`, in one compiled loop.

That code knows the coordinates of its own `Partition`; here they change to y = R q:

    P = R ∂q/∂y,  ẍ' = R ∂q̈/∂(y, ẏ) [P 0; Q P]⁻¹,  Q = R ∂q̇/∂y.
"""

# Numba's intrinsics take a typing context as first argument, which the caller does not give.
# mypy: disable-error-code="call-arg"

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels import factor as fa
from sarrus.kernels.flat import flat
from sarrus.kernels.native_call import call_native

BASIS, TURN, SECOND, DRIFT, RATE, RATE2, GAUGE = range(7)
OUTPUTS = ("basis", "turn", "second", "drift", "rate", "rate2", "gauge")
# Smallest pivot of P, as a fraction of its largest entry, below which the change of coordinates is left to others.
CLEAR = 1e-3


@njit(cache=True, error_model="numpy", fastmath=fa.FAST)
def own_models(native, gauge, d, x, q, v, u, t, least, clear, out):
    """Write [A | B | E | affine] at every state as the code writes it; the other arguments as in `whole_models`."""
    size = out.shape[1] * out.shape[2]
    values, result = flat(d), flat(out)
    for k in range(q.shape[0]):
        _put_state(x, q, v, u, t, k)
        call_native(native, x, 0, d, 0)
        wrong = 0.0
        for i in range(size):
            result[k * size + i] = values[i]
            wrong += 0.0 * values[i]  # NaN where one is not finite
        clear[k] = values[gauge] > 0.0 and values[gauge + 1] > least and wrong == 0.0
    return d.size + x.size + out.size


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy", fastmath=fa.FAST)
def whole_models(native, at, d, x, q, v, u, t, starts, places, weights, least, clear, out):
    """Write [A | B | E | affine] at every state (leading axis of q, v, u, t, clear, out) that ``clear`` then marks.

    ``at`` holds the offsets of `OUTPUTS` in ``d``, the room for them; ``x`` the input of ``native``, whose parameters
    stay. R is given by rows: entries ``weights`` in columns ``places``, those of row r from ``starts[r]`` on.
    ``least`` is the smallest pivot that is believed, squared.
    """
    nu = u.shape[1]
    dof = len(starts) - 1
    n, width = 2 * dof, 2 * dof + nu + 1
    room = np.empty(dof * (2 * dof + dof + 1 + width) + 1)
    p, turn, second = 0, 2 * dof * dof, 2 * dof * dof + dof * (dof + 1)  # [P | P⁻¹], Q, ∂q̈
    s, values, result = flat(room), flat(d), flat(out)
    for k in range(q.shape[0]):
        _put_state(x, q, v, u, t, k)
        call_native(native, x, 0, d, 0)
        clear[k] = values[at[GAUGE]] > 0.0 and values[at[GAUGE] + 1] > least
        if not clear[k]:
            continue
        first = k * n * (width + 1)
        for r in range(dof):
            row, rate, rate2 = first + r * (width + 1), 0.0, 0.0
            for c in range(width):
                result[row + c] = 0.0
                s[second + r * width + c] = 0.0
            for c in range(dof + 1):
                s[turn + r * (dof + 1) + c] = 0.0
            for c in range(2 * dof):
                s[p + r * 2 * dof + c] = 0.0
            for e in range(starts[r], starts[r + 1]):
                i, weight = places[e], weights[e]
                rate += weight * values[at[RATE] + i]
                rate2 += weight * values[at[RATE2] + i]
                for c in range(width):
                    s[second + r * width + c] += weight * values[at[SECOND] + i * width + c]
                for c in range(dof):
                    s[p + r * 2 * dof + c] += weight * values[at[BASIS] + i * dof + c]
                for c in range(dof + 1):
                    s[turn + r * (dof + 1) + c] += weight * values[at[TURN] + i * (dof + 1) + c]
                result[row + n + nu] += weight * values[at[DRIFT] + i]
            s[p + r * 2 * dof + dof + r] = 1.0
            result[row + dof + r] = 1.0
            result[row + width] = rate
            result[row + dof * (width + 1) + width] = rate2
        clear[k] = _invert(s, p, dof)
        _turn(s, p, turn, second, dof, nu, result, first)
        for r in range(dof):
            row = first + (dof + r) * (width + 1)
            result[first + r * (width + 1) + n + nu] = 0.0
            wrong = 0.0
            for c in range(width):
                result[row + c] = s[second + r * width + c]
                wrong += 0.0 * s[second + r * width + c]
            clear[k] = clear[k] and wrong == 0.0
    return room.size + d.size + out.size


@njit(cache=True, error_model="numpy", fastmath=fa.FAST)
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


@njit(cache=True, error_model="numpy", fastmath=fa.FAST)
def _turn(s, p, turn, second, dof, nu, result, first):
    """Turn the rows R ∂q̈/∂(y, ẏ, u, t) into those for y': speeds, then places, then time, whose drift is in result."""
    width, n = 2 * dof + nu + 1, 2 * dof
    for r in range(dof):
        row = second + r * width
        for c in range(dof):
            result[first + c] = 0.0
        for j in range(dof):
            weight = s[row + dof + j]
            for c in range(dof):
                result[first + c] += weight * s[p + j * n + dof + c]
        for c in range(dof):
            s[row + dof + c] = result[first + c]
            result[first + c] = 0.0
        for j in range(dof):
            weight = s[row + dof + j]
            for c in range(dof):
                s[row + c] -= weight * s[turn + j * (dof + 1) + c]
            s[row + width - 1] -= weight * s[turn + j * (dof + 1) + dof]
        for j in range(dof):
            weight = s[row + j]
            for c in range(dof):
                result[first + c] += weight * s[p + j * n + dof + c]
        for c in range(dof):
            s[row + c] = result[first + c]
            result[first + c] = 0.0
            s[row + width - 1] -= s[row + c] * result[first + c * (width + 1) + n + nu]
    return 0
