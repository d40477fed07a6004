"""Projection along a chart: the local state-space form inside the integrator.

With independent coordinates y, ẏ = W v (`sarrus.dynamics.coordinates.choices`), a Runge–Kutta step for y is a step
for q whose stages are moved onto the constraints by corrections δ that do not change y,

    φ(q ⊕ δ, t) = 0,  W δ = 0;    ψ(q, v + δ, t) = 0,  W δ = 0

(Spencer 2004, equations (2.23), (2.33) and section 2.3.1; Wehage and Haug 1982). With T an orthonormal basis of the
null space of A, δ = (1 − T (W T)⁻¹ W) A⁺ (−residual), for any rank of A. The rows of W are orthonormal too, so the
singular values of W T are cosines of the angles between y and the possible motions; none may vanish.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import longest_entry, retract
from sarrus.kernels.algebra.vectors import add, copy, copy_scaled, fill
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.projection import MAX_ITERATIONS
from sarrus.kernels.solve.tolerances import STAGNANT_CORRECTION

# States of Newton's method, returned by `contraction`.
DONE, GO_ON, LOST = 1, 0, -1


class Correction(NamedTuple):
    """Linear equations of a correction: A δ = −residual with A (m × n) of known rank, W δ = wanted (count rows).

    Without ``given`` the right-hand side of W δ is zero. Rows from ``again`` on have the units of the rows from row 0
    on.
    """

    residual: Any
    jacobian: Any
    m: Any
    n: Any
    again: Any
    rank: Any
    W: Any
    count: Any
    wanted: Any
    given: Any


class CorrectionRoom(NamedTuple):
    """Workspace of `correction_along`: A, W Q, vectors."""

    rows: Any
    inner: Any
    right: Any
    y: Any
    step: Any
    turned: Any
    diagonal: Any
    beta: Any
    other: Any
    beta2: Any
    norms: Any


def chart_projection(table: Table, x: Floats, level: int) -> int:
    """Project v in x, and q before it unless ``level`` is VELOCITIES, along the chart; return the rank of A.

    −1 where Newton's method does not contract; 0 without constraints.
    """
    work = la.workspace(table)
    table.chart.conditioning = 1.0
    if level != la.VELOCITIES and table.nh > 0 and not _project_positions(table, x, work):
        return -1
    return 0 if table.nc == 0 else _project_velocities(table, x, work)


@internal
def _project_positions(table: Table, x: Floats, work: Workspace):
    """Correct q in x until φ = 0, with W δ = 0; False where Newton's method does not contract."""
    chart, nv, nh, bound = table.chart, table.nv, table.nh, table.holonomic_rank
    rows = chart + la.CHART_ROWS
    asked = Correction(work.native, work.native + nh, nh, nv, nh, bound, rows, nv - bound, rows, False)
    small, before = table.settings.position_tolerance, 0.0
    for _ in range(MAX_ITERATIONS + 1):
        residual = position_residual(table, x, work)
        if residual <= 0.1 * small:
            return True
        longest = correct_position(table, chart, asked, _room(table), x, work)
        if not np.isfinite(longest):
            return False
        verdict = contraction(longest, before, residual, small)
        if verdict == DONE:
            return True
        if verdict == LOST:
            break
        before = longest
    chart.failed = 1.0
    return False


@internal
def _project_velocities(table: Table, x: Floats, work: Workspace):
    """Correct v in x until ψ = 0, with W δ = 0; return the rank of A, −1 where a number is not finite."""
    nv, nc, rank = table.nv, table.nc, table.generic_rank
    rows = table.chart + (la.CHART_ROWS + (nv - table.holonomic_rank) * nv)
    asked = Correction(work.native, work.native + nc, nc, nv, nc, rank, rows, nv - rank, rows, False)
    return rank if correct_velocity(table, table.chart, asked, _room(table), x, work) else -1


@internal
def position_residual(table: Table, x: Floats, work: Workspace):
    """Write φ and its rows at x to work.native; return Σ |φ| in characteristic units."""
    call_native(table.position, x, work.native)
    factors, residual = la.factors_of(table), 0.0
    for j in range(table.nh):
        residual += abs(work.native[j]) * factors.rows[j]
    return residual


