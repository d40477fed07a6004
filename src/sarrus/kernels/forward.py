"""Entry points that Python calls for one state: forward dynamics and the projections."""

from __future__ import annotations

from numba import njit, types

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import ANSWER, acceleration
from sarrus.kernels.flat import flat, flat_at
from sarrus.kernels.projection import project_position, project_velocity

# Codes that `forward` returns: the rank, plus `STRIDE` × one of these (0: complete). Negative: no answer.
SINGULAR, INCONSISTENT, STRIDE = 1, 2, 1 << 20
NO_ANSWER, WRONG_LENGTH = -1, -3

_VECTOR = types.Array(types.float64, 1, "C")
_GIVEN = types.Array(types.float64, 1, "C", readonly=True)
_TABLE = types.Array(types.int64, 1, "C")


@njit(types.int64(_TABLE, _GIVEN, _GIVEN, types.float64, _VECTOR), cache=True)
def forward(table, q, v, t, out):
    """Write (a, λ, Aᵀλ, facts, q, v) at a state to ``out``; return rank + `STRIDE` × outcome, or no answer.

    ``table`` describes the system (see `layout`); its x keeps u, τ and the parameters and gets q, v and t. Few
    arguments keep the call from Python short.
    """
    sizes = table[la.SIZES :]
    perm = sizes[la.QUATERNIONS + sizes[la.N_QUATERNIONS] :]
    settings, x = flat_at(table[la.SETTINGS]), flat_at(table[la.STATE])
    s = flat_at(table[la.WORK])
    nq, nv, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NC]
    if q.shape[0] != nq or v.shape[0] != nv:
        return WRONG_LENGTH
    for i in range(nq):
        x[i] = q[i]
    for i in range(nv):
        x[nq + i] = v[i]
    x[nq + nv + sizes[la.NU]] = t
    ws = la.workspace(sizes)
    rank = acceleration(table, sizes, settings, x, ANSWER, s, perm, ws)
    result = flat(out)
    for i in range(2 * nv + nc):
        result[i] = s[ws.a + i]
    facts = 2 * nv + nc
    for k in range(la.N_FACTS):
        result[facts + k] = s[ws.facts + k]
    wrong = 0.0
    for i in range(la.input_size(sizes)):
        if i < nq + nv:
            result[facts + la.N_FACTS + i] = x[i]
        wrong += 0.0 * x[i]
    if rank < 0 or wrong != 0.0:  # NaN is unequal to everything
        return NO_ANSWER
    if not result[facts + la.RESIDUAL] <= settings[la.INCONSISTENT] * (1.0 + result[facts + la.SCALE]):
        return rank + INCONSISTENT * STRIDE
    return rank + (SINGULAR * STRIDE if rank < sizes[la.GENERIC_RANK] else 0)


@njit(cache=True)
def forward_many(table, q, v, t, out, repeats):
    """Call `forward` repeatedly; what a benchmark of the kernel times."""
    code = 0
    for _ in range(repeats):
        code = forward(table, q, v, t, out)
    return code


@njit(cache=True)
def project(table, x, positions):
    """Project v in x in place, and q before it if ``positions``; return (converged, residual, rank)."""
    sizes = table[la.SIZES :]
    perm = sizes[la.QUATERNIONS + sizes[la.N_QUATERNIONS] :]
    settings, s, state = flat_at(table[la.SETTINGS]), flat_at(table[la.WORK]), flat(x)
    ws = la.workspace(sizes)
    converged, residual, rank = True, 0.0, 0
    fresh = False
    if positions and sizes[la.NH] > 0:
        converged, residual, _ = project_position(table, sizes, settings, state, s, perm, ws)
        fresh = converged
    if sizes[la.NC] > 0:
        rank = project_velocity(table, sizes, settings, state, s, perm, ws, fresh)
    return converged, residual, rank
