"""`render`: stand-alone pages, pictures and animations of mechanisms and motions, without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from matplotlib import get_data_path
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFont

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import checked_path, replacing
from sarrus.base.printable import printable
from sarrus.dynamics.system import System
from sarrus.model.mechanism.pose import Pose
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.browser.page import save_page
from sarrus.pictures.browser.style import ARROWS_BEHIND, SHORTEST_ROD
from sarrus.pictures.plots.frames import Picture, check_rate, frame_times, gif_ticks, save_gif, time_note
from sarrus.pictures.scene.camera import Camera, frame
from sarrus.pictures.scene.drawing import Drawing, Poses
from sarrus.pictures.scene.force_arrows import arrow_meshes, label_places
from sarrus.pictures.scene.ground import BACKGROUND, LINE, STRONG, grid_lines, ground_of
from sarrus.pictures.scene.layers import Layer, layers
from sarrus.pictures.scene.load_drawing import LoadDrawing, Wanted
from sarrus.pictures.scene.loads import SIDES
from sarrus.pictures.scene.raster import Canvas, Triangles
from sarrus.pictures.scene.subjects import Subject, Viewable, subjects
from sarrus.pictures.symbols.style import INK, colour
from sarrus.pictures.symbols.text import title

SUFFIXES = (".html", ".png", ".gif", ".mp4")


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
    forces: bool | str | Iterable[str] = False,
    numbers: bool = False,
    side: str = SIDES[0],
) -> Path:
    """Write a mechanism or a motion to a file, a page (.html), a picture (.png) or a film (.gif, .mp4); return its
    path.

    Parameters
    ----------
    what : a `Mechanism` or a `System` at ``q``, a trajectory, or a mapping of names to trajectories, of which the first
        is drawn opaque and all others transparent.
    path : .html is a stand-alone page, which opens without a server or a network and is turned with the mouse; it plays
        a motion and needs the extra "view" to be written. .png shows the motion at time ``t`` [s] (default: its end).
        .gif and .mp4 show all of it, ``speed`` seconds of motion per second of film; .mp4 needs the extra "view".
    system, q : as in `sarrus.view`.
    size : width and height of pictures and films [pixels].
    fps : pictures per second of film.
    forces : draw reactions as arrows, see `sarrus.reactions`: True for closures, contacts and rolling elements, "all"
        for joints too, or names. Arrows of forces are green, 0.35 of the size of the mechanism for a typical force of
        the motion; couples turn about their axis. Grey arrows mark loads that are not unique because the mechanism is
        overconstrained; one possible value is shown. Without a motion the loads are those at rest at ``q``, held by the
        actuators if they can, else released.
    numbers : write the magnitudes beside the arrows; "~" marks values that are not unique.
    side : "child, body 2" or "parent, body 1": the body on which the loads act.

    Pictures need no display, no graphics card and no browser.
    """
    path = checked_path(path, SUFFIXES, "a scene is saved as a page, a picture or a film")
    subject = subjects((what,), system, q)
    check_rate(fps, speed, most=60.0)
    if len(size) != 2 or not all(isinstance(n, int) and 16 <= n <= 8192 and n % 2 == 0 for n in size):
        raise ArgumentError(f"size must be two even numbers from 16 to 8192, got {size!r}", element="size")
    suffix = path.suffix.lower()
    wanted = Wanted.of(subject.system, forces, numbers, side)
    if suffix == ".html":
        return save_page(subject, path, fps=fps, speed=speed, wanted=wanted)
    renderer = Renderer(subject, size, wanted, samples=3 if suffix == ".png" else 2)
    if suffix == ".png":
        picture = Image.fromarray(renderer.picture(_time(subject, t)))
        with replacing(path, kept="it can be drawn again") as partial:
            picture.save(partial, optimize=True)
        return path
    if not subject.runs:
        raise ArgumentError(
            f"{path}: a film needs a trajectory; a model can be .png or .html", element=str(path)
        )
    ticks = gif_ticks(fps)
    interval = ticks / 100.0 if suffix == ".gif" else 1.0 / fps
    times = frame_times(*subject.span, speed * interval)
    if suffix == ".gif":
        save_gif(path, lambda k: renderer.picture(times[k]), len(times), ticks, typical=len(times) // 2)
    else:
        _save_mp4(path, map(renderer.picture, times), fps)
    return path


class Renderer:
    """Draws the pictures of a subject with one camera."""

    def __init__(
        self, subject: Subject, size: tuple[int, int], wanted: Wanted | None = None, samples: int = 2
    ) -> None:
        self.subject = subject
        self.drawing = Drawing(subject.system, subject.motion)
        self.loads = LoadDrawing(self.drawing, subject, wanted or Wanted())
        low, high = self.loads.reach(*self.drawing.bounds())
        self.camera: Camera = frame(low, high, self.drawing.view, size[0] / size[1])
        self._layers = layers(self.drawing, subject.q, subject.runs, subject.system)
        ground = ground_of(self.drawing)
        self._still = Canvas(self.camera, *size, BACKGROUND, samples)
        lines = [(grid_lines(ground, strong), STRONG if strong else LINE) for strong in (False, True)]
        self._still.draw([Triangles(m.vertices, m.faces, shade, 1.0, lit=False) for m, shade in lines])

    def picture(self, time: float) -> Picture:
        """Return the picture at a time [s], or of the configuration without runs."""
        canvas, solids = self._still.copy(), []
        for layer in self._layers:
            solids += _solids_of(layer, layer.poses(time))
        shown, scale = self.loads.at(time), self.loads.scale
        through: list[Triangles] = []
        places: list[tuple[str, Array]] = []
        if shown is not None:
            arrows = arrow_meshes(shown, scale, self.drawing.parts.radius)
            through = [Triangles(mesh.vertices, mesh.faces, shade) for mesh, shade in arrows]
            places = label_places(shown, scale) if self.loads.wanted.numbers else []
        canvas.draw(solids)
        canvas.draw_through(through, ARROWS_BEHIND)
        return self._captioned(canvas.pixels(), time, places)

    def _captioned(self, picture: Picture, time: float, places: list[tuple[str, Array]]) -> Picture:
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        text = image.height / 36.0
        fonts = Path(get_data_path()) / "fonts" / "ttf"
        bold = ImageFont.truetype(fonts / "DejaVuSans-Bold.ttf", text)
        plain = ImageFont.truetype(fonts / "DejaVuSans.ttf", 0.9 * text)
        taken: list[tuple[float, float, float, float]] = []
        for said, place in places:
            x, y, _ = self.camera.pixels(place, image.width, image.height)
            box = _free_place(
                draw.textbbox((x + 0.3 * text, y - text), printable(said), plain), taken, image.size
            )
            taken.append(box)
            draw.text(box[:2], printable(said), INK, plain, "lt", stroke_width=2, stroke_fill="white")
        draw.text((text, 0.8 * text), title(self.subject.system.name), INK, bold)
        if self.subject.runs:
            passages = [passage for run in self.subject.runs for passage in run.passages]
            draw.text((text, 2.3 * text), *time_note(time, passages, speed=1.0), plain)
        if len(self.subject.runs) > 1:
            for k, label in enumerate(self.subject.labels):
                draw.text((text, (3.9 + 1.3 * k) * text), f"■ {printable(label)}", colour(k), plain)
        return np.asarray(image)


def _free_place(
    box: tuple[float, float, float, float],
    taken: list[tuple[float, float, float, float]],
    size: tuple[int, int],
) -> tuple[float, float, float, float]:
    """Return a box (left, top, right, bottom) within a picture [pixels], moved down past occupied ones."""
    left, top, right, bottom = box
    aside = min(0.0, size[0] - 2.0 - right)
    left, right = left + aside, right + aside
    for _ in taken:
        below = [y1 for x0, y0, x1, y1 in taken if left < x1 and right > x0 and top < y1 and bottom > y0]
        if not below:
            break
        down = max(below) + 2.0 - top
        top, bottom = top + down, bottom + down
    return left, top, right, bottom


def _solids_of(layer: Layer, poses: Poses) -> list[Triangles]:
    """Return the triangles of a layer, in world axes."""
    found = []
    for part in layer.drawing.dressed(layer.tint, layer.opacity):
        vertices = poses.apply(part.body, part.mesh.vertices)
        found.append(Triangles(vertices, part.mesh.faces, part.colour, part.opacity))
    for rod_part, (middle, rotation, length) in zip(layer.drawing.parts.rods, poses.rods):
        mesh = rod_part.mesh.scaled([1.0, 1.0, max(length, SHORTEST_ROD)]).placed(Pose(middle, rotation))
        found.append(
            Triangles(
                mesh.vertices, mesh.faces, layer.tint or rod_part.colour, rod_part.opacity * layer.opacity
            )
        )
    return found


def _save_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    try:
        import imageio_ffmpeg  # an extra
    except ImportError as error:
        raise ArgumentError(
            f"{path}: an MP4 film needs imageio-ffmpeg: pip install 'sarrus[view]'; a .gif does not",
            element="imageio-ffmpeg",
        ) from error
    first = next(pictures)
    height, width = first.shape[:2]
    with replacing(path, kept="the motion is still in memory") as partial:
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
