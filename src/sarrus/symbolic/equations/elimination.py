"""Straight-line elimination over structural nonzeros: the constrained solve at one state, and a projection.

M = LᵀL in the order of the tree, Â = A L⁻¹, and G = Â Âᵀ of independent rows in an order of least fill-in. Structural
zeros of branches and of separate loops are removed once, before compilation, so the code grows linearly with the number
of loops if each loop touches few others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from sarrus.kernels.solve.tolerances import ROWS_AT_REST
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.least_norm import LeastNorm
from sarrus.symbolic.equations.sparse import Row, Triangle, add, column_of, dot, eliminate, largest, rows_of


@dataclass(frozen=True)
class Weighted:
    """The problem in the metric M = LᵀL: L, f̂ = L⁻ᵀf and Â = A L⁻¹."""

    factor: Triangle
    force: Row
    rows: list[Row]


def weighted(equations: Equations, force: ca.SX) -> Weighted:
    """Return the problem M a = f + Aᵀλ, A a = −γ after elimination of M."""
    factor = eliminate(equations.mass_matrix)
    (f,) = rows_of(force.T)
    return Weighted(
        factor,
        factor.solve_transposed(f),
        [factor.solve_transposed(row) for row in rows_of(equations.jacobian)],
    )


def live_rows(equations: Equations) -> list[int] | None:
    """Return the rows of A that are not structurally zero; None if a zero row has a nonzero γ."""
    live = []
    for j, row in enumerate(rows_of(equations.jacobian)):
        if row:
            live.append(j)
        elif not equations.constraint_bias[j].is_zero():
            return None
    return live


def direct_solution(equations: Equations, problem: Weighted, solve: LeastNorm) -> dict[str, ca.SX]:
    """Return a, λ and Aᵀλ as expressions, valid where the basis is: a = L⁻¹(f̂ + y), Â y = −γ − Â f̂.

    G is factored without pivoting, which is backward stable for a definite matrix. "conditioning" is the conditioning
    of the factor. "checks" are: the largest residual of A a + γ relative to the sum of the magnitudes of its terms (0
    if these are rounding of f̂ and Âᵀλ in the row, with γ and a zero); the largest M_kk/L_kk², a unit-free condition
    number of M; the contradiction of dependent rows; the norm of A a + γ with dependent rows; `LeastNorm.beyond` and
    `LeastNorm.smallest`; the largest residual of φ.
    """
    e, basis, units = equations, solve.basis, solve.units
    bias = {j: e.constraint_bias[j] for j in basis.rows}
    right = {j: -bias[j] - dot(problem.rows[j], problem.force) for j in basis.rows}
    forces = solve.forces(right)
    y, step = dict(problem.force), solve.along(forces)
    for c, value in step.items():
        add(y, c, value)
    a = problem.factor.solve(y)
    every = column_of(solve.shared(forces), e.nc)
    effort = ca.sqrt(dot(problem.force, problem.force) + dot(step, step))
    jacobian, missed, residuals = rows_of(e.jacobian), [], []
    for j in basis.rows:
        parts = [bias[j], *(value * a[i] for i, value in jacobian[j].items() if i in a)]
        size = sum(map(ca.fabs, parts))
        reach = effort * (solve.longest_beside(j) * (1.0 / float(units.rows[j])))
        residuals.append(sum(parts))
        missed.append(ca.if_else(size > ROWS_AT_REST * reach, ca.fabs(residuals[-1]) / size, 0))
    weak = [e.mass_matrix[k, k] * inverse**2 for k, inverse in enumerate(problem.factor.inverse)]
    speed = ca.sqrt(2 * e.kinetic_energy) * largest(
        [ca.fabs(e.v[i]) * float(factor) for i, factor in enumerate(units.velocities)]
    )
    norm = ca.sqrt(sum((value * value for value in residuals), ca.SX(0))) if basis.dependent else ca.SX(0)
    return {
        "a": column_of(a, e.nv),
        "multipliers": every,
        "constraint_force": e.jacobian.T @ every,
        "rate": e.whole_rate,
        "conditioning": solve.conditioning,
        "checks": ca.vertcat(
            largest(missed),
            largest(weak),
            solve.contradiction(bias, speed),
            norm,
            solve.beyond,
            solve.smallest,
            largest([ca.fabs(e.position_residual[j]) * float(units.rows[j]) for j in range(e.nh)]),
        ),
    }


def direct_projection(
    equations: Equations, problem: Weighted, solve: LeastNorm, moved: Callable[[ca.SX], ca.SX]
) -> dict[str, ca.SX]:
    """Return a Newton step that closes the loops, and the projection of v at its end, both shortest in the metric M.

    ``moved`` gives q ⊕ δ. All rows are holonomic and in the basis. Both corrections use A and M at the initial q.
    Outputs: "gap" is φ at the initial q; "left" is φ, "place" q and "speed" v at the end.
    """
    e = equations

    def shortest(residual: ca.SX) -> ca.SX:
        (entries,) = rows_of(residual.T)
        y = solve.along(solve.forces({j: -entries[j] for j in solve.basis.rows if j in entries}))
        return column_of(problem.factor.solve(y), e.nv)

    step = shortest(e.position_residual)
    place, speed = moved(step), e.v
    (left,) = ca.substitute([e.position_residual], [e.q], [place])
    for _ in range(2):  # repeated, because A is the one before the step
        (slip,) = ca.substitute([e.velocity_residual], [ca.vertcat(e.q, e.v)], [ca.vertcat(place, speed)])
        speed += shortest(slip)
    return {
        "gap": e.position_residual,
        "left": left,
        "place": place,
        "speed": speed,
        "step": step,
        "conditioning": solve.conditioning,
    }
