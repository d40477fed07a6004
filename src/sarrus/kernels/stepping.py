"""One step of an explicit Runge–Kutta method with projection, entirely in compiled code."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import SLOPE
from sarrus.kernels.c_function import call_kernel
from sarrus.kernels.flat import internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import CONSTRAINTS, NOTHING, normalize


@internal
def set_control(table, bounds, x, s, ws):
    """Write u = control(q, v, t) to x, clipped to the actuators' limits (rows of ``bounds``)."""
    nu = table[la.NU]
    if table[la.CONTROL] == 0 or nu == 0:
        return
    first = table[la.NQ] + table[la.NV]
    call_native(table[la.CONTROL], x, 0, s, ws.x)
    for k in range(nu):
        x[first + k] = min(max(s[ws.x + k], bounds[0, k]), bounds[1, k])


@internal
def slope(table, bounds, x, want, slopes, stage, s, ws):
    """Write (q̇, v̇) at x to the row ``stage`` of slopes (flat). Returns the rank, −1 where the problem is ill posed."""
    nq, nv = table[la.NQ], table[la.NV]
    n = nq + nv
    set_control(table, bounds, x, s, ws)
    used = call_kernel(table[la.ACCELERATION], table, x, want)
    for i in range(nq):
        slopes[stage * n + i] = s[ws.rate + i]
    for i in range(nv):
        slopes[stage * n + nq + i] = s[ws.a + i]
    return used


@internal
def stages(
    table, bounds, a, b, c, extra, near, x, h, slopes, new, s, ws
):  # fmt: skip
    """Run the stages from x (slope in slopes[0]) and write the unprojected end to ``new``.

    ``extra`` asks for the slope at the end too, in the last row of slopes, which the error estimate needs. ``near`` a
    singular configuration the slopes are those at the projections of the stages on the constraints: off
    them by δ, the acceleration would be wrong by δ/σ. The method keeps its order, because it integrates
    the smooth field f∘π, which is f on the constraints.
    """
    n = table[la.NQ] + table[la.NV]
    time = n + table[la.NU]
    count = b.shape[0]
    for i in range(la.input_size(table)):
        new[i] = x[i]
    for stage in range(1, count):
        for i in range(n):
            new[i] = x[i]
        for j in range(stage):
            weight = h * a[stage, j]
            if weight != 0.0:
                for i in range(n):
                    new[i] += weight * slopes[j * n + i]
        new[time] = x[time] + c[stage] * h
        if near and not finish(table, new, CONSTRAINTS):
            return False
        if slope(table, bounds, new, SLOPE, slopes, stage, s, ws) < 0:
            return False
    for i in range(n):
        new[i] = x[i]
    for j in range(count):
        weight = h * b[j]
        if weight != 0.0:
            for i in range(n):
                new[i] += weight * slopes[j * n + i]
    new[time] = x[time] + h
    if extra:
        # finish() would do the same after the step; done here, the error estimate sees the projected slope.
        if near and not finish(table, new, CONSTRAINTS):
            return False
        return slope(table, bounds, new, SLOPE, slopes, count, s, ws) >= 0
    return True


@internal
def error_norm(errors, slopes, x, new, h, n, rtol, atol):
    """Return the scaled error of the embedded pair: accepted where ≤ 1 (Hairer et al., II.4 and II.10)."""
    first = second = 0.0
    for i in range(n):
        scale = atol + rtol * max(abs(x[i]), abs(new[i]))
        e = g = 0.0
        for j in range(errors.shape[1]):
            e += errors[0, j] * slopes[j * n + i]
            if errors.shape[0] == 2:
                g += errors[1, j] * slopes[j * n + i]
        first += (e / scale) ** 2
        second += (g / scale) ** 2
    if errors.shape[0] == 1:
        return h * np.sqrt(first / n)
    if first == 0.0 and second == 0.0:
        return 0.0
    return h * first / np.sqrt((first + 0.01 * second) * n)


@internal
def finish(table, x, what):
    """Bring the end of a step back: unit quaternions, then the projection asked for. False if it fails."""
    for i in range(table[la.NQ] + table[la.NV]):
        if not np.isfinite(x[i]):
            return False
    normalize(table, x)
    if what == NOTHING or (table[la.NC] == 0 and what == CONSTRAINTS):
        return True
    return call_kernel(table[la.PROJECTION], table, x, what) >= 0
