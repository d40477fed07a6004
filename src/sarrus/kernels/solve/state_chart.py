"""Projection along a relation: w = (y, z) is kept, and x = (q, v) becomes Ψ(w).

The last ``table.n_own`` velocities are w, and the last rows of velocities are R(x, w, t) = 0. Newton's method on

    φ(q, t) = 0,  ψ(q, v, t) = 0,  R(q, v, w, t) = 0

for q and v together (Spencer 2004, equation (2.23) and section 2.3.1): δ = (δq, δv) with H δ = −(φ, ψ) in the sense
of least squares, H of a known rank, and ∂R/∂x δ = −R. Rows of R are scaled to length one here.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry, retract
from sarrus.kernels.algebra.vectors import add, copy, dot, fill, multiply
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Chart, StateRoom, Table
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.chart import DONE, LOST, Correction, contraction, correction_along
from sarrus.kernels.solve.projection import MAX_ITERATIONS


def state_projection(table: Table, x: Floats, level: int) -> int:
    """Project x on φ = 0 and ψ = 0 along the relation R; return the rank of A, −1 where Newton does not contract."""
    chart, work = table.chart, la.workspace(table)
    room = view_fields(chart + la.CHART_ROWS, la.state_sizes(table))
    n, count, m = table.nv - table.n_own, table.n_own, table.nh + table.nc - table.n_own
    rank = table.holonomic_rank + table.generic_rank - count
    chart.conditioning = 1.0
    asked = Correction(
        room.residual, room.jacobian, m, 2 * n, table.nh, rank, room.rows, count, room.wanted, True
    )
    small, before = table.settings.position_tolerance, 0.0
    for iteration in range(MAX_ITERATIONS + 1):
        call_native(table.relation, x, room.residual)
        speed = 1.0
        for i in range(table.nv):
            speed = max(speed, abs(x[table.nq + i]))
        residual = _prepare(table, room, m, 2 * n, count, speed)
        if iteration == 0:
            _judge_own(table, chart, room, count)
        step = correction_along(table, chart, asked, room.work)
        fill(work.step, 0.0, table.nv)
        copy(step + n, work.step, n)
        longest = longest_entry(table, work.step) / speed
        add(work.step, x + table.nq, table.nv)
        copy(step, work.step, n)
        longest = max(longest, longest_entry(table, work.step))
        if not np.isfinite(longest):
            break
        retract(table, x, work.step, work.x)
        verdict = contraction(longest, before, residual, small)
        if verdict == DONE:
            return table.generic_rank
        if verdict == LOST:
            break
        before = longest
    chart.failed = 1.0
    return -1


@internal
def _prepare(table: Table, room: StateRoom, m: int, n: int, count: int, speed: float):
    """Scale rows of R to length one; return Σ |residual| of all rows in characteristic units, velocities over
    ``speed``."""
    factors, residual = la.factors_of(table), 0.0
    for j in range(table.nh):
        residual += abs(room.residual[j]) * factors.rows[j]
    for j in range(table.nh, m):
        residual += abs(room.residual[j]) * factors.rows[j - table.nh] / speed
    for i in range(count):
        row = room.rows + i * n
        copy(room.jacobian + (m + i) * n, row, n)
        length = np.sqrt(dot(row, row, n))
        factor = 1.0 / length if length > 0.0 else 0.0
        multiply(row, factor, n)
        room.wanted[i] = -factor * room.residual[m + i]
        residual += abs(room.wanted[i]) / speed
    return residual


@internal
def _judge_own(table: Table, chart: Chart, room: StateRoom, count: int):
    """Lower ``chart.conditioning`` to the smallest pivot of ∂R/∂w with rows of length one: 0 where x does not
    determine w."""
    for i in range(count):
        row = room.own + i * count
        length = np.sqrt(dot(row, row, count))
        multiply(row, 1.0 / length if length > 0.0 else 0.0, count)
    big = count + 1
    diagonal, beta = room.pivots, room.pivots + big
    matrix = fa.Matrix(
        room.own, count, count, la.permutation(table), diagonal, beta, beta + big, beta + 2 * big
    )
    found = fa.factor(matrix, count, table.settings.singular_cut, 0.0)
    smallest = abs(diagonal[count - 1]) if found == count else 0.0
    chart.conditioning = min(chart.conditioning, smallest)