@internal
def correct_position(table: Table, chart: Any, asked: Correction, room: Floats, x: Floats, work: Workspace):
    """Replace q in x by q ⊕ δ, δ from `correction_along`; return its longest entry. q is kept if δ is not finite."""
    step = correction_along(table, chart, asked, room)
    longest = longest_entry(table, step)
    copy(step, work.step, table.nv)
    if np.isfinite(longest):
        retract(table, x, work.step, work.x)
    return longest


@internal
def contraction(longest: float, before: float, residual: float, small: float):
    """Return the state of Newton's method after a correction of size ``longest``: DONE, GO_ON or LOST.

    ``before`` is the size of the correction before it, 0 for none. The remaining error is ρ/(1 − ρ) of the last
    correction, ρ the contraction rate (Spencer 2004, section 2.3.1).
    """
    rate = longest / before if before > 0.0 else 0.5
    if rate < 0.9:
        return DONE if longest <= small or rate / (1.0 - rate) * longest <= 0.1 * small else GO_ON
    # without contraction: DONE if φ is rounding, or rounding of the data in redundant rows
    return DONE if min(longest, residual) <= 100.0 * small else LOST


@internal
def correct_velocity(table: Table, chart: Any, asked: Correction, room: Floats, x: Floats, work: Workspace):
    """Correct v in x until ψ = 0, with the rows of ``asked``; False where a number is not finite."""
    nq = table.nq
    for _ in range(1 if table.nc == table.nh else 8):
        call_native(table.velocity, x, work.native)
        step = correction_along(table, chart, asked, room)
        longest = longest_entry(table, step)
        add(step, x + nq, table.nv)
        if not np.isfinite(longest):
            return False
        if longest < STAGNANT_CORRECTION:
            break
    return True


@internal
def _room(table: Table):
    """Return the buffer behind W in the chart."""
    nv = table.nv
    return table.chart + (la.CHART_ROWS + (2 * nv - table.holonomic_rank - table.generic_rank) * nv)


@internal
def correction_along(table: Table, chart: Any, asked: Correction, work: Floats):
    """Write the solution δ (n,) of the equations ``asked`` to ``work``; return its address.

    ``chart.conditioning`` is lowered to the smallest pivot of W Q. The first entry of δ is NaN where A is not finite.
    """
    settings, nv, m, count = table.settings, asked.n, asked.m, asked.count
    big = m + nv + 1
    room = view_fields(work, CorrectionRoom(m * nv, count * nv, big, big, big, big, big, big, big, big, big))
    order, turned, step = la.permutation(table), room.turned, room.step
    A = fa.Matrix(room.rows, m, nv, order, room.diagonal, room.beta, room.beta2, room.norms)
    for j in range(m):
        factor = la.row_factor(table, j if j < asked.again else j - asked.again)
        copy_scaled(factor, asked.jacobian + j * nv, room.rows + j * nv, nv)
        room.right[j] = -factor * asked.residual[j]
    rank, _ = fa.solve(A, asked.rank, settings.singular_cut, la.row_scale(table), room.right, room.y, step)
    if rank < 0:
        step[0] = np.nan
        return step
    left = nv - rank
    for i in range(count):
        amount = -asked.wanted[i] if asked.given else 0.0
        for c in range(nv):
            value = asked.W[i * nv + c]
            turned[c] = value
            amount += value * step[c]
        room.right[i] = -amount
        fa.apply_q_transposed(A, rank, turned)
        copy(turned + rank, room.inner + i * left, left)
    fill(turned, 0.0, nv)
    inner = fa.Matrix(room.inner, count, left, order, room.diagonal, room.other, room.beta2, room.norms)
    used, _ = fa.solve(inner, count, settings.singular_cut, 0.0, room.right, room.y, turned + rank)
    if count > 0:
        chart.conditioning = min(chart.conditioning, abs(room.diagonal[count - 1])) if used == count else 0.0
    fa.apply_q(A, rank, turned)
    add(turned, step, nv)
    return step
