"""Reach: configurations that bring a point of a body to the nodes of a grid, from neighbour to neighbour."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from sarrus.analysis.search_limits import SearchLimits
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.manifold import STEP, difference, holonomic_jacobian, rank_cut, turning, walk
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import CUT, ranked
from sarrus.mechanism.pose import perpendicular_to

Cell = tuple[int, ...]

# Newton's method: iterations, and the miss that counts as met [rad, κ].
_ITERATIONS, _MET = 8, 1e-10
# Configurations at one node closer than this are the same [rad, κ]; a step to the next node moves by less than this.
_SAME, _FARTHEST = 1e-5, 1.0
# Steps of a walk that looks for other modes, and modes at a node at most.
_WALK, _MODES = 80, 16
# Points within this share of their extent of a plane or a line lie on it.
_FLAT = 1e-7


class Reach:
    """Which places of a grid a point of a body reaches; ``axes`` (d × 3) are the directions of the grid."""

    def __init__(
        self,
        system: System,
        body: str,
        point: Array,
        axes: Array,
        hold: Array,
        limits: SearchLimits,
        t: float,
    ) -> None:
        self.system, self.body, self.point, self.axes, self.t = system, body, point, axes, t
        self.hold, self.limits = hold, limits
        self.scale = system.characteristic.columns
        self.turns = turning(system)
        self.free = np.flatnonzero(hold.sum(axis=1) == 0.0) if hold.size else np.arange(system.nv)

    def place(self, q: Array) -> Array:
        """Return where the point is along the axes (d,) [m]."""
        found = self.system.jacobian(self.body, q, t=self.t, point=self.point)
        return np.asarray(self.axes @ found.position)

    def _rows(self, q: Array, goal: Array) -> tuple[Array, Array]:
        sizes = self.system.characteristic
        seen = self.system.jacobian(self.body, q, t=self.t, point=self.point)
        closed = sizes.rows[: self.system.nh]
        residual = np.concatenate(
            [
                closed * self.system.constraint_residual(q, self.t),
                (self.axes @ seen.position - goal) / sizes.length,
            ]
        )
        matrix = np.vstack(
            [
                closed[:, None] * holonomic_jacobian(self.system, q, self.t),
                self.axes @ seen.linear / sizes.length,
            ]
        )
        return residual, (matrix / self.scale)[:, self.free]

    def _step(self, residual: Array, matrix: Array) -> Array:
        x = np.zeros(self.system.nv)
        x[self.free] = ranked(matrix, relative=CUT).solve(-residual)
        return x / self.scale

    def solve(self, q: Array, goal: Array) -> Array | None:
        """Return the configuration next to q with the point at a goal, within the limits; None where there is none."""
        p, before = q, np.inf
        for k in range(_ITERATIONS):
            residual, matrix = self._rows(p, goal)
            size = float(np.abs(residual).max())
            if size < _MET:
                near = np.linalg.norm(self.scale * difference(self.system, q, p)) < _FARTHEST
                return p if near and self.limits.contain(p) else None
            step = self._step(residual, matrix)
            if np.linalg.norm(self.scale * step) > _FARTHEST or (k > 1 and size > 0.7 * before):
                return None
            p, before = self.system.move(p, step), size
        return None

    def predicted(self, q: Array, goal: Array) -> Array:
        """Return the step (nv,) that Newton's method takes first."""
        return self._step(*self._rows(q, goal))

    def same(self, p: Array, q: Array, within: float = _SAME) -> bool:
        """Tell whether two configurations are the same, full turns aside."""
        return bool(np.linalg.norm(self.scale * difference(self.system, p, q, self.turns)) < within)

    def walks(self, start: Array, rays: int) -> Iterator[Array]:
        """Yield configurations on walks over the motions, of seeded directions, within the limits.

        The first starts at the start, every other one there, too, and the others where a walk has been.
        """
        rng = np.random.default_rng(13)
        cut = rank_cut(self.system, start, self.t, 1.0)
        seen = [start]
        yield start
        for ray in range(rays):
            origin = seen[int(rng.integers(len(seen)))] if ray % 2 else start
            rows = np.vstack([holonomic_jacobian(self.system, origin, self.t), self.hold.T])
            kernel = ranked(rows, cut).null
            if not kernel.shape[1]:
                return
            x = kernel @ rng.standard_normal(kernel.shape[1])
            steps = walk(
                self.system, origin, x, t=self.t, step=2 * STEP, cut=cut, hold=self.hold, scale=self.scale
            )
            for q, _ in islice(steps, _WALK):
                if not self.limits.contain(q):
                    break
                seen.append(q)
                yield q

    def flood(self, seeds: list[Array], origin: Array, size: float) -> dict[Cell, list[Array]]:
        """Return the configurations at every node of the grid that is reached from the seeds."""
        found: dict[Cell, list[Array]] = {}
        queue: deque[tuple[Cell, Array]] = deque()

        def add(cell: Cell, q: Array | None) -> None:
            known = found.get(cell, [])
            if q is None or len(known) >= _MODES or any(self.same(p, q) for p in known):
                return
            found.setdefault(cell, []).append(q)
            queue.append((cell, q))

        for q in seeds:
            cell = tuple(int(k) for k in np.rint((self.place(q) - origin) / size))
            if len(found.get(cell, [])) == 0 or not any(self.same(p, q, 0.5) for p in found[cell]):
                add(cell, self.solve(q, origin + size * np.array(cell)))
            while queue:
                here, p = queue.popleft()
                for there in neighbours(here):
                    goal = origin + size * np.array(there)
                    step = self.predicted(p, goal)
                    ahead = float(np.linalg.norm(self.scale * step))
                    moved = self.system.move(p, step)
                    if ahead < _FARTHEST and any(
                        self.same(moved, other, 0.25 * ahead) for other in found.get(there, [])
                    ):
                        continue
                    add(there, self.reach(p, origin + size * np.array(here), goal))
        return found

    def reach(self, q: Array, start: Array, goal: Array) -> Array | None:
        """Return the configuration at a goal, gone to from that at a start in one step or in four."""
        found = self.solve(q, goal)
        if found is not None:
            return found
        for s in (0.25, 0.5, 0.75, 1.0):
            found = self.solve(q, start + s * (goal - start))
            if found is None:
                return None
            q = found
        return q

    def farthest(self, found: list[Array], start: Array, goal: Array, halvings: int) -> float:
        """Return how far of the way from start to goal the point gets from one of some configurations, as a share."""
        share = 0.0
        for q in found:
            if share and self.solve(q, start + min(1.0, share + 2.0**-halvings) * (goal - start)) is None:
                continue
            low, high = 0.0, 1.0
            for _ in range(halvings):
                middle = 0.5 * (low + high)
                ahead = self.solve(q, start + middle * (goal - start))
                if ahead is None:
                    high = middle
                else:
                    low, q = middle, ahead
            share = max(share, 0.5 * (low + high))
        return share


def neighbours(cell: Cell) -> Iterator[Cell]:
    """Yield the nodes beside one, along the axes of the grid."""
    for axis, way in product(range(len(cell)), (1, -1)):
        yield tuple(k + way * (i == axis) for i, k in enumerate(cell))


def grid_axes(system: System, body: str, places: Array) -> Array:
    """Return the directions of the grid: two world axes or two others in the plane of the places, or all three."""
    _, extents, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    if len(extents) < 2 or extents[1] <= _FLAT * max(extents[0], system.characteristic.length * _FLAT):
        raise ArgumentError(
            f"{system.name}: the point of {body!r} rests or moves on a line; a grid needs more motions",
            element="body",
        )
    if extents[2] > _FLAT * extents[0]:
        return np.eye(3)
    normal = axes[2]
    level = np.flatnonzero(np.abs(normal) > 1.0 - 1e-9)
    if len(level):
        return np.delete(np.eye(3), level[0], axis=0)
    first = np.flatnonzero(np.abs(normal) > _FLAT)[0]  # the sign of a singular vector is anybody's
    normal = normal * np.sign(normal[first])
    right = perpendicular_to(normal)
    return np.stack([right, np.cross(normal, right)])
