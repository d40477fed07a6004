"""`Reach`: configurations that bring a point of a body to the nodes of a grid, computed for a whole front of nodes."""

from __future__ import annotations

from itertools import product

import numpy as np

from sarrus.analysis.configurations.many_configurations import ManyConfigurations, chords
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.linkages.node_newton import NodeNewton, least_steps, parts_of
from sarrus.analysis.linkages.tolerances import (
    COVERED,
    FARTHEST,
    KNOWN_PART,
    LIKE_MODE,
    PLANAR_POINTS,
    SAME_NODE,
)
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.closing.manifold import turning
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.tolerances import PARALLEL

Cell = tuple[int, ...]

# Modes at a node at most.
_MODES = 16


class PointPlaces:
    """Position of a point of a body along ``axes`` (d, 3) of the world."""

    def __init__(self, many: ManyConfigurations, body: str, point: Array, axes: Array) -> None:
        self.many, self.body, self.point, self.axes = many, body, point, axes
        self.factors = np.full(len(axes), 1.0 / many.system.characteristic.length)

    def evaluate(self, q: Array) -> tuple[Array, Array]:
        """Return the positions (n, d) [m] at configurations, and their rows (n, d, nv)."""
        places, linear = self.many.points(self.body, self.point, q)
        return places @ self.axes.T, self.axes @ linear

    def short(self, gaps: Array) -> Array:
        """Return the differences unchanged."""
        return gaps


class Reach:
    """The nodes of a grid that a point reaches: ``size`` times integers from ``origin`` (d,) [m]."""

    def __init__(
        self,
        places: PointPlaces,
        free: np.ndarray,
        limits: SearchLimits,
        start: Array,
        size: float,
    ) -> None:
        self.system, self.places, self.limits, self.size = places.many.system, places, limits, size
        self.newton = NodeNewton(places.many, places, free, start, least_steps)
        self.parts = parts_of(size / self.system.characteristic.length)
        self.origin = places.evaluate(start[None])[0][0]
        self.turns = turning(self.system)
        #: configurations by node
        self.found: dict[Cell, list[Array]] = {}

    def goals(self, cells: np.ndarray) -> Array:
        """Return the positions of nodes (n, d) along the axes [m]."""
        return np.asarray(self.origin + self.size * cells)

    def _ahead(self, q: Array, goals: Array) -> tuple[Array, np.ndarray, Array]:
        """Return (configurations after first-order steps to goals, mask of valid long steps, lengths of the steps [rad,
        κ]).

        A long step is valid if it meets its goal at once, along a straight motion; other long steps are replaced by q.
        """
        steps = self.newton.ahead(q, goals)
        length = np.linalg.norm(steps, axis=1)
        begin, far = self.newton.moved(q, steps), length >= FARTHEST
        if far.any():
            far[far] = self.newton.meets(begin[far], goals[far])
        return np.where(((length < FARTHEST) | far)[:, None], begin, q), far, length

    def solve(
        self, q: Array, goals: Array, begin: Array, far: np.ndarray | bool = False
    ) -> tuple[Array, np.ndarray]:
        """Return configurations next to q (n, nq) with the point at goals, and the mask of those found within the
        limits.

        Newton's method begins at ``begin``; ``far`` marks configurations that may be far from q.
        """
        at, _, good = self.newton.solve(begin, goals)
        good &= (self._apart(q, at, ()) < FARTHEST) | far
        good[good] = self.limits.contain_each(at[good])
        return at, good

    def _apart(self, start: Array, end: Array, turns: np.ndarray | tuple[int, ...]) -> Array:
        """Return the distance of configurations (n, nq) from each other [rad, κ]."""
        gaps = chords(start, end, self.system, turns)
        return np.asarray(np.linalg.norm(gaps * self.system.characteristic.coordinates, axis=1))

    def _knows(self, cells: list[Cell], q: Array, within: Array) -> np.ndarray:
        """Return at which nodes a configuration is known within a distance (n,) of q (n, nq), modulo full turns."""
        pairs = [(k, other) for k, cell in enumerate(cells) for other in self.found.get(cell, ())]
        known = np.zeros(len(cells), dtype=bool)
        if pairs:
            which = np.array([k for k, _ in pairs])
            near = self._apart(q[which], np.array([other for _, other in pairs]), self.turns) < within[which]
            known[which[near]] = True
        return known

    def _add(self, cells: list[Cell], q: Array) -> list[tuple[Cell, Array]]:
        """Store configurations (n, nq) at nodes; return the new ones."""
        new = []
        for cell, one in zip(cells, q):
            here = self.found.setdefault(cell, [])
            if len(here) < _MODES and not self._knows([cell], one[None], np.array([SAME_NODE]))[0]:
                here.append(one)
                new.append((cell, one))
        return new

    def flood(self, seeds: Array, most: int) -> bool:
        """Find configurations at every node reached from seeds (n, nq), for each mode.

        Returns False, with the result so far, if the nodes extend over more than ``most`` nodes along an axis.
        """
        places, _ = self.places.evaluate(seeds)
        cells = np.rint((places - self.origin) / self.size).astype(int)
        at, good = self.reach(seeds, places, self.goals(cells))
        for k in np.flatnonzero(good):
            key = tuple(map(int, cells[k]))
            known = self._knows([key], seeds[k, None], np.array([LIKE_MODE]))[0]
            front = [] if known else self._add([key], at[k, None])
            while front:
                if self.span() > most:
                    return False
                front = self._wave(front)
        return True

    def span(self) -> int:
        """Return the largest number of nodes along an axis from the first to the last reached one."""
        return int(np.ptp(np.array(list(self.found)), axis=0).max()) + 1

    def farthest_coordinate(self) -> str:
        """Return the name of the coordinate with the largest range, preferably one without limits."""
        q = np.array([one for here in self.found.values() for one in here])
        far = np.ptp(q, axis=0) * self.system.characteristic.coordinates
        free = ~np.isfinite(self.limits.upper - self.limits.lower)
        return self.system.coordinate_names[int(np.argmax(np.where(free | ~free.any(), far, 0.0)))]

    def shows(self, seeds: Array, pieces: int) -> bool:
        """Return whether the cells are small enough: nodes beside all seeds (n, nq), in at most ``pieces`` connected
        parts.
        """
        low = np.floor((self.places.evaluate(seeds)[0] - self.origin) / self.size).astype(int)
        corners = np.array(list(product((0, 1), repeat=low.shape[1])))
        beside = [any(tuple(map(int, corner)) in self.found for corner in cell + corners) for cell in low]
        return bool(np.mean(beside) > COVERED) and self._pieces() <= pieces

    def _pieces(self) -> int:
        """Return the number of connected parts of the reached nodes."""
        left, count = set(self.found), 0
        while left:
            count, front = count + 1, [left.pop()]
            while front:
                cell = front.pop()
                ways = product(range(len(cell)), (1, -1))
                beside = {(*cell[:axis], cell[axis] + way, *cell[axis + 1 :]) for axis, way in ways} & left
                left -= beside
                front += beside
        return count

    def _wave(self, front: list[tuple[Cell, Array]]) -> list[tuple[Cell, Array]]:
        """Return the new configurations at the neighbours of a front."""
        here, q = np.array([cell for cell, _ in front]), np.array([one for _, one in front])
        new = []
        for axis, way in product(range(here.shape[1]), (1, -1)):
            there = here.copy()
            there[:, axis] += way
            cells, goals = [tuple(map(int, cell)) for cell in there], self.goals(there)
            begin, far, length = self._ahead(q, goals)
            near = KNOWN_PART * np.minimum(length, FARTHEST)
            known = ((length < FARTHEST) | far) & self._knows(cells, begin, near)
            left = np.flatnonzero(~known)
            at, good = self.reach(q[left], self.goals(here[left]), goals[left], (begin[left], far[left]))
            new += self._add([cells[k] for k in left[good]], at[good])
        return new

    def reach(
        self,
        q: Array,
        start: Array,
        goals: Array,
        ahead: tuple[Array, np.ndarray] | None = None,
        parts: int | None = None,
    ) -> tuple[Array, np.ndarray]:
        """Return configurations at goals, reached from q at ``start`` in one step or in parts, and the mask of those
        reached.
        """
        begin, far = ahead or self._ahead(q, goals)[:2]
        at, good = self.solve(q, goals, begin, far)
        missed = np.flatnonzero(~(good | far))
        part, count = q[missed], parts or self.parts
        for k in range(1, count + 1):
            if not len(missed):
                break
            going = start[missed] + k / count * (goals - start)[missed]
            part, there = self.solve(part, going, part)
            missed, part = missed[there], part[there]
        at[missed], good[missed] = part, True
        return at, good

    def farthest(self, q: Array, start: Array, goals: Array, halvings: int) -> Array:
        """Return how far the point gets on the way from starts (n, d) to goals, from each q (n, nq), as fractions
        (n,).
        """
        low, high = np.zeros(len(q)), np.ones(len(q))
        way = goals - start
        for k in range(halvings):
            middle = 0.5 * (low + high)
            here, there = (start + share[:, None] * way for share in (low, middle))
            at, good = self.reach(q, here, there, parts=max(1, self.parts >> k + 1))
            low, high = np.where(good, middle, low), np.where(good, high, middle)
            q = np.where(good[:, None], at, q)
        return 0.5 * (low + high)


