"""A primal-dual interior-point method for small cone programs: minimise ½ xᵀP x + qᵀx with h − G x = s ∈ K.

The program is embedded in a homogeneous one with two more variables τ, κ ≥ 0, which always has a solution: with τ > 0
it is x/τ, s/τ, z/τ; with κ > 0 there is no solution, and the iterates tend to a proof of that, z with Gᵀz = 0 and hᵀz <
0 (no x) or x with P x = 0, G x + s = 0, qᵀx < 0 (no bound). So no feasible start is needed. Quadratic costs need no
second cone (Goulart and Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives, 2024,
whose embedding this is). Directions are Mehrotra's, predictor and corrector, in the scaling of Nesterov and Todd.

Each direction solves with P + GᵀW⁻²G, of the size of x: few variables, any number of rows.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import cones as co
from sarrus.kernels.active_rows import INACTIVE, classify, optimize_active
from sarrus.kernels.cone_units import equilibrate, unscale
from sarrus.kernels.cones import dot
from sarrus.kernels.factor import (
    apply_q,
    apply_q_transposed,
    cholesky_ltl,
    factor,
    solve_l,
    solve_l_transposed,
)
from sarrus.kernels.flat import internal

# Fraction of the way to the boundary that a step may go.
_BACK = 0.99
# Part of the mean complementarity that a step leaves which gets on; what is aimed at where one left more.
_PROGRESS, _CENTRE = 0.9, 0.3
# A direction of infeasibility is a proof when it is one to this, or to that where τ is below so much κ: there
# rounding allows no more.
_PROOF, _LAST_PROOF, _SURE = 1e-9, 1e-7, 1e-18
# A sum below this multiple of its terms' sizes proves nothing.
_ROUNDING = 1e-13
# What is added to the diagonal of P, relative to its largest entry, for its square root; refinement takes it out again.
_RIDGE = 1e-15
# Relative size of a negative eigenvalue of P that rounding of its entries may have made.
_DENT = 1e-10
# Relative size below which columns of G and P together depend on each other.
_DEPENDENT = 1e-11
# Mean complementarity above which the normal matrix is factored, below which its square root.
_FAR = 1e-5
# Relative errors below which the active rows are guessed.
_NEAR = 1e-3
# Corrections of a direction for rounding.
_REFINEMENTS = 2
# Iterations without progress after which rounding is the reason, near a solution and elsewhere.
_PATIENCE, _LONG_PATIENCE = 2, 25


@internal
def interior_point(s, ws, n, linear, count, sizes, perm, limits, warm):
    """Solve the program at ws; write x, s, z and the count of iterations there. Returns one of `cone_layout`'s answers.

    ``warm`` says that x, s and z are near the solution of this program. As soon as the iterates tell which rows are
    active, Newton's method on these finishes (`sarrus.kernels.active_rows`); at a warm start that is tried first, and
    at a cold one without any.
    """
    m = linear
    for c in range(count):
        m += sizes[c]
    size, cost = equilibrate(s, ws, n, linear, count, sizes)
    if not _square_root(s, ws, n):
        return cl.INDEFINITE
    if warm:
        _recall(s, ws, n, m, size, cost)
        found = _finish(s, ws, n, m, linear, count, sizes, perm, 1.0)
    else:
        found = _finish_free(s, ws, n, m, linear, count, sizes, perm)
    if found:
        unscale(s, ws, n, m, size, cost)
        s[ws.iterations] = 0.0
        return cl.SOLVED
    endless = _find_unseen(s, ws, n, m, perm)
    degree = linear + count + 1.0
    tau = kappa = 1.0
    if warm:
        kappa = _warm_start(s, ws, m, linear, count, sizes, limits[cl.WARM_SHIFT])
    else:
        _cold_start(s, ws, n, m, linear, count, sizes)
    best, waiting, answer, iterations, before = np.inf, 0, cl.STALLED, 0, np.inf
    while True:
        tau_residual, mu, error, verdict = _residuals(
            s, ws, n, m, tau, kappa, degree, _PROOF if tau > _SURE * kappa else _LAST_PROOF
        )
        if not np.isfinite(error):
            break
        if verdict == cl.STALLED and error < best:
            waiting = 0 if error < 0.5 * best else waiting + 1
            best = error
            _keep(s, ws, n, m, tau, ws.xx, ws.ss, ws.zz)
        elif kappa < tau:
            waiting += 1
        if verdict != cl.STALLED:
            answer = verdict
            _keep(s, ws, n, m, 1.0, ws.xx, ws.ss, ws.zz)
            break
        if best <= _NEAR and kappa < tau and _finish(s, ws, n, m, linear, count, sizes, perm, tau):
            answer = cl.SOLVED
            break
        patience = _PATIENCE if best <= limits[cl.ACCEPTED] else _LONG_PATIENCE
        if best <= limits[cl.TARGET] or waiting > patience or iterations >= limits[cl.ITERATIONS]:
            break
        if not co.scale(s, ws, linear, count, sizes):
            break
        co.scale_rows(s, ws, n, linear, count, sizes)
        if mu < _FAR * tau * tau or not _factor_normal(s, ws, n, m):
            _factor_stack(s, ws, n, m)
        scaled = mu / (tau * tau + kappa * kappa)
        tau, kappa, step = _advance(
            s, ws, n, m, linear, count, sizes, tau, kappa, tau_residual, mu, scaled > _PROGRESS * before
        )
        before = scaled
        iterations += 1
        if not step > 1e-10:
            break
    if answer == cl.STALLED and best <= limits[cl.ACCEPTED]:
        answer = cl.SOLVED
    if endless and answer != cl.INFEASIBLE:
        answer = cl.UNBOUNDED
        for i in range(n):
            s[ws.best + i] = s[ws.fall + i]
        for i in range(2 * m):
            s[ws.best + n + i] = 0.0
    elif answer == cl.STALLED and not np.isfinite(best):
        return cl.NOT_FINITE
    unscale(s, ws, n, m, size, cost)
    s[ws.iterations] = iterations
    return answer


@internal
def _recall(s, ws, n, m, size, cost):
    """Make the solution that there is the iterate, in the units of the program."""
    for c in range(n):
        s[ws.xx + c] = s[ws.x + c] / (size * s[ws.columns + c])
    for i in range(m):
        s[ws.ss + i] = s[ws.s + i] * s[ws.weights + i] / size
        s[ws.zz + i] = s[ws.z + i] * (cost * size) / s[ws.weights + i]


@internal
def _finish_free(s, ws, n, m, linear, count, sizes, perm):
    """Try Newton's method without active rows."""
    for c in range(n):
        s[ws.trial + c] = 0.0
    for k in range(linear + count):
        s[ws.kind + k] = INACTIVE
    return _finish_marked(s, ws, n, m, linear, count, sizes, perm)


