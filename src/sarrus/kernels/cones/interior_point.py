"""Primal-dual interior-point method for small cone programs: minimise ½ xᵀP x + qᵀx with h − G x = s ∈ K.

The program is embedded in a homogeneous program with two more variables τ, κ ≥ 0, which always has a solution. With τ
> 0 the solution is x/τ, s/τ, z/τ. With κ > 0 there is no solution, and the iterates tend to a proof: z with Gᵀz = 0
and hᵀz < 0 (infeasible), or x with P x = 0, G x + s = 0, qᵀx < 0 (unbounded). So no feasible start is needed.
Quadratic costs need no additional cone (Goulart and Chen, Clarabel: an interior-point solver for conic programs with
quadratic objectives, 2024, whose embedding is used here). Directions are Mehrotra's, predictor and corrector, in the
scaling of Nesterov and Todd.

Each direction solves with P + GᵀW⁻²G (n × n): few variables, any number of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.algebra.factor import solve_l, solve_l_transposed
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill, multiply
from sarrus.kernels.cones import cones as co
from sarrus.kernels.cones.active_rows import INACTIVE, classify, optimize_active
from sarrus.kernels.cones.cone_units import are_coupled, equilibrate, unscale
from sarrus.kernels.cones.cones import Shape
from sarrus.kernels.cones.normal_equations import (
    add_transposed,
    factor_normal,
    factor_stack,
    find_unseen,
    solve_normal,
    square_root,
    times,
)
from sarrus.kernels.cones.tolerances import (
    CANCELLATION_OF_PROOFS,
    CENTRING,
    GUESS_ACTIVE_AT,
    INFEASIBILITY_PROOF,
    LATE_HOMOGENEITY,
    LATE_PROOF,
    LEAST_COST_UNIT,
    NO_LIMITS_BEYOND,
    NORMAL_MATRIX_AT,
    SHORTEST_INTERIOR_STEP,
    SLOW_PROGRESS,
    START_INSIDE,
    STEP_TO_BOUNDARY,
)
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory.cone_layout import ConeWorkspace, Limits
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

# Number of refinements of a direction.
_REFINEMENTS = 2
# Iterations without progress after which the method ends, near a solution and elsewhere: rounding prevents more.
_PATIENCE, _LONG_PATIENCE = 2, 25


class Point(NamedTuple):
    """Iterate: τ, κ, the residual of the equation of τ, the mean complementarity μ."""

    tau: Any
    kappa: Any
    residual: Any
    mu: Any


@internal
def interior_point(work: ConeWorkspace, shape: Shape, limits: Limits, warm: bool):
    """Solve the program; write x, s, z and the number of iterations to ``work``; return a verdict of `cone_layout`.

    ``warm``: x, s and z are near the solution of this program. Once the iterates show which rows are active, Newton's
    method on the active set finishes (`sarrus.kernels.cones.active_rows`). A warm start tries it first, a cold start
    tries it first with an empty active set.

    Limits that nearly pass through zero do not show the size of x along them. Where x exceeds the size given by such
    limits, the program is solved again in units of the minimum without limits.
    """
    answer = _solve_in_units(work, shape, limits, warm, False)
    if _is_far(work, shape, answer):
        spent = work.iterations[0]
        if _solve_in_units(work, shape, limits, warm, True) != cl.SOLVED:
            answer = _solve_in_units(work, shape, limits, warm, False)
        else:
            answer = cl.SOLVED
        work.iterations[0] += spent
    return answer


@internal
def _is_far(work: ConeWorkspace, shape: Shape, answer: int):
    """Tell whether limits are negligible beside the minimum without limits, and x is not solved or far larger than
    them."""
    if answer == cl.INDEFINITE or not are_coupled(work, shape):
        return False
    most = 0.0
    for c in range(shape.n):
        most = max(most, abs(work.best[c]))
    return answer != cl.SOLVED or most > NO_LIMITS_BEYOND


@internal
def _solve_in_units(work: ConeWorkspace, shape: Shape, limits: Limits, warm: bool, far: bool):
    """Solve the program in units of its limits or, with ``far``, of its minimum without limits; return the
    verdict."""
    n, m, linear, count, perm = shape.n, shape.m, shape.linear, shape.count, shape.order
    size, cost = equilibrate(work, shape, far)
    if not square_root(work, n):
        return cl.INDEFINITE
    if warm:
        _recall(work, n, m, size, cost)
        found = _finish(work, shape, 1.0, True)
    else:
        found = _finish_free(work, shape)
    if found:
        unscale(work, n, m, size, cost)
        work.iterations[0] = 0.0
        return cl.SOLVED
    endless = find_unseen(work, n, m, perm)
    degree = linear + count + 1.0
    tau = kappa = 1.0
    if warm:
        kappa = _warm_start(work, shape, limits.warm_shift)
    else:
        _cold_start(work, shape)
    best, waiting, answer, iterations, before = np.inf, 0, cl.STALLED, 0, np.inf
    while True:
        tau_residual, mu, error, verdict = _residuals(
            work,
            n,
            m,
            tau,
            kappa,
            degree,
            INFEASIBILITY_PROOF if tau > LATE_HOMOGENEITY * kappa else LATE_PROOF,
        )
        if not np.isfinite(error):
            break
        if verdict == cl.STALLED and error < best:
            waiting = 0 if error < 0.5 * best else waiting + 1
            best = error
            _keep(work, n, m, tau, work.xx, work.ss, work.zz)
        elif kappa < tau:
            waiting += 1
        if verdict != cl.STALLED:
            answer = verdict
            _keep(work, n, m, 1.0, work.xx, work.ss, work.zz)
            break
        if best <= GUESS_ACTIVE_AT and kappa < tau and _finish(work, shape, tau, False):
            answer = cl.SOLVED
            break
        patience = _PATIENCE if best <= limits.accepted else _LONG_PATIENCE
        if best <= limits.target or waiting > patience or iterations >= limits.iterations:
            break
        if not co.scale(work, shape):
            break
        co.scale_rows(work, shape)
        if mu < NORMAL_MATRIX_AT * tau * tau or not factor_normal(work, n, m):
            factor_stack(work, n, m)
        scaled = mu / (tau * tau + kappa * kappa)
        point = Point(tau, kappa, tau_residual, mu)
        tau, kappa, step = _advance(work, shape, point, scaled > SLOW_PROGRESS * before)
        before = scaled
        iterations += 1
        if not step > SHORTEST_INTERIOR_STEP:
            break
    if answer == cl.STALLED and best <= limits.accepted:
        answer = cl.SOLVED
    if endless and answer != cl.INFEASIBLE:
        answer = cl.UNBOUNDED
        copy(work.fall, work.best, n)
        fill(work.best + n, 0.0, 2 * m)
    elif answer == cl.STALLED and not np.isfinite(best):
        return cl.NOT_FINITE
    unscale(work, n, m, size, cost)
    work.iterations[0] = iterations
    return answer


@internal
def _recall(work: ConeWorkspace, n: int, m: int, size: float, cost: float):
    """Write the solution x, s, z in ``work`` as the iterate, in scaled units."""
    for c in range(n):
        work.xx[c] = work.x[c] / (size * work.columns[c])
    for i in range(m):
        work.ss[i] = work.s[i] * work.weights[i] / size
        work.zz[i] = work.z[i] * (cost * size) / work.weights[i]


@internal
def _finish_free(work: ConeWorkspace, shape: Shape):
    """Try Newton's method with an empty active set; tell whether it found the solution."""
    n, linear, count = shape.n, shape.linear, shape.count
    fill(work.trial, 0.0, n)
    fill(work.kind, INACTIVE, linear + count)
    return _finish_marked(work, shape, False)


