"""Rendering of triangles without a display, a graphics card or a system library: a depth buffer in a kernel.

Every pixel is the mean of several samples. Light comes from the viewer's side and from above; behind transparent solids
the nearest surface and the background are visible. Reasons for own code: ``docs/decisions/0011-viewer.md``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.platform.c_function import fill_triangles
from sarrus.kernels.raster import RasterTable
from sarrus.pictures.plots.frames import Picture
from sarrus.pictures.scene.camera import Camera
from sarrus.pictures.scene.meshes import Faces
from sarrus.pictures.scene.style import (
    AMBIENT,
    GLOSS,
    GLOSS_SHARPNESS,
    KEY_LIGHT,
    NEAREST_TRIANGLE,
    SKY_LIGHT,
)


@dataclass(frozen=True, eq=False)
class Triangles:
    """Solids to draw, in world axes: vertices (n, 3), faces (m, 3), colour (red, green, blue; 0 to 255), opacity.

    ``lit`` is False for flat colours, as of lines on the ground.
    """

    vertices: Array
    faces: Faces
    colour: tuple[int, int, int]
    opacity: float = 1.0
    lit: bool = True


class Canvas:
    """A picture of width × height pixels with samples² samples each, seen by a camera."""

    def __init__(
        self, camera: Camera, width: int, height: int, background: tuple[int, int, int], samples: int = 2
    ) -> None:
        self.camera, self.width, self.height, self.samples = camera, width, height, samples
        shape = samples * height, samples * width
        self.picture = np.empty((*shape, 3), dtype=np.float32)
        self.picture[:] = background
        self.depth = np.full(shape, np.inf, dtype=np.float32)

    def copy(self) -> Canvas:
        """Return a copy for the moving parts."""
        other = copy(self)
        other.picture, other.depth = self.picture.copy(), self.depth.copy()
        return other

    def draw(self, solids: list[Triangles]) -> None:
        """Draw solids, the opaque ones first, then those of each opacity as one layer."""
        for solid in solids:
            if solid.opacity >= 1.0:
                _draw(solid, self.camera, self.picture, self.depth)
        for opacity in sorted({solid.opacity for solid in solids if solid.opacity < 1.0}, reverse=True):
            layer, nearest = self.picture.copy(), self.depth.copy()
            for solid in solids:
                if solid.opacity == opacity:
                    _draw(solid, self.camera, layer, nearest)
            shown = nearest < self.depth
            self.picture[shown] += np.float32(opacity) * (layer[shown] - self.picture[shown])

    def draw_through(self, solids: list[Triangles], opacity: float) -> None:
        """Draw visible opaque solids, with an opacity, through solids in front of them."""
        layer, nearest = self.picture.copy(), np.full_like(self.depth, np.inf)
        for solid in solids:
            _draw(solid, self.camera, layer, nearest)
        hidden = (nearest < np.inf) & (nearest >= self.depth)
        self.picture[hidden] += np.float32(opacity) * (layer[hidden] - self.picture[hidden])
        for solid in solids:
            _draw(solid, self.camera, self.picture, self.depth)

    def pixels(self) -> Picture:
        """Return the picture (height, width, 3)."""
        n = self.samples
        mean = np.zeros((self.height, self.width, 3), dtype=np.float32)
        for i in range(n):
            for j in range(n):
                mean += self.picture[i::n, j::n]
        return np.clip(mean / (n * n) + 0.5, 0.0, 255.0).astype(np.uint8)


def _draw(solid: Triangles, camera: Camera, picture: NDArray[np.float32], depth: NDArray[np.float32]) -> None:
    h, w = depth.shape
    placed = camera.pixels(solid.vertices, w, h)
    if solid.lit:
        lights = _light(solid, camera)
    else:
        lights = np.zeros((len(placed), 2))
        lights[:, 0] = 1.0
    faces = np.ascontiguousarray(solid.faces, dtype=np.int64)
    placed = np.ascontiguousarray(placed, dtype=np.float64)
    table = RasterTable.zeros()
    table.count, table.height, table.width = len(faces), h, w
    table.faces, table.placed, table.lights = faces, placed, lights
    table.picture, table.depth = picture, depth
    fill_triangles(table, np.array([*solid.colour, NEAREST_TRIANGLE * camera.distance], dtype=np.float64), 0)


def _light(solid: Triangles, camera: Camera) -> Array:
    """Return brightness and highlight of each vertex."""
    corners = solid.vertices[solid.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(solid.vertices)
    for k in range(3):
        np.add.at(normals, solid.faces[:, k], across)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), LEAST_DIVISOR)
    up, towards = camera.view.up, camera.view.towards
    key = camera.light / np.linalg.norm(camera.light)
    half = key + towards
    half /= np.linalg.norm(half)
    outward = np.sign(normals @ towards)[:, None] * normals
    bright = AMBIENT + KEY_LIGHT * np.maximum(outward @ key, 0.0) + SKY_LIGHT * np.maximum(outward @ up, 0.0)
    return np.stack([bright, GLOSS * np.maximum(outward @ half, 0.0) ** GLOSS_SHARPNESS], axis=1)