@internal
def _finish(s, ws, n, m, linear, count, sizes, perm, tau):
    """Try Newton's method with the rows that are active by the present iterate."""
    for c in range(n):
        s[ws.trial + c] = s[ws.xx + c] / tau
    classify(s, ws, linear, count, sizes, ws.ss, ws.zz)
    for i in range(m):
        s[ws.trial_z + i] /= tau
    return _finish_marked(s, ws, n, m, linear, count, sizes, perm)


@internal
def _finish_marked(s, ws, n, m, linear, count, sizes, perm):
    """Try Newton's method with the rows marked at ws.kind, and keep what it finds."""
    if not optimize_active(s, ws, n, m, linear, count, sizes, perm):
        return False
    _keep(s, ws, n, m, 1.0, ws.trial, ws.trial_s, ws.trial_z)
    return True


@internal
def _times(s, matrix, rows, n, x, out):
    """Write the product of a rows × n matrix with a vector."""
    for i in range(rows):
        total = 0.0
        for c in range(n):
            total += s[matrix + i * n + c] * s[x + c]
        s[out + i] = total


@internal
def _add_transposed(s, matrix, rows, n, z, out):
    """Add the product of a transposed rows × n matrix with a vector."""
    for i in range(rows):
        weight = s[z + i]
        for c in range(n):
            s[out + c] += weight * s[matrix + i * n + c]


