"""Figures of a workspace, and of the curves of singular configurations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.plots.stroboscope import caption, draw_ground, draw_pose, picture_axes
from sarrus.pictures.plots.tolerances import LOCUS_POINT
from sarrus.pictures.symbols.picture_plane import View, choose_view, spanned
from sarrus.pictures.symbols.style import FAINT, INK, WARNING, colour, dress, new_figure, save_figure
from sarrus.pictures.symbols.text import literal, title

if TYPE_CHECKING:
    from sarrus.analysis.linkages.workspace import Workspace
    from sarrus.analysis.singularities.singularity_locus import SingularityLocus

# Break a line where a coordinate jumps by more than half a turn.
_JUMP = np.pi


def workspace(
    found: Workspace,
    path: str | Path | None = None,
    *,
    loci: Sequence[SingularityLocus] = (),
    plane: str | None = None,
) -> Figure:
    """Return a figure of the region that a point reaches, its outline and the mechanism at one node; ``path`` also
    saves it.

    ``loci``: curves of singular configurations drawn over it, as paths of the same point. ``plane`` as in
    `sarrus.plot.coupler_curve`.
    """
    system = found.system
    mechanism = system.current_mechanism()
    skeleton = build_skeleton(mechanism)
    placed = skeleton.place(system, found.start[None], np.zeros(1))
    view = choose_view(spanned(found.points), plane, mechanism.gravity)
    nodes, pose = view.project(found.points), view.project(placed[0])
    figure, axes = picture_axes(np.concatenate([nodes, pose])[None], view)
    size = 1.6 if len(nodes) > 600 else 3.0
    many = found.modes > 1
    axes.plot(*nodes[~many].T, ".", color=colour(4), markersize=size, zorder=2)
    axes.plot(*nodes[many].T, ".", color=colour(0), markersize=size, zorder=2)
    for ring, shade in ((r, c) for group, c in ((found.outline, INK), (found.holes, INK)) for r in group):
        axes.plot(*view.project(np.vstack([ring, ring[:1]])).T, color=shade, linewidth=1.3, zorder=4)
    _paths(axes, loci, view, found.body, found.point)
    draw_pose(axes, skeleton, pose, alpha=0.6, strong=True)
    draw_ground(axes, skeleton, pose)
    what = f"area {found.area:.4g} m²" if found.planar else f"volume {found.area:.4g} m³"
    caption(axes, system.name, f"workspace of {found.body}, {what}")
    return save_figure(figure, path)


def singularity_locus(
    found: SingularityLocus | Sequence[SingularityLocus],
    path: str | Path | None = None,
    *,
    over: tuple[str, str] | None = None,
    body: str | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    plane: str | None = None,
) -> Figure:
    """Return a figure of curves of singular configurations, of one locus or several; ``path`` also saves it.

    Over two coordinates, ``over=("left", "right")``, angles within one turn; or as paths of a ``point`` (3,) [m] of a
    ``body`` in ``plane``.
    """
    loci = list(found) if isinstance(found, Sequence) else [found]
    if (over is None) == (body is None):
        raise ArgumentError(
            "give either over, two coordinates, or body, whose point is followed", element="over"
        )
    system = loci[0].system
    heading = f"{title(system.name)}: singular configurations"
    if body is not None:
        traced = [piece for one in loci for piece in one.points(body, point)]
        places = np.concatenate(traced) if traced else np.zeros((1, 3))
        view = choose_view(spanned(places), plane, system.current_mechanism().gravity)
        figure, axes = picture_axes(view.project(places)[None], view)
        _paths(axes, loci, view, body, np.asarray(point, dtype=float))
        caption(axes, system.name, f"singular configurations, paths of {body}")
        return save_figure(figure, path)
    assert over is not None
    figure = new_figure(6.0, 5.6)
    axes = figure.subplots()
    for k, one in enumerate(loci):
        label: str | None = one.held
        for x, y in zip(one.values(over[0]), one.values(over[1])):
            line = np.stack([x, y], axis=1)
            for axis, name in enumerate(over):
                if system.coordinate_names.index(name) in one.turns:
                    line[:, axis] = np.mod(line[:, axis] + np.pi, 2 * np.pi) - np.pi
            broken = np.flatnonzero((np.abs(np.diff(line, axis=0)) > _JUMP).any(axis=1)) + 1
            for part in np.split(line, broken):
                still = np.ptp(part, axis=0).max() < LOCUS_POINT
                axes.plot(*part.T, "o" if still else "-", color=colour(k), linewidth=1.5, label=label)
                label = None
    dress(axes)
    for set_label, name in ((axes.set_xlabel, over[0]), (axes.set_ylabel, over[1])):
        literal(set_label("", size=10, color=INK), name)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    literal(axes.set_title("", loc="left", size=12, color=INK, weight="bold"), heading)
    return save_figure(figure, path)


def _paths(axes: object, loci: Sequence[SingularityLocus], view: View, body: str, point: Array) -> None:
    """Draw loci as paths of a point, each in a colour of its own with its name."""
    shades = (WARNING, colour(2), colour(3), FAINT)
    for k, one in enumerate(loci):
        label: str | None = f"singular, {one.held} at rest"
        for piece in one.points(body, point):
            axes.plot(  # type: ignore[attr-defined]
                *view.project(piece).T, color=shades[k % 4], linewidth=1.2, zorder=5, label=label
            )
            label = None
    if loci:
        axes.legend(  # type: ignore[attr-defined]
            frameon=False, fontsize=9, labelcolor=INK, loc="upper center", bbox_to_anchor=(0.5, -0.08)
        )
