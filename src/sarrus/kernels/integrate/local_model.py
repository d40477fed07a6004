"""Local coordinates about a state, and the exact linear model of the motion in them.

With Z an orthonormal basis of the null space of A at the state, and Z_h of that of its holonomic rows, the
coordinates are

    y = R q,  R = Z_hᵀ N⁺ (constant),    η = Zᵀ v,

with ẏ = R N(q) v and η̇ = Zᵀ a. Without nonholonomic rows and where N = 1 this is y = Zᵀ q, η = ẏ: the tangent space
as a chart (Potra and Yen 1991; Spencer 2004, section 2.3). Z exists for any rank, so redundant rows change nothing.
The model is that of `sarrus.analysis.linear.reduction` with these rows:

    A d = −∂φ/∂t,  Z_hᵀ d = δy;    A δv = −∂ψ,  Zᵀ δv = δη;    [M, −Aᵀ; A, 0] (δa, δλ) = −(δF, δG).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.factor import Matrix
from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import copy, copy_scaled, dot, fill
from sarrus.kernels.integrate.mode_tangent import (
    NOTHING_ACTS,
    add_force_changes,
    add_held,
    load_tangent,
    particular_change,
)
from sarrus.kernels.integrate.stepping import set_control
from sarrus.kernels.integrate.tolerances import JACOBIAN_DIFFERENCE
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.local_layout import LocalArray
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal


class Terms(NamedTuple):
    """Derivatives of the equations of motion, in the order of `sarrus.motion.loop.local_model.TERMS`."""

    mass: Any
    jacobian: Any
    force_q: Any  # by q and t, as all of _q
    force_v: Any
    bias_q: Any
    bias_v: Any
    slip_q: Any
    actuation: Any
    rate_q: Any


@internal
def _terms(table: Table, local: LocalArray):
    """Return the derivatives of the equations of motion, views of ``local.terms``."""
    nq, nv, nu, nc = table.nq, table.nv, table.nu, table.nc
    wide = nv + 1
    sizes = Terms(nv * nv, nc * nv, nv * wide, nv * nv, nc * wide, nc * nv, nc * wide, nv * nu, nq * wide)
    return view_fields(local.terms, sizes)


@internal
def linearize(table: Table, x: Floats, local: LocalArray, work: Workspace):
    """Write local coordinates, directions and linear model at x to ``local``; return False if the rank is smaller."""
    nv, nc, size = table.nv, table.nc, la.input_size(table)
    dof = nv - table.generic_rank
    copy(x, local.start, size)
    set_control(table, local.start, work)
    if call_kernel(table.acceleration, table, local.start, la.ANSWER) < 0:
        return False
    copy(work.a, local.start + size, nv + nc)
    call_native(table.linear, local.start, local.terms)
    terms = _terms(table, local)
    if not _directions(table, x, terms, local):
        return False
    # Zᵀ M Z
    for r in range(dof):
        _clear(local.force, nv)
        add_product(terms.mass, nv, nv, nv, local.motions + r * nv, local.force, 1.0)
        _clear(local.inertia + r * dof, dof)
        add_product(local.motions, dof, nv, nv, local.force, local.inertia + r * dof, 1.0)
    if not fa.cholesky_ltl(local.inertia, dof):
        return False
    held = load_tangent(table, local)
    for k in range(nv - table.holonomic_rank + dof + 1):
        _column(table, k, held, terms, local, work)
    return True


@internal
def _directions(table: Table, x: Floats, terms: Terms, local: LocalArray):
    """Write the directions of the coordinates and the drift of the configuration, ∂φ/∂t = ψ − A v = −A v.

    Returns False if the rank of A is too small.
    """
    nq, nv, nh, nc = table.nq, table.nv, table.nh, table.nc
    bound, rank = table.holonomic_rank, table.generic_rank
    ny, dof = nv - bound, nv - rank
    A = _matrix(table, local, nh)
    if not _factor(table, A, terms.jacobian, bound):
        return False
    _null_space(A, bound, local.place)
    drift, time = local.place + ny * nv, local.along + (ny + dof) * nv
    _clear(local.bias, nh)
    add_product(terms.jacobian, nh, nv, nv, local.start + nq, local.bias, 1.0)
    _least_norm(table, A, bound, local.bias, drift)
    if nc > nh:
        A = _matrix(table, local, nc)
        if not _factor(table, A, terms.jacobian, rank):
            return False
    _null_space(A, rank, local.motions)
    for k in range(ny + 1):
        _clear(local.bias, nc)
        add_product(terms.slip_q, nc, nv + 1, nv, local.place + k * nv, local.bias, -1.0)
        if k == ny:
            _add_column(terms.slip_q, nc, nv + 1, nv, local.bias, -1.0)
        _least_norm(table, A, rank, local.bias, local.along + k * nv if k < ny else time)
    copy(local.motions, local.along + ny * nv, dof * nv)
    if table.simple_rate == 1:
        copy(local.place, local.coordinates, ny * nv)
        return True
    call_native(table.rate_matrix, x, local.first_rates)
    return _coordinate_rows(local, nq, nv, ny)


@internal
def _column(table: Table, k: int, held: int, terms: Terms, local: LocalArray, work: Workspace):
    """Write the k-th column of the linear model, the derivative of (ẏ, η̇) along the k-th direction.

    ``held`` is the number of held rows of a smooth phase, or `NOTHING_ACTS`.
    """
    nq, nv, nu, nh, nc = table.nq, table.nv, table.nu, table.nh, table.nc
    simple, ny, dof = table.simple_rate == 1, nv - table.holonomic_rank, nv - table.generic_rank
    n = ny + dof
    along = local.along + k * nv
    place = local.place + (k if k < ny else ny) * nv
    placed = k < ny or k == n
    _clear(local.force, nv)
    _clear(local.bias, nc)
    _clear(local.way, nq)
    add_product(terms.force_v, nv, nv, nv, along, local.force, 1.0)
    add_product(terms.bias_v, nc, nv, nv, along, local.bias, -1.0)
    if placed:
        add_product(terms.force_q, nv, nv + 1, nv, place, local.force, 1.0)
        add_product(terms.bias_q, nc, nv + 1, nv, place, local.bias, -1.0)
        if not simple:
            add_product(terms.rate_q, nq, nv + 1, nv, place, local.way, 1.0)
    if k == n:
        _add_column(terms.force_q, nv, nv + 1, nv, local.force, 1.0)
        _add_column(terms.bias_q, nc, nv + 1, nv, local.bias, -1.0)
        if not simple:
            _add_column(terms.rate_q, nq, nv + 1, nv, local.way, 1.0)
    if exists(table.law):
        _control_change(table, local, place, along, placed, k == n, work)
        add_product(terms.actuation, nv, nu, nu, local.control, local.force, -1.0)
    if held != NOTHING_ACTS:
        add_force_changes(table, place, along, placed, k == n, local.force)
    _least_norm(table, _matrix(table, local, nc), table.generic_rank, local.bias, local.change)
    if held != NOTHING_ACTS:
        copy(local.change, particular_change(table), nv)
    add_product(terms.mass, nv, nv, nv, local.change, local.force, 1.0)
    _clear(local.change, dof)
    add_product(local.motions, dof, nv, nv, local.force, local.change, -1.0)
    fa.solve_l_transposed(local.inertia, dof, local.change)
    fa.solve_l(local.inertia, dof, local.change)
    if held != NOTHING_ACTS:
        add_held(table, held, k, place, along, placed, k == n, local)
    for r in range(dof):
        local.model[(ny + r) * (n + 1) + k] = local.change[r]
    # ẏ: if all rows are holonomic, Z_hᵀ δv is δη
    _clear(local.change, ny)
    if nc > nh:
        add_product(local.place, ny, nv, nv, along, local.change, 1.0)
    elif ny <= k < n:
        local.change[k - ny] = 1.0
    if placed and not simple:
        add_product(local.coordinates, ny, nq, nq, local.way, local.change, 1.0)
    for r in range(ny):
        local.model[r * (n + 1) + k] = local.change[r]


@internal
def _control_change(
    table: Table,
    local: LocalArray,
    place: Floats,
    along: Floats,
    placed: bool,
    in_time: bool,
    work: Workspace,
):
    """Write the derivative of the controls of a law along a direction to ``local.control`` (nu).

    It is a central difference.
    """
    nq, nv, nu = table.nq, table.nv, table.nu
    state, longest = local.state, 1.0
    for i in range(nv):
        longest = max(longest, abs(along[i]), abs(place[i]) if placed else 0.0)
    distance = JACOBIAN_DIFFERENCE / longest
    _clear(local.control, nu)
    for side in range(2):
        part = distance if side == 0 else -distance
        copy(local.start, state, la.input_size(table))
        for i in range(nv):
            state[nq + i] += part * along[i]
            work.step[i] = part * place[i]
        if in_time:
            state[nq + nv + nu] += part
        if placed:
            retract(table, state, work.step, work.x)
        set_control(table, state, work)
        for k in range(nu):
            local.control[k] += 0.5 * state[nq + nv + k] / part


@internal
def _coordinate_rows(local: LocalArray, nq: int, nv: int, ny: int):
    """Write R = Z_hᵀ N⁺ (ny × nq), N⁺ = (NᵀN)⁻¹ Nᵀ; return False if N has no full rank."""
    gram = local.turned
    for i in range(nv):
        for j in range(nv):
            value = 0.0
            for k in range(nq):
                value += local.first_rates[k * nv + i] * local.first_rates[k * nv + j]
            gram[i * nv + j] = value
    if not fa.cholesky_ltl(gram, nv):
        return False
    for r in range(ny):
        copy(local.place + r * nv, local.force, nv)
        fa.solve_l_transposed(gram, nv, local.force)
        fa.solve_l(gram, nv, local.force)
        _clear(local.coordinates + r * nq, nq)
        add_product(local.first_rates, nq, nv, nv, local.force, local.coordinates + r * nq, 1.0)
    return True


class RowsRoom(NamedTuple):
    """Rows of A and the arrays of their factorisation, views of ``local.work``."""

    rows: Any
    diagonal: Any
    beta: Any
    beta2: Any
    norms: Any
    y: Any


@internal
def _room(local: LocalArray, m: int, n: int):
    """Return the arrays for the factorisation of m rows of length n."""
    big = m + n + 1
    return view_fields(local.work, RowsRoom(m * n, big, big, big, big, big))


@internal
def _matrix(table: Table, local: LocalArray, m: int):
    """Return the matrix (m × nv) of the first m rows of A."""
    room = _room(local, m, table.nv)
    order = la.permutation(table)
    return fa.Matrix(room.rows, m, table.nv, order, room.diagonal, room.beta, room.beta2, room.norms)


@internal
def _factor(table: Table, A: Matrix, jacobian: Floats, limit: int):
    """Factor the rows at ``jacobian``, times their factors, in ``A``; return False if the rank is below ``limit``."""
    for j in range(A.m):
        copy_scaled(la.row_factor(table, j), jacobian + j * A.n, A.rows + j * A.n, A.n)
    rank = fa.factor(A, limit, table.settings.singular_cut, la.row_scale(table))
    if 0 <= rank < A.m:
        fa.reduce(A, rank)
    return rank == limit


@internal
def _least_norm(table: Table, A: Matrix, rank: int, b: Floats, x: Floats):
    """Write A⁺ b to ``x``; b is multiplied by the factors of the rows in place."""
    for j in range(A.m):
        b[j] *= la.row_factor(table, j)
    fa.least_squares(A, rank, b, A.norms + (A.m + A.n + 1), x)


@internal
def _null_space(A: Matrix, rank: int, rows: Floats):
    """Write an orthonormal basis of the null space of A to ``rows`` ((n − rank) × n)."""
    n = A.n
    for r in range(n - rank):
        row = rows + r * n
        _clear(row, n)
        row[rank + r] = 1.0
        fa.apply_q(A, rank, row)


@internal
def _clear(values: Floats, count: int):
    fill(values, 0.0, count)


@internal
def add_product(a: Floats, m: int, stride: int, n: int, x: Floats, out: Floats, sign: float):
    """Add ``sign`` times a x to ``out`` (m), with the m × n matrix a whose rows are ``stride`` apart."""
    for i in range(m):
        out[i] += sign * dot(a + i * stride, x, n)


@internal
def _add_column(a: Floats, m: int, stride: int, column: int, out: Floats, sign: float):
    for i in range(m):
        out[i] += sign * a[i * stride + column]
