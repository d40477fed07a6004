"""Frames of an animation: times, captions, and the writer of GIF files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import replacing
from sarrus.motion.records.records import Passage
from sarrus.pictures.plots.style import PASSAGE_SECONDS
from sarrus.pictures.plots.tolerances import WHOLE_FRAMES
from sarrus.pictures.symbols.style import INK, WARNING

Picture = NDArray[np.uint8]  # (height, width, 3)

_MOST_FRAMES = 6000
_COLOURS = 200
_VIVID = 60  # difference of the channels of a pixel that has a colour
_WHITE = 248  # colours with all channels above this become white


def check_rate(fps: float, speed: float, most: float) -> None:
    """Raise `ArgumentError` unless there are 1 to ``most`` frames per second and speed is positive."""
    if not 1.0 <= fps <= most:
        raise ArgumentError(f"fps must lie between 1 and {most:g}, got {fps}", element="fps")
    if not (np.isfinite(speed) and speed > 0.0):
        raise ArgumentError(f"speed must be positive, got {speed}", element="speed")


def gif_ticks(fps: float) -> int:
    """Return the duration of a frame of a GIF [1/100 s]."""
    return max(2, round(100.0 / fps))


def frame_times(start: float, end: float, interval: float) -> Array:
    """Return the times [s] of the frames of a motion from start to end, ``interval`` [s] apart."""
    count = int((end - start) / interval * (1 + WHOLE_FRAMES)) + 1
    if count > _MOST_FRAMES:
        raise ArgumentError(
            f"the animation would have {count} frames, more than {_MOST_FRAMES}: raise speed or lower fps",
            element="speed",
        )
    return np.asarray(start + interval * np.arange(count))


def time_note(time: float, passages: Iterable[Passage], speed: float) -> tuple[str, str]:
    """Return caption and colour at a time of a motion; singular passages are announced."""
    near = any(abs(passage.time - time) < PASSAGE_SECONDS * speed for passage in passages)
    return (f"t = {time:.2f} s   singular", WARNING) if near else (f"t = {time:.2f} s", INK)


def save_gif(path: Path, picture: Callable[[int], Picture], count: int, ticks: int, typical: int) -> None:
    """Write ``picture(k)`` for k < count, each shown for ``ticks`` / 100 s, in the colours of that of ``typical``."""
    palette = palette_of(picture(typical))
    first, *others = (in_colours(Image.fromarray(picture(k)), palette) for k in range(count))
    with replacing(path, kept="the motion is still in memory") as partial:
        first.save(partial, save_all=True, append_images=others, duration=10 * ticks, loop=0, optimize=False)


def in_colours(image: Image.Image, palette: Image.Image) -> Image.Image:
    """Return an image in the colours of a palette."""
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def palette_of(picture: Picture) -> Image.Image:
    """Return a palette with pure white that gives coloured pixels the same weight as the large light background."""
    pixels = picture.reshape(-1, 3)
    vivid = pixels[np.ptp(pixels.astype(int), axis=1) > _VIVID]
    if len(vivid):
        pixels = np.concatenate([pixels, np.resize(vivid, pixels.shape)])
    colours = np.array(
        Image.fromarray(pixels[None]).quantize(_COLOURS, kmeans=2).getpalette(), dtype=int
    ).reshape(-1, 3)
    colours[colours.min(axis=1) > _WHITE] = 255
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours.ravel().tolist())
    return palette
