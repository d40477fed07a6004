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
from sarrus.kernels.flat import internal

# As much of what the forces would do alone is no residual: rounding, and rounding of rounding, which refinement leaves.
ROUNDING, FAINT = 1e-14, 1e-22
# Forces that cancel in all rows but a few: as much of the largest counts as summed in every row of M a = f + Aᵀλ.
NOISE = 1e-4


@internal
def contradiction(s, ws, nv, nc, used, perm, reach, x, nq, eliminated, settings):
    """Return how far the dependent rows contradict the independent ones, once the rows are factored.

    Row j is Σ c_k (row k); then γ_j = Σ c_k γ_k must hold. What is left is divided by |γ_j| + Σ |c_k γ_k|, plus the
    largest γ of the rows of one closure, of which some may be no more than the printed digits of a model. Rounding of
    what the forces alone would do is none, nor is that of what velocities do: γ cancels where a mechanism turns as a
    whole. ``reach`` is the size of the former where M was not ``eliminated``; the rows as they were lie at ws.copy, v
    from x[nq] on. Less than `Options.inconsistent` is not looked at further and counts as 0.
    """
    worst, turns, pushed = 0.0, -1.0, reach
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
        if abs(value) > settings[la.INCONSISTENT] * size:
            length = _longest_beside(s, ws, nc, nv, own, settings)
            if turns < 0.0:
                turns = _turning(s, ws, x, nq, nv, la.FACTORS + nc, settings)
                if eliminated:
                    pushed = _pushing(s, ws, nv, nc)
            if abs(value) > 10.0 * ROUNDING * max(pushed, turns) * length:
                worst = max(worst, abs(value) / (size + _largest_beside(s, ws.bias, nc, nv, own, settings)))
    return worst


@internal
def _longest_beside(s, ws, nc, nv, j, settings):
    """Return the length of the longest row, at ws.copy, of the closure of row j; rounding in all has its size."""
    first, longest = la.FACTORS + nc + nv, 0.0
    for i in range(nc):
        if settings[first + i] == settings[first + j]:
            total = 0.0
            for c in range(nv):
                total += s[ws.copy + i * nv + c] ** 2
            longest = max(longest, total)
    return np.sqrt(longest)


@internal
def _turning(s, ws, x, nq, nv, factors, settings):
    """Return ‖L v‖ max |v_k|, about the size of the accelerations that velocities alone make; L at ws.mass.

    The latter is in radians and characteristic lengths per second.
    """
    total = fastest = 0.0
    for i in range(nv):
        value = 0.0
        for k in range(i + 1):
            value += s[ws.mass + i * nv + k] * x[nq + k]
        total += value * value
        fastest = max(fastest, abs(x[nq + i]) * settings[factors + i])
    return np.sqrt(total) * fastest


@internal
def _pushing(s, ws, nv, nc):
    """Return the largest, over the rows, of Σ |A_ji f_i| / M_ii beside the length of the row; A = Â L and f = Lᵀ f̂.

    That is what the forces would do if M were diagonal: where it nearly is singular they would do more, and mean less.
    """
    largest = 0.0
    for j in range(nc):
        total = length = 0.0
        for i in range(nv):
            entry = force = mass = 0.0
            for k in range(i, nv):
                factor = s[ws.mass + k * nv + i]
                entry += s[ws.copy + j * nv + k] * factor
                force += s[ws.force + k] * factor
                mass += factor * factor
            total += abs(entry * force) / mass
            length += s[ws.copy + j * nv + i] ** 2
        if total > 0.0:
            largest = max(largest, total / np.sqrt(length))
    return largest


@internal
def _largest_beside(s, values, nc, nv, j, settings):
    """Return the largest of the values that belong to the closure of row j."""
    first, largest = la.FACTORS + nc + nv, 0.0
    for i in range(nc):
        if settings[first + i] == settings[first + j]:
            largest = max(largest, abs(s[values + i]))
    return largest


