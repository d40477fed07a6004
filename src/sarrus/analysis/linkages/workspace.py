"""`workspace`: the region that a point of a body reaches, with its outline, area and holes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.many_configurations import ManyConfigurations
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.linkages.motion_walks import motions, walks
from sarrus.analysis.linkages.outline import outlines, signed_area
from sarrus.analysis.linkages.reach import PointPlaces, Reach, grid_axes, require_region
from sarrus.analysis.linkages.tolerances import ENDLESS, WORKSPACE_NODES
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import three_numbers
from sarrus.dynamics.closing.assembly import held_velocities
from sarrus.dynamics.closing.manifold import closed_starts, rank_cut
from sarrus.dynamics.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# At how many configurations of walks it is looked along how many directions a point moves.
_LOOKED_AT = 32


@dataclass(frozen=True, eq=False, repr=False)
class Workspace:
    """The region that a point of a body reaches (read-only arrays); ``print`` gives a summary.

    Attributes
    ----------
    body, point : the body, and the point (3,) in axes of the body [m].
    points : (n, 3) reached nodes of the grid, in the world [m]. q : (n, nq) a configuration at each.
    modes : (n,) number of configurations found at each node (at most 16).
    cell : distance of the nodes [m].
    axes : (d, 3) directions of the grid: two in the plane of a planar mechanism, else x, y, z.
    outline : closed polygons (k, 3) around the region [m]; empty in space.
    holes : closed polygons (k, 3) around unreached parts inside of it [m].
    start : (nq,) the first start.
    area : area within the outlines without the holes [m²]; in space the volume of the cells of all nodes [m³].
    """

    body: str
    point: Array
    points: Array
    q: Array
    modes: np.ndarray
    cell: float
    axes: Array
    outline: tuple[Array, ...]
    holes: tuple[Array, ...]
    area: float
    start: Array
    system: System = field(repr=False)

    @property
    def planar(self) -> bool:
        """Whether the point moves in a plane."""
        return len(self.axes) == 2

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the region and its outline; options: `sarrus.plot.workspace`."""
        return lazy_import("pictures.plots.plot", "workspace")(self, path, **options)

    def __str__(self) -> str:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        box = ", ".join(
            f"{a} {x:.4g} to {y:.4g}" for a, x, y in zip("xyz", low, high) if y - x > self.cell / 2
        )
        what = f"area {self.area:.5g} m²" if self.planar else f"volume {self.area:.5g} m³"
        return (
            f"{self.system.name}: workspace of {self.body} {tuple(map(float, self.point))}\n"
            f"  {what}, {len(self.outline)} outlines, {len(self.holes)} holes; nodes {box} m\n"
            f"  {len(self.points)} nodes every {self.cell:.4g} m, up to {self.modes.max(initial=0)} modes at one"
        )

    def __repr__(self) -> str:
        return f"Workspace({self.system.name!r}: {self.body}, {len(self.points)} nodes)"


