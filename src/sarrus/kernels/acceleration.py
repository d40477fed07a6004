"""The constrained acceleration: M a = f + Aᵀλ, A a = −γ, for any rank of A.

With M = LᵀL and y = L a the problem is the projection of f̂ = L⁻ᵀf on the affine set Â y = −γ, Â = A L⁻¹
(Gauss's principle: Udwadia and Kalaba, Proc. R. Soc. A 439, 1992):

    y = f̂ + Â⁺(−γ − Â f̂),    λ = (Âᵀ)⁺ (y − f̂).

Rows, γ and λ are in characteristic units meanwhile, R A, R γ and R⁻¹λ (`sarrus.dynamics.characteristic`): what is
decided of rows in metres and in radians, and the λ of least norm, then do not depend on units of measurement. Where the
rows are clearly independent and nobody asks for pivots, or there are none, straight-line code does all that
(`sarrus.equations.elimination.direct_solution`).
"""

from __future__ import annotations

from sarrus.kernels import checking as ch
from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, inlined, internal
from sarrus.kernels.native_call import call_kernel, call_native

# Clearance (squared sine) above which the condition number of the Gram matrix costs no digits that matter.
CLEAR = 0.1


def acceleration(table, x, want):
    """Put the acceleration at x = [q|v|u|t|p|τ] in the workspace with N v and what is wanted; return the rank used.

    The rank is at most the generic one in the table: what is redundant on the constraint manifold stays so at
    Runge–Kutta stages beside it, however much its pivots grow there. −1 where the problem is ill posed.
    """
    settings, s = flat_at(table[la.SETTINGS]), flat_at(table[la.WORK])
    ws = la.workspace(table)
    nv, nc = table[la.NV], table[la.NC]
    checked = want == la.ANSWER and table[la.CHECKED] != 0
    plain = want < la.PIVOTS or (want == la.PIVOTS and nc == 0)
    suits = checked or (plain and table[la.DIRECT] != 0)
    if suits and table[la.DIRECT_RANK] == table[la.GENERIC_RANK] and table[la.BAUMGARTE] == 0:
        if checked:
            call_native(table[la.CHECKED], x, 0, s, ws.a)
        else:
            call_native(table[la.DIRECT], x, 0, s, ws.a)
        size = max(s[ws.gauge + la.LARGEST_ENTRY], settings[la.SCALE_OF_EVEN_ROWS] ** 2)
        cut = max(10.0 * settings[la.SINGULAR_CUT], 1e-5)
        if (
            s[ws.gauge + la.CLEARANCE] > CLEAR
            and s[ws.gauge + la.LEAST_PIVOT] > cut * cut * size
            and (not checked or s[ws.gauge + la.MISSED] <= la.MET)
            # where M is nearly singular the rows that hold its light direction are large in the kinetic metric
            and (table[la.WHOLE] == 0 or size <= la.HEAVY * settings[la.SCALE_OF_EVEN_ROWS] ** 2)
            and is_finite(s, ws.a, nv)
        ):
            for k in range(la.N_FACTS):
                s[ws.facts + k] = 0.0
            if checked:
                if not s[ws.gauge + la.WEAKEST_MASS] < la.SINGULAR_MASS:
                    return -1
                s[ws.facts + la.WEAKEST] = s[ws.gauge + la.WEAKEST_MASS]
                if not s[ws.gauge + la.WEAKEST_MASS] <= la.ILL:
                    s[ws.facts + la.OUTCOME] = la.ILL_CONDITIONED_ANSWER
            return table[la.GENERIC_RANK]
    load_dynamics(table, settings, x, s, ws)
    good = table[la.ELIMINATION] == la.TRACED or fa.cholesky_ltl(s, ws.mass, nv)
    if table[la.WHOLE] == 0:
        if not good:
            return -1
    elif not (good and ch.weakest(s, ws.mass, nv) <= la.HEAVY):
        return call_kernel(table[la.NULL_SPACE_SOLVE], table, x, want)
    if table[la.ELIMINATION] == la.CHOLESKY:
        fa.solve_l_transposed(s, ws.mass, nv, ws.force)
        for j in range(nc):
            fa.solve_l_transposed(s, ws.mass, nv, ws.rows + j * nv)
    used = _project(table, settings, want, x, s, table + (la.QUATERNIONS + table[la.N_QUATERNIONS]), ws)
    return used if is_finite(s, ws.a, nv) else -1


@inlined
def load_dynamics(table, settings, x, s, ws):
    """Evaluate the dynamics at x into the workspace, γ with Baumgarte's terms where they are asked for."""
    call_native(table[la.DYNAMICS], x, 0, s, ws.native)
    complete_dynamics(table, settings, x, s, ws)


@inlined
def complete_dynamics(table, settings, x, s, ws):
    """Add Baumgarte's terms to γ and keep N v, once the dynamics are in the workspace."""
    if table[la.BAUMGARTE] == 1:
        _baumgarte(table, settings, x, s, ws)
    for i in range(table[la.NQ]):
        s[ws.rate + i] = s[ws.velocity + i]


@internal
def is_finite(s, first, count):
    """Tell whether the entries from ``first`` on are numbers."""
    wrong = 0.0
    for i in range(first, first + count):
        wrong += 0.0 * s[i]
    return wrong == 0.0


