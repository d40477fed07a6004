"""Projection to the paper: the plane of a motion, or an orthographic view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import check_known
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.tolerances import PARALLEL
from sarrus.pictures.symbols.tolerances import PLANAR_MOTION, VERTICAL

PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


@dataclass(frozen=True)
class View:
    """Two orthonormal directions in world axes, to the right and up the paper, with the axes' labels."""

    right: Array
    up: Array
    labels: tuple[str, str]
    spatial: bool = False

    @property
    def towards(self) -> Array:
        """Unit direction towards the viewer."""
        return np.cross(self.right, self.up)

    def project(self, points: Array) -> Array:
        """Return the paper coordinates (..., 2) of world points (..., 3)."""
        return points @ np.stack([self.right, self.up], axis=1)


def choose_view(points: Array, plane: str | None, gravity: Array) -> View:
    """Return the view named ``plane``, or the plane in which the points (frames, n, 3) move."""
    if plane is not None:
        check_known("plane", plane, (*PLANES, "3d"), element="plane")
    if plane in PLANES:
        return _coordinate_plane(plane)
    normal = None if plane == "3d" else _normal(points)
    if normal is None:
        return view_from_above(np.eye(3)[2], height=2.0)
    axis = int(np.argmax(np.abs(normal)))
    if abs(normal[axis]) > 1 - PARALLEL:
        return _coordinate_plane(("yz", "xz", "xy")[axis])
    up = (
        -np.asarray(gravity)
        if np.linalg.norm(np.cross(normal, gravity)) > VERTICAL
        else np.eye(3)[np.argmin(np.abs(normal))]
    )
    up = up - normal * (normal @ up)
    up /= np.linalg.norm(up)
    return View(np.cross(up, normal), up, ("in the plane of motion [m]", "up the plane [m]"))


def spanned(points: Array) -> Array:
    """Return two frames (2, n, 3) whose displacements span points (n, 3) that do not move, to choose a view."""
    return np.stack([np.repeat(points.mean(axis=0)[None], len(points), axis=0), points])


def _normal(points: Array) -> Array | None:
    """Return the normal of the plane of motion; None if there is no such plane.

    The displacements of the points span the plane. If all move on one line, or none moves, it is the world axis
    perpendicular to the line along which the points extend least.
    """
    motion = (points - points.mean(axis=0)).reshape(-1, 3)
    _, extents, axes = np.linalg.svd(np.concatenate([motion, np.zeros((3, 3))]), full_matrices=False)
    if extents[1] > PLANAR_MOTION * extents[0]:
        return axes[2] if extents[2] < PLANAR_MOTION * extents[0] else None
    along = np.abs(axes[0]) if extents[0] > 0 else np.zeros(3)
    reach = np.ptp(points.reshape(-1, 3), axis=0)
    across = [axis for axis in (1, 2, 0) if along[axis] < PLANAR_MOTION]  # in doubt x to the right, z up
    return np.eye(3)[min(across, key=lambda axis: reach[axis])] if across else None


def _coordinate_plane(name: str) -> View:
    first, second = PLANES[name]
    return View(np.eye(3)[first], np.eye(3)[second], (f"{name[0]} [m]", f"{name[1]} [m]"))


def view_from_above(up: Array, height: float) -> View:
    """Return the view of spatial mechanisms from above and aside: x to the right, z up.

    The viewer stands at the height ``height``, 3 to the right and 4 in front.
    """
    right = perpendicular_to(up)
    towards = 3.0 * right - 4.0 * np.cross(up, right) + height * up
    towards /= np.linalg.norm(towards)
    right = np.cross(up, towards)
    right /= np.linalg.norm(right)
    return View(right, np.cross(towards, right), ("", ""), spatial=True)
