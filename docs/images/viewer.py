"""Make the pictures of docs/viewer.md: python docs/images/viewer.py. Needs playwright and a Chromium on the path."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import sarrus as sr
from sarrus.pictures.plots.frames import in_colours, palette_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tests"))

from chromium import open_browser, open_page  # noqa: E402
from conftest import load_example  # noqa: E402


def main() -> None:
    """Write the pictures beside this file."""
    assert shutil.which("chromium"), "this needs a Chromium"
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    fall = sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=5.0, dt=1e-3)
    with (
        sr.view(fall, open_browser=False, port=8600) as viewer,
        open_browser() as browser,
        open_page(browser, viewer.url, 1300, 900) as (page, _),
    ):
        page.wait_for_selector('[data-sarrus="cursor"]', timeout=60000)
        page.add_style_tag(content=".mantine-Notifications-root { display: none }")
        viewer.show_time(0.95)
        page.wait_for_timeout(2500)
        save(Image.open(io.BytesIO(page.screenshot())), "viewer.png", (1040, 720))
    start = mechanism.keyframes["symmetric"].q
    sr.render(mechanism, HERE / "viewer_reactions.png", q=start, size=(1280, 800), forces="all", numbers=True)
    save(Image.open(HERE / "viewer_reactions.png"), "viewer_reactions.png", (720, 450))
    stewart = load_example("stewart").build()
    sr.render(stewart, HERE / "viewer_render.png", size=(1280, 800))
    save(Image.open(HERE / "viewer_render.png"), "viewer_render.png", (720, 450))


def save(image: Image.Image, name: str, size: tuple[int, int]) -> None:
    """Save a picture, made smaller and with few colours."""
    small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    palette = palette_of(np.asarray(small))
    in_colours(small, palette).save(HERE / name, optimize=True)
    print(f"{name}: {(HERE / name).stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