@internal
def _finish(work: ConeWorkspace, shape: Shape, tau: float, anew: bool):
    """Try Newton's method with the active set guessed from the iterate; tell whether it found the solution.

    With ``anew`` the active set may be guessed again.
    """
    n, m = shape.n, shape.m
    copy_scaled(1.0 / tau, work.xx, work.trial, n)
    copy_scaled(1.0 / tau, work.ss, work.trial_s, m)
    copy_scaled(1.0 / tau, work.zz, work.trial_z, m)
    classify(work, shape)
    return _finish_marked(work, shape, anew)


@internal
def _finish_marked(work: ConeWorkspace, shape: Shape, anew: bool):
    """Try Newton's method with the active set ``work.kind`` and store its solution; tell whether it succeeded."""
    n, m = shape.n, shape.m
    if not optimize_active(work, shape, anew):
        return False
    _keep(work, n, m, 1.0, work.trial, work.trial_s, work.trial_z)
    return True


@internal
def _cold_start(work: ConeWorkspace, shape: Shape):
    """Write the least-squares start of the method with W = 1, moved into the cone."""
    n, m = shape.n, shape.m
    copy(work.g, work.turned, m * n)
    factor_stack(work, n, m)
    copy_scaled(-1.0, work.q, work.x2, n)
    solve_normal(work, n, m, work.x2, work.h, work.xx, work.zz)
    copy_scaled(-1.0, work.zz, work.ss, m)
    for a in (work.ss, work.zz):
        inside = co.depth(a, shape)
        if inside < START_INSIDE:
            co.shift(a, shape, 1.0 - inside)


