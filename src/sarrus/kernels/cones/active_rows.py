"""Newton's method on the active set of a cone program: its solution to rounding, from a guess of the active rows.

A cone is active in one of two ways: at its boundary, c = s₀ − ‖s₁‖ = 0 with one multiplier y and z = y (1, −s₁/‖s₁‖),
or at its apex, s = 0 with any z in the cone. With the active rows c(x) = 0 and their Jacobian J, a step solves

    H Δx − Jᵀy = −(P x + q),    J Δx = −c,    H = P + Σ y (−∇²c),

in the null space of J, found with its rank. Where active rows depend on each other, y is the solution nearest to the
previous y, which keeps the signs found by the interior-point method. A guess taken from the solution of another
program may be wrong: where a step leaves the cones, the active set is guessed anew from its s and z, as in a
primal-dual active-set method (Hintermüller, Ito and Kunisch 2002). The solution is accepted only if all optimality
conditions hold, also those of inactive rows.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.factor import Matrix
from sarrus.kernels.algebra.vectors import add, axpy, copy, copy_scaled, divide, dot, fill, set_unit
from sarrus.kernels.cones.cones import Shape
from sarrus.kernels.cones.tolerances import (
    ACTIVE_ROWS_CUT,
    ACTIVE_ROWS_RIDGE,
    LEAST_RAY,
    OPTIMAL_ENOUGH,
    OPTIMAL_TO_ROUNDING,
    SIGN_SLACK,
)
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

_STEPS = 8

INACTIVE, BOUNDARY, APEX = 0.0, 1.0, 2.0


@internal
def classify(work: ConeWorkspace, shape: Shape):
    """Write the active set guessed from the trial's s and z to ``work.kind``, by projecting s − z on the cones."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    for i in range(linear):
        work.kind[i] = BOUNDARY if work.trial_s[i] < work.trial_z[i] else INACTIVE
    at = linear
    for c in range(count):
        n, way = sizes[c], work.ds + at
        for i in range(n):
            way[i] = work.trial_s[at + i] - work.trial_z[at + i]
        head, length, kind = way[0], np.sqrt(dot(way + 1, way + 1, n - 1)), BOUNDARY
        if length <= head:
            kind = INACTIVE
        elif length <= -head:
            kind = APEX
        else:
            way[0] = 0.5 * (length + head)
            divide(way + 1, length, n - 1)
            work.trial_z[at] = 0.5 * (length - head)
        work.kind[linear + c] = kind
        at += n


@internal
def optimize_active(work: ConeWorkspace, shape: Shape, anew: bool):
    """Solve for the active set ``work.kind`` from x at ``work.trial``; True where the result is optimal to rounding.

    x is left at ``work.trial``, s at ``work.trial_s``, z at ``work.trial_z``. With ``anew`` the active set may be
    guessed again.
    """
    n, perm = shape.n, shape.order
    way = work.rest
    # buffers: x1, x2, rest, rhs_x have n numbers, the remaining ones m; ranks are at most n
    before = np.inf
    _slack(work, shape)
    for _ in range(_STEPS):
        rows = _active(work, shape)
        active = fa.Matrix(work.spare, rows, n, perm, work.z2, work.x1, work.x2, work.z1)
        _gradient(work, n, work.slope)
        rank = 0
        fill(way, 0.0, n)
        if rows > 0:
            rank, _ = fa.solve(active, n, ACTIVE_ROWS_CUT, 1.0, work.centred, work.missed, way)
            if rank < 0:
                return False
        # gradient after the step in the range of Jᵀ; then the step in the null space of J
        for a in range(n):
            work.slope[a] += dot(work.normal + a * n, way, n)
        free = n - rank
        if not _reduce(work, active, rank, free):
            return False
        for k in range(free):
            work.inner[k] = -dot(work.along + k * n, work.slope, n)
        fa.solve_l_transposed(work.reduced, free, work.inner)
        fa.solve_l(work.reduced, free, work.inner)
        for k in range(free):
            axpy(work.inner[k], work.along + k * n, way, n)
        add(way, work.trial, n)
        # multipliers: Jᵀ y = P x + q + H Δx
        for k in range(free):
            for a in range(n):
                work.slope[a] += work.inner[k] * dot(work.normal + a * n, work.along + k * n, n)
        if rows > 0:
            axpy(-1.0, work.pull, work.slope, n)
            fa.apply_q_transposed(active, rank, work.slope)
            fa.multipliers(active, rank, work.slope, work.missed, work.centred)
            add(work.change, work.centred, rows)
        _spread(work, shape)
        error = _error(work, shape)
        if error <= OPTIMAL_TO_ROUNDING or (
            before <= OPTIMAL_ENOUGH and 0.1 * before <= error <= OPTIMAL_ENOUGH
        ):
            return True
        if not np.isfinite(error):
            if anew:
                classify(work, shape)
            elif rows == 0:
                return False
        before = error
    return before <= OPTIMAL_ENOUGH


@internal
def _gradient(work: ConeWorkspace, n: int, out: Floats):
    """Write P x + q (n,) of the trial to ``out``."""
    for a in range(n):
        out[a] = work.q[a] + dot(work.p + a * n, work.trial, n)


@internal
def _slack(work: ConeWorkspace, shape: Shape):
    """Write s = h − G x (m,) of the trial to ``work.trial_s``."""
    for i in range(shape.m):
        work.trial_s[i] = work.h[i] - dot(work.g + i * shape.n, work.trial, shape.n)


