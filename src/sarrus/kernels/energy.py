"""Projection on position, velocity and energy constraints solved together, for conservative systems."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import load_metric, longest_entry, move, project


def projection_with_energy(table, x, what):
    """Do what `sarrus.kernels.projection.projection` does, then keep T + V too if ``what`` asks for it.

    Newton on the stacked φ = 0, ψ = 0, T + V = settings[TARGET_ENERGY]; of all steps the one with the least
    δqᵀM δq/s² + δvᵀM δv, for any rank. The energy row is left out where its gradient vanishes, at rest in an
    equilibrium. Energies are measured by the characteristic one, or by the target where that is larger.
    """
    rank = project(table, x, what != la.VELOCITIES)
    if rank < 0 or what != la.CONSTRAINTS_AND_ENERGY:
        return rank
    settings = flat_at(table[la.SETTINGS])
    w = flat_at(table[la.WORK] + 8 * la.workspace(table).spare)
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    return rank if _newton(table, settings, x, settings[la.TARGET_ENERGY], w, perm) else -1


@internal
def _newton(table, settings, x, energy, w, perm):
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    s, ws = flat_at(table[la.WORK]), la.workspace(table)
    m, n = nh + nc + 1, 2 * nv
    big = m + n
    rows = m
    rhs, y, step = rows + m * n, rows + m * n + big, rows + m * n + 2 * big
    diagonal, beta, beta2, norms = step + big, step + 2 * big, step + 3 * big, step + 4 * big
    scratch = step + 5 * big
    size = max(settings[la.SIZE_OF_ENERGY], abs(energy))
    limit = table[la.HOLONOMIC_RANK] + table[la.GENERIC_RANK] + 1
    load_metric(table, settings, x, s, ws)
    worst = np.inf
    for _ in range(10):
        call_native(table[la.INVARIANTS], x, 0, w, 0)
        w[m - 1] -= energy
        worst = 0.0
        for j in range(m):
            factor = 1.0 / size
            if j < m - 1:
                factor = settings[la.FACTORS + (j if j < nh else j - nh)]
            w[rhs + j] = -w[j] * factor
            worst = max(worst, abs(w[rhs + j]))
            row = rows + j * n
            for c in range(n):
                w[row + c] *= factor
            fa.solve_l_transposed(s, ws.metric, nv, ws.spare + row)
            fa.solve_l_transposed(s, ws.metric, nv, ws.spare + row + nv)
        rank, _ = fa.solve(
            w, rows, m, n, limit, settings[la.SINGULAR_CUT], 0.0, perm,
            diagonal, beta, beta2, norms, rhs, y, step,
        )  # fmt: skip
        if rank < 0:
            return False
        fa.solve_l(s, ws.metric, nv, ws.spare + step)
        fa.solve_l(s, ws.metric, nv, ws.spare + step + nv)
        longest = max(longest_entry(table, settings, w, step), longest_entry(table, settings, w, step + nv))
        if not np.isfinite(longest):
            return False
        if worst < 1e-14 or longest < 1e-14:
            return True
        move(table, x, w, step, scratch)
        for i in range(nv):
            x[nq + i] += w[step + nv + i]
    return worst < 1e-9
