"""Projection of a state on the constraints: positions by Newton's method, then velocities.

Both corrections are the shortest in the kinetic metric: of all δ with A δ = −φ the δ with the least δᵀM δ,

    q ← q ⊕ (−L⁻¹ Â⁺ φ),    v ← v − L⁻¹ Â⁺ ψ,    M = LᵀL,  Â = R A L⁻¹  (and R φ, R ψ),

for any rank of A; R scales rows in metres and in radians to characteristic units
(`sarrus.dynamics.model.characteristic`). So neither correction depends on units of measurement. (The decomposition:
Aghili and Piedboeuf, Multibody System Dynamics 10, 2003; metric tensors: Aghili, IEEE Trans. Robotics 21, 2005,
section II-A; the form that is robust in singular configurations is Spencer's.) Where the elimination is traced, A L⁻¹
comes from straight-line code with M at every iterate; elsewhere M is evaluated where the projection begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import largest_gap, longest_entry, retract
from sarrus.kernels.algebra.vectors import add, copy, copy_scaled, dot_from, fill, is_finite, multiply
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.memory.tolerances import NO_METRIC
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import force_inline, internal
from sarrus.kernels.solve.acceleration import is_clear
from sarrus.kernels.solve.checking import mass_condition
from sarrus.kernels.solve.simplified_newton import simplified_newton
from sarrus.kernels.solve.tolerances import (
    CLEARANCE_OF_STAGE,
    CLOSED_TO_ROUNDING,
    FAR_STEP,
    QUADRATIC_STEP,
    STAGNANT_CORRECTION,
)

MAX_ITERATIONS = 12
# Iterations of straight-line code; after these the rank-revealing factorisation is tried.
DIRECT_ITERATIONS = 6


def projection(table: Table, x: Floats, level: int) -> int:
    """Project v in x in place, and q before it unless ``level`` is VELOCITIES; return the rank of A.

    −1 where the positions do not converge; then x is not to be used.
    """
    return project(table, x, level != la.VELOCITIES)


@force_inline
def project(table: Table, x: Floats, positions: bool):
    """Project v in x in place, and q before it with ``positions``; return the rank of A, −1 if q does not
    converge."""
    work = la.workspace(table)
    if table.generic_rank == 0 and table.nc > 0 and _is_free(table, x, positions, work):
        return 0
    if positions and table.direct_rank == table.generic_rank:
        if table.nearest != 0 and simplified_newton(table, x, work):
            return table.generic_rank
        if table.closed != 0 and _close(table, x, work):
            return table.generic_rank
    fresh, dense = False, table.elimination != la.TRACED
    if dense and table.nc > 0:
        load_metric(table, x, work)
    if positions and table.nh > 0:
        far = project_position(table, x, work)
        if far < 0.0:
            return -1
        fresh = True
        if dense and far > FAR_STEP:
            load_metric(table, x, work)
    if table.nc == 0:
        return 0
    return project_velocity(table, x, work, fresh)


@internal
def _is_free(table: Table, x: Floats, positions: bool, work: Workspace):
    """Tell whether no correction is needed where A has generic rank 0, for example with all contacts open."""
    if not positions or table.nh == 0:
        return True
    call_native(table.position, x, work.native)
    return largest_gap(table, work.native, table.nh) <= 0.1 * table.settings.position_tolerance


@internal
def _close(table: Table, x: Floats, work: Workspace):
    """Project q and v in x by straight-line code; False where it is not precise enough, with x unchanged."""
    nq, nv, settings = table.nq, table.nv, table.settings
    answer, given = view_fields(work.native, la.closed_sizes(table)), work.x
    copy(x, given, nq)
    for iteration in range(DIRECT_ITERATIONS):
        call_native(table.closed, x, work.native)
        gap, left = largest_gap(table, answer.gap, table.nh), largest_gap(table, answer.left, table.nh)
        if not (
            is_clear(settings, answer.conditioning, CLEARANCE_OF_STAGE)
            and is_finite(answer.place, nq)
            and left < np.inf
        ):
            break
        if iteration > 0 or gap > 0.1 * settings.position_tolerance:
            copy(answer.place, x, nq)
        longest = longest_entry(table, answer.step)
        closed = left <= settings.position_tolerance or (
            longest < QUADRATIC_STEP and left <= CLOSED_TO_ROUNDING
        )
        # after a long step v was projected with rows of another configuration
        if closed and longest < FAR_STEP and is_finite(answer.speed, nv):
            copy(answer.speed, x + nq, nv)
            return True
    copy(given, x, nq)
    return False


@internal
def load_metric(table: Table, x: Floats, work: Workspace):
    """Write L with LᵀL = M at x to work.metric; the characteristic metric where M is not positive definite."""
    nv = table.nv
    call_native(table.metric, x, work.metric)
    good = table.elimination == la.TRACED or fa.cholesky_ltl(work.metric, nv)
    if not (good and is_metric(table, work.metric)):
        load_characteristic_metric(table, work)


@internal
def is_factor(factor: Floats, n: int):
    """Tell whether L is the factor of a positive definite matrix; a NaN in a column of L is a NaN on its diagonal
    too."""
    good = True
    for i in range(n):
        good = good and 0.0 < factor[i * (n + 1)] < np.inf
    return good


@force_inline
def is_metric(table: Table, factor: Floats):
    """Tell whether L is the factor of a metric: finite, and M not singular to rounding in models where this may
    happen."""
    n = table.nv
    return is_factor(factor, n) and (table.whole == 0 or mass_condition(factor, n) <= NO_METRIC)


@internal
def load_characteristic_metric(table: Table, work: Workspace):
    """Write the factor of the characteristic metric, a diagonal matrix, to work.metric."""
    nv, factors = table.nv, la.factors_of(table)
    fill(work.metric, 0.0, nv * nv)
    for i in range(nv):
        work.metric[i * (nv + 1)] = factors.velocities[i]


@internal
def load_holonomic_rows(table: Table, x: Floats, work: Workspace):
    """Write residuals and holonomic rows at x to work.native; return the address of the factor L of the metric.

    With the function ``closing`` these are φ, Â = A L⁻¹ and ψ, then L; without it φ, A and b, and L is at
    work.metric.
    """
    if table.closing != 0:
        call_native(table.closing, x, work.native)
        factor = work.native + table.nh * (table.nv + 2)
        if is_metric(table, factor):
            return factor
        load_characteristic_metric(table, work)
    call_native(table.position, x, work.native)
    return work.metric


@internal
def load_all_rows(table: Table, x: Floats, work: Workspace):
    """Write ψ and all rows, also nonholonomic ones, at x to work.native; return the address of the factor L of the
    metric.

    With the function ``slipping`` the rows are A L⁻¹, then L follows; without it the rows are A, and L is at
    work.metric.
    """
    if table.slipping != 0:
        call_native(table.slipping, x, work.native)
        factor = work.native + table.nc * (table.nv + 1)
        if is_metric(table, factor):
            return factor
        load_characteristic_metric(table, work)
    call_native(table.velocity, x, work.native)
    return work.metric


@force_inline
def project_position(table: Table, x: Floats, work: Workspace):
    """Project q in x on φ(q, t) = 0; return the longest step, −1 on failure.

    On return work.native has the rows and residuals of `load_holonomic_rows` at the final q. Where redundant rows
    contradict each other by rounding of the data, Newton's method stagnates at the least-squares point; this counts
    as converged while the residual is accepted.
    """
    settings = table.settings
    nh, limit = table.nh, table.holonomic_rank
    residual = np.inf
    far = 0.0
    quick = stagnant = False
    for iteration in range(MAX_ITERATIONS + 1):
        factor = load_holonomic_rows(table, x, work)
        residual = largest_gap(table, work.native, nh)
        tolerance = settings.position_tolerance
        if residual <= (tolerance if iteration > 0 else 0.1 * tolerance):
            return far
        if quick and residual <= CLOSED_TO_ROUNDING:
            return far
        if not np.isfinite(residual):
            return -1.0
        if stagnant or iteration == MAX_ITERATIONS:
            break
        copy_scaled(-1.0, work.native, work.rhs, nh)
        correct(table, nh, limit, work.native + nh, factor, work)
        longest = longest_entry(table, work.step)
        far, quick, stagnant = max(far, longest), longest < QUADRATIC_STEP, longest < STAGNANT_CORRECTION
        retract(table, x, work.step, work.x)
    return far if residual <= settings.accepted_residual else -1.0


@force_inline
def correct(table: Table, m: int, limit: int, rows: int, metric: Any, work: Workspace):
    """Write the shortest δ (nv,) with A δ = rhs to work.step, in the metric with factor L at ``metric``; return the
    rank of A.

    At ``rows`` is A (m rows, overwritten) if ``metric`` is work.metric, else A L⁻¹. The rank is −1 where a number is
    not finite; then δ is NaN.
    """
    n, settings, factors = table.nv, table.settings, la.factors_of(table)
    for j in range(m):
        factor, row = factors.rows[j], rows + j * n
        work.rhs[j] *= factor
        multiply(row, factor, n)
        if metric == work.metric:
            fa.solve_l_transposed(metric, n, row)
    A = fa.matrix(table, work, rows, m)
    rank, _ = fa.solve(
        A, limit, settings.singular_cut, settings.scale_of_even_rows, work.rhs, work.y, work.step
    )
    fa.solve_l(metric, n, work.step)
    if rank < 0:
        fill(work.step, np.nan, n)
    return rank


@force_inline
def project_velocity(table: Table, x: Floats, work: Workspace, fresh: Any):
    """Project v in x on ψ(q, v, t) = 0; return the rank of A.

    ``fresh``: rows and residuals of `project_position` at this q are at work.native. Nonholonomic rows may be
    nonlinear in v; then Newton's method iterates.
    """
    nq, nv, nh, nc, factors = table.nq, table.nv, table.nh, table.nc, la.factors_of(table)
    rounds = 1 if nc == nh else 8
    rank = 0
    for _ in range(rounds):
        if nc > nh:
            factor = load_all_rows(table, x, work)
        elif not fresh:
            factor = load_holonomic_rows(table, x, work)
        else:
            factor = work.native + nc * (nv + 2)
            if table.closing == 0 or not is_metric(table, factor):
                factor = work.metric
        rows = work.native + nc
        largest = 0.0
        for j in range(nc):
            value = work.native[j]
            if nc == nh:
                value = rows[nh * nv + j]
                if factor == work.metric:  # b = A v − ψ
                    value = dot_from(-value, rows + j * nv, x + nq, nv)
            work.rhs[j] = -value
            largest = max(largest, abs(value) * factors.rows[j])
        rank = correct(table, nc, table.generic_rank, rows, factor, work)
        add(work.step, x + nq, nv)
        if largest < STAGNANT_CORRECTION:
            break
    return rank
