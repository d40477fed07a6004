"""Closest points of two surfaces in closed form: the gap, the normal, and the contact point.

Vectors are in the axes of the base, relative to its centre. The contact point is on the surface of the geom,
moved along the normal by the margin of the pair.

A place on features is not there where others may touch. Its gap, normal and contact point go on smoothly beyond its
``border``, so that a phase of a run ends where the place does.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.model.mechanism.contact_features import Rim
from sarrus.model.mechanism.hulls import Hull, hull_of
from sarrus.model.mechanism.surface_contacts import SurfaceContact
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH
from sarrus.symbolic.rows.tolerances import BORDER_OF_LEVEL, FLAT_CIRCLE, OVERLAP, PARALLEL_AXES


class Nearest(NamedTuple):
    """Gap [m], unit normal away from the base, and the vector from the centre of the geom to its contact point [m].

    ``border`` is at most 0 where the place is there; a closed contact opens where it becomes 1. In between another
    place is there as well, which takes over. None: the place is always there. ``hidden`` is true where the gap does not
    count while the contact is open: beyond the border, if the gap does not say by itself that the surfaces overlap.
    """

    gap: ca.SX
    normal: ca.SX
    arm: ca.SX
    border: ca.SX | None = None
    hidden: ca.SX | None = None


def nearest(place: SurfaceContact, centre: ca.SX, rotation: ca.SX) -> Nearest:
    """Return the closest points of a contact place; ``centre`` of the ball or geom, ``rotation`` of its axes."""
    size, own = [float(x) for x in place.base.size], [float(x) for x in place.geom.size]
    if place.centre is not None:
        if place.base.kind == "mesh":
            away, normal = _from_hull(hull_of(place.base), centre)
        else:
            away, normal = _from_base(place.base.kind, size, centre)
        found = Nearest(away - place.radius, normal, -place.radius * normal)
        return (
            found
            if not isinstance(place.feature, Rim)
            else _of_circle(found, _from_level(rotation) - 1.0, own[0])
        )
    if isinstance(place.feature, Rim):
        return _of_rim(place.feature, centre, rotation, own)
    if place.geom.kind == "ellipsoid":
        way = rotation @ (ca.DM(np.square(own[:3])) * rotation[2, :].T)  # E² n, in the axes of the base
        reach = ca.sqrt(way[2])
        return Nearest(centre[2] - reach, ca.SX(ca.DM([0.0, 0.0, 1.0])), -way / reach)
    return _of_axes(centre, rotation[:, 2], own, size)


def _of_rim(rim: Rim, centre: ca.SX, rotation: ca.SX, own: list[float]) -> Nearest:
    """Return the lowest point of the rim of a cylinder above the plane z = 0."""
    axis, radius = rotation[:, 2], own[0]
    middle, lean = rim.side * own[1] * axis, _length(axis[:2])
    down = ca.vertcat(axis[2] * axis[:2] / lean, -lean)
    normal = ca.SX(ca.DM([0.0, 0.0, 1.0]))
    gap = centre[2] + middle[2] - radius * lean
    return _of_circle(Nearest(gap, normal, middle + radius * down), -_from_level(rotation), radius)


def _of_circle(found: Nearest, border: ca.SX, radius: float) -> Nearest:
    """Return a place on a rim with its border; below the plane it counts on either side of it."""
    hidden = ca.logic_and(border > 0.0, found.gap > -OVERLAP * radius)
    return found._replace(border=border, hidden=hidden)


def _from_level(rotation: ca.SX) -> ca.SX:
    """Return 0 at the least lean of a cylinder with a lowest point, 1 at a tenth more.

    The lowest point opens at −1, where the corners are there; corners open at 2.
    """
    return (_length(rotation[:2, 2]) / FLAT_CIRCLE - 1.0) / BORDER_OF_LEVEL


def _of_axes(centre: ca.SX, axis: ca.SX, own: list[float], size: list[float]) -> Nearest:
    """Return the closest points of two capsules; for parallel axes in the middle of their overlap."""
    square = ca.sumsqr(axis[:2])
    crossing = -ca.dot(axis[:2], centre[:2]) / ca.fmax(square, PARALLEL_AXES)
    along = _limited(ca.if_else(square > PARALLEL_AXES, crossing, 0.0), own[1])
    height = _limited(centre[2] + along * axis[2], size[1])
    along = _limited(height * axis[2] - ca.dot(centre, axis), own[1])
    way = centre + along * axis - ca.vertcat(0, 0, height)
    normal = way / _length(way)
    return Nearest(_length(way) - own[0] - size[0], normal, along * axis - own[0] * normal)


def _from_base(kind: str, size: list[float], point: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the signed distance of a point from the surface of a base, negative inside, and its gradient."""
    if kind == "plane":
        return point[2], ca.SX(ca.DM([0.0, 0.0, 1.0]))
    if kind in ("sphere", "capsule"):
        height = _limited(point[2], size[1]) if kind == "capsule" else ca.SX(0)
        way = point - ca.vertcat(0, 0, height)
        return _length(way) - size[0], way / _length(way)
    if kind == "box":
        beyond = ca.fabs(point) - ca.DM(size[:3])
        ways = ca.diag(_signs(point))
    else:
        across = _length(point[:2])
        beyond = ca.vertcat(across - size[0], ca.fabs(point[2]) - size[1])
        ways = ca.horzcat(
            ca.vertcat(point[:2] / across, 0), ca.vertcat(0, 0, ca.if_else(point[2] < 0, -1, 1))
        )
    return _from_corner(beyond, ways)


