"""`singularity_map`: how near a mechanism is to singular configurations, over two of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.many_configurations import ManyConfigurations
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.linkages.map_flood import BEYOND_LIMITS, NOT_REACHED, REACHED, MapFlood
from sarrus.analysis.linkages.map_plane import MapPlane, Over, Region
from sarrus.analysis.linkages.map_search import MapSearch
from sarrus.analysis.linkages.motion_walks import walks
from sarrus.analysis.linkages.tolerances import EQUAL_VALUES, RAYS
from sarrus.analysis.singularities.locked_rows import HeldRows, Output
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is, check_known
from sarrus.base.lazy_import import lazy_import
from sarrus.dynamics.closing.assembly import held_velocities
from sarrus.dynamics.closing.manifold import closed_starts, turning
from sarrus.dynamics.system import System

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MEASURES = ("smallest singular value", "inverse condition number", "singular value on motions")


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
    leading : (modes, n0, n1) how well the two coordinates lead the mechanism, NaN where status is NOT_REACHED: the
        smallest singular value of the closures' rows with theirs, in characteristic units. It is zero on the folds
        where modes meet.
    slack : (modes, n0, n1) how far the configuration is within limits [rad, κ], negative beyond, infinite without
        any, NaN where status is NOT_REACHED.
    q : (modes, n0, n1, nq) the configurations, NaN where status is not REACHED. Modes are in the order in which they
        were found, that of the start first.
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
    slack: Array
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

    def extreme(self, mode: int = 0, *, least: bool = False) -> tuple[int, int]:
        """Return the node of the largest or the ``least`` value of a mode, of equal ones the first."""
        values = self.values[mode] if least else -self.values[mode]
        lowest = float(np.nanmin(values))
        first = int(np.flatnonzero(values <= lowest + EQUAL_VALUES * np.nanmax(np.abs(values)))[0])
        return divmod(first, values.shape[1])

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
                "slack": (along, self.slack),
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
        return lazy_import("pictures.plots.plot", "singularity_map")(self, path, **options)

    def __str__(self) -> str:
        n0, n1 = self.status.shape[1:]
        lines = [
            f"{self.system.name}: {self.measure} with {self.held} at rest, over {self.names[0]} and {self.names[1]}",
            f"  {n0} × {n1} nodes, {self.modes} modes",
        ]
        for k, (values, status) in enumerate(zip(self.values, self.status)):
            i, j = self.extreme(k, least=True)
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


@described()
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
    (`sarrus.dynamics.model.characteristic`): its smallest singular value, which is zero on `singularity_locus` of the
    same ``driven`` or ``output``, or that over the largest one. Redundant rows change no zero. "singular value on
    motions" is the smallest one of H on the motions that A leaves, which they do not change at all: that of
    `sarrus.control.singularity_measure`, so that a map tells the level for a bound.

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
    check_is("singularity_map", system, System)
    check_known("measure", measure, MEASURES, system.name)
    starts = closed_starts(system, q, t)
    rows = HeldRows(system, starts[0], driven, output, t)
    within = SearchLimits.of(system, limits)
    for start in starts:
        within.require(start)
    hold = held_velocities(system, locked)
    rows.require_full_rank()
    rows.require_two_motions("a map", starts[0], hold)
    many = ManyConfigurations(system, t)
    plane = MapPlane(many, over)
    flood = MapFlood(many, plane, within, np.flatnonzero(hold.sum(axis=1) == 0.0), starts[0])
    walked = np.array(
        [p for start in starts for p in walks(system, start, RAYS, hold=hold, limits=within, t=t)]
    )
    search = MapSearch(flood, starts, walked, modes)
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
        slack=read_only(np.stack([sheet.slack for sheet in sheets])),
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


def _measured(rows: HeldRows, many: ManyConfigurations, plane: MapPlane, q: Array, measure: str) -> Array:
    """Return the measure (n,) at configurations (n, nq)."""
    out = np.empty(len(q))
    for begin in range(0, len(q), 4096):
        part = q[begin : begin + 4096]
        linear = None if rows.body is None else many.points(rows.body, rows.point, part)[1]
        stacked = rows.stacked(many.closures(part)[1], linear)
        if measure == MEASURES[2]:
            out[begin : begin + 4096] = _on_motions(stacked, rows.system.nh, rows.cut)
            continue
        values = np.linalg.svd(stacked, compute_uv=False)
        least = values[:, rows.system.nv - 1]
        out[begin : begin + 4096] = least if measure == MEASURES[0] else least / values[:, 0]
    return out


def _on_motions(stacked: Array, closures: int, cut: float) -> Array:
    """Return the smallest singular value (n,) of H on the motions that A leaves, of R = [A; H] (n, …, nv)."""
    _, sizes, right = np.linalg.svd(stacked[:, :closures])
    rank = int(np.max(np.count_nonzero(sizes > cut, axis=1)))
    moved = stacked[:, closures:] @ right[:, rank:].transpose(0, 2, 1)
    return np.asarray(np.linalg.svd(moved, compute_uv=False)[:, -1])
