"""Is the answer one? Residuals of a solve in the kinetic metric, relative to what was summed, and what follows.

With M = LᵀL, y = L a, f̂ = L⁻ᵀf and Â = A L⁻¹ the answer must meet Â y + γ = 0 and y − f̂ − Âᵀλ = 0. Both are divided by
the sums of the magnitudes of their terms, so that neither units nor the size of the forces matter (Oettli and Prager,
Numer. Math. 6, 1964); L itself and the triangular solves are backward stable (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., theorems 8.5 and 10.3), and ``WEAKEST`` bounds what they cost.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.factor import fast
from sarrus.kernels.flat import internal

# As much of what the forces would do alone is no residual: rounding of rounding, which a step of refinement leaves.
FAINT = 1e-22
# Forces that cancel in all rows but a few: as much of the largest counts as summed in every row of M a = f + Aᵀλ.
NOISE = 1e-4


@fast
def contradiction(s, ws, nv, nc, used, perm, reach, settings):
    """Return how far the dependent rows contradict the independent ones, once the rows are factored.

    Row j is Σ c_k (row k); then γ_j = Σ c_k γ_k must hold. What is left is divided by |γ_j| + Σ |c_k γ_k|, plus the
    largest γ of the rows of one closure, of which some may be no more than the printed digits of a model. ``reach`` is
    the size of what the forces alone would do; the rows as they were lie at ws.copy.
    """
    worst = 0.0
    for j in range(used, nc):
        row, own = ws.rows + j * nv, perm[j]
        value = s[ws.bias + own]
        size = abs(value)
        for k in range(used):
            s[ws.extra + k] = s[row + k]
        for k in range(used - 1, -1, -1):
            weight = s[ws.extra + k] / s[ws.diagonal + k]
            other = ws.rows + k * nv
            for i in range(k):
                s[ws.extra + i] -= weight * s[other + i]
            part = weight * s[ws.bias + perm[k]]
            value -= part
            size += abs(part)
        if value != 0.0:
            size += _largest_beside(s, ws.bias, nc, own, settings)
            length = 0.0
            for c in range(nv):
                length += s[ws.copy + own * nv + c] ** 2
            if abs(value) > FAINT * reach * np.sqrt(length):
                worst = max(worst, abs(value) / size)
    return worst


@fast
def _largest_beside(s, values, nc, j, settings):
    """Return the largest of the values that belong to the closure of row j."""
    largest = 0.0
    for i in range(nc):
        if settings[la.FIRST_ROWS + i] == settings[la.FIRST_ROWS + j]:
            largest = max(largest, abs(s[values + i]))
    return largest


@fast
def unmet(s, ws, nv, nc, used, whole, settings):
    """Return the largest relative residual of the answer and of its step from f̂ and λ; Â lies at ws.copy.

    ws.a holds y, or a where ``whole`` asks for the rows of A = Â L themselves: the sums in Â y are as large, or larger
    by the condition number of L. The residuals of the constraints, negative, are left at ws.rhs. Rows that are short
    beside those nearby are no constraints here.
    """
    short = settings[la.SINGULAR_CUT] * settings[la.SCALE_OF_WEIGHTED_ROWS] if used < nc else 0.0
    total = worst = 0.0
    for c in range(nv):
        total += s[ws.force + c] ** 2 + s[ws.step + c] ** 2
    total = np.sqrt(total)
    for j in range(nc):
        row = ws.copy + j * nv
        length = 0.0
        for c in range(nv):
            length += s[row + c] * s[row + c]
            s[ws.extra + c] = s[row + c]
        if whole:
            for c in range(nv):
                value = 0.0
                for i in range(c, nv):
                    value += s[row + i] * s[ws.mass + i * nv + c]
                s[ws.extra + c] = value
        value = s[ws.bias + j]
        size = abs(value)
        for c in range(nv):
            part = s[ws.extra + c] * s[ws.a + c]
            value += part
            size += abs(part)
        s[ws.rhs + j] = -value
        s[ws.norms + j] = size
        if abs(value) <= FAINT * np.sqrt(length) * total or length <= short * short:
            value = 0.0
        if value != 0.0 and used == nc:
            worst = max(worst, abs(value) / size)
    if used < nc:
        for j in range(nc):
            value, length = abs(s[ws.rhs + j]), 0.0
            if value > worst * s[ws.norms + j]:
                for c in range(ws.copy + j * nv, ws.copy + (j + 1) * nv):
                    length += s[c] * s[c]
                if value > FAINT * np.sqrt(length) * total and length > short * short:
                    worst = max(worst, value / _largest_beside(s, ws.norms, nc, j, settings))
    largest = 0.0
    for c in range(nv):
        value = s[ws.step + c]
        for j in range(nc):
            value -= s[ws.copy + j * nv + c] * s[ws.lam + j]
        largest = max(largest, abs(value))
    if largest > 0.0:
        worst = max(worst, largest / total)
    return worst


@fast
def weakest(s, factor, n):
    """Return the largest M_kk/L_kk² of M = LᵀL: the condition number of M, roughly, scaled to ones on its diagonal."""
    largest = 1.0
    for k in range(n):
        total = 0.0
        for i in range(k, n):
            total += s[factor + i * n + k] ** 2
        largest = max(largest, total / s[factor + k * n + k] ** 2)
    return largest


@fast
def refine(s, ws, nv, nc, used, whole, perm):
    """Correct step and answer by the minimum-norm solution for the residuals that `unmet` left; λ follows from ws.y."""
    fa.least_squares(
        s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta, ws.beta2, ws.rhs, ws.norms, ws.extra
    )
    for c in range(nv):
        s[ws.step + c] += s[ws.extra + c]
    if whole:
        fa.solve_l(s, ws.mass, nv, ws.extra)
    for c in range(nv):
        s[ws.a + c] += s[ws.extra + c]
    for k in range(used):
        s[ws.y + k] += s[ws.norms + k]


@internal
def outcome(table, settings, s, ws, used):
    """Return what the facts of a solve say of it: the number of a `sarrus.status.Status`."""
    dependent = used < table[la.NC]
    least_squares = s[ws.facts + la.CONTRADICTION] > settings[la.INCONSISTENT]
    if not s[ws.facts + la.WEAKEST] <= la.ILL:
        return la.ILL_CONDITIONED_ANSWER
    if least_squares or (dependent and not s[ws.facts + la.UNMET] <= settings[la.INCONSISTENT]):
        return la.INCONSISTENT_ANSWER
    if not dependent and not s[ws.facts + la.UNMET] <= la.MET:
        return la.ALMOST_ANSWER
    return la.SINGULAR_ANSWER if used < table[la.GENERIC_RANK] else la.COMPLETE_ANSWER


@fast
def unmet_whole(s, ws, nv, nc, used, settings):
    """Do what `unmet` does where nothing was eliminated: M, f, A and γ lie in the workspace, a at ws.a."""
    short = settings[la.SINGULAR_CUT] * settings[la.SCALE_OF_ROWS] if used < nc else 0.0
    total = worst = 0.0
    for j in range(nc):
        row = ws.rows + j * nv
        value = s[ws.bias + j]
        size, length = abs(value), 0.0
        for c in range(nv):
            part = s[row + c] * s[ws.a + c]
            value += part
            size += abs(part)
            length += s[row + c] * s[row + c]
        s[ws.rhs + j] = value if length > short * short else 0.0
        s[ws.norms + j] = size
    for j in range(nc):
        value = abs(s[ws.rhs + j])
        if value > 0.0:
            size = s[ws.norms + j] if used == nc else _largest_beside(s, ws.norms, nc, j, settings)
            worst = max(worst, value / size)
    for i in range(nv):
        value = -s[ws.force + i]
        size = abs(value)
        for c in range(nv):
            part = s[ws.mass + i * nv + c] * s[ws.a + c]
            value += part
            size += abs(part)
        for j in range(nc):
            part = s[ws.rows + j * nv + i] * s[ws.lam + j]
            value -= part
            size += abs(part)
        s[ws.rhs + i] = value
        s[ws.norms + i] = size
        total = max(total, size)
    for i in range(nv):
        value = abs(s[ws.rhs + i])
        if value > 0.0:
            worst = max(worst, value / (s[ws.norms + i] + NOISE * total))
    return worst