@internal
def _warm_start(work: ConeWorkspace, shape: Shape, by: float):
    """Move the recalled iterate into the cone to a depth of at least ``by``; return κ, its mean complementarity."""
    m, linear, count = shape.m, shape.linear, shape.count
    for a in (work.ss, work.zz):
        inside = co.depth(a, shape)
        co.shift(a, shape, max(by, by - inside))
    return dot(work.ss, work.zz, m) / max(1.0, linear + count)


@internal
def _residuals(work: ConeWorkspace, n: int, m: int, tau: float, kappa: float, degree: float, proof: float):
    """Write the residuals; return the residual of τ, μ, the largest relative error, and a verdict."""
    times(work.p, n, n, work.xx, work.px)
    fill(work.dual, 0.0, n)
    add_transposed(work.g, m, n, work.zz, work.dual)
    times(work.g, m, n, work.xx, work.primal)
    flat = pushed = LEAST_DIVISOR
    still = opened = 0.0
    for c in range(n):
        still = max(still, abs(work.dual[c]))
        flat = max(flat, abs(work.px[c]))
        work.dual[c] += work.px[c] + work.q[c] * tau
    for i in range(m):
        work.primal[i] += work.ss[i]
        opened = max(opened, abs(work.primal[i]))
        pushed = max(pushed, abs(work.ss[i]))
        work.primal[i] -= work.h[i] * tau
    curve = dot(work.xx, work.px, n)
    along, across, size = dot(work.q, work.xx, n), dot(work.h, work.zz, m), 0.0
    for i in range(m):
        size += abs(work.h[i] * work.zz[i])
    tau_residual = kappa + along + across + curve / tau
    mu = (dot(work.ss, work.zz, m) + tau * kappa) / degree
    if across < -CANCELLATION_OF_PROOFS * size and still <= -proof * across:
        return tau_residual, mu, 0.0, cl.INFEASIBLE
    if along < 0.0 and flat <= -proof * along and opened <= -proof * along:
        return tau_residual, mu, 0.0, cl.UNBOUNDED
    wrong = missed = 0.0
    for c in range(n):
        wrong = max(wrong, abs(work.dual[c]))
    for i in range(m):
        missed = max(missed, abs(work.primal[i]))
    primal, dual = 0.5 * curve / tau**2 + along / tau, -0.5 * curve / tau**2 - across / tau
    wrong /= tau + max(flat, still)
    missed /= tau + pushed
    gap = abs(primal - dual) / (min(1.0, abs(primal)) + LEAST_COST_UNIT)
    return tau_residual, mu, max(wrong, max(missed, gap)), cl.STALLED


@internal
def _advance(work: ConeWorkspace, shape: Shape, point: Point, stuck: bool):
    """Take a predictor–corrector step; return τ, κ and the length of the step, at most 1."""
    n, m, tau, kappa = shape.n, shape.m, point.tau, point.kappa
    rx, rz, ds = work.rhs_x, work.rhs_z, work.ds
    # derivative of the solution by τ, and the slope of the last equation in τ
    copy_scaled(-1.0, work.q, rx, n)
    co.over_scaling(work, shape, work.h, work.offset)
    solve_normal(work, n, m, rx, work.offset, work.x2, work.z2)
    for c in range(n):
        rx[c] = work.x2[c] - work.xx[c] / tau
    slope = kappa / tau + dot(work.z2, work.z2, m)
    for c in range(n):
        slope += rx[c] * dot(work.p + c * n, rx, n)
    co.over_scaling(work, shape, work.primal, work.missed)
    copy(work.lam, work.centred, m)
    tau_step = _direction(work, n, m, tau, point.residual, kappa * tau, 1.0, slope)
    for i in range(m):
        ds[i] = -work.centred[i] - work.z1[i]
    kappa_step = -kappa - kappa / tau * tau_step
    step = _length(work, shape, tau, kappa, tau_step, kappa_step, 1.0)
    # without progress second-order terms mislead: step towards the central path without them
    sigma = max((1.0 - step) ** 3, CENTRING if stuck else 0.0)
    weight = 0.0 if stuck else step
    multiply(ds, weight, m)
    tau_step, kappa_step, step = _correct(work, shape, point, slope, sigma, weight * kappa_step * tau_step)
    axpy(step, work.change, work.ss, m)
    axpy(step, rz, work.zz, m)
    axpy(step, work.x1, work.xx, n)
    return tau + step * tau_step, kappa + step * kappa_step, step


