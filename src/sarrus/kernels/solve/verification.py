"""Verification of a solution of M a = f + F, F = Aᵀλ, A a + γ = 0: residuals and an error bound in one call.

Residuals are componentwise, as in `sarrus.formulations.checked`. The error is the change of a when f and γ change by
their residuals and the rounding of their terms, with alternating signs. It is found from M = UᵀU, B = A U⁻¹ and the
Cholesky factor of B Bᵀ, independently of the method that gave the solution; one correct digit of the error suffices.

A is stored by columns, and so is B: the inner loops add columns.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.tolerances import EPSILON
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, divide, dot_from, fill
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.memory.tolerances import CERTAIN_ACCELERATION
from sarrus.kernels.memory.verification_layout import (
    ERROR,
    FORCE,
    GOOD,
    MET,
    MULTIPLIERS,
    N_RESULTS,
    ROWS,
    UNMET,
)
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.tolerances import (
    DEPENDENT_PIVOT,
    INDEPENDENT_PIVOT,
    LEAST_MASS_PIVOT,
    NEAR_OVERFLOW,
    NEAR_UNDERFLOW,
)


def verify_solution(table: Integers, x: Floats, level: int) -> int:
    """Return GOOD, MET or UNMET for a solution: table has n, m, the rank of A; x has M, A, f, γ, a, F, λ.

    GOOD: the residuals are rounding and a is accurate. MET: the residuals are rounding; the changes of f (n) and γ
    (m) for another solve are left behind the results. UNMET: the residuals are larger. Before the data, x has buffers
    for the results, for n + m numbers and for n + 2 m + m² numbers. M and A are overwritten.
    """
    n, m = table[0], table[1]
    work = x + (N_RESULTS + n + m)
    M = work + (n + 2 * m + m * m)
    A = M + n * n
    f = A + m * n
    a = f + (n + m)
    if not (_rows_met(x, n, m, A, f + n, a, work) and _forces_met(x, n, m, M, A, f, a)):
        return UNMET
    if not (_factor(n, M, work) and _compliance_column(x, n, m, table[2], M, A, work)):
        return MET
    error = 0.0
    for i in range(n):
        moved, size = abs(work[i]), abs(a[i])
        if not moved <= CERTAIN_ACCELERATION * size:
            return MET
        if size > 0.0:
            error = max(error, moved / size)
    x[ERROR] = error
    return GOOD


@internal
def _forces_met(x: Floats, n: int, m: int, M: Floats, A: Floats, f: Floats, a: Floats):
    """Write the residuals of M a = f + F and M a = f + Aᵀλ, and the change of f; tell whether both residuals are
    rounding."""
    force, lam, change = a + n, a + 2 * n, x + N_RESULTS
    limit = 8.0 * (n + m + 4) * EPSILON
    by_force = by_multipliers = 0.0
    for i in range(n):
        total, size = _sums(M + i * n, a, n)
        pull, reach = _sums(A + i * m, lam, m)
        total, size = total - f[i], size + abs(f[i])
        left, terms = abs(total - force[i]), size + abs(force[i])
        missed, size = abs(total - pull), size + reach
        if not (
            size > NEAR_UNDERFLOW
            and terms > NEAR_UNDERFLOW
            and size < NEAR_OVERFLOW
            and terms < NEAR_OVERFLOW
        ):
            return False
        if not (left <= limit * terms and missed <= limit * size):
            return False
        by_force, by_multipliers = max(by_force, left / terms), max(by_multipliers, missed / size)
        rounding = missed + EPSILON * size
        change[i] = rounding if (n + i) % 2 == 0 else -rounding
    x[FORCE], x[MULTIPLIERS] = by_force, by_multipliers
    return True


@internal
def _sums(a: Floats, b: Floats, n: int):
    """Return Σ a_c b_c and Σ |a_c b_c| of two rows (n,), each by two sums of every second term."""
    one, two, first, second = 0.0, 0.0, 0.0, 0.0
    for c in range(0, n - 1, 2):
        even, odd = a[c] * b[c], a[c + 1] * b[c + 1]
        one += even
        two += odd
        first += abs(even)
        second += abs(odd)
    if n % 2 == 1:
        part = a[n - 1] * b[n - 1]
        one += part
        first += abs(part)
    return one + two, first + second


@internal
def _rows_met(x: Floats, n: int, m: int, A: Floats, gamma: Floats, a: Floats, work: Floats):
    """Write the residual of A a + γ = 0 and the change of γ; tell whether the residual is rounding."""
    left, size, change = work, work + m, x + (N_RESULTS + n)
    limit = 8.0 * (n + m + 4) * EPSILON
    by_rows = 0.0
    for j in range(m):
        left[j] = gamma[j]
        size[j] = abs(gamma[j])
    for i in range(n):
        factor = a[i]
        for j in range(m):
            part = A[i * m + j] * factor
            left[j] += part
            size[j] += abs(part)
    for j in range(m):
        missed, terms = abs(left[j]), size[j]
        rounding = missed + EPSILON * terms
        change[j] = rounding if j % 2 == 0 else -rounding
        if terms == 0.0 and _is_zero(n, m, A + j):
            continue  # a zero row with γ_j = 0
        if not (terms > NEAR_UNDERFLOW and terms < NEAR_OVERFLOW and missed <= limit * terms):
            return False
        by_rows = max(by_rows, missed / terms)
    x[ROWS] = by_rows
    return True


@internal
def _is_zero(n: int, m: int, row: Floats):
    """Tell whether a row of A (n entries, m apart) is zero."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(row[i * m]))
    return largest == 0.0


