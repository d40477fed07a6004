"""Constrained acceleration: M a = f + Aᵀλ, A a = −γ, for any rank of A.

With M = LᵀL and y = L a the problem is the projection of f̂ = L⁻ᵀf on the affine set Â y = −γ, Â = A L⁻¹ (Gauss's
principle: Udwadia and Kalaba, Proc. R. Soc. A 439, 1992):

    y = f̂ + Â⁺(−γ − Â f̂),    λ = (Âᵀ)⁺ (y − f̂).

Rows, γ and λ are in characteristic units here, R A, R γ and R⁻¹λ (`sarrus.dynamics.model.characteristic`). So rank
decisions on rows in metres and in radians, and the λ of least norm, do not depend on units of measurement. Where the
independent rows are known clearly, straight-line code solves the equations
(`sarrus.symbolic.equations.elimination.direct_solution`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.factor import Matrix
from sarrus.kernels.algebra.retraction import largest_gap, longest_entry
from sarrus.kernels.algebra.vectors import add, axpy, copy, dot, fill, is_finite
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Settings, StageAnswer, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.tolerances import (
    FAIR_MASS,
    HEAVY_MASS,
    ILL_CONDITIONED_MASS,
    ROWS_MET,
    SINGULAR_MASS,
)
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import force_inline, internal
from sarrus.kernels.solve import checking as ch
from sarrus.kernels.solve.tolerances import (
    CLEARANCE_OF_ANSWER,
    CLEARANCE_OF_STAGE,
    CLEARANCE_TO_REFINE,
    REFINED_ENOUGH,
    REFINEMENT_GAIN,
    REFINEMENT_ROUNDING,
    REFINEMENTS,
    REGULAR_PIVOT,
)


def acceleration(table: Table, x: Floats, level: int) -> int:
    """Write a, λ and N v at x = [q|v|u|t|p|τ] to the workspace, as ``level`` asks; return the rank of A, −1 if ill
    posed.

    The rank is at most the generic rank in the table: rows that are redundant on the constraint manifold count as
    redundant at Runge–Kutta stages beside it, however much their pivots grow there.
    """
    settings = table.settings
    work, nv = la.workspace(table), table.nv
    facts = work.facts
    # Stages satisfy independent rows only: not enough where the last solve with checks found contradictions.
    agree = table.n_dependent == 0 or facts.contradiction <= settings.inconsistent
    serves = table.checked != 0 and (agree or level != la.SLOPE)
    if serves and table.direct_rank == table.generic_rank and table.baumgarte == 0:
        if level == la.SLOPE and table.direct != 0:
            good = solve_stage(table, x, work)
        else:
            call_native(table.checked, x, work.a)
            good = _serves(
                table, work.conditioning, CLEARANCE_OF_STAGE if level == la.PIVOTS else CLEARANCE_OF_ANSWER
            )
        if good and is_finite(work.a, nv):
            contradiction = facts.contradiction
            fill(facts, 0.0, la.N_FACTS)
            if level == la.SLOPE:
                facts.contradiction = contradiction
                work.factored[0] = 1.0
                return table.generic_rank
            if _is_met(table, work.conditioning):
                return _note_checks(table, work)
            facts.contradiction = work.conditioning.contradiction
    return _by_pivots(table, x, level, work)


@internal
def _by_pivots(table: Table, x: Floats, level: int, work: Workspace):
    """Find the acceleration by a factorisation of A with pivoting, where straight-line code fails; return the rank of
    A, or −1.

    It is a separate function, so that stages do not pay for saving its registers.
    """
    nv = table.nv
    work.factored[0] = 0.0
    load_dynamics(table, x, work)
    if not _factor_mass(table, work):
        return -1 if table.whole == 0 else call_kernel(table.null_space_solve, table, x, level)
    used = _project(table, x, level, work)
    return used if is_finite(work.a, nv) else -1


@internal
def _factor_mass(table: Table, work: Workspace):
    """Factor M, and write f̂ and Â; return False where M is singular, or so nearly that its null space is needed."""
    nv, nc = table.nv, table.nc
    good = table.elimination == la.TRACED or fa.cholesky_ltl(work.mass, nv)
    if not good or (table.whole != 0 and not ch.mass_condition(work.mass, nv) <= HEAVY_MASS):
        return False
    if table.elimination == la.CHOLESKY:
        fa.solve_l_transposed(work.mass, nv, work.force)
        for j in range(nc):
            fa.solve_l_transposed(work.mass, nv, work.rows + j * nv)
    return True


@internal
def factored_acceleration(table: Table, x: Floats, work: Workspace):
    """Write a at x to the workspace, and keep the factors of M and Â for `kinetic_row`; return the rank of A.

    −1 where M is singular, or so nearly that its null space is needed, or where a is not finite.
    """
    work.factored[0] = 0.0
    if table.elimination == la.NULL_SPACE:
        return -1
    load_dynamics(table, x, work)
    if not _factor_mass(table, work):
        return -1
    used = _project(table, x, la.SLOPE, work)
    return used if is_finite(work.a, table.nv) else -1


@internal
def kinetic_row(table: Table, rank: int, row: Floats, work: Workspace):
    """Replace a row J (nv) by P L⁻ᵀ Jᵀ, P the projection on the motions that the constraints allow.

    M = LᵀL and A have the factors of `factored_acceleration`. Products of two such rows are the accelerations of one
    row by a force on the other. Return ‖L⁻ᵀ Jᵀ‖², the compliance of the row without constraints.
    """
    nv = table.nv
    fa.solve_l_transposed(work.mass, nv, row)
    free = dot(row, row, nv)
    if rank > 0:
        A = fa.matrix(table, work, work.rows, table.nc)
        fa.apply_q_transposed(A, rank, row)
        fill(row, 0.0, rank)
        fa.apply_q(A, rank, row)
    return free


@internal
def solve_stage(table: Table, x: Floats, work: Workspace):
    """Solve for a of a stage by straight-line code and keep the factors; False where its precision is not
    sufficient."""
    call_native(table.direct, x, table.stage)
    answer = la.stage_answer(table)
    copy(answer.a, work.a, table.nv)
    copy(answer.rate, work.rate, table.nq)
    copy(answer.conditioning, work.conditioning, la.N_CONDITIONING)
    if _serves(table, answer.conditioning, CLEARANCE_OF_STAGE):
        return True
    return (
        table.unsatisfied != 0
        and _serves(table, answer.conditioning, CLEARANCE_TO_REFINE)
        and _refine(table, x, answer, work)
    )


@internal
def _refine(table: Table, x: Floats, answer: StageAnswer, work: Workspace):
    """Correct a by the shortest step that satisfies the rows, until corrections gain no more; False if the residual
    stays large.

    The factors determine a with an error by the condition number of Â Âᵀ, the square of the condition number of Â;
    corrections reduce it to an error by the condition number of Â.
    """
    size, nv, nc, before = la.input_size(table), table.nv, table.nc, np.inf
    copy(x, work.spare, size)
    for _ in range(REFINEMENTS):
        copy(work.a, work.spare + size, nv)
        call_native(table.unsatisfied, work.spare, answer.residual)
        left, rounding = (
            largest_gap(table, answer.residual, nc),
            REFINEMENT_ROUNDING * longest_entry(table, work.a),
        )
        if left <= rounding or not left < REFINEMENT_GAIN * before:
            return left <= REFINED_ENOUGH * rounding
        before = left
        call_native(table.nearest, answer.factors, work.step)
        add(work.step, work.a, nv)
    return False


@internal
def _serves(table: Table, conditioning: Any, clear: float):
    """Tell whether straight-line code is precise enough: the rows are clearly independent and M is not nearly
    singular.

    Where M is nearly singular the null-space method is used: rows along a direction of little inertia are large in
    the kinetic metric.
    """
    light = (
        table.whole != 0
        and not conditioning.largest_entry <= HEAVY_MASS * table.settings.scale_of_even_rows**2
    )
    return not light and is_clear(table.settings, conditioning, clear)


@internal
def is_clear(settings: Settings, conditioning: Any, clear: float):
    """Tell whether the rows that straight-line code takes for independent are so by a margin ``clear``."""
    return conditioning.clearance > clear and are_regular(
        settings, conditioning.least_pivot, conditioning.largest_entry
    )


@internal
def are_regular(settings: Settings, least_pivot: float, largest_entry: float):
    """Tell whether the pivots of Â Âᵀ are those of a regular configuration.

    The clearance does not show this: a short row has a small pivot without a small angle to the rows before it.
    """
    size = max(largest_entry, settings.scale_of_even_rows**2)
    cut = max(10.0 * settings.singular_cut, REGULAR_PIVOT)
    return least_pivot > cut * cut * size


@force_inline
def _is_met(table: Table, conditioning: Any):
    """Tell whether the answer satisfies the constraints; dependent rows may contradict by the precision of the
    data."""
    tolerance = ROWS_MET if table.n_dependent == 0 else table.settings.inconsistent
    return conditioning.missed <= tolerance and conditioning.contradiction <= table.settings.inconsistent


@internal
def _note_checks(table: Table, work: Workspace):
    """Write the checks of straight-line code to the facts; return the rank of A, −1 where M is singular."""
    conditioning, facts = work.conditioning, work.facts
    if not conditioning.weakest_mass < SINGULAR_MASS:
        return -1
    facts.mass_condition, facts.unsatisfied = conditioning.weakest_mass, conditioning.missed
    facts.contradiction, facts.residual = conditioning.contradiction, conditioning.residual
    if table.generic_rank > 0:
        facts.largest, facts.smallest = np.sqrt(conditioning.largest_entry), np.sqrt(conditioning.smallest)
        facts.beyond = np.sqrt(max(conditioning.beyond, 0.0))
    if not conditioning.weakest_mass <= ILL_CONDITIONED_MASS:
        facts.outcome = la.ILL_CONDITIONED_ANSWER
    return table.generic_rank


@force_inline
def load_dynamics(table: Table, x: Floats, work: Workspace):
    """Write M, f, A, γ and N v at x to the workspace, γ with Baumgarte's terms where these are enabled."""
    call_native(table.dynamics, x, work.native)
    complete_dynamics(table, x, work)


