"""Forward dynamics at one state, as Python calls it."""

from __future__ import annotations

from numba import njit, types

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import ANSWER
from sarrus.kernels.c_function import call_kernel
from sarrus.kernels.flat import flat, flat_at

# Codes that `forward` returns: the rank, plus `STRIDE` × one of these (0: complete). Negative: no answer.
SINGULAR, INCONSISTENT, STRIDE = 1, 2, 1 << 20
NO_ANSWER, WRONG_LENGTH, NOT_ARRAYS = -1, -3, -4

_VECTOR = types.Array(types.float64, 1, "C")
_GIVEN = types.Array(types.float64, 1, "C", readonly=True)
_TABLE = types.Array(types.int64, 1, "C")


@njit(types.int64(_TABLE, _GIVEN, _GIVEN, _GIVEN, types.float64, _VECTOR), cache=True)
def forward(table, q, v, tau, t, out):
    """Write (a, λ, Aᵀλ, facts, q, v) at a state to ``out``; return rank + `STRIDE` × outcome, or no answer.

    ``table`` describes the system (see `layout`); its x keeps u and the parameters and gets q, v, τ and t. Few
    arguments keep the call from Python short.
    """
    settings, x = flat_at(table[la.SETTINGS]), flat_at(table[la.STATE])
    s = flat_at(table[la.WORK])
    nq, nv, nc = table[la.NQ], table[la.NV], table[la.NC]
    if q.shape[0] != nq or v.shape[0] != nv or tau.shape[0] != nv:
        return WRONG_LENGTH
    for i in range(nq):
        x[i] = q[i]
    for i in range(nv):
        x[nq + i] = v[i]
    x[nq + nv + table[la.NU]] = t
    applied = la.input_size(table) - nv
    for i in range(nv):
        x[applied + i] = tau[i]
    ws = la.workspace(table)
    rank = call_kernel(table[la.ACCELERATION], table, x, ANSWER)
    result = flat(out)
    for i in range(2 * nv + nc):
        result[i] = s[ws.a + i]
    facts = 2 * nv + nc
    for k in range(la.N_FACTS):
        result[facts + k] = s[ws.facts + k]
    wrong = 0.0
    for i in range(la.input_size(table)):
        if i < nq + nv:
            result[facts + la.N_FACTS + i] = x[i]
        wrong += 0.0 * x[i]
    if rank < 0 or wrong != 0.0:  # NaN is unequal to everything
        return NO_ANSWER
    if not result[facts + la.RESIDUAL] <= settings[la.INCONSISTENT] * (1.0 + result[facts + la.SCALE]):
        return rank + INCONSISTENT * STRIDE
    return rank + (SINGULAR * STRIDE if rank < table[la.GENERIC_RANK] else 0)


@njit(cache=True)
def forward_many(table, q, v, tau, t, out, repeats):
    """Call `forward` repeatedly; what a benchmark of the kernel times."""
    code = 0
    for _ in range(repeats):
        code = forward(table, q, v, tau, t, out)
    return code
