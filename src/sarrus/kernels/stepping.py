"""One step, entirely in compiled code: of an explicit Runge–Kutta method with projection, or of an implicit method."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import law_layout as ll
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, integers_at, internal
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.projection import normalize


@internal
def set_control(table, x, s, ws):
    """Write u = control(q, v, t) to x, clipped to the actuators' limits, unless it is held between samples."""
    if table[la.NU] == 0 or table[la.HELD] == 1 or (table[la.CONTROL] == 0 and table[la.LAW] == 0):
        return
    find_control(table, x, ll.ANSWER_ONLY, s, ws)
    apply_control(table, s, ws.x, x)


@internal
def find_control(table, x, what, s, ws):
    """Write what the control law asks for at x to ws.x; False where there is nothing."""
    if table[la.LAW] == 0:
        call_native(table[la.CONTROL], x, 0, s, ws.x)
        return True
    law = integers_at(table[la.LAW])
    answer = flat_at(law[ll.ANSWER])
    found = call_kernel(table[la.LAW_KERNEL], law, x, what) >= 0
    for k in range(table[la.NU]):
        s[ws.x + k] = answer[k] if found else np.nan
    return found


@internal
def apply_control(table, values, first, x):
    """Copy controls from values[first] on to x, clipped to the actuators' limits."""
    nu, at, bounds = table[la.NU], table[la.NQ] + table[la.NV], flat_at(table[la.BOUNDS])
    for k in range(nu):
        x[at + k] = min(max(values[first + k], bounds[k]), bounds[nu + k])


@internal
def slope(table, x, want, slopes, stage, s, ws):
    """Write (q̇, v̇) at x to the row ``stage`` of slopes (flat). Returns the rank, −1 where the problem is ill posed."""
    nq, nv = table[la.NQ], table[la.NV]
    n = nq + nv
    set_control(table, x, s, ws)
    used = call_kernel(table[la.ACCELERATION], table, x, want)
    for i in range(nq):
        slopes[stage * n + i] = s[ws.rate + i]
    for i in range(nv):
        slopes[stage * n + nq + i] = s[ws.a + i]
    return used


@internal
def take_step(table, extra, near, x, h, slopes, new, s, ws):
    """Take a step from x (slope in slopes[0]) to ``new``; with ``extra``, have what `error_norm` needs in slopes.

    An implicit method ends on the constraints, an explicit one beside them. False where the step failed.
    """
    if table[la.IMPLICIT] == 0:
        return stages(table, extra, near, x, h, slopes, new, s, ws)
    local = flat_at(table[la.LOCAL])
    local[la.LOCAL_STEP] = h
    if call_kernel(table[la.IMPLICIT], table, x, 0) < 0:
        return False
    state = la.local_array(table).state
    for i in range(la.input_size(table)):
        new[i] = local[state + i]
    return True


@internal
def stages(table, extra, near, x, h, slopes, new, s, ws):
    """Run the stages from x (slope in slopes[0]) and write the unprojected end to ``new``.

    ``extra`` asks for the slope at the end too, in the last row of slopes, which the error estimate needs. ``near`` a
    singular configuration the slopes are those at the projections of the stages on the constraints: off
    them by δ, the acceleration would be wrong by δ/σ. The method keeps its order, because it integrates
    the smooth field f∘π, which is f on the constraints.
    """
    n, count = table[la.NQ] + table[la.NV], table[la.N_STAGES]
    time = n + table[la.NU]
    a, b, c = flat_at(table[la.STAGE_WEIGHTS]), flat_at(table[la.END_WEIGHTS]), flat_at(table[la.NODES])
    for i in range(la.input_size(table)):
        new[i] = x[i]
    for stage in range(1, count):
        for i in range(n):
            new[i] = x[i]
        for j in range(stage):
            weight = h * a[stage * count + j]
            if weight != 0.0:
                for i in range(n):
                    new[i] += weight * slopes[j * n + i]
        new[time] = x[time] + c[stage] * h
        if near and not finish(table, new, la.CONSTRAINTS):
            return False
        if slope(table, new, la.SLOPE, slopes, stage, s, ws) < 0:
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
        if near and not finish(table, new, la.CONSTRAINTS):
            return False
        return slope(table, new, la.SLOPE, slopes, count, s, ws) >= 0
    return True


@internal
def error_norm(table, slopes, x, new, h, rtol, atol):
    """Return the scaled error of the embedded pair: accepted where ≤ 1 (Hairer et al., II.4 and II.10).

    ``atol`` is in radians and characteristic lengths, and these per second.
    """
    nq, settings = table[la.NQ], flat_at(table[la.SETTINGS])
    velocities = la.FACTORS + table[la.NC]
    coordinates = velocities + table[la.NV] + table[la.NC]
    n, count, width = table[la.NQ] + table[la.NV], table[la.N_ERRORS], table[la.N_STAGES] + 1
    errors = flat_at(table[la.ERROR_WEIGHTS])
    first = second = 0.0
    for i in range(n):
        factor = settings[coordinates + i] if i < nq else settings[velocities + i - nq]
        scale = atol / factor + rtol * max(abs(x[i]), abs(new[i]))
        e = g = 0.0
        for j in range(width):
            e += errors[j] * slopes[j * n + i]
            if count == 2:
                g += errors[width + j] * slopes[j * n + i]
        first += (e / scale) ** 2
        second += (g / scale) ** 2
    if count == 1:
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
    if what == la.NOTHING or (table[la.NC] == 0 and what == la.CONSTRAINTS):
        return True
    return call_kernel(table[la.PROJECTION], table, x, what) >= 0
