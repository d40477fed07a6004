"""Gap, point and axes of two features of surfaces (ball, line, rim, face, ellipsoid) that stay in contact, over q.

With n from the first body to the second, s₁(n) and s₂(−n) the farthest points of both features along their outward
normals, and x₂ − x₁ = d n between the nearest points,

    t · (s₂ − s₁) = 0    for tangents t along which neither feature is straight.

A face, and two lines, give n in closed form. Otherwise n is found by two steps of Newton's method from the normal of
the state at which the features touch: the expressions have the right derivatives up to the second there, and the error
of the normal itself is squared twice.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.model.mechanism.elements import turning_axes
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.kinematics import cross

# Numbers of a feature: centre (3), axes by columns (9), radii (3).
FEATURE_SIZE = 15
# Numbers of a pair: two features, normal and first tangent at the state, points of both bodies there, margin, torsion,
# rolling.
PAIR_SIZE = 2 * FEATURE_SIZE + 3 + 3 + 6 + 3


class FeatureShape(NamedTuple):
    """What selects the expressions of a pair: bodies, kinds of features, number of rows."""

    bodies: tuple[str, str]
    kinds: tuple[str, str]
    width: int


class PairMotion(NamedTuple):
    """Gap [m], places along the tangents [m], velocities of the rows, and the normal, over q, v and t."""

    gap: ca.SX
    place: ca.SX
    rates: ca.SX
    normal: ca.SX


class _Placed(NamedTuple):
    """A feature in world axes: its kind, centre, axes as columns, and radii."""

    kind: str
    centre: ca.SX
    axes: ca.SX
    size: ca.SX

    @property
    def third(self) -> ca.SX:
        """Direction of a line, axis of a circle, normal of a face."""
        return self.axes[:, 2]

    def farthest(self, m: ca.SX) -> ca.SX:
        """Return the farthest point along the unit vector m, of a line or face the one at its centre."""
        if self.kind == "face":
            return self.centre
        if self.kind == "circle":
            return self.centre + self.size[0] * _unit(cross(self.third, cross(m, self.third)))
        if self.kind == "ellipsoid":
            own = self.size * (self.axes.T @ m)
            return self.centre + self.axes @ (self.size * own) / ca.norm_2(own)
        return self.centre + self.size[0] * m


def feature_pair_motion(frames: Frames, shape: FeatureShape, pair: ca.SX) -> PairMotion:
    """Return the motion of a contact of two features; ``pair`` has the numbers of both in axes of the bodies.

    Proper pairs have a face and no line and no second face, two lines that are not parallel, or no face.
    """
    given = ca.vertsplit(pair, [0, 15, 30, 33, 36, 39, 42, 43, 44, 45])
    places = [frames.placement(body) for body in shape.bodies]
    one, two = (
        _Placed(
            kind,
            position + rotation @ own[:3],
            rotation @ ca.reshape(own[3:12], 3, 3),
            own[12:15],
        )
        for kind, own, (position, rotation) in zip(shape.kinds, given[:2], places)
    )
    n = _normal(one, two, given[2], given[3])
    first, second = one.farthest(n), two.farthest(-n)
    gap = ca.dot(n, second - first)
    point = _between(one, two, first, second, n, gap)
    start = given[2], given[3], cross(given[2], given[3])
    fixed = [position + rotation @ own for (position, rotation), own in zip(places, given[4:6])]
    across = _unit(given[3] - ca.dot(given[3], n) * n)
    axes = n, across, cross(n, across)
    speeds = [
        frames.point(body, np.zeros(3)).rate + cross(frames.turning(body).rate, point - position)
        for body, (position, _) in zip(shape.bodies, places)
    ]
    spin = frames.turning(shape.bodies[1]).rate - frames.turning(shape.bodies[0]).rate
    rows = [ca.dot(axis, speeds[1] - speeds[0]) for axis in axes]
    lengths = given[7], given[8], given[8]
    rows += [lengths[k] * ca.dot(axes[k], spin) for k in turning_axes(shape.width)]
    place = [ca.dot(way, fixed[1] - fixed[0]) for way in start[1:]]
    return PairMotion(gap - given[6], ca.vertcat(*place), ca.vertcat(*rows[: shape.width]), n)


def _normal(one: _Placed, two: _Placed, start: ca.SX, side: ca.SX) -> ca.SX:
    """Return n; at the state it is ``start``, with the tangent ``side``."""
    if one.kind == "face":
        return one.third
    if two.kind == "face":
        return -two.third
    lines = [each.third for each in (one, two) if each.kind == "line"]
    if len(lines) == 2:
        return _unit(cross(*lines))
    if lines:
        first = _unit(start - ca.dot(start, lines[0]) * lines[0])
        angle = ca.SX.sym("angle")
        n = ca.cos(angle) * first + ca.sin(angle) * cross(lines[0], first)
        return _solved(n, angle, ca.dot(ca.jacobian(n, angle), two.farthest(-n) - one.farthest(n)))
    ways, sides = ca.SX.sym("ways", 2), (side, cross(start, side))
    n = _unit(start + ways[0] * sides[0] + ways[1] * sides[1])
    apart = two.farthest(-n) - one.farthest(n)
    across = apart - ca.dot(n, apart) * n
    return _solved(n, ways, ca.vertcat(*(ca.dot(each, across) for each in sides)))


def _solved(n: ca.SX, unknown: ca.SX, residual: ca.SX) -> ca.SX:
    """Return n after two steps of Newton's method from zero, both with the Jacobian there."""
    none = ca.SX.zeros(unknown.shape)
    slope, left = (ca.substitute(each, unknown, none) for each in (ca.jacobian(residual, unknown), residual))
    inverse = 1 / slope
    if unknown.numel() == 2:
        a, b, c, d = slope[0, 0], slope[0, 1], slope[1, 0], slope[1, 1]
        inverse = ca.vertcat(ca.horzcat(d, -b), ca.horzcat(-c, a)) / (a * d - b * c)
    first = -inverse @ left
    second = first - inverse @ ca.substitute(residual, unknown, first)
    return ca.substitute(n, unknown, second)


def _between(one: _Placed, two: _Placed, first: ca.SX, second: ca.SX, n: ca.SX, gap: ca.SX) -> ca.SX:
    """Return the contact point, half way between the nearest points."""
    if one.kind == two.kind == "line":
        aside = cross(two.third, n)
        along = ca.dot(second - first, aside) / ca.dot(one.third, aside)
        return first + along * one.third + 0.5 * gap * n
    if one.kind in ("face", "line"):
        return second - 0.5 * gap * n
    return first + 0.5 * gap * n


def _unit(x: ca.SX) -> ca.SX:
    return x / ca.norm_2(x)
