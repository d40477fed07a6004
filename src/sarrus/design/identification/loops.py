"""Closing loops for given independent coordinates: dependent coordinates, velocities and accelerations of motions.

Many states are closed at once. The dependent velocities follow from their columns D of A by D⁺ = (DᵀD)⁻¹Dᵀ, in
characteristic units. 1/‖D⁺‖ (Frobenius) is a smooth measure of the distance from singularity, between the smallest
singular value of D and that over the square root of the number of columns.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.tolerances import (
    CLOSING_ASTRAY,
    CLOSING_STEPS,
    RIDGE_OF_LEFT_INVERSE,
    SAMPLE_CLOSED,
    STRIDE,
)
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.quaternions import normalize

Motion = tuple[Array, Array, Array]


def left_inverse(d: Array) -> Array:
    """Return D⁺ (B, n, m) of matrices with independent columns (B, m, n)."""
    n = d.shape[2]
    square = d.transpose(0, 2, 1) @ d
    size = np.trace(square, axis1=1, axis2=2) * (RIDGE_OF_LEFT_INVERSE / max(n, 1)) + LEAST_DIVISOR
    return np.asarray(np.linalg.inv(square + size[:, None, None] * np.eye(n)) @ d.transpose(0, 2, 1))


class Loops:
    """Closes the loops for given independent coordinates, from one sample to the next; ``q`` selects the branch.

    All constraints are closures: there are no rows on velocities alone.
    """

    def __init__(self, system: System, independent: list[int], q: Array) -> None:
        self.system, self.independent, self.start = system, independent, q
        self.dependent = [k for k in range(system.nv) if k not in independent]
        names = system.coordinate_names
        self.coordinates = [names.index(system.velocity_names[k]) for k in independent]
        self.columns = system.model.characteristic.columns
        self.rows = system.model.characteristic.rows
        function = system.compiled.function
        self._position, self._velocity = function("position"), function("velocity")
        self._bias, self._rate = function("constraint_bias"), function("rate")
        self._blank = system.pack(q)

    def along(self, places: Array, t: Array) -> tuple[Array, np.ndarray]:
        """Return q (P, T, nq) along paths (P, T, m), closed from sample to sample, and the mask of closed paths
        (P,).
        """
        count, times = places.shape[:2]
        out = np.empty((count, times, self.system.nq))
        good = np.ones(count, dtype=bool)
        q = np.tile(self.start, (count, 1))
        last = q[:, self.coordinates]
        for k in range(times):
            q, closed = self.towards(q, last, places[:, k], np.full(count, t[k]), good)
            good &= closed
            out[:, k], last = q, places[:, k]
        return out, good

    def towards(
        self, q: Array, last: Array, places: Array, t: Array, wanted: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        """Return the result of `closed`, from q (B, nq) with independent coordinates ``last`` (B, m), by short
        steps.
        """
        good = np.ones(len(q), dtype=bool) if wanted is None else wanted.copy()
        way = places - last
        longest = np.abs(way[good] * self.columns[self.independent]).max(initial=0.0)
        pieces = max(1, int(np.ceil(longest / STRIDE)))
        for piece in range(1, pieces + 1):
            q, closed = self.closed(q, last + way * (piece / pieces), t, good)
            good &= closed
        return q, good

    def closed(
        self, q: Array, places: Array, t: Array, wanted: np.ndarray | None = None
    ) -> tuple[Array, np.ndarray]:
        """Return closed configurations (B, nq) next to q with independent coordinates ``places`` (B, m), and their
        mask.

        Only those ``wanted`` (B,) are closed.
        """
        q = q.copy()
        q[:, self.coordinates] = places
        wanted = np.ones(len(q), dtype=bool) if wanted is None else wanted
        if not self.dependent:
            return q, wanted.copy()
        done = np.zeros(len(q), dtype=bool)
        reach, open_ = np.zeros(len(q)), np.flatnonzero(wanted)
        for _ in range(CLOSING_STEPS):
            if not len(open_):
                break
            at = self._position.evaluate_each(self._pack(q[open_], t[open_]))
            residual = self.rows * at["residual"][:, :, 0]
            size = np.abs(residual).max(axis=1, initial=0.0)
            done[open_[size < SAMPLE_CLOSED]] = True
            more = (size >= SAMPLE_CLOSED) & (reach[open_] < CLOSING_ASTRAY) & np.isfinite(size)
            open_ = open_[more]
            if not len(open_):
                break
            inverse = left_inverse(self._even(at["jacobian"][more]))
            x = -(inverse @ residual[more][:, :, None])[:, :, 0]
            reach[open_] += np.abs(x).max(axis=1)
            step = np.zeros((len(x), self.system.nv))
            step[:, self.dependent] = x / self.columns[self.dependent]
            moved = q[open_] + self._rate.each(self._pack(q[open_], t[open_], step))
            normalize(moved, self.system.equations.quaternions)
            q[open_] = moved
        return q, done & (reach < CLOSING_ASTRAY)

    def moving(self, q: Array, rates: Array, accelerations: Array, t: Array) -> tuple[Array, Array, Array]:
        """Return v, a (B, nv) at closed q (B, nq) with independent rates (B, m), and 1/‖D⁺‖ (B,)."""
        count, nv = len(q), self.system.nv
        v, a = np.zeros((count, nv)), np.zeros((count, nv))
        v[:, self.independent], a[:, self.independent] = rates, accelerations
        if not self.dependent:
            return v, a, np.full(count, np.inf)
        jacobian = self._position.evaluate_each(self._pack(q, t))["jacobian"]
        inverse = left_inverse(self._even(jacobian))
        unit = self.columns[self.dependent]

        def following(residual: Array) -> Array:
            return np.asarray(-(inverse @ (self.rows * residual)[:, :, None])[:, :, 0] / unit)

        slip = self._velocity.evaluate_each(self._pack(q, t, v))["residual"][:, :, 0]
        v[:, self.dependent] = following(slip)
        bias = self._bias.each(self._pack(q, t, v))
        a[:, self.dependent] = following((jacobian @ a[:, :, None])[:, :, 0] + bias)
        return v, a, 1.0 / np.sqrt((inverse**2).sum(axis=(1, 2)))

    def _even(self, jacobian: Array) -> Array:
        """Return the columns of the dependent velocities, in characteristic units."""
        return self.system.model.characteristic.scaled_rows(jacobian)[:, :, self.dependent]

    def _pack(self, q: Array, t: Array, v: Array | None = None) -> Array:
        x = np.tile(self._blank, (len(q), 1))
        x[:, self.system.parts.q] = q
        x[:, self.system.parts.t] = t
        if v is not None:
            x[:, self.system.parts.v] = v
        return x
