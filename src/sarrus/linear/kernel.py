"""Linear models at many states in one compiled loop: forward dynamics, derivatives, and the algebra of `reduction`.

It serves constraints that are all holonomic, where η = ẏ. Derivatives come as the flat output of
`sarrus.dynamics.derivatives.native_derivatives`; ``at`` holds the offsets of its outputs in the order of `OUTPUTS`.
"""

# Numba's intrinsics take a typing context as first argument, which the caller does not give.
# mypy: disable-error-code="call-arg, var-annotated"

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numba import njit

from sarrus.dynamics.derivatives import Derivatives
from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.dispatched import kept
from sarrus.kernels.flat import flat, table_at
from sarrus.kernels.forward import forward
from sarrus.kernels.native_call import call_native
from sarrus.kernels.vectors import axpy, copy, divide, dot, set_unit, swap

# Those of `Derivatives`, in its order.
MASS, JACOBIAN, ACTUATION, FORCE_Q, BIAS_Q, VELOCITY_Q, FORCE_V, BIAS_V = range(8)
RATE_V, RATE2, RATE_Q, RATE2_Q, RATE2_V = range(8, 13)  # −1 in ``at`` where N is the identity
OUTPUTS = tuple(entry.name for entry in fields(Derivatives))


# Rows whose pivot is below this part of the largest one have not the rank that forward dynamics found.
DEPENDENT = 1e-12


@kept(error_model="numpy")
def linear_models(table, native, at, n_out, q, v, u, t, rows, rank, pivots, out):
    """Write [A | B | E | affine] at every state (leading axis of q, v, u, t, pivots, out); return their number.

    ``rows`` is R of y = R q, (dof × nq) by rows in one flat array, ``rank`` that of A. ``pivots`` gets the smallest
    pivot of W Z, Z orthonormal, over the largest entry of W. A state that is singular or inconsistent or has no
    acceleration ends it: then −1 − its index is returned.
    """
    own = table_at(flat(table))
    nq, nv, nu, nh, nc = own.nq, own.nv, own.nu, own.nh, own.nc
    dof = nv - rank
    n = 2 * dof
    width = n + 1  # columns: y, ẏ, t; then those of u
    size, big = la.input_size(own), max(nv, nc) + 1
    answer, tau = np.empty(2 * nv + nc + la.N_FACTS + nq + nv), np.zeros(nv)
    x, d = np.empty(size + nv + nc), np.empty(n_out)
    room, perm = np.zeros(nc * nv + 7 * big), np.zeros(nc + 1, np.int64)
    basis, inertia = np.zeros((nv, dof)), np.zeros((nv, dof))
    square, null, w = np.zeros((dof, dof)), np.zeros((dof, nv)), np.zeros((dof, nv))
    ways, along = np.zeros((nv + 1, width)), np.zeros((nv, width))
    force, bias, particular = np.zeros((nv, width + nu)), np.zeros((nc, width)), np.zeros((nv, width))
    turning, slope, rates = np.zeros((dof, width)), np.zeros((dof, width + nu)), np.zeros((nq, width))
    state = own.x
    ways[nv, width - 1] = 1.0
    for k in range(q.shape[0]):
        copy(flat(u) + k * nu, state + (nq + nv), nu)
        if forward(table, q[k], v[k], tau, t[k], answer) != rank:
            return -1 - k
        copy(state, flat(x), size)
        x[size:] = answer[: nv + nc]
        call_native(native, x, d)
        if at[RATE_V] < 0:
            w[:] = rows.reshape(dof, nv)
        else:
            w[:] = 0.0
            _add_product(1.0, rows, 0, d[at[RATE_V] : at[RATE_V] + nq * nv].reshape(nq, nv), w)
        if not _factor(room, d, at[JACOBIAN], nc, nv, rank, perm, big):
            return -1 - k
        pivots[k] = _basis(room, perm, nc, nv, rank, big, w, square, null, basis)
        ways[:nv] = 0.0
        along[:] = 0.0
        turning[:] = 0.0
        bias[:] = 0.0  # ∂φ/∂t = ψ − A v = −A v
        for j in range(nh):
            for i in range(nv):
                bias[j, width - 1] += d[at[JACOBIAN] + j * nv + i] * v[k, i]
        _solve(room, perm, rank, big, bias, turning, w, basis, ways)
        for i in range(nv):
            for c in range(dof):
                ways[i, c] = basis[i, c]
        if at[RATE_Q] >= 0:
            rates[:] = 0.0
            _add_product(1.0, d, at[RATE_Q], ways, rates)
            _add_product(-1.0, rows, 0, rates, turning)
        bias[:] = 0.0
        _add_product(-1.0, d, at[VELOCITY_Q], ways, bias)
        _solve(room, perm, rank, big, bias, turning, w, basis, along)
        for i in range(nv):
            for c in range(dof):
                along[i, dof + c] = basis[i, c]
        bias[:] = 0.0
        _add_product(-1.0, d, at[BIAS_Q], ways, bias)
        _add_product(-1.0, d, at[BIAS_V], along, bias)
        slope[:] = 0.0
        _solve(room, perm, rank, big, bias, slope, w, basis, particular)
        force[:] = 0.0
        _add_product(1.0, d, at[FORCE_Q], ways, force)
        _add_product(1.0, d, at[FORCE_V], along, force)
        _add_product(1.0, d, at[MASS], particular, force)
        for i in range(nv):
            for c in range(nu):
                force[i, width + c] = -d[at[ACTUATION] + i * nu + c]
        _add_transposed_product(-1.0, basis, force, slope)
        square[:] = 0.0
        inertia[:] = 0.0
        _add_product(1.0, d, at[MASS], basis, inertia)
        _add_transposed_product(1.0, basis, inertia, square)
        _eliminate(square, slope)
        turning[:] = 0.0
        acceleration = answer[:nv]
        if at[RATE2] >= 0:
            rates[:] = 0.0
            _add_product(1.0, d, at[RATE2_Q], ways, rates)
            _add_product(1.0, d, at[RATE2_V], along, rates)
            _add_product(1.0, rows, 0, rates, turning)
            acceleration = d[at[RATE2] : at[RATE2] + nq]
        _put_model(out[k], slope, turning, w, v[k], rows, acceleration, nq)
    return q.shape[0]


