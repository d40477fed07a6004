"""Projection along a chart: the local state-space form inside the integrator.

With independent coordinates y, ẏ = W v (`sarrus.coordinates.choices`), a Runge–Kutta step for y is one for q whose
stages are moved onto the constraints by corrections that leave y as it is,

    φ(q ⊕ δ, t) = 0,  W δ = 0;    ψ(q, v + δ, t) = 0,  W δ = 0

(Spencer 2004, equations (2.23), (2.33) and section 2.3.1; Wehage and Haug 1982). With T an orthonormal basis of the
null space of A, δ = (1 − T (W T)⁻¹ W) A⁺ (−residual), for any rank of A. The rows of W are orthonormal too, so the
singular values of W T are cosines of the angles between y and the motions possible; none may vanish.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import MAX_ITERATIONS, move


def chart_projection(table, x, what):
    """Do what `sarrus.kernels.projection.projection` does, along the chart; −1 where Newton does not contract."""
    settings, chart, s = flat_at(table[la.SETTINGS]), flat_at(table[la.CHART]), flat_at(table[la.WORK])
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    ws = la.workspace(table)
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    rank, bound = table[la.GENERIC_RANK], table[la.HOLONOMIC_RANK]
    work = la.CHART_ROWS + (2 * nv - bound - rank) * nv
    factors = la.FACTORS + nc
    chart[la.CHART_GAUGE] = 1.0
    if what != la.VELOCITIES and nh > 0:
        small = settings[la.POSITION_TOLERANCE]
        before, converged = 0.0, False
        for _ in range(MAX_ITERATIONS + 1):
            call_native(table[la.POSITION], x, 0, s, ws.native)
            residual = 0.0
            for j in range(nh):
                residual += abs(s[ws.native + j]) * settings[la.FACTORS + j]
            if residual <= 0.1 * small:
                converged = True
                break
            step = correction_along(
                chart,
                la.CHART_ROWS,
                work,
                nv - bound,
                s,
                ws.native,
                ws.native + nh,
                nh,
                nv,
                bound,
                settings,
                perm,
                -1,
            )
            longest = 0.0
            for i in range(nv):
                longest = max(longest, abs(chart[step + i]) * settings[factors + i])
                s[ws.step + i] = chart[step + i]
            if not np.isfinite(longest):
                return -1
            move(table, x, s, ws.step, ws.x)
            # The error left is ρ/(1 − ρ) of the last correction, ρ the contraction rate (Spencer 2004, section 2.3.1).
            contraction = longest / before if before > 0.0 else 0.5
            if contraction < 0.9:
                converged = longest <= small or contraction / (1.0 - contraction) * longest <= 0.1 * small
            else:
                # rounding of φ, or of the data in redundant rows: no more to gain
                converged = min(longest, residual) <= 100.0 * small
                if not converged:
                    break
            if converged:
                break
            before = longest
        if not converged:
            chart[la.CHART_FAILED] = 1.0
            return -1
    if nc == 0:
        return 0
    for _ in range(1 if nc == nh else 8):
        call_native(table[la.VELOCITY], x, 0, s, ws.native)
        first_row = la.CHART_ROWS + (nv - bound) * nv
        step = correction_along(
            chart, first_row, work, nv - rank, s, ws.native, ws.native + nc, nc, nv, rank, settings, perm, -1
        )
        longest = 0.0
        for i in range(nv):
            x[nq + i] += chart[step + i]
            longest = max(longest, abs(chart[step + i]) * settings[factors + i])
        if not np.isfinite(longest):
            return -1
        if longest < 1e-13:
            break
    return rank


@internal
def correction_along(chart, rows, work, count, s, residual, jacobian, m, nv, limit, settings, perm, wanted):
    """Solve A δ = −residual, W δ = c for A of rank ``limit``; return where δ lies in ``chart`` and note the gauge.

    c lies in ``chart`` at ``wanted``; it is zero where that is negative.
    """
    big = m + nv + 1
    inner = work + m * nv
    right = inner + count * nv
    y, step, turned, diagonal, beta, other, beta2, norms = (
        right + big, right + 2 * big, right + 3 * big, right + 4 * big, right + 5 * big, right + 6 * big,
        right + 7 * big, right + 8 * big,
    )  # fmt: skip
    for k in range(m * nv):
        chart[work + k] = s[jacobian + k]
    for j in range(m):
        chart[right + j] = -s[residual + j]
    rank, _ = fa.solve(
        chart, work, m, nv, limit, settings[la.SINGULAR_CUT], settings[la.SCALE_OF_ROWS], perm, diagonal, beta, beta2,
        norms, right, y, step,
    )  # fmt: skip
    if rank < 0:
        chart[step] = np.nan
        return step
    left = nv - rank
    for i in range(count):
        amount = -chart[wanted + i] if wanted >= 0 else 0.0
        for c in range(nv):
            value = chart[rows + i * nv + c]
            chart[turned + c] = value
            amount += value * chart[step + c]
        chart[right + i] = -amount
        fa.apply_q_transposed(chart, work, nv, rank, beta, turned)
        for c in range(left):
            chart[inner + i * left + c] = chart[turned + rank + c]
    for c in range(nv):
        chart[turned + c] = 0.0
    used, _ = fa.solve(
        chart, inner, count, left, count, settings[la.SINGULAR_CUT], 0.0, perm, diagonal, other, beta2, norms, right, y,
        turned + rank,
    )  # fmt: skip
    if count > 0:
        chart[la.CHART_GAUGE] = (
            min(chart[la.CHART_GAUGE], abs(chart[diagonal + count - 1])) if used == count else 0.0
        )
    fa.apply_q(chart, work, nv, rank, beta, turned)
    for c in range(nv):
        chart[step + c] += chart[turned + c]
    return step
