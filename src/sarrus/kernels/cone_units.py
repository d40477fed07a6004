"""The units of a cone program in which rows, columns, limits and cost are of size one."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.cones import dot
from sarrus.kernels.factor import cholesky_ltl, solve_l, solve_l_transposed
from sarrus.kernels.flat import internal

# Rows smaller than this multiple of the largest are rounding. How much farther limits may be than x must go.
_NO_ROW, _ROOM = 1e-12, 10.0
# What is added to the diagonal of P, relative to its largest entry, to see how far x goes.
_RIDGE = 1e-15


@internal
def equilibrate(s, ws, n, linear, count, sizes):
    """Write the program in units in which rows, columns and right-hand sides are of size one; return those of x and of
    the cost."""
    m = linear
    for c in range(count):
        m += sizes[c]
    for c in range(n):
        s[ws.columns + c] = 1.0
    for i in range(m):
        s[ws.weights + i] = 1.0
    for _ in range(2):
        _row_weights(s, ws, n, linear, count, sizes)
        for c in range(n):
            most = 0.0
            for i in range(m):
                most = max(most, abs(s[ws.weights + i] * s[ws.rows + i * n + c]))
            s[ws.columns + c] = 1.0 / most if most > 0.0 else 1.0
    _row_weights(s, ws, n, linear, count, sizes)
    _curvature_columns(s, ws, n, m)
    _soften(s, ws, n)
    size = _unit_of_x(s, ws, n, linear, count, sizes)
    for i in range(m):
        s[ws.h + i] = s[ws.weights + i] * s[ws.limits + i] / size
        for c in range(n):
            s[ws.g + i * n + c] = s[ws.weights + i] * s[ws.rows + i * n + c] * s[ws.columns + c]
    cost = 0.0
    for a in range(n):
        s[ws.q + a] = size * s[ws.columns + a] * s[ws.linear + a]
        cost = max(cost, abs(s[ws.q + a]))
        for b in range(n):
            value = size * size * s[ws.columns + a] * s[ws.quadratic + a * n + b] * s[ws.columns + b]
            s[ws.p + a * n + b] = value
            cost = max(cost, abs(value))
    cost = 1.0 / cost if cost > 0.0 else 1.0
    for a in range(n):
        s[ws.q + a] *= cost
        for b in range(n):
            s[ws.p + a * n + b] *= cost
    return size, cost


@internal
def _curvature_columns(s, ws, n, m):
    """Bring the columns that no row sees to the largest curvature of the others."""
    largest = 0.0
    for c in range(n):
        if _is_seen(s, ws, n, m, c):
            largest = max(largest, s[ws.columns + c] ** 2 * s[ws.quadratic + c * n + c])
    for c in range(n):
        own = s[ws.quadratic + c * n + c]
        if own > 0.0 and not _is_seen(s, ws, n, m, c):
            s[ws.columns + c] = np.sqrt((largest if largest > 0.0 else 1.0) / own)


@internal
def _is_seen(s, ws, n, m, c):
    """Tell whether a column of G has entries."""
    total = 0.0
    for i in range(m):
        total += abs(s[ws.rows + i * n + c])
    return total > 0.0


@internal
def _soften(s, ws, n):
    """Scale down the columns whose curvature is above the median, so that flat directions keep their digits."""
    seen, usual = 0, 0.0
    for a in range(n):
        s[ws.slope + a] = s[ws.quadratic + a * n + a] * s[ws.columns + a] ** 2
        seen += 1 if s[ws.slope + a] > 0.0 else 0
    for a in range(n):
        below = 0
        for b in range(n):
            flatter = s[ws.slope + b] < s[ws.slope + a] or (s[ws.slope + b] == s[ws.slope + a] and b < a)
            below += 1 if s[ws.slope + b] > 0.0 and flatter else 0
        if s[ws.slope + a] > 0.0 and below == seen // 2:
            usual = s[ws.slope + a]
    for a in range(n):
        if s[ws.slope + a] > usual > 0.0:
            s[ws.columns + a] *= np.sqrt(usual / s[ws.slope + a])


@internal
def _row_weights(s, ws, n, linear, count, sizes):
    """Write to ws.weights what makes the largest entry of each half-line and cone of rows one, with scaled columns;
    what is rounding beside the others remains so, and rows without entries get zero."""
    at, steepest, m = 0, 0.0, linear
    for c in range(count):
        m += sizes[c]
    for i in range(m):
        for c in range(n):
            steepest = max(steepest, abs(s[ws.rows + i * n + c] * s[ws.columns + c]))
    for k in range(linear + count):
        size = 1 if k < linear else sizes[k - linear]
        most = 0.0
        for i in range(at, at + size):
            for c in range(n):
                most = max(most, abs(s[ws.rows + i * n + c] * s[ws.columns + c]))
        if 0.0 < most < _NO_ROW * steepest:
            most = steepest
        for i in range(at, at + size):
            s[ws.weights + i] = 1.0 / most if most > 0.0 else 0.0
        at += size


@internal
def _unit_of_x(s, ws, n, linear, count, sizes):
    """Return the size of x to expect, in scaled columns: the farthest limit, but not much more than x must go to be
    inside all limits or would go without any.

    Rows whose limits are still farther get smaller weights: a limit that is as good as none would otherwise be what all
    others are measured by. Rows without entries get weights that make their limits as large.
    """
    farthest = least = 0.0
    at = 0
    for k in range(linear + count):
        rows = 1 if k < linear else sizes[k - linear]
        head, weight = ws.limits + at, s[ws.weights + at]
        tail = np.sqrt(dot(s, head + 1, head + 1, rows - 1))
        farthest = max(farthest, weight * max(abs(s[head]), tail))
        least = max(least, weight * (tail - s[head]))
        at += rows
    if _ROOM * least < farthest:
        least = max(least, _pull(s, ws, n))
    unit = min(farthest, _ROOM * least) if least > 0.0 else farthest
    if unit == 0.0:
        unit = 1.0
    at = 0
    for k in range(linear + count):
        rows, most = 1 if k < linear else sizes[k - linear], 0.0
        weight = s[ws.weights + at] if s[ws.weights + at] > 0.0 else 1.0
        for i in range(at, at + rows):
            most = max(most, weight * abs(s[ws.limits + i]))
        if most > unit or s[ws.weights + at] == 0.0:
            for i in range(at, at + rows):
                s[ws.weights + i] = weight * (unit / most if most > 0.0 else 1.0)
        at += rows
    return unit


@internal
def _pull(s, ws, n):
    """Return how far x goes without limits, in scaled columns; infinite where that cannot be told."""
    largest = far = 0.0
    for a in range(n):
        s[ws.rhs_x + a] = s[ws.columns + a] * s[ws.linear + a]
        for b in range(n):
            s[ws.root + a * n + b] = s[ws.columns + a] * s[ws.quadratic + a * n + b] * s[ws.columns + b]
        largest = max(largest, s[ws.root + a * n + a])
    for a in range(n):
        s[ws.root + a * n + a] += _RIDGE * max(largest, 1e-300)
    if not cholesky_ltl(s, ws.root, n):
        return np.inf
    solve_l_transposed(s, ws.root, n, ws.rhs_x)
    solve_l(s, ws.root, n, ws.rhs_x)
    for a in range(n):
        far = max(far, abs(s[ws.rhs_x + a]))
    return far


@internal
def unscale(s, ws, n, m, size, cost):
    """Write the best iterate in the units of the program."""
    for c in range(n):
        s[ws.x + c] = size * s[ws.columns + c] * s[ws.best + c]
    for i in range(m):
        s[ws.s + i] = size / s[ws.weights + i] * s[ws.best + n + i]
        s[ws.z + i] = s[ws.weights + i] / (cost * size) * s[ws.best + n + m + i]
