"""`MapSearch`: the region of a map, and the assembly modes over it."""

from __future__ import annotations

import numpy as np

from sarrus.analysis.linkages.map_flood import POINTS, REACHED, Front, MapFlood, Sheet
from sarrus.analysis.linkages.map_plane import Region
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

# Nodes along each coordinate of a grid that looks how far these go, how often it is widened, and the least side of it
# as a part of the other one. It is laid again over what it reached where it was widened more often than this: by so
# much it may be too large, where travels are longer than bodies.
_COARSE, _WIDENED, _LEAST, _OFTEN, _SETTLED = 32, 24, 1e-3, 6, 0.85
# Walks over the motions that look for modes and how far the coordinates go, how many of their configurations are looked
# at, and how near to one that is known another one is no new mode [rad, κ].
RAYS, _EVERY, _LIKE = 2, 4, 0.5


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
        size = np.maximum(high - low, _LEAST * (high - low).max())
        low, high = low - size / 2, high + size / 2
        for k, pair in enumerate(known):
            if pair is not None:
                low[k], high[k] = pair
        unknown = np.array([pair is None for pair in known])
        for count in range(_WIDENED if unknown.any() else 0):
            plane.lay(list(zip(low.tolist(), high.tolist())), _COARSE)
            reached = np.array([sheet.status == REACHED for sheet in self.sheets()]).any(axis=0)
            cells = np.argwhere(reached)
            first, last = cells.min(axis=0), cells.max(axis=0)
            below = unknown & (first == 0)
            above = unknown & (last == np.array(reached.shape) - 1)
            size = before = high - low
            inner = low + (first - 1) * plane.cell, low + (last + 1) * plane.cell
            low = np.where(below, low - size / 2, np.where(unknown, inner[0], low))
            high = np.where(above, high + size / 2, np.where(unknown, inner[1], high))
            settled = count < _OFTEN or (high - low >= _SETTLED * before).all()
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
        for q in self.walked[::_EVERY]:
            cell = self.plane.nearest(q)
            if len(found) == self.modes:
                break
            if cell is None or any(self.flood.has(sheet, cell, q, _LIKE) for sheet, _ in found):
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
                seeds += flood.across(border) + flood.across(points, POINTS)


def _place(node: Front) -> tuple[tuple[int, int], Array]:
    """Return cell and configuration of a single node."""
    return (int(node.cells[0, 0]), int(node.cells[0, 1])), node.q[0]
