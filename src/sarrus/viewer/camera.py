"""Where to look from: planar mechanisms from the front, others from above and aside, all of the motion in sight."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.plotting.picture_plane import View

FIELD = 0.55  # vertical field of view [rad]
_MARGIN = 1.12


@dataclass(frozen=True, eq=False)
class Camera:
    """A perspective camera: where it stands, what is in the middle of the picture, what is up; ``field`` [rad]."""

    position: Array
    look_at: Array
    up: Array
    field: float = FIELD

    @property
    def axes(self) -> Array:
        """Directions to the right, up, and towards the reader, by rows."""
        towards = self.position - self.look_at
        towards = towards / np.linalg.norm(towards)
        right = np.cross(self.up, towards)
        right = right / np.linalg.norm(right)
        return np.array([right, np.cross(towards, right), towards])

    @property
    def distance(self) -> float:
        """Distance to what is in the middle [m]."""
        return float(np.linalg.norm(self.position - self.look_at))

    def pixels(self, points: Array, width: int, height: int) -> Array:
        """Return x to the right and y downwards in a picture [pixels], and the depth [m], of points (…, 3)."""
        seen = (np.asarray(points, dtype=float) - self.position) @ self.axes.T
        depth = -seen[..., 2]
        zoom = 0.5 * height / np.tan(0.5 * self.field)
        return np.stack(
            [
                0.5 * width + zoom * seen[..., 0] / depth,
                0.5 * height - zoom * seen[..., 1] / depth,
                depth,
            ],
            axis=-1,
        )


def frame(low: Array, high: Array, view: View, aspect: float) -> Camera:
    """Return the camera that looks along a view and has the box from low to high in the picture.

    ``aspect`` is width over height of the picture.
    """
    axes = np.array([view.right, view.up, np.cross(view.right, view.up)])
    centre = 0.5 * (low + high)
    corners = np.array(list(product(*zip(low, high)))) - centre
    x, y, z = (corners @ axes.T).T
    slope = np.tan(0.5 * FIELD) / _MARGIN
    distance = float((z + np.maximum(np.abs(x) / aspect, np.abs(y)) / slope).max())
    return Camera(centre + max(distance, 1e-3) * axes[2], centre, view.up)