@njit
def _put_model(out, right, slope, w, v, rows, acceleration, nq):
    """Put [A | B | E | affine] of one state together: ẏ is itself, ÿ = right + slope, with what is there at rest."""
    dof, width = slope.shape
    n, nu = width - 1, right.shape[1] - width
    out[:] = 0.0
    for r in range(dof):
        out[r, dof + r] = 1.0
        for c in range(n):
            out[dof + r, c] = right[r, c] + slope[r, c]
        for c in range(nu):
            out[dof + r, n + c] = right[r, width + c]
        out[dof + r, n + nu] = right[r, n] + slope[r, n]
        for i in range(len(v)):
            out[r, n + nu + 1] += w[r, i] * v[i]
        for i in range(len(acceleration)):
            out[dof + r, n + nu + 1] += rows[r * nq + i] * acceleration[i]
    return out.size


@njit
def _add_product(sign, a, start, b, out):
    """Add ± a b to the first columns of out, skipping zeros of a, by rows in a flat array from ``start`` on."""
    left, right, sums = flat(a), flat(b), flat(out)
    (m, wide), (n, width) = out.shape, b.shape
    for i in range(m):
        for k in range(n):
            weight = sign * left[start + i * n + k]
            if weight != 0.0:
                axpy(weight, right + k * width, sums + i * wide, width)
    return a.size + b.size + out.size


@njit
def _add_transposed_product(sign, a, b, out):
    """Add ± aᵀ b to out."""
    left, right, sums = flat(a), flat(b), flat(out)
    (m, width), n = out.shape, b.shape[0]
    for k in range(n):
        for i in range(m):
            axpy(sign * left[k * m + i], right + k * width, sums + i * width, width)
    return a.size + b.size + out.size


