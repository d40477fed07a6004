"""Figures of reactions: arrows on the bodies, magnitudes over time, and hodographs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from sarrus.analysis.loads.reaction_table import floors
from sarrus.analysis.loads.reactions import Reactions
from sarrus.analysis.loads.reactions_along import ReactionsAlong, names_of
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.plots.stroboscope import caption, draw_ground, draw_pose, picture_axes
from sarrus.pictures.plots.style import FINEST_COUPLE, LIGHT_COUPLES, LONGEST_ARROW, NAMES_ROOM, WIDEST_ARROW
from sarrus.pictures.plots.time_panels import finish, time_panels
from sarrus.pictures.plots.tolerances import EQUAL_REACH, NO_ARROW
from sarrus.pictures.symbols.glyphs import turning_arrow
from sarrus.pictures.symbols.picture_plane import PLANES, choose_view, spanned
from sarrus.pictures.symbols.style import (
    COUPLE,
    FAINT,
    INK,
    WARNING,
    colour,
    dress,
    new_figure,
    save_figure,
)
from sarrus.pictures.symbols.text import BESIDE, legend, literal, title

_MOST = 12  # names in a legend


def reactions(found: Reactions, path: str | Path | None = None, *, plane: str | None = None) -> Figure:
    """Return a drawing of the bodies with the forces and couples of joints on their children and of closures on bodies
    2.

    Couples are arrows around their axis, with proportional radii. Dashed arrows mark forces in the plane of the picture
    that are not unique because the mechanism is overconstrained; one possible value is shown. ``plane`` is "xy", "xz",
    "yz" or "3d", by default that in which all points lie; ``path`` also saves the figure (.png, .pdf, .svg).
    """
    system = found.system
    mechanism = system.current_mechanism()
    skeleton = build_skeleton(mechanism)
    placed = skeleton.place(system, found.q[None], np.array([found.t]))
    forces = np.einsum("nji,nj->ni", found.axes, found.force)
    sizes = np.sqrt((forces**2).sum(axis=1))
    bodies = skeleton.own(placed)[0]
    every = np.concatenate([bodies, found.points])
    extent = float(np.ptp(every, axis=0).max())
    scale = (
        LONGEST_ARROW * (extent if extent > 0.0 else 1.0) / sizes.max()
        if sizes.max(initial=0.0) > 0.0
        else 0.0
    )
    tips = found.points + scale * forces
    view = choose_view(spanned(np.concatenate([bodies, tips])), plane, mechanism.gravity)
    pose, starts, ends = (view.project(part) for part in (placed[0], found.points, tips))
    couples, turning = _couples(found, extent, sizes.max(initial=0.0))
    arcs = [view.project(line) for lines in turning.values() for line in lines]
    figure, axes = picture_axes(np.concatenate([pose, starts, ends, *arcs])[None], view)
    low, high = axes.get_xlim()
    axes.set_xlim(low - NAMES_ROOM * (high - low), high + NAMES_ROOM * (high - low))
    seen = np.abs(np.stack([view.right, view.up]) @ np.swapaxes(found.axes, 1, 2)).max(axis=1) > NO_ARROW
    draw_pose(axes, skeleton, pose, alpha=0.55, strong=True)
    draw_ground(axes, skeleton, pose)
    loose, notes = False, []
    for k, (start, end) in enumerate(zip(starts, ends)):
        words = []
        if k in turning:
            sure = bool(
                found.settled[k, 3:][np.abs(found.couple[k]) > NO_ARROW * np.linalg.norm(couples[k])].all()
            )
            loose |= not sure
            for line in turning[k]:
                (drawn,) = axes.plot(
                    *view.project(line).T, color=COUPLE if sure else FAINT, linewidth=1.6, zorder=6
                )
                drawn.set_linestyle("-" if sure else (0, (4, 2)))
            words.append(f"{np.linalg.norm(couples[k]):.3g} N m")
        pushes = sizes[k] > NO_ARROW * sizes.max()
        if not pushes and not words:
            continue
        sure = found.settled[k, :3][seen[k]].all()
        loose |= pushes and not sure
        style = {"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12}
        style |= {"color": WARNING if sure else FAINT, "linestyle": "-" if sure else (0, (4, 2))}
        if pushes:
            axes.annotate("", end, start, arrowprops=style, zorder=6)
            words.insert(0, f"{sizes[k]:.3g} N")
        text = f"{found.names[k]} {', '.join(words)}"
        away = end - start
        note = axes.annotate(
            "", end, (4 if away[0] >= 0 else -4, 3 if away[1] >= 0 else -3), textcoords="offset points", size=8,
            color=INK, ha="left" if away[0] >= 0 else "right", va="bottom" if away[1] >= 0 else "top", zorder=7,
        )  # fmt: skip
        notes.append(literal(note, text))
    _part(figure, notes)
    dashed = "; dashed: not unique, one possible value" if loose else ""
    caption(axes, found.name, f"loads on the child, on body 2 of closures, t = {found.t:.3g} s{dashed}")
    return save_figure(figure, path)


def _part(figure: Figure, notes: list[Text]) -> None:
    """Move labels down past those that they would cover."""
    figure.draw_without_rendering()
    taken: list[Bbox] = []
    for note in notes:
        box = note.get_window_extent()
        for _ in taken:
            covered = [other for other in taken if box.overlaps(other)]
            if not covered:
                break
            box = box.translated(0.0, min(other.y0 for other in covered) - box.y1 - 1.0)
        down = (box.y0 - note.get_window_extent().y0) * 72.0 / figure.dpi
        note.set_position((note.get_position()[0], note.get_position()[1] + down))
        taken.append(box)


def _couples(found: Reactions, extent: float, largest: float) -> tuple[Array, dict[int, list[Array]]]:
    """Return the couples (n, 3) in the world, and the lines of the arrows of those that have one."""
    couples = np.einsum("nji,nj->ni", found.axes, found.couple)
    sizes = np.sqrt((couples**2).sum(axis=1))
    typical = max(float(sizes.max(initial=0.0)), LIGHT_COUPLES * largest * found.length)
    least = max(floors(found.force, found.couple, found.length)[3], FINEST_COUPLE * typical)
    return couples, {
        k: turning_arrow(point, couple / size, WIDEST_ARROW * extent * float(size) / typical)
        for k, (point, couple, size) in enumerate(zip(found.points, couples, sizes))
        if size > least
    }


def reaction_history(
    found: ReactionsAlong,
    path: str | Path | None = None,
    *,
    names: Sequence[str] | None = None,
    part: str = "full",
) -> Figure:
    """Return a figure of the magnitudes of forces [N] and couples [N m] over time; ``path`` also saves it.

    ``names`` are those of joints, closures and contacts, by default all except free joints; ``part`` is "full",
    "bearing" or "drive". Loads that are not unique are dotted.
    """
    chosen = names_of(found, names)
    force, couple = found.part(part)
    floor = floors(force, couple, found.length)
    figure, panels = time_panels(9.0, 5.2, [1.0, 1.0], title(found.name))
    lines = []
    for panel, vectors, components, label in (
        (panels[0], force, slice(0, 3), "force [N]"),
        (panels[1], couple, slice(3, 6), "couple [N m]"),
    ):
        for i, k in enumerate(chosen):
            size = np.sqrt((vectors[:, k] ** 2).sum(axis=1))
            size = np.where(size <= floor[components.start], 0.0, size)
            sure = bool(found.settled[:, k, components].all())
            lines += panel.plot(found.t, size, "-" if sure else ":", color=colour(i), linewidth=1.3)
        panel.set_ylabel(label)
    if len(chosen) <= _MOST:
        legend(panels[0], lines[: len(chosen)], [found.names[k] for k in chosen], **BESIDE)
    start, end = (found.t[0], found.t[-1]) if len(found.t) else (0.0, 0.0)
    finish(figure, panels, start, end, None)
    return save_figure(figure, path)


def hodograph(
    found: ReactionsAlong,
    name: str,
    path: str | Path | None = None,
    *,
    plane: str | None = None,
    part: str = "full",
) -> Figure:
    """Return the hodograph of a force, the curve of its tip in its frame [N], for sizing bearings; ``path`` also saves
    it.

    ``plane`` is "xy", "xz" or "yz", by default that of the two largest components; ``part`` as in `reaction_history`.
    """
    (k,) = names_of(found, [name])
    if not len(found.t):
        raise ArgumentError(f"{found.name}: the run has no samples", element=name)
    force = found.part(part)[0][:, k]
    if plane is None:
        reach = np.nan_to_num(np.abs(force)).max(axis=0)
        least = int(np.flatnonzero(reach <= (1.0 + EQUAL_REACH) * reach.min())[-1])  # of equal ones the last
        plane = ("yz", "xz", "xy")[least]
    check_known("plane", plane, tuple(PLANES), found.name, element="plane")
    x, y = (force[:, axis] for axis in PLANES[plane])
    figure = new_figure(5.6, 5.6)
    axes = figure.subplots()
    axes.plot(x, y, color=colour(0), linewidth=1.2)
    axes.plot(x[0], y[0], "o", color=colour(0), markersize=5)
    axes.plot(0.0, 0.0, "+", color=INK, markersize=10)
    axes.set_aspect("equal", adjustable="datalim")
    dress(axes)
    where = {"world": "world", "joint": "own axes"}.get(found.frame, found.frame)
    for set_label, axis in ((axes.set_xlabel, plane[0]), (axes.set_ylabel, plane[1])):
        literal(set_label("", size=10, color=INK), f"force along {axis} [N], {where}")
    literal(axes.set_title("", loc="left", size=12, color=INK, weight="bold"), f"{title(found.name)}: {name}")
    return save_figure(figure, path)
