"""Units of a cone program in which rows, columns, limits and cost have size one."""

from __future__ import annotations

import numpy as np

from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.algebra.factor import cholesky_ltl, solve_l, solve_l_transposed
from sarrus.kernels.algebra.vectors import dot, fill, multiply
from sarrus.kernels.cones.cones import Shape
from sarrus.kernels.cones.tolerances import (
    BOUNDED_COST,
    COST_RIDGE,
    LIMITS_BEYOND_OPTIMUM,
    NEGLIGIBLE_LIMITS,
    NEGLIGIBLE_ROW,
)
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def equilibrate(work: ConeWorkspace, shape: Shape, far: bool):
    """Write the program with rows, columns and right-hand sides of size one; return the units of x and of the cost.

    With ``far`` the unit of x is the size of the minimum without limits, not the size given by the limits.
    """
    n, m = shape.n, shape.m
    fill(work.columns, 1.0, n)
    fill(work.weights, 1.0, m)
    for _ in range(2):
        _row_weights(work, shape)
        for c in range(n):
            most = 0.0
            for i in range(m):
                most = max(most, abs(work.weights[i] * work.rows[i * n + c]))
            work.columns[c] = 1.0 / most if most > 0.0 else 1.0
    _row_weights(work, shape)
    _curvature_columns(work, n, m)
    _soften(work, n)
    size = _unit_of_x(work, shape, far)
    for i in range(m):
        work.h[i] = work.weights[i] * work.limits[i] / size
        for c in range(n):
            work.g[i * n + c] = work.weights[i] * work.rows[i * n + c] * work.columns[c]
    cost = 0.0
    for a in range(n):
        work.q[a] = size * work.columns[a] * work.linear[a]
        cost = max(cost, abs(work.q[a]))
        for b in range(n):
            value = size * size * work.columns[a] * work.quadratic[a * n + b] * work.columns[b]
            work.p[a * n + b] = value
            cost = max(cost, abs(value))
    cost = 1.0 / cost if cost > 0.0 else 1.0
    for a in range(n):
        work.q[a] *= cost
        multiply(work.p + a * n, cost, n)
    return size, cost


@internal
def _curvature_columns(work: ConeWorkspace, n: int, m: int):
    """Scale the columns that are zero in G to the largest curvature of the remaining columns."""
    largest = 0.0
    for c in range(n):
        if _is_seen(work, n, m, c):
            largest = max(largest, work.columns[c] ** 2 * work.quadratic[c * n + c])
    for c in range(n):
        own = work.quadratic[c * n + c]
        if own > 0.0 and not _is_seen(work, n, m, c):
            work.columns[c] = np.sqrt((largest if largest > 0.0 else 1.0) / own)


@internal
def _is_seen(work: ConeWorkspace, n: int, m: int, c: int):
    """Tell whether column c of G has nonzero entries."""
    total = 0.0
    for i in range(m):
        total += abs(work.rows[i * n + c])
    return total > 0.0


@internal
def _soften(work: ConeWorkspace, n: int):
    """Scale down the columns whose curvature is above the median, so that flat directions keep their digits."""
    seen, usual = 0, 0.0
    for a in range(n):
        work.slope[a] = work.quadratic[a * n + a] * work.columns[a] ** 2
        seen += 1 if work.slope[a] > 0.0 else 0
    for a in range(n):
        below = 0
        for b in range(n):
            flatter = work.slope[b] < work.slope[a] or (work.slope[b] == work.slope[a] and b < a)
            below += 1 if work.slope[b] > 0.0 and flatter else 0
        if work.slope[a] > 0.0 and below == seen // 2:
            usual = work.slope[a]
    for a in range(n):
        if work.slope[a] > usual > 0.0:
            work.columns[a] *= np.sqrt(usual / work.slope[a])


