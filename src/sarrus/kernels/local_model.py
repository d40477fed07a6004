"""Local coordinates about a state, and the exact linear model of the motion in them.

With Z an orthonormal basis of the null space of A at the state, and Z_h of that of its holonomic rows, the coordinates
are

    y = R q,  R = Z_hᵀ N⁺ (constant),    η = Zᵀ v,

with ẏ = R N(q) v and η̇ = Zᵀ a. Without nonholonomic rows and where N = 1 this is y = Zᵀ q, η = ẏ: the tangent space as
a chart (Potra and Yen 1991; Spencer 2004, section 2.3). Z exists for any rank, so redundant rows change nothing. The
model is that of `sarrus.linear.reduction` with these rows:

    A d = −∂φ/∂t,  Z_hᵀ d = δy;    A δv = −∂ψ,  Zᵀ δv = δη;    [M, −Aᵀ; A, 0] (δa, δλ) = −(δF, δG).
"""

from __future__ import annotations

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.projection import move
from sarrus.kernels.stepping import set_control

# Distance of central differences: the cube root of the rounding of one.
DIFFERENCE = 6e-6


@internal
def linearize(table, x, local, at, s, ws, perm):
    """Write coordinates, directions and model at x to ``local``; False where the rank is not the generic one."""
    settings = flat_at(table[la.SETTINGS])
    nq, nv, nu, nh, nc = table[la.NQ], table[la.NV], table[la.NU], table[la.NH], table[la.NC]
    bound, rank, simple = table[la.HOLONOMIC_RANK], table[la.GENERIC_RANK], table[la.SIMPLE_RATE] == 1
    ny, dof, size = nv - bound, nv - rank, la.input_size(table)
    n = ny + dof
    for i in range(size):
        local[at.start + i] = x[i]
    start = local + at.start
    set_control(table, start, s, ws)
    if call_kernel(table[la.ACCELERATION], table, start, la.ANSWER) < 0:
        return False
    for i in range(nv + nc):
        local[at.start + size + i] = s[ws.a + i]
    call_native(table[la.LINEAR], local, at.start, local, at.terms)
    mass = at.terms
    jacobian = mass + nv * nv
    force_q = jacobian + nc * nv
    force_v = force_q + nv * (nv + 1)
    bias_q = force_v + nv * nv
    bias_v = bias_q + nc * (nv + 1)
    slip_q = bias_v + nc * nv
    actuation = slip_q + nc * (nv + 1)
    rate_q = actuation + nv * nu

    # Directions of the coordinates, and how the configuration drifts with time: ∂φ/∂t = ψ − A v = −A v.
    if not _factor(local, at.work, jacobian, nh, nv, bound, settings, perm):
        return False
    _null_space(local, at.work, nh, nv, bound, at.place)
    drift, time = at.place + ny * nv, at.along + n * nv
    _clear(local, at.bias, nh)
    add_product(local, jacobian, nh, nv, nv, at.start + nq, at.bias, 1.0)
    _least_norm(local, at.work, nh, nv, bound, perm, at.bias, drift)
    if nc > nh and not _factor(local, at.work, jacobian, nc, nv, rank, settings, perm):
        return False
    _null_space(local, at.work, nc, nv, rank, at.motions)
    for k in range(ny + 1):
        _clear(local, at.bias, nc)
        add_product(local, slip_q, nc, nv + 1, nv, at.place + k * nv, at.bias, -1.0)
        if k == ny:
            _add_column(local, slip_q, nc, nv + 1, nv, at.bias, -1.0)
        _least_norm(local, at.work, nc, nv, rank, perm, at.bias, at.along + k * nv if k < ny else time)
    for k in range(dof * nv):
        local[at.along + ny * nv + k] = local[at.motions + k]
    if simple:
        for k in range(ny * nv):
            local[at.coordinates + k] = local[at.place + k]
    else:
        call_native(table[la.RATE_MATRIX], x, 0, local, at.first_rates)
        if not _coordinate_rows(local, at, nq, nv, ny):
            return False

    # Zᵀ M Z
    for r in range(dof):
        _clear(local, at.force, nv)
        add_product(local, mass, nv, nv, nv, at.motions + r * nv, at.force, 1.0)
        _clear(local, at.inertia + r * dof, dof)
        add_product(local, at.motions, dof, nv, nv, at.force, at.inertia + r * dof, 1.0)
    if not fa.cholesky_ltl(local, at.inertia, dof):
        return False

    for k in range(n + 1):
        along = at.along + k * nv
        place = at.place + (k if k < ny else ny) * nv
        placed = k < ny or k == n
        _clear(local, at.force, nv)
        _clear(local, at.bias, nc)
        _clear(local, at.way, nq)
        add_product(local, force_v, nv, nv, nv, along, at.force, 1.0)
        add_product(local, bias_v, nc, nv, nv, along, at.bias, -1.0)
        if placed:
            add_product(local, force_q, nv, nv + 1, nv, place, at.force, 1.0)
            add_product(local, bias_q, nc, nv + 1, nv, place, at.bias, -1.0)
            if not simple:
                add_product(local, rate_q, nq, nv + 1, nv, place, at.way, 1.0)
        if k == n:
            _add_column(local, force_q, nv, nv + 1, nv, at.force, 1.0)
            _add_column(local, bias_q, nc, nv + 1, nv, at.bias, -1.0)
            if not simple:
                _add_column(local, rate_q, nq, nv + 1, nv, at.way, 1.0)
        if table[la.LAW] != 0:
            _control_change(table, local, at, place, along, placed, k == n, s, ws)
            add_product(local, actuation, nv, nu, nu, at.control, at.force, -1.0)
        _least_norm(local, at.work, nc, nv, rank, perm, at.bias, at.change)
        add_product(local, mass, nv, nv, nv, at.change, at.force, 1.0)
        _clear(local, at.change, dof)
        add_product(local, at.motions, dof, nv, nv, at.force, at.change, -1.0)
        fa.solve_l_transposed(local, at.inertia, dof, at.change)
        fa.solve_l(local, at.inertia, dof, at.change)
        for r in range(dof):
            local[at.model + (ny + r) * (n + 1) + k] = local[at.change + r]
        # ẏ: where all rows are holonomic Z_hᵀ δv is δη
        _clear(local, at.change, ny)
        if nc > nh:
            add_product(local, at.place, ny, nv, nv, along, at.change, 1.0)
        elif ny <= k < n:
            local[at.change + k - ny] = 1.0
        if placed and not simple:
            add_product(local, at.coordinates, ny, nq, nq, at.way, at.change, 1.0)
        for r in range(ny):
            local[at.model + r * (n + 1) + k] = local[at.change + r]
    return True


