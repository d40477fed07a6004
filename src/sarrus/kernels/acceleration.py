"""The constrained acceleration: M a = f + Aᵀλ, A a = −γ, for any rank of A.

With M = LᵀL and y = L a the problem is the projection of f̂ = L⁻ᵀf on the affine set Â y = −γ, Â = A L⁻¹
(Gauss's principle: Udwadia and Kalaba, Proc. R. Soc. A 439, 1992):

    y = f̂ + Â⁺(−γ − Â f̂),    λ = (Âᵀ)⁺ (y − f̂).

Where the rows are clearly independent and nobody asks for pivots, straight-line code does all that
(`sarrus.elimination.direct_solution`). Where M is singular (massless links), the null-space method: a = −A⁺γ + Z z,
Zᵀ M Z z = Zᵀ(f + M A⁺γ).
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import internal
from sarrus.kernels.native_call import call_native

# What is wanted: a alone; λ and Aᵀλ too; the pivots too, which only the rank-revealing factorisation knows.
SLOPE, ANSWER, PIVOTS = 0, 1, 2
# Clearance (squared sine) above which the condition number of the Gram matrix costs no digits that matter.
CLEAR = 0.1


@internal
def acceleration(addresses, sizes, settings, x, want, s, perm, ws):
    """Put the acceleration at x = [q|v|u|t|p|τ] in the workspace ``s`` with N v and what is wanted.

    The rank is at most the generic one in ``sizes``: what is redundant on the constraint manifold stays so
    at Runge–Kutta stages beside it, however much its pivots grow there. Returns the rank used, or −1 where the
    problem is ill posed.
    """
    nq, nv, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NC]
    if want < PIVOTS and sizes[la.DIRECT_RANK] == sizes[la.GENERIC_RANK] and sizes[la.BAUMGARTE] == 0:
        call_native(addresses[la.DIRECT], x, 0, s, ws.a)
        size = max(s[ws.gauge + la.LARGEST_ENTRY], settings[la.SCALE_OF_WEIGHTED_ROWS] ** 2)
        cut = max(10.0 * settings[la.SINGULAR_CUT], 1e-5)
        if s[ws.gauge + la.CLEARANCE] > CLEAR and s[ws.gauge + la.LEAST_PIVOT] > cut * cut * size:
            for k in range(la.N_FACTS):
                s[ws.facts + k] = 0.0
            return sizes[la.GENERIC_RANK] if _is_finite(s, ws.a, nv) else -1
    call_native(addresses[la.DYNAMICS], x, 0, s, ws.native)
    if sizes[la.BAUMGARTE] == 1:
        _baumgarte(addresses, sizes, settings, x, s, ws)
    mode = sizes[la.ELIMINATION]
    if mode == la.NULL_SPACE:
        used = _null_space(sizes, settings, want, s, perm, ws)
    else:
        if mode == la.CHOLESKY:
            if not fa.cholesky_ltl(s, ws.mass, nv):
                return -1
            fa.solve_l_transposed(s, ws.mass, nv, ws.force)
            for j in range(nc):
                fa.solve_l_transposed(s, ws.mass, nv, ws.rows + j * nv)
        used = _project(sizes, settings, want, s, perm, ws)
    for i in range(nq):
        s[ws.rate + i] = s[ws.velocity + i]
    return used if _is_finite(s, ws.a, nv) else -1


@internal
def _is_finite(s, first, count):
    """Tell whether the entries from ``first`` on are numbers."""
    wrong = 0.0
    for i in range(first, first + count):
        wrong += 0.0 * s[i]
    return wrong == 0.0


@internal
def _project(sizes, settings, want, s, perm, ws):
    """Project f̂ on the constraints and return to accelerations."""
    nv, nc = sizes[la.NV], sizes[la.NC]
    scale = 0.0
    for j in range(nc):
        inner = s[ws.bias + j]
        scale += inner * inner
        row = ws.rows + j * nv
        for c in range(nv):
            inner += s[row + c] * s[ws.force + c]
        s[ws.rhs + j] = -inner
        scale += inner * inner
    limit, cut = sizes[la.GENERIC_RANK], settings[la.SINGULAR_CUT]
    size = settings[la.SCALE_OF_WEIGHTED_ROWS]
    used = fa.factor(s, ws.rows, nc, nv, limit, cut, size, perm, ws.diagonal, ws.beta, ws.norms)
    if used < 0:
        return -1
    _pivots(s, ws, min(nc, nv), limit)
    if used < nc:
        fa.reduce(s, ws.rows, nc, nv, used, ws.diagonal, ws.beta2)
    s[ws.facts + la.RESIDUAL] = fa.least_squares(
        s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta, ws.beta2, ws.rhs, ws.y, ws.step
    )
    s[ws.facts + la.SCALE] = np.sqrt(scale)
    if want > SLOPE:
        fa.multipliers(s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta2, ws.y, ws.extra, ws.lam)
        for i in range(nv):
            s[ws.reaction + i] = 0.0
        for k in range(nv):
            row, weight = ws.mass + k * nv, s[ws.step + k]
            for i in range(k + 1):
                s[ws.reaction + i] += s[row + i] * weight
    for i in range(nv):
        s[ws.a + i] = s[ws.force + i] + s[ws.step + i]
    fa.solve_l(s, ws.mass, nv, ws.a)
    return used


@internal
def _pivots(s, ws, steps, generic):
    """Note the largest pivot, the one at the generic rank and the first one beyond it."""
    s[ws.facts + la.LARGEST] = abs(s[ws.diagonal]) if steps > 0 else 0.0
    s[ws.facts + la.SMALLEST] = abs(s[ws.diagonal + generic - 1]) if 0 < generic <= steps else 0.0
    s[ws.facts + la.BEYOND] = abs(s[ws.diagonal + generic]) if generic < steps else 0.0


@internal
def _baumgarte(addresses, sizes, settings, x, s, ws):
    """Add 2α ψ + β² φ to γ (Baumgarte 1972)."""
    nv, nh, nc = sizes[la.NV], sizes[la.NH], sizes[la.NC]
    alpha, beta = settings[la.ALPHA], settings[la.BETA]
    buffer = np.empty(max(nh * (nv + 2), nc * (nv + 1)) + 1)
    call_native(addresses[la.VELOCITY], x, 0, buffer, 0)
    for j in range(nc):
        s[ws.bias + j] += 2.0 * alpha * buffer[j]
    call_native(addresses[la.POSITION], x, 0, buffer, 0)
    for j in range(nh):
        s[ws.bias + j] += beta * beta * buffer[j]


@internal
def _null_space(sizes, settings, want, s, perm, ws):
    """Solve with a basis of the null space of A; M need only be positive definite on it."""
    nv, nc = sizes[la.NV], sizes[la.NC]
    scale = 0.0
    for j in range(nc):
        s[ws.rhs + j] = -s[ws.bias + j]
        scale += s[ws.bias + j] ** 2
    limit, cut = sizes[la.GENERIC_RANK], settings[la.SINGULAR_CUT]
    size = settings[la.SCALE_OF_ROWS]
    used = fa.factor(s, ws.rows, nc, nv, limit, cut, size, perm, ws.diagonal, ws.beta, ws.norms)
    if used < 0:
        return -1
    _pivots(s, ws, min(nc, nv), limit)
    if used < nc:
        fa.reduce(s, ws.rows, nc, nv, used, ws.diagonal, ws.beta2)
    s[ws.facts + la.RESIDUAL] = fa.least_squares(
        s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta, ws.beta2, ws.rhs, ws.y, ws.step
    )
    s[ws.facts + la.SCALE] = np.sqrt(scale)
    # Qᵀ M Q in place of M, and Qᵀ(f − M a_particular) in rhs.
    for i in range(nv):
        row = ws.mass + i * nv
        value = s[ws.force + i]
        for j in range(nv):
            value -= s[row + j] * s[ws.step + j]
        s[ws.rhs + i] = value
    fa.apply_q_transposed(s, ws.rows, nv, used, ws.beta, ws.rhs)
    for i in range(nv):
        fa.apply_q_transposed(s, ws.rows, nv, used, ws.beta, ws.mass + i * nv)
    for j in range(nv):
        for i in range(nv):
            s[ws.extra + i] = s[ws.mass + i * nv + j]
        fa.apply_q_transposed(s, ws.rows, nv, used, ws.beta, ws.extra)
        for i in range(nv):
            s[ws.mass + i * nv + j] = s[ws.extra + i]
    free = nv - used
    largest = 0.0
    for i in range(free):
        for j in range(free):
            s[ws.copy + i * free + j] = s[ws.mass + (used + i) * nv + used + j]
        largest = max(largest, s[ws.copy + i * free + i])
    if not fa.cholesky_ltl(s, ws.copy, free):
        return -1
    for i in range(free):
        if not s[ws.copy + i * free + i] ** 2 > 1e-14 * largest:
            return -1
    z = ws.rhs + used
    fa.solve_l_transposed(s, ws.copy, free, z)
    fa.solve_l(s, ws.copy, free, z)
    for i in range(nv):
        s[ws.a + i] = s[ws.rhs + i] if i >= used else 0.0
    fa.apply_q(s, ws.rows, nv, used, ws.beta, ws.a)
    for i in range(nv):
        s[ws.a + i] += s[ws.step + i]
    if want > SLOPE:
        # First block of Qᵀ(M a − f) = rows of Qᵀ M Q [0; z] − Qᵀ(f − M a_particular).
        for i in range(used):
            value = -s[ws.rhs + i]
            for j in range(free):
                value += s[ws.mass + i * nv + used + j] * s[z + j]
            s[ws.y + i] = value
        fa.multipliers(s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta2, ws.y, ws.extra, ws.lam)
        for i in range(nv):
            s[ws.reaction + i] = s[ws.y + i] if i < used else 0.0
        fa.apply_q(s, ws.rows, nv, used, ws.beta, ws.reaction)
    return used
