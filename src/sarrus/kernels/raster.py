"""Rasteriser of triangles with a depth buffer, for `sarrus.pictures.scene.raster`."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sarrus.kernels.memory.record import Floats, Integers, Record

Singles = Annotated[Any, np.float32]


class RasterTable(Record, of=int):
    """Triangles and the picture they are drawn to; matrices by rows."""

    count: int  # number of triangles
    height: int  # of the picture [pixels]
    width: int
    faces: Integers  # (count, 3): indices of vertices
    placed: Floats  # (vertices, 3): x and y in pixels, depth
    lights: Floats  # (vertices, 2): brightness of the colour, brightness of the highlight
    picture: Singles  # (height, width, 3): colours
    depth: Singles  # (height, width)


def fill_triangles(table: RasterTable, x: Floats, level: int) -> int:
    """Draw the triangles where they are nearer than the depth buffer; return their number.

    x[:3] is their colour. Triangles with a vertex nearer than the depth x[3] are not drawn.
    """
    h, w, placed, lights = table.height, table.width, table.placed, table.lights
    picture, depth, near = table.picture, table.depth, x[3]
    for f in range(table.count):
        a, b, c = table.faces[3 * f], table.faces[3 * f + 1], table.faces[3 * f + 2]
        za, zb, zc = placed[3 * a + 2], placed[3 * b + 2], placed[3 * c + 2]
        if min(za, zb, zc) < near:
            continue
        xa, ya, xb, yb, xc, yc = (
            placed[3 * a], placed[3 * a + 1], placed[3 * b], placed[3 * b + 1], placed[3 * c], placed[3 * c + 1],
        )  # fmt: skip
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        if area == 0.0:
            continue
        if max(ya, yb, yc) < 0.0 or min(ya, yb, yc) >= h:
            continue
        top, bottom = int(max(min(ya, yb, yc), 0.0)), int(min(max(ya, yb, yc), h - 1.0))
        for i in range(top, bottom + 1):
            y = i + 0.5
            low, high = np.inf, -np.inf  # interval of x between the edges in this row
            for xs, ys, xe, ye in ((xa, ya, xb, yb), (xb, yb, xc, yc), (xc, yc, xa, ya)):
                if min(ys, ye) <= y <= max(ys, ye) and ys != ye:
                    cross = xs + (y - ys) / (ye - ys) * (xe - xs)
                    low, high = min(low, cross), max(high, cross)
            if low > high or low >= w or high < 0.0:
                continue
            for j in range(int(max(low, 0.0)), int(min(high, w - 1.0)) + 1):
                x_j, at = j + 0.5, i * w + j
                u = ((xb - x_j) * (yc - y) - (xc - x_j) * (yb - y)) / area
                v = ((xc - x_j) * (ya - y) - (xa - x_j) * (yc - y)) / area
                t = 1.0 - u - v
                if u < 0.0 or v < 0.0 or t < 0.0:
                    continue
                inverse = u / za + v / zb + t / zc  # 1 / depth is linear on the picture
                z = 1.0 / inverse
                if z >= depth[at]:
                    continue
                depth[at] = z
                p, q, r = u / za * z, v / zb * z, t / zc * z
                bright = p * lights[2 * a] + q * lights[2 * b] + r * lights[2 * c]
                gloss = 255.0 * (p * lights[2 * a + 1] + q * lights[2 * b + 1] + r * lights[2 * c + 1])
                for k in range(3):
                    picture[3 * at + k] = min(255.0, bright * x[k] + gloss)
    return table.count