@internal
def _control_change(table, local, at, place, along, placed, in_time, s, ws):
    """Write how the controls of a law change along a direction, by central differences."""
    nq, nv, nu = table[la.NQ], table[la.NV], table[la.NU]
    state, longest = local + at.state, 1.0
    for i in range(nv):
        longest = max(longest, abs(local[along + i]), abs(local[place + i]) if placed else 0.0)
    distance = DIFFERENCE / longest
    _clear(local, at.control, nu)
    for side in range(2):
        part = distance if side == 0 else -distance
        for i in range(la.input_size(table)):
            state[i] = local[at.start + i]
        for i in range(nv):
            state[nq + i] += part * local[along + i]
            s[ws.step + i] = part * local[place + i]
        if in_time:
            state[nq + nv + nu] += part
        if placed:
            move(table, state, s, ws.step, ws.x)
        set_control(table, state, s, ws)
        for k in range(nu):
            local[at.control + k] += 0.5 * state[nq + nv + k] / part


@internal
def _coordinate_rows(local, at, nq, nv, ny):
    """Write R = Z_hᵀ N⁺, N⁺ = (NᵀN)⁻¹ Nᵀ; False where N has no full rank."""
    gram = at.turned
    for i in range(nv):
        for j in range(nv):
            value = 0.0
            for k in range(nq):
                value += local[at.first_rates + k * nv + i] * local[at.first_rates + k * nv + j]
            local[gram + i * nv + j] = value
    if not fa.cholesky_ltl(local, gram, nv):
        return False
    for r in range(ny):
        for i in range(nv):
            local[at.force + i] = local[at.place + r * nv + i]
        fa.solve_l_transposed(local, gram, nv, at.force)
        fa.solve_l(local, gram, nv, at.force)
        _clear(local, at.coordinates + r * nq, nq)
        add_product(local, at.first_rates, nq, nv, nv, at.force, at.coordinates + r * nq, 1.0)
    return True


@internal
def _factor(s, w, jacobian, m, n, limit, settings, perm):
    """Copy the m rows at ``jacobian`` to w and factor them, vectors following; False where the rank is below limit."""
    for k in range(m * n):
        s[w + k] = s[jacobian + k]
    diagonal, big = w + m * n, m + n + 1
    cut, scale = settings[la.SINGULAR_CUT], settings[la.SCALE_OF_ROWS]
    rank = fa.factor(s, w, m, n, limit, cut, scale, perm, diagonal, diagonal + big, diagonal + 3 * big)
    if 0 <= rank < m:
        fa.reduce(s, w, m, n, rank, diagonal, diagonal + 2 * big)
    return rank == limit


@internal
def _least_norm(s, w, m, n, rank, perm, b, x):
    """Write A⁺ b for the m × n matrix that `_factor` left at w."""
    diagonal, big = w + m * n, m + n + 1
    beta, beta2, y = diagonal + big, diagonal + 2 * big, diagonal + 4 * big
    fa.least_squares(s, w, m, n, rank, perm, diagonal, beta, beta2, b, y, x)


@internal
def _null_space(s, w, m, n, rank, rows):
    """Write an orthonormal basis of the null space of the matrix that `_factor` left at w, as rows."""
    beta = w + m * n + m + n + 1
    for r in range(n - rank):
        _clear(s, rows + r * n, n)
        s[rows + r * n + rank + r] = 1.0
        fa.apply_q(s, w, n, rank, beta, rows + r * n)


@internal
def _clear(s, first, count):
    for i in range(first, first + count):
        s[i] = 0.0


@internal
def add_product(s, a, m, stride, n, x, out, sign):
    """Add ± a x to out, a the m × n matrix with rows ``stride`` apart."""
    for i in range(m):
        row, value = a + i * stride, 0.0
        for c in range(n):
            value += s[row + c] * s[x + c]
        s[out + i] += sign * value


@internal
def _add_column(s, a, m, stride, column, out, sign):
    for i in range(m):
        s[out + i] += sign * s[a + i * stride + column]