@internal
def _factor(n: int, M: Floats, whole: Floats):
    """Replace the upper triangle of M by U with UᵀU = M; False where a pivot lacks digits. ``whole`` is a buffer
    (n,)."""
    for k in range(n):
        whole[k] = M[k * n + k]
    for k in range(n):
        row, pivot = M + k * n, M[k * n + k]
        if not pivot > LEAST_MASS_PIVOT * whole[k]:
            return False
        root = np.sqrt(pivot)
        for c in range(k, n):
            row[c] /= root
        for i in range(k + 1, n):
            weight, other = row[i], M + i * n
            for c in range(i, n):
                other[c] -= weight * row[c]
    return True


@internal
def _compliance_column(x: Floats, n: int, m: int, rank: int, M: Floats, A: Floats, work: Floats):
    """Write the change of a (n,) by the changes of f and γ to ``work``; False where A has another rank, or lacks
    digits.

    U is at M. B overwrites A; buffers for the change of λ and for B Bᵀ follow at ``work`` + n.
    """
    change, lam, S = x + N_RESULTS, work + n, work + (n + 2 * m)
    copy(change, work, n)
    _solve_lower(n, M, work, 1)
    _solve_lower(n, M, A, m)
    copy_scaled(-1.0, change + n, lam, m)
    for i in range(n):
        axpy(-work[i], A + i * m, lam, m)
    _multiply(n, m, A, S)
    if not _multipliers(m, rank, S, lam):
        return False
    for i in range(n):
        work[i] = dot_from(work[i], A + i * m, lam, m)
    for k in range(n - 1, -1, -1):
        total = work[k]
        for c in range(k + 1, n):
            total -= M[k * n + c] * work[c]
        work[k] = total / M[k * n + k]
    return True


@internal
def _solve_lower(n: int, U: Floats, right: Floats, columns: int):
    """Replace the matrix ``right`` (n × columns) by U⁻ᵀ right."""
    for k in range(n):
        row, pivot = right + k * columns, U[k * n + k]
        divide(row, pivot, columns)
        for i in range(k + 1, n):
            weight, other = U[k * n + i], right + i * columns
            axpy(-weight, row, other, columns)


@internal
def _multiply(n: int, m: int, B: Floats, S: Floats):
    """Write the upper triangle of B Bᵀ (m × m) to S, four columns of B at a time."""
    fill(S, 0.0, m * m)
    for i in range(0, n - 3, 4):
        p, q, r, s = B + i * m, B + (i + 1) * m, B + (i + 2) * m, B + (i + 3) * m
        for j in range(m):
            one, two, three, four = p[j], q[j], r[j], s[j]
            for c in range(j, m):
                S[j * m + c] += (one * p[c] + two * q[c]) + (three * r[c] + four * s[c])
    for i in range(n - n % 4, n):
        for j in range(m):
            for c in range(j, m):
                S[j * m + c] += B[i * m + j] * B[i * m + c]


@internal
def _multipliers(m: int, rank: int, S: Floats, lam: Floats):
    """Replace the right-hand side ``lam`` (m,) by a solution λ of S λ = lam, with λ_k = 0 for rows that depend on
    earlier rows.

    S (upper triangle) is overwritten. False where S has another rank than ``rank``, or lacks digits.
    """
    scale = lam + m
    for j in range(m):
        scale[j] = 1.0 / np.sqrt(S[j * m + j]) if S[j * m + j] > 0.0 else 0.0
    for j in range(m):
        lam[j] *= scale[j]
        for c in range(j, m):
            S[j * m + c] *= scale[j] * scale[c]
    found = 0
    for k in range(m):
        pivot = S[k * m + k]
        if pivot <= DEPENDENT_PIVOT:
            lam[k] = 0.0
            for c in range(k, m):
                S[k * m + c] = 0.0
            continue
        if not pivot > INDEPENDENT_PIVOT:
            return False
        found += 1
        root = np.sqrt(pivot)
        lam[k] /= root
        for c in range(k, m):
            S[k * m + c] /= root
        for j in range(k + 1, m):
            weight = S[k * m + j]
            lam[j] -= weight * lam[k]
            for c in range(j, m):
                S[j * m + c] -= weight * S[k * m + c]
    if found != rank:
        return False
    for k in range(m - 1, -1, -1):
        if S[k * m + k] > 0.0:
            total = lam[k]
            for c in range(k + 1, m):
                total -= S[k * m + c] * lam[c]
            lam[k] = total / S[k * m + k]
    for j in range(m):
        lam[j] *= scale[j]
    return True