@njit(error_model="numpy")
def _matrix(room, perm, m, n, big):
    """Return A, at the start of ``room``, with the vectors behind it; then come three more."""
    s, end = flat(room), flat(room) + m * n
    return fa.Matrix(s, m, n, flat(perm), end, end + big, end + 2 * big, end + 3 * big)


@njit(error_model="numpy")
def _factor(room, d, start, m, n, rank, perm, big):
    """Factor A, which lies in ``d`` from ``start`` on, at the start of ``room``; False where its rank is lower."""
    copy(flat(d) + start, flat(room), m * n)
    A = _matrix(room, perm, m, n, big)
    used = fa.factor(A, rank, DEPENDENT, 0.0)
    if rank < m:
        fa.reduce(A, rank)
    return used == rank and room.size > 0 and perm.size > 0


@njit(error_model="numpy")
def _basis(room, perm, nc, nv, rank, big, w, square, null, basis):
    """Write K = Z (W Z)⁻¹, return the smallest pivot of W Z over the largest |W|; ``null`` has room for Zᵀ."""
    A, x, dof = _matrix(room, perm, nc, nv, big), flat(room) + (nc * nv + 6 * big), nv - rank
    for c in range(dof):
        set_unit(x, rank + c, nv)
        fa.apply_q(A, rank, x)
        copy(x, flat(null) + c * nv, nv)
    for r in range(dof):
        for c in range(dof):
            square[c, r] = dot(flat(w) + r * nv, flat(null) + c * nv, nv)  # (W Z)ᵀ
    least, largest = _eliminate(square, null), 0.0
    for r in range(dof):
        for i in range(nv):
            largest = max(largest, abs(w[r, i]))
    for c in range(dof):
        for i in range(nv):
            basis[i, c] = null[c, i]
    return least / largest if room.size + perm.size > 0 else 0.0


@njit(error_model="numpy")
def _solve(room, perm, rank, big, b, c, w, basis, out):
    """Write the columns x with A x = b (least squares) and W x = c: x = A⁺b + K (c − W A⁺b)."""
    nv, dof, m = w.shape[1], w.shape[0], b.shape[0]
    A, right = _matrix(room, perm, m, nv, big), flat(room) + (m * nv + 4 * big)
    y, x = right + big, right + 2 * big
    for k in range(b.shape[1]):
        size = 0.0
        for j in range(m):
            right[j] = b[j, k]
            size += abs(b[j, k])
        for r in range(dof):
            size += abs(c[r, k])
        if size == 0.0:
            for i in range(nv):
                out[i, k] = 0.0
            continue
        fa.least_squares(A, rank, right, y, x)
        for i in range(nv):
            out[i, k] = x[i]
        for r in range(dof):
            left = c[r, k]
            for i in range(nv):
                left -= w[r, i] * x[i]
            for i in range(nv):
                out[i, k] += basis[i, r] * left
    return room.size + perm.size


@njit(error_model="numpy")
def _eliminate(a, b):
    """Replace b by a⁻¹ b, by elimination with row pivoting; return the smallest pivot."""
    (n, m), smallest, rows, right = b.shape, np.inf, flat(a), flat(b)
    for k in range(n):
        pivot, row = k + np.abs(a[k:, k]).argmax(), rows + k * n
        smallest = min(smallest, abs(a[pivot, k]))
        if pivot != k:
            swap(row, rows + pivot * n, n)
            swap(right + k * m, right + pivot * m, m)
        for i in range(k + 1, n):
            weight = a[i, k] / a[k, k]
            if weight != 0.0:
                axpy(-weight, row + (k + 1), rows + (i * n + k + 1), n - k - 1)
                axpy(-weight, right + k * m, right + i * m, m)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            axpy(-a[k, j], right + j * m, right + k * m, m)
        divide(right + k * m, a[k, k], m)
    return smallest
