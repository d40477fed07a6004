"""Projection on position, velocity and energy constraints solved together, for conservative systems."""

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import move


@njit(cache=True)
def project_with_energy(addresses, sizes, settings, x, energy, scratch, rate):
    """Project (q, v) in x on φ = 0, ψ = 0 and T + V = energy by Newton on the stacked system.

    Steps have minimum norm over (δq, δv) for any rank. The energy row is left out where its gradient
    vanishes, at rest in an equilibrium. Returns False where Newton does not converge.
    """
    nq, nv, nh, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NH], sizes[la.NC]
    m, n = nh + nc + 1, 2 * nv
    out = np.empty(m * (n + 1))
    rhs, y, step = np.empty(m), np.empty(max(m, n)), np.empty(n)
    diagonal, beta, beta2, norms = np.empty(m + n), np.empty(m + n), np.empty(m + n), np.empty(m)
    perm = np.empty(m, np.int64)
    size = max(1.0, abs(energy))
    limit = sizes[la.HOLONOMIC_RANK] + sizes[la.GENERIC_RANK] + 1
    for _ in range(10):
        call_native(addresses[la.INVARIANTS], x, out)
        out[m - 1] -= energy
        worst = 0.0
        for j in range(m):
            rhs[j] = -out[j]
            worst = max(worst, abs(out[j]) / (size if j == m - 1 else 1.0))
        rows = out[m:]
        rank = fa.factor(rows, m, n, limit, settings[la.SINGULAR_CUT], perm, diagonal, beta, norms)
        if rank < m:
            fa.reduce(rows, m, n, rank, diagonal, beta2)
        fa.least_squares(rows, m, n, rank, perm, diagonal, beta, beta2, rhs, y, step)
        longest = 0.0
        for i in range(n):
            longest = max(longest, abs(step[i]))
        if not np.isfinite(longest):
            return False
        if worst < 1e-14 or longest < 1e-14:
            return True
        move(addresses, sizes, x, step[:nv], scratch, rate)
        for i in range(nv):
            x[nq + i] += step[nv + i]
    return worst < 1e-9