@force_inline
def complete_dynamics(table: Table, x: Floats, work: Workspace):
    """Add Baumgarte's terms to γ where enabled, and copy N v to ``work.rate``; the dynamics are in the workspace."""
    if table.baumgarte == 1:
        _baumgarte(table, x, work)
    copy(work.velocity, work.rate, table.nq)


@force_inline
def _project(table: Table, x: Floats, level: int, work: Workspace):
    """Project f̂ on the constraints and write a, λ, Aᵀλ and the facts; return the rank of A, or −1."""
    nv, nc, factors = table.nv, table.nc, la.factors_of(table)
    for j in range(nc):
        factor, row = factors.rows[j], work.rows + j * nv
        inner = work.bias[j] * factor
        work.bias[j] = inner
        for c in range(nv):
            value = row[c] * factor
            inner += value * work.force[c]
            row[c] = value
            work.copy[j * nv + c] = value
        work.rhs[j] = -inner
    looks = level == la.ANSWER or level == la.VERIFIED
    A = fa.matrix(table, work, work.rows, nc)
    used = solve_rows(table, x, A, looks, 0.0, True, work)
    if used < 0:
        return -1
    weak, whole = 0.0, False
    if looks:
        weak = ch.mass_condition(work.mass, nv)
        if not weak < SINGULAR_MASS:
            return -1
        whole = weak > FAIR_MASS
    for i in range(nv):
        work.a[i] = work.force[i] + work.step[i]
    if level > la.SLOPE:
        fa.multipliers(A, used, work.y, work.extra, work.lam)
        if looks:
            if whole:
                fa.solve_l(work.mass, nv, work.a)
            missed = ch.unsatisfied(table, work, used, whole, True)
            if not missed <= ROWS_MET:
                ch.refine(table, work, used, whole)
                fa.multipliers(A, used, work.y, work.extra, work.lam)
                missed = ch.unsatisfied(table, work, used, whole, False)
            work.facts.unsatisfied, work.facts.mass_condition = missed, weak
            work.facts.outcome = ch.outcome(table, work, used)
            if used < nc:
                for i in range(nv):
                    work.extra[i] = work.force[i] + work.step[i]
                work.facts.residual = ch.residual(table, work, work.copy, work.extra)
        for j in range(nc):
            work.lam[j] *= factors.rows[j]
        fill(work.reaction, 0.0, nv)
        for k in range(nv):
            row, weight = work.mass + k * nv, work.step[k]
            axpy(weight, row, work.reaction, k + 1)
    if not whole:
        fa.solve_l(work.mass, nv, work.a)
    return used


