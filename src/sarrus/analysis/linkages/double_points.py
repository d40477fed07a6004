"""Double points and cusps of the path of a point along a curve of configurations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sarrus.analysis.configurations.curve import Curve
from sarrus.analysis.configurations.curve_trace import Trace
from sarrus.analysis.configurations.tolerances import BRACKET_END
from sarrus.analysis.linkages.tolerances import (
    APART,
    CROSSING_ANGLE,
    CUSP_END,
    CUSP_OPEN,
    DOUBLE_POINT_MET,
    DOUBLE_POINT_STEPS,
    PARALLEL_BRANCHES,
    PATH_RESTS,
    STANDS_STILL,
)
from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.closing.tolerances import WALK_STEP
from sarrus.model.mechanism.pose import perpendicular_to


@dataclass(frozen=True, eq=False)
class DoublePoint:
    """A crunode: the ``point`` (3,) [m] at which a path crosses itself, and the two configurations ``q1``, ``q2``
    (nq,).
    """

    point: Array
    q1: Array
    q2: Array


@dataclass(frozen=True, eq=False)
class Cusp:
    """A cusp: the ``point`` (3,) [m] at which a path stops and reverses while the mechanism moves, and ``q`` (nq,)."""

    point: Array
    q: Array


class _Path:
    """The path of a point between the stations of a curve."""

    def __init__(self, curve: Curve, body: str, place: Array) -> None:
        self.curve, self.body, self.place = curve, body, place

    def at(self, k: int, length: float) -> tuple[Array, Array, Array]:
        """Return (configuration, point, rate of the point) at ``length`` beyond station k along its tangent [rad,
        κ].
        """
        trace, way = self.curve.trace, self.curve.tangents[k]
        q = trace.place(self.curve.q[k], way, length) if length else self.curve.q[k]
        tangent = trace.ahead(q, way)
        found = self.curve.system.jacobian(q, t=self.curve.t, body=self.body, point=self.place)
        return q, found.position, found.linear @ tangent / trace.along(way, tangent)

    def step(self, k: int) -> float:
        """Return the length from station k to the next one along its tangent."""
        trace, q = self.curve.trace, self.curve.q
        return trace.along(self.curve.tangents[k], trace.chord(q[k], q[k + 1]))


def double_points_of(
    curve: Curve, body: str, place: Array, points: Array, normal: Array
) -> tuple[DoublePoint, ...]:
    """Return the crunodes of a planar path: crossings of its chords, refined by Newton's method on the curve."""
    right = perpendicular_to(normal)
    across = np.stack([right, np.cross(normal, right)])
    plane = points @ across.T
    path, trace = _Path(curve, body, place), curve.trace
    extent = float(np.ptp(plane, axis=0).max())
    found: list[DoublePoint] = []
    for i, j in _crossings(plane, curve.closed):
        lengths = np.array([0.5 * path.step(i), 0.5 * path.step(j)])
        reach = 2.0 * np.abs(lengths)
        for _ in range(DOUBLE_POINT_STEPS):
            (p, a, da), (q, b, db) = path.at(i, lengths[0]), path.at(j, lengths[1])
            miss = across @ (b - a)
            if np.linalg.norm(miss) <= DOUBLE_POINT_MET * extent:
                break
            matrix = across @ np.column_stack([da, -db])
            if abs(np.linalg.det(matrix)) <= PARALLEL_BRANCHES * np.linalg.norm(da) * np.linalg.norm(db):
                break
            lengths = np.clip(lengths + np.linalg.solve(matrix, miss), -0.2 * reach, 1.2 * reach)
        apart = np.linalg.norm(trace.scale * trace.chord(p, q, whole=False))
        turn = abs(np.linalg.det(across @ np.column_stack([da, db])))
        if turn <= CROSSING_ANGLE * np.linalg.norm(da) * np.linalg.norm(db):
            continue
        known = any(_same(trace, p, q, one) for one in found)
        if np.linalg.norm(miss) <= DOUBLE_POINT_MET * extent and apart > APART and not known:
            found.append(DoublePoint(read_only(a.copy()), read_only(p.copy()), read_only(q.copy())))
    return tuple(found)


