"""One step of an explicit Runge–Kutta method with projection, entirely in compiled code."""

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels import layout as la
from sarrus.kernels.acceleration import acceleration
from sarrus.kernels.energy import project_with_energy
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import normalize, project_position, project_velocity

# What to project after a step.
NOTHING, CONSTRAINTS, CONSTRAINTS_AND_ENERGY = 0, 1, 2


@njit(cache=True)
def set_control(addresses, sizes, bounds, x, scratch):
    """Write u = control(q, v, t) to x, clipped to the actuators' limits (rows of ``bounds``)."""
    nu = sizes[la.NU]
    if addresses[la.CONTROL] == 0 or nu == 0:
        return
    first = sizes[la.NQ] + sizes[la.NV]
    call_native(addresses[la.CONTROL], x, scratch[:nu])
    for k in range(nu):
        x[first + k] = min(max(scratch[k], bounds[0, k]), bounds[1, k])


@njit(cache=True)
def slope(addresses, sizes, settings, bounds, x, tau, want, k, lam, work, perm, facts, scratch):
    """Write (q̇, v̇) at x to ``k``. Returns the rank used, −1 where the problem is ill posed."""
    nq, nv = sizes[la.NQ], sizes[la.NV]
    set_control(addresses, sizes, bounds, x, scratch)
    used = acceleration(
        addresses, sizes, settings, x, tau, want, k[nq : nq + nv], lam, work, perm, facts
    )
    end = la.dynamics_size(sizes)
    for i in range(nq):
        k[i] = work[end - nq + i]
    return used


@njit(cache=True)
def stages(
    addresses, sizes, settings, bounds, a, b, c, extra, near, x, h, tau, slopes, new, lam, work, perm, facts,
    scratch, rate,
):  # fmt: skip
    """Run the stages from x (slope in slopes[0]) and write the unprojected end to ``new``.

    ``extra`` asks for the slope at the end too, in slopes[s], which the error estimate needs. ``near`` a
    singular configuration the slopes are those at the projections of the stages on the constraints: off
    them by δ, the acceleration would be wrong by δ/σ. The method keeps its order, because it integrates
    the smooth field f∘π, which is f on the constraints.
    """
    n = sizes[la.NQ] + sizes[la.NV]
    time = n + sizes[la.NU]
    s = b.shape[0]
    for i in range(x.shape[0]):
        new[i] = x[i]
    for stage in range(1, s):
        for i in range(n):
            new[i] = x[i]
        for j in range(stage):
            weight = h * a[stage, j]
            if weight != 0.0:
                for i in range(n):
                    new[i] += weight * slopes[j, i]
        new[time] = x[time] + c[stage] * h
        if near and not finish(addresses, sizes, settings, new, CONSTRAINTS, 0.0, work, perm, scratch, rate):
            return False
        if not slope(
            addresses, sizes, settings, bounds, new, tau, False, slopes[stage], lam, work, perm, facts, scratch
        ) >= 0:  # fmt: skip
            return False
    for i in range(n):
        new[i] = x[i]
    for j in range(s):
        weight = h * b[j]
        if weight != 0.0:
            for i in range(n):
                new[i] += weight * slopes[j, i]
    new[time] = x[time] + h
    if extra:
        # finish() would do the same after the step; done here, the error estimate sees the projected slope.
        if near and not finish(addresses, sizes, settings, new, CONSTRAINTS, 0.0, work, perm, scratch, rate):
            return False
        used = slope(
            addresses, sizes, settings, bounds, new, tau, False, slopes[s], lam, work, perm, facts, scratch
        )
        return used >= 0
    return True


@njit(cache=True)
def error_norm(errors, slopes, x, new, h, n, rtol, atol):
    """Return the scaled error of the embedded pair: accepted where ≤ 1 (Hairer et al., II.4 and II.10)."""
    first = second = 0.0
    for i in range(n):
        scale = atol + rtol * max(abs(x[i]), abs(new[i]))
        e = g = 0.0
        for j in range(slopes.shape[0]):
            e += errors[0, j] * slopes[j, i]
            if errors.shape[0] == 2:
                g += errors[1, j] * slopes[j, i]
        first += (e / scale) ** 2
        second += (g / scale) ** 2
    if errors.shape[0] == 1:
        return h * np.sqrt(first / n)
    if first == 0.0 and second == 0.0:
        return 0.0
    return h * first / np.sqrt((first + 0.01 * second) * n)


@njit(cache=True)
def finish(addresses, sizes, settings, x, what, energy, work, perm, scratch, rate):
    """Bring the end of a step back: unit quaternions, then the projection asked for. False if it fails."""
    for i in range(sizes[la.NQ] + sizes[la.NV]):
        if not np.isfinite(x[i]):
            return False
    normalize(sizes, x)
    if what == NOTHING or (sizes[la.NC] == 0 and what == CONSTRAINTS):
        return True
    fresh = False
    if sizes[la.NH] > 0:
        converged, _, _ = project_position(addresses, sizes, settings, x, work, perm, scratch, rate)
        if not converged:
            return False
        fresh = True
    if sizes[la.NC] > 0:
        project_velocity(addresses, sizes, settings, x, work, perm, fresh)
    if what == CONSTRAINTS_AND_ENERGY:
        return project_with_energy(addresses, sizes, settings, x, energy, scratch, rate)
    return True
