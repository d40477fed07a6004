"""The units of a cone program in which rows, columns, limits and cost are of size one."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.factor import fast


@fast
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


@fast
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


@fast
def _is_seen(s, ws, n, m, c):
    """Tell whether a column of G has entries."""
    total = 0.0
    for i in range(m):
        total += abs(s[ws.rows + i * n + c])
    return total > 0.0


@fast
def _row_weights(s, ws, n, linear, count, sizes):
    """Write to ws.weights what makes the largest entry of each half-line and cone of rows one, with scaled columns, and
    zero for those without entries."""
    at = 0
    for k in range(linear + count):
        size = 1 if k < linear else sizes[k - linear]
        most = 0.0
        for i in range(at, at + size):
            for c in range(n):
                most = max(most, abs(s[ws.rows + i * n + c] * s[ws.columns + c]))
        for i in range(at, at + size):
            s[ws.weights + i] = 1.0 / most if most > 0.0 else 0.0
        at += size


@fast
def _unit_of_x(s, ws, n, linear, count, sizes):
    """Return the largest limit of the rows with entries; give the others weights that make theirs as large."""
    at = linear
    for c in range(count):
        at += sizes[c]
    unit = 0.0
    for i in range(at):
        unit = max(unit, abs(s[ws.weights + i] * s[ws.limits + i]))
    if unit == 0.0:
        unit = 1.0
    at = 0
    for k in range(linear + count):
        size = 1 if k < linear else sizes[k - linear]
        if s[ws.weights + at] == 0.0:
            most = 0.0
            for i in range(at, at + size):
                most = max(most, abs(s[ws.limits + i]))
            for i in range(at, at + size):
                s[ws.weights + i] = unit / most if most > 0.0 else 1.0
        at += size
    return unit


@fast
def unscale(s, ws, n, m, size, cost):
    """Write the best iterate in the units of the program."""
    for c in range(n):
        s[ws.x + c] = size * s[ws.columns + c] * s[ws.best + c]
    for i in range(m):
        s[ws.s + i] = size / s[ws.weights + i] * s[ws.best + n + i]
        s[ws.z + i] = s[ws.weights + i] / (cost * size) * s[ws.best + n + m + i]
