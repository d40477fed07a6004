"""`LocusTrace`: walks over two degrees of freedom that search for singular configurations, and the curves
through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from scipy.optimize import brentq

from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.configurations.tolerances import STRAIGHT
from sarrus.analysis.singularities.locked_rows import HeldRows
from sarrus.analysis.singularities.tolerances import (
    LARGER_GAP,
    LOCUS_CUT,
    LOCUS_DIFFERENCE,
    LOCUS_MET,
    LOCUS_OFF,
    LOCUS_SHORTEST,
    LOCUS_STEPS,
)
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.assembly import held_velocities
from sarrus.dynamics.closing.manifold import (
    came_back,
    close,
    difference,
    rank_cut,
    stays_closed,
    turning,
    walk,
)
from sarrus.dynamics.closing.tolerances import WALK_STEP

# Steps of a walk, and of a curve one way.
_RAY, _STEPS = 120, 3000


class LocusTrace:
    """The curves on which R loses rank, within the configurations with the locked coordinates held."""

    def __init__(self, rows: HeldRows, start: Array, locked: Sequence[str], limits: SearchLimits) -> None:
        self.rows, self.system, self.t, self.start = rows, rows.system, rows.t, start
        self.hold = held_velocities(self.system, locked)
        self.scale = rows.sizes.columns
        self.limits = limits
        self.turns = turning(self.system)
        self.walk_cut = rank_cut(self.system, start, self.t, 1.0)
        self.ended: Array | None = None
        rows.require_two_motions("a locus", start, self.hold)

    def basis(self, q: Array) -> Array:
        """Return the two motions (nv, 2) as velocities, orthonormal in characteristic units."""
        return np.asarray(self.rows.motions(q, self.hold)[:, -2:] / self.scale[:, None])

    def moved(self, q: Array, x: Array) -> Array:
        """Return the closed configuration next to q ⊕ x, with the locked coordinates held."""
        return close(self.system, self.system.move(q, x), self.t, across=self.hold)

    def ray(self, q: Array, weights: Array) -> list[tuple[Array, Array]]:
        """Return singular configurations on a walk from q, each with the left singular vectors beside it."""
        direction = self.basis(q) @ weights
        found = []
        last, (left, _, right) = q, self.rows.singular(q)
        steps = walk(
            self.system,
            q,
            direction,
            t=self.t,
            step=2 * WALK_STEP,
            cut=self.walk_cut,
            hold=self.hold,
            scale=self.scale,
        )
        for p, _ in islice(steps, _RAY):
            if not self.limits.contain(p):
                break
            ahead, _, turned = self.rows.singular(p)
            if float(left[:, -1] @ ahead[:, -1]) * float(right[-1] @ turned[-1]) < 0.0:
                crossing = self._between(last, p, left)
                if crossing is not None:
                    found.append((crossing, left))
            last, left, right = p, ahead, turned
        self.ended = last
        return found

    def _between(self, last: Array, p: Array, left: Array) -> Array | None:
        chord = difference(self.system, last, p)

        def value(s: float) -> float:
            return self.rows.signed(self.moved(last, s * chord), left)

        if value(0.0) * value(1.0) >= 0.0:
            return None
        q = self.moved(last, float(brentq(value, 0.0, 1.0, xtol=LOCUS_MET)) * chord)
        return q if self.rows.least(q) < LOCUS_CUT * self.rows.cut else None

    def gradient(self, q: Array, left: Array) -> tuple[Array, Array]:
        """Return the derivative of the signed singular value (2,) along the two motions, and the motions (nv, 2)."""
        basis = self.basis(q)
        slope = [
            (
                self.rows.signed(self.moved(q, LOCUS_DIFFERENCE * x), left)
                - self.rows.signed(self.moved(q, -LOCUS_DIFFERENCE * x), left)
            )
            / (2 * LOCUS_DIFFERENCE)
            for x in basis.T
        ]
        return np.array(slope), basis

    def onto(self, q: Array, left: Array) -> tuple[Array, Array, Array] | None:
        """Return (singular configuration next to q, gradient at q, motions) by the secant method; None if there is
        none.
        """
        slope, basis = self.gradient(q, left)
        size = float(np.linalg.norm(slope))
        if size == 0.0:
            return None
        across, rate = basis @ slope / size, size
        value = self.rows.signed(q, left)
        for _ in range(LOCUS_STEPS):
            step = -value / rate
            if abs(step) > 2 * WALK_STEP:
                return None
            if abs(step) < LOCUS_MET:
                break
            q = self.moved(q, step * across)
            before, value = value, self.rows.signed(q, left)
            if value == before:
                break
            rate = (value - before) / step
        if self.rows.least(q) > self.rows.cut or not stays_closed(self.system, q, self.start, self.t):
            return None
        return q, slope, basis

    def follow(self, q: Array, left: Array) -> tuple[Array, bool]:
        """Return the curve of singular configurations (k, nq) through q, and whether it returns to its start."""
        landed = self.onto(q, left)
        if landed is None:
            return q[None], False
        start, slope, basis = landed
        way = basis @ np.array([-slope[1], slope[0]]) / np.linalg.norm(slope)
        ahead, closed = self._one_way(start, way, left)
        behind = [] if closed else self._one_way(start, -way, left)[0]
        return np.array([*behind[::-1], start, *ahead]), closed

    def _one_way(self, start: Array, way: Array, left: Array) -> tuple[list[Array], bool]:
        path: list[Array] = []
        q, tangent, length = start, way, WALK_STEP
        while len(path) < _STEPS and length > LOCUS_SHORTEST * WALK_STEP:
            left = self._beside(q, tangent, left)
            landed = self.onto(self.moved(q, length * tangent), left)
            if landed is None:
                length /= 2
                continue
            p, slope, basis = landed
            size = float(np.linalg.norm(slope))
            ahead = basis @ np.array([-slope[1], slope[0]]) / size
            cosine = float((self.scale * ahead) @ (self.scale * tangent))
            gone = float(np.linalg.norm(self.scale * difference(self.system, q, p)))
            if abs(cosine) < STRAIGHT or gone > 2.0 * length or gone < 0.2 * length:
                length /= 2
                continue
            if not self.limits.contain(p):
                return path, False
            ahead = ahead * np.sign(cosine)
            path.append(p)
            if len(path) > 4 and came_back(self.system, start, way, p, ahead, self.turns, self.scale):
                end = start.copy()
                end[self.turns] += 2 * np.pi * np.rint((p - start)[self.turns] / (2 * np.pi))
                return [*path, end], True
            q, tangent, length = p, ahead, min(WALK_STEP, 2 * length)
        return path, False

    def _beside(self, q: Array, tangent: Array, left: Array) -> Array:
        """Return left singular vectors of R beside the locus, where redundant rows have no part in them."""
        basis = self.basis(q)
        along = basis.T @ (self.scale**2 * tangent)
        across = basis @ np.array([-along[1], along[0]])
        places = [self.moved(q, sign * LOCUS_OFF * across) for sign in (1.0, -1.0)]
        found = [self.rows.singular(p) for p in places]
        best = 0 if found[0][1][-1] >= found[1][1][-1] * (1.0 - LARGER_GAP) else 1
        return found[best][0] if found[best][1][-1] > self.rows.cut else left

    def passes(self, piece: Array, q: Array) -> bool:
        """Return whether a curve passes q, modulo full turns."""
        gaps = [np.linalg.norm(self.scale * difference(self.system, p, q, self.turns)) for p in piece]
        return bool(min(gaps) < 0.75 * WALK_STEP)
