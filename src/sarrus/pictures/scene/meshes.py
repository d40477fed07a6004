"""Triangle meshes of simple solids, around the origin and along z.

Vertices are shared on smooth surfaces and doubled at edges, so that normals from the triangles around a vertex shade
both correctly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose, perpendicular_to, rotation_along
from sarrus.pictures.scene.tolerances import POLE_ROUNDING

Faces = NDArray[np.int64]

_AROUND = 28  # vertices around a circle
_RINGS = 8  # from the pole to the equator of a sphere


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (n, 3) [m] and faces (m, 3), counter-clockwise seen from outside."""

    vertices: Array
    faces: Faces

    def placed(self, pose: Pose) -> Mesh:
        """Return the mesh at a pose."""
        return Mesh(self.vertices @ pose.rotation.T + pose.position, self.faces)

    def scaled(self, factors: ArrayLike) -> Mesh:
        """Return the mesh stretched along x, y, z; turned inside out where the factors mirror it."""
        factors = np.asarray(factors, dtype=float)
        mirrored = np.prod(np.sign(factors)) < 0.0
        return Mesh(self.vertices * factors, self.faces[:, ::-1] if mirrored else self.faces)


def join(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts)]),
    )


def box(half: ArrayLike) -> Mesh:
    """Return a box of half extents."""
    square = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    turns = [np.eye(3), np.diag([1.0, -1.0, -1.0])]
    cycle = np.roll(np.eye(3), 1, axis=0)
    sides = [square @ (turn.T @ np.linalg.matrix_power(cycle, k).T) for turn in turns for k in range(3)]
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * k for k in range(6)])
    return Mesh(np.concatenate(sides) * np.asarray(half, dtype=float), faces)


def revolved(radii: ArrayLike, heights: ArrayLike) -> Mesh:
    """Return the smooth surface of a profile turned about z, from its lower end to its upper end."""
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(_AROUND)], axis=1)
    radii, heights = np.asarray(radii, dtype=float), np.asarray(heights, dtype=float)
    vertices = radii[:, None, None] * circle + heights[:, None, None] * np.array([0.0, 0.0, 1.0])
    faces = _strips(len(radii), _AROUND)
    vertices = vertices.reshape(-1, 3)
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return Mesh(vertices, faces[area > 0.0])


def ellipsoid(radii: ArrayLike) -> Mesh:
    """Return an ellipsoid."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 2 * _RINGS + 1)
    return revolved(_rounded(np.cos(angle)), np.sin(angle)).scaled(radii)


def capsule(radius: float, half: float) -> Mesh:
    """Return a cylinder of ``half`` length with half spheres on its ends."""
    angle = np.linspace(0.0, np.pi / 2, _RINGS + 1)
    circle, rise = radius * _rounded(np.cos(angle)), radius * np.sin(angle)
    return revolved([*circle[::-1], *circle], [*(-half - rise[::-1]), *(half + rise)])


def cylinder(radius: float, half: float) -> Mesh:
    """Return a cylinder of ``half`` length."""
    return solid_of_revolution([(radius, -half), (radius, half)])


def cone(radius: float, height: float) -> Mesh:
    """Return a cone with its base at the origin and its tip at ``height``."""
    return solid_of_revolution([(radius, 0.0), (0.0, height)])


def solid_of_revolution(profile: list[tuple[float, float]]) -> Mesh:
    """Return a solid whose profile (radius, height) has edges at its corners, with flat ends."""
    corners = [(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]
    pieces = [revolved([a[0], b[0]], [a[1], b[1]]) for a, b in pairwise(corners) if a != b]
    return join(pieces)


def rectangle(half_x: float, half_y: float) -> Mesh:
    """Return a rectangle seen from both sides."""
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    one = Mesh(corners * [half_x, half_y, 1.0], faces)
    return join([one, Mesh(one.vertices, faces[:, ::-1])])


def rod(start: ArrayLike, end: ArrayLike, radius: float) -> Mesh:
    """Return a capsule between two points."""
    middle, half, rotation = along(np.asarray(start, dtype=float), np.asarray(end, dtype=float))
    return capsule(radius, half).placed(Pose(middle, rotation))


def tube(path: ArrayLike, radius: float, around: int = 10, *, ends: bool = True) -> Mesh:
    """Return a tube along a smooth line of points (n, 3), with flat ends or open."""
    path = np.asarray(path, dtype=float)
    ways = np.gradient(path, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    normal = perpendicular_to(ways[0])
    angle = 2 * np.pi * np.arange(around) / around
    rings = []
    for point, way in zip(path, ways):  # the normal goes along without turning about the line
        normal = normal - way * (way @ normal)
        normal /= np.linalg.norm(normal)
        side = np.cross(way, normal)
        rings.append(point + radius * (np.outer(np.cos(angle), normal) + np.outer(np.sin(angle), side)))
    faces = _strips(len(path), around)
    if not ends:
        return Mesh(np.concatenate(rings), faces)
    fan = np.stack([np.zeros(around - 2), np.arange(1, around - 1), np.arange(2, around)], axis=1).astype(int)
    pieces = [Mesh(np.concatenate(rings), faces), Mesh(rings[0], fan[:, ::-1]), Mesh(rings[-1], fan)]
    return join(pieces)


def along(start: Array, end: Array) -> tuple[Array, float, Array]:
    """Return middle, half length and a rotation whose z axis leads from start to end."""
    way = end - start
    length = float(np.linalg.norm(way))
    return (
        0.5 * (start + end),
        0.5 * length,
        rotation_along(way / length if length > 0.0 else np.array([0, 0, 1.0])),
    )


def _strips(rings: int, around: int) -> Faces:
    """Return the triangles between rings of vertices, one ring after the other."""
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
    a, b = i * around + j, i * around + (j + 1) % around
    return np.stack([a, b, b + around, a, b + around, a + around], axis=-1).reshape(-1, 3)


def _rounded(values: Array) -> Array:
    """Return the values with rounding at the poles taken away."""
    return np.where(np.abs(values) < POLE_ROUNDING, 0.0, values)
