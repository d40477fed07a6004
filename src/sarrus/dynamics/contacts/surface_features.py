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
    """What of a surface touches, with the unit ``outward`` normal (3,) there.

    ``kind`` is "point" (a corner, or a ball about it), "line" (an edge, or a round side about it), "circle" (a rim),
    "face", "ellipsoid", or "ridge" for an edge or a corner of a height field, of which only the normal is known.
    ``centre`` (3,) [m] is the point, a point of the line or face, or the centre; ``axes`` (3, 3) has as its third
    column the direction of the line, the axis of the circle or the normal of the face; an ellipsoid has its half-axes
    along all three. ``size`` (3,) [m] are radii: of the ball, side or circle the first one.
    """

    kind: str
    centre: Array
    axes: Array
    size: Array
    outward: Array

    def placed(self, rotation: Array, position: Array) -> Feature:
        """Return the feature in axes in which its own have a rotation and a position."""
        return self._replace(
            centre=position + rotation @ self.centre,
            axes=rotation @ self.axes,
            outward=rotation @ self.outward,
        )

    def farthest(self, m: Array) -> Array:
        """Return the farthest point along the unit vector m, of a line or face the one at its centre."""
        if self.kind in ("face", "ridge"):
            return self.centre
        if self.kind == "circle":
            way = cross(self.axes[:, 2], cross(m, self.axes[:, 2]))
            return self.centre + self.size[0] / np.linalg.norm(way) * way
        if self.kind == "ellipsoid":
            own = self.size * (self.axes.T @ m)
            return self.centre + self.axes @ (self.size * own) / np.linalg.norm(own)
        return self.centre + self.size[0] * m

    def normal_at(self, point: Array) -> Array | None:
        """Return the outward normal of a round surface at a point of it; None of faces, edges, corners and rims."""
        way = point - self.centre
        if self.kind == "ellipsoid":
            way = self.axes @ ((self.axes.T @ way) / self.size**2)
        elif self.kind not in ("point", "line") or self.size[0] == 0.0:
            return None
        elif self.kind == "line":
            way = way - (way @ self.axes[:, 2]) * self.axes[:, 2]
        return np.asarray(way / np.linalg.norm(way))

    @property
    def curvature(self) -> Curvature:
        """Radii of curvature and flat directions at the contact."""
        m, third, r = self.outward, self.axes[:, 2], float(self.size[0])
        if self.kind in ("face", "ridge"):
            return Curvature(np.zeros((3, 3)), _plane(m))
        if self.kind == "ellipsoid":
            square = self.axes @ np.diag(self.size**2) @ self.axes.T
            way = square @ m
            reach = float(np.sqrt(m @ way))
            return Curvature(square / reach - np.outer(way, way) / reach**3, _NO_WAYS)
        if self.kind == "point":
            return Curvature(r * (np.eye(3) - np.outer(m, m)), _NO_WAYS)
        around = cross(third, m)
        across = float(np.linalg.norm(around))  # of a rim, which is flatter where it leans
        around /= across
        if self.kind == "line":
            return Curvature(r * np.outer(around, around), third[None])
        return Curvature(r / across * np.outer(around, around), _NO_WAYS)


class Curvature(NamedTuple):
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
    """A geometry for `feature_at`: its kind, sizes [m] and bounding radius [m].

    Of a mesh the corners, the edges and the planes n · x + c = 0 (n, 4) of its convex hull; of a height field the
    ``heights`` (rows along y, columns along x) [m].
    """

    kind: str
    size: Array
    radius: float
    corners: Array
    edges: Array
    planes: Array
    heights: Array = _NO_WAYS


def surface_of(model: Any, kind: str, number: int) -> Surface:
    """Return the surface of a geom of MuJoCo's model; a mesh has the corners and edges of its convex hull."""
    size, radius = np.array(model.geom_size[number]), float(model.geom_rbound[number])
    if kind == "hfield":
        own = int(model.geom_dataid[number])
        rows, columns = int(model.hfield_nrow[own]), int(model.hfield_ncol[own])
        size, first = np.array(model.hfield_size[own]), int(model.hfield_adr[own])
        heights = size[2] * np.array(model.hfield_data[first : first + rows * columns], dtype=float)
        none = np.zeros((0, 2), dtype=int), np.zeros((0, 4))
        return Surface(kind, size, radius, _NO_WAYS, *none, heights.reshape(rows, columns))
    if kind != "mesh":
        return Surface(kind, size, radius, _NO_WAYS, np.zeros((0, 2), dtype=int), np.zeros((0, 4)))
    from scipy.spatial import ConvexHull  # here: it takes long to import

    mesh = int(model.geom_dataid[number])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    corners = np.array(model.mesh_vert[first : first + count], dtype=float)
    hull = ConvexHull(corners)
    edges = _edges(hull.simplices, hull.equations[:, :3])
    return Surface(kind, size, radius, corners, edges, np.array(hull.equations))


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


