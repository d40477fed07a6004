"""A problem in balanced units, where the residuals of its answers are judged.

M_w = W⁻¹M W⁻¹ has a diagonal near one and A_w = D A W⁻¹ rows near one, W and D powers of two: no rounding, no overflow,
the same verdict in millimetres and in metres.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from sarrus.base.tolerances import EPSILON
from sarrus.formulations.residuals import NOTHING, Residuals
from sarrus.formulations.tolerances import DEAD_ROW, GRAIN, INCONSISTENT

Array = NDArray[np.float64]
# Solves M a = force + F, A a = −γ for (a, F, λ): linear in (force, γ).
Solve = Callable[[Array, Array], tuple[Array, Array, Array]]


class Balance:
    """A problem in balanced units, with the rank and the dead rows found there."""

    def __init__(self, M: Array, A: Array, gamma: Array, rank: int, tolerance: float) -> None:
        self.gamma, self.rank, self.tolerance = gamma, rank, tolerance
        self.column = _exponents(M, A)
        self.M = np.ldexp(M, -self.column[:, None] - self.column)
        reach = np.ldexp(np.abs(A), -self._common(A) - self.column) if A.size else A
        size = reach.max(axis=1, initial=0.0)
        self.dead = size <= DEAD_ROW * size.max(initial=0.0)
        # Rows of zeros have the unit of the largest row, in which dead ones are judged.
        self.top = int(_exponent(size.max(initial=0.0)) + self._common(A))
        self.row = np.where(size > 0.0, _exponent(size) + self._common(A), self.top)
        self.A = np.ldexp(A, -self.row[:, None] - self.column)
        self.rounding = (len(M) + len(A) + 4) * EPSILON
        # Rounding of the largest numbers of an answer, which are near one in balanced units, in every row.
        self.floor = GRAIN * np.abs(self.A).sum(axis=1)
        self.force_floor = GRAIN * (1.0 + np.abs(self.M).sum(axis=1))

    @staticmethod
    def _common(A: Array) -> int:
        return int(_exponent(np.abs(A).max(initial=0.0)))

    def judge(
        self, answer: tuple[Array, ...], solve: Solve, applied: Array
    ) -> tuple[Residuals, float, tuple[Array, Array, Array] | None]:
        """Return the residuals of (a, F, λ), the largest one without a floor, and a better answer if there may be one.

        The floor is the rounding of the largest numbers of the answer: rows with smaller terms, such as those of a
        mechanism at rest, cannot have smaller residuals in general; often one correction achieves it. `verdict`
        completes the residuals.
        """
        column, row = self.column, self.row
        a, force, multipliers = answer
        if not all(np.isfinite(part).all() for part in answer):
            return NOTHING, np.inf, None
        shift = self._shift(a, force, applied)
        x, f, g = (
            np.ldexp(a, column - shift),
            np.ldexp(force, -column - shift),
            np.ldexp(applied, -column - shift),
        )
        lam, gamma = np.ldexp(multipliers, row - shift), np.ldexp(self.gamma, -row - shift)
        pull = self.A.T @ lam
        free = self.M @ x - g
        offence = self.A @ x + gamma
        sizes = np.abs(self.M) @ np.abs(x) + np.abs(g)
        alive = ~self.dead
        terms = (np.abs(self.A) @ np.abs(x) + np.abs(gamma))[alive]
        by_force, bare_force = _largest(free - f, sizes + np.abs(f), self.force_floor)
        by_pull, bare_pull = _largest(free - pull, sizes + np.abs(self.A.T) @ np.abs(lam), self.force_floor)
        remainder, bare = _largest(offence[alive], terms, self.floor[alive])
        if max(bare_force, bare_pull, bare) <= self.rounding:
            return Residuals(by_force, by_pull, 0.0, remainder, 0.0, 0.0, 0.0), 0.0, None
        da, dforce, dmultipliers = solve(
            np.ldexp(pull - free, column + shift), np.ldexp(offence, row + shift)
        )
        removable = (self.A @ np.ldexp(da, column - shift))[alive]
        constraint, missing = _largest(removable, terms, self.floor[alive])
        found = Residuals(by_force, by_pull, min(constraint, remainder), remainder, 0.0, 0.0, 0.0)
        worst = max(bare_force, bare_pull, min(missing, bare))
        if worst <= self.rounding:
            return found, worst, None
        better = a + da, np.ldexp(pull, column + shift) + dforce, multipliers + dmultipliers
        return found, worst, better

    def verdict(self, a: Array, force: Array, found: Residuals, applied: Array) -> Residuals:
        """Return the residuals with the contradiction of rows and the estimated error of a."""
        if np.isnan(found.force):
            return found
        column, row = self.column, self.row
        shift = self._shift(a, force, applied)
        x, gamma = np.abs(np.ldexp(a, column - shift)), np.ldexp(self.gamma, -row - shift)
        g, f = np.ldexp(np.abs(applied), -column - shift), np.ldexp(np.abs(force), -column - shift)
        terms = np.abs(self.A) @ x + np.abs(gamma)
        contradiction = self._contradiction(x, gamma, terms)
        along, across = self.gains
        grain = 2.0 * EPSILON
        sizes = np.abs(self.M) @ x + g + f
        by_force = along @ ((found.force + grain) * sizes)
        by_rows = across @ ((found.constraint + grain) * terms)
        speed, push = float(np.linalg.norm(x)), float(np.linalg.norm(g))
        pull = float(np.linalg.norm(gamma[~self.dead]))
        error = _over(float(np.linalg.norm(by_force)), speed + push) + _over(
            float(np.linalg.norm(by_rows)), speed + pull
        )
        if np.isnan(error):  # no mass on a motion, which the formulation did not see
            error = np.inf
        dropped = found.remainder if self._factor[3] > self.rank else 0.0
        return found._replace(dropped=dropped, contradiction=contradiction, error=float(error))

    def _shift(self, a: Array, force: Array, applied: Array) -> int:
        """Return the exponent of the largest number of an answer in balanced units."""
        exponents = [
            (np.frexp(value)[1] + shift)[value != 0.0].max(initial=-(10**6))
            for value, shift in (
                (a, self.column), (force, -self.column), (applied, -self.column), (self.gamma, -self.row),
            )
        ]  # fmt: skip
        largest = int(max(exponents))
        return largest if largest > -(10**5) else 0

    @cached_property
    def _factor(self) -> tuple[Array, Array, NDArray[np.intp], int]:
        """Q, R, order and rank of A_wᵀ Π = Q R, without the dead rows."""
        alive = np.flatnonzero(~self.dead)
        Q, R, order = qr(self.A[alive].T, pivoting=True)
        pivots = np.abs(np.diagonal(R))
        rank = int(np.count_nonzero(pivots > self.tolerance * pivots.max(initial=0.0)))
        return Q, R, alive[order], rank

    def _contradiction(self, x: Array, gamma: Array, terms: Array) -> float:
        """Return the largest disagreement of a dependent row with the rows it depends on; 0 if it is rounding.

        y, with yᵀA = 0, is one for the row itself and minus the combination of independent rows that reproduces it. yᵀγ
        may have the errors of the data, relative to |y|ᵀ|γ|; the part of yᵀA that is not exactly zero, times a; and the
        rounding of |y|ᵀ|A||a|. Forces enter only through these two.
        """
        _, R, order, rank = self._factor
        rounding = 16.0 * self.rounding
        worst = 0.0
        dead = np.flatnonzero(self.dead)
        if len(dead):
            # A row of nothing asks for γ = 0, up to the rounding of the terms of other rows.
            common = self.row - self.top
            if np.abs(np.ldexp(gamma, common)[dead]).max() > rounding * np.ldexp(terms, common).max():
                worst = 1.0
        dependent = order[rank:]
        if not len(dependent):
            return worst
        mixing = solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else np.zeros((0, len(dependent)))
        y = np.zeros((len(dependent), len(gamma)))
        y[np.arange(len(dependent)), dependent] = 1.0
        y[:, order[:rank]] = -mixing.T
        size = np.abs(y) @ np.abs(gamma)
        disagreement = np.abs(y @ gamma)
        allowed = np.abs(y @ self.A) @ x + rounding * (np.abs(y) @ terms)
        beyond = disagreement > INCONSISTENT * size + allowed
        return max(worst, float((disagreement[beyond] / size[beyond]).max(initial=0.0)))

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """Sizes of ∂a/∂force (n, n) and ∂a/∂γ (n, m), in balanced units; infinite where there is no answer."""
        Q, R, order, rank = self._factor
        n, m = len(self.M), len(self.A)
        K = Q[:, rank:]
        values, vectors = np.linalg.eigh(K.T @ self.M @ K)
        if (values <= 0.0).any():
            return np.full((n, n), np.inf), np.full((n, m), np.inf)
        tangent = K @ vectors
        along = (tangent / values) @ tangent.T
        across = np.zeros((n, m))
        if rank:
            normal = solve_triangular(R[:rank, :rank], Q[:, :rank].T).T
            across[:, order[:rank]] = normal - along @ (self.M @ normal)
        return np.abs(along), np.abs(across)


def _exponent(value: Array) -> NDArray[np.intc]:
    """Return k with value / 2ᵏ in [0.5, 1); 0 for 0."""
    return np.asarray(np.frexp(value)[1], dtype=np.intc)


def _exponents(M: Array, A: Array) -> NDArray[np.intc]:
    """Return half the exponents of the inertias; massless coordinates get one from the rows that determine them."""
    inertia = np.diagonal(M)
    heavy = inertia > 0.0
    exponents = np.where(heavy, _exponent(inertia) // 2, 0)
    if heavy.all() or not heavy.any():
        return exponents
    lengths = np.ldexp(np.abs(A[:, heavy]), -exponents[heavy]).max(axis=1, initial=0.0)
    for j in np.flatnonzero(~heavy):
        rows = (A[:, j] != 0.0) & (lengths > 0.0)
        if rows.any():
            exponents[j] = (_exponent(A[rows, j]) - _exponent(lengths[rows])).max()
    return exponents


def _largest(left: Array, sizes: Array, floor: Array) -> tuple[float, float]:
    """Return the largest |left| / size above the floor, and above zero."""
    left = np.abs(left)
    ratio = left / np.where(left > 0.0, sizes, 1.0)
    return float(ratio[left > floor].max(initial=0.0)), float(ratio.max(initial=0.0))


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0
