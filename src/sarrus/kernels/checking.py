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

# What cancels to rounding is no contradiction: as much of what the forces would do alone counts as summed in γ.
FAINT = 1e-7


@fast
def contradiction(s, ws, nv, nc, used, perm, reach, settings):
    """Return how far the dependent rows contradict the independent ones, once the rows are factored.

    Row j is Σ c_k (row k); then γ_j = Σ c_k γ_k must hold. What is left is divided by |γ_j| + Σ |c_k γ_k|, plus the
    largest γ of the rows of one closure, of which some may be no more than the printed digits of a model, plus a
    rounding of what the forces alone would do, ``reach`` × ‖row j‖; the rows as they were lie at ws.copy.
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
            size += FAINT * reach * np.sqrt(length)
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
def unmet(s, ws, nv, nc, used, settings):
    """Return the largest relative residual of the answer y (at ws.a), its step from f̂ and λ; Â lies at ws.copy.

    The residuals of the constraints, negative, are left at ws.rhs. Rows are dropped where they are short beside the size
    that rows have nearby, and their residual is small beside that.
    """
    nearby = settings[la.SCALE_OF_WEIGHTED_ROWS] if used < nc else 0.0
    force = total = 0.0
    for c in range(nv):
        force += s[ws.force + c] ** 2
        total += s[ws.force + c] ** 2 + s[ws.a + c] ** 2
    total = np.sqrt(total)
    worst = 0.0
    for j in range(nc):
        row = ws.copy + j * nv
        value = s[ws.bias + j]
        size, length = abs(value), 0.0
        for c in range(nv):
            part = s[row + c] * s[ws.a + c]
            value += part
            size += abs(part)
            length += s[row + c] * s[row + c]
        s[ws.rhs + j] = -value
        s[ws.norms + j] = size
        s[ws.extra + j] = la.FLOOR * max(np.sqrt(length), nearby) * total
    for j in range(nc):
        value = abs(s[ws.rhs + j])
        if value > 0.0:
            size = s[ws.norms + j] if used == nc else _largest_beside(s, ws.norms, nc, j, settings)
            worst = max(worst, value / (size + s[ws.extra + j]))
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
def refine(s, ws, nv, nc, used, perm):
    """Correct the step by the minimum-norm solution for the residuals that `unmet` left; λ follows from ws.y."""
    fa.least_squares(
        s, ws.rows, nc, nv, used, perm, ws.diagonal, ws.beta, ws.beta2, ws.rhs, ws.norms, ws.extra
    )
    for c in range(nv):
        s[ws.step + c] += s[ws.extra + c]
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
    fastest = total = worst = 0.0
    nearby = settings[la.SCALE_OF_ROWS] if used < nc else 0.0
    for i in range(nv):
        fastest = max(fastest, abs(s[ws.a + i]))
    for j in range(nc):
        row = ws.rows + j * nv
        value = s[ws.bias + j]
        size, length = abs(value), 0.0
        for c in range(nv):
            part = s[row + c] * s[ws.a + c]
            value += part
            size += abs(part)
            length = max(length, abs(s[row + c]))
        s[ws.rhs + j] = value
        s[ws.norms + j] = size
        s[ws.extra + j] = la.FLOOR * max(length, nearby) * fastest
    for j in range(nc):
        value = abs(s[ws.rhs + j])
        if value > 0.0:
            size = s[ws.norms + j] if used == nc else _largest_beside(s, ws.norms, nc, j, settings)
            worst = max(worst, value / (size + s[ws.extra + j]))
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
            worst = max(worst, value / (s[ws.norms + i] + la.FLOOR * total))
    return worst
