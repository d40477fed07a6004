"""Solves for the stages of a step: accelerations only, and from the same factors the shortest δ with a given A δ and
the accelerations by given forces.

Two eliminations are available. `ByGram` eliminates M = LᵀL, then the rows, by G = Â Âᵀ with Â = A L⁻¹. `BySaddle`
factors

    [ M  Aᵀ ] [  a ]   [  f ]
    [ A  0  ] [ −λ ] = [ −γ ]

as a whole, each row as soon as all its velocities are eliminated: a loop goes before the body that carries it, whereas
L⁻¹ couples all loops on one body in G. Pivots of velocities stay positive and pivots of rows negative, because each
leading block has independent rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from sarrus.symbolic.equations.elimination import Weighted
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.least_norm import LeastNorm, Units
from sarrus.symbolic.equations.sparse import (
    Row,
    Symmetric,
    add,
    column_of,
    dot,
    elimination_size,
    factor_symmetric,
    gram_work,
    least,
    rows_of,
    substitute,
    substitute_transposed,
)

Factors = list[list[Row]]


class StageElimination(Protocol):
    """Interface of the two eliminations."""

    @property
    def conditioning(self) -> ca.SX:
        """Conditioning, see `LeastNorm.conditioning`."""

    @property
    def inverse_masses(self) -> dict[int, ca.SX]:
        """The inverses of the pivots of M, by velocities."""

    @property
    def factors(self) -> Factors:
        """The factors needed by `shortest` and `response`."""

    def acceleration(self, bias: ca.SX) -> Row:
        """Return a for γ."""

    def shortest(self, factors: Factors, residual: ca.SX) -> Row:
        """Return the shortest δ with A δ = −r in the metric M, with numerical ``factors``."""

    def response(self, factors: Factors, force: ca.SX) -> Row:
        """Return K τ: the change of a by a generalized force τ, with A K τ = 0, with numerical ``factors``."""


@dataclass(frozen=True)
class ByGram:
    """Elimination of M, then of the independent rows of a basis without dependent rows."""

    problem: Weighted
    solve: LeastNorm

    @property
    def conditioning(self) -> ca.SX:
        """Conditioning, see `LeastNorm.conditioning`."""
        return self.solve.conditioning

    @property
    def inverse_masses(self) -> dict[int, ca.SX]:
        """The squares of the inverse diagonal of L."""
        return {i: value * value for i, value in enumerate(self.problem.factor.inverse)}

    @property
    def factors(self) -> Factors:
        """L and its inverse diagonal, Â, C and D⁻¹ of G."""
        lower, gram = self.problem.factor, self.solve.factor
        inverses = [[{0: value} for value in column] for column in (lower.inverse, gram.inverse)]
        rows = [self.problem.rows[j] for j in self.solve.basis.independent]
        return [lower.below, inverses[0], rows, gram.below, inverses[1]]

    def acceleration(self, bias: ca.SX) -> Row:
        """Return a = L⁻¹(f̂ + y), Â y = −γ − Â f̂."""
        force, rows = self.problem.force, self.problem.rows
        right = {j: -bias[j] - dot(rows[j], force) for j in self.solve.basis.independent}
        y = dict(force)
        for c, value in self.solve.along(self.solve.forces(right)).items():
            add(y, c, value)
        return self.problem.factor.solve(y)

    def shortest(self, factors: Factors, residual: ca.SX) -> Row:
        """Return δ = L⁻¹ Âᵀ G⁻¹ (−r)."""
        below, inverse, rows, lower, divisors = factors
        order, own = self.solve.factor.order, self.solve.basis.independent
        forces = substitute(lower, {k: -residual[own[i]] for k, i in enumerate(order)})
        forces = substitute_transposed(lower, {k: value * divisors[k][0] for k, value in forces.items()})
        y: Row = {}
        self._pull(rows, forces, y)
        return substitute(below, y, [entry[0] for entry in inverse])

    def response(self, factors: Factors, force: ca.SX) -> Row:
        """Return L⁻¹(1 − Âᵀ G⁻¹ Â) L⁻ᵀ τ."""
        below, inverse, rows, lower, divisors = factors
        diagonal = [entry[0] for entry in inverse]
        y = substitute_transposed(below, {i: force[i] for i in range(force.shape[0])}, diagonal)
        forces = substitute(lower, {k: -dot(rows[i], y) for k, i in enumerate(self.solve.factor.order)})
        forces = substitute_transposed(lower, {k: value * divisors[k][0] for k, value in forces.items()})
        self._pull(rows, forces, y)
        return substitute(below, y, diagonal)

    def _pull(self, rows: list[Row], forces: Row, y: Row) -> None:
        """Add Âᵀ times the forces, by their order of elimination, to y."""
        for k, i in enumerate(self.solve.factor.order):
            for c, entry in rows[i].items():
                add(y, c, entry * forces[k])


@dataclass(frozen=True)
class BySaddle:
    """Elimination of velocities and independent rows together, in the order of `saddle_order`."""

    equations: Equations
    force: ca.SX
    independent: tuple[int, ...]
    order: list[int]
    units: Units

    @cached_property
    def _factor(self) -> Symmetric:
        rows = rows_of(self.equations.jacobian)
        return factor_symmetric(
            [*rows_of(self.equations.mass_matrix), *(rows[j] for j in self.independent)], self.order
        )

    @property
    def conditioning(self) -> ca.SX:
        """Conditioning, see `LeastNorm.conditioning`.

        A pivot of a row is the contribution of velocities minus the contribution of earlier rows; the first counts as
        squared length. Both are in the metric of M with the bodies that carry the loop held fixed, in which no row is
        more independent than in the metric of M.
        """
        nv, factor = self.equations.nv, self._factor
        sines, pivots, lengths = [], [], []
        for k, i in enumerate(self.order):
            if i >= nv:
                square = float(self.units.rows[self.independent[i - nv]]) ** 2
                own = [(j, c) for j, c in factor.below[k].items() if self.order[j] < nv]
                length = sum((c * c * factor.pivots[j] for j, c in own), ca.SX(0))
                sines.append(-factor.pivots[k] / length)
                pivots.append(-square * factor.pivots[k])
                lengths.append(-square * length)
        definite = least([factor.pivots[k] for k, i in enumerate(self.order) if i < nv]) > 0
        return ca.vertcat(ca.if_else(definite, least(sines), -1.0), least(pivots), -least(lengths))

    @property
    def inverse_masses(self) -> dict[int, ca.SX]:
        """Those pivots of D⁻¹ that belong to velocities."""
        return {i: self._factor.inverse[k] for k, i in enumerate(self.order) if i < self.equations.nv}

    @property
    def factors(self) -> Factors:
        """C and D⁻¹."""
        return [self._factor.below, [{0: value} for value in self._factor.inverse]]

    def acceleration(self, bias: ca.SX) -> Row:
        """Return a."""
        nv = self.equations.nv
        right = {i: self.force[i] for i in range(nv)}
        right |= {nv + k: -bias[j] for k, j in enumerate(self.independent)}
        return {i: value for i, value in self._factor.solve(right).items() if i < nv}

    def shortest(self, factors: Factors, residual: ca.SX) -> Row:
        """Return δ, with −r in the place of −γ and no force."""
        nv = self.equations.nv
        given = {k: -residual[self.independent[i - nv]] for k, i in enumerate(self.order) if i >= nv}
        return self._solve(factors, given)

    def response(self, factors: Factors, force: ca.SX) -> Row:
        """Return K τ, with τ in the place of f and γ = 0."""
        return self._solve(factors, {k: force[i] for k, i in enumerate(self.order) if i < self.equations.nv})

    def _solve(self, factors: Factors, right: Row) -> Row:
        """Return the velocities' part of the solution for a right-hand side in the order of elimination."""
        nv, (lower, divisors) = self.equations.nv, factors
        x = substitute(lower, right)
        x = substitute_transposed(lower, {k: value * divisors[k][0] for k, value in x.items()})
        return {i: x[k] for k, i in enumerate(self.order) if i < nv and k in x}


