"""Camera position: planar mechanisms from the front, spatial ones from above and aside, the whole motion in sight."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.pictures.scene.style import FIELD, FRAME_MARGIN, NEAREST_CAMERA
from sarrus.pictures.symbols.picture_plane import View


@dataclass(frozen=True, eq=False)
class Camera:
    """A perspective camera: it looks along a view at the centre of the picture, from a distance [m]."""

    view: View
    look_at: Array
    distance: float

    @property
    def position(self) -> Array:
        """Position of the camera [m]."""
        return self.look_at + self.distance * self.view.towards

    @property
    def light(self) -> Array:
        """Direction to the main light: from the viewer's side, a little to the right and from above."""
        return 0.35 * self.view.right + 0.45 * self.view.up + self.view.towards

    def pixels(self, points: Array, width: int, height: int) -> Array:
        """Return x to the right and y downwards in a picture [pixels], and the depth [m], of points (…, 3)."""
        offset = np.asarray(points, dtype=float) - self.look_at
        depth = self.distance - offset @ self.view.towards
        zoom = 0.5 * height / np.tan(0.5 * FIELD) / depth
        x, y = np.moveaxis(self.view.project(offset), -1, 0)
        return np.stack([0.5 * width + zoom * x, 0.5 * height - zoom * y, depth], axis=-1)


def frame(low: Array, high: Array, view: View, aspect: float) -> Camera:
    """Return the camera that looks along a view and has the box from low to high in the picture.

    ``aspect`` is width over height of the picture.
    """
    centre = 0.5 * (low + high)
    corners = np.array(list(product(*zip(low, high)))) - centre
    x, y = view.project(corners).T
    slope = np.tan(0.5 * FIELD) / FRAME_MARGIN
    distance = float((corners @ view.towards + np.maximum(np.abs(x) / aspect, np.abs(y)) / slope).max())
    return Camera(view, centre, max(distance, NEAREST_CAMERA))
