"""Estimates of h |λ| in a step: they detect stiff motions and unstable steps.

λ is the dominant eigenvalue of the equations of motion. Two stages at equal times that differ by δy, and their slopes
by δf, give |λ| ≈ |δf| / |δy| without further evaluations (Hairer and Wanner, Solving Ordinary Differential Equations
II, 2nd ed., IV.2). For an implicit method, powers of the matrix of its local equations give |λ|.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot
from sarrus.kernels.integrate.tolerances import EASY_STEPS, NOTICED_ERROR, STIFF_STEPS, UNSTABLE_STEPS
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.local_layout import local_array
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import Run
from sarrus.kernels.memory.tolerances import STABILITY_OF_RK4
from sarrus.kernels.platform.pointers import internal

# Powers of the matrix that measure its spectral radius: an even number, for the sake of oscillations.
POWERS = 8


@internal
def note_stiffness(table: Table, slopes: Floats, h: float, crossing: bool, state: Run):
    """Count an accepted step of an adaptive method for or against the other kind of method (explicit or implicit).

    The length of a step ``crossing`` a singular configuration does not depend on stiffness; the step is not counted.
    """
    if crossing:
        return
    if table.implicit == 0:
        hint = explicit_size(table, slopes) > state.threshold
    else:
        hint = implicit_size(table, h) < state.threshold
    if hint:
        state.hints += 1.0
        state.doubts = 0.0
    else:
        state.doubts += 1.0
        if state.doubts >= EASY_STEPS:
            state.hints = 0.0


@internal
def wants_other_method(state: Run):
    """Return True if enough steps in a row were limited by stability, or did not need an implicit method."""
    return state.hints >= STIFF_STEPS


@internal
def note_stability(table: Table, x: Floats, slopes: Floats, h: float, size: float, state: Run):
    """Count a step of the classical method whose h |λ| = ``size`` leaves the region of stability; write its time.

    slopes[0] is the slope at x, the end of the step.
    """
    if size <= STABILITY_OF_RK4:
        state.unstable = state.unstable_error = 0.0
        return
    n = table.nq + table.nv
    error, grown = growing_error(n, slopes, x, h, size, state.unstable_error)
    if grown:
        state.unstable += 1.0
        if state.unstable == UNSTABLE_STEPS and not state.unstable_since < np.inf:
            state.unstable_since, state.unstable_size = x[n + table.nu], size
    else:
        state.unstable = 0.0
    state.unstable_error = error


@internal
def growing_error(n: int, slopes: Floats, x: Floats, h: float, size: float, last: float):
    """Return the error of a step with h |λ| = ``size``, and whether it grew over ``last`` as an unstable error does.

    With z = h |λ| unstable errors grow by 1 − z + z²/2 − z³/6 + z⁴/24 or more from step to step; growth by its square
    root is sufficient here.
    """
    error, largest = classical_error(n, slopes, x, h)
    growth = 1.0 - size * (1.0 - size * (0.5 - size * (1.0 / 6.0 - size / 24.0)))
    return error, error > NOTICED_ERROR * largest and error * error > growth * last * last


@internal
def explicit_size(table: Table, slopes: Floats):
    """Return h |λ| from the last stage of an embedded pair and the slope at the end of its step, at equal times."""
    nq, n, count = table.nq, table.nq + table.nv, table.n_stages
    a, b = table.stage_weights, table.end_weights
    last = (count - 1) * count
    way_q = way_v = rise_q = rise_v = 0.0
    for i in range(n):
        way = 0.0
        for j in range(count):
            way += (b[j] - a[last + j]) * slopes[j * n + i]
        rise = slopes[count * n + i] - slopes[(count - 1) * n + i]
        if i < nq:
            way_q += way * way
            rise_q += rise * rise
        else:
            way_v += way * way
            rise_v += rise * rise
    return _both(rise_q, way_q, rise_v, way_v)


@internal
def _both(rise_q: float, way_q: float, rise_v: float, way_v: float):
    """Return the geometric mean of |δq̇| / |δq| and |δv̇| / |δv|, from their squares.

    Each ratio depends on the direction of δ, since q̇ = v, v̇ = −ω² q has no normal matrix; their product ω² does
    not.
    """
    return np.sqrt(np.sqrt((rise_q / way_q) * (rise_v / way_v))) if way_q > 0.0 and way_v > 0.0 else 0.0


@internal
def classical_size(table: Table, slopes: Floats):
    """Return h |λ| from the velocities of the two middle stages of a step of the classical method; 0 otherwise.

    The estimate is too large if displacements are large. It therefore counts only if errors grow (`note_stability`).
    """
    if table.implicit != 0 or table.n_stages != 4:
        return 0.0
    n, rise, way = table.nq + table.nv, 0.0, 0.0
    for i in range(table.nq, n):
        difference = slopes[2 * n + i] - slopes[n + i]
        rise += difference * difference
        difference = slopes[n + i] - slopes[i]
        way += difference * difference
    return 2.0 * np.sqrt(rise / way) if way > 0.0 else 0.0


@internal
def classical_error(n: int, slopes: Floats, x: Floats, h: float):
    """Return the largest entries of h (k₄ − k₅) / 6 and of the state x, with k₅ = slopes[0] at the end x.

    h (k₄ − k₅) / 6 is the error of the embedded step of order 3.
    """
    error = largest = 0.0
    for i in range(n):
        error = max(error, abs(slopes[3 * n + i] - slopes[i]))
        largest = max(largest, abs(x[i]))
    return h * error / 6.0, largest


@internal
def implicit_size(table: Table, h: float):
    """Return h ρ(J), with ρ(J) the spectral radius of the matrix of the local equations, by the power method."""
    local = local_array(table)
    n = 2 * table.nv - table.holonomic_rank - table.generic_rank
    start, end, growth = local.work, local.work + n, 1.0
    for i in range(n):
        start[i] = 1.0 - 0.1 * (i % 7)
    for _ in range(POWERS):
        size = largest = 0.0
        for i in range(n):
            end[i] = dot(local.model + i * (n + 1), start, n)
            size = max(size, abs(end[i]))
            largest = max(largest, abs(start[i]))
        if size == 0.0:
            return 0.0
        growth *= size / largest
        for i in range(n):
            start[i] = end[i] / size
    return h * np.sqrt(np.sqrt(np.sqrt(growth)))