@internal
def _row_weights(work: ConeWorkspace, shape: Shape):
    """Write the weights (m,) that scale the largest entry of each half-line and cone to one, with scaled columns.

    Rows that are rounding beside the largest row stay so; rows without entries get weight zero.
    """
    n, linear, count, sizes = shape.n, shape.linear, shape.count, shape.sizes
    at, steepest, m = 0, 0.0, shape.m
    for i in range(m):
        for c in range(n):
            steepest = max(steepest, abs(work.rows[i * n + c] * work.columns[c]))
    for k in range(linear + count):
        size = 1 if k < linear else sizes[k - linear]
        most = 0.0
        for i in range(at, at + size):
            for c in range(n):
                most = max(most, abs(work.rows[i * n + c] * work.columns[c]))
        if 0.0 < most < NEGLIGIBLE_ROW * steepest:
            most = steepest
        for i in range(at, at + size):
            work.weights[i] = 1.0 / most if most > 0.0 else 0.0
        at += size


@internal
def _unit_of_x(work: ConeWorkspace, shape: Shape, far: bool):
    """Return the expected size of x in scaled columns: the farthest limit, but at most LIMITS_BEYOND_OPTIMUM × the
    way of x.

    The way of x is the distance to the feasible set or to the minimum without limits, whichever is more; with ``far``
    the result is the latter. Rows with still farther limits get smaller weights, since a limit that is never active
    would otherwise set the unit. Rows without entries get weights that make their limits as large as the unit.
    """
    n, linear, count, sizes = shape.n, shape.linear, shape.count, shape.sizes
    farthest = least = 0.0
    at = 0
    for k in range(linear + count):
        rows = 1 if k < linear else sizes[k - linear]
        head, weight = work.limits + at, work.weights[at]
        tail = np.sqrt(dot(head + 1, head + 1, rows - 1))
        farthest = max(farthest, weight * max(abs(head[0]), tail))
        least = max(least, weight * (tail - head[0]))
        at += rows
    if LIMITS_BEYOND_OPTIMUM * least < farthest:
        least = max(least, _pull(work, n))
    unit = (
        _pull(work, n) if far else (min(farthest, LIMITS_BEYOND_OPTIMUM * least) if least > 0.0 else farthest)
    )
    if unit == 0.0:
        unit = 1.0
    at = 0
    for k in range(linear + count):
        rows, most = 1 if k < linear else sizes[k - linear], 0.0
        weight = work.weights[at] if work.weights[at] > 0.0 else 1.0
        for i in range(at, at + rows):
            most = max(most, weight * abs(work.limits[i]))
        if most > unit or work.weights[at] == 0.0:
            for i in range(at, at + rows):
                work.weights[i] = weight * (unit / most if most > 0.0 else 1.0)
        at += rows
    return unit


@internal
def are_coupled(work: ConeWorkspace, shape: Shape):
    """Tell whether all limits are negligible beside the size of the minimum without limits."""
    n = shape.n
    steep = curved = widest = 0.0
    for a in range(n):
        steep = max(steep, abs(work.columns[a] * work.linear[a]))
        curved = max(curved, work.columns[a] ** 2 * work.quadratic[a * n + a])
    for i in range(shape.m):
        widest = max(widest, work.weights[i] * abs(work.limits[i]))
    if not widest * curved < NEGLIGIBLE_LIMITS * steep:
        return False
    return _pull(work, n) * curved < BOUNDED_COST * steep


@internal
def _pull(work: ConeWorkspace, n: int):
    """Return the largest |x_c| of the minimum without limits, in scaled columns; infinite where P is not definite."""
    largest = far = 0.0
    for a in range(n):
        work.rhs_x[a] = work.columns[a] * work.linear[a]
        for b in range(n):
            work.root[a * n + b] = work.columns[a] * work.quadratic[a * n + b] * work.columns[b]
        largest = max(largest, work.root[a * n + a])
    for a in range(n):
        work.root[a * n + a] += COST_RIDGE * max(largest, LEAST_DIVISOR)
    if not cholesky_ltl(work.root, n):
        return np.inf
    solve_l_transposed(work.root, n, work.rhs_x)
    solve_l(work.root, n, work.rhs_x)
    for a in range(n):
        far = max(far, abs(work.rhs_x[a]))
    return far


@internal
def unscale(work: ConeWorkspace, n: int, m: int, size: float, cost: float):
    """Write the best iterate x, s, z in the units of the program's data."""
    for c in range(n):
        work.x[c] = size * work.columns[c] * work.best[c]
    for i in range(m):
        work.s[i] = size / work.weights[i] * work.best[n + i]
        work.z[i] = work.weights[i] / (cost * size) * work.best[n + m + i]
