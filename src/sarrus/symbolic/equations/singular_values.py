"""Singular values of a matrix of expressions, as expressions: straight-line code that CasADi differentiates twice.

Tracing makes no decision by numbers, so that one expression serves control laws, exported C, designs and optimal
control. Eigenvalues come from Jacobi rotations. Derivatives do not pass through the rotations but come from the
second-order perturbation of the eigenvalue (Lancaster, On eigenvalues of matrices dependent on a parameter, 1964) with
constant eigenvectors: `frozen`.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.symbolic.equations.tolerances import (
    DEPENDENT_SINE,
    FLOOR_OF_PIVOTS,
    KEPT_DIGITS,
    MEETING_EIGENVALUES,
    ZERO_TRACE,
)


def frozen(x: ca.SX) -> ca.SX:
    """Return x, |x| < 8, rounded down to 2⁻⁵⁰: numerically x, but a constant for CasADi's derivatives."""
    return ca.floor(x * KEPT_DIGITS) / KEPT_DIGITS


def gram_across(rows: ca.SX, others: ca.SX) -> ca.SX:
    """Return J P Jᵀ (k × k) of rows J (k, n), with P = 1 − A⁺A onto the null space of ``others`` A (m, n).

    J Jᵀ − J Aᵀ (A Aᵀ)⁻¹ A Jᵀ, by elimination in the order of the rows of A. Zero rows, and rows that depend on earlier
    ones, are skipped. The relative error grows with the squared condition number of A.
    """
    count, width = others.shape[0], rows.shape[0]
    whole = ca.vertcat(others, rows)
    product = whole @ whole.T
    rest = [[product[i, j] for j in range(i + 1)] for i in range(count + width)]
    for k in range(count):
        size, left = product[k, k], rest[k][k]
        if size.is_zero():
            continue
        counts = left > DEPENDENT_SINE * size
        inverse = ca.if_else(counts, 1.0 / ca.if_else(counts, left, 1.0), 0.0)
        for i in range(k + 1, count + width):
            if rest[i][k].is_zero():
                continue
            factor = rest[i][k] * inverse
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor * rest[j][k]
    return ca.vertcat(
        *(
            ca.horzcat(*(rest[count + max(i, j)][count + min(i, j)] for j in range(width)))
            for i in range(width)
        )
    )


def orthonormal_rows(matrix: ca.SX) -> ca.SX:
    """Return Q (m, n), whose nonzero rows are orthonormal and span the rows of a matrix (m, n).

    By modified Gram–Schmidt in the order of the rows; a zero row, or a row that depends on earlier ones, is zero in Q.
    P = 1 − QᵀQ projects onto the null space.
    """
    kept: list[ca.SX] = []
    for row in ca.vertsplit(matrix) if matrix.shape[0] else []:
        if row.nnz() == 0 or row.is_zero():
            continue
        rest = _beside(row, kept)
        size, left = ca.sumsqr(row), ca.sumsqr(rest)
        counts = left > DEPENDENT_SINE * size
        kept.append(rest * ca.if_else(counts, 1.0 / ca.sqrt(ca.if_else(counts, left, 1.0)), 0.0))
    return ca.vertcat(ca.SX(0, matrix.shape[1]), *kept)


def _beside(row: ca.SX, orthonormal: list[ca.SX]) -> ca.SX:
    """Return the part of a row normal to rows that are orthonormal or zero."""
    for other in orthonormal:
        row = row - ca.dot(row, other) * other
    return row


