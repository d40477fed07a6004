"""Projection along a chart: the local state-space form inside the integrator.

With independent coordinates y, ẏ = W v (`sarrus.coordinates.choices`), a Runge–Kutta step for y is one for q whose
stages are moved onto the constraints by corrections that leave y as it is,

    φ(q ⊕ δ, t) = 0,  W δ = 0;    ψ(q, v + δ, t) = 0,  W δ = 0

(Spencer 2004, equations (2.23), (2.33) and section 2.3.1; Wehage and Haug 1982).
"""

from __future__ import annotations

import numpy as np
from numba import carray

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.c_function import Kernel
from sarrus.kernels.flat import flat_at, flat_pointer, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import MAX_ITERATIONS, VELOCITIES, move

# The array at table[CHART]: smallest pivot of [A; W] over its largest one at the last projection, then W for positions
# (nv − holonomic rank rows), W for velocities (nv − rank rows), then room to work in.
GAUGE, ROWS = 0, 1


def chart_size(nv: int, nc: int) -> int:
    """Return the length of the array at table[CHART]."""
    return ROWS + 2 * nv * nv + (nc + nv) * (nv + 7) + 7 * nv


@Kernel
def chart_projection(table_pointer, x_pointer, what):
    """Do what `sarrus.kernels.projection.projection` does, along the chart; −1 where Newton does not contract."""
    table, x = carray(table_pointer, la.MANY), flat_pointer(x_pointer)
    settings, chart, s = flat_at(table[la.SETTINGS]), flat_at(table[la.CHART]), flat_at(table[la.WORK])
    perm = table[la.QUATERNIONS + table[la.N_QUATERNIONS] :]
    ws = la.workspace(table)
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    rank, bound = table[la.GENERIC_RANK], table[la.HOLONOMIC_RANK]
    work = ROWS + (2 * nv - bound - rank) * nv
    if what != VELOCITIES and nh > 0:
        small = settings[la.POSITION_TOLERANCE]
        before, converged = 0.0, False
        for _ in range(MAX_ITERATIONS + 1):
            call_native(table[la.POSITION], x, 0, s, ws.native)
            step = _correction(
                chart, ROWS, work, nv - bound, s, ws.native, ws.native + nh, nh, nv, settings, perm
            )
            longest = 0.0
            for i in range(nv):
                longest = max(longest, abs(chart[step + i]))
                s[ws.step + i] = chart[step + i]
            if not np.isfinite(longest):
                return -1
            move(table, x, s, ws.step, ws.x)
            # The error left is ρ/(1 − ρ) of the last correction, ρ the contraction rate (Spencer 2004, section 2.3.1).
            contraction = longest / before if before > 0.0 else 0.5
            if contraction < 0.9:
                converged = longest <= small or contraction / (1.0 - contraction) * longest <= 0.1 * small
            else:
                converged = longest <= 100.0 * small  # rounding of φ: no more to gain
                if not converged:
                    return -1
            if converged:
                break
            before = longest
        if not converged:
            return -1
    if nc == 0:
        return 0
    for _ in range(1 if nc == nh else 8):
        call_native(table[la.VELOCITY], x, 0, s, ws.native)
        first_row = ROWS + (nv - bound) * nv
        step = _correction(
            chart, first_row, work, nv - rank, s, ws.native, ws.native + nc, nc, nv, settings, perm
        )
        longest = 0.0
        for i in range(nv):
            x[nq + i] += chart[step + i]
            longest = max(longest, abs(chart[step + i]))
        if not np.isfinite(longest):
            return -1
        if longest < 1e-13:
            break
    return rank


@internal
def _correction(chart, rows, work, count, s, residual, jacobian, m, nv, settings, perm):
    """Solve [A; W] δ = [−residual; 0] for any rank of A; return where δ lies in ``chart`` and note the gauge."""
    total = m + count
    big = total + nv
    right = work + total * nv
    y, step, diagonal, beta, beta2, norms = (
        right + big, right + 2 * big, right + 3 * big, right + 4 * big, right + 5 * big, right + 6 * big,
    )  # fmt: skip
    for k in range(m * nv):
        chart[work + k] = s[jacobian + k]
    for k in range(count * nv):
        chart[work + m * nv + k] = chart[rows + k]
    for j in range(total):
        chart[right + j] = -s[residual + j] if j < m else 0.0
    rank, _ = fa.solve(
        chart, work, total, nv, nv, settings[la.SINGULAR_CUT], 0.0, perm, diagonal, beta, beta2, norms, right, y, step,
    )  # fmt: skip
    if rank < 0:
        chart[step] = np.nan
    chart[GAUGE] = abs(chart[diagonal + nv - 1]) / abs(chart[diagonal]) if rank == nv else 0.0
    return step