def _same(trace: Trace, p: Array, q: Array, known: DoublePoint) -> bool:
    ways = ((p, known.q1, q, known.q2), (p, known.q2, q, known.q1))
    chord, scale = trace.chord, trace.scale
    return any(
        max(
            np.linalg.norm(scale * chord(a, b, whole=False)), np.linalg.norm(scale * chord(c, d, whole=False))
        )
        < APART
        for a, b, c, d in ways
    )


def _crossings(plane: Array, closed: bool) -> list[tuple[int, int]]:
    """Return the pairs of chords that intersect; chords are lengthened a little, so that no crossing at a station is
    lost.
    """
    start, way = plane[:-1], np.diff(plane, axis=0)
    n = len(start)
    found = []
    for i in range(n - 2):
        last = n - 1 if closed and i == 0 else n
        others = np.arange(i + 2, last)
        offset = start[others] - start[i]
        area = way[i, 0] * way[others, 1] - way[i, 1] * way[others, 0]
        level = np.abs(area) <= PARALLEL_BRANCHES * np.linalg.norm(way[i]) * np.linalg.norm(
            way[others], axis=1
        )
        safe = np.where(level, 1.0, area)
        s = (offset[:, 0] * way[others, 1] - offset[:, 1] * way[others, 0]) / safe
        r = (offset[:, 0] * way[i, 1] - offset[:, 1] * way[i, 0]) / safe
        meets = ~level & (s > -0.1) & (s < 1.1) & (r > -0.1) & (r < 1.1)
        found += [(i, int(j)) for j in others[meets]]
    return found


def cusps_of(curve: Curve, body: str, place: Array, rates: Array) -> tuple[Cusp, ...]:
    """Return the points at which the path stops and reverses on another branch; ends of arcs are not cusps."""
    speeds = np.linalg.norm(rates, axis=1)
    size = float(speeds.max(initial=0.0))
    if size <= PATH_RESTS * curve.system.characteristic.length:
        return ()
    path = _Path(curve, body, place)
    still = speeds <= STANDS_STILL * size
    places = [(int(k), 0.0) for k in np.flatnonzero(still[:-1] if curve.closed else still)]
    for k in map(int, np.flatnonzero((rates[:-1] * rates[1:]).sum(axis=1) < 0.0)):
        if still[k] or still[k + 1]:
            continue
        direction = rates[k] - rates[k + 1]

        def along(length: float, k: int = k, direction: Array = direction) -> float:
            return float(direction @ path.at(k, length)[2])

        reach = path.step(k)
        if along(0.0) * along(reach) < 0.0:
            places.append((k, float(brentq(along, 0.0, reach, xtol=BRACKET_END * abs(reach)))))
    found = []
    for k, length in places:
        q, point, rate = path.at(int(k), length)
        if np.linalg.norm(rate) <= STANDS_STILL * size and _opens(path, int(k), length):
            found.append(Cusp(read_only(point.copy()), read_only(q.copy())))
    return tuple(found)


def _opens(path: _Path, k: int, length: float) -> bool:
    """Return whether the path returns beside its incoming branch (a cusp), not on it (the end of an arc)."""
    tip, there = path.at(k, length)[1], path.at(k, length + WALK_STEP)[1]
    ray = there - tip
    ends = [float((path.at(k, length - x)[1] - there) @ ray) for x in (0.0, 2.0 * WALK_STEP)]
    if ends[0] * ends[1] >= 0.0:
        return False
    x = float(
        brentq(
            lambda x: float((path.at(k, length - x)[1] - there) @ ray),
            0.0,
            2.0 * WALK_STEP,
            xtol=CUSP_END * WALK_STEP,
        )
    )
    gap = np.linalg.norm(path.at(k, length - x)[1] - there)
    return bool(gap > CUSP_OPEN * np.linalg.norm(ray))
