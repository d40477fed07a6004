"""One step of a Rosenbrock–Wanner method in local coordinates (`sarrus.kernels.integrate.local_model`).

(y, η) solves an ordinary differential equation without constraints. Its right-hand side is evaluated at the state of
the mechanism that has these coordinates and satisfies the constraints, found by Newton's method. Every stage and the
end of the step therefore satisfy the constraints to rounding, and the method keeps its order and stability. The
derivatives are exact, as the method requires. A step repeated from x with another length reuses the linear model at
x.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, fill, swap
from sarrus.kernels.contact.rows import power_before
from sarrus.kernels.integrate.local_model import add_product, linearize
from sarrus.kernels.integrate.mode_tangent import acts, note_work, stage_of_work
from sarrus.kernels.integrate.stepping import set_control
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.local_layout import LocalArray, local_array
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal
from sarrus.kernels.solve.chart import (
    DONE,
    GO_ON,
    Correction,
    contraction,
    correct_position,
    correct_velocity,
    position_residual,
)
from sarrus.kernels.solve.projection import MAX_ITERATIONS, retract


def rosenbrock(table: Table, x: Floats, level: int) -> int:
    """Write the end of a step of length ``local.header.length`` from x to ``local.state``; return 0, −1 if it fails.

    The error estimate goes to slopes[1]. The step fails if Newton's method diverges (a shorter step helps), if the
    matrix is singular, or if the step begins in a singular configuration (no step helps).
    """
    local, work, scheme = local_array(table), la.workspace(table), table.scheme
    nq, nv, count = table.nq, table.nv, table.n_implicit_stages
    ny, dof = nv - table.holonomic_rank, nv - table.generic_rank
    n, h, gamma = ny + dof, local.header.length, scheme[0]
    if not _is_known(table, x, local):
        local.header.valid = 0.0
        if not linearize(table, x, local, work):
            return -1
        local.ranks[0], local.ranks[1] = table.holonomic_rank, table.generic_rank
        local.header.valid = 1.0
    for i in range(n):
        copy_scaled(-1.0, local.model + i * (n + 1), local.matrix + i * n, n)
        local.matrix[i * n + i] += 1.0 / (h * gamma)
    if not _factor(local.matrix, n, local.swaps):
        return -1
    phased = acts(table)
    if phased:
        power_before(table, x)
    a, c = scheme + 1, scheme + (1 + count * count)
    nodes = c + count * count
    ends = nodes + 2 * count
    for stage in range(count):
        if stage > 0:
            _combine(a + stage * count, stage, 1.0, n, local)
            if not _settle(table, local, h * nodes[stage], work):
                return -1
        if not _stage(table, local, stage, c + stage * count, h, work):
            return -1
        if phased:
            slope = nodes[count + stage]
            stage_of_work(table, stage, c + stage * count, slope, h, local.stages + stage * n, n)
    _combine(ends, count, 1.0, n, local)
    if not _settle(table, local, h, work):
        return -1
    _write_error(table, local, h, work)
    local.state[nq + nv + table.nu] = x[nq + nv + table.nu] + h
    if phased:
        note_work(table, x[nq + nv + table.nu] + h, h)
    return 0


@internal
def _stage(table: Table, local: LocalArray, stage: int, weights: Floats, h: float, work: Workspace):
    """Write the stage u_i (n), i = ``stage``, to ``local.stages``; return False if there is no acceleration."""
    nq, nv, state = table.nq, table.nv, local.state
    ny, dof, count = nv - table.holonomic_rank, nv - table.generic_rank, table.n_implicit_stages
    n, u = ny + dof, local.stages + stage * (ny + dof)
    slope = table.scheme + (1 + 2 * count * count + count)
    if stage == 0:
        acceleration = local.start + la.input_size(table)
        fill(u, 0.0, n)
        add_product(local.place, ny, nv, nv, local.start + nq, u, 1.0)
    else:
        set_control(table, state, work)
        if call_kernel(table.acceleration, table, state, la.SLOPE) < 0:
            return False
        copy(work.rate, local.way, nq)
        copy(work.a, local.force, nv)
        acceleration = local.force
        _combine(weights, stage, 1.0 / h, n, local)
        copy(local.change, u, n)
        add_product(local.coordinates, ny, nq, nq, local.way, u, 1.0)
    add_product(local.motions, dof, nv, nv, acceleration, u + ny, 1.0)
    for r in range(n):
        u[r] += h * slope[stage] * local.model[r * (n + 1) + n]
    _solve(local.matrix, n, local.swaps, u)
    return True


@internal
def _write_error(table: Table, local: LocalArray, h: float, work: Workspace):
    """Write the error estimate, the last stage as a change of (q, v) over h, to slopes[1]."""
    nq, nv, ny = table.nq, table.nv, table.nv - table.holonomic_rank
    n = ny + nv - table.generic_rank
    last = local.stages + (table.n_implicit_stages - 1) * n
    error = la.stages_of(table, work).slopes + (nq + nv)
    for i in range(nv):
        work.step[i] = 0.0
        error[nq + i] = 0.0
    for r in range(n):
        for i in range(nv):
            error[nq + i] += last[r] * local.along[r * nv + i] / h
            if r < ny:
                work.step[i] += last[r] * local.place[r * nv + i] / h
    for i in range(nq):
        error[i] = work.step[i] if table.simple_rate == 1 else 0.0
        if table.simple_rate == 0:
            for j in range(nv):
                error[i] += local.first_rates[i * nv + j] * work.step[j]


@internal
def _is_known(table: Table, x: Floats, local: LocalArray):
    """Return True if the linear model in ``local`` was built at x."""
    known = (
        local.header.valid == 1.0
        and local.ranks[0] == table.holonomic_rank
        and local.ranks[1] == table.generic_rank
    )
    first, end = table.nq + table.nv, table.nq + table.nv + table.nu
    for i in range(la.input_size(table)):
        driven = (table.control != 0 or exists(table.law)) and first <= i < end  # u follows from the rest
        known = known and (driven or local.start[i] == x[i])
    return known


@internal
def _combine(weights: Floats, count: int, factor: float, n: int, local: LocalArray):
    """Write the weighted sum of the first ``count`` stages, times ``factor``, to ``local.change`` (n)."""
    fill(local.change, 0.0, n)
    for j in range(count):
        weight = factor * weights[j]
        if weight != 0.0:
            axpy(weight, local.stages + j * n, local.change, n)


@internal
def _settle(table: Table, local: LocalArray, time: float, work: Workspace):
    """Write the state whose local coordinates are those of the start plus ``change`` to ``local.state``.

    The state is ``time`` [s] after the start. Returns False if Newton's method does not converge.
    """
    state = local.state
    nq, nv = table.nq, table.nv
    ny, dof = nv - table.holonomic_rank, nv - table.generic_rank
    copy(local.start, state, la.input_size(table))
    state[nq + nv + table.nu] += time
    for i in range(nv):
        step = time * local.place[ny * nv + i]
        for r in range(ny):
            step += local.change[r] * local.place[r * nv + i]
        work.step[i] = step
        for r in range(dof):
            state[nq + i] += local.change[ny + r] * local.motions[r * nv + i]
        if not np.isfinite(step + state[nq + i]):
            return False
    retract(table, state, work.step, work.x)
    return _close(table, local, work) and _slow(table, local, work)


@internal
def _close(table: Table, local: LocalArray, work: Workspace):
    """Correct q in ``local.state`` until φ = 0 and y has its target value; return False if Newton diverges."""
    nq, nv, nh, bound, state = table.nq, table.nv, table.nh, table.holonomic_rank, local.state
    ny, simple, small, before = nv - bound, table.simple_rate == 1, table.settings.position_tolerance, 0.0
    if nh == 0 and simple:
        return True
    W = local.place if simple else local.turned
    asked = Correction(work.native, work.native + nh, nh, nv, nh, bound, W, ny, local.bias, not simple)
    for _ in range(MAX_ITERATIONS):
        residual = position_residual(table, state, work) if nh > 0 else 0.0
        if not simple:
            residual += _turn(table, local, state, nq, nv, ny)
        if residual <= 0.1 * small:
            return True
        longest = correct_position(table, local.header, asked, local.work, state, work)
        if not np.isfinite(longest):
            return False
        verdict = contraction(longest, before, residual, small)
        if verdict != GO_ON:
            return verdict == DONE
        before = longest
    return False


@internal
def _slow(table: Table, local: LocalArray, work: Workspace):
    """Correct v in ``local.state`` until ψ = 0 and η has its target value; return False if not finite."""
    nv, nc, rank = table.nv, table.nc, table.generic_rank
    if nc == 0:
        return True
    asked = Correction(
        work.native, work.native + nc, nc, nv, nc, rank, local.motions, nv - rank, local.bias, False
    )
    return correct_velocity(table, local.header, asked, local.work, local.state, work)


@internal
def _turn(table: Table, local: LocalArray, state: Floats, nq: int, nv: int, ny: int):
    """Write W = R N(q) to ``local.turned`` and the remaining error of y to ``local.bias``; return its 1-norm."""
    call_native(table.rate_matrix, state, local.rates)
    size = 0.0
    for r in range(ny):
        row, lack = local.coordinates + r * nq, local.change[r]
        for k in range(nq):
            lack -= row[k] * (state[k] - local.start[k])
        local.bias[r] = lack
        size += abs(lack)
        for i in range(nv):
            value = 0.0
            for k in range(nq):
                value += row[k] * local.rates[k * nv + i]
            local.turned[r * nv + i] = value
    return size


@internal
def _factor(a: Floats, n: int, swaps: Floats):
    """Factor the n × n matrix a in place with row pivoting, pivot rows to ``swaps``; return False if singular."""
    for k in range(n):
        pivot, size = k, abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > size:
                pivot, size = i, abs(a[i * n + k])
        if not size > 0.0 or not np.isfinite(size):
            return False
        swaps[k] = pivot
        if pivot != k:
            swap(a + k * n, a + pivot * n, n)
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, n):
            weight = a[i * n + k]
            if weight != 0.0:
                weight *= inverse
                a[i * n + k] = weight
                for c in range(k + 1, n):
                    a[i * n + c] -= weight * a[k * n + c]
    return True


@internal
def _solve(a: Floats, n: int, swaps: Floats, x: Floats):
    """Replace x (n) by the solution of a z = x, with a factored by `_factor`."""
    for k in range(n):
        pivot = int(swaps[k])
        x[k], x[pivot] = x[pivot], x[k]
    for k in range(n):
        value = x[k]
        for c in range(k):
            value -= a[k * n + c] * x[c]
        x[k] = value
    for k in range(n - 1, -1, -1):
        value = x[k]
        for c in range(k + 1, n):
            value -= a[k * n + c] * x[c]
        x[k] = value / a[k * n + k]
