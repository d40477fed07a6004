"""The constrained acceleration: M a = f + Aᵀλ, A a = −γ, for any rank of A.

With M = LᵀL and y = L a the problem is the projection of f̂ = L⁻ᵀf on the affine set Â y = −γ, Â = A L⁻¹
(Gauss's principle: Udwadia and Kalaba, Proc. R. Soc. A 439, 1992):

    y = f̂ + Â⁺(−γ − Â f̂),    λ = (Âᵀ)⁺ (y − f̂).

Where M is singular (massless links), the null-space method: a = −A⁺γ + Z z, Zᵀ M Z z = Zᵀ(f + M A⁺γ).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.native_call import call_native


@njit(cache=True)
def acceleration(addresses, sizes, settings, x, tau, want, a, lam, work, perm, facts):
    """Write the acceleration at x = [q|v|u|t|p] to ``a`` and, if ``want``, the multipliers to ``lam``.

    The rank is at most the generic one in ``sizes``: what is redundant on the constraint manifold stays so
    at Runge–Kutta stages beside it, however much its pivots grow there.
    ``tau`` is an applied generalized force, or empty. ``facts`` gets (least-squares residual of
    A a + γ, its scale, largest and smallest generic pivot, first pivot beyond the generic rank).
    Returns the rank used, or −1 where the problem is ill posed. In ``work`` stay the native output, with
    N v in its last nq entries, and, if ``want``, Aᵀλ at `reaction_offset`.
    """
    nq, nv, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NC]
    out = work[: la.dynamics_size(sizes)]
    call_native(addresses[la.DYNAMICS], x, out)
    p0 = nv * nv
    p1 = p0 + nv
    p2 = p1 + nc * nv
    mass, force, rows, gamma = out[:p0], out[p0:p1], out[p1:p2], out[p2 : p2 + nc]
    big = max(nv, nc) + 1
    q0 = la.dynamics_size(sizes)
    y, step, rhs = work[q0 : q0 + big], work[q0 + big : q0 + 2 * big], work[q0 + 2 * big : q0 + 3 * big]
    diagonal, beta = work[q0 + 3 * big : q0 + 4 * big], work[q0 + 4 * big : q0 + 5 * big]
    beta2, norms = work[q0 + 5 * big : q0 + 6 * big], work[q0 + 6 * big : q0 + 7 * big]
    extra, reaction = work[q0 + 7 * big : q0 + 8 * big], work[q0 + 8 * big : q0 + 9 * big]
    if sizes[la.BAUMGARTE] == 1:
        _baumgarte(addresses, sizes, settings, x, gamma)
    limit, cut = sizes[la.GENERIC_RANK], settings[la.SINGULAR_CUT]

    mode = sizes[la.ELIMINATION]
    if mode == la.NULL_SPACE:
        for i in range(tau.shape[0]):
            force[i] += tau[i]
        used = _null_space(
            nv, nc, mass, force, rows, gamma, limit, cut, a, lam, want,
            y, step, rhs, diagonal, beta, beta2, norms, perm, extra, reaction, facts,
        )  # fmt: skip
    else:
        if mode == la.CHOLESKY:
            if not fa.cholesky_ltl(mass, nv):
                return -1
            fa.solve_l_transposed(mass, nv, force, 0)
            for j in range(nc):
                fa.solve_l_transposed(mass, nv, rows, j * nv)
        if tau.shape[0] == nv:
            for i in range(nv):
                step[i] = tau[i]
            fa.solve_l_transposed(mass, nv, step, 0)
            for i in range(nv):
                force[i] += step[i]
        scale = 0.0
        for j in range(nc):
            inner = gamma[j]
            scale += gamma[j] * gamma[j]
            for c in range(nv):
                inner += rows[j * nv + c] * force[c]
            rhs[j] = -inner
            scale += inner * inner
        used = fa.factor(rows, nc, nv, limit, cut, perm, diagonal, beta, norms)
        _pivots(diagonal, min(nc, nv), sizes[la.GENERIC_RANK], facts)
        if used < nc:
            fa.reduce(rows, nc, nv, used, diagonal, beta2)
        facts[0] = fa.least_squares(rows, nc, nv, used, perm, diagonal, beta, beta2, rhs, y, step)
        facts[1] = np.sqrt(scale)
        if want:
            fa.multipliers(rows, nc, nv, used, perm, diagonal, beta2, y, extra, lam)
            for i in range(nv):
                value = 0.0
                for k in range(i, nv):
                    value += mass[k * nv + i] * step[k]
                reaction[i] = value
        for i in range(nv):
            a[i] = force[i] + step[i]
        fa.solve_l(mass, nv, a)
    for i in range(nv):
        if not np.isfinite(a[i]):
            return -1
    return used


@njit(cache=True)
def reaction_offset(sizes):
    """Return where in the workspace `acceleration` leaves the constraint force Aᵀλ."""
    return la.dynamics_size(sizes) + 8 * (max(sizes[la.NV], sizes[la.NC]) + 1)


@njit(cache=True, inline="always")
def _pivots(diagonal, steps, generic, facts):
    """Note the largest pivot, the one at the generic rank and the first one beyond it."""
    facts[2] = abs(diagonal[0]) if steps > 0 else 0.0
    facts[3] = abs(diagonal[generic - 1]) if 0 < generic <= steps else 0.0
    facts[4] = abs(diagonal[generic]) if generic < steps else 0.0


@njit(cache=True)
def _baumgarte(addresses, sizes, settings, x, gamma):
    """Add 2α ψ + β² φ to γ (Baumgarte 1972)."""
    nh, nc = sizes[la.NH], sizes[la.NC]
    alpha, beta = settings[la.ALPHA], settings[la.BETA]
    buffer = np.empty(max(nh * (sizes[la.NV] + 2), nc * (sizes[la.NV] + 1)) + 1)
    call_native(addresses[la.VELOCITY], x, buffer)
    for j in range(nc):
        gamma[j] += 2.0 * alpha * buffer[j]
    call_native(addresses[la.POSITION], x, buffer)
    for j in range(nh):
        gamma[j] += beta * beta * buffer[j]


@njit(cache=True)
def _null_space(
    nv, nc, mass, force, rows, gamma, limit, cut, a, lam, want,
    y, step, rhs, diagonal, beta, beta2, norms, perm, extra, reaction, facts,
):  # fmt: skip
    """Solve with a basis of the null space of A; M need only be positive definite on it."""
    scale = 0.0
    for j in range(nc):
        rhs[j] = -gamma[j]
        scale += gamma[j] * gamma[j]
    used = fa.factor(rows, nc, nv, limit, cut, perm, diagonal, beta, norms)
    facts[2] = abs(diagonal[0]) if nc > 0 else 0.0
    _pivots(diagonal, min(nc, nv), limit, facts)
    if used < nc:
        fa.reduce(rows, nc, nv, used, diagonal, beta2)
    facts[0] = fa.least_squares(rows, nc, nv, used, perm, diagonal, beta, beta2, rhs, y, step)
    facts[1] = np.sqrt(scale)
    # Qᵀ M Q in place of M, and Qᵀ(f − M a_particular).
    for i in range(nv):
        value = force[i]
        for j in range(nv):
            value -= mass[i * nv + j] * step[j]
        rhs[i] = value
    fa.apply_q_transposed(rows, nv, used, beta, rhs)
    for i in range(nv):
        fa.apply_q_transposed(rows, nv, used, beta, mass[i * nv : (i + 1) * nv])
    for j in range(nv):
        for i in range(nv):
            extra[i] = mass[i * nv + j]
        fa.apply_q_transposed(rows, nv, used, beta, extra[:nv])
        for i in range(nv):
            mass[i * nv + j] = extra[i]
    free = nv - used
    reduced = np.empty(free * free + 1)
    largest = 0.0
    for i in range(free):
        for j in range(free):
            reduced[i * free + j] = mass[(used + i) * nv + used + j]
        largest = max(largest, reduced[i * free + i])
    if not fa.cholesky_ltl(reduced, free):
        return -1
    for i in range(free):
        if not reduced[i * free + i] ** 2 > 1e-14 * largest:
            return -1
    z = rhs[used:]
    fa.solve_l_transposed(reduced, free, z, 0)
    fa.solve_l(reduced, free, z[:free])
    for i in range(nv):
        a[i] = z[i - used] if i >= used else 0.0
    if want:
        # First block of Qᵀ(M a − f) = rows of Qᵀ M Q [0; z] − Qᵀ(f − M a_particular).
        for i in range(used):
            value = -rhs[i]
            for j in range(free):
                value += mass[i * nv + used + j] * z[j]
            y[i] = value
        fa.multipliers(rows, nc, nv, used, perm, diagonal, beta2, y, extra, lam)
        for i in range(nv):
            reaction[i] = y[i] if i < used else 0.0
        fa.apply_q(rows, nv, used, beta, reaction[:nv])
    fa.apply_q(rows, nv, used, beta, a)
    for i in range(nv):
        a[i] += step[i]
    return used
