"""Projection on position, velocity and energy constraints solved together, for conservative systems."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, flat_from, flat_pointer, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import move, project


def projection_with_energy(table_pointer, x_pointer, what):
    """Do what `sarrus.kernels.projection.projection` does, then keep T + V too if ``what`` asks for it.

    Newton on the stacked φ = 0, ψ = 0, T + V = settings[TARGET_ENERGY]; steps have minimum norm over (δq, δv) for
    any rank. The energy row is left out where its gradient vanishes, at rest in an equilibrium.
    """
    table, x = flat_pointer(table_pointer), flat_pointer(x_pointer)
    rank = project(table, x, what != la.VELOCITIES)
    if rank < 0 or what != la.CONSTRAINTS_AND_ENERGY:
        return rank
    settings = flat_at(table[la.SETTINGS])
    w = flat_at(table[la.WORK] + 8 * la.workspace(table).spare)
    perm = flat_from(table, la.QUATERNIONS + table[la.N_QUATERNIONS])
    return rank if _newton(table, settings, x, settings[la.TARGET_ENERGY], w, perm) else -1


@internal
def _newton(table, settings, x, energy, w, perm):
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    m, n = nh + nc + 1, 2 * nv
    big = m + n
    rows = m
    rhs, y, step = rows + m * n, rows + m * n + big, rows + m * n + 2 * big
    diagonal, beta, beta2, norms = step + big, step + 2 * big, step + 3 * big, step + 4 * big
    scratch = step + 5 * big
    size = max(1.0, abs(energy))
    limit = table[la.HOLONOMIC_RANK] + table[la.GENERIC_RANK] + 1
    worst = np.inf
    for _ in range(10):
        call_native(table[la.INVARIANTS], x, 0, w, 0)
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
        move(table, x, w, step, scratch)
        for i in range(nv):
            x[nq + i] += w[step + nv + i]
    return worst < 1e-9
