"""Contact places of two boxes: corners on faces and crossing edges, with the borders beyond which they are not there.

Vectors are in the axes of the base B, relative to its centre; d is the centre of the geom A, the columns of R are its
axes. By the theorem of separating axes the distance of two boxes is at least the largest of 15 separations: along the
normals of the faces and along the common normals of two edges. Where the boxes overlap, the separation s is negative,
and the nearest way out is along that axis. A pair of features touches if

- the corner is above the face, the common perpendicular of both edges ends within them (``border``);
- the normal is in the cones of normals of both features: a corner that is flush with an upper face does not touch
  the side below it;
- their gap is not below min(s, 0): boxes side by side do not touch at the features of other sides.

The last two decide where an open contact counts (``hidden``). They hold while a contact is closed. Features come and go
within a step: a motion by no more than ``clear_way``, the separation and a part of the smallest half size, misses none
but grazing contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.model.mechanism.contact_features import Corner, Edges
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH
from sarrus.symbolic.rows.tolerances import (
    BESIDE_FACE,
    BESIDE_SEPARATION,
    INSIDE_EDGES,
    NORMAL_CONE,
    PARALLEL_EDGES,
    SEEN_WAY,
)

_UNITS = np.eye(3)


class FeatureContact(NamedTuple):
    """The gap [m] of two features, normal and tangents, the contact point on the geom from its centre [m].

    ``border`` and ``hidden`` as in `sarrus.symbolic.rows.surface_pairs.Nearest`.
    """

    gap: ca.SX
    axes: tuple[ca.SX, ca.SX, ca.SX]
    arm: ca.SX
    border: ca.SX
    hidden: ca.SX


class BoxPair:
    """Two boxes with half sizes ``own`` (geom) and ``size`` (base) [m] at d and R."""

    def __init__(self, own: np.ndarray, size: np.ndarray, centre: ca.SX, rotation: ca.SX) -> None:
        self.own, self.size = own[:3], size[:3]
        self.centre, self.axes = centre, ca.horzsplit(rotation)
        self.units = [ca.SX(ca.DM(unit)) for unit in _UNITS]
        self.least = float(min(self.own.min(), self.size.min()))
        self.reach = float(np.linalg.norm(self.own))
        self.normals = [[self._normal(i, j) for j in range(3)] for i in range(3)]
        separation = self._separation()
        self.apart = ca.fmin(separation, 0.0) - BESIDE_SEPARATION * self.least
        self.clear_way = ca.fmax(separation, 0.0) + SEEN_WAY * self.least

    def contact(self, feature: Corner | Edges) -> FeatureContact:
        """Return how two features touch."""
        return self._corner(feature) if isinstance(feature, Corner) else self._edges(feature)

    def _normal(self, i: int, j: int) -> tuple[ca.SX, ca.SX]:
        """Return the unit normal of axis i of the geom and axis j of the base, away from the base, and their sine."""
        way = cross(self.axes[i], self.units[j])
        sine = ca.sqrt(ca.sumsqr(way) + ZERO_LENGTH)
        return sign_of(ca.dot(way, self.centre)) * way / sine, sine

    def _separation(self) -> ca.SX:
        """Return the largest separation of all axes [m]; negative: the boxes overlap by so much at the least."""
        found = max_of(*(self._along(axis) for axis in (*self.axes, *self.units)))
        for row in self.normals:
            for normal, sine in row:
                found = ca.fmax(found, ca.if_else(sine > PARALLEL_EDGES, self._along(normal), found))
        return found

    def _along(self, axis: ca.SX) -> ca.SX:
        """Return the separation along a unit axis [m]."""
        found = ca.fabs(ca.dot(axis, self.centre))
        for half, own in zip((*self.own, *self.size), (*self.axes, *self.units)):
            found -= float(half) * ca.fabs(ca.dot(axis, own))
        return found

    def _corner(self, feature: Corner) -> FeatureContact:
        """Return how a corner touches a face; it is there up to a little beyond the edges of the face."""
        signs, k = np.array(feature.signs, dtype=float), feature.face
        if feature.of_base:
            corner = ca.SX(ca.DM(signs * self.size))
            place = ca.vertcat(*(ca.dot(axis, corner - self.centre) for axis in self.axes))
            faces, cone, half = self.axes, [s * unit for s, unit in zip(signs, self.units)], self.own
            side = sign_of(-ca.dot(faces[k], self.centre))
        else:
            arm = sum((float(s * h) * axis for s, h, axis in zip(signs, self.own, self.axes)), ca.SX.zeros(3))
            place = corner = self.centre + arm
            faces, cone, half = self.units, [s * axis for s, axis in zip(signs, self.axes)], self.size
            side = sign_of(self.centre[k])
        gap, outward = side * place[k] - float(half[k]), side * faces[k]
        first, second = ((k + 1) % 3, (k + 2) % 3)
        beyond = ca.fmax(*(ca.fabs(place[m]) - float(half[m]) for m in (first, second)))
        width = BESIDE_FACE * self.least
        lies = max_of(
            *(ca.dot(outward, way) for way in cone)
        )  # −n is in the cone of the corner where it is ≤ 0
        normal = -outward if feature.of_base else outward
        tangent = -faces[first] if feature.of_base else faces[first]
        arm = corner - self.centre + (gap * normal if feature.of_base else 0.0)
        return self._contact(gap, normal, tangent, arm, (beyond - width) / width, lies)

    def _edges(self, feature: Edges) -> FeatureContact:
        """Return how two edges touch; they do up to a little before their ends, where corners do."""
        i, j = feature.own, feature.other
        normal, sine = self.normals[i][j]
        axis = self.axes[i]
        own, lies = _edge(i, feature.own_parity, self.own, self.axes, -normal)
        other, lies_other = _edge(j, feature.other_parity, self.size, self.units, normal)
        way = self.centre + own - other
        s, t = crossing(way, axis, self.units[j], sine)
        inside = ca.fmin(float(self.own[i]) - ca.fabs(s), float(self.size[j]) - ca.fabs(t))
        width = INSIDE_EDGES * self.least
        border = ca.fmax((2.0 * width - inside) / width, 2.0 - sine / (0.5 * PARALLEL_EDGES))
        gap = ca.dot(normal, way)
        return self._contact(gap, normal, axis, own + s * axis, border, ca.fmax(lies, lies_other))

    def _contact(
        self, gap: ca.SX, normal: ca.SX, tangent: ca.SX, arm: ca.SX, border: ca.SX, lies: ca.SX
    ) -> FeatureContact:
        hidden = max_of(border > 0.0, lies > NORMAL_CONE, gap < self.apart)
        return FeatureContact(gap, (normal, tangent, cross(normal, tangent)), arm, border, hidden)


def _edge(axis: int, parity: int, half: np.ndarray, axes: Sequence[ca.SX], way: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the middle of the edge nearest in a direction, and how far that is outside of its cone of normals.

    ``way`` is a unit vector, perpendicular to the edge.
    """
    k, m = (axis + 1) % 3, (axis + 2) % 3
    sign = sign_of(ca.dot(way, axes[k] + parity * axes[m]))
    one, two = sign * axes[k], parity * sign * axes[m]
    return float(half[k]) * one + float(half[m]) * two, ca.fmax(-ca.dot(way, one), -ca.dot(way, two))


def crossing(way: ca.SX, own: ca.SX, other: ca.SX, sine: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return where the common perpendicular of two lines ends on each [m], from points with the difference ``way``.

    ``own`` and ``other`` are their unit directions, the point of the own line is farther along ``way``.
    """
    cosine, square, along, across = ca.dot(own, other), sine * sine, ca.dot(way, own), ca.dot(way, other)
    return (cosine * across - along) / square, (across - cosine * along) / square


def max_of(first: ca.SX, *others: ca.SX) -> ca.SX:
    """Return the largest of several expressions."""
    for other in others:
        first = ca.fmax(first, other)
    return first


def sign_of(x: ca.SX) -> ca.SX:
    """Return −1 where x < 0, else 1."""
    return ca.if_else(x < 0, -1, 1)
