"""`MapSearch`: the region of a map, and the assembly modes over it."""

from __future__ import annotations

import numpy as np

from sarrus.analysis.linkages.map_flood import REACHED, Front, MapFlood, Sheet
from sarrus.analysis.linkages.map_plane import Region
from sarrus.analysis.linkages.tolerances import (
    BEYOND_POINTS,
    COARSE_NODES,
    LEAST_SIDE,
    LIKE_MODE,
    OFTEN_WIDENED,
    SETTLED_SIDE,
    WALK_EVERY,
    WIDENINGS,
)
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError


class MapSearch:
    """The sheets of a map: through the starts, joined with them by folds, and found by walks."""

    def __init__(self, flood: MapFlood, starts: list[Array], walked: Array, modes: int) -> None:
        self.flood, self.plane = flood, flood.plane
        self.starts, self.walked, self.modes = starts, walked, modes

    def bounds(self, region: Region | None) -> list[tuple[float, float]]:
        """Return the region of the map: the given one, limits and full turns, or the extent reached on a coarse
        grid.
        """
        plane = self.plane
        known = [plane.between(k, self.flood.limits) for k in (0, 1)]
        seen = plane.choose_axes(self.walked)
        if region is not None:
            return plane.checked(region)
        low, high = seen.min(axis=0), seen.max(axis=0)
        size = np.maximum(high - low, LEAST_SIDE * (high - low).max())
        low, high = low - size / 2, high + size / 2
        for k, pair in enumerate(known):
            if pair is not None:
                low[k], high[k] = pair
        unknown = np.array([pair is None for pair in known])
        for count in range(WIDENINGS if unknown.any() else 0):
            plane.lay(list(zip(low.tolist(), high.tolist())), COARSE_NODES)
            reached = np.array([sheet.status == REACHED for sheet in self.sheets()]).any(axis=0)
            cells = np.argwhere(reached)
            first, last = cells.min(axis=0), cells.max(axis=0)
            below = unknown & (first == 0)
            above = unknown & (last == np.array(reached.shape) - 1)
            size = before = high - low
            inner = low + (first - 1) * plane.cell, low + (last + 1) * plane.cell
            low = np.where(below, low - size / 2, np.where(unknown, inner[0], low))
            high = np.where(above, high + size / 2, np.where(unknown, inner[1], high))
            settled = count < OFTEN_WIDENED or (high - low >= SETTLED_SIDE * before).all()
            if settled and not (below | above).any():
                break
        return list(zip(low.tolist(), high.tolist()))

    def sheets(self) -> list[Sheet]:
        """Return the sheets over the present grid, at most ``modes``."""
        found: list[tuple[Sheet, Front]] = []
        self._fill([node for node in map(self.flood.begin, self.starts) if node is not None], found)
        if not found:
            names = " and ".join(self.plane.names)
            raise ArgumentError(
                f"{self.plane.system.name}: no node of the grid over {names} is reached from the start. Either the "
                "start is outside of the region, or the two coordinates do not determine the configuration there",
                element="region",
            )
        for q in self.walked[::WALK_EVERY]:
            cell = self.plane.nearest(q)
            if len(found) == self.modes:
                break
            if cell is None or any(self.flood.has(sheet, cell, q, LIKE_MODE) for sheet, _ in found):
                continue
            node = self.flood.begin(q)
            if node is not None:
                self._fill([node], found)
        return [sheet for sheet, _ in found]

    def _fill(self, seeds: list[Front], found: list[tuple[Sheet, Front]]) -> None:
        """Append to ``found`` the sheets through the seeds, and those joined with them by folds."""
        flood = self.flood
        while seeds and len(found) < self.modes:
            seed = seeds.pop(0)
            if any(flood.has(sheet, *_place(seed)) for sheet, _ in found):
                continue
            sheet, border, points = flood.fill(seed)
            if found and np.count_nonzero(sheet.status == REACHED) == 1:
                continue  # on a fold
            # what began on a fold may have ended at once
            found[:] = [(other, first) for other, first in found if not flood.has(sheet, *_place(first))]
            found.append((sheet, seed))
            if len(found) < self.modes:
                seeds += flood.across(border) + flood.across(points, BEYOND_POINTS)


def _place(node: Front) -> tuple[tuple[int, int], Array]:
    """Return cell and configuration of a single node."""
    return (int(node.cells[0, 0]), int(node.cells[0, 1])), node.q[0]