@internal
def _square_root(s, ws, n):
    """Write L with P = LᵀL to ws.root, up to a ridge by which it exists where P is only semidefinite; False where P is
    not even that, but for rounding."""
    largest = 1e-6
    for a in range(n):
        largest = max(largest, s[ws.p + a * n + a])
    ridge = n * _RIDGE
    while ridge < _DENT:
        for i in range(n * n):
            s[ws.root + i] = s[ws.p + i]
        for a in range(n):
            s[ws.root + a * n + a] += ridge * largest
        if cholesky_ltl(s, ws.root, n):
            return True
        ridge *= 10.0
    return n == 0


@internal
def _find_unseen(s, ws, n, m, perm):
    """Give the directions that no row and no curvature sees, P d = 0 and G d = 0, a curvature and no slope, so that x
    has no part along them; True where the cost had a slope, then with the direction in which it falls at ws.fall."""
    # G at ws.turned and P behind it, at ws.normal, are one matrix of m + n rows
    beta, diagonal, norms = ws.x1, ws.x2, ws.trial
    for i in range(m * n):
        s[ws.turned + i] = s[ws.g + i]
    for i in range(n * n):
        s[ws.normal + i] = s[ws.p + i]
    rank = factor(s, ws.turned, m + n, n, n, _DEPENDENT, 0.0, perm, diagonal, beta, norms)
    if rank < 0 or rank == n:
        return False
    largest = steepest = 0.0
    for c in range(n):
        s[ws.fall + c] = s[ws.q + c]
        largest = max(largest, abs(s[ws.q + c]))
    apply_q_transposed(s, ws.turned, n, rank, beta, ws.fall)
    for c in range(rank):
        s[ws.fall + c] = 0.0
    apply_q(s, ws.turned, n, rank, beta, ws.fall)
    for c in range(n):
        s[ws.q + c] -= s[ws.fall + c]
        s[ws.fall + c] *= -1.0
        steepest = max(steepest, abs(s[ws.fall + c]))
    for k in range(rank, n):
        for c in range(n):
            s[ws.inner + c] = 1.0 if c == k else 0.0
        apply_q(s, ws.turned, n, rank, beta, ws.inner)
        for a in range(n):
            for b in range(n):
                s[ws.p + a * n + b] += s[ws.inner + a] * s[ws.inner + b]
    _square_root(s, ws, n)
    return steepest > _PROOF * largest


@internal
def _factor_normal(s, ws, n, m):
    """Write L with P + GᵀW⁻²G = LᵀL by Cholesky's method; False where rounding makes that impossible."""
    for a in range(n):
        for b in range(a + 1):
            s[ws.normal + a * n + b] = s[ws.p + a * n + b]
    for i in range(m):
        row = ws.turned + i * n
        for a in range(n):
            weight = s[row + a]
            for b in range(a + 1):
                s[ws.normal + a * n + b] += weight * s[row + b]
    return cholesky_ltl(s, ws.normal, n)