@force_inline
def solve_rows(
    table: Table, x: Floats, A: Matrix, looks: Any, reach: float, eliminated: bool, work: Workspace
):
    """Factor the rows and write the minimum-norm solution for ``rhs`` to work.step, with the facts; return the rank,
    or −1.

    With ``looks`` dependent rows are checked for contradictions (`checking.contradiction`, with ``reach`` and
    ``eliminated``); the rows before factorisation must be at work.copy.
    """
    settings = table.settings
    nv, nc, limit = table.nv, table.nc, table.generic_rank
    nearby = settings.scale_of_even_rows if eliminated else settings.scale_of_measured_rows
    used = fa.factor(A, limit, settings.singular_cut, nearby)
    if used < 0:
        return -1
    _note_pivots(work, min(nc, nv), limit)
    if looks:
        work.facts.contradiction = 0.0
    if used < nc:
        if looks:
            work.facts.contradiction = ch.contradiction(table, work, used, x, reach, eliminated)
        fa.reduce(A, used)
    work.facts.residual = fa.least_squares(A, used, work.rhs, work.y, work.step)
    return used


@force_inline
def _note_pivots(work: Workspace, steps: Any, generic: Any):
    """Write the largest pivot, the pivot at the generic rank and the first pivot beyond it to the facts."""
    work.facts.largest = abs(work.diagonal[0]) if steps > 0 else 0.0
    work.facts.smallest = abs(work.diagonal[generic - 1]) if 0 < generic <= steps else 0.0
    work.facts.beyond = abs(work.diagonal[generic]) if generic < steps else 0.0


@internal
def _baumgarte(table: Table, x: Floats, work: Workspace):
    """Add 2α ψ + β² φ to γ (Baumgarte 1972)."""
    settings = table.settings
    nh, nc = table.nh, table.nc
    alpha, beta = settings.alpha, settings.beta
    call_native(table.velocity, x, work.spare)
    axpy(2.0 * alpha, work.spare, work.bias, nc)
    call_native(table.position, x, work.spare)
    axpy(beta * beta, work.spare, work.bias, nh)