@inlined
def _project(table, settings, want, x, s, perm, ws):
    """Project f̂ on the constraints and return to accelerations."""
    nv, nc = table[la.NV], table[la.NC]
    for j in range(nc):
        factor, row = settings[la.FACTORS + j], ws.rows + j * nv
        inner = s[ws.bias + j] * factor
        s[ws.bias + j] = inner
        for c in range(nv):
            value = s[row + c] * factor
            inner += value * s[ws.force + c]
            s[row + c] = value
            s[ws.copy + j * nv + c] = value
        s[ws.rhs + j] = -inner
    looks = want == la.ANSWER or want == la.VERIFIED
    size = settings[la.SCALE_OF_EVEN_ROWS]
    used = solve_rows(table, settings, size, looks, 0.0, x, True, s, perm, ws)
    if used < 0:
        return -1
    weak, whole = 0.0, False
    if looks:
        weak = ch.weakest(s, ws.mass, nv)
        if not weak < la.SINGULAR_MASS:
            return -1
        whole = weak > la.FAIR
    for i in range(nv):
        s[ws.a + i] = s[ws.force + i] + s[ws.step + i]
    if want > la.SLOPE:
        fa.multipliers(s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta2, ws.y, ws.extra, ws.lam)
        if looks:
            if whole:
                fa.solve_l(s, ws.mass, nv, ws.a)
            missed = ch.unmet(s, ws, nv, nc, used, whole, settings)
            if not missed <= la.MET:
                ch.refine(s, ws, nv, nc, used, whole, perm)
                fa.multipliers(s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta2, ws.y, ws.extra, ws.lam)
                missed = ch.unmet(s, ws, nv, nc, used, whole, settings)
            s[ws.facts + la.UNMET], s[ws.facts + la.WEAKEST] = missed, weak
            s[ws.facts + la.OUTCOME] = ch.outcome(table, settings, s, ws, used)
            if used < nc:
                for i in range(nv):
                    s[ws.extra + i] = s[ws.force + i] + s[ws.step + i]
                s[ws.facts + la.RESIDUAL] = ch.residual(s, ws, ws.copy, ws.extra, nv, nc, settings)
        for j in range(nc):
            s[ws.lam + j] *= settings[la.FACTORS + j]
        for i in range(nv):
            s[ws.reaction + i] = 0.0
        for k in range(nv):
            row, weight = ws.mass + k * nv, s[ws.step + k]
            for i in range(k + 1):
                s[ws.reaction + i] += s[row + i] * weight
    if not whole:
        fa.solve_l(s, ws.mass, nv, ws.a)
    return used


@inlined
def solve_rows(table, settings, size, looks, reach, x, eliminated, s, perm, ws):
    """Factor the rows and write their minimum-norm solution for rhs to ws.step, with the facts; return the rank.

    ``size`` is the one that pivots have nearby. Where it ``looks`` at them, dependent rows are compared with the
    others (see `checking.contradiction`, with ``reach`` and ``eliminated``); they lie at ws.copy too.
    """
    nv, nc = table[la.NV], table[la.NC]
    limit, cut = table[la.GENERIC_RANK], settings[la.SINGULAR_CUT]
    used = fa.factor(s, ws.rows, nc, nv, limit, cut, size, perm, ws.diagonal, ws.beta, ws.norms)
    if used < 0:
        return -1
    _note_pivots(s, ws, min(nc, nv), limit)
    s[ws.facts + la.CONTRADICTION] = 0.0
    if used < nc:
        if looks:
            s[ws.facts + la.CONTRADICTION] = ch.contradiction(
                s, ws, nv, nc, used, perm, reach, x, table[la.NQ], eliminated, settings
            )
        fa.reduce(s, ws.rows, nc, nv, used, ws.diagonal, ws.beta2)
    s[ws.facts + la.RESIDUAL] = fa.least_squares(
        s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta, ws.beta2, ws.rhs, ws.y, ws.step
    )
    return used


@inlined
def _note_pivots(s, ws, steps, generic):
    """Note the largest pivot, the one at the generic rank and the first one beyond it."""
    s[ws.facts + la.LARGEST] = abs(s[ws.diagonal]) if steps > 0 else 0.0
    s[ws.facts + la.SMALLEST] = abs(s[ws.diagonal + generic - 1]) if 0 < generic <= steps else 0.0
    s[ws.facts + la.BEYOND] = abs(s[ws.diagonal + generic]) if generic < steps else 0.0


@internal
def _baumgarte(table, settings, x, s, ws):
    """Add 2α ψ + β² φ to γ (Baumgarte 1972)."""
    nh, nc = table[la.NH], table[la.NC]
    alpha, beta = settings[la.ALPHA], settings[la.BETA]
    call_native(table[la.VELOCITY], x, 0, s, ws.spare)
    for j in range(nc):
        s[ws.bias + j] += 2.0 * alpha * s[ws.spare + j]
    call_native(table[la.POSITION], x, 0, s, ws.spare)
    for j in range(nh):
        s[ws.bias + j] += beta * beta * s[ws.spare + j]