@internal
def _factor_stack(s, ws, n, m):
    """Write the same L from the square roots of both parts, by reflections: half the digits are not lost."""
    for i in range(n * n):
        s[ws.normal + i] = s[ws.root + i]
    for i in range(m * n):
        s[ws.spare + i] = s[ws.turned + i]
    for k in range(n - 1, -1, -1):
        row = ws.normal + k * n
        head, size = s[row + k], s[row + k] ** 2
        for i in range(m):
            size += s[ws.spare + i * n + k] ** 2
        size = np.sqrt(size)
        signed = -size if head > 0.0 else size
        weight, first = 1.0 / (size * (size + abs(head))), head - signed
        for j in range(k):
            s[ws.inner + j] = first * s[row + j]
        for i in range(m):
            other = ws.spare + i * n
            for j in range(k):
                s[ws.inner + j] += s[other + k] * s[other + j]
        for j in range(k):
            s[ws.inner + j] *= weight
            s[row + j] -= first * s[ws.inner + j]
        for i in range(m):
            other = ws.spare + i * n
            for j in range(k):
                s[other + j] -= s[other + k] * s[ws.inner + j]
        s[row + k] = signed


@internal
def _solve(s, ws, n, m, rhs_x, rhs_z, x, z):
    """Solve P x + Ĝᵀz = rhs_x, Ĝ x − z = rhs_z with Ĝ = W⁻¹G, z in the scaled space; refined once."""
    for c in range(n):
        s[x + c] = s[rhs_x + c]
    _add_transposed(s, ws.turned, m, n, rhs_z, x)
    solve_l_transposed(s, ws.normal, n, x)
    solve_l(s, ws.normal, n, x)
    _times(s, ws.turned, m, n, x, z)
    for i in range(m):
        s[z + i] -= s[rhs_z + i]
    rest = ws.rest
    for c in range(n):
        s[rest + c] = dot(s, ws.p + c * n, x, n) - s[rhs_x + c]
    _add_transposed(s, ws.turned, m, n, z, rest)
    solve_l_transposed(s, ws.normal, n, rest)
    solve_l(s, ws.normal, n, rest)
    for c in range(n):
        s[x + c] -= s[rest + c]
    for i in range(m):
        s[z + i] -= dot(s, ws.turned + i * n, rest, n)


@internal
def _cold_start(s, ws, n, m, linear, count, sizes):
    """Begin at the least-squares point of Nesterov and Todd's scaling by one, moved into the cone."""
    for i in range(m * n):
        s[ws.turned + i] = s[ws.g + i]
    _factor_stack(s, ws, n, m)
    for c in range(n):
        s[ws.x2 + c] = -s[ws.q + c]
    _solve(s, ws, n, m, ws.x2, ws.h, ws.xx, ws.zz)
    for i in range(m):
        s[ws.ss + i] = -s[ws.zz + i]
    for a in (ws.ss, ws.zz):
        inside = co.depth(s, a, linear, count, sizes)
        if inside < 1e-8:
            co.shift(s, a, linear, count, sizes, 1.0 - inside)


@internal
def _warm_start(s, ws, m, linear, count, sizes, by):
    """Begin at the iterate that was recalled, moved into the cone by ``by``; return κ."""
    for a in (ws.ss, ws.zz):
        inside = co.depth(s, a, linear, count, sizes)
        co.shift(s, a, linear, count, sizes, max(by, by - inside))
    return dot(s, ws.ss, ws.zz, m) / max(1.0, linear + count)


