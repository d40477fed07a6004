"""One step in compiled code, by an explicit Runge–Kutta method with projection or by an implicit method."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import largest_gap, normalize
from sarrus.kernels.algebra.vectors import axpy, copy, is_finite
from sarrus.kernels.contact.rows import note_end, power_before
from sarrus.kernels.integrate.tolerances import SECOND_ERROR_WEIGHT, STAGE_BESIDE
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.local_layout import local_array
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.tolerances import SPLIT_PIVOT
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal


@internal
def set_control(table: Table, x: Floats, work: Workspace):
    """Write u = control(q, v, t) to x, clipped to the limits of the actuators, unless u is held between samples."""
    if table.nu == 0 or table.held == 1 or (table.control == 0 and not exists(table.law)):
        return
    find_control(table, x, ll.ANSWER_ONLY, work)
    apply_control(table, work.x, x)


@internal
def find_control(table: Table, x: Floats, level: int, work: Workspace):
    """Write the controls (nu) that the control law demands at x to work.x; return False without a solution."""
    if not exists(table.law):
        call_native(table.control, x, work.x)
        return True
    answer = table.law.answer
    found = call_kernel(table.law_kernel, table.law, x, level) >= 0
    for k in range(table.nu):
        work.x[k] = answer[k] if found else np.nan
    return found


@internal
def apply_control(table: Table, values: Floats, x: Floats):
    """Copy the controls ``values`` (nu) to x, clipped to the limits of the actuators."""
    nu, at, bounds = table.nu, table.nq + table.nv, table.bounds
    for k in range(nu):
        x[at + k] = min(max(values[k], bounds[k]), bounds[nu + k])


@internal
def slope(table: Table, x: Floats, level: int, slopes: Floats, stage: int, work: Workspace):
    """Write (q̇, v̇) at x to the row ``stage`` of slopes (flat); return the rank, −1 if the problem is ill posed."""
    nq, nv = table.nq, table.nv
    n = nq + nv
    set_control(table, x, work)
    used = call_kernel(table.acceleration, table, x, level)
    copy(work.rate, slopes + stage * n, nq)
    copy(work.a, slopes + (stage * n + nq), nv)
    return used


@internal
def take_step(
    table: Table, extra: bool, near: bool, x: Floats, h: float, slopes: Floats, new: Floats, work: Workspace
):
    """Write the end of a step of length h from x (slope in slopes[0]) to ``new``; return False if the step failed.

    ``extra`` also writes the slopes that `error_norm` reads. The end of an implicit method satisfies the constraints,
    the end of an explicit method does not.
    """
    if table.implicit == 0:
        return stages(table, extra, near, x, h, slopes, new, work)
    work.factored[0] = 0.0
    local = local_array(table)
    local.header.length = h
    if call_kernel(table.implicit, table, x, 1 if near else 0) < 0:
        return False
    copy(local.state, new, la.input_size(table))
    return True


@internal
def stages(
    table: Table, extra: bool, near: bool, x: Floats, h: float, slopes: Floats, new: Floats, work: Workspace
):
    """Write the unprojected end of an explicit step from x (slope in slopes[0]) to ``new``; return False on failure.

    ``extra`` also writes the slope at the end to the last row of slopes, for the error estimate. ``near`` a singular
    configuration the slopes are evaluated at the projections of the stages on the constraints: at a distance δ from
    the constraints the acceleration would be wrong by δ/σ. The method keeps its order, because it integrates the
    smooth field f∘π, which is f on the constraints. For this to be one field, the projection π uses M and A of its
    start.
    """
    n, count = table.nq + table.nv, table.n_stages
    time = n + table.nu
    a, b, c = table.stage_weights, table.end_weights, table.nodes
    spent = 0.0
    if exists(table.contact_table):
        spent = h * b[0] * power_before(table, x)
    copy(x, new, la.input_size(table))
    for stage in range(1, count):
        copy(x, new, n)
        for j in range(stage):
            weight = h * a[stage * count + j]
            if weight != 0.0:
                axpy(weight, slopes + j * n, new, n)
        new[time] = x[time] + c[stage] * h
        if near and not _finish_stage(table, new, work):
            return False
        if slope(table, new, la.SLOPE, slopes, stage, work) < 0:
            return False
        if exists(table.contact_table):
            spent += h * b[stage] * table.contact_table.settings.power
    copy(x, new, n)
    for j in range(count):
        weight = h * b[j]
        if weight != 0.0:
            axpy(weight, slopes + j * n, new, n)
    new[time] = x[time] + h
    if exists(table.contact_table):
        note_end(table, new[time], h, spent)
    if extra:
        # finish() would do the same after the step; done here, the error estimate sees the projected slope.
        if near and not _finish_stage(table, new, work):
            return False
        return slope(table, new, la.SLOPE, slopes, count, work) >= 0
    return True


@internal
def strays(table: Table, x: Floats, h: float, size: float, stages: Stages, work: Workspace):
    """Return True if a step from x leaves the constraints by more than a relative pivot ``size`` allows.

    Its stages are off the constraints by at most as much as the end x + h (q̇, v̇). They are projected only if this
    distance matters.
    """
    if table.residuals == 0 or table.settings.near == np.inf:
        return True
    nq, nv, nh, trial = table.nq, table.nv, table.nh, stages.trial
    copy(x, trial, la.input_size(table))
    axpy(h, stages.slopes, trial, nq + nv)
    trial[nq + nv + table.nu] += h
    call_native(table.residuals, trial, work.native)
    gap, slip = largest_gap(table, work.native, nh), largest_gap(table, work.native + nh, table.nc)
    return not max(gap, h * slip) <= STAGE_BESIDE * size * size


@internal
def _finish_stage(table: Table, x: Floats, work: Workspace):
    """Project a stage, or the end of a step whose slope is wanted, with a new factorisation; return success."""
    work.factored[0] = 0.0
    return finish(table, x, la.CONSTRAINTS)


@internal
def separates(work: Workspace):
    """Return True if redundant rows were inconsistent in the last solve, off the constraints."""
    return work.facts.beyond > SPLIT_PIVOT * work.facts.largest


@internal
def error_norm(table: Table, slopes: Floats, x: Floats, new: Floats, h: float, rtol: float, atol: float):
    """Return the scaled error of the embedded pair, at most 1 for an accepted step (Hairer et al., II.4 and II.10).

    ``atol`` is in radians and characteristic lengths, and these per second.
    """
    nq, factors = table.nq, la.factors_of(table)
    n, count, width = table.nq + table.nv, table.n_errors, table.n_stages + 1
    errors = table.error_weights
    first = second = 0.0
    for i in range(n):
        factor = factors.coordinates[i] if i < nq else factors.velocities[i - nq]
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
    return h * first / np.sqrt((first + SECOND_ERROR_WEIGHT * second) * n)


@internal
def finish(table: Table, x: Floats, level: int):
    """Normalize the quaternions of x and project x by ``level``; return False if not finite or not projected."""
    if not is_finite(x, table.nq + table.nv):
        return False
    normalize(table, x)
    if level == la.NOTHING or (table.nc + table.n_event_functions == 0 and level == la.CONSTRAINTS):
        return True
    return call_kernel(table.projection, table, x, level) >= 0