@internal
def unmet(s, ws, nv, nc, used, whole, settings):
    """Return the largest relative residual of the answer, 0 where all are below `layout.MET`; Â lies at ws.copy.

    ws.a holds y, or a where ``whole`` asks for the rows of A = Â L themselves: the sums in Â y are as large, or larger
    by the condition number of L. The residuals of the constraints, negative, are left at ws.rhs. Rows that are short
    beside those nearby are no constraints here.
    """
    total = worst = 0.0
    for c in range(nv):
        total += s[ws.force + c] ** 2 + s[ws.step + c] ** 2
        s[ws.extra + c] = s[ws.step + c]
    faint = (FAINT if whole else 10.0 * ROUNDING) ** 2 * total
    short = (settings[la.SINGULAR_CUT] * settings[la.SCALE_OF_EVEN_ROWS]) ** 2 if used < nc else 0.0
    missed = False
    for j in range(nc):
        row, weight = ws.copy + j * nv, s[ws.lam + j]
        value = s[ws.bias + j]
        size, length = abs(value), 0.0
        for c in range(nv):
            entry = s[row + c]
            part = entry * s[ws.a + c]
            value += part
            size += abs(part)
            s[ws.extra + c] -= weight * entry
        if whole:
            value, size = _row_of_whole(s, ws, nv, j)
        s[ws.rhs + j] = -value
        s[ws.norms + j] = -size  # met
        if abs(value) > la.MET * size:
            for c in range(row, row + nv):
                length += s[c] * s[c]
            if value * value > faint * length and length > short:
                missed = True
                s[ws.norms + j] = size
    if missed:
        for j in range(nc):
            if s[ws.norms + j] > 0.0:
                size = s[ws.norms + j] if used == nc else _largest_beside(s, ws.norms, nc, nv, j, settings)
                worst = max(worst, abs(s[ws.rhs + j]) / size)
    left = 0.0
    for c in range(nv):
        left += s[ws.extra + c] ** 2
    if left > la.MET**2 * total:
        worst = max(worst, np.sqrt(left / total))
    return worst


@internal
def residual(s, ws, rows, vector, nv, nc, settings):
    """Return the norm of A a + γ in the units of its rows; ``rows`` and γ are in characteristic ones."""
    total = 0.0
    for j in range(nc):
        value = s[ws.bias + j]
        for c in range(nv):
            value += s[rows + j * nv + c] * s[vector + c]
        total += (value / settings[la.FACTORS + j]) ** 2
    return np.sqrt(total)


@internal
def _row_of_whole(s, ws, nv, j):
    """Return A a + γ of row j, from A = Â L, and the sum of the magnitudes of its terms."""
    row = ws.copy + j * nv
    value = s[ws.bias + j]
    size = abs(value)
    for c in range(nv):
        entry = 0.0
        for i in range(c, nv):
            entry += s[row + i] * s[ws.mass + i * nv + c]
        part = entry * s[ws.a + c]
        value += part
        size += abs(part)
    return value, size


@internal
def weakest(s, factor, n):
    """Return the largest M_kk/L_kk² of M = LᵀL: the condition number of M, roughly, scaled to ones on its diagonal.

    NaN where L is no number or has a zero on its diagonal.
    """
    largest, wrong = 1.0, 0.0
    for k in range(n):
        total = 0.0
        for i in range(k, n):
            total += s[factor + i * n + k] ** 2
        pivot = s[factor + k * n + k] ** 2
        if not pivot > 0.0:
            wrong = np.nan
        elif total > largest * pivot:
            largest = total / pivot
    return largest + wrong


@internal
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
    """Return what the facts of a solve say of it: the number of a `sarrus.base.status.Status`."""
    dependent = used < table[la.NC]
    least_squares = s[ws.facts + la.CONTRADICTION] > settings[la.INCONSISTENT]
    if not s[ws.facts + la.WEAKEST] <= la.ILL:
        return la.ILL_CONDITIONED_ANSWER
    if least_squares or (dependent and not s[ws.facts + la.UNMET] <= settings[la.INCONSISTENT]):
        return la.INCONSISTENT_ANSWER
    if not dependent and not s[ws.facts + la.UNMET] <= la.MET:
        return la.ALMOST_ANSWER
    return la.SINGULAR_ANSWER if used < table[la.GENERIC_RANK] else la.COMPLETE_ANSWER


@internal
def unmet_whole(s, ws, nv, nc, used, reach, settings):
    """Do what `unmet` does where nothing was eliminated: M, f, A and γ lie in the workspace, a and λ at ws.a, ws.lam.

    Nothing is refined here, so rounding of ``reach``, the accelerations of single coordinates, is no residual.
    """
    short = settings[la.SINGULAR_CUT] * settings[la.SCALE_OF_MEASURED_ROWS] if used < nc else 0.0
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
        rounding = 10.0 * ROUNDING * reach * np.sqrt(length)
        s[ws.rhs + j] = value if length > short * short and abs(value) > rounding else 0.0
        s[ws.norms + j] = size
    for j in range(nc):
        value = abs(s[ws.rhs + j])
        if value > 0.0:
            size = s[ws.norms + j] if used == nc else _largest_beside(s, ws.norms, nc, nv, j, settings)
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
