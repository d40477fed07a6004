"""The singular value that vanishes at singular configurations: value, gradient, and the descent to its zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from sarrus.analysis.singularities.tolerances import (
    CONVERGED_STEP,
    MEASURE_DESCENT,
    MEASURE_LONGEST,
    MEASURE_NEWTON,
    SLOPE_ZERO,
    SLOW_STEP,
)
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.branches import find_branches, goes_on, tangents
from sarrus.dynamics.closing.manifold import (
    close,
    difference,
    holonomic_jacobian,
    rank_cut,
    stays_closed,
    walk,
)
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE, WALK_STEP
from sarrus.dynamics.model.derivatives import row_gradient
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT


class Measure:
    """The singular value that vanishes at singular configurations, and its derivative, in characteristic units.

    G is A's holonomic rows without the columns of the driven velocities: with these at rest the mechanism can move
    where G loses rank. Without driven velocities G is A. Directions and gradients refer to x̂ = ``scale`` · x, x
    velocities, so that lengths count in κ (`sarrus.dynamics.model.characteristic`).
    """

    def __init__(self, system: System, q: Array, driven: Sequence[str], t: float) -> None:
        self.system, self.t = system, t
        self.free = free_velocities(system, driven, "driven")
        self.scale = system.characteristic.columns
        self.row_scale = system.characteristic.rows[: system.nh]
        self.cut = rank_cut(system, q, t, even=True)
        self.walk_cut = rank_cut(system, q, t)
        places = [q, *self._beside(q)]
        self.holonomic_rank = max(ranked(self.rows(p), self.cut).rank for p in places)
        self.rank = max(ranked(self.matrix(p), self.cut).rank for p in places)
        if self.rank == 0:
            raise ArgumentError(
                f"{system.name}: there are no constraint rows on the velocities that are not driven",
                element="driven",
            )

    def _beside(self, q: Array) -> list[Array]:
        """Return configurations near q on every branch through it."""
        here = tangents(self.system, q, self.t, self.walk_cut)
        kernel = here.rows.null
        if not goes_on(self.system, q, self.t, here):
            return [branch.q for branch in find_branches(self.system, q, self.t, here)[0]]
        rng = np.random.default_rng(9)
        ways = [kernel @ rng.standard_normal(kernel.shape[1]) for _ in range(3 if kernel.shape[1] else 0)]
        return [p for x in ways for p, _ in islice(self.walk(q, x, 0.1), 2)]

    def rows(self, q: Array) -> Array:
        """Return the holonomic rows of A (nh, nv)."""
        return np.asarray(self.row_scale[:, None] * holonomic_jacobian(self.system, q, self.t) / self.scale)

    def matrix(self, q: Array) -> Array:
        """Return G with zeros for the driven columns (nh, nv)."""
        return np.asarray(self.rows(q) * self.free)

    def gap(self, start: Array, end: Array) -> Array:
        """Return the chord x̂ (nv,) from start to end."""
        return np.asarray(self.scale * difference(self.system, start, end))

    def away(self, start: Array, end: Array) -> float:
        """Return the length of the chord from start to end [rad, κ]."""
        return float(np.linalg.norm(self.gap(start, end)))

    def moved(self, q: Array, step: Array) -> Array:
        """Return the closed configuration next to q ⊕ x̂."""
        return close(self.system, self.system.move(q, step / self.scale), self.t)

    def value(self, q: Array) -> tuple[float, Array, Array]:
        """Return (singular value at the generic rank, left singular vector, right singular vector)."""
        rows = at_rank(self.matrix(q), self.rank)
        return float(rows.kept[-1]), rows.left[:, -1], rows.right[:, -1]

    def tangent(self, q: Array) -> Array:
        """Return the null space of A (nv, d) at its generic rank."""
        return at_rank(self.rows(q), self.holonomic_rank).null

    def gradient(self, q: Array, left: Array, right: Array) -> Array:
        """Return the derivative of the singular value along the motions, a direction x̂ (nv,)."""
        tangent = self.tangent(q)
        return np.asarray(tangent @ (tangent.T @ self._slope(q, left, right)))

    def _slope(self, q: Array, left: Array, right: Array) -> Array:
        """Return the derivative of leftᵀ G right with respect to x̂ (nv,)."""
        rows = np.zeros(self.system.nc)
        rows[: self.system.nh] = self.row_scale * left
        return np.asarray(row_gradient(self.system, q, rows, right / self.scale, self.t) / self.scale)

    def walk(self, q: Array, direction: Array, step: float = WALK_STEP) -> Iterator[tuple[Array, Array]]:
        """Walk from q along x̂ through the closed configurations; tangents are velocities.

        See `sarrus.dynamics.closing.manifold.walk`.
        """
        return walk(
            self.system, q, direction / self.scale, t=self.t, step=step, cut=self.walk_cut, scale=self.scale
        )

    def descend(self, q: Array) -> tuple[Array, bool]:
        """Follow the singular value down to zero; return (q, whether zero was reached)."""
        value, left, right = self.value(q)
        for _ in range(MEASURE_DESCENT):
            if value < self.cut:
                return self.converge(q, left)
            slope = self.gradient(q, left, right)
            size = float(np.linalg.norm(slope))
            if size < SLOPE_ZERO * (1.0 + value):
                return q, False
            step = -slope * min(value / size**2, MEASURE_LONGEST / size)
            for _ in range(6):
                p = self.moved(q, step)
                there = self.value(p)
                if there[0] < value and open_by(self.system, p, self.t) < DATA_TOLERANCE:
                    break
                step = step / 2
            else:
                return q, False
            slow = there[0] > 0.9 * value and float(np.linalg.norm(step)) < SLOW_STEP
            q, (value, left, right) = p, there
            if slow:
                return q, False
        return q, value < self.cut

    def converge(self, q: Array, left: Array) -> tuple[Array, bool]:
        """Solve φ(q) = 0, Gᵀu = 0, |u| = 1 by Newton's method with minimum-norm steps; return (q, whether it
        converged).

        Without the last two equations the accuracy of q would be limited to the square root of rounding.
        """
        system, nv, nh = self.system, self.system.nv, self.system.nh
        indices = np.flatnonzero(self.free)
        start = q
        for _ in range(MEASURE_NEWTON):
            jacobian, g = self.rows(q), self.matrix(q)
            open_rows = self.row_scale * system.constraint_residual(q, self.t)
            residual = np.concatenate([open_rows, g.T[indices] @ left])
            matrix = np.zeros((nh + len(indices) + 1, nv + nh))
            matrix[:nh, :nv] = jacobian
            for k, i in enumerate(indices):
                matrix[nh + k, :nv] = self._slope(q, left, np.eye(nv)[i])
            matrix[nh : nh + len(indices), nv:] = g.T[indices]
            matrix[-1, nv:] = left
            step = ranked(matrix, relative=FINE_RANK_CUT).solve(-np.append(residual, 0.0))
            q, left = system.move(q, step[:nv] / self.scale), left + step[nv:]
            left /= np.linalg.norm(left)
            if np.abs(step).max() < CONVERGED_STEP:
                break
        near = self.away(start, q) < MEASURE_LONGEST
        good = stays_closed(system, q, start, self.t)
        return q, bool(near and good and self.value(q)[0] < FINE_RANK_CUT * self.cut / RANK_CUT)
