"""One step of an explicit Runge–Kutta method with projection, entirely in compiled code."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import SLOPE, acceleration
from sarrus.kernels.energy import project_with_energy
from sarrus.kernels.flat import internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import normalize, project_position, project_velocity

# What to project after a step.
NOTHING, CONSTRAINTS, CONSTRAINTS_AND_ENERGY = 0, 1, 2


@internal
def set_control(addresses, sizes, bounds, x, s, ws):
    """Write u = control(q, v, t) to x, clipped to the actuators' limits (rows of ``bounds``)."""
    nu = sizes[la.NU]
    if addresses[la.CONTROL] == 0 or nu == 0:
        return
    first = sizes[la.NQ] + sizes[la.NV]
    call_native(addresses[la.CONTROL], x, 0, s, ws.x)
    for k in range(nu):
        x[first + k] = min(max(s[ws.x + k], bounds[0, k]), bounds[1, k])


@internal
def slope(addresses, sizes, settings, bounds, x, want, slopes, stage, s, perm, ws):
    """Write (q̇, v̇) at x to the row ``stage`` of slopes (flat). Returns the rank, −1 where the problem is ill posed."""
    nq, nv = sizes[la.NQ], sizes[la.NV]
    n = nq + nv
    set_control(addresses, sizes, bounds, x, s, ws)
    used = acceleration(addresses, sizes, settings, x, want, s, perm, ws)
    for i in range(nq):
        slopes[stage * n + i] = s[ws.rate + i]
    for i in range(nv):
        slopes[stage * n + nq + i] = s[ws.a + i]
    return used


@internal
def stages(
    addresses, sizes, settings, bounds, a, b, c, extra, near, x, h, slopes, new, s, perm, ws
):  # fmt: skip
    """Run the stages from x (slope in slopes[0]) and write the unprojected end to ``new``.

    ``extra`` asks for the slope at the end too, in the last row of slopes, which the error estimate needs. ``near`` a
    singular configuration the slopes are those at the projections of the stages on the constraints: off
    them by δ, the acceleration would be wrong by δ/σ. The method keeps its order, because it integrates
    the smooth field f∘π, which is f on the constraints.
    """
    n = sizes[la.NQ] + sizes[la.NV]
    time = n + sizes[la.NU]
    count = b.shape[0]
    for i in range(la.input_size(sizes)):
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
        if near and not finish(addresses, sizes, settings, new, CONSTRAINTS, 0.0, s, perm, ws):
            return False
        if slope(addresses, sizes, settings, bounds, new, SLOPE, slopes, stage, s, perm, ws) < 0:
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
        if near and not finish(addresses, sizes, settings, new, CONSTRAINTS, 0.0, s, perm, ws):
            return False
        return slope(addresses, sizes, settings, bounds, new, SLOPE, slopes, count, s, perm, ws) >= 0
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
def finish(addresses, sizes, settings, x, what, energy, s, perm, ws):
    """Bring the end of a step back: unit quaternions, then the projection asked for. False if it fails."""
    for i in range(sizes[la.NQ] + sizes[la.NV]):
        if not np.isfinite(x[i]):
            return False
    normalize(sizes, x)
    if what == NOTHING or (sizes[la.NC] == 0 and what == CONSTRAINTS):
        return True
    fresh = False
    if sizes[la.NH] > 0:
        fresh, _, _ = project_position(addresses, sizes, settings, x, s, perm, ws)
        if not fresh:
            return False
    if sizes[la.NC] > 0:
        project_velocity(addresses, sizes, settings, x, s, perm, ws, fresh)
    if what == CONSTRAINTS_AND_ENERGY:
        return project_with_energy(addresses, sizes, settings, x, energy)
    return True