def saddle_order(mass: list[Row], rows: list[Row]) -> tuple[list[int], int]:
    """Return velocities and rows (numbered after them) in an order of elimination, and the approximate number of
    multiplications with one solve.

    Minimum degree among the admissible ones: a row is admissible after all its velocities.
    """
    nv, near = len(mass), [set(row) - {i} for i, row in enumerate(mass)]
    for k, row in enumerate(rows):
        near.append(set(row))
        for c in row:
            near[c].add(nv + k)
    waits = [0] * nv + [len(row) for row in rows]
    free, order = set(range(nv)), []
    tied = [[i for i in linked if i >= nv] for linked in near[:nv]]
    while free:
        i = min(free, key=lambda i: (len(near[i]), -i))
        free.remove(i)
        order.append(i)
        linked = near[i]
        for j in linked:
            near[j] |= linked
            near[j] -= {i, j}
        for j in tied[i] if i < nv else ():
            waits[j] -= 1
            if waits[j] == 0:
                free.add(j)
    work, entries = elimination_size([*mass, *rows], order)
    return order, work + 2 * entries


def gram_size(problem: Weighted, own: tuple[int, ...]) -> int:
    """Return the approximate number of multiplications of eliminating M and the rows ``own`` by G, with its solves."""
    lower, rows = problem.factor.below, [problem.rows[j] for j in own]
    mass = sum(len(row) * (len(row) + 3) // 2 + 2 * len(row) for row in lower)
    weighted = sum(len(lower[c]) + 3 for row in rows for c in row)
    return mass + weighted + gram_work(rows, 1)


def stage(equations: Equations, elimination: StageElimination) -> dict[str, ca.SX]:
    """Return a, N v, the conditioning and the factors without constants, as expressions."""
    entries = [value for rows in elimination.factors for row in rows for value in row.values()]
    return {
        "a": column_of(elimination.acceleration(equations.constraint_bias), equations.nv),
        "rate": equations.whole_rate,
        "conditioning": elimination.conditioning,
        "factors": ca.vertcat(ca.SX(0, 1), *(value for value in entries if not value.is_constant())),
    }


def nearest(equations: Equations, elimination: StageElimination) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the shortest δ with A δ = −r in the metric M from the factors of a `stage`.

    Returns the symbols of the factors, of r (nc,) (only independent rows are used), and the expression δ.
    """
    factors, taken = _symbols(elimination.factors)
    residual = ca.SX.sym("residual", equations.nc)
    return factors, residual, column_of(elimination.shortest(taken, residual), equations.nv)


def response(equations: Equations, elimination: StageElimination) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the acceleration by a generalized force τ, with the loops closed, from the factors of a `stage`.

    Returns the symbols of the factors, of τ (nv,), and the expression K τ.
    """
    factors, taken = _symbols(elimination.factors)
    force = ca.SX.sym("force", equations.nv)
    return factors, force, column_of(elimination.response(taken, force), equations.nv)


def _symbols(known: Factors) -> tuple[ca.SX, Factors]:
    """Return a column of symbols for the factors that are no constants, and the factors with these symbols."""
    entries = [value for rows in known for row in rows for value in row.values()]
    factors = ca.SX.sym("factors", sum(not value.is_constant() for value in entries))
    given = iter(ca.vertsplit(factors))
    taken = [
        [{i: value if value.is_constant() else next(given) for i, value in row.items()} for row in rows]
        for rows in known
    ]
    return factors, taken
