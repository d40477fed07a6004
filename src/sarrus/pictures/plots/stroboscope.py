"""Stroboscopic drawing of a motion: the skeleton at several times, earlier poses fainter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.text import Text
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.pictures.plots.contact_drawing import draw_contacts, marks_at
from sarrus.pictures.plots.skeleton import Skeleton, build_skeleton, drawn_system, placements
from sarrus.pictures.plots.style import LONG_SIDE, SLIMMEST, SMALLEST_MECHANISM
from sarrus.pictures.plots.tolerances import AT_CENTRE, POINT_MOVES
from sarrus.pictures.symbols.glyphs import profile
from sarrus.pictures.symbols.picture_plane import View, choose_view
from sarrus.pictures.symbols.style import FAINT, INK, WIDTH, colour, dress, new_figure, save_figure
from sarrus.pictures.symbols.symbols import STYLES
from sarrus.pictures.symbols.text import literal, title

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.motion.records.trajectory import Trajectory

_TRACE_SAMPLES = 1200


def stroboscope(
    trajectory: Trajectory,
    path: str | Path | None = None,
    *,
    system: System | None = None,
    plane: str | None = None,
    frames: int | ArrayLike = 12,
) -> Figure:
    """Return a stroboscopic drawing of a trajectory: skeletons of the bodies at several times, earlier ones fainter.

    Parameters
    ----------
    path : also saves the figure (.png, .pdf, .svg).
    system : the system that moved, if neither the trajectory nor its file has it.
    plane : "xy", "xz", "yz" or "3d" (orthographic). Default: the plane of the motion, or "3d".
    frames : number of poses evenly spaced in time, or the times of the poses [s].
    """
    system, mechanism = drawn_system(trajectory, system)
    times = _pose_times(trajectory, frames)
    skeleton = build_skeleton(mechanism)
    dense = np.linspace(times[0], times[-1], _TRACE_SAMPLES) if len(times) > 1 else times
    positions, rotations = placements(system, trajectory.at(dense), dense)
    traced = skeleton.at(positions, rotations)
    view = choose_view(skeleton.own(traced), plane, mechanism.gravity)
    posed = skeleton.place(system, trajectory.at(times), times)
    traces, poses = view.project(traced), view.project(posed)
    marks = marks_at(mechanism, skeleton, positions, rotations, view)

    figure, axes = picture_axes(marks.with_planes(traces), view)
    moving = [k for k in skeleton.hinges if np.ptp(traces[:, k], axis=0).max() > POINT_MOVES]
    axes.add_collection(
        LineCollection(
            [traces[:, k] for k in moving], colors=FAINT, linewidths=0.6, linestyles="dotted", zorder=1
        )
    )
    strengths = np.linspace(0.0, 1.0, len(poses)) if len(poses) > 1 else np.ones(1)
    for pose, strength in zip(poses, strengths):
        last = strength == 1.0
        draw_pose(axes, skeleton, pose, alpha=1.0 if last else 0.16 + 0.42 * strength**1.5, strong=last)
    draw_ground(axes, skeleton, poses[-1])
    draw_contacts(axes, marks, -1)
    span = (
        f"t = {times[0]:.3g} … {times[-1]:.3g} s, {len(times)} poses"
        if len(times) > 1
        else f"t = {times[0]:.3g} s"
    )
    caption(axes, trajectory.name, span)
    return save_figure(figure, path)


def picture_axes(traces: Array, view: View) -> tuple[Figure, Axes]:
    """Return a figure whose axes, of equal aspect, hold all points (frames, n, 2) with a margin."""
    used = traces.reshape(-1, 2)
    low, high = used.min(axis=0), used.max(axis=0)
    longest = max(float((high - low).max()), SMALLEST_MECHANISM)
    half = np.maximum(0.5 * (high - low), SLIMMEST * 0.5 * longest) + 0.07 * longest
    centre = 0.5 * (low + high)
    low, high = centre - half, centre + half
    size = half / half.max() * LONG_SIDE
    figure = new_figure(size[0] + 0.8, size[1] + 1.3)  # room for labels, name and caption
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    dress(axes)
    if view.spatial:
        axes.set_axis_off()
        axes.annotate(
            "orthographic view, z up", (0.0, 0.0), xycoords="axes fraction", size=8, color=FAINT, va="bottom"
        )
    else:
        axes.set_xlabel(view.labels[0])
        axes.set_ylabel(view.labels[1])
    return figure, axes


def draw_pose(axes: Axes, skeleton: Skeleton, pose: Array, *, alpha: float, strong: bool) -> list:
    """Draw the bodies at one pose (n, 2); return the artists for `move_pose`."""
    artists: list = []
    for k, outline in enumerate(skeleton.outlines):
        if len(outline) > 2:
            patch = Polygon(np.zeros((3, 2)), color=colour(k), alpha=0.25 * alpha, linewidth=0, zorder=2)
            artists.append(axes.add_patch(patch))
        artists += axes.plot(
            [],
            [],
            color=colour(k),
            alpha=alpha,
            linewidth=4.2 if strong else 1.8,
            solid_capstyle="round",
            solid_joinstyle="round",
            zorder=3 if strong else 2,
        )
    for _ in skeleton.rods:
        artists += axes.plot([], [], color=INK, alpha=alpha, linewidth=1.0, linestyle="--", zorder=2)
    if strong:
        for marker, size in (("o", 5.5), ("s", 9.0)):
            artists += axes.plot(
                [], [], marker, markersize=size, color="white", markeredgecolor=INK, zorder=4
            )
    for style in _symbols(skeleton, pose, strong=strong):
        shade, pattern = STYLES[style]
        above = 4.5 if strong else 2.0
        artists += axes.plot([], [], color=shade, alpha=alpha, linewidth=1.1, linestyle=pattern, zorder=above)
    move_pose(artists, skeleton, pose, strong=strong)
    return artists


def move_pose(artists: list, skeleton: Skeleton, pose: Array, *, strong: bool = True) -> None:
    """Move the artists of `draw_pose` to another pose."""
    places = []
    for outline in skeleton.outlines:
        line = pose[list(outline)]
        places += [_around(line), _closed(line)] if len(outline) > 2 else [line]
    places += [pose[list(points)] for points in skeleton.rods]
    if strong:  # faint poses have no marks of the joints
        places += [pose[list(points)] for points in (skeleton.hinges, skeleton.sliders)]
    places += _symbols(skeleton, pose, strong=strong).values()
    for artist, points in zip(artists, places, strict=True):
        if isinstance(artist, Polygon):
            artist.set_xy(points)
        else:
            artist.set_data(*points.T)


def _symbols(skeleton: Skeleton, pose: Array, *, strong: bool) -> dict[str, Array]:
    """Return the lines of symbols by style, separated by NaN; faint poses have links only."""
    first, half = len(skeleton.points), WIDTH * skeleton.symbols.size
    found: dict[str, list[Array]] = {}
    for glyph, style, rows in skeleton.symbols.pieces():
        if strong or glyph != "line":
            points = pose[rows + first]
            line = points if glyph == "line" else _linked(glyph, points, half)
            found.setdefault(style, []).extend((line, np.full((1, 2), np.nan)))
    return {style: np.concatenate(lines) for style, lines in found.items()}


def _linked(glyph: str, ends: Array, half: float) -> Array:
    """Return a link on paper from the first to the second end (2, 2), its lines parted by NaN."""
    way = ends[1] - ends[0]
    length = float(np.hypot(*way))
    across = half * np.array([-way[1], way[0]]) / length if length > 0.0 else np.zeros(2)
    lines = [ends[0] + line @ np.stack([way, across]) for line in profile(glyph)]
    return np.concatenate([part for line in lines for part in (line, np.full((1, 2), np.nan))])


def draw_ground(axes: Axes, skeleton: Skeleton, pose: Array) -> None:
    """Draw a hatched triangle under each pivot on the ground."""
    for k in skeleton.pivots:
        axes.plot(*pose[k], marker=_PIVOT, markersize=20, color=INK, markerfacecolor="#d5dbdf", zorder=1.5)


def caption(axes: Axes, name: str, text: str) -> Text:
    """Write the name of the system and a line of text above the drawing; returns that line."""
    literal(axes.set_title("", loc="left", size=12, color=INK, weight="bold", pad=20), title(name))
    line = axes.annotate(
        "", (0, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", size=9, color=INK
    )
    return literal(line, text)


def _pose_times(trajectory: Trajectory, frames: int | ArrayLike) -> Array:
    if not len(trajectory.t):
        raise ArgumentError(f"trajectory {trajectory.name!r} is empty", element="frames")
    if np.ndim(frames) == 0:
        count = int(frames)  # type: ignore[arg-type]
        if count < 1:
            raise ArgumentError(
                f"frames must be at least 1, or a sequence of times, got {frames!r}", element="frames"
            )
        return np.linspace(trajectory.t[0], trajectory.t[-1], count) if count > 1 else trajectory.t[-1:]
    times = np.sort(np.asarray(frames, dtype=float).ravel())
    if not len(times):
        raise ArgumentError("frames holds no times", element="frames")
    return times


def _around(points: Array) -> Array:
    """Return the points in the order of an outline around their centre, without a point at the centre."""
    offset = points - points.mean(axis=0)
    far = np.linalg.norm(offset, axis=1)
    ring = far > AT_CENTRE * far.max()
    return points[ring][np.argsort(np.arctan2(offset[ring, 1], offset[ring, 0]))]


def _closed(points: Array) -> Array:
    ring = _around(points)
    return np.concatenate([ring, ring[:1]])


_PIVOT = [(0.0, 0.0), (-0.6, -1.0), (0.6, -1.0), (0.0, 0.0)]
