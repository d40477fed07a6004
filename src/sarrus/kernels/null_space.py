"""The constrained acceleration where M is singular (massless links): the null-space method.

    a = −A⁺γ + Z z,    Zᵀ M Z z = Zᵀ(f + M A⁺γ),

Z an orthonormal basis of the null space of A, on which M must be positive definite. Here rows and velocities are in
characteristic units, R A C⁻¹ and C a (`sarrus.dynamics.characteristic`), so that A⁺ and Z do not depend on units of
measurement.
"""

from __future__ import annotations

from sarrus.kernels import checking as ch
from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import complete_dynamics, is_finite, solve_rows
from sarrus.kernels.flat import flat_at, inlined, internal
from sarrus.kernels.native_call import call_native


def null_space_acceleration(table, x, want):
    """Do what `sarrus.kernels.acceleration.acceleration` does; M need only be positive definite on the null space.

    That one hands over to this one where M lacks inertia at single configurations; then M as it is comes from WHOLE.
    """
    settings, s = flat_at(table[la.SETTINGS]), flat_at(table[la.WORK])
    ws = la.workspace(table)
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    nv, nc = table[la.NV], table[la.NC]
    _load(table, settings, x, s, ws)
    _measure(settings, s, ws, nv, nc)
    for j in range(nc):
        s[ws.rhs + j] = -s[ws.bias + j]
        for c in range(nv):
            s[ws.copy + j * nv + c] = s[ws.rows + j * nv + c]
    looks = want == la.ANSWER or want == la.VERIFIED
    reach = 0.0
    for i in range(nv):
        if s[ws.mass + i * nv + i] > 0.0:
            reach = max(reach, abs(s[ws.force + i]) / s[ws.mass + i * nv + i])
    used = solve_rows(
        table, settings, settings[la.SCALE_OF_MEASURED_ROWS], looks, reach, x, False, s, perm, ws
    )
    if used < 0:
        return -1
    # Qᵀ M Z in place of the last columns of M, and Qᵀ(f − M a_particular) in rhs.
    for i in range(nv):
        row = ws.mass + i * nv
        value = s[ws.force + i]
        for j in range(nv):
            value -= s[row + j] * s[ws.step + j]
        s[ws.rhs + i] = value
    fa.apply_q_transposed(s, ws.rows, nv, used, ws.beta, ws.rhs)
    for i in range(nv):
        fa.apply_q_transposed(s, ws.rows, nv, used, ws.beta, ws.mass + i * nv)
    for j in range(used, nv):
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
    if want > la.SLOPE:
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
        if looks:
            s[ws.facts + la.WEAKEST] = ch.weakest(s, ws.copy, free)
            _load(table, settings, x, s, ws)
            _measure(settings, s, ws, nv, nc)
            s[ws.facts + la.UNMET] = ch.unmet_whole(s, ws, nv, nc, used, reach, settings)
            s[ws.facts + la.OUTCOME] = ch.outcome(table, settings, s, ws, used)
            if used < nc:
                s[ws.facts + la.RESIDUAL] = ch.residual(s, ws, ws.rows, ws.a, nv, nc, settings)
        for j in range(nc):
            s[ws.lam + j] *= settings[la.FACTORS + j]
        for i in range(nv):
            s[ws.reaction + i] *= settings[la.FACTORS + nc + i]
    for i in range(nv):
        s[ws.a + i] /= settings[la.FACTORS + nc + i]
    return used if is_finite(s, ws.a, nv) else -1


@inlined
def _load(table, settings, x, s, ws):
    """Evaluate M, f, A, γ and N v at x into the workspace."""
    if table[la.WHOLE] != 0:
        call_native(table[la.WHOLE], x, 0, s, ws.native)
    else:
        call_native(table[la.DYNAMICS], x, 0, s, ws.native)
    complete_dynamics(table, settings, x, s, ws)


@internal
def _measure(settings, s, ws, nv, nc):
    """Bring M, f, A and γ, where `load_dynamics` puts them, to characteristic units."""
    columns, rows = la.FACTORS + nc, la.FACTORS
    for i in range(nv):
        s[ws.extra + i] = 1.0 / settings[columns + i]
    for i in range(nv):
        factor = s[ws.extra + i]
        s[ws.force + i] *= factor
        for k in range(nv):
            s[ws.mass + i * nv + k] *= factor * s[ws.extra + k]
    for j in range(nc):
        factor = settings[rows + j]
        s[ws.bias + j] *= factor
        for k in range(nv):
            s[ws.rows + j * nv + k] *= factor * s[ws.extra + k]
