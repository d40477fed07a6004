"""Traced least-norm solves with the rows of A in the kinetic metric, and their conditioning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from sarrus.base.arrays import Array
from sarrus.symbolic.equations.sparse import (
    Column,
    Row,
    Symmetric,
    add,
    dot,
    factor_symmetric,
    largest,
    least,
    neighbours,
    rows_coupled,
)
from sarrus.symbolic.equations.tolerances import BESIDE_CONTRADICTION, SMALLEST_NORMAL


@dataclass(frozen=True)
class Units:
    """Factors of rows (nc,) and of velocities (nv,) that make them comparable.

    ``closures`` has for every row the index of the first row of its closure.
    """

    rows: Array
    velocities: Array
    closures: Sequence[int]


@dataclass(frozen=True)
class Basis:
    """Indices of rows of A that are independent at generic configurations, and of rows that depend on them."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """Indices of all rows of the basis."""
        return self.independent + self.dependent

    @cached_property
    def label(self) -> str:
        """Indices of the rows as a text, part of a function name."""
        others = ("and", *self.dependent) if self.dependent else ()
        return " ".join(map(str, (*self.independent, *others)))


class LeastNorm:
    """The y and λ of least norm with Âᵀλ = y and Â y = b (least squares), for the rows of a `Basis`.

    If rows D depend on the independent rows E, Â_D = W Â_E, both results contain them: with K = 1 + W Wᵀ

        Â_E y = b_E + Wᵀ K⁻¹ (b_D − W b_E),    λ_D = K⁻¹ W μ,    λ_E = μ − Wᵀ λ_D,

    where Â_Eᵀ μ = y. Rows are first multiplied by their factors. W = G_DE G_EE⁻¹ with few D.
    """

    def __init__(self, rows: list[Row], basis: Basis, units: Units) -> None:
        self.rows, self.basis, self.units = rows, basis, units
        self.scale = {j: float(units.rows[j]) for j in basis.rows}
        own = [rows[j] for j in basis.independent]
        self._touching = rows_coupled(own)
        self.gram = [
            {i: dot(row, own[i]) for i in neighbours(row, self._touching) if i <= k}
            for k, row in enumerate(own)
        ]
        self.factor: Symmetric = factor_symmetric(self.gram)

    @cached_property
    def ratios(self) -> list[Row]:
        """W by rows, for rows times their factors; columns are indices of rows of A."""
        own, found = self.basis.independent, []
        for j in self.basis.dependent:
            row = self.rows[j]
            near = neighbours(row, self._touching)
            solved = self.factor.solve({k: dot(row, self.rows[own[k]]) for k in near})
            found.append(
                {own[k]: value * (self.scale[j] / self.scale[own[k]]) for k, value in sorted(solved.items())}
            )
        return found

    @cached_property
    def _inner(self) -> Symmetric:
        """K = 1 + W Wᵀ."""
        w = self.ratios
        return factor_symmetric(
            [{i: dot(w[k], w[i]) + (i == k) for i in range(k + 1)} for k in range(len(w))]
        )

    def _gaps(self, right: Row) -> list[Column]:
        """Return the terms of b_D − W b_E, for rows times their factors."""
        gaps = []
        for j, row in zip(self.basis.dependent, self.ratios):
            terms = [right[j] * self.scale[j]] if j in right else []
            gaps.append(
                terms + [-(value * right[i] * self.scale[i]) for i, value in row.items() if i in right]
            )
        return gaps

    def longest_beside(self, j: int) -> ca.SX:
        """Return the length of the longest scaled row in the closure of row j, the scale of its rounding."""
        first = self.units.closures
        beside = [i for i in range(len(first)) if first[i] == first[j]]
        lengths = [dot(self.rows[i], self.rows[i]) * float(self.units.rows[i]) ** 2 for i in beside]
        return ca.sqrt(largest(lengths))

    def contradiction(self, bias: Row, speed: ca.SX) -> ca.SX:
        """Return the largest |γ_D − W γ_E| relative to the sum of the magnitudes of its terms and rounding.

        The rounding is the one of accelerations of size ``speed``, see `sarrus.kernels.solve.checking.contradiction`.
        """
        found = []
        for j, terms in zip(self.basis.dependent, self._gaps(bias)):
            size = sum(map(ca.fabs, terms), ca.SX(0)) + BESIDE_CONTRADICTION * speed * self.longest_beside(j)
            found.append(ca.fabs(sum(terms, ca.SX(0))) / (size + SMALLEST_NORMAL))
        return largest(found)

    def forces(self, right: Row) -> Row:
        """Return μ, the multipliers of the independent rows, for right-hand sides b by row index."""
        b = {i: right[i] for i in self.basis.independent if i in right}
        if self.basis.dependent:
            gaps = {k: sum(terms, ca.SX(0)) for k, terms in enumerate(self._gaps(right))}
            shares = self._inner.solve(gaps)
            for k, row in enumerate(self.ratios):
                for i, value in row.items():
                    add(b, i, value * shares[k] * (1.0 / self.scale[i]))
        place = {i: k for k, i in enumerate(self.basis.independent)}
        found = self.factor.solve({place[i]: value for i, value in b.items()})
        return {i: found[k] for i, k in place.items() if k in found}

    def shared(self, forces: Row) -> Row:
        """Return λ, the multipliers of all rows, for μ."""
        if not self.basis.dependent:
            return forces
        even = {i: value * (1.0 / self.scale[i]) for i, value in forces.items()}
        shares = self._inner.solve({k: dot(row, even) for k, row in enumerate(self.ratios)})
        for k, row in enumerate(self.ratios):
            for i, value in row.items():
                add(even, i, -(value * shares[k]))
        even |= {j: shares[k] for k, j in enumerate(self.basis.dependent)}
        return {j: value * self.scale[j] for j, value in even.items()}

    def along(self, forces: Row) -> Row:
        """Return y = Âᵀμ."""
        y: Row = {}
        for i, value in forces.items():
            for c, entry in self.rows[i].items():
                add(y, c, entry * value)
        return y

    @property
    def beyond(self) -> ca.SX:
        """Square of the largest part of a scaled dependent row normal to the independent rows."""
        parts = []
        for j, ratios in zip(self.basis.dependent, self.ratios):
            left = {c: value * self.scale[j] for c, value in self.rows[j].items()}
            for i, ratio in ratios.items():
                for c, entry in self.rows[i].items():
                    add(left, c, -(ratio * self.scale[i] * entry))
            parts.append(dot(left, left))
        return largest(parts)

    @property
    def smallest(self) -> ca.SX:
        """Approximate square of the smallest singular value of the scaled independent rows.

        The quotient xᵀG x / xᵀx of x = G⁻¹ b with unequal entries of b, so that no symmetry of a mechanism hides it.
        """
        own = self.basis.independent
        start = {k: ca.SX(1.0 + (0.618 * k) % 1.0) for k in range(len(own))}
        solved = self.factor.solve({k: value * (1.0 / self.scale[own[k]]) for k, value in start.items()})
        found = {k: value * (1.0 / self.scale[own[k]]) for k, value in solved.items()}
        return dot(start, found) / dot(found, found) if own else ca.SX(0)

    @property
    def conditioning(self) -> ca.SX:
        """Conditioning of the factor of G, which has the squared condition number of Â.

        Three numbers for scaled rows: the smallest pivot relative to its diagonal entry (the squared sine of the angle
        between a row and the rows before it), the smallest pivot, and the largest diagonal entry.
        """
        own, order = self.basis.independent, self.factor.order
        square = [self.scale[own[k]] ** 2 for k in range(len(own))]
        diagonal = [self.gram[k].get(k, ca.SX(0)) for k in range(len(own))]
        pivots = list(zip(order, self.factor.pivots))
        return ca.vertcat(
            least([pivot / diagonal[k] for k, pivot in pivots]),
            least([square[k] * pivot for k, pivot in pivots]),
            -least([-w * g for w, g in zip(square, diagonal)]),
        )
