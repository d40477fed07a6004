"""Linear models at many states in one compiled loop: forward dynamics, derivatives, and the algebra of
`sarrus.analysis.linear.reduction`.

All constraints must be holonomic, so that η = ẏ. Derivatives are the flat output of
`sarrus.dynamics.model.derivatives.native_derivatives`.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import axpy, copy, divide, dot, fill, set_unit, swap
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.models_layout import (
    ACTUATION,
    BIAS_Q,
    BIAS_V,
    FORCE_Q,
    FORCE_V,
    JACOBIAN,
    MASS,
    RATE2,
    RATE2_Q,
    RATE2_V,
    RATE_Q,
    RATE_V,
    VELOCITY_Q,
    ModelsTable,
    ModelsWorkspace,
    models_workspace,
)
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.models.tolerances import LOST_RANK
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.forward import answer_at


def general_models(table: ModelsTable, x: Floats, level: int) -> int:
    """Write [A | B | E | affine] (2 dof rows) at every state; return the number of states, or −1 − k if state k
    fails.

    ``good`` gets the smallest pivot of W Z (Z orthonormal) over the largest entry of W. A state fails where it is
    singular or inconsistent or has no acceleration.
    """
    own, work = table.system, models_workspace(table)
    dof, n = table.dof, 2 * table.dof
    fill(work.ways + table.nv * (n + 1), 0.0, n)
    work.ways[table.nv * (n + 1) + n] = 1.0
    for k in range(table.count):
        if not _derivatives(table, own, work, k):
            return -1 - k
        table.good[k] = _directions(table, own, work, k)
        _equations(table, own, work)
        _put_model(table, work, k, table.out + k * (n * (n + table.nu + 2)))
    return table.count if dof >= 0 else 0


@internal
def _derivatives(table: ModelsTable, own: Table, work: ModelsWorkspace, k: int):
    """Solve at state k, evaluate the derivatives and factor A; False where a part fails."""
    nq, nv, nu, nc, at, d = table.nq, table.nv, table.nu, own.nc, table.at, work.d
    size, state = la.input_size(own), own.x
    copy(table.q + k * nq, state, nq)
    copy(table.v + k * nv, state + nq, nv)
    copy(table.u + k * nu, state + (nq + nv), nu)
    state[nq + nv + nu] = table.t[k]
    fill(state + (size - nv), 0.0, nv)
    if answer_at(own, work.answer) != table.rank:
        return False
    copy(state, work.x, size)
    copy(work.answer, work.x + size, nv + nc)
    call_native(table.native, work.x, d)
    if at[RATE_V] < 0:
        copy(table.rows, work.w, table.dof * nv)
    else:
        fill(work.w, 0.0, table.dof * nv)
        _add_product(1.0, table.rows, table.dof, nq, d + at[RATE_V], nv, work.w, nv)
    copy(d + at[JACOBIAN], work.matrix, nc * nv)
    A = _matrix(table, work)
    used = fa.factor(A, table.rank, LOST_RANK, 0.0)
    if table.rank < nc:
        fa.reduce(A, table.rank)
    return used == table.rank


@internal
def _directions(table: ModelsTable, own: Table, work: ModelsWorkspace, k: int):
    """Write the derivatives of q and v by (y, ẏ, t) that the constraints determine; return the smallest pivot of
    `_basis`."""
    nv, nc, dof, at, d = table.nv, own.nc, table.dof, table.at, work.d
    width = 2 * dof + 1
    v, ways, along, bias, turning = table.v + k * nv, work.ways, work.along, work.bias, work.turning
    pivot = _basis(table, work)
    fill(turning, 0.0, dof * width)
    fill(bias, 0.0, nc * width)  # ∂φ/∂t = ψ − A v = −A v
    for j in range(own.nh):
        for i in range(nv):
            bias[j * width + width - 1] += d[at[JACOBIAN] + j * nv + i] * v[i]
    _solve(table, work, bias, turning, width, ways)
    for i in range(nv):
        copy(work.basis + i * dof, ways + i * width, dof)
    if at[RATE_Q] >= 0:
        fill(work.rates, 0.0, table.nq * width)
        _add_product(1.0, d + at[RATE_Q], table.nq, nv + 1, ways, width, work.rates, width)
        _add_product(-1.0, table.rows, dof, table.nq, work.rates, width, turning, width)
    fill(bias, 0.0, nc * width)
    _add_product(-1.0, d + at[VELOCITY_Q], nc, nv + 1, ways, width, bias, width)
    _solve(table, work, bias, turning, width, along)
    for i in range(nv):
        copy(work.basis + i * dof, along + (i * width + dof), dof)
    return pivot


@internal
def _equations(table: ModelsTable, own: Table, work: ModelsWorkspace):
    """Write ∂ÿ/∂(y, ẏ, t, u) without the change of N to ``slope``, and the part by the change of N to ``turning``."""
    nq, nv, nu, nc, dof, at, d = table.nq, table.nv, table.nu, own.nc, table.dof, table.at, work.d
    width = 2 * dof + 1
    wide, ways, along = width + nu, work.ways, work.along
    bias, slope, force, particular = work.bias, work.slope, work.force, work.particular
    fill(bias, 0.0, nc * width)
    _add_product(-1.0, d + at[BIAS_Q], nc, nv + 1, ways, width, bias, width)
    _add_product(-1.0, d + at[BIAS_V], nc, nv, along, width, bias, width)
    fill(slope, 0.0, dof * wide)
    _solve(table, work, bias, slope, wide, particular)
    fill(force, 0.0, nv * wide)
    _add_product(1.0, d + at[FORCE_Q], nv, nv + 1, ways, width, force, wide)
    _add_product(1.0, d + at[FORCE_V], nv, nv, along, width, force, wide)
    _add_product(1.0, d + at[MASS], nv, nv, particular, width, force, wide)
    for i in range(nv):
        for c in range(nu):
            force[i * wide + width + c] = -d[at[ACTUATION] + i * nu + c]
    _add_transposed_product(-1.0, work.basis, nv, dof, force, slope, wide)
    fill(work.square, 0.0, dof * dof)
    fill(work.inertia, 0.0, nv * dof)
    _add_product(1.0, d + at[MASS], nv, nv, work.basis, dof, work.inertia, dof)
    _add_transposed_product(1.0, work.basis, nv, dof, work.inertia, work.square, dof)
    _eliminate(work.square, slope, dof, wide)
    fill(work.turning, 0.0, dof * width)
    if at[RATE2] >= 0:
        fill(work.rates, 0.0, nq * width)
        _add_product(1.0, d + at[RATE2_Q], nq, nv + 1, ways, width, work.rates, width)
        _add_product(1.0, d + at[RATE2_V], nq, nv, along, width, work.rates, width)
        _add_product(1.0, table.rows, dof, nq, work.rates, width, work.turning, width)


@internal
def _put_model(table: ModelsTable, work: ModelsWorkspace, k: int, out: Floats):
    """Write [A | B | E | affine] of state k to ``out``: upper rows for ẏ, lower rows for ÿ = slope + turning."""
    nq, nv, nu, dof = table.nq, table.nv, table.nu, table.dof
    n, right, slope, v = 2 * dof, work.slope, work.turning, table.v + k * nv
    width = n + 1
    wide, long = width + nu, n + nu + 2
    acceleration = work.d + table.at[RATE2] if table.at[RATE2] >= 0 else work.answer
    fill(out, 0.0, n * long)
    for r in range(dof):
        top, bottom = out + r * long, out + (dof + r) * long
        top[dof + r] = 1.0
        for c in range(n):
            bottom[c] = right[r * wide + c] + slope[r * width + c]
        for c in range(nu):
            bottom[n + c] = right[r * wide + width + c]
        bottom[n + nu] = right[r * wide + n] + slope[r * width + n]
        for i in range(nv):
            top[n + nu + 1] += work.w[r * nv + i] * v[i]
        for i in range(nq):
            bottom[n + nu + 1] += table.rows[r * nq + i] * acceleration[i]


@internal
def _add_product(sign: float, a: Floats, m: int, n: int, b: Floats, width: int, out: Floats, wide: int):
    """Add ± a b to the first ``width`` columns of out (rows of length ``wide``), a (m × n), skipping zeros of a."""
    for i in range(m):
        for k in range(n):
            weight = sign * a[i * n + k]
            if weight != 0.0:
                axpy(weight, b + k * width, out + i * wide, width)


@internal
def _add_transposed_product(sign: float, a: Floats, n: int, m: int, b: Floats, out: Floats, width: int):
    """Add ± aᵀ b to out (m × width), a (n × m)."""
    for k in range(n):
        for i in range(m):
            axpy(sign * a[k * m + i], b + k * width, out + i * width, width)


@internal
def _matrix(table: ModelsTable, work: ModelsWorkspace):
    """Return A (nc × nv) with the vectors of its factorisation behind it; three more vectors follow."""
    m, n = table.system.nc, table.nv
    end, big = work.matrix + m * n, max(m, n) + 1
    return fa.Matrix(work.matrix, m, n, table.order, end, end + big, end + 2 * big, end + 3 * big)


@internal
def _basis(table: ModelsTable, work: ModelsWorkspace):
    """Write K = Z (W Z)⁻¹ (nv, dof); return the smallest pivot of W Z over the largest |W|. ``null`` is a buffer for
    Zᵀ."""
    nc, nv, dof = table.system.nc, table.nv, table.dof
    A, x = _matrix(table, work), work.matrix + (nc * nv + 6 * (max(nv, nc) + 1))
    w, null, square = work.w, work.null, work.square
    for c in range(dof):
        set_unit(x, table.rank + c, nv)
        fa.apply_q(A, table.rank, x)
        copy(x, null + c * nv, nv)
    for r in range(dof):
        for c in range(dof):
            square[c * dof + r] = dot(w + r * nv, null + c * nv, nv)  # (W Z)ᵀ
    least, largest = _eliminate(square, null, dof, nv), 0.0
    for r in range(dof * nv):
        largest = max(largest, abs(w[r]))
    for c in range(dof):
        for i in range(nv):
            work.basis[i * dof + c] = null[c * nv + i]
    return least / largest


@internal
def _solve(table: ModelsTable, work: ModelsWorkspace, b: Floats, c: Floats, wide: int, out: Floats):
    """Write the columns x with A x = b (least squares) and W x = c to ``out``: x = A⁺b + K (c − W A⁺b).

    Rows of c have length ``wide``.
    """
    nv, nc, dof, w = table.nv, table.system.nc, table.dof, work.w
    width, big = 2 * dof + 1, max(nv, nc) + 1
    A, right = _matrix(table, work), work.matrix + (nc * nv + 4 * big)
    y, x = right + big, right + 2 * big
    for k in range(width):
        size = 0.0
        for j in range(nc):
            right[j] = b[j * width + k]
            size += abs(b[j * width + k])
        for r in range(dof):
            size += abs(c[r * wide + k])
        if size == 0.0:
            for i in range(nv):
                out[i * width + k] = 0.0
            continue
        fa.least_squares(A, table.rank, right, y, x)
        for i in range(nv):
            out[i * width + k] = x[i]
        for r in range(dof):
            left = c[r * wide + k]
            for i in range(nv):
                left -= w[r * nv + i] * x[i]
            for i in range(nv):
                out[i * width + k] += work.basis[i * dof + r] * left


@internal
def _eliminate(a: Floats, b: Floats, n: int, m: int):
    """Replace b (n × m) by a⁻¹ b, by elimination with row pivoting; return the smallest |pivot|."""
    smallest = np.inf
    for k in range(n):
        pivot, row = k, a + k * n
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > abs(a[pivot * n + k]):
                pivot = i
        smallest = min(smallest, abs(a[pivot * n + k]))
        if pivot != k:
            swap(row, a + pivot * n, n)
            swap(b + k * m, b + pivot * m, m)
        for i in range(k + 1, n):
            weight = a[i * n + k] / a[k * n + k]
            if weight != 0.0:
                axpy(-weight, row + (k + 1), a + (i * n + k + 1), n - k - 1)
                axpy(-weight, b + k * m, b + i * m, m)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            axpy(-a[k * n + j], b + j * m, b + k * m, m)
        divide(b + k * m, a[k * n + k], m)
    return smallest
