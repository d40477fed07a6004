"""Animated GIF of a motion: a still background, moving bodies, short tails behind the joints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from sarrus.errors import ArgumentError
from sarrus.plotting.projection import choose_view
from sarrus.plotting.skeleton import build_skeleton, drawn_system
from sarrus.plotting.stroboscope import caption, draw_ground, draw_pose, move_pose, stage
from sarrus.plotting.style import FAINT, INK
from sarrus.storage import checked_path

if TYPE_CHECKING:
    from sarrus.system import System
    from sarrus.trajectory import Trajectory

_DPI = 90
_TAIL_SECONDS = 0.5  # of film
_PASSAGE_SECONDS = 0.12  # of film for which a passage is announced, before and after
_COLOURS = 96
_WARNING = "#b3261e"
_MAX_FRAMES = 6000


def animate(
    trajectory: Trajectory,
    path: str | Path,
    *,
    system: System | None = None,
    plane: str | None = None,
    fps: float = 25.0,
    speed: float = 1.0,
) -> Path:
    """Write the GIF; see `Trajectory.animate`."""
    path = checked_path(path, (".gif",), "an animation is saved as GIF")
    system, mechanism = drawn_system(trajectory, system)
    if not 1.0 <= fps <= 50.0:
        raise ArgumentError(f"fps must lie between 1 and 50, got {fps}", element="fps")
    if not (np.isfinite(speed) and speed > 0.0):
        raise ArgumentError(f"speed must be positive, got {speed}", element="speed")
    ticks = max(2, round(100.0 / fps))  # hundredths of a second per frame
    interval = speed * ticks / 100.0
    count = int(trajectory.duration / interval * (1 + 1e-12)) + 1
    if count > _MAX_FRAMES:
        raise ArgumentError(
            f"the animation would have {count} frames, more than {_MAX_FRAMES}: raise speed or lower fps",
            element="speed",
        )
    times = trajectory.t[:1] + interval * np.arange(count)

    skeleton = build_skeleton(mechanism)
    placed = skeleton.place(system, trajectory.at(times))
    view = choose_view(placed, plane, mechanism.gravity)
    paper = view.project(placed)

    figure, axes = stage(paper, view)
    figure.set_dpi(_DPI)
    clock = caption(axes, trajectory.name, f"t = {times[-1]:.2f} s")
    moving = [k for k in skeleton.hinges if np.ptp(paper[:, k], axis=0).max() > 1e-9]
    tails = [axes.plot([], [], color=FAINT, linewidth=1.2, zorder=1.2)[0] for _ in moving]
    bodies = draw_pose(axes, skeleton, paper[0], alpha=1.0, strong=True)
    draw_ground(axes, skeleton, paper[0])
    artists = [*tails, *sorted(bodies, key=lambda artist: artist.get_zorder()), clock]
    for artist in artists:
        artist.set_animated(True)

    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    length = max(1, round(_TAIL_SECONDS * 100.0 / ticks))
    announced = np.array([passage.time for passage in trajectory.passages])
    near = np.any(np.abs(announced - times[:, None]) < _PASSAGE_SECONDS * speed, axis=1)

    def picture(frame: int) -> Image.Image:
        canvas.restore_region(background)
        tail = slice(max(0, frame - length), frame + 1)
        for line, k in zip(tails, moving):
            line.set_data(*paper[tail, k].T)
        move_pose(bodies, skeleton, paper[frame])
        note = "   singular" if near[frame] else ""
        clock.set(text=f"t = {times[frame]:.2f} s{note}", color=_WARNING if near[frame] else INK)
        for artist in artists:
            axes.draw_artist(artist)
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])

    palette = _palette(picture(int(np.argmax(near))))
    images = [picture(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in range(count)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=10 * ticks, loop=0, optimize=False)
    return path


def _palette(picture: Image.Image) -> Image.Image:
    """Return a palette image of a few colours, its lightest one pure white."""
    colours = np.array(picture.quantize(_COLOURS).getpalette(), dtype=int).reshape(-1, 3)
    colours[colours.min(axis=1) > 240] = 255
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours.ravel().tolist())
    return palette
