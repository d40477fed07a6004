"""Entry points that Python calls for one state: forward dynamics and the two projections."""

from __future__ import annotations

from numba import njit

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import acceleration, reaction_offset
from sarrus.kernels.projection import project_position, project_velocity


@njit(cache=True)
def forward(addresses, sizes, settings, x, tau, out, work, perm):
    """Write (a, λ, Aᵀλ, facts) at x to ``out``; return the rank, −1 where the problem is ill posed."""
    nv, nc = sizes[la.NV], sizes[la.NC]
    a, lam = out[:nv], out[nv : nv + nc]
    facts = out[2 * nv + nc : 2 * nv + nc + 5]
    rank = acceleration(addresses, sizes, settings, x, tau, True, a, lam, work, perm, facts)
    start = reaction_offset(sizes)
    for i in range(nv):
        out[nv + nc + i] = work[start + i]
    return rank


@njit(cache=True)
def forward_many(addresses, sizes, settings, x, tau, out, work, perm, repeats):
    """Call `forward` repeatedly; what a benchmark of the kernel times."""
    rank = 0
    for _ in range(repeats):
        rank = forward(addresses, sizes, settings, x, tau, out, work, perm)
    return rank


@njit(cache=True)
def project(addresses, sizes, settings, x, work, perm, scratch, rate, positions, velocities):
    """Project x in place; return (converged, closure residual, Newton iterations, rank)."""
    converged, residual, iterations, rank = True, 0.0, 0, 0
    fresh = False
    if positions and sizes[la.NH] > 0:
        converged, residual, iterations = project_position(
            addresses, sizes, settings, x, work, perm, scratch, rate
        )
        fresh = converged
    if velocities and sizes[la.NC] > 0:
        rank = project_velocity(addresses, sizes, settings, x, work, perm, fresh)
    return converged, residual, iterations, rank
