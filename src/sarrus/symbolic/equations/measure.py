"""The smallest singular value of A in characteristic units and its rate, traced over structural nonzeros."""

from __future__ import annotations

import casadi as ca

from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.least_norm import Basis, Units
from sarrus.symbolic.equations.sparse import (
    Row,
    add,
    column_of,
    dot,
    factor_symmetric,
    largest,
    neighbours,
    rows_coupled,
    rows_of,
)

# Iterations of inverse iteration.
ROUNDS = 4


def smallest_singular_value(equations: Equations, basis: Basis, units: Units) -> dict[str, ca.SX]:
    """Return σ with its singular vectors u and w for the independent rows, and its rate uᵀ Ȧ w along the motion.

    By inverse iteration with A Aᵀ from unequal start entries, so that no symmetry of a mechanism hides a direction.
    A Aᵀ has the squared condition number κ² of A: the error of w is about 1e-16 κ², the error of σ = |Aᵀu| half its
    square. "largest" is the length of the longest row.
    """
    e, own = equations, basis.independent
    every = rows_of(e.jacobian)
    rows = [
        {c: value * float(units.rows[j] / units.velocities[c]) for c, value in every[j].items()} for j in own
    ]
    touching = rows_coupled(rows)
    gram = [{i: dot(row, rows[i]) for i in neighbours(row, touching) if i <= k} for k, row in enumerate(rows)]
    factor = factor_symmetric(gram)
    u: Row = {k: ca.SX(1.0 + (0.618 * k) % 1.0) for k in range(len(rows))}
    for _ in range(ROUNDS):
        u = _unit(factor.solve(u))[0]
    w: Row = {}
    for k, row in enumerate(rows):
        for c, value in row.items():
            add(w, c, value * u[k])
    w, sigma = _unit(w)
    left, right = ca.SX.sym("u", len(rows)), ca.SX.sym("w", e.nv)
    product = sum(
        (left[k] * value * right[c] for k, row in enumerate(rows) for c, value in row.items()), ca.SX(0)
    )
    change = ca.jtimes(product, ca.vertcat(e.q, e.t), ca.vertcat(e.rate, 1))
    found = column_of(u, len(rows)), column_of(w, e.nv)
    (change,) = ca.substitute([change], [left, right], list(found))
    return {
        "sigma": sigma,
        "change": change,
        "largest": ca.sqrt(largest([gram[k][k] for k in range(len(rows))])),
        "left": column_of({j: u[k] for k, j in enumerate(own)}, e.nc),
        "right": found[1],
    }


def _unit(x: Row) -> tuple[Row, ca.SX]:
    """Return a vector divided by its length, and the length."""
    length = ca.sqrt(dot(x, x))
    return {i: value / length for i, value in x.items()}, length