@internal
def _residuals(s, ws, n, m, tau, kappa, degree, proof):
    """Write the residuals; return that of τ, the mean complementarity, the largest relative error, and a verdict."""
    _times(s, ws.p, n, n, ws.xx, ws.px)
    for c in range(n):
        s[ws.dual + c] = 0.0
    _add_transposed(s, ws.g, m, n, ws.zz, ws.dual)
    _times(s, ws.g, m, n, ws.xx, ws.primal)
    flat = pushed = 1e-300
    still = opened = 0.0
    for c in range(n):
        still = max(still, abs(s[ws.dual + c]))
        flat = max(flat, abs(s[ws.px + c]))
        s[ws.dual + c] += s[ws.px + c] + s[ws.q + c] * tau
    for i in range(m):
        s[ws.primal + i] += s[ws.ss + i]
        opened = max(opened, abs(s[ws.primal + i]))
        pushed = max(pushed, abs(s[ws.ss + i]))
        s[ws.primal + i] -= s[ws.h + i] * tau
    curve = dot(s, ws.xx, ws.px, n)
    along, across, size = dot(s, ws.q, ws.xx, n), dot(s, ws.h, ws.zz, m), 0.0
    for i in range(m):
        size += abs(s[ws.h + i] * s[ws.zz + i])
    tau_residual = kappa + along + across + curve / tau
    mu = (dot(s, ws.ss, ws.zz, m) + tau * kappa) / degree
    if across < -_ROUNDING * size and still <= -proof * across:
        return tau_residual, mu, 0.0, cl.INFEASIBLE
    if along < 0.0 and flat <= -proof * along and opened <= -proof * along:
        return tau_residual, mu, 0.0, cl.UNBOUNDED
    wrong = missed = 0.0
    for c in range(n):
        wrong = max(wrong, abs(s[ws.dual + c]))
    for i in range(m):
        missed = max(missed, abs(s[ws.primal + i]))
    primal, dual = 0.5 * curve / tau**2 + along / tau, -0.5 * curve / tau**2 - across / tau
    wrong /= tau + max(flat, still)
    missed /= tau + pushed
    gap = abs(primal - dual) / (min(1.0, abs(primal)) + 1e-3)
    return tau_residual, mu, max(wrong, max(missed, gap)), cl.STALLED


@internal
def _advance(s, ws, n, m, linear, count, sizes, tau, kappa, tau_residual, mu, stuck):
    """Take a predictor and corrector step; return τ, κ and how far the step went."""
    rx, rz, ds = ws.rhs_x, ws.rhs_z, ws.ds
    # how the solution changes with τ, and the slope of the last equation in it
    for c in range(n):
        s[rx + c] = -s[ws.q + c]
    co.over_scaling(s, ws, linear, count, sizes, ws.h, ws.offset)
    _solve(s, ws, n, m, rx, ws.offset, ws.x2, ws.z2)
    for c in range(n):
        s[rx + c] = s[ws.x2 + c] - s[ws.xx + c] / tau
    slope = kappa / tau + dot(s, ws.z2, ws.z2, m)
    for c in range(n):
        slope += s[rx + c] * dot(s, ws.p + c * n, rx, n)
    co.over_scaling(s, ws, linear, count, sizes, ws.primal, ws.missed)
    for i in range(m):
        s[ws.centred + i] = s[ws.lam + i]
    tau_step = _direction(s, ws, n, m, tau, tau_residual, kappa * tau, 1.0, slope)
    for i in range(m):
        s[ds + i] = -s[ws.centred + i] - s[ws.z1 + i]
    kappa_step = -kappa - kappa / tau * tau_step
    step = _length(s, ws, linear, count, sizes, tau, kappa, tau_step, kappa_step, 1.0)
    # where it did not get on, second-order terms mislead: towards the central path without them
    sigma = max((1.0 - step) ** 3, _CENTRE if stuck else 0.0)
    weight = 0.0 if stuck else step
    for i in range(m):
        s[ds + i] *= weight
    tau_step, kappa_step, step = _correct(
        s, ws, n, m, linear, count, sizes, tau, kappa, tau_residual, mu, slope, sigma,
        weight * kappa_step * tau_step,
    )  # fmt: skip
    for i in range(m):
        s[ws.ss + i] += step * s[ws.change + i]
    for i in range(m):
        s[ws.zz + i] += step * s[rz + i]
    for c in range(n):
        s[ws.xx + c] += step * s[ws.x1 + c]
    return tau + step * tau_step, kappa + step * kappa_step, step


