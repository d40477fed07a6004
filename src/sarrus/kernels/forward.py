"""Entry points that Python calls for one state: forward dynamics and the projections."""

from __future__ import annotations

from numba import njit

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import acceleration
from sarrus.kernels.flat import flat
from sarrus.kernels.projection import project_position, project_velocity


# Codes that `forward` returns: the rank, plus one of these. Negative: ill posed.
COMPLETE, SINGULAR, INCONSISTENT, STRIDE = 0, 1, 2, 1 << 20


@njit(cache=True)
def forward(addresses, sizes, settings, x, tau, out, work, perm):
    """Write (a, λ, Aᵀλ, facts, q, v) at x to ``out``; return rank + `STRIDE` × outcome, −1 where ill posed."""
    nq, nv, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NC]
    ws = la.workspace(sizes)
    s = flat(work)
    rank = acceleration(addresses, sizes, settings, flat(x), tau, True, s, perm, ws)
    result = flat(out)
    for i in range(nv):
        result[i] = s[ws.a + i]
        result[nv + nc + i] = s[ws.reaction + i]
    for j in range(nc):
        result[nv + j] = s[ws.lam + j]
    facts = 2 * nv + nc
    for k in range(la.N_FACTS):
        result[facts + k] = s[ws.facts + k]
    wrong = 0.0
    for i in range(la.input_size(sizes)):
        if i < nq + nv:
            result[facts + la.N_FACTS + i] = x[i]
        wrong += 0.0 * x[i]
    if rank < 0 or wrong != 0.0:  # NaN is unequal to everything
        return -1
    if result[facts + la.RESIDUAL] > settings[la.INCONSISTENT] * (1.0 + result[facts + la.SCALE]):
        return rank + INCONSISTENT * STRIDE
    return rank + (SINGULAR * STRIDE if rank < sizes[la.GENERIC_RANK] else 0)


@njit(cache=True)
def forward_many(addresses, sizes, settings, x, tau, out, work, perm, repeats):
    """Call `forward` repeatedly; what a benchmark of the kernel times."""
    rank = 0
    for _ in range(repeats):
        rank = forward(addresses, sizes, settings, x, tau, out, work, perm)
    return rank


@njit(cache=True)
def project(addresses, sizes, settings, x, work, perm, positions):
    """Project v in x in place, and q before it if ``positions``; return (converged, residual, rank)."""
    ws = la.workspace(sizes)
    converged, residual, rank = True, 0.0, 0
    fresh = False
    if positions and sizes[la.NH] > 0:
        converged, residual, _ = project_position(addresses, sizes, settings, flat(x), flat(work), perm, ws)
        fresh = converged
    if sizes[la.NC] > 0:
        rank = project_velocity(addresses, sizes, settings, flat(x), flat(work), perm, ws, fresh)
    return converged, residual, rank