@internal
def _correct(work: ConeWorkspace, shape: Shape, point: Point, slope: float, sigma: float, second: float):
    """Find the direction towards σ μ with second-order terms from ds and z1; return Δτ, Δκ and the length of the
    step."""
    n, m, tau, kappa, mu = shape.n, shape.m, point.tau, point.kappa, point.mu
    co.centre(work, shape, work.ds, work.z1, sigma * mu, work.centred)
    product = kappa * tau + second - sigma * mu
    tau_step = _direction(work, n, m, tau, point.residual, product, 1.0 - sigma, slope)
    kappa_step = -(product + kappa * tau_step) / tau
    _refine(work, shape, tau_step, 1.0 - sigma)
    # Δs from the primal equations themselves: computed with W its rounding would grow with W
    for i in range(m):
        change = work.h[i] * tau_step - (1.0 - sigma) * work.primal[i]
        work.change[i] = change - dot(work.g + i * n, work.x1, n)
    co.over_scaling(work, shape, work.change, work.ds)
    return tau_step, kappa_step, _length(work, shape, tau, kappa, tau_step, kappa_step, STEP_TO_BOUNDARY)


@internal
def _direction(
    work: ConeWorkspace,
    n: int,
    m: int,
    tau: float,
    tau_residual: float,
    product: float,
    share: float,
    slope: float,
):
    """Write the direction Δx to x1 and Δz to z1 for the complementarity at work.centred; return Δτ."""
    copy_scaled(-share, work.dual, work.rhs_x, n)
    for i in range(m):
        work.rhs_z[i] = work.centred[i] - share * work.missed[i]
    solve_normal(work, n, m, work.rhs_x, work.rhs_z, work.x1, work.z1)
    top = share * tau_residual - product / tau + dot(work.offset, work.z1, m)
    for c in range(n):
        top += (work.q[c] + 2.0 / tau * work.px[c]) * work.x1[c]
    tau_step = top / slope
    axpy(tau_step, work.x2, work.x1, n)
    axpy(tau_step, work.z2, work.z1, m)
    return tau_step


@internal
def _refine(work: ConeWorkspace, shape: Shape, tau_step: float, share: float):
    """Refine x1 and z1 by the residual of the dual equations, left by rounding in the scaled space; leave Δz at
    rhs_z."""
    n, m = shape.n, shape.m
    rest, dz = work.rest, work.rhs_z
    co.over_scaling(work, shape, work.z1, dz)
    for _ in range(_REFINEMENTS):
        for c in range(n):
            rest[c] = dot(work.p + c * n, work.x1, n) + work.q[c] * tau_step + share * work.dual[c]
        add_transposed(work.g, m, n, dz, rest)
        solve_l_transposed(work.normal, n, rest)
        solve_l(work.normal, n, rest)
        axpy(-1.0, rest, work.x1, n)
        # Δz is updated, not computed anew from z1: this would round as much as before
        times(work.turned, m, n, rest, work.missed)
        co.over_scaling(work, shape, work.missed, work.centred)
        for i in range(m):
            work.z1[i] -= work.missed[i]
            dz[i] -= work.centred[i]


@internal
def _length(
    work: ConeWorkspace,
    shape: Shape,
    tau: float,
    kappa: float,
    tau_step: float,
    kappa_step: float,
    back: float,
):
    """Return the length of the step along the direction, at most 1: ``back`` times the way to the boundary."""
    most = max(-tau_step / tau, -kappa_step / kappa)
    most = max(most, co.longest_step(work, shape, work.ds))
    most = max(most, co.longest_step(work, shape, work.z1))
    return min(1.0, back / most) if most > 0.0 else 1.0


@internal
def _keep(work: ConeWorkspace, n: int, m: int, tau: float, x: Floats, slack: Floats, dual: Floats):
    """Store an iterate, divided by τ, as the best so far."""
    for c in range(n):
        work.best[c] = x[c] / tau
    for i in range(m):
        work.best[n + i] = slack[i] / tau
        work.best[n + m + i] = dual[i] / tau
