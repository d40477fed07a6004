"""`render`: stand-alone pages, pictures and films of mechanisms and motions, without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from matplotlib import get_data_path
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFont

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.printable import printable
from sarrus.dynamics.system import System
from sarrus.files.whole import beside, checked_path
from sarrus.plotting.animation import save_animation
from sarrus.plotting.style import INK, colour
from sarrus.plotting.text import title
from sarrus.simulation.trajectory import Trajectory
from sarrus.viewer.camera import Camera, frame
from sarrus.viewer.drawing import Drawing, Poses
from sarrus.viewer.force_arrows import Forces, arrows, forces_of_run, metres_per_newton
from sarrus.viewer.ground import BACKGROUND, LINE, STRONG, grid_lines, ground_of
from sarrus.viewer.meshes import Mesh, along, capsule, cone, join, rod
from sarrus.viewer.nodes import SURE, UNSURE
from sarrus.viewer.parts import Rgb, rgb
from sarrus.viewer.raster import Canvas, Picture, Triangles
from sarrus.viewer.subjects import Subject, Viewable, subjects
from sarrus.viewer.time_panel import at, sample

SUFFIXES = (".html", ".png", ".gif", ".mp4")
_GHOST = 0.4
_MOST_FRAMES = 6000
_WARNING, _PASSAGE_SECONDS = "#b3261e", 0.12
_COLOURS = 200
_VIVID = 60  # difference of the channels of a pixel that has a colour


def render(
    what: Viewable | Mapping[str, Trajectory],
    path: str | Path,
    *,
    system: System | None = None,
    q: ArrayLike | None = None,
    t: float | None = None,
    size: tuple[int, int] = (960, 720),
    fps: float = 25.0,
    speed: float = 1.0,
    forces: bool = False,
) -> Path:
    """Write a mechanism or a motion to a file: a page (.html), a picture (.png), a film (.gif, .mp4).

    Parameters
    ----------
    what : a `Mechanism` or a `System` at ``q``, a trajectory, or a mapping of names to trajectories, of which the
        first is drawn solid and the others through it.
    path : .html is a page of its own, which opens without a server or a network and turns by the mouse; it plays a
        motion and needs the extra "view" to be written. .png shows the motion at time ``t`` (default: its end).
        .gif and .mp4 show all of it, ``speed`` seconds of motion per second of film; .mp4 needs the extra "view".
    system, q : as in `sarrus.view`.
    size : width and height of pictures and films [pixels].
    fps : pictures per second of film.
    forces : draw closure and contact forces of a motion as arrows; their usual length is 0.35 of the mechanism.

    Pictures need no display, no graphics card and no browser.
    """
    path = checked_path(path, SUFFIXES, "a scene is saved as a page, a picture or a film")
    subject = subjects((what,), system, q)
    _check(fps, speed, size)
    suffix = path.suffix.lower()
    if suffix == ".html":
        from sarrus.viewer.page import save_page

        return save_page(subject, path, fps=fps, speed=speed, forces=forces)
    studio = Studio(subject, size, forces, samples=3 if suffix == ".png" else 2)
    if suffix == ".png":
        picture = Image.fromarray(studio.picture(_time(subject, t)))
        with beside(path, kept="it can be drawn again") as partial:
            picture.save(partial, optimize=True)
        return path
    if not subject.runs:
        raise ArgumentError(
            f"{path}: a film needs a trajectory; a model can be .png or .html", element=str(path)
        )
    ticks = max(2, round(100.0 / fps))  # a GIF's clock has hundredths of a second
    interval = speed * (ticks / 100.0 if suffix == ".gif" else 1.0 / fps)
    times = film_times(subject, interval)
    pictures = (studio.picture(float(time)) for time in times)
    (_save_gif if suffix == ".gif" else _save_mp4)(path, pictures, ticks if suffix == ".gif" else fps)
    return path


def film_times(subject: Subject, interval: float) -> Array:
    """Return the times of the frames of a film [s]."""
    start, end = min(run.t[0] for run in subject.runs), max(run.t[-1] for run in subject.runs)
    count = int((end - start) / interval * (1 + 1e-12)) + 1
    if count > _MOST_FRAMES:
        raise ArgumentError(
            f"the film would have {count} frames, more than {_MOST_FRAMES}: raise speed or lower fps",
            element="speed",
        )
    return start + interval * np.arange(count)


class Studio:
    """Draws the pictures of a subject, all from one place."""

    def __init__(
        self, subject: Subject, size: tuple[int, int], forces: bool = False, samples: int = 2
    ) -> None:
        self.subject = subject
        motion = np.concatenate([run.q for run in subject.runs]) if subject.runs else subject.q[None]
        self.drawing = Drawing(subject.system, motion)
        low, high = self.drawing.bounds()
        self.camera: Camera = frame(low, high, self.drawing.view, size[0] / size[1])
        self.scale = metres_per_newton(self.drawing, subject.runs[0]) if forces and subject.runs else 0.0
        self.ghosts = []
        for run in subject.runs[1:]:
            own = run.moved_system() or subject.system
            self.ghosts.append(self.drawing if own is subject.system else Drawing(own, run.q))
        ground = ground_of(self.drawing)
        self._still = Canvas(self.camera, *size, BACKGROUND, samples)
        lines = [(grid_lines(ground, strong), STRONG if strong else LINE) for strong in (False, True)]
        self._still.draw([Triangles(m.vertices, m.faces, shade, 1.0, lit=False) for m, shade in lines])

    def picture(self, time: float) -> Picture:
        """Return the picture of a time [s], of the configuration where there are no runs."""
        subject, canvas = self.subject, self._still.copy()
        q = at(subject.runs[0], time) if subject.runs else subject.q
        tint = rgb(colour(0)) if len(subject.runs) > 1 else None
        poses = self.drawing.poses(q, time if subject.runs else 0.0)
        solids = solids_of(self.drawing, poses, tint)
        for k, (run, drawing) in enumerate(zip(subject.runs[1:], self.ghosts), start=1):
            solids += solids_of(drawing, drawing.poses(at(run, time), time), rgb(colour(k)), _GHOST)
        if self.scale:
            shown = forces_of_run(self.drawing, subject.runs[0], sample(subject.runs[0], time), q)
            solids += arrow_solids(shown, self.scale, self.drawing.parts.radius)
        canvas.draw(solids)
        return self._captioned(canvas.pixels(), time)

    def _captioned(self, picture: Picture, time: float) -> Picture:
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        text = image.height / 36.0
        fonts = Path(get_data_path()) / "fonts" / "ttf"
        bold = ImageFont.truetype(fonts / "DejaVuSans-Bold.ttf", text)
        plain = ImageFont.truetype(fonts / "DejaVuSans.ttf", 0.9 * text)
        draw.text((text, 0.8 * text), title(self.subject.system.name), INK, bold)
        if self.subject.runs:
            near = any(
                abs(p.time - time) < _PASSAGE_SECONDS for run in self.subject.runs for p in run.passages
            )
            note = f"t = {time:.2f} s" + ("   singular" if near else "")
            draw.text((text, 2.3 * text), note, _WARNING if near else INK, plain)
        if len(self.subject.runs) > 1:
            for k, label in enumerate(self.subject.labels):
                draw.text((text, (3.9 + 1.3 * k) * text), f"■ {printable(label)}", colour(k), plain)
        return np.asarray(image)


def solids_of(
    drawing: Drawing, poses: Poses, tint: Rgb | None = None, opacity: float = 1.0
) -> list[Triangles]:
    """Return the triangles of a drawing, in world axes; those laid over others leave the ground out."""
    found = []
    for part in drawing.groups:
        if part.body < 0 and opacity < 1.0:
            continue
        shade = part.colour if tint is None or part.body < 0 else tint
        vertices = poses.apply(part.body, part.mesh.vertices)
        found.append(Triangles(vertices, part.mesh.faces, shade, part.opacity * opacity))
    for rod_part, (middle, rotation, length) in zip(drawing.parts.rods, poses.rods):
        mesh = capsule(rod_part.radius, 0.5).scaled([1.0, 1.0, max(length, 1e-9)])
        found.append(
            Triangles(mesh.vertices @ rotation.T + middle, mesh.faces, tint or rod_part.colour, opacity)
        )
    return found


def arrow_solids(forces: Forces, scale: float, radius: float) -> list[Triangles]:
    """Return forces as arrows."""
    found = []
    for part, shade in ((forces.determined, SURE), (forces.undetermined, UNSURE)):
        for start, end in arrows(forces.points, part, scale, forces.largest):
            _, half, rotation = along(start, end)
            head = min(3.0 * radius, 2.0 * half)
            tip = cone(1.2 * radius, head)
            neck = end - head * rotation[:, 2]
            pieces = [Mesh(tip.vertices @ rotation.T + neck, tip.faces)]
            if 2.0 * half > head:
                pieces.append(rod(start, neck, 0.45 * radius))
            mesh = join(pieces)
            found.append(Triangles(mesh.vertices, mesh.faces, shade))
    return found


def _save_gif(path: Path, pictures: Iterable[Picture], ticks: float) -> None:
    frames = list(pictures)
    palette = palette_of(frames[len(frames) // 2])
    images = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    save_animation(images, path, int(ticks))


def palette_of(picture: Picture) -> Image.Image:
    """Return a palette with pure white, in which what is coloured counts as much as the large light ground."""
    pixels = picture.reshape(-1, 3)
    vivid = pixels[np.ptp(pixels.astype(int), axis=1) > _VIVID]
    if len(vivid):
        pixels = np.concatenate([pixels, np.resize(vivid, pixels.shape)])
    colours = np.array(
        Image.fromarray(pixels[None]).quantize(_COLOURS, kmeans=2).getpalette(), dtype=int
    ).reshape(-1, 3)
    colours[colours.min(axis=1) > 248] = 255
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours.ravel().tolist())
    return palette


def _save_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ArgumentError(
            f"{path}: an MP4 film needs imageio-ffmpeg: pip install 'sarrus[view]'; a .gif does not",
            element="imageio-ffmpeg",
        ) from error
    first = next(pictures)
    height, width = first.shape[:2]
    with beside(path, kept="the motion is still in memory") as partial:
        writer = imageio_ffmpeg.write_frames(
            str(partial),
            (width, height),
            fps=fps,
            codec="libx264",
            quality=8,
            macro_block_size=2,
            ffmpeg_log_level="error",
        )
        send: Callable[[object], object] = writer.send
        send(None)
        send(np.ascontiguousarray(first))
        for picture in pictures:
            send(np.ascontiguousarray(picture))
        writer.close()


def _time(subject: Subject, t: float | None) -> float:
    if not subject.runs:
        return 0.0
    run = subject.runs[0]
    time = float(run.t[-1]) if t is None else float(t)
    if not run.t[0] <= time <= run.t[-1]:
        raise ArgumentError(
            f"t = {time:g} s lies outside the run, {run.t[0]:g} to {run.t[-1]:g} s", element="t"
        )
    return time


def _check(fps: float, speed: float, size: tuple[int, int]) -> None:
    if not 1.0 <= fps <= 60.0:
        raise ArgumentError(f"fps must lie between 1 and 60, got {fps}", element="fps")
    if not (np.isfinite(speed) and speed > 0.0):
        raise ArgumentError(f"speed must be positive, got {speed}", element="speed")
    if len(size) != 2 or not all(isinstance(n, int) and 16 <= n <= 8192 and n % 2 == 0 for n in size):
        raise ArgumentError(f"size must be two even numbers from 16 to 8192, got {size!r}", element="size")