def _from_hull(hull: Hull, point: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the signed distance of a point from a polyhedron, negative inside, and its gradient."""
    heights = [ca.dot(point, ca.DM(face.normal)) - face.height for face in hull.faces]
    most, inside = heights[0], ca.SX(ca.DM(hull.faces[0].normal))
    for height, face in zip(heights[1:], hull.faces[1:]):
        inside = ca.if_else(height > most, ca.DM(face.normal), inside)
        most = ca.fmax(most, height)
    nearest_way, least = ca.SX.zeros(3), ca.SX(np.inf)
    for edge in hull.edges:
        way = point - ca.DM(edge.middle)
        way -= _limited(ca.dot(way, ca.DM(edge.direction)), edge.half) * ca.DM(edge.direction)
        nearer = ca.sumsqr(way) < least
        nearest_way, least = ca.if_else(nearer, way, nearest_way), ca.fmin(ca.sumsqr(way), least)
    distance = ca.sqrt(least + ZERO_LENGTH)
    normal = nearest_way / distance
    for height, face in zip(heights, hull.faces):
        above = height > 0.0
        for start, end in zip(face.corners, (*face.corners[1:], face.corners[0])):
            out = np.cross(hull.corners[end] - hull.corners[start], face.normal)
            above = ca.logic_and(above, ca.dot(point, ca.DM(out)) <= float(out @ hull.corners[start]))
        distance, normal = ca.if_else(above, height, distance), ca.if_else(above, ca.DM(face.normal), normal)
    return ca.if_else(most > 0.0, distance, most), ca.if_else(most > 0.0, normal, inside)


def _from_corner(beyond: ca.SX, ways: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the distance of a point beyond faces with these normals (columns), and its gradient."""
    out = ca.fmax(beyond, 0.0)
    most = ca.mmax(beyond)
    distance = ca.if_else(most > 0, _length(out), most)
    inside = ca.SX.zeros(beyond.shape[0])  # the nearest face from inside, of equal ones the first
    free = ca.SX(1)
    for k in range(beyond.shape[0]):
        inside[k] = free * (beyond[k] >= most)
        free = free * (beyond[k] < most)
    return distance, ways @ ca.if_else(most > 0, out / _length(out), inside)


def tangents(normal: ca.SX, pole: np.ndarray) -> tuple[ca.SX, ca.SX]:
    """Return two tangents to ``normal``, rotated with it from the ``pole`` by the shortest arc.

    They are smooth except where the normal is opposite to the pole.
    """
    first = np.eye(3)[int(np.argmin(np.abs(pole)))]
    first = first - pole * (pole @ first)
    first /= np.linalg.norm(first)
    found = []
    for direction in (first, np.cross(pole, first)):
        part = ca.dot(normal, ca.DM(direction)) / ca.fmax(1 + ca.dot(normal, ca.DM(pole)), ZERO_LENGTH)
        found.append(ca.DM(direction) - part * (ca.DM(pole) + normal))
    return found[0], found[1]


def _signs(x: ca.SX) -> ca.SX:
    return ca.if_else(x < 0, -1, 1)


def _limited(x: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(x, -limit), limit)


def _length(x: ca.SX) -> ca.SX:
    return ca.sqrt(ca.sumsqr(x) + ZERO_LENGTH)
