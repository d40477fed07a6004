"""`singularity_map`: a measure of the distance from singular configurations over two coordinates."""

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
    """A measure of the distance from singular configurations over two coordinates (read-only arrays); ``print``: a
    summary.

    Attributes
    ----------
    measure : name of the measure. held : the velocities at rest: "driven …" (type 2) or "output …" (type 1).
    names, units : of the two coordinates.
    coordinates : their values at the nodes, (n0,) and (n1,).
    values : (modes, n0, n1) the measure, NaN where ``status`` is not REACHED.
    status : (modes, n0, n1) 0 REACHED, 1 NOT_REACHED, 2 BEYOND_LIMITS (the configuration is beyond limits).
    leading : (modes, n0, n1) smallest singular value of the rows of the closures and of the two coordinates, in
        characteristic units; zero on folds, where modes meet. NaN where status is NOT_REACHED.
    slack : (modes, n0, n1) distance of the configuration from its limits [rad, κ], negative beyond, infinite without
        limits, NaN where status is NOT_REACHED.
    q : (modes, n0, n1, nq) configurations, NaN where status is not REACHED. Modes are in the order in which they were
        found, that of the start first.
    wraps : for both coordinates whether the last node is a neighbour of the first, after a full turn.
    turns : indices of the coordinates that repeat after a full turn.
    body, point : body and point of a map over a point; None for coordinates.
    axes, offset : for a point, directions (2, 3) of the coordinates, and its position at zero of both (3,) [m].
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
        """Number of modes."""
        return len(self.values)

    @property
    def least(self) -> float:
        """The smallest value at a node."""
        return float(np.nanmin(self.values))

    def extreme(self, mode: int = 0, *, least: bool = False) -> tuple[int, int]:
        """Return the node of the largest (``least=True``: the smallest) value of a mode; of equal values the first."""
        values = self.values[mode] if least else -self.values[mode]
        lowest = float(np.nanmin(values))
        first = int(np.flatnonzero(values <= lowest + EQUAL_VALUES * np.nanmax(np.abs(values)))[0])
        return divmod(first, values.shape[1])

    def at_least(self, value: float, mode: int = 0) -> float:
        """Return the fraction of the reached nodes of a mode at which the measure is at least ``value``."""
        values = self.values[mode][self.status[mode] == REACHED]
        return float(np.mean(values >= value)) if len(values) else 0.0

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset`: measure, status and leading over mode and the two coordinates, and q."""
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
        """Return a figure with the measure as shading; options: `sarrus.plot.singularity_map`."""
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
    """Return a `SingularityMap`: a measure of the distance from singularity over two coordinates of a mechanism.

    The mechanism has two degrees of freedom. The measure refers to R = [A; H], H v being the velocities at rest, in
    characteristic units (`sarrus.dynamics.model.characteristic`): its smallest singular value, which is zero on the
    `singularity_locus` with the same ``driven`` or ``output``, or the inverse condition number. Redundant rows move no
    zero. "singular value on motions" is the smallest singular value of H on the null space of A, independent of
    redundant rows: the measure of `sarrus.control.singularity_measure`, so that a map shows the level for a bound.

    From the start, configurations are continued from node to node by Newton's method without crossing folds, where the
    two coordinates no longer determine the configuration. Each mode is one sheet of configurations. Further sheets are
    found across folds, by seeded walks over the motions, and from further starts.

    **Guaranteed**: at every reached node ``q`` is a configuration with closed loops and the coordinates of the node, to
    1e-10 (rad and κ) or the digits of the model, within the limits. **Not guaranteed**: that a node which is not
    reached is unreachable, especially within a cell of a fold; modes that neither a fold nor a walk connects with the
    starts are missed.

    Parameters
    ----------
    q : (nq,) start, or several (k, nq), such as the modes of `assembly_modes`; closed to 1e-5 and within limits.
    over : two scalar coordinates, ("left", "right"), or a point of a body that moves in a plane, ("link2", (1.5, 0,
        0)), whose coordinates are x, y or z of the world.
    driven, output : as in `singularity_locus`: type 2 and type 1 singularities.
    locked : joints or coordinates that are held, so that two degrees of freedom are left.
    region : ((lower, upper), (lower, upper)) of both [rad, m]. Default: limits of joints, a full turn, or the range of
        seeded walks from the start.
    limits : {"crank": (lower, upper)}, in addition to and in place of those of joints [m, rad].
    resolution : nodes along each coordinate; for a point along the longer side. modes : largest number of modes.
    measure : one of the three measures. t : time of the constraints [s].

    Raises
    ------
    ArgumentError
        Not two degrees of freedom; coordinates that do not determine the configuration at the start; R without full
        rank near q; a start outside of the limits or farther than a node from the region; unknown names; open loops.
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
    values[reached] = _measured(rows, many, found[reached], measure)
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


def _measured(rows: HeldRows, many: ManyConfigurations, q: Array, measure: str) -> Array:
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
    """Return the smallest singular value (n,) of H on the null space of A, for R = [A; H] (n, …, nv)."""
    _, sizes, right = np.linalg.svd(stacked[:, :closures])
    rank = int(np.max(np.count_nonzero(sizes > cut, axis=1)))
    moved = stacked[:, closures:] @ right[:, rank:].transpose(0, 2, 1)
    return np.asarray(np.linalg.svd(moved, compute_uv=False)[:, -1])