@internal
def _correct(s, ws, n, m, linear, count, sizes, tau, kappa, tau_residual, mu, slope, sigma, second):
    """Find the direction towards σ μ with second-order terms from ds and z1; return those of τ and κ and its length."""
    co.centre(s, ws, linear, count, sizes, ws.ds, ws.z1, sigma * mu, ws.centred)
    product = kappa * tau + second - sigma * mu
    tau_step = _direction(s, ws, n, m, tau, tau_residual, product, 1.0 - sigma, slope)
    kappa_step = -(product + kappa * tau_step) / tau
    _refine(s, ws, n, m, linear, count, sizes, tau_step, 1.0 - sigma)
    # s from the primal equations themselves: by way of W its rounding would grow as W does
    for i in range(m):
        change = s[ws.h + i] * tau_step - (1.0 - sigma) * s[ws.primal + i]
        s[ws.change + i] = change - dot(s, ws.g + i * n, ws.x1, n)
    co.over_scaling(s, ws, linear, count, sizes, ws.change, ws.ds)
    return tau_step, kappa_step, _length(s, ws, linear, count, sizes, tau, kappa, tau_step, kappa_step, _BACK)


@internal
def _direction(s, ws, n, m, tau, tau_residual, product, share, slope):
    """Write the direction to x1 and z1 for the complementarity at ws.centred; return that of τ."""
    for c in range(n):
        s[ws.rhs_x + c] = -share * s[ws.dual + c]
    for i in range(m):
        s[ws.rhs_z + i] = s[ws.centred + i] - share * s[ws.missed + i]
    _solve(s, ws, n, m, ws.rhs_x, ws.rhs_z, ws.x1, ws.z1)
    top = share * tau_residual - product / tau + dot(s, ws.offset, ws.z1, m)
    for c in range(n):
        top += (s[ws.q + c] + 2.0 / tau * s[ws.px + c]) * s[ws.x1 + c]
    tau_step = top / slope
    for c in range(n):
        s[ws.x1 + c] += tau_step * s[ws.x2 + c]
    for i in range(m):
        s[ws.z1 + i] += tau_step * s[ws.z2 + i]
    return tau_step


@internal
def _refine(s, ws, n, m, linear, count, sizes, tau_step, share):
    """Correct x1 and z1 for what rounding in the scaled space leaves of the dual equations; leave Δz at rhs_z."""
    rest, dz = ws.rest, ws.rhs_z
    co.over_scaling(s, ws, linear, count, sizes, ws.z1, dz)
    for _ in range(_REFINEMENTS):
        for c in range(n):
            s[rest + c] = dot(s, ws.p + c * n, ws.x1, n) + s[ws.q + c] * tau_step + share * s[ws.dual + c]
        _add_transposed(s, ws.g, m, n, dz, rest)
        solve_l_transposed(s, ws.normal, n, rest)
        solve_l(s, ws.normal, n, rest)
        for c in range(n):
            s[ws.x1 + c] -= s[rest + c]
        # not Δz anew from z1: its rounding would be as large as before
        _times(s, ws.turned, m, n, rest, ws.missed)
        co.over_scaling(s, ws, linear, count, sizes, ws.missed, ws.centred)
        for i in range(m):
            s[ws.z1 + i] -= s[ws.missed + i]
            s[dz + i] -= s[ws.centred + i]


@internal
def _length(s, ws, linear, count, sizes, tau, kappa, tau_step, kappa_step, back):
    """Return how far the direction may be followed, at most 1."""
    most = max(-tau_step / tau, -kappa_step / kappa)
    most = max(most, co.longest_step(s, ws, linear, count, sizes, ws.ds))
    most = max(most, co.longest_step(s, ws, linear, count, sizes, ws.z1))
    return min(1.0, back / most) if most > 0.0 else 1.0


@internal
def _keep(s, ws, n, m, tau, x, slack, dual):
    """Remember an iterate as the best so far."""
    for c in range(n):
        s[ws.best + c] = s[x + c] / tau
    for i in range(m):
        s[ws.best + n + i] = s[slack + i] / tau
        s[ws.best + n + m + i] = s[dual + i] / tau
