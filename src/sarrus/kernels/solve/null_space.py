"""Constrained acceleration where M is singular (massless links): the null-space method.

    a = −A⁺γ + Z z,    Zᵀ M Z z = Zᵀ(f + M A⁺γ),

Z an orthonormal basis of the null space of A, on which M must be positive definite. Here rows and velocities are in
characteristic units, R A C⁻¹ and C a (`sarrus.dynamics.model.characteristic`), so that A⁺ and Z do not depend on
units of measurement.
"""

from __future__ import annotations

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.factor import Matrix
from sarrus.kernels.algebra.vectors import add, copy, dot_from, is_finite
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import force_inline, internal
from sarrus.kernels.solve import checking as ch
from sarrus.kernels.solve.acceleration import complete_dynamics, solve_rows
from sarrus.kernels.solve.tolerances import LEAST_SQUARED_PIVOT


def null_space_acceleration(table: Table, x: Floats, level: int) -> int:
    """Write a, λ and N v at x = [q|v|u|t|p|τ] to the workspace, as ``level`` asks; return the rank of A, −1 if ill
    posed.

    M need only be positive definite on the null space of A. `kernels.solve.acceleration.acceleration` calls this
    kernel where M is nearly singular at single configurations; then the function WHOLE evaluates M without
    elimination.
    """
    work, factors = la.workspace(table), la.factors_of(table)
    nv, nc = table.nv, table.nc
    _load(table, x, work)
    _measure(table, work)
    for j in range(nc):
        work.rhs[j] = -work.bias[j]
        copy(work.rows + j * nv, work.copy + j * nv, nv)
    looks = level == la.ANSWER or level == la.VERIFIED
    reach = 0.0
    for i in range(nv):
        if work.mass[i * nv + i] > 0.0:
            reach = max(reach, abs(work.force[i]) / work.mass[i * nv + i])
    A = fa.matrix(table, work, work.rows, nc)
    used = solve_rows(table, x, A, looks, reach, False, work)
    if used < 0:
        return -1
    # Qᵀ M Z in place of the last columns of M, and Qᵀ(f − M a_particular) in rhs.
    for i in range(nv):
        row = work.mass + i * nv
        value = work.force[i]
        for j in range(nv):
            value -= row[j] * work.step[j]
        work.rhs[i] = value
    fa.apply_q_transposed(A, used, work.rhs)
    for i in range(nv):
        fa.apply_q_transposed(A, used, work.mass + i * nv)
    for j in range(used, nv):
        for i in range(nv):
            work.extra[i] = work.mass[i * nv + j]
        fa.apply_q_transposed(A, used, work.extra)
        for i in range(nv):
            work.mass[i * nv + j] = work.extra[i]
    free = nv - used
    largest = 0.0
    for i in range(free):
        copy(work.mass + ((used + i) * nv + used), work.copy + i * free, free)
        largest = max(largest, work.copy[i * free + i])
    if not fa.cholesky_ltl(work.copy, free):
        return -1
    for i in range(free):
        if not work.copy[i * free + i] ** 2 > LEAST_SQUARED_PIVOT * largest:
            return -1
    z = work.rhs + used
    fa.solve_l_transposed(work.copy, free, z)
    fa.solve_l(work.copy, free, z)
    for i in range(nv):
        work.a[i] = work.rhs[i] if i >= used else 0.0
    fa.apply_q(A, used, work.a)
    add(work.step, work.a, nv)
    if level > la.SLOPE:
        _find_multipliers(table, x, A, used, level, reach, work)
    for i in range(nv):
        work.a[i] /= factors.velocities[i]
    return used if is_finite(work.a, nv) else -1


@internal
def _find_multipliers(
    table: Table, x: Floats, A: Matrix, used: int, level: int, reach: float, work: Workspace
):
    """Write λ and Aᵀλ and, for levels ANSWER and VERIFIED, the residuals of the answer to the facts.

    The first block of Qᵀ(M a − f) consists of rows of Qᵀ M Q [0; z] − Qᵀ(f − M a_particular).
    """
    nv, nc, z, free = table.nv, table.nc, work.rhs + used, table.nv - used
    factors = la.factors_of(table)
    for i in range(used):
        work.y[i] = dot_from(-work.rhs[i], work.mass + (i * nv + used), z, free)
    fa.multipliers(A, used, work.y, work.extra, work.lam)
    for i in range(nv):
        work.reaction[i] = work.y[i] if i < used else 0.0
    fa.apply_q(A, used, work.reaction)
    if level == la.ANSWER or level == la.VERIFIED:
        work.facts.mass_condition = ch.mass_condition(work.copy, free)
        _load(table, x, work)
        _measure(table, work)
        work.facts.unsatisfied = ch.unmet_whole(table, work, used, reach)
        work.facts.outcome = ch.outcome(table, work, used)
        if used < nc:
            work.facts.residual = ch.residual(table, work, work.rows, work.a)
    for j in range(nc):
        work.lam[j] *= factors.rows[j]
    for i in range(nv):
        work.reaction[i] *= factors.velocities[i]


@force_inline
def _load(table: Table, x: Floats, work: Workspace):
    """Write M, f, A, γ and N v at x to the workspace."""
    if table.whole != 0:
        call_native(table.whole, x, work.native)
    else:
        call_native(table.dynamics, x, work.native)
    complete_dynamics(table, x, work)


@internal
def _measure(table: Table, work: Workspace):
    """Scale M, f, A and γ in the workspace to characteristic units."""
    nv, nc, factors = table.nv, table.nc, la.factors_of(table)
    for i in range(nv):
        work.extra[i] = 1.0 / factors.velocities[i]
    for i in range(nv):
        factor = work.extra[i]
        work.force[i] *= factor
        for k in range(nv):
            work.mass[i * nv + k] *= factor * work.extra[k]
    for j in range(nc):
        factor = factors.rows[j]
        work.bias[j] *= factor
        for k in range(nv):
            work.rows[j * nv + k] *= factor * work.extra[k]