def terms_of(surface: Surface) -> tuple[list[Array], float] | None:
    """Return a geometry as a sum of ellipsoids, by their half-axes (3,) [m], and of a ball, by its radius [m].

    None of planes, meshes and height fields. `sarrus.kernels.geometry.support_contacts` has the formula.
    """
    size = surface.size
    if surface.kind == "sphere":
        return [], float(size[0])
    if surface.kind == "ellipsoid":
        return [size[:3]], 0.0
    if surface.kind == "capsule":
        return [size[1] * _UNITS[2]], float(size[0])
    if surface.kind == "cylinder":
        return [np.array([size[0], size[0], 0.0]), size[1] * _UNITS[2]], 0.0
    return ([size[k] * _UNITS[k] for k in range(3)], 0.0) if surface.kind == "box" else None


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
    size, near = surface.size, ON_FEATURE * surface.radius
    if surface.kind == "sphere":
        return _feature("point", np.zeros(3), m, size[0])
    if surface.kind == "ellipsoid":
        return Feature("ellipsoid", np.zeros(3), np.eye(3), size, m)
    if surface.kind == "capsule":
        on_end = abs(x[2]) > size[1] - near
        height = float(np.copysign(size[1], x[2])) if on_end else float(x[2])
        return _feature("point" if on_end else "line", height * _UNITS[2], m, size[0])
    if surface.kind == "cylinder":
        if abs(x[2]) < size[1] - near:
            return _feature("line", x[2] * _UNITS[2], m, size[0])
        side = float(np.copysign(1.0, x[2]))
        way, end = np.array([x[0], x[1], 0.0]), side * size[1] * _UNITS[2]
        out = float(np.hypot(x[0], x[1]))
        if out < size[0] - near:
            return _feature("face", end + way, m, 0.0, side * _UNITS[2])
        if np.hypot(m[0], m[1]) > ON_FEATURE:
            return _feature("circle", end, m, size[0])
        return _feature(
            "point", end + size[0] / out * way, m, 0.0
        )  # where it stands on its end a point of the rim
    if surface.kind == "box":
        flush = np.abs(x) > size[:3] - near
        own, count = np.where(flush, np.copysign(size[:3], x), x), int(flush.sum())
        if count == 3:
            return _feature("point", own, m, 0.0)
        if count == 2:
            return _feature("line", own, m, 0.0, _UNITS[int(np.argmin(flush))])
        normal = np.copysign(_UNITS[int(np.argmax(flush))], x) if count == 1 else m
        return _feature("face", own, m, 0.0, normal)
    if surface.kind == "mesh":
        return _on_hull(surface, x, m, near)
    if surface.kind == "hfield":
        return _on_heights(surface, x, m)
    if surface.kind == "plane":
        return _feature("face", np.array([x[0], x[1], 0.0]), m, 0.0, _UNITS[2])
    return _feature("face", x, m, 0.0, m)


def _feature(kind: str, centre: Array, m: Array, radius: float, third: Array | None = None) -> Feature:
    """Return a feature with a radius and its third axis, by default the z axis."""
    third = _UNITS[2] if third is None else third
    return Feature(kind, centre, np.column_stack([*_plane(third), third]), np.array([radius, 0.0, 0.0]), m)


def _plane(m: Array) -> Array:
    """Return two unit tangents to the unit vector m."""
    first = cross(_UNITS[int(np.argmin(np.abs(m)))], m)
    first /= np.linalg.norm(first)
    return np.array([first, cross(m, first)])


def _on_heights(surface: Surface, x: Array, m: Array) -> Feature:
    """Return the triangle of a height field at x, or a ridge where the normal is not that of the triangle.

    MuJoCo divides each cell along the diagonal from its corner with the lowest x and y.
    """
    heights, half = surface.heights, surface.size[:2]
    count = np.array(heights.shape[::-1]) - 1
    width = 2.0 * half / count
    cell = np.clip(((x[:2] + half) // width).astype(int), 0, count - 1)
    part = (x[:2] + half) / width - cell
    (c, r), low = cell, heights[cell[1], cell[0]]
    high = heights[r + 1, c + 1]
    turn = heights[r + 1, c] if part[1] >= part[0] else heights[r, c + 1]
    slope = np.array([high - turn, turn - low] if part[1] >= part[0] else [turn - low, high - turn]) / width
    normal = np.array([*-slope, 1.0])
    normal /= np.linalg.norm(normal)
    if float(normal @ m) < 1.0 - FLAT_SURFACE:
        return _feature("ridge", x, m, 0.0, m)
    height = low + slope @ (part * width)
    return _feature("face", np.array([x[0], x[1], height]), m, 0.0, normal)


def _on_hull(surface: Surface, x: Array, m: Array, near: float) -> Feature:
    """Return the corner, edge or face of a convex hull at x."""
    away = np.linalg.norm(surface.corners - x, axis=1)
    if away.min() <= near:
        return _feature("point", surface.corners[int(np.argmin(away))], m, 0.0)
    starts = surface.corners[surface.edges[:, 0]]
    ways = surface.corners[surface.edges[:, 1]] - starts
    along = np.einsum("ij,ij->i", ways, x - starts) / np.einsum("ij,ij->i", ways, ways)
    feet = starts + np.clip(along, 0.0, 1.0)[:, None] * ways
    away = np.linalg.norm(feet - x, axis=1)
    best = int(np.argmin(away))
    if away[best] <= near:
        return _feature("line", feet[best], m, 0.0, ways[best] / np.linalg.norm(ways[best]))
    cosines = surface.planes[:, :3] @ m
    plane = surface.planes[
        int(np.argmax(cosines > cosines.max() - FLAT_SURFACE))
    ]  # the first of those in one plane
    return _feature("face", x - (plane[:3] @ x + plane[3]) * plane[:3], m, 0.0, plane[:3])


def contact_rates(
    features: tuple[Feature, Feature], bodies: tuple[Body, Body], normal: Array, gap: float
) -> ContactRates:
    """Return the rates of a contact point and its normal; features in world axes, ``gap`` [m] along the normal."""
    basis = _plane(normal)  # two tangents, as rows
    one, two = (_in_plane(feature.curvature, basis) for feature in features)
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


def _in_plane(feature: Curvature, basis: Array) -> Curvature:
    """Return curvature in the coordinates of the tangent plane; flat directions that leave it are none."""
    ways = feature.flat @ basis.T
    lengths = np.linalg.norm(ways, axis=1)
    kept = 1.0 - lengths**2 <= FLAT_SURFACE
    return Curvature(basis @ feature.radii @ basis.T, ways[kept] / lengths[kept, None])
