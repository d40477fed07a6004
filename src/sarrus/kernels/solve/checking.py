"""Checks of a constrained solve: residuals in the kinetic metric, relative to their terms, and the status that
follows.

With M = LᵀL, y = L a, f̂ = L⁻ᵀf and Â = A L⁻¹ the solution must satisfy Â y + γ = 0 and y − f̂ − Âᵀλ = 0. Both
residuals are divided by the sums of the magnitudes of their terms, so that neither units nor the size of the forces
matter (Oettli and Prager, Numer. Math. 6, 1964). L itself and the triangular solves are backward stable (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., theorems 8.5 and 10.3), and ``mass_condition`` bounds their
rounding.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import add, axpy, copy, dot, dot_from
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.tolerances import ILL_CONDITIONED_MASS, ROWS_MET
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.tolerances import (
    CANCELLED_FORCES,
    FAINT_RESIDUAL,
    ROUNDING_OF_REFINEMENT,
    ROUNDING_OF_ROWS,
    ROWS_AT_REST,
)


@internal
def contradiction(table: Table, work: Workspace, used: int, x: Floats, reach: float, eliminated: bool):
    """Return the largest relative contradiction between dependent and independent rows, once the rows are factored.

    If row j is Σ c_k (row k), then γ_j = Σ c_k γ_k must hold. Its residual is divided by |γ_j| + Σ |c_k γ_k| plus the
    largest γ of the closure's rows, some of which may be no more than the printed digits of a model. Residuals that
    are rounding of the accelerations by forces alone, or by velocities alone, do not count: γ cancels where a
    mechanism turns as a whole. ``reach`` is the size of the accelerations by forces where M was not ``eliminated``.
    The rows before factorisation are at work.copy, v is at x[nq]. A residual below `Options.inconsistent` counts as
    0.
    """
    nv, nc, settings, perm = table.nv, table.nc, table.settings, la.permutation(table)
    worst, turns, pushed = 0.0, -1.0, reach
    for j in range(used, nc):
        row, own = work.rows + j * nv, perm[j]
        value = work.bias[own]
        size = abs(value)
        copy(row, work.extra, used)
        for k in range(used - 1, -1, -1):
            weight = work.extra[k] / work.diagonal[k]
            other = work.rows + k * nv
            axpy(-weight, other, work.extra, k)
            part = weight * work.bias[perm[k]]
            value -= part
            size += abs(part)
        if abs(value) > settings.inconsistent * size:
            length = _longest_beside(table, work, own)
            if turns < 0.0:
                turns = _turning(table, work, x)
                if eliminated:
                    pushed = _pushing(table, work)
            if abs(value) > 10.0 * ROUNDING_OF_ROWS * max(pushed, turns) * length:
                worst = max(worst, abs(value) / (size + _largest_beside(table, work.bias, own)))
    return worst


@internal
def _longest_beside(table: Table, work: Workspace, j: int):
    """Return the length of the longest row, at work.copy, in the closure of row j; rounding of all its rows has this
    size."""
    nv, nc, closures, longest = table.nv, table.nc, la.factors_of(table).closures, 0.0
    for i in range(nc):
        if closures[i] == closures[j]:
            total = dot(work.copy + i * nv, work.copy + i * nv, nv)
            longest = max(longest, total)
    return np.sqrt(longest)


@internal
def _turning(table: Table, work: Workspace, x: Floats):
    """Return ‖L v‖ max |v_k|, the order of magnitude of accelerations by velocities alone; L is at work.mass.

    max |v_k| is in radians and characteristic lengths per second.
    """
    nq, nv, factors = table.nq, table.nv, la.factors_of(table)
    total = fastest = 0.0
    for i in range(nv):
        value = dot(work.mass + i * nv, x + nq, i + 1)
        total += value * value
        fastest = max(fastest, abs(x[nq + i]) * factors.velocities[i])
    return np.sqrt(total) * fastest


@internal
def _pushing(table: Table, work: Workspace):
    """Return the largest Σ |A_ji f_i| / M_ii over the rows j, divided by the length of row j; A = Â L and f = Lᵀ f̂.

    It is the order of magnitude of accelerations by forces alone, for a diagonal M. With a nearly singular M itself
    the accelerations would be larger and less meaningful.
    """
    nv, nc, largest = table.nv, table.nc, 0.0
    for j in range(nc):
        total = length = 0.0
        for i in range(nv):
            entry = force = mass = 0.0
            for k in range(i, nv):
                factor = work.mass[k * nv + i]
                entry += work.copy[j * nv + k] * factor
                force += work.force[k] * factor
                mass += factor * factor
            total += abs(entry * force) / mass
            length += work.copy[j * nv + i] ** 2
        if total > 0.0:
            largest = max(largest, total / np.sqrt(length))
    return largest


@internal
def _largest_beside(table: Table, values: Floats, j: int):
    """Return the largest |value| among the rows of the closure of row j."""
    nc, closures, largest = table.nc, la.factors_of(table).closures, 0.0
    for i in range(nc):
        if closures[i] == closures[j]:
            largest = max(largest, abs(values[i]))
    return largest


@internal
def unsatisfied(table: Table, work: Workspace, used: int, whole: bool, strict: bool):
    """Return the largest relative residual of the answer, 0 where all residuals are below `ROWS_MET`; Â is at
    work.copy.

    work.a is y. With ``whole`` it is a, and the rows A = Â L are used: sums in Â y are up to the condition number of
    L larger. The negative residuals of the constraints are left at work.rhs. Where rows are dependent, rows that are
    short beside regular rows do not count. With ``strict``, for an answer that can be refined, a residual counts as
    rounding of the accelerations by forces alone only if all terms of its row are rounding of these accelerations,
    since they may be far larger than a.
    """
    nv, nc, settings = table.nv, table.nc, table.settings
    total = worst = 0.0
    for c in range(nv):
        total += work.force[c] ** 2 + work.step[c] ** 2
        work.extra[c] = work.step[c]
    faint = (ROUNDING_OF_REFINEMENT if whole else 10.0 * ROUNDING_OF_ROWS) ** 2 * total
    short = (settings.singular_cut * settings.scale_of_even_rows) ** 2 if used < nc else 0.0
    effort = -1.0
    missed = False
    for j in range(nc):
        row, weight = work.copy + j * nv, work.lam[j]
        value = work.bias[j]
        size = abs(value)
        for c in range(nv):
            entry = row[c]
            part = entry * work.a[c]
            value += part
            size += abs(part)
            work.extra[c] -= weight * entry
        if whole:
            value, size = _row_of_whole(work, nv, j)
        work.rhs[j] = -value
        work.norms[j] = -size  # negative: row satisfied
        if abs(value) > ROWS_MET * size:
            length = dot(row, row, nv)
            noticed = value * value > faint * length
            if strict and not whole and not noticed:
                if effort < 0.0:
                    effort = _effort(table, work)
                noticed = _is_noticed(table, work, row, size, effort)
            if noticed and length > short:
                missed = True
                work.norms[j] = size
    if missed:
        for j in range(nc):
            if work.norms[j] > 0.0:
                size = work.norms[j] if used == nc else _largest_beside(table, work.norms, j)
                worst = max(worst, abs(work.rhs[j]) / size)
    left = dot(work.extra, work.extra, nv)
    if left > ROWS_MET**2 * total:
        worst = max(worst, np.sqrt(left / total))
    return worst


@internal
def _effort(table: Table, work: Workspace):
    """Return √Σ (f_i² + F_i²) / M_ii with f = Lᵀ f̂ and F = Lᵀ work.step: the size of the forces, for a diagonal
    M."""
    nv, total = table.nv, 0.0
    for i in range(nv):
        force = pull = mass = 0.0
        for k in range(i, nv):
            factor = work.mass[k * nv + i]
            force += work.force[k] * factor
            pull += work.step[k] * factor
            mass += factor * factor
        total += (force * force + pull * pull) / mass
    return np.sqrt(total)


@internal
def _is_noticed(table: Table, work: Workspace, row: Floats, size: float, effort: float):
    """Tell whether ``size`` exceeds the rounding of accelerations by the forces in a row A = Â L.

    The rounding is ROWS_AT_REST × effort × √Σ A_i²/M_ii. This sum is evaluated until it is large enough to decide,
    beginning at the last A_i, which has the fewest terms.
    """
    nv, total = table.nv, 0.0
    square, reach, i = size * size, (ROWS_AT_REST * effort) ** 2, nv
    while i > 0 and square > reach * total:
        i -= 1
        entry = mass = 0.0
        for k in range(i, nv):
            factor = work.mass[k * nv + i]
            entry += row[k] * factor
            mass += factor * factor
        total += entry * entry / mass
    return square > reach * total


@internal
def residual(table: Table, work: Workspace, rows: Floats, vector: Floats):
    """Return ‖A a + γ‖ in the units of the rows, for a = ``vector``; ``rows`` and γ are in characteristic units."""
    nv, factors, total = table.nv, la.factors_of(table), 0.0
    for j in range(table.nc):
        total += (dot_from(work.bias[j], rows + j * nv, vector, nv) / factors.rows[j]) ** 2
    return np.sqrt(total)


@internal
def _row_of_whole(work: Workspace, nv: int, j: int):
    """Return A a + γ of row j, from A = Â L, and the sum of the magnitudes of its terms."""
    row = work.copy + j * nv
    value = work.bias[j]
    size = abs(value)
    for c in range(nv):
        entry = 0.0
        for i in range(c, nv):
            entry += row[i] * work.mass[i * nv + c]
        part = entry * work.a[c]
        value += part
        size += abs(part)
    return value, size


@internal
def mass_condition(factor: Floats, n: int):
    """Return the largest M_kk/L_kk² of M = LᵀL: roughly the condition number of M scaled to a unit diagonal.

    NaN where L has a NaN or a zero on its diagonal.
    """
    largest, wrong = 1.0, 0.0
    for k in range(n):
        total = 0.0
        for i in range(k, n):
            total += factor[i * n + k] ** 2
        pivot = factor[k * n + k] ** 2
        if not pivot > 0.0:
            wrong = np.nan
        elif total > largest * pivot:
            largest = total / pivot
    return largest + wrong


@internal
def refine(table: Table, work: Workspace, used: int, whole: bool):
    """Correct work.step and work.a by the least-squares solution for the residuals at work.rhs; work.y too, for λ."""
    nv = table.nv
    fa.least_squares(fa.matrix(table, work, work.rows, table.nc), used, work.rhs, work.norms, work.extra)
    add(work.extra, work.step, nv)
    if whole:
        fa.solve_l(work.mass, nv, work.extra)
    add(work.extra, work.a, nv)
    add(work.norms, work.y, used)


@internal
def outcome(table: Table, work: Workspace, used: int):
    """Return the status of a solve from its facts: the number of a `sarrus.base.status.Status`."""
    settings, dependent = table.settings, used < table.nc
    least_squares = work.facts.contradiction > settings.inconsistent
    if not work.facts.mass_condition <= ILL_CONDITIONED_MASS:
        return la.ILL_CONDITIONED_ANSWER
    if least_squares or (dependent and not work.facts.unsatisfied <= settings.inconsistent):
        return la.INCONSISTENT_ANSWER
    if not dependent and not work.facts.unsatisfied <= ROWS_MET:
        return la.ALMOST_ANSWER
    return la.SINGULAR_ANSWER if used < table.generic_rank else la.COMPLETE_ANSWER


@internal
def unmet_whole(table: Table, work: Workspace, used: int, reach: float):
    """Return the largest relative residual of the answer where nothing was eliminated; M, f, A, γ, a, λ are in the
    workspace.

    There is no refinement here. So residuals count as rounding if they are rounding of ``reach`` (largest |f_i| /
    M_ii), or of the largest row: without forces, the rows of coordinates at rest and the forces are nothing but
    rounding.
    """
    nv, nc, settings = table.nv, table.nc, table.settings
    short = settings.singular_cut * settings.scale_of_measured_rows if used < nc else 0.0
    total = worst = largest = 0.0
    for j in range(nc):
        row = work.rows + j * nv
        value = work.bias[j]
        size, length = abs(value), 0.0
        for c in range(nv):
            part = row[c] * work.a[c]
            value += part
            size += abs(part)
            length += row[c] * row[c]
        rounding = 10.0 * ROUNDING_OF_ROWS * reach * np.sqrt(length)
        work.rhs[j] = value if length > short * short and abs(value) > rounding else 0.0
        work.norms[j] = size
        largest = max(largest, size)
    for j in range(nc):
        value = abs(work.rhs[j])
        if value > FAINT_RESIDUAL * ROUNDING_OF_ROWS * largest:
            size = work.norms[j] if used == nc else _largest_beside(table, work.norms, j)
            worst = max(worst, value / size)
    for i in range(nv):
        value = -work.force[i]
        size = abs(value)
        for c in range(nv):
            part = work.mass[i * nv + c] * work.a[c]
            value += part
            size += abs(part)
        for j in range(nc):
            part = work.rows[j * nv + i] * work.lam[j]
            value -= part
            size += abs(part)
        work.rhs[i] = value
        work.norms[i] = size
        total = max(total, size, ROUNDING_OF_ROWS * largest * work.mass[i * nv + i])
    for i in range(nv):
        value = abs(work.rhs[i])
        if value > 0.0:
            worst = max(worst, value / (work.norms[i] + CANCELLED_FORCES * total))
    return worst
