"""Projection on positions, velocities and invariants of the motion, solved together; and detection of their change.

An invariant is a function I(q, v, t) that the motion does not change, such as the energy or a momentum. Where forces
do change it, projecting on its initial value would be wrong, so its rate along the motion is summed up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry, retract
from sarrus.kernels.algebra.vectors import add, copy, fill, multiply
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.invariant_layout import invariants_of
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.projection import load_metric, project
from sarrus.kernels.solve.tolerances import INVARIANT_CHANGED, INVARIANT_MET, INVARIANT_ROUNDING


class InvariantRoom(NamedTuple):
    """Workspace of Newton's method: c = (φ, ψ, I) and its rows, then vectors."""

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


class RateRoom(NamedTuple):
    """Workspace of the rates of invariants: [x | a], then dI/dt."""

    state: Any
    rates: Any


def projection_with_invariants(table: Table, x: Floats, level: int) -> int:
    """Project x on φ and ψ, and on the invariants with ``level`` CONSTRAINTS_AND_INVARIANTS; return the rank of A, or
    −1.

    Newton's method on the stacked φ = 0, ψ = 0, I = target, with steps of least δqᵀM δq/s² + δvᵀM δv. It works for
    any rank: dependent rows of invariants are left out, and rows with a vanishing gradient, such as the energy at
    rest in an equilibrium. Invariants are scaled by their size, or by the target where it is larger. −1 where an
    invariant differs from its target by more than `INVARIANT_MET`.
    """
    rank = project(table, x, level != la.VELOCITIES)
    if rank < 0 or level != la.CONSTRAINTS_AND_INVARIANTS:
        return rank
    return rank if _newton(table, x) else -1


@internal
def _newton(table: Table, x: Floats):
    settings, work, kept = table.settings, la.workspace(table), invariants_of(table)
    nq, nv, nh = table.nq, table.nv, table.nh
    own = nh + table.nc
    m, n = own + table.n_invariants, 2 * nv
    big = m + n
    room = view_fields(work.spare, InvariantRoom(m, m * n, big, big, big, big, big, big, big, 0))
    A = fa.Matrix(room.rows, m, n, la.permutation(table), room.diagonal, room.beta, room.beta2, room.norms)
    limit = table.holonomic_rank + table.generic_rank + table.n_invariants
    load_metric(table, x, work)
    factors, worst, far = la.factors_of(table), np.inf, np.inf
    for _ in range(10):
        call_native(table.invariants, x, room.residual)
        worst = far = 0.0
        for j in range(m):
            if j < own:
                factor = factors.rows[j if j < nh else j - nh]
            else:
                target = kept.target[j - own]
                room.residual[j] -= target
                factor = 1.0 / max(kept.size[j - own], abs(target))
            room.rhs[j] = -room.residual[j] * factor
            worst = max(worst, abs(room.rhs[j]))
            if j >= own:
                kept.missed[j - own] = abs(room.rhs[j])
                far = max(far, abs(room.rhs[j]))
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
        if worst < INVARIANT_ROUNDING or longest < INVARIANT_ROUNDING:
            return far < INVARIANT_MET
        retract(table, x, room.step, room.scratch)
        add(room.step + nv, x + nq, nv)
    return worst < INVARIANT_MET


@internal
def begin_invariants(table: Table, x: Floats):
    """Write the invariants at x as targets, and set their summed changes to zero."""
    kept = invariants_of(table)
    call_native(table.invariant_values, x, kept.target)
    fill(kept.change, 0.0, table.n_invariants)
    fill(kept.pending, 0.0, table.n_invariants)


@internal
def changes(table: Table, x: Floats, h: float, slopes: Floats, work: Workspace):
    """Tell whether the motion has changed an invariant by the end of a step h from x, with the slope in slopes[0].

    Rates of true invariants are rounding of both signs, so their sum stays small. The rates are evaluated only where
    x has just been projected: off the manifold the constraint forces do work.
    """
    kept, every, size = invariants_of(table), max(table.project_every, 1), la.input_size(table)
    fill(kept.pending, 0.0, table.n_invariants)
    if int(table.run.steps) % every != 0:
        return False
    room = view_fields(work.spare, RateRoom(size + table.nv, table.n_invariants))
    copy(x, room.state, size)
    copy(slopes + table.nq, room.state + size, table.nv)
    call_native(table.invariant_rates, room.state, room.rates)
    found = False
    for i in range(table.n_invariants):
        kept.rate[i] = room.rates[i]
        kept.pending[i] = kept.rate[i] * h * every
        limit = INVARIANT_CHANGED * max(kept.size[i], abs(kept.target[i]))
        found = found or abs(kept.change[i] + kept.pending[i]) > limit
    return found


@internal
def note_changes(table: Table):
    """Add the changes of the invariants over the last step to their sums."""
    kept = invariants_of(table)
    add(kept.pending, kept.change, table.n_invariants)
