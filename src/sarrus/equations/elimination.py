"""Elimination traced over structural nonzeros: M = LᵀL, and the whole constrained solve as straight-line code.

Zeros of the branches of a mechanism vanish here, once, before anything is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.base.arrays import Array
from sarrus.equations.equations import Equations

# Largest nv whose elimination is traced into straight-line code, and largest number of constraint rows whose Gram
# matrix is; see docs/decisions/0003.
TRACED_VELOCITIES, TRACED_ROWS = 40, 24

# Keeps 0/0 out of relative residuals; the smallest normal number.
TINY = 2.3e-308

Column = list[ca.SX]


@dataclass(frozen=True)
class Weighted:
    """The problem in the metric of M = LᵀL: L, f̂ = L⁻ᵀf and Â = A L⁻¹."""

    factor: ca.SX
    force: ca.SX
    rows: ca.SX


def weighted(equations: Equations, force: ca.SX) -> Weighted:
    """Eliminate M from M a = f + Aᵀλ, A a = −γ."""
    factor = eliminate(equations.mass_matrix)
    solved = solve_transposed(factor, ca.horzcat(force, equations.jacobian.T))
    return Weighted(factor, solved[:, 0], solved[:, 1:].T)


def live_rows(equations: Equations) -> list[int] | None:
    """Return the rows of A that are not structurally zero; None where a zero row has a γ of its own."""
    live = []
    for j in range(equations.nc):
        if any(not equations.jacobian[j, c].is_zero() for c in range(equations.nv)):
            live.append(j)
        elif not equations.constraint_bias[j].is_zero():
            return None
    return live


def direct_solution(
    equations: Equations, problem: Weighted, live: list[int], even: Array | None = None
) -> dict[str, ca.SX]:
    """Trace a, λ and Aᵀλ where the ``live`` rows are independent: λ = (Â Âᵀ)⁻¹(−γ − Â f̂), a = L⁻¹(f̂ + Âᵀλ).

    The Gram matrix is factored as C D Cᵀ without pivoting, which for a definite matrix is backward stable, but has the
    square of the condition number of Â. So "gauge" tells how far to trust it: the smallest pivot as a fraction of its
    diagonal entry (the squared sine of the angle between a row and those before it), the smallest pivot and the largest
    diagonal entry, of rows times the factors ``even``. "checks" are the largest residual of A a + γ over the sum of the
    magnitudes of its terms, and the largest M_kk/L_kk², a condition number of M without units.
    """
    e = equations
    f = _entries(problem.force)
    rows = [_entries(problem.rows[j, :]) for j in live]
    count = len(live)
    right = [-e.constraint_bias[j] - _dot(row, f) for j, row in zip(live, rows)]
    gram = [[_dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(count)]
    diagonal = [gram[k][k] for k in range(count)]
    pivots, below = factor_symmetric(gram)
    multipliers = solve_symmetric(pivots, below, right)
    y = [f[c] + _dot([row[c] for row in rows], multipliers) for c in range(e.nv)]
    every = ca.SX.zeros(e.nc)
    for j, value in zip(live, multipliers):
        every[j] = value
    a = solve_lower(problem.factor, y)
    missed = []
    for j in live:
        parts = [
            e.constraint_bias[j],
            *(x * y for x, y in zip(_entries(e.jacobian[j, :].T), a) if not x.is_zero()),
        ]
        missed.append(ca.fabs(sum(parts)) / (sum(map(ca.fabs, parts)) + TINY))
    weak = [e.mass_matrix[k, k] * (1 / problem.factor[k, k]) ** 2 for k in range(e.nv)]
    square = [1.0 if even is None else float(even[j]) ** 2 for j in live]
    gauge = [
        least([d / g for d, g in zip(pivots, diagonal)]),
        least([w * d for w, d in zip(square, pivots)]),
        -least([-w * g for w, g in zip(square, diagonal)]),
    ]
    checks = [largest(missed), largest(weak)]
    return {
        "a": ca.vertcat(*a),
        "multipliers": every,
        "constraint_force": e.jacobian.T @ every,
        "rate": e.whole_rate,
        "gauge": ca.vertcat(*gauge),
        "checks": ca.vertcat(*checks),
    }


def eliminate(matrix: ca.SX) -> ca.SX:
    """Return L with LᵀL = M, traced over the structural nonzeros.

    In the order of a kinematic tree this factor has no fill-in (Featherstone 2005, branch-induced sparsity).
    """
    n = matrix.shape[0]
    a = [[matrix[i, j] for j in range(i + 1)] for i in range(n)]
    zero = [[a[i][j].is_zero() for j in range(i + 1)] for i in range(n)]
    for k in range(n - 1, -1, -1):
        a[k][k] = ca.sqrt(a[k][k])
        support = [j for j in range(k) if not zero[k][j]]
        inverse = 1 / a[k][k]
        for j in support:
            a[k][j] = a[k][j] * inverse
        for i in support:
            for j in support:
                if j <= i:
                    a[i][j] = a[i][j] - a[k][i] * a[k][j]
                    zero[i][j] = False
    factor = ca.SX.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            factor[i, j] = a[i][j]
    return factor


def solve_transposed(factor: ca.SX, columns: ca.SX) -> ca.SX:
    """Return L⁻ᵀ B for lower triangular L, skipping structural zeros."""
    n, count = columns.shape
    inverse = [1 / factor[k, k] for k in range(n)]
    below = [[j for j in range(k) if not factor[k, j].is_zero()] for k in range(n)]
    out = ca.SX.zeros(n, count)
    for c in range(count):
        x = [columns[i, c] for i in range(n)]
        for k in range(n - 1, -1, -1):
            if x[k].is_zero():
                continue
            x[k] = x[k] * inverse[k]
            for j in below[k]:
                x[j] = x[j] - factor[k, j] * x[k]
        out[:, c] = ca.vertcat(*x)
    return out


def solve_lower(factor: ca.SX, right: Column) -> Column:
    """Return L⁻¹ b for lower triangular L, skipping structural zeros."""
    x = list(right)
    for k in range(len(x)):
        for j in range(k):
            if not factor[k, j].is_zero():
                x[k] = x[k] - factor[k, j] * x[j]
        x[k] = x[k] * (1 / factor[k, k])
    return x


def factor_symmetric(gram: list[Column]) -> tuple[Column, list[Column]]:
    """Return the pivots D and the unit lower triangle C of G = C D Cᵀ; ``gram`` holds its lower triangle."""
    count = len(gram)
    rest = [list(row) for row in gram]
    below = [[ca.SX(0)] * count for _ in range(count)]
    for k in range(count):
        inverse = 1 / rest[k][k]
        touched = [i for i in range(k + 1, count) if not rest[i][k].is_zero()]
        for i in touched:
            below[i][k] = rest[i][k] * inverse
        for i in touched:
            for j in touched:
                if j <= i:
                    rest[i][j] = rest[i][j] - below[i][k] * rest[j][k]
    return [rest[k][k] for k in range(count)], below


def solve_symmetric(pivots: Column, below: list[Column], right: Column) -> Column:
    """Return (C D Cᵀ)⁻¹ b."""
    count = len(pivots)
    x = list(right)
    for k in range(count):
        x[k] = x[k] - _dot(below[k][:k], x[:k])
    x = [value * (1 / pivot) for value, pivot in zip(x, pivots)]
    for k in range(count - 1, -1, -1):
        x[k] = x[k] - _dot([below[j][k] for j in range(k + 1, count)], x[k + 1 :])
    return x


def _entries(column: ca.SX) -> Column:
    return [column[i] for i in range(column.numel())]


def _dot(a: Column, b: Column) -> ca.SX:
    """Return aᵀb over the structural nonzeros."""
    total = ca.SX(0)
    for x, y in zip(a, b):
        if not (x.is_zero() or y.is_zero()):
            total = total + x * y
    return total


def largest(values: Column) -> ca.SX:
    """Return the largest of the values, none of them NaN, by halves; zero where there is none."""
    if len(values) < 2:
        return values[0] if values else ca.SX(0)
    middle = len(values) // 2
    one, other = largest(values[:middle]), largest(values[middle:])
    return ca.if_else(one >= other, one, other)


def least(values: Column) -> ca.SX:
    """Return the smallest of the values, one where there is none; NaN if one of them is NaN."""
    smallest = values[0] if values else ca.SX(1)
    for value in values[1:]:
        smallest = ca.if_else(value >= smallest, smallest, value)
    return smallest