def require_region(system: System, body: str, motions: list[Array], linear: Array, axes: Array) -> None:
    """Raise `ArgumentError` if a point moves along fewer directions than ``axes`` (d, 3) has.

    ``motions``: basis (nv, k) at each configuration; ``linear`` (n, 3, nv): Jacobians of the point there.
    """
    length = system.characteristic.length
    ranks = [ranked(rows @ x / length, RANK_CUT).rank if x.size else 0 for rows, x in zip(linear, motions)]
    most = int(np.argmax(np.bincount(ranks)))  # singular configurations have others
    if most < 2:
        raise _no_region(system, body)
    if most < len(axes):
        raise ArgumentError(
            f"{system.name}: the point of {body!r} moves on a curved surface, neither in a plane nor through space; "
            "with a coordinate locked `coupler_curve` follows it",
            element="body",
        )


def _no_region(system: System, body: str) -> ArgumentError:
    return ArgumentError(
        f"{system.name}: the point of {body!r} rests or moves on a line, straight or curved; a workspace needs at "
        "least two degrees of freedom of the point",
        element="body",
    )


def grid_axes(system: System, body: str, places: Array) -> Array:
    """Return the directions of the grid: two world axes or two directions in the plane of the places, or all three
    axes.
    """
    _, extents, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    if len(extents) < 2 or extents[1] <= PLANAR_POINTS * max(
        extents[0], system.characteristic.length * PLANAR_POINTS
    ):
        raise _no_region(system, body)
    if extents[2] > PLANAR_POINTS * extents[0]:
        return np.eye(3)
    normal = axes[2]
    level = np.flatnonzero(np.abs(normal) > 1.0 - PARALLEL)
    if len(level):
        return np.delete(np.eye(3), level[0], axis=0)
    first = np.flatnonzero(np.abs(normal) > PLANAR_POINTS)[0]  # the sign of a singular vector is anybody's
    normal = normal * np.sign(normal[first])
    right = perpendicular_to(normal)
    return np.stack([right, np.cross(normal, right)])
