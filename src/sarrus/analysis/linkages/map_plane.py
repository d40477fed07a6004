"""`MapPlane`: the two coordinates over which a map is drawn, and the nodes of its grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.many_configurations import ManyConfigurations
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.linkages.reach import PointPlaces, grid_axes
from sarrus.analysis.linkages.tolerances import WHOLE_TURN
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import three_numbers
from sarrus.dynamics.closing.manifold import turning
from sarrus.dynamics.model.units import coordinate_units
from sarrus.model.mechanism.tolerances import PARALLEL

Over = tuple[str, str] | tuple[str, ArrayLike]
Region = Sequence[tuple[float, float]]


class MapPlane:
    """Two scalar coordinates, or two directions in which a point of a body moves.

    Attributes
    ----------
    names, units : of both; for directions of a point along world axes "x" and "m", and so on.
    body, point : the body and the point (3,) [m] in its axes; None for coordinates. axes : (2, 3) directions of the
        point.
    offset : (3,) place of the point at zero of both coordinates [m].
    factors : (2,) to characteristic units. turning : (2,) whether a full turn is the same configuration.
    nodes : values of both at the nodes (n0,), (n1,). wraps : (2,) whether the last node is a neighbour of the first.
    """

    def __init__(self, many: ManyConfigurations, over: Over) -> None:
        system = self.system = many.system
        self.many = many
        self.nodes, self.wraps = (np.zeros(0), np.zeros(0)), np.zeros(2, dtype=bool)
        self.names: tuple[str, str] = ("", "")
        self.body: str | None = None
        self.point, self.axes, self.offset = np.zeros(3), np.zeros((2, 3)), np.zeros(3)
        self.turning = np.zeros(2, dtype=bool)
        self.indices, self.columns = np.zeros((2, 2), dtype=int)
        if not isinstance(over, Sequence) or len(over) != 2 or not isinstance(over[0], str):
            raise ArgumentError(
                f"{system.name}: over must be two coordinates or a body and a point, got {over!r}",
                element="over",
            )
        if isinstance(over[1], str):
            self._take_coordinates((over[0], over[1]))
        else:
            self._take_point(over[0], over[1])

    def _take_coordinates(self, names: tuple[str, str]) -> None:
        system = self.system
        places = scalar_coordinates(system)
        for name in names:
            check_known("scalar coordinate", name, places, "over")
        if names[0] == names[1]:
            raise ArgumentError(f"{system.name}: over names {names[0]!r} twice", element=names[0])
        self.names = names
        self.indices, self.columns = np.array([places[name] for name in names]).T
        units = coordinate_units(system)
        self.units = (units[self.indices[0]], units[self.indices[1]])
        self.factors = system.characteristic.coordinates[self.indices]
        self.turning = np.isin(self.indices, turning(system))

    def _take_point(self, body: str, point: ArrayLike) -> None:
        system = self.system
        check_known("body", body, tuple(system.mechanism.bodies) if system.mechanism else (), "over")
        place = three_numbers(point, f"{system.name}: the point of over", element="over")
        self.body, self.point = body, place
        self.units, self.factors = ("m", "m"), np.full(2, 1.0 / system.characteristic.length)

    def choose_axes(self, walked: Array) -> Array:
        """Return the values of both coordinates (n, 2) at configurations; for a point, first choose its axes from
        these.
        """
        if self.body is None:
            return walked[:, self.indices]
        places, _ = self.many.points(self.body, self.point, walked)
        axes = grid_axes(self.system, self.body, places)
        if len(axes) != 2:
            raise ArgumentError(
                f"{self.system.name}: the point of {self.body!r} moves in space, and a map needs a plane: lock "
                "coordinates",
                element="over",
            )
        self.axes = axes
        self.offset = places[0] - axes.T @ (axes @ places[0])
        first, second = (_axis_name(axis, k) for k, axis in enumerate(axes))
        self.names = (first, second)
        return np.asarray(places @ axes.T)

    def between(self, k: int, limits: SearchLimits) -> tuple[float, float] | None:
        """Return the limits of a coordinate, or a full turn; None if it has neither."""
        if self.body is not None:
            return None
        lower, upper = float(limits.lower[self.indices[k]]), float(limits.upper[self.indices[k]])
        if np.isfinite(lower) and np.isfinite(upper):
            return lower, upper
        return (-np.pi, np.pi) if self.turning[k] else None

    def checked(self, region: Region) -> list[tuple[float, float]]:
        """Return the region as two pairs (lower, upper); raises `ArgumentError` for anything else."""
        try:
            bounds = np.array(region, dtype=float)
        except (TypeError, ValueError):
            bounds = np.zeros(0)
        if bounds.shape != (2, 2) or not np.isfinite(bounds).all() or not (bounds[:, 0] < bounds[:, 1]).all():
            raise ArgumentError(
                f"{self.system.name}: region must be two pairs (lower, upper) with lower < upper, got {region!r}",
                element="region",
            )
        return [(float(low), float(high)) for low, high in bounds]

    def lay(self, bounds: Sequence[tuple[float, float]], resolution: int) -> None:
        """Set the nodes for a region."""
        self.wraps = self.turning & [high - low > 2 * np.pi - WHOLE_TURN for low, high in bounds]
        sizes = np.array([high - low for low, high in bounds])
        count = [resolution, resolution]
        if self.body is not None:  # nodes as far from each other both ways
            count = [max(2, int(np.rint(x))) for x in resolution * sizes / sizes.max()]
        first, second = (
            np.linspace(low, high, n, endpoint=not wraps)
            for (low, high), n, wraps in zip(bounds, count, self.wraps)
        )
        self.nodes = (first, second)

    @property
    def cell(self) -> Array:
        """Distances of the nodes along both coordinates (2,)."""
        return np.array([nodes[1] - nodes[0] for nodes in self.nodes])

    def evaluate(self, q: Array) -> tuple[Array, Array]:
        """Return the values of both coordinates (n, 2) and their rows (n, 2, nv)."""
        if self.body is None:
            rows = np.zeros((2, self.system.nv))
            rows[[0, 1], self.columns] = 1.0
            return q[:, self.indices], np.broadcast_to(rows, (len(q), *rows.shape))
        return PointPlaces(self.many, self.body, self.point, self.axes).evaluate(q)

    def short(self, gaps: Array) -> Array:
        """Return differences of values (n, 2) modulo full turns."""
        turns = np.where(self.turning, 2 * np.pi * np.rint(gaps / (2 * np.pi)), 0.0)
        return np.asarray(gaps - turns)

    def gaps(self, q: Array) -> tuple[Array, Array]:
        """Return the distances of the nodes from a configuration along both coordinates, (n0,) and (n1,), modulo full
        turns.
        """
        values, _ = self.evaluate(q[None])
        found = [nodes - value for nodes, value in zip(self.nodes, values[0])]
        for k in np.flatnonzero(self.turning):
            found[k] = found[k] - 2 * np.pi * np.rint(found[k] / (2 * np.pi))
        return found[0], found[1]

    def nearest(self, q: Array) -> tuple[int, int] | None:
        """Return the node next to a configuration; None outside of the grid."""
        cell = []
        for nodes, gaps in zip(self.nodes, self.gaps(q)):
            cell.append(int(np.abs(gaps).argmin()))
            if abs(gaps[cell[-1]]) > 0.6 * (nodes[1] - nodes[0]):
                return None
        return cell[0], cell[1]

    def goals(self, cells: np.ndarray) -> Array:
        """Return the values (n, 2) at nodes (n, 2)."""
        return np.stack([self.nodes[k][cells[:, k]] for k in (0, 1)], axis=1)


def _axis_name(axis: Array, k: int) -> str:
    """Return "x", "y" or "z" for a world axis, else a number."""
    level = np.flatnonzero(axis > 1.0 - PARALLEL)
    return "xyz"[level[0]] if len(level) else f"direction {k + 1}"
