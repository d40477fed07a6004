"""`Hull`: corners, edges and faces of a box or a convex mesh, and the line of a capsule with its radius."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Geom
from sarrus.model.mechanism.tolerances import FLAT_HULL


@dataclass(frozen=True, eq=False)
class Face:
    """A face: outward unit normal n, height h with n · x = h on it [m], its corners counterclockwise about n."""

    normal: Array
    height: float
    corners: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Edge:
    """An edge: middle and unit direction, half its length [m], both faces beside it (none: the line of a capsule).

    ``inward`` are the unit vectors across the edge into these faces: a direction m is a normal of the edge if
    m · inward ≤ 0 for both.
    """

    middle: Array
    direction: Array
    half: float
    faces: tuple[int, ...]
    inward: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polyhedron, or a line, and all that is within ``radius`` [m] of it, in axes of the geometry.

    ``ways`` are unit vectors along the edges that begin at each corner: m is a normal of the corner if m · way ≤ 0 for
    all of them. ``least`` is half the smallest width, ``reach`` the largest distance from the origin [m].
    """

    corners: Array
    edges: tuple[Edge, ...]
    faces: tuple[Face, ...]
    ways: tuple[tuple[Array, ...], ...]
    radius: float
    least: float
    reach: float


def hull_of(geom: Geom) -> Hull:
    """Return the hull of a box, mesh or capsule."""
    if geom.kind == "capsule":
        radius, half = (float(x) for x in geom.size[:2])
        along = np.array([0.0, 0.0, 1.0])
        ends, line = np.array([half * along, -half * along]), Edge(np.zeros(3), along, half, (), ())
        return Hull(ends, (line,), (), ((-along,), (along,)), radius, radius, half + radius)
    if geom.kind == "mesh":
        assert geom.points is not None
        return _polyhedron(geom.points)
    return _polyhedron(np.array(list(product(*((x, -x) for x in geom.size[:3])))))


def _polyhedron(points: Array) -> Hull:
    """Return the convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull  # here: it takes long to import

    hull = ConvexHull(points)
    used = np.sort(hull.vertices)
    corners, place = points[used], {int(old): new for new, old in enumerate(used)}
    faces, left = list[Face](), np.arange(len(hull.simplices))
    while len(left):
        normal = np.array(hull.equations[left[0], :3])
        together = hull.equations[left, :3] @ normal > 1.0 - FLAT_HULL
        own = sorted({place[int(k)] for k in hull.simplices[left[together]].ravel()})
        left = left[~together]
        faces.append(Face(normal, float((corners[own] @ normal).max()), _in_order(corners, own, normal)))
    edges = tuple(_edges(corners, faces))
    ways = [list[Array]() for _ in corners]
    for edge in edges:
        for sign in (1.0, -1.0):
            end = int(
                np.argmin(np.linalg.norm(corners - (edge.middle + sign * edge.half * edge.direction), axis=1))
            )
            ways[end].append(-sign * edge.direction)
    least = min(float(np.ptp(corners @ face.normal)) for face in faces) / 2.0
    reach = float(np.linalg.norm(corners, axis=1).max())
    return Hull(corners, edges, tuple(faces), tuple(map(tuple, ways)), 0.0, least, reach)


def _in_order(corners: Array, own: list[int], normal: Array) -> tuple[int, ...]:
    """Return the corners of a face counterclockwise about its normal."""
    ways = corners[own] - corners[own].mean(axis=0)
    first = ways[0] / np.linalg.norm(ways[0])
    angles = np.arctan2(ways @ np.cross(normal, first), ways @ first)
    return tuple(own[int(k)] for k in np.argsort(angles, kind="stable"))


def _edges(corners: Array, faces: list[Face]) -> Iterator[Edge]:
    """Yield the edges, each between two faces."""
    beside: dict[tuple[int, int], int] = {}
    for number, face in enumerate(faces):
        for start, end in zip(face.corners, (*face.corners[1:], face.corners[0])):
            other = beside.get((end, start))
            beside[start, end] = number
            if other is None:
                continue
            way, middle = corners[end] - corners[start], 0.5 * (corners[end] + corners[start])
            length = float(np.linalg.norm(way))
            inward = (np.cross(face.normal, way / length), np.cross(way / length, faces[other].normal))
            yield Edge(middle, way / length, 0.5 * length, (number, other), inward)