@described()
def workspace(
    system: System,
    q: ArrayLike,
    body: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    *,
    resolution: int = 40,
    locked: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    rays: int = 16,
    halvings: int = 10,
    t: float = 0.0,
) -> Workspace:
    """Return the `Workspace` of a point of a body within the limits of the joints, in the assembly modes connected with
    q.

    Walks over the motions from q, ``rays`` in seeded directions, find the modes and, with a coarse grid, the size of
    the workspace. From nodes near the walks Newton's method continues to neighbours, with closed loops and all
    coordinates within limits. Between a reached node and an unreached one the boundary is located by bisection.

    **Guaranteed**: at every reached node ``q`` is a configuration with closed loops, with the point there to 1e-10 κ,
    and within the limits. **Not guaranteed**: that an unreached node is unreachable. Holes smaller than ``cell`` are
    missed, as are modes that no walk finds; chords of the outline cut corners, so that the area is accurate to about
    cell² times the length of edges over their radius. `singularity_locus` of the ``output`` gives the bounding curves
    themselves.

    Parameters
    ----------
    q : (nq,) start, or several (k, nq), such as the modes of `assembly_modes`; closed to 1e-5 and within limits.
    body, point : the body, and the point (3,) in axes of the body [m].
    resolution : nodes along the longest side (between half and twice as many); more if the region is narrower than a
        cell.
    locked : joints or coordinates that are held, for instance the orientation of a platform.
    limits : {"crank": (lower, upper)}, in addition to and in place of those of joints [m, rad].
    rays : number of walks.
    halvings : number of bisections between two nodes: the outline is accurate to cell / 2**halvings.
    t : time of the constraints [s].

    Raises
    ------
    ArgumentError
        No such body or coordinate; a start outside of the limits; a point that rests, moves on a line or curve (use
        `coupler_curve`), or on a curved surface; an unbounded coordinate without limits; open loops.

    Redundant rows change nothing. If the mechanism has more degrees of freedom than the point, Newton's method takes
    the least step and does not search for a way around limits: the region found may then be too small.

    Source of the method: E. J. Haug, C.-M. Luh, F. A. Adkins, J.-Y. Wang, Numerical Algorithms for Mapping Boundaries
    of Manipulator Workspaces, Journal of Mechanical Design 118(2), 1996 (the boundary); nodes and bisection are our
    own.
    """
    check_is("workspace", system, System)
    starts = closed_starts(system, q, t)
    bodies = tuple(system.mechanism.bodies) if system.mechanism else ()
    check_known("body", body, bodies, system.name)
    place = three_numbers(point, f"{system.name}: point", element="point")
    within = SearchLimits.of(system, limits)
    hold = held_velocities(system, locked)
    for start in starts:
        within.require(start)
    seeds = np.array(
        [p for start in starts for p in walks(system, start, rays, hold=hold, limits=within, t=t)]
    )
    many = ManyConfigurations(system, t)
    seen, linear = many.points(body, place, seeds)
    axes = grid_axes(system, body, seen)
    some = np.unique(np.linspace(0, len(seeds) - 1, _LOOKED_AT).astype(int))
    cut = rank_cut(system, starts[0], t, 1.0, even=True)
    require_region(
        system, body, [motions(system, seeds[k], hold=hold, t=t, cut=cut) for k in some], linear[some], axes
    )
    free = np.flatnonzero(hold.sum(axis=1) == 0.0)
    places = PointPlaces(many, body, place, axes)

    def view_fields(size: float) -> Reach:
        return Reach(places, free, within, starts[0], size)

    reach = _filled(view_fields, seeds, len(starts), float(np.ptp(seen @ axes.T, axis=0).max()), resolution)
    size = reach.size
    cells = sorted(reach.found)
    offset = seen[0] - axes.T @ (axes @ seen[0])
    outer, inner, area = _outline(reach, offset, halvings)
    return Workspace(
        body=body,
        point=read_only(place.copy()),
        points=read_only(reach.goals(np.array(cells)) @ axes + offset),
        q=read_only(np.array([reach.found[c][0] for c in cells])),
        modes=np.array([len(reach.found[c]) for c in cells]),
        cell=size,
        axes=read_only(axes),
        outline=outer,
        holes=inner,
        area=area if len(axes) == 2 else len(cells) * size**3,
        start=read_only(starts[0].copy()),
        system=system,
    )


def _filled(
    view_fields: Callable[[float], Reach], seeds: Array, starts: int, extent: float, resolution: int
) -> Reach:
    """Return a grid with ``resolution`` nodes along the longest side, filled from seeds of this extent.

    A coarse grid first finds the extent of the region. The grid is refined if the region is narrower than its cells.
    """
    reach, wide = _grown(view_fields, seeds, extent, min(WORKSPACE_NODES, resolution))
    reach, extent = _grown(
        view_fields, seeds, extent if wide == extent else reach.span() * reach.size, resolution
    )
    most = resolution ** len(reach.origin) / 4
    while len(reach.found) < most and not reach.shows(seeds, starts):
        resolution *= 2
        reach, extent = _grown(view_fields, seeds, extent, resolution)
    return reach


def _grown(
    view_fields: Callable[[float], Reach], seeds: Array, extent: float, count: int
) -> tuple[Reach, float]:
    """Return a filled grid and its extent, doubled until all reached nodes are on it."""
    while not (reach := view_fields(extent / count)).flood(seeds, 2 * count):
        extent *= 2.0
        system = reach.system
        if extent > ENDLESS * system.characteristic.length:
            name = reach.farthest_coordinate()
            raise ArgumentError(
                f"{system.name}: the workspace is unbounded: give limits= for {name!r}, or lock it with locked=",
                element=name,
            )
    return reach, extent


def _outline(
    reach: Reach, offset: Array, halvings: int
) -> tuple[tuple[Array, ...], tuple[Array, ...], float]:
    """Return outlines, holes and area of a planar workspace."""
    axes = reach.places.axes
    if len(axes) != 2:
        return (), (), 0.0
    rings = outlines(set(reach.found))
    edges = [edge for ring in rings for edge in ring]
    start, goals = (reach.goals(np.array([edge[k] for edge in edges])) for k in (0, 1))
    tries = [(k, q) for k, (inside, _) in enumerate(edges) for q in reach.found[inside]]
    which = np.array([k for k, _ in tries])
    shares = np.zeros(len(edges))
    np.maximum.at(
        shares, which, reach.farthest(np.array([q for _, q in tries]), start[which], goals[which], halvings)
    )
    corners = start + shares[:, None] * (goals - start)
    polygons = np.split(corners, np.cumsum([len(ring) for ring in rings])[:-1])
    areas = [signed_area(polygon) for polygon in polygons]
    placed = [read_only(polygon @ axes + offset) for polygon in polygons]
    outer = tuple(ring for ring, area in zip(placed, areas) if area > 0.0)
    inner = tuple(ring for ring, area in zip(placed, areas) if area <= 0.0)
    return outer, inner, float(sum(areas))
