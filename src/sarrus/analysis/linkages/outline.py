"""Outline of the reached nodes of a grid, as rings of edges that lead out of them."""

from __future__ import annotations

import numpy as np

from sarrus.analysis.linkages.reach import Cell
from sarrus.base.arrays import Array

# The corners of a square of nodes, counterclockwise, and its edges by their corners.
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


def outlines(reached: set[Cell]) -> list[list[tuple[Cell, Cell]]]:
    """Return closed rings of edges around the reached nodes: counterclockwise outside, clockwise around holes.

    An edge leads from a reached node to a neighbour that is not reached. Reached nodes that touch at corners only are
    kept apart.
    """
    following: dict[tuple[Cell, Cell], tuple[Cell, Cell]] = {}
    squares = {(i - a, j - b) for i, j in reached for a, b in _CORNERS}
    for square in sorted(squares):
        corners = [(square[0] + a, square[1] + b) for a, b in _CORNERS]
        inside = [corner in reached for corner in corners]
        # The boundary has the reached nodes on its left: it enters where the edge goes in, leaves where it goes out.
        for k in range(4):
            if inside[k] and not inside[k - 1]:
                last = k
                while inside[(last + 1) % 4]:
                    last = (last + 1) % 4
                leaves = (corners[last], corners[(last + 1) % 4])
                following[leaves] = (corners[k], corners[k - 1])
    found = []
    while following:
        first = min(following)
        ring, edge = [], first
        while edge in following:
            ring.append(edge)
            edge = following.pop(edge)
        found.append(ring)
    return found


def signed_area(polygon: Array) -> float:
    """Return the area of a polygon (k, 2), negative if it is clockwise."""
    x, y = polygon.T
    return float(0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
