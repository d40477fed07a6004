"""Projection on position, velocity and energy constraints solved together, for conservative systems."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import move


@internal
def project_with_energy(addresses, sizes, settings, x, energy):
    """Project (q, v) in x on φ = 0, ψ = 0 and T + V = energy by Newton on the stacked system.

    Steps have minimum norm over (δq, δv) for any rank. The energy row is left out where its gradient
    vanishes, at rest in an equilibrium. Returns False where Newton does not converge.
    """
    nq, nv, nh, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NH], sizes[la.NC]
    m, n = nh + nc + 1, 2 * nv
    storage = np.empty(m * n + m + 7 * (m + n) + nq + la.input_size(sizes))
    perm = np.empty(m, np.int64)
    converged = _newton(addresses, sizes, settings, x, energy, flat(storage), perm)
    storage[0] = 0.0  # a later use: flat views keep no array alive
    return converged


@internal
def _newton(addresses, sizes, settings, x, energy, w, perm):
    nq, nv, nh, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NH], sizes[la.NC]
    m, n = nh + nc + 1, 2 * nv
    big = m + n
    rows = m
    rhs, y, step = rows + m * n, rows + m * n + big, rows + m * n + 2 * big
    diagonal, beta, beta2, norms = step + big, step + 2 * big, step + 3 * big, step + 4 * big
    scratch = step + 5 * big
    size = max(1.0, abs(energy))
    limit = sizes[la.HOLONOMIC_RANK] + sizes[la.GENERIC_RANK] + 1
    worst = np.inf
    for _ in range(10):
        call_native(addresses[la.INVARIANTS], x, 0, w, 0)
        w[m - 1] -= energy
        worst = 0.0
        for j in range(m):
            w[rhs + j] = -w[j]
            worst = max(worst, abs(w[j]) / (size if j == m - 1 else 1.0))
        rank, _ = fa.solve(
            w, rows, m, n, limit, settings[la.SINGULAR_CUT], 0.0, perm,
            diagonal, beta, beta2, norms, rhs, y, step,
        )  # fmt: skip
        if rank < 0:
            return False
        longest = 0.0
        for i in range(n):
            longest = max(longest, abs(w[step + i]))
        if not np.isfinite(longest):
            return False
        if worst < 1e-14 or longest < 1e-14:
            return True
        move(addresses, sizes, x, w, step, scratch)
        for i in range(nv):
            x[nq + i] += w[step + nv + i]
    return worst < 1e-9
