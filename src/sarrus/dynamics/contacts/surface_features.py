"""Features of surfaces at a contact (corner, edge, face, curved side), and how contact point and normal move with them.

With n from the first surface to the second, x₁(n) and x₂(n) their points with outward normals n and −n, and d the gap,
x₂ − x₁ = d n. The point of surface i moves by ẋᵢ = vᵢ ± Rᵢ(ṅ − ωᵢ × n) with the radii of curvature Rᵢ: zero at a
corner, infinite along an edge and on a face. The tangential part of the rate of x₂ − x₁ = d n,

    (R₁ + R₂ + d) ṅ = v₂ − v₁ + R₁ ω₁ × n + R₂ ω₂ × n,

determines ṅ, except for a corner at a corner or at an edge; there ṅ is that of the face or edge, or of the second body.
Infinite radii are taken as limits. (D. J. Montana, The Kinematics of Contact and Grasp, Int. J. Robotics Research 7(3),
1988, has curvatures, which corners do not have.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.tolerances import FLAT_SURFACE, ON_FEATURE
from sarrus.kernels.linalg.ranked import ranked
from sarrus.model.mechanism.contact_features import CORNERS_OF_CIRCLE

_NO_WAYS, _UNITS = np.zeros((0, 3)), np.eye(3)


def cross(a: Array, b: Array) -> Array:
    """Return the vector product of two vectors (3,); `numpy.cross` takes ten times as long."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


class Feature(NamedTuple):
    """Radii of curvature of a surface at a point: ``radii`` (3, 3) [m], infinite along the unit rows of ``flat``."""

    radii: Array
    flat: Array


class Body(NamedTuple):
    """Velocity of the contact point fixed to a body [m/s] and angular velocity [rad/s], (3,), world axes."""

    velocity: Array
    spin: Array


class ContactRates(NamedTuple):
    """Rates of a contact point [m/s] and its normal [1/s], (3,), world axes."""

    point: Array
    normal: Array


class Surface(NamedTuple):
    """A geometry for `feature_at`: its kind, sizes [m] and bounding radius [m]; of a mesh its corners and edges."""

    kind: str
    size: Array
    radius: float
    corners: Array
    edges: Array


def surface_of(model: Any, kind: str, number: int) -> Surface:
    """Return the surface of a geom of MuJoCo's model; a mesh has the corners and edges of its convex hull."""
    size, radius = np.array(model.geom_size[number]), float(model.geom_rbound[number])
    if kind != "mesh":
        return Surface(kind, size, radius, _NO_WAYS, np.zeros((0, 2), dtype=int))
    from scipy.spatial import ConvexHull  # here: it takes long to import

    mesh = int(model.geom_dataid[number])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    corners = np.array(model.mesh_vert[first : first + count], dtype=float)
    hull = ConvexHull(corners)
    return Surface(kind, size, radius, corners, _edges(hull.simplices, hull.equations[:, :3]))


def faces_of(surface: Surface) -> list[tuple[Array, Array]]:
    """Return the flat faces of a geometry: outward normal (3,) and corners (n, 3) [m] in order, none of a plane.

    Corners are counterclockwise about the normal. The ends of a cylinder have `CORNERS_OF_CIRCLE` corners.
    """
    size, found = surface.size, []
    if surface.kind == "plane":
        found.append((_UNITS[2], _NO_WAYS))
    if surface.kind == "box":
        for k in range(3):
            for side in (1.0, -1.0):
                u, w = size[(k + 1) % 3] * _UNITS[(k + 1) % 3], side * size[(k + 2) % 3] * _UNITS[(k + 2) % 3]
                middle = side * size[k] * _UNITS[k]
                found.append((side * _UNITS[k], middle + np.array([u + w, w - u, -u - w, u - w])))
    if surface.kind == "cylinder":
        angles = 2.0 * np.pi * np.arange(CORNERS_OF_CIRCLE) / CORNERS_OF_CIRCLE
        for side in (1.0, -1.0):
            ring = np.column_stack([np.cos(angles), side * np.sin(angles), np.zeros(len(angles))])
            found.append((side * _UNITS[2], size[0] * ring + side * size[1] * _UNITS[2]))
    if surface.kind == "mesh":
        from scipy.spatial import ConvexHull  # here: it takes long to import

        hull = ConvexHull(surface.corners)
        normals, left = hull.equations[:, :3], np.arange(len(hull.simplices))
        while len(left):
            normal = normals[left[0]]
            together = normals[left] @ normal > 1.0 - FLAT_SURFACE
            corners = surface.corners[np.unique(hull.simplices[left[together]])]
            left = left[~together]
            ways, u = corners - corners.mean(axis=0), _plane(normal)
            found.append((normal, corners[np.argsort(np.arctan2(ways @ u[1], ways @ u[0]))]))
    return found


def _edges(triangles: Array, normals: Array) -> Array:
    """Return the edges of a hull (n, 2) between triangles that are not in one plane."""
    beside: dict[tuple[int, int], Array] = {}
    found = []
    for triangle, normal in zip(triangles, normals):
        for k in range(3):
            low, high = sorted((int(triangle[k]), int(triangle[k - 1])))
            other = beside.setdefault((low, high), normal)
            if other is not normal and float(normal @ other) < 1.0 - FLAT_SURFACE:
                found.append((low, high))
    return np.array(found, dtype=int).reshape(-1, 2)