@internal
def _active(work: ConeWorkspace, shape: Shape):
    """Write the equations of the active set; return the number of rows of J.

    J goes to work.spare, −c to work.centred, H to work.normal, the multipliers y so far to work.change, Jᵀy to
    work.pull.
    """
    n, linear, count, sizes = shape.n, shape.linear, shape.count, shape.sizes
    copy(work.p, work.normal, n * n)
    rows = 0
    for i in range(linear):
        if work.kind[i] == BOUNDARY:
            copy_scaled(-1.0, work.g + i * n, work.spare + rows * n, n)
            work.centred[rows] = -work.trial_s[i]
            work.change[rows] = work.trial_z[i]
            rows += 1
    at = linear
    for k in range(count):
        size, kind = sizes[k], work.kind[linear + k]
        if kind == APEX:
            for i in range(at, at + size):
                copy_scaled(-1.0, work.g + i * n, work.spare + rows * n, n)
                work.centred[rows] = -work.trial_s[i]
                work.change[rows] = work.trial_z[i]
                rows += 1
        elif kind == BOUNDARY:
            _boundary(work, n, at, size, rows)
            work.change[rows] = work.trial_z[at]
            rows += 1
        at += size
    fill(work.pull, 0.0, n)
    for i in range(rows):
        axpy(work.change[i], work.spare + i * n, work.pull, n)
    return rows


@internal
def _boundary(work: ConeWorkspace, n: int, at: int, size: int, row: int):
    """Write the row of J and −c of a cone at its boundary, and add the curvature of the cone to H."""
    out, ray = work.spare + row * n, work.ds + at + 1
    y = max(work.trial_z[at], 0.0) / max(work.ds[at], LEAST_DIVISOR)
    fill(out, 0.0, n)
    for i in range(1, size):
        axpy(ray[i - 1], work.g + (at + i) * n, out, n)
    for a in range(n):
        for b in range(n):
            total = -out[a] * out[b]
            for i in range(at + 1, at + size):
                total += work.g[i * n + a] * work.g[i * n + b]
            work.normal[a * n + b] += y * total
    axpy(-1.0, work.g + at * n, out, n)
    work.centred[row] = dot(ray, work.trial_s + at + 1, size - 1) - work.trial_s[at]


@internal
def _reduce(work: ConeWorkspace, active: Matrix, rank: int, free: int):
    """Write a basis of the null space of J to work.along and the Cholesky factor of H on it to work.reduced.

    H gets a ridge, so that directions without cost have a factor. False where H on the null space is not positive
    definite.
    """
    n = active.n
    for k in range(free):
        column = work.along + k * n
        set_unit(column, rank + k, n)
        fa.apply_q(active, rank, column)
    largest = 0.0
    for k in range(free):
        for a in range(n):
            work.rhs_x[a] = dot(work.normal + a * n, work.along + k * n, n)
        for j in range(free):
            work.reduced[j * free + k] = dot(work.along + j * n, work.rhs_x, n)
        largest = max(largest, work.reduced[k * free + k])
    for k in range(free):
        work.reduced[k * free + k] += ACTIVE_ROWS_RIDGE * (1.0 + largest)
    return fa.cholesky_ltl(work.reduced, free)


@internal
def _spread(work: ConeWorkspace, shape: Shape):
    """Write s to work.trial_s and the multipliers y as z to work.trial_z; z of a cone at its boundary is y (1,
    −s₁/‖s₁‖)."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    row = 0
    _slack(work, shape)
    for i in range(linear):
        work.trial_z[i] = 0.0
        if work.kind[i] == BOUNDARY:
            work.trial_z[i] = work.centred[row]
            row += 1
    at = linear
    for k in range(count):
        size, kind = sizes[k], work.kind[linear + k]
        for i in range(at, at + size):
            work.trial_z[i] = 0.0
        if kind == APEX:
            for i in range(at, at + size):
                work.trial_z[i] = work.centred[row]
                row += 1
        elif kind == BOUNDARY:
            tail = np.sqrt(dot(work.trial_s + at + 1, work.trial_s + at + 1, size - 1))
            if tail > LEAST_RAY * work.ds[at]:
                work.ds[at] = tail
                copy_scaled(1.0 / tail, work.trial_s + at + 1, work.ds + at + 1, size - 1)
            work.trial_z[at] = work.centred[row]
            copy_scaled(-work.centred[row], work.ds + at + 1, work.trial_z + at + 1, size - 1)
            row += 1
        at += size


@internal
def _error(work: ConeWorkspace, shape: Shape):
    """Return the largest error of the trial in the optimality conditions, infinite where s or z leaves the cones."""
    n, m, linear, count, sizes = shape.n, shape.m, shape.linear, shape.count, shape.sizes
    size, error, product = 1.0, 0.0, 0.0
    for i in range(m):
        size = max(size, abs(work.trial_z[i]))
        product += work.trial_s[i] * work.trial_z[i]
    _gradient(work, n, work.slope)
    for i in range(m):
        weight = work.trial_z[i]
        if weight != 0.0:
            axpy(weight, work.g + i * n, work.slope, n)
    for c in range(n):
        error = max(error, abs(work.slope[c]))
    error = max(error, abs(product)) / size
    for i in range(linear):
        if not (work.trial_s[i] >= -SIGN_SLACK and work.trial_z[i] >= -SIGN_SLACK * size):
            return np.inf
    at = linear
    for k in range(count):
        rest = sizes[k] - 1
        inside = work.trial_s[at] - np.sqrt(dot(work.trial_s + at + 1, work.trial_s + at + 1, rest))
        total = work.trial_z[at] - np.sqrt(dot(work.trial_z + at + 1, work.trial_z + at + 1, rest))
        if not (inside >= -SIGN_SLACK and total >= -SIGN_SLACK * size):
            return np.inf
        at += sizes[k]
    return error if np.isfinite(error) else np.inf
