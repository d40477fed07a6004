"""Figures of singularity maps: a measure as shading over two coordinates, one panel for each mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from sarrus.analysis.configurations.many_configurations import ManyConfigurations, chords
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.pictures.plots.map_edges import around, beside, edge, finer, padded, padded_nodes
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.plots.stroboscope import draw_pose
from sarrus.pictures.plots.style import (
    INSET_SIDE,
    MODE_SIDE,
    MODES_DRAWN,
    NODES_NEAR,
    NODES_SPACED,
)
from sarrus.pictures.plots.tolerances import NODE_TOUCHED
from sarrus.pictures.symbols.picture_plane import choose_view
from sarrus.pictures.symbols.style import FAINT, GRID, INK, WARNING, colour, dress, new_figure, save_figure
from sarrus.pictures.symbols.text import head, legend, literal, title

if TYPE_CHECKING:
    from sarrus.analysis.linkages.singularity_map import SingularityMap
    from sarrus.analysis.singularities.singularity_locus import SingularityLocus

# Contour lines of the measure, and parts of a step of the grid that are shaded.
_LINES, _PARTS = 8, 4
# What is not reached.
_EMPTY, _HATCH = "#f7f8f9", "////"


def singularity_map(
    found: SingularityMap,
    path: str | Path | None = None,
    *,
    loci: Sequence[SingularityLocus] = (),
    modes: Sequence[int] | None = None,
    pose: bool = True,
) -> Figure:
    """Return a figure of the measure over the two coordinates, a panel for each mode; ``path`` also saves it.

    Unreached regions are hatched; a grey line is the limit of a joint.

    Parameters
    ----------
    loci : curves of singular configurations drawn over the map, each in the panel of its mode.
    modes : indices of the modes to draw; default: the first four.
    pose : draw the mechanism at the configuration farthest from singularity, in each mode.
    """
    shown = list(range(min(found.modes, MODES_DRAWN))) if modes is None else list(modes)
    if not shown or not all(0 <= k < found.modes for k in shown):
        raise ArgumentError(
            f"modes must be indices from 0 to {found.modes - 1}, got {modes!r}", element="modes"
        )
    columns = min(len(shown), 2)
    rows = -(-len(shown) // columns)
    figure = new_figure(*_size(found, rows, columns))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    heading = f"{title(found.system.name)}: with {found.held} at rest"
    head(figure, heading)
    highest = float(np.nanmax(found.values[shown]))
    mesh, lines, curves = None, [], [_Curves(found, one) for one in loci]
    for axes, mode in zip(panels, shown):
        mesh = _shade(axes, found, mode, highest)
        lines = [one.draw(axes, mode, k) for k, one in enumerate(curves)]
        if pose and found.system.mechanism is not None:
            _draw_mechanism(axes, found, mode)
        axes.set_title(f"mode {mode}" if found.modes > 1 else "", loc="left", size=10, color=INK)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    _label(panels, found, columns, len(shown))
    assert mesh is not None
    bar = figure.colorbar(mesh, ax=list(panels), fraction=0.04, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, colors=INK, length=3)
    bar.set_label(f"{found.measure} [1]", size=10, color=INK)
    if loci:
        labels = [f"singular, {one.held} at rest" for one in loci]
        legend(figure, lines, labels, loc="outside lower center", ncols=2)
    return save_figure(figure, path)


def _size(found: SingularityMap, rows: int, columns: int) -> tuple[float, float]:
    """Return width and height of the figure [inch]."""
    x, y = (np.ptp(nodes) for nodes in found.coordinates)
    side = MODE_SIDE if columns > 1 else 1.25 * MODE_SIDE
    high = 1.0 if found.body is None else min(max(float(y / x), 0.4), 2.5)
    return columns * side / max(1.0, high) + 1.3, rows * side * min(1.0, high) + 1.1


def _shade(axes: Axes, found: SingularityMap, mode: int, highest: float) -> QuadMesh:
    """Shade one mode, hatch unreached regions, and draw contour lines of the measure."""
    x, y = (finer(padded_nodes(nodes), _PARTS) for nodes in found.coordinates)
    shaded = _shaded(found, mode).T
    low, high = (np.array([_edges(nodes)[k] for nodes in found.coordinates]) for k in (0, -1))
    nothing = Rectangle(
        (low[0], low[1]),
        *(high - low),
        facecolor=_EMPTY,
        edgecolor=GRID,
        hatch=_HATCH,
        linewidth=0.0,
        zorder=0,
    )
    axes.add_patch(nothing)
    mesh = axes.pcolormesh(
        _edges(x), _edges(y), shaded, cmap="viridis", vmin=0.0, vmax=highest, zorder=1, rasterized=True
    )
    if shaded.count() > 4:
        levels = np.linspace(0.0, highest, _LINES + 2)[1:-1]
        axes.contour(x, y, shaded, levels=levels, colors="white", linewidths=0.5, alpha=0.6, zorder=2)
    slack = finer(_slack(found, mode), _PARTS).T
    if (slack < 0.0).any():
        line = np.ma.masked_invalid(slack)
        axes.contour(x, y, line, levels=[0.0], colors=FAINT, linewidths=1.6, zorder=3)
    dress(axes)
    axes.grid(False)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    if found.body is not None:
        axes.set_aspect("equal")
    return mesh


def _shaded(found: SingularityMap, mode: int) -> np.ma.MaskedArray:
    """Return the measure between nodes, masked beyond folds, where the size of T is zero, and beyond limits."""
    status = padded(found.status[mode], found.wraps, found.NOT_REACHED)
    values, sizes = (padded(array[mode], found.wraps, np.nan) for array in (found.values, found.leading))
    missing = status == found.NOT_REACHED
    limited = missing & beside(beside(status == found.BEYOND_LIMITS))
    values = around(around(values, status != found.REACHED), status != found.REACHED)
    sizes = around(around(sizes, limited), limited)
    inside = finer(edge(sizes**2, missing), _PARTS)
    within = finer(_slack(found, mode), _PARTS)
    shaded = finer(values, _PARTS)
    outside = ~(np.fmin(inside, within) >= 0.0) | (
        np.isnan(within) & (finer(limited.astype(float), _PARTS) > 0.0)
    )
    return np.ma.masked_where(outside | ~np.isfinite(shaded + inside), shaded)


def _slack(found: SingularityMap, mode: int) -> Array:
    """Return the distance of a mode from its limits, negative beyond and near them, NaN without limits."""
    slack = padded(found.slack[mode], found.wraps, np.nan)
    slack = np.where(np.isinf(slack), np.nan, slack)
    for _ in range(2):
        outer = around(np.where(slack < 0.0, slack, np.nan), np.isnan(slack))
        slack = np.where(np.isnan(slack), outer, slack)
    return slack


def _edges(nodes: Array) -> Array:
    """Return the edges of the cells round nodes."""
    half = (nodes[1] - nodes[0]) / 2
    return np.append(nodes - half, nodes[-1] + half)


def _label(panels: Array, found: SingularityMap, columns: int, count: int) -> None:
    """Name the two coordinates at the outer panels; full turns have ticks at quarters."""
    for k, axes in enumerate(panels[:count]):
        if k + columns >= count:
            axes.tick_params(labelbottom=True)
            literal(axes.set_xlabel("", size=10, color=INK), _with_unit(found, 0))
        if k % columns == 0:
            literal(axes.set_ylabel("", size=10, color=INK), _with_unit(found, 1))
        for axis, wraps in ((axes.xaxis, found.wraps[0]), (axes.yaxis, found.wraps[1])):
            if wraps:
                axis.set_ticks(np.pi * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), ["−π", "−π/2", "0", "π/2", "π"])


def _with_unit(found: SingularityMap, k: int) -> str:
    return f"{found.names[k]} [{found.units[k]}]" if found.units[k] else found.names[k]


# --- loci, each in the panel of its mode -------------------------------------------------------------------


class _Curves:
    """A locus over the two coordinates: lines (k, 2) with, for each point, the mask of its modes (modes, k)."""

    def __init__(self, found: SingularityMap, locus: SingularityLocus) -> None:
        self.lines = [_over(found, piece) for piece in locus.pieces]
        self.belongs = [_belongs(found, piece, line) for piece, line in zip(locus.pieces, self.lines)]
        self.jumps = 0.5 * np.array([nodes[-1] - nodes[0] for nodes in found.coordinates])

    def draw(self, axes: Axes, mode: int, k: int) -> Line2D:
        """Draw what belongs to a mode in the k-th colour; returns a line for the legend."""
        shade = (WARNING, INK, colour(1), colour(3))[k % 4]
        casing = [withStroke(linewidth=3.0, foreground="white", alpha=0.85)]
        for line, belongs in zip(self.lines, self.belongs):
            part = np.where(belongs[mode][:, None], line, np.nan)
            jumps = (np.abs(np.diff(part, axis=0)) > self.jumps).any(axis=1)
            part = np.insert(part, np.flatnonzero(jumps) + 1, np.nan, axis=0)
            axes.plot(*part.T, color=shade, linewidth=1.4, zorder=5, path_effects=casing)
        return Line2D([], [], color=shade, linewidth=1.4)


def _over(found: SingularityMap, q: Array) -> Array:
    """Return the two coordinates (n, 2) of configurations, angles brought into the map by full turns."""
    if found.body is not None:
        places, _ = ManyConfigurations(found.system, found.t).points(found.body, found.point, q)
        return np.asarray(places @ found.axes.T)
    indices = [found.system.coordinate_names.index(name) for name in found.names]
    line = q[:, indices].copy()
    for k, nodes in enumerate(found.coordinates):
        if indices[k] in found.turns:
            middle = (nodes[0] + nodes[-1]) / 2
            line[:, k] -= 2 * np.pi * np.rint((line[:, k] - middle) / (2 * np.pi))
    return line


def _belongs(found: SingularityMap, q: Array, line: Array) -> np.ndarray:
    """Return which configurations (n, nq) belong to which modes (modes, n).

    The nodes of their mode around them are about as near as those of any mode, and not much farther than their
    neighbours.
    """
    gaps, spacing = np.array([_gaps(found, k, q, line) for k in range(found.modes)]).transpose(1, 0, 2)
    nearest = gaps.min(axis=0)
    near = np.isfinite(nearest) & (gaps <= NODES_NEAR * nearest + NODE_TOUCHED)
    return np.asarray(near & (gaps <= NODES_SPACED * spacing))


def _gaps(found: SingularityMap, mode: int, q: Array, line: Array) -> tuple[Array, Array]:
    """Return the distance of configurations (n, nq) from those of a mode at adjacent nodes, and the spacing of these.

    (n,) each: the least distance to one of them, infinite without any, and the largest between it and its neighbours.
    """
    shape = found.status.shape[1:]
    steps = [nodes[1] - nodes[0] for nodes in found.coordinates]
    middle = np.stack(
        [np.rint((line[:, k] - found.coordinates[k][0]) / steps[k]).astype(int) for k in (0, 1)], axis=1
    )

    def at(cells: np.ndarray) -> Array:
        wrapped = np.where(found.wraps, cells % shape, cells)
        inside = np.all((wrapped >= 0) & (wrapped < shape), axis=1)
        i, j = np.where(inside[:, None], wrapped, 0).T
        return np.where(inside[:, None], found.q[mode, i, j], np.nan)

    gaps, best = np.full(len(q), np.inf), middle.copy()
    for way in product(range(-2, 3), repeat=2):
        cells = middle + np.array(way)
        gap = _distance(found, at(cells), q)
        nearer: np.ndarray = np.asarray(gap < gaps)
        gaps[nearer], best[nearer] = gap[nearer], cells[nearer]
    here = at(best)
    ways = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
    beside = [_distance(found, at(best + way), here) for way in ways]
    return gaps, np.fmax.reduce(beside)


def _distance(found: SingularityMap, one: Array, other: Array) -> Array:
    """Return the distance of configurations (n, nq) from others (n,), in characteristic units; NaN if one is
    unknown.
    """
    gap = chords(other, one, found.system, list(found.turns))
    return np.asarray(np.linalg.norm(gap * found.system.characteristic.coordinates, axis=1))


# --- the mechanism -----------------------------------------------------------------------------------------


def _draw_mechanism(axes: Axes, found: SingularityMap, mode: int) -> None:
    """Draw the mechanism at the configuration farthest from singularity: in place, or in a corner."""
    system = found.system
    skeleton = build_skeleton(system.current_mechanism())
    best = found.extreme(mode)
    placed = skeleton.place(system, found.q[mode][best][None], np.full(1, found.t))
    if found.body is not None:
        over = axes.inset_axes((0.0, 0.0, 1.0, 1.0), zorder=6)
        over.set_axis_off()
        over.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
        draw_pose(over, skeleton, placed[0] @ found.axes.T, alpha=0.9, strong=False)
        _draw_hinges(over, placed[0] @ found.axes.T, list(skeleton.hinges))
        return
    everywhere = found.q[mode][found.status[mode] == found.REACHED]
    some = everywhere[:: max(1, len(everywhere) // 60)]
    seen = skeleton.own(skeleton.place(system, some, np.full(len(some), found.t)))
    view = choose_view(seen, None, system.current_mechanism().gravity)
    pose = view.project(placed[0])
    inset = axes.inset_axes(
        (*_free_corner(found.status[mode] == found.REACHED), INSET_SIDE, INSET_SIDE), zorder=6
    )
    draw_pose(inset, skeleton, pose, alpha=1.0, strong=False)
    _draw_hinges(inset, pose, list(skeleton.hinges))
    inset.set_aspect("equal", adjustable="datalim")
    inset.margins(0.15)
    inset.set(xticks=[], yticks=[])
    inset.patch.set_alpha(0.85)
    for spine in inset.spines.values():
        spine.set_color(GRID)
    x, y = (found.coordinates[k][best[k]] for k in (0, 1))
    axes.plot(x, y, "o", color="white", markeredgecolor=INK, markersize=5, zorder=6)


def _draw_hinges(axes: Axes, pose: Array, hinges: list[int]) -> None:
    axes.plot(*pose[hinges].T, "o", color="white", markeredgecolor=INK, markersize=3, zorder=4.5)


def _free_corner(reached: np.ndarray) -> tuple[float, float]:
    """Return the corner or middle of a side of a panel where a drawing hides the fewest nodes."""
    side = 1.0 - INSET_SIDE - 0.02
    places = [(x, y) for x in (0.02, side / 2, side) for y in (0.02, side / 2, side)]
    hidden = []
    for place in places:
        i, j = (slice(int(at * n), int((at + INSET_SIDE) * n) + 1) for at, n in zip(place, reached.shape))
        hidden.append(int(np.count_nonzero(reached[i, j])))
    return places[int(np.argmin(hidden))]
