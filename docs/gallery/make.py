"""Draw the pictures of the gallery from the code on its page: python docs/gallery/make.py [NAME ...]."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageSequence

import sarrus as sr

HERE = Path(__file__).resolve().parent
PAGE, IMAGES = HERE / "index.md", HERE / "images"
sys.path.append(str(HERE.parent))

import outputs  # noqa: E402

PICTURE = re.compile(r"\]\(images/(\w+)\.png\)")
SECONDS = 3.0  # of film
LARGEST = 200 * 1024  # bytes of a film


def main(names: list[str]) -> None:
    """Draw the models that are named, all by default."""
    page = PAGE.read_text(encoding="utf-8")
    known = PICTURE.findall(page)
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"no such model: {', '.join(unknown)}. Known: {', '.join(known)}")
    IMAGES.mkdir(exist_ok=True)
    with outputs.workplace():
        for name, motion in motions(page, names or known):
            draw(name, motion, IMAGES)


def motions(page: str, names: Collection[str]) -> Iterator[tuple[str, sr.Trajectory]]:
    """Run the first block of the page and those of the models that are named; yield each name with its motion."""
    blocks = [block for block in outputs.blocks(page) if block.kind == "python"]
    space: dict[str, Any] = {"__name__": "gallery"}
    exec(blocks[0].text, space)
    for block in blocks[1:]:
        picture = PICTURE.search(page, block.end)
        assert picture is not None
        if picture[1] in names:
            exec(compile("\n" * block.line + block.text, str(PAGE), "exec"), space)
            yield picture[1], space["motion"]


def draw(name: str, motion: sr.Trajectory, folder: Path) -> None:
    """Write figure and animation as the page says, then make the files small."""
    picture, film = folder / f"{name}.png", folder / f"{name}.gif"
    if motion.system.mechanism is None:
        motion.plot().savefig(picture, dpi=70)
    else:
        motion.draw(frames=9).savefig(picture, dpi=80)
        motion.animate(film, fps=12.5, speed=motion.duration / SECONDS)
        shrink(film)
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)
    print(*(f"{path.name}: {path.stat().st_size / 1024:.0f} kB" for path in (picture, film) if path.exists()))


def shrink(film: Path) -> None:
    """Leave a film a third of its pixels or fewer and 48 colours, paper white, so that it fits in 200 kB."""
    with Image.open(film) as image:
        full = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
        duration = image.info["duration"]
    for scale in (0.58, 0.5, 0.42):
        size = [round(scale * length) for length in full[0].size]
        frames = [frame.resize(size, Image.Resampling.LANCZOS) for frame in full]
        frames = [frame.point(lambda value: 255 if value > 244 else value) for frame in frames]
        samples = frames[:: max(1, len(frames) // 6)]
        sheet = Image.new("RGB", (size[0], size[1] * len(samples)))
        for k, frame in enumerate(samples):
            sheet.paste(frame, (0, k * size[1]))
        palette = sheet.quantize(48)
        first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
        first.save(film, save_all=True, append_images=others, duration=duration, loop=0, optimize=True)
        if film.stat().st_size <= LARGEST:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
