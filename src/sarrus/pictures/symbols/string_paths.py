"""Path of a tendon: straight, and around the spheres and cylinders that it wraps.

The path is that of `sarrus.symbolic.forces.wrapping`, as points to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.tendons import Segment, Wrap
from sarrus.pictures.symbols.tolerances import INSIDE_RIM, STRAIGHT_STRING
from sarrus.symbolic.forces.wrapping import inner_radius

POINTS = 18  # of a stretch around a wrap


@dataclass(frozen=True, eq=False)
class StringPath:
    """A stretch of a tendon with a wrapping geometry."""

    element: tuple[str, str]
    segment: Segment
    numbers: Mapping[str, int]
    _last: list[tuple[Array, Array, Array]] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return POINTS

    def at(self, positions: Array, rotations: Array) -> Array:
        """Return its points (POINTS, 3) in the world at a pose of the bodies (nb + 1, 3), (nb + 1, 3, 3).

        Points of the last pose are cached, because each piece of the string needs them.
        """
        for last, turned, points in self._last:
            if last is positions and turned is rotations:
                return points
        points = self._found(positions, rotations)
        self._last[:] = [(positions, rotations, points)]
        return points

    def _found(self, positions: Array, rotations: Array) -> Array:
        def world(body: str, point: Array) -> Array:
            number = self.numbers[body]
            return positions[number] + rotations[number] @ point

        wrap = self.segment.wrap
        assert wrap is not None
        start = world(self.segment.start.body, self.segment.start.point)
        end = world(self.segment.end.body, self.segment.end.point)
        centre = world(wrap.body, wrap.pose.position)
        axis = rotations[self.numbers[wrap.body]] @ wrap.pose.rotation[:, 2]
        side = None if wrap.side is None else world(*wrap.side) - centre
        return centre + around(start - centre, end - centre, wrap, axis, side)


def around(start: Array, end: Array, wrap: Wrap, axis: Array, side: Array | None) -> Array:
    """Return the points (POINTS, 3) of a string from ``start`` to ``end``, both from the centre of a wrap."""
    if wrap.kind == "sphere":
        return _flat(start, end, wrap.radius, side)
    heights = axis @ start, axis @ end
    inside = None if side is None else float(np.linalg.norm(side)) < inner_radius(wrap.radius)
    foot = None if side is None else side - axis * (axis @ side)
    line = _flat(start - axis * heights[0], end - axis * heights[1], wrap.radius, foot, inside)
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    total = steps.sum()
    share = np.concatenate([[0.0], np.cumsum(steps)]) / total if total > 0.0 else np.linspace(0, 1, POINTS)
    return line + np.outer(heights[0] + share * (heights[1] - heights[0]), axis)


def _flat(start: Array, end: Array, radius: float, side: Array | None, inside: bool | None = None) -> Array:
    """Return the path in the plane through the centre and both ends."""
    straight = start + np.linspace(0.0, 1.0, POINTS)[:, None] * (end - start)
    far = float(np.linalg.norm(start)), float(np.linalg.norm(end))
    if min(far) < inner_radius(radius):
        return straight
    first = start / far[0]
    other = end - first * (first @ end)
    size = float(np.linalg.norm(other))
    second = other / size if size > STRAIGHT_STRING * far[1] else perpendicular_to(first)
    angle = float(np.arctan2(size, first @ end))
    tangents = [float(np.arccos(min(1.0, radius / a))) for a in far]
    blocked = angle > sum(tangents)
    if inside is None:
        inside = side is not None and float(np.linalg.norm(side)) < inner_radius(radius)

    def on_circle(angles: Array) -> Array:
        return radius * (np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second)

    if inside:
        if blocked:
            return straight
        place = on_circle(np.array([_mirror(radius, far, angle)]))[0]
        half = np.linspace(0.0, 1.0, POINTS // 2)[:, None]
        return np.concatenate([start + half * (place - start), place + half * (end - place)])
    behind = -1.0
    if side is not None:
        behind = float(np.arctan2(-(side @ second), -(side @ first)))
    if 0.0 < behind < angle:  # the line would run behind the centre: the other way around
        angles = np.linspace(-tangents[0], angle - 2 * np.pi + tangents[1], POINTS - 2)
    elif blocked:
        angles = np.linspace(tangents[0], angle - tangents[1], POINTS - 2)
    else:
        return straight
    return np.concatenate([start[None], on_circle(angles), end[None]])


def _mirror(radius: float, far: tuple[float, float], angle: float) -> float:
    """Return the angle from the start at which a ray is reflected to the end, from inside."""
    ratios = [min(1.0 - INSIDE_RIM, radius / a) for a in far]
    zeta = 0.5 * np.pi
    for _ in range(30):
        sine, cosine = np.sin(zeta), np.cos(zeta)
        excess = 2 * zeta - angle - sum(np.arcsin(k * sine) for k in ratios)
        zeta -= excess / (2 - sum(k * cosine / np.sqrt(1 - (k * sine) ** 2) for k in ratios))
    return float(zeta - np.arcsin(ratios[0] * np.sin(zeta)))