def gram_on_motions(rows: ca.SX, others: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return P JᵀJ P + A⁺A and A⁺A (n × n) for rows J and others A: its eigenvalues are those of P JᵀJ P, and ones.

    It is positive definite if J has full rank on the null space of A, also if J has more rows.
    """
    units = orthonormal_rows(others)
    kept = ca.vertsplit(units) if units.shape[0] else []
    left = ca.vertcat(*(_beside(row, kept) for row in ca.vertsplit(rows)))
    ones = units.T @ units
    return left.T @ left + ones, ones


def eigenvalue(matrix: ca.SX, number: int, tiny: float = ZERO_TRACE) -> ca.SX:
    """Return eigenvalue number 1, 2, … of a symmetric positive semidefinite matrix, the largest first.

    Value and both derivatives are exact for a simple eigenvalue: with eigenvectors w of the present matrix and gaps
    gᵢ = λ − λᵢ, λ = wᵀGw + Σ (wᵢᵀGw)² / gᵢ up to third order in the change of G. For a multiple eigenvalue the value
    is exact, the first derivative is the one of one of them, and curvature between them is omitted. ``tiny`` is added
    to the trace in divisions, so that a zero matrix has eigenvalue zero.
    """
    size, trace = matrix.shape[0], ca.trace(matrix) + tiny
    values, vectors = _jacobi(matrix / trace)
    for last in range(size - 1, number - 2 if number > 1 else 0, -1):
        for i in range(last):  # smaller ones to the end
            _exchange(values, vectors, i, i + 1)
    own = number - 1
    basis = [ca.vertcat(*(frozen(x) for x in vector)) for vector in vectors]
    image = matrix @ basis[own]
    found = ca.dot(basis[own], image) / ca.sumsqr(basis[own])
    for i in range(size):
        if i != own:
            gap = frozen(values[own] - values[i])
            apart = ca.fabs(gap) > MEETING_EIGENVALUES
            inverse = ca.if_else(apart, 1.0 / ca.if_else(apart, gap, 1.0), 0.0)
            found += ca.dot(basis[i], image) ** 2 * inverse / trace
    return found


# All measures have a floor, below which they are constant: a smaller value, and its slope, are rounding.


def least_singular_value(gram: ca.SX, rank: int, floor: float) -> ca.SX:
    """Return singular value number ``rank``: the square root of this eigenvalue of J Jᵀ."""
    return ca.sqrt(ca.fmax(eigenvalue(gram, rank, floor**2), floor**2))


def smooth_singular_value(gram: ca.SX, ones: ca.SX | None, floor: float) -> ca.SX:
    """Return (Σ σᵢ⁻⁸)^(−1/8) of a positive definite matrix with eigenvalues σᵢ².

    ``ones``, a projector on eigenvectors of eigenvalue one, is excluded. The value is between n^(−1/8) σ and σ for the
    smallest σ of n, and is smooth where singular values meet.
    """
    inverse, _ = _factored(gram, floor)
    if ones is not None:
        inverse = inverse - ones
    scale = ca.trace(inverse)
    square = inverse @ inverse / scale**2
    return ca.fmax(1.0 / ca.sqrt(scale * ca.sqrt(ca.sqrt(ca.sumsqr(square)))), floor)


def volume(gram: ca.SX, floor: float, least: float) -> ca.SX:
    """Return Π σᵢ = √det of a positive definite matrix with eigenvalues σᵢ², ``least`` or more."""
    _, pivots = _factored(gram, floor)
    product = ca.SX(1)
    for pivot in pivots:
        product *= pivot
    return ca.fmax(ca.sqrt(product), least)


def log_volume(gram: ca.SX, floor: float, least: float) -> ca.SX:
    """Return log Π σᵢ = ½ log det of a positive definite matrix with eigenvalues σᵢ², at least log ``least``."""
    _, pivots = _factored(gram, floor)
    return ca.fmax(0.5 * sum((ca.log(pivot) for pivot in pivots), ca.SX(0)), float(np.log(least)))


def _factored(matrix: ca.SX, floor: float) -> tuple[ca.SX, list[ca.SX]]:
    """Return the inverse of a positive definite matrix and the pivots d of L diag(d) Lᵀ.

    Pivots are at least (floor / 1000)², so that all results are finite at singular configurations.
    """
    size, least = matrix.shape[0], FLOOR_OF_PIVOTS * floor**2
    rest = [[matrix[i, j] for j in range(size)] for i in range(size)]
    inverse = [[ca.SX(float(i == j)) for j in range(size)] for i in range(size)]  # L⁻¹ by rows
    pivots: list[ca.SX] = []
    for k in range(size):
        pivots.append(ca.fmax(rest[k][k], least))
        for i in range(k + 1, size):
            factor = rest[i][k] / pivots[k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor * rest[j][k]
            for j in range(k + 1):
                inverse[i][j] = inverse[i][j] - factor * inverse[k][j]
    triangle = ca.vertcat(*(ca.horzcat(*row) for row in inverse))
    return triangle.T @ ca.diag(ca.vertcat(*(1.0 / pivot for pivot in pivots))) @ triangle, pivots


def _jacobi(matrix: ca.SX) -> tuple[list[ca.SX], list[list[ca.SX]]]:
    """Return eigenvalues and eigenvectors of a symmetric matrix by a sufficient number of cyclic Jacobi rotations."""
    size = matrix.shape[0]
    a = [[matrix[i, j] for j in range(size)] for i in range(size)]
    vectors = [[ca.SX(float(i == j)) for j in range(size)] for i in range(size)]
    for _ in range(1 if size == 2 else 4 + size // 2):
        for p in range(size):
            for q in range(p + 1, size):
                _rotate(a, vectors, p, q)
    return [a[i][i] for i in range(size)], vectors


def _rotate(a: list[list[ca.SX]], vectors: list[list[ca.SX]], p: int, q: int) -> None:
    """Rotate axes p and q by the smaller angle that makes their off-diagonal entry zero."""
    half, mixed = 0.5 * (a[q][q] - a[p][p]), a[p][q]
    long = ca.sqrt(half * half + mixed * mixed)
    turned = long > 0.0
    tangent = mixed / ca.if_else(turned, ca.if_else(half >= 0.0, half + long, half - long), 1.0)
    cosine = 1.0 / ca.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    a[p][p], a[q][q] = a[p][p] - tangent * mixed, a[q][q] + tangent * mixed
    a[p][q] = a[q][p] = ca.SX(0)
    for r in range(len(a)):
        if r not in (p, q):
            a[r][p], a[r][q] = cosine * a[r][p] - sine * a[r][q], sine * a[r][p] + cosine * a[r][q]
            a[p][r], a[q][r] = a[r][p], a[r][q]
    for i in range(len(a)):
        x, y = vectors[p][i], vectors[q][i]
        vectors[p][i], vectors[q][i] = cosine * x - sine * y, sine * x + cosine * y


def _exchange(values: list[ca.SX], vectors: list[list[ca.SX]], i: int, j: int) -> None:
    """Put the larger of two eigenvalues first, with its vector."""
    swap, one, other = values[i] < values[j], values[i], values[j]
    values[i], values[j] = ca.if_else(swap, other, one), ca.if_else(swap, one, other)
    first, second = vectors[i], vectors[j]
    vectors[i] = [ca.if_else(swap, y, x) for x, y in zip(first, second)]
    vectors[j] = [ca.if_else(swap, x, y) for x, y in zip(first, second)]
