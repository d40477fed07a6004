"""Animated GIF of a motion or a mode: a fixed background, moving bodies, short traces of the joints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import checked_path
from sarrus.model.builders.mechanism import Mechanism
from sarrus.pictures.plots.contact_drawing import draw_contacts, marks_at, move_contacts
from sarrus.pictures.plots.frames import Picture, check_rate, frame_times, gif_ticks, save_gif, time_note
from sarrus.pictures.plots.skeleton import build_skeleton, drawn_mechanism, drawn_system, placements
from sarrus.pictures.plots.stroboscope import caption, draw_ground, draw_pose, move_pose, picture_axes
from sarrus.pictures.plots.style import TAIL_SECONDS
from sarrus.pictures.plots.tolerances import POINT_MOVES
from sarrus.pictures.symbols.picture_plane import choose_view
from sarrus.pictures.symbols.style import FAINT, INK, WARNING

if TYPE_CHECKING:
    from sarrus.analysis.linear.linear_system import LinearSystem
    from sarrus.dynamics.system import System
    from sarrus.motion.records.trajectory import Trajectory

_DPI = 90
_MODE_TICKS = 4  # hundredths of a second per frame of a mode


def animation(
    trajectory: Trajectory,
    path: str | Path,
    *,
    system: System | None = None,
    plane: str | None = None,
    fps: float = 25.0,
    speed: float = 1.0,
) -> Path:
    """Write an animated GIF of a trajectory and return its path; ``speed`` is seconds of motion per second of film.

    ``system`` and ``plane`` as in `stroboscope`. A frame of a GIF lasts whole hundredths of a second: 20, 25 and 50
    frames per second (``fps``) are exact.
    """
    path = checked_path(path, (".gif",), "an animation is saved as GIF")
    system, mechanism = drawn_system(trajectory, system)
    check_rate(fps, speed, most=50.0)
    ticks = gif_ticks(fps)
    if not len(trajectory.t):
        raise ArgumentError(f"trajectory {trajectory.name!r} is empty", element="trajectory")
    times = frame_times(trajectory.t[0], trajectory.t[-1], speed * ticks / 100.0)
    notes = [time_note(time, trajectory.passages, speed) for time in times]
    _save(path, system, mechanism, trajectory.name, trajectory.at(times), notes, ticks, plane, t=times)
    return path


def vibration_mode(
    model: LinearSystem,
    mode: int,
    path: str | Path,
    *,
    amplitude: float = 0.2,
    seconds: float = 2.0,
    plane: str | None = None,
) -> Path:
    """Write an animated GIF of a vibration mode and return its path; a period lasts ``seconds`` of film and repeats.

    ``mode`` and ``amplitude``, of the largest velocity component [rad or m], are those of
    `LinearSystem.vibration_mode`; ``plane`` as in `stroboscope`.
    """
    path = checked_path(path, (".gif",), "an animation is saved as GIF")
    system = model.system
    mechanism = drawn_mechanism(system)
    if not 0.2 <= seconds <= 60.0:
        raise ArgumentError(f"seconds must lie between 0.2 and 60, got {seconds}", element="seconds")
    motion = model.vibration_mode(mode, amplitude, frames=round(100.0 * seconds / _MODE_TICKS))
    notes = [(f"mode {mode}: {motion}", INK)] * len(motion.q)
    _save(path, system, mechanism, system.name, motion.q, notes, _MODE_TICKS, plane, around=True)
    return path


def _save(
    path: Path,
    system: System,
    mechanism: Mechanism,
    name: str,
    q: Array,
    notes: Sequence[tuple[str, str]],
    ticks: int,
    plane: str | None,
    *,
    around: bool = False,
    t: Array | None = None,
) -> None:
    """Write frames at configurations q (frames, nq) and times t (frames,), each with a note and its colour,
    ``ticks`` / 100 s apart.

    ``around``: the last frame goes on with the first, tails included.
    """
    skeleton = build_skeleton(mechanism)
    positions, rotations = placements(system, q, t)
    placed = skeleton.at(positions, rotations)
    view = choose_view(skeleton.own(placed), plane, mechanism.gravity)
    paper = view.project(placed)
    marks = marks_at(mechanism, skeleton, positions, rotations, view)

    figure, axes = picture_axes(marks.with_planes(paper), view)
    figure.set_dpi(_DPI)
    clock = caption(axes, name, notes[-1][0])
    moving = [k for k in skeleton.hinges if np.ptp(paper[:, k], axis=0).max() > POINT_MOVES]
    tails = [axes.plot([], [], color=FAINT, linewidth=1.2, zorder=1.2)[0] for _ in moving]
    bodies = draw_pose(axes, skeleton, paper[0], alpha=1.0, strong=True)
    draw_ground(axes, skeleton, paper[0])
    contacts = draw_contacts(axes, marks, 0)
    artists = [*tails, *sorted([*bodies, *contacts], key=lambda artist: artist.get_zorder()), clock]
    for artist in artists:
        artist.set_animated(True)

    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    length = max(1, round(TAIL_SECONDS * 100.0 / ticks))

    def picture(frame: int) -> Picture:
        canvas.restore_region(background)
        first = frame - length if around else max(0, frame - length)
        tail = np.arange(first, frame + 1)  # negative ones count from the end
        for line, k in zip(tails, moving):
            line.set_data(*paper[tail, k].T)
        move_pose(bodies, skeleton, paper[frame])
        move_contacts(contacts, marks, frame)
        text, shade = notes[frame]
        clock.set(text=text, color=shade)
        for artist in artists:
            axes.draw_artist(artist)
        return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])

    # The frame with most colours in it: the warning, then cones.
    rich = [(shade == WARNING, touching) for (_, shade), touching in zip(notes, marks.touching.sum(axis=1))]
    save_gif(path, picture, len(q), ticks, typical=max(range(len(rich)), key=rich.__getitem__))
