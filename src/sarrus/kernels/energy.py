"""Projection on position, velocity and energy constraints solved together, for conservative systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import internal
from sarrus.kernels.layout import Table
from sarrus.kernels.moves import longest_entry, move
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import load_metric, project
from sarrus.kernels.record import Floats, laid
from sarrus.kernels.vectors import add, multiply


class EnergyRoom(NamedTuple):
    """What Newton's method works in: c = (φ, ψ, T + V) and its rows, then vectors."""

    residual: Any
    rows: Any
    rhs: Any
    y: Any
    step: Any
    diagonal: Any
    beta: Any
    beta2: Any
    norms: Any
    scratch: Any


def projection_with_energy(table: Table, x: Floats, what: int) -> int:
    """Do what `sarrus.kernels.projection.projection` does, then keep T + V too if ``what`` asks for it.

    Newton on the stacked φ = 0, ψ = 0, T + V = ``target_energy``; of all steps the one with the least
    δqᵀM δq/s² + δvᵀM δv, for any rank. The energy row is left out where its gradient vanishes, at rest in an
    equilibrium. Energies are measured by the characteristic one, or by the target where that is larger.
    """
    rank = project(table, x, what != la.VELOCITIES)
    if rank < 0 or what != la.CONSTRAINTS_AND_ENERGY:
        return rank
    return rank if _newton(table, x) else -1


@internal
def _room(work, m, n):
    """Return the room for m rows of length n."""
    big = m + n
    return laid(work.spare, EnergyRoom(m, m * n, big, big, big, big, big, big, big, 0))


@internal
def _newton(table, x):
    settings, work = table.settings, la.workspace(table)
    nq, nv, nh = table.nq, table.nv, table.nh
    m, n, energy = nh + table.nc + 1, 2 * nv, settings.target_energy
    room = _room(work, m, n)
    A = fa.Matrix(room.rows, m, n, la.permutation(table), room.diagonal, room.beta, room.beta2, room.norms)
    size = max(settings.size_of_energy, abs(energy))
    limit = table.holonomic_rank + table.generic_rank + 1
    load_metric(table, x, work)
    factors, worst = la.factors_of(table), np.inf
    for _ in range(10):
        call_native(table.invariants, x, room.residual)
        room.residual[m - 1] -= energy
        worst = 0.0
        for j in range(m):
            factor = 1.0 / size
            if j < m - 1:
                factor = factors.rows[j if j < nh else j - nh]
            room.rhs[j] = -room.residual[j] * factor
            worst = max(worst, abs(room.rhs[j]))
            row = room.rows + j * n
            multiply(row, factor, n)
            fa.solve_l_transposed(work.metric, nv, row)
            fa.solve_l_transposed(work.metric, nv, row + nv)
        rank, _ = fa.solve(A, limit, settings.singular_cut, 0.0, room.rhs, room.y, room.step)
        if rank < 0:
            return False
        fa.solve_l(work.metric, nv, room.step)
        fa.solve_l(work.metric, nv, room.step + nv)
        longest = max(longest_entry(table, room.step), longest_entry(table, room.step + nv))
        if not np.isfinite(longest):
            return False
        if worst < 1e-14 or longest < 1e-14:
            return True
        move(table, x, room.step, room.scratch)
        add(room.step + nv, x + nq, nv)
    return worst < 1e-9
