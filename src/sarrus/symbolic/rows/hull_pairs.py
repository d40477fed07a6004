"""Contact places of convex hulls with each other, and of the sides of capsules with hulls, with borders as for boxes.

Vectors are in the axes of the base B, at its origin; d is the origin of the geom A, the columns of R are its axes. What
`sarrus.symbolic.rows.box_pairs` says of two boxes holds here: separating axes are the normals of all faces, and the
common normals of two edges that are normals of both edges. A capsule is a line with a radius; gaps and separations are
those of the line, less the radius. Its ends are balls, which always touch at their closest points
(`sarrus.symbolic.rows.surface_pairs`): where an edge ends on the side of a capsule a corner takes over, where the side
ends a ball does.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.contact_features import HullCorner, HullEdges, HullFeature, SideCorner
from sarrus.model.mechanism.hulls import Hull
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH
from sarrus.symbolic.rows.box_pairs import FeatureContact, crossing, max_of, sign_of
from sarrus.symbolic.rows.tolerances import (
    BESIDE_FACE,
    BESIDE_SEPARATION,
    INSIDE_EDGES,
    NORMAL_CONE,
    PARALLEL_EDGES,
    SEEN_WAY,
)


class HullPair:
    """A hull ``own`` (geom) at d and R, and a polyhedron ``other`` (base)."""

    def __init__(self, own: Hull, other: Hull, centre: ca.SX, rotation: ca.SX) -> None:
        self.own, self.other, self.centre, self.rotation = own, other, centre, rotation
        self.least = min(own.least, other.least)
        self.reach = own.reach
        self.corners = [centre + self._turned(corner) for corner in own.corners]
        self.seen = [rotation.T @ (ca.DM(corner) - centre) for corner in other.corners]  # in axes of the geom
        self.normals = [self._turned(face.normal) for face in own.faces]
        self.axes = [self._turned(edge.direction) for edge in own.edges]
        self.middles = [centre + self._turned(edge.middle) for edge in own.edges]
        self.inward = [[self._turned(way) for way in edge.inward] for edge in own.edges]
        self.crossings = [
            [self._crossing(i, j) for j in range(len(other.edges))] for i in range(len(own.edges))
        ]
        separation = self._separation()
        self.apart = ca.fmin(separation, 0.0) - BESIDE_SEPARATION * self.least
        self.clear_way = ca.fmax(separation - own.radius, 0.0) + SEEN_WAY * self.least

    def contact(self, feature: HullFeature) -> FeatureContact:
        """Return how two features touch."""
        if isinstance(feature, HullCorner):
            return self._corner(feature)
        return self._edges(feature) if isinstance(feature, HullEdges) else self._side(feature)

    def _turned(self, way: Array) -> ca.SX:
        return self.rotation @ ca.DM(way)

    def _crossing(self, i: int, j: int) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return the common normal of two edges away from the base, their sine, the gap of their lines [m], and how
        far the normal is outside of the cones of both.
        """
        edge = self.other.edges[j]
        way = cross(self.axes[i], ca.SX(ca.DM(edge.direction)))
        sine = ca.sqrt(ca.sumsqr(way) + ZERO_LENGTH)
        outward = -sum(edge.inward, np.zeros(3))
        normal = sign_of(ca.dot(way, ca.DM(outward))) * way / sine
        cones = [ca.dot(normal, ca.DM(inward)) for inward in edge.inward]
        cones += [-ca.dot(normal, inward) for inward in self.inward[i]]
        return normal, sine, ca.dot(normal, self.middles[i] - ca.DM(edge.middle)), max_of(*cones)

    def _separation(self) -> ca.SX:
        """Return the largest separation of all axes [m]; negative: the hulls overlap by so much at the least."""
        along = [-max_of(*(-ca.dot(corner, ca.DM(face.normal)) for corner in self.corners)) - face.height
                 for face in self.other.faces]  # fmt: skip
        along += [-max_of(*(-ca.dot(corner, ca.DM(face.normal)) for corner in self.seen)) - face.height
                  for face in self.own.faces]  # fmt: skip
        found = max_of(*along)
        for row in self.crossings:
            for _, sine, gap, lies in row:
                counts = ca.logic_and(sine > PARALLEL_EDGES, lies <= 0.0)
                found = ca.fmax(found, ca.if_else(counts, gap, found))
        return found

    def _corner(self, feature: HullCorner) -> FeatureContact:
        """Return how a corner touches a face; it is there up to a little beyond the edges of the face."""
        k, of_base = feature.corner, feature.of_base
        one, two = (self.other, self.own) if of_base else (self.own, self.other)
        face, place = two.faces[feature.face], self.seen[k] if of_base else self.corners[k]
        outward = self.normals[feature.face] if of_base else ca.SX(ca.DM(face.normal))
        ways = [ca.SX(ca.DM(way)) if of_base else self._turned(way) for way in one.ways[k]]
        lies = max_of(*(-ca.dot(outward, way) for way in ways))
        gap = ca.dot(place, ca.DM(face.normal)) - face.height
        starts = two.corners[list(face.corners)]
        sides = np.roll(starts, -1, axis=0) - starts
        sides /= np.linalg.norm(sides, axis=1)[:, None]
        out = np.cross(sides, face.normal)
        beyond = max_of(*(ca.dot(place, ca.DM(way)) - float(way @ start) for way, start in zip(out, starts)))
        width = BESIDE_FACE * self.least
        tangent = -self._turned(out[0]) if of_base else ca.SX(ca.DM(out[0]))
        normal = -outward if of_base else outward
        arm = ca.DM(one.corners[k]) - self.centre + gap * normal if of_base else self.corners[k] - self.centre
        return self._contact(gap, normal, tangent, arm, (beyond - width) / width, lies)

    def _edges(self, feature: HullEdges) -> FeatureContact:
        """Return how two edges touch; they do up to a little before their ends, where corners do."""
        i, edge = feature.own, self.other.edges[feature.other]
        normal, sine, gap, lies = self.crossings[i][feature.other]
        axis, direction = self.axes[i], ca.SX(ca.DM(edge.direction))
        s, t = crossing(self.middles[i] - ca.DM(edge.middle), axis, direction, sine)
        inside = ca.fmin(self.own.edges[i].half - ca.fabs(s), edge.half - ca.fabs(t))
        width = INSIDE_EDGES * self.least
        border = ca.fmax((2.0 * width - inside) / width, 2.0 - sine / (0.5 * PARALLEL_EDGES))
        return self._contact(gap, normal, axis, self.middles[i] - self.centre + s * axis, border, lies)

    def _side(self, feature: SideCorner) -> FeatureContact:
        """Return how a corner touches the side of a capsule."""
        axis, corner = self.axes[0], ca.DM(self.other.corners[feature.corner])
        way = self.middles[0] - corner
        along = -ca.dot(way, axis)
        away = way + along * axis
        gap = ca.sqrt(ca.sumsqr(away) + ZERO_LENGTH)
        normal = away / gap
        lies = max_of(*(ca.dot(normal, ca.DM(edge)) for edge in self.other.ways[feature.corner]))
        width = INSIDE_EDGES * self.least
        border = (2.0 * width - self.own.edges[0].half + ca.fabs(along)) / width
        return self._contact(gap, normal, axis, self.middles[0] - self.centre + along * axis, border, lies)

    def _contact(
        self, gap: ca.SX, normal: ca.SX, tangent: ca.SX, arm: ca.SX, border: ca.SX, lies: ca.SX
    ) -> FeatureContact:
        hidden = max_of(border > 0.0, lies > NORMAL_CONE, gap < self.apart)
        radius = self.own.radius
        axes = normal, tangent, cross(normal, tangent)
        return FeatureContact(gap - radius, axes, arm - radius * normal, border, hidden)