def feature_at(surface: Surface, x: Array, m: Array) -> Feature:
    """Return the feature of a surface at the point x with the outward normal m, both in axes of the geometry."""
    size, near, none = surface.size, ON_FEATURE * surface.radius, np.zeros((3, 3))
    tangent = np.eye(3) - np.outer(m, m)
    if surface.kind == "sphere":
        return Feature(size[0] * tangent, _NO_WAYS)
    if surface.kind == "ellipsoid":
        way = size**2 * m
        reach = float(np.sqrt(m @ way))
        return Feature(np.diag(size**2) / reach - np.outer(way, way) / reach**3, _NO_WAYS)
    if surface.kind == "capsule":
        on_end = abs(x[2]) > size[1] - near
        return Feature(size[0] * tangent, _NO_WAYS) if on_end else _side(size[0], m, axis=True)
    if surface.kind == "cylinder":
        if abs(x[2]) < size[1] - near:
            return _side(size[0], m, axis=True)
        if np.hypot(x[0], x[1]) < size[0] - near:
            return Feature(none, _plane(m))
        across = float(np.hypot(m[0], m[1]))  # on its rim; where it stands on its end a point of the rim
        return _side(size[0] / across, m, axis=False) if across > ON_FEATURE else Feature(none, _NO_WAYS)
    if surface.kind == "box":
        flush = np.abs(x) > size[:3] - near
        count = int(flush.sum())
        ways = _NO_WAYS if count == 3 else _UNITS[~flush] if count == 2 else _plane(m)
        return Feature(none, ways)
    if surface.kind == "mesh":
        return Feature(none, _on_hull(surface, x, m, near))
    return Feature(none, _plane(m))


def _side(radius: float, m: Array, axis: bool) -> Feature:
    """Return a round side about the z axis, straight along it if ``axis``."""
    around = cross(_UNITS[2], m)
    around /= np.linalg.norm(around)
    return Feature(radius * np.outer(around, around), _UNITS[2:] if axis else _NO_WAYS)


def _plane(m: Array) -> Array:
    """Return two unit tangents to the unit vector m."""
    first = cross(_UNITS[int(np.argmin(np.abs(m)))], m)
    first /= np.linalg.norm(first)
    return np.array([first, cross(m, first)])


def _on_hull(surface: Surface, x: Array, m: Array, near: float) -> Array:
    """Return the flat directions of a convex hull at x: none at a corner, one on an edge, two on a face."""
    if np.linalg.norm(surface.corners - x, axis=1).min() <= near:
        return _NO_WAYS
    starts = surface.corners[surface.edges[:, 0]]
    ways = surface.corners[surface.edges[:, 1]] - starts
    along = np.einsum("ij,ij->i", ways, x - starts) / np.einsum("ij,ij->i", ways, ways)
    away = np.linalg.norm(starts + np.clip(along, 0.0, 1.0)[:, None] * ways - x, axis=1)
    best = int(np.argmin(away))
    return ways[best : best + 1] / np.linalg.norm(ways[best]) if away[best] <= near else _plane(m)


def contact_rates(
    features: tuple[Feature, Feature], bodies: tuple[Body, Body], normal: Array, gap: float
) -> ContactRates:
    """Return the rates of a contact point and its normal; features in world axes, ``gap`` [m] along the normal."""
    basis = _plane(normal)  # two tangents, as rows
    one, two = (_in_plane(feature, basis) for feature in features)
    turns = [basis @ cross(body.spin, normal) for body in bodies]
    slip = basis @ (bodies[1].velocity - bodies[0].velocity)
    curved = one.radii + two.radii + gap * np.eye(2)
    given = slip + one.radii @ turns[0] + two.radii @ turns[1]
    flats = one.flat.T @ one.flat, two.flat.T @ two.flat
    stiff = ranked(flats[0] + flats[1], relative=ON_FEATURE)
    rate = stiff.solve(flats[0] @ turns[0] + flats[1] @ turns[1])
    if stiff.rank < 2:
        null = stiff.null
        left, soft = null.T @ (given - curved @ rate), null.T @ curved @ null
        size = max(float(np.abs(one.radii).max()), float(np.abs(two.radii).max()))
        if abs(float(np.linalg.det(soft))) > 0.0 and np.linalg.norm(soft, -2) > ON_FEATURE * size > 0.0:
            rate = rate + null @ np.linalg.solve(soft, left)
        else:
            rate = rate + null @ null.T @ turns[0 if len(one.flat) > len(two.flat) else 1]
    left = given - curved @ rate
    ways = np.hstack([one.flat.T, -two.flat.T])
    along = ranked(ways, relative=ON_FEATURE).solve(left) if ways.size else np.zeros(0)
    first = one.radii @ (rate - turns[0]) + one.flat.T @ along[: len(one.flat)]
    second = -two.radii @ (rate - turns[1]) + two.flat.T @ along[len(one.flat) :]
    point = 0.5 * (bodies[0].velocity + bodies[1].velocity + (first + second) @ basis)
    return ContactRates(point, rate @ basis)


def _in_plane(feature: Feature, basis: Array) -> Feature:
    """Return a feature in the coordinates of the tangent plane; flat directions that leave it are none."""
    ways = feature.flat @ basis.T
    lengths = np.linalg.norm(ways, axis=1)
    kept = 1.0 - lengths**2 <= FLAT_SURFACE
    return Feature(basis @ feature.radii @ basis.T, ways[kept] / lengths[kept, None])
