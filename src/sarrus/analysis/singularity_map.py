"""`singularity_map`: how near a mechanism is to singular configurations, over two of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.held_rows import HeldRows, Output
from sarrus.analysis.many_configurations import ManyConfigurations
from sarrus.analysis.map_flood import BEYOND_LIMITS, NOT_REACHED, REACHED, Front, MapFlood, Sheet
from sarrus.analysis.map_plane import MapPlane, Over, Region
from sarrus.analysis.reach import Reach
from sarrus.analysis.search_limits import SearchLimits
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.later import later
from sarrus.base.numbers import real_array
from sarrus.dynamics.assembly import free_velocities
from sarrus.dynamics.manifold import closed_start, turning
from sarrus.dynamics.system import System

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

# Nodes along each coordinate of a grid that looks how far these go, how often it is widened, and the least side of it
# as a part of the other one.
_COARSE, _WIDENED, _LEAST = 32, 6, 1e-3
# Walks over the motions that look for modes and how far the coordinates go, how many of their configurations are looked
# at, and how near to one that is known another one is no new mode [rad, κ].
_RAYS, _EVERY, _LIKE = 4, 4, 0.5
MEASURES = ("smallest singular value", "inverse condition number")


@dataclass(frozen=True, eq=False, repr=False)
class SingularityMap:
    """How near a mechanism is to singular configurations over two coordinates (arrays read-only); ``print`` sums it up.

    Attributes
    ----------
    measure : what is shaded. held : what is at rest while the mechanism could still move: "driven …" or "output …".
    names, units : of the two coordinates.
    coordinates : their values at the nodes, (n0,) and (n1,).
    values : (modes, n0, n1) the measure, NaN where ``status`` is not REACHED.
    status : (modes, n0, n1) 0 REACHED, 1 NOT_REACHED, 2 BEYOND_LIMITS, of a node whose configuration is beyond limits.
    leading : (modes, n0, n1) how well the two coordinates lead the mechanism, NaN likewise: the smallest singular value
        of the closures' rows with theirs, in characteristic units. It is zero on the folds where modes meet.
    q : (modes, n0, n1, nq) the configurations, NaN likewise. Modes are in the order in which they were found, that of
        the start first.
    wraps : of both whether the last node is beside the first, after a full turn. turns : indices of the coordinates
        that stand for the same place after one.
    body, point : whose point it is, None of coordinates.
    axes, offset : of a point the directions (2, 3) of the coordinates and where it is at zero of both (3,) [m].
    """

    measure: str
    held: str
    names: tuple[str, str]
    units: tuple[str, str]
    coordinates: tuple[Array, Array]
    values: Array
    status: np.ndarray
    leading: Array
    q: Array
    wraps: tuple[bool, bool]
    turns: tuple[int, ...]
    body: str | None
    point: Array
    axes: Array
    offset: Array
    t: float
    system: System = field(repr=False)

    REACHED, NOT_REACHED, BEYOND_LIMITS = REACHED, NOT_REACHED, BEYOND_LIMITS

    @property
    def modes(self) -> int:
        """How many modes there are."""
        return len(self.values)

    @property
    def least(self) -> float:
        """The smallest value at a node."""
        return float(np.nanmin(self.values))

    def at_least(self, value: float, mode: int = 0) -> float:
        """Return the share of the nodes reached in a mode where the measure is this value or more."""
        values = self.values[mode][self.status[mode] == REACHED]
        return float(np.mean(values >= value)) if len(values) else 0.0

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset`: the measure, status and leading over mode and the two coordinates, and q."""
        import xarray as xr

        along = ("mode", *self.names)
        units = [{"units": unit} for unit in self.units]
        return xr.Dataset(
            {
                "value": (along, self.values, {"long_name": self.measure, "units": "1"}),
                "status": (along, self.status, {"flags": "0 reached, 1 not reached, 2 beyond limits"}),
                "leading": (along, self.leading, {"units": "1"}),
                "q": ((*along, "coordinate"), self.q),
            },
            {
                self.names[0]: (self.names[:1], self.coordinates[0], units[0]),
                self.names[1]: (self.names[1:], self.coordinates[1], units[1]),
                "coordinate": list(self.system.coordinate_names),
            },
            {"name": self.system.name, "held": self.held, "measure": self.measure},
        )

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Shade the measure; options are those of `sarrus.plot.singularity_map`."""
        return later("plotting.plot", "singularity_map")(self, path, **options)

    def __str__(self) -> str:
        n0, n1 = self.status.shape[1:]
        lines = [
            f"{self.system.name}: {self.measure} with {self.held} at rest, over {self.names[0]} and {self.names[1]}",
            f"  {n0} × {n1} nodes, {self.modes} modes",
        ]
        for k, (values, status) in enumerate(zip(self.values, self.status)):
            i, j = divmod(int(np.nanargmin(values)), values.shape[1])
            where = ", ".join(
                f"{name} {nodes[at]:.4g}" for name, nodes, at in zip(self.names, self.coordinates, (i, j))
            )
            beyond = np.count_nonzero(status == BEYOND_LIMITS)
            lines.append(
                f"  mode {k}: {np.count_nonzero(status == REACHED)} nodes reached"
                + (f", {beyond} beyond limits" if beyond else "")
                + f"; {values[i, j]:.4g} at {where}, up to {np.nanmax(values):.4g}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SingularityMap({self.system.name!r}: {self.measure}, {self.held}, {self.modes} modes)"


def singularity_map(
    system: System,
    q: ArrayLike,
    over: Over,
    *,
    driven: Sequence[str] = (),
    output: Output | Sequence[str] | None = None,
    locked: Sequence[str] = (),
    region: Region | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    resolution: int = 100,
    modes: int = 4,
    measure: str = MEASURES[0],
    t: float = 0.0,
) -> SingularityMap:
    """Return how near a mechanism with two motions is to singular configurations, over two of its coordinates.

    The measure is of R = [A; H], H v the velocities at rest, in characteristic units
    (`sarrus.dynamics.characteristic`): its smallest singular value, which is zero on `singularity_locus` of the same
    ``driven`` or ``output``, or that over the largest one. Redundant rows change no zero.

    From the start, configurations are continued from node to node by Newton's method, a whole front of nodes at a time,
    without crossing folds, where the two coordinates no longer lead the mechanism. So each mode is one sheet of
    configurations. Others are found across folds, on seeded walks over the motions, and from further starts.

    **What is guaranteed.** At every node reached there is a configuration in ``q`` whose loops are closed and whose
    coordinates are those of the node, to 1e-10 (rad and κ) or the digits of the model, within the limits. What is not:
    that a node that is not reached cannot be, within a cell of a fold in particular; modes that neither a fold nor a
    walk joins with the starts are missed.

    Parameters
    ----------
    q : (nq,) start, or several (k, nq), as the modes of `assembly_modes`; closed to 1e-5 and within limits.
    over : two scalar coordinates, ("left", "right"), or a point of a body that moves in a plane, whose coordinates are
        x, y or z of the world, ("link2", (1.5, 0, 0)).
    driven, output : as in `singularity_locus`: inputs that no longer hold the mechanism (type 2), or an output that
        inputs no longer move (type 1).
    locked : joints or coordinates that rest, so that two motions are left.
    region : ((lower, upper), (lower, upper)) of both [rad, m]. Default: limits of joints, a full turn, or where
        seeded walks from the start come to.
    limits : {"crank": (lower, upper)}, besides and in place of those of joints [m, rad].
    resolution : nodes along each coordinate; of a point along the longer side. modes : how many at most.

    Raises
    ------
    ArgumentError
        Not two motions; coordinates that do not lead the mechanism at the start; R without full rank near q, where the
        driven or outputs are too few; a start outside of the limits or farther than a node from the region; unknown
        names; open loops.
    """
    check_known("measure", measure, MEASURES, system.name)
    if resolution < 4 or modes < 1:
        raise ArgumentError(
            f"{system.name}: resolution must be 4 at least and modes 1, got {resolution} and {modes}",
            element="resolution" if resolution < 4 else "modes",
        )
    starts = [closed_start(system, row, t) for row in np.atleast_2d(real_array(q))]
    rows = HeldRows(system, starts[0], driven, output, t)
    within = SearchLimits.of(system, limits)
    for start in starts:
        within.require(start)
    hold = np.eye(system.nv)[:, free_velocities(system, locked) == 0.0]
    _require_two_motions(rows, starts[0], hold)
    many = ManyConfigurations(system, t)
    plane = MapPlane(many, over)
    flood = MapFlood(many, plane, within, np.flatnonzero(hold.sum(axis=1) == 0.0), starts[0])
    reach = Reach(system, plane.body or "", plane.point, np.eye(3), hold, within, t)
    walked = np.array([p for start in starts for p in reach.walks(start, _RAYS)])
    search = _Search(flood, starts, walked, modes)
    plane.lay(search.bounds(region), resolution)
    sheets = search.sheets()
    shape = (len(sheets), *flood.shape)
    found = np.stack([sheet.q for sheet in sheets])
    status = np.stack([sheet.status for sheet in sheets])
    values = np.full(shape, np.nan)
    reached = status == REACHED
    values[reached] = _measured(rows, many, plane, found[reached], measure)
    status.flags.writeable = False
    return SingularityMap(
        measure=measure,
        held=rows.label,
        names=plane.names,
        units=plane.units,
        coordinates=(read_only(plane.nodes[0]), read_only(plane.nodes[1])),
        values=read_only(values),
        status=status,
        leading=read_only(np.stack([sheet.least for sheet in sheets])),
        q=read_only(found),
        wraps=(bool(plane.wraps[0]), bool(plane.wraps[1])),
        turns=tuple(map(int, turning(system))),
        body=plane.body,
        point=read_only(plane.point),
        axes=read_only(plane.axes),
        offset=read_only(plane.offset),
        t=t,
        system=system,
    )


def _require_two_motions(rows: HeldRows, start: Array, hold: Array) -> None:
    """Raise `ArgumentError` where R is singular at the start, or not two motions are left."""
    system = rows.system
    if rows.full[-1] <= rows.cut:
        raise ArgumentError(
            f"{system.name}: with {rows.label} at rest the mechanism still moves at the start; name more of them, or "
            "start at a configuration that is not singular",
            element="driven",
        )
    left = rows.motions(start, hold).shape[1]
    if left != 2:
        raise ArgumentError(
            f"{system.name}: a map needs two motions, but {left} are left; "
            + ("lock others" if left > 2 else "unlock coordinates"),
            element="locked",
        )


class _Search:
    """The sheets of a map: those through starts, those that folds join with them, and those that walks come to."""

    def __init__(self, flood: MapFlood, starts: list[Array], walked: Array, modes: int) -> None:
        self.flood, self.plane, self.starts, self.walked, self.modes = (
            flood,
            flood.plane,
            starts,
            walked,
            modes,
        )

    def bounds(self, region: Region | None) -> list[tuple[float, float]]:
        """Return the region of the map: the one given, limits and turns, or what a coarse grid reaches."""
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
        for _ in range(_WIDENED if unknown.any() else 0):
            plane.lay(list(zip(low.tolist(), high.tolist())), _COARSE)
            reached = np.array([sheet.status == REACHED for sheet in self.sheets()]).any(axis=0)
            cells = np.argwhere(reached)
            first, last = cells.min(axis=0), cells.max(axis=0)
            steps = np.array([nodes[1] - nodes[0] for nodes in plane.nodes])
            below = unknown & (first == 0)
            above = unknown & (last == np.array(reached.shape) - 1)
            size = high - low
            inner = low + (first - 1) * steps, low + (last + 1) * steps
            low = np.where(below, low - size / 2, np.where(unknown, inner[0], low))
            high = np.where(above, high + size / 2, np.where(unknown, inner[1], high))
            if not (below | above).any():
                break
        return list(zip(low.tolist(), high.tolist()))

    def sheets(self) -> list[Sheet]:
        """Return the sheets over the grid as it is laid, ``modes`` at most."""
        found: list[tuple[Sheet, Front]] = []
        self._fill([node for node in map(self.flood.begin, self.starts) if node is not None], found)
        if not found:
            names = " and ".join(self.plane.names)
            raise ArgumentError(
                f"{self.plane.system.name}: no node of the grid over {names} is reached from the start: the region "
                "does not hold it, or the two do not lead the mechanism there",
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
        """Add the sheets through nodes, and those that folds join with them, to those that were found."""
        flood = self.flood
        while seeds and len(found) < self.modes:
            seed = seeds.pop(0)
            if any(flood.has(sheet, *_place(seed)) for sheet, _ in found):
                continue
            sheet, border = flood.fill(seed)
            if found and np.count_nonzero(sheet.status == REACHED) == 1:
                continue  # on a fold
            # what began on a fold may have ended at once
            found[:] = [(other, first) for other, first in found if not flood.has(sheet, *_place(first))]
            found.append((sheet, seed))
            if len(found) < self.modes:
                seeds += flood.across(border)


def _place(node: Front) -> tuple[tuple[int, int], Array]:
    """Return cell and configuration of a single node."""
    return (int(node.cells[0, 0]), int(node.cells[0, 1])), node.q[0]


def _measured(rows: HeldRows, many: ManyConfigurations, plane: MapPlane, q: Array, measure: str) -> Array:
    """Return the measure (n,) at configurations (n, nq)."""
    out = np.empty(len(q))
    for begin in range(0, len(q), 4096):
        part = q[begin : begin + 4096]
        linear = None if rows.body is None else many.points(rows.body, rows.point, part)[1]
        values = np.linalg.svd(rows.stacked(many.closures(part)[1], linear), compute_uv=False)
        least = values[:, rows.system.nv - 1]
        out[begin : begin + 4096] = least if measure == MEASURES[0] else least / values[:, 0]
    return out
