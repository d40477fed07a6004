"""Ground of a picture: a grid behind a planar mechanism, a floor under a spatial one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.meshes import Mesh, join, rectangle
from sarrus.pictures.scene.parts import Rgb, rgb
from sarrus.pictures.scene.style import GRID_BEHIND, GRID_BELOW, GRID_BEYOND
from sarrus.pictures.symbols.style import GRID

BACKGROUND: Rgb = (255, 255, 255)
LINE, STRONG = rgb(GRID), rgb("#ccd4da")


@dataclass(frozen=True, eq=False)
class Ground:
    """A grid: its centre [m], its axes (columns: along, across, normal), half its width [m], and the size of a cell
    [m].
    """

    centre: Array
    axes: Array
    half: float
    cell: float


def ground_of(drawing: Drawing) -> Ground:
    """Return the grid for a drawing: behind the plane of a planar motion, else under the lowest point."""
    low, high = drawing.bounds()
    centre = 0.5 * (low + high)
    extent = float((high - low).max())
    cell = nice(extent / 12.0)
    if drawing.view.spatial:
        normal, below = drawing.upwards, GRID_BELOW * drawing.size
        along = perpendicular_to(normal)
    else:
        along, normal = drawing.view.right, drawing.view.towards
        below = GRID_BEHIND * drawing.parts.radius
    axes = np.column_stack([along, np.cross(normal, along), normal])
    lowest = float((np.array(list(product(*zip(low, high)))) @ normal).min())
    snapped = [cell * round(float(centre @ axes[:, k]) / cell) for k in (0, 1)]
    place = axes @ np.array([*snapped, lowest - below])
    half = 5.0 * cell * np.ceil((0.5 * extent * (1.0 + 2.0 * GRID_BEYOND)) / (5.0 * cell))
    return Ground(place, axes, float(half), cell)


def grid_lines(ground: Ground, strong: bool) -> Mesh:
    """Return the lines of the grid as thin rectangles; ``strong`` ones are every fifth."""
    count = round(ground.half / ground.cell)
    width = (0.018 if strong else 0.012) * ground.cell
    lines = []
    for k in range(-count, count + 1):
        if (k % 5 == 0) != strong:
            continue
        line, at = rectangle(ground.half, width), k * ground.cell
        lines.append(Mesh(line.vertices + np.array([0.0, at, 0.0]), line.faces))
        lines.append(Mesh(line.vertices[:, [1, 0, 2]] + np.array([at, 0.0, 0.0]), line.faces))
    flat = join(lines)
    return Mesh(flat.vertices @ ground.axes.T + ground.centre, flat.faces)


def nice(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near a positive value."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda x: abs(np.log(x * power / value))))
