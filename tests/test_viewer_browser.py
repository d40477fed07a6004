"""The viewer in a real Chromium: sliders move the mechanism, its loops stay closed, and it is where it should be."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from chromium import NEXT_FRAME, open_browser, open_page
from sarrus.pictures.browser.server import Viewer

ROOT = Path(__file__).resolve().parent.parent
POSITIONS = 15  # of the slider over its range
FRAMES = 1000  # drawn at most while something is waited for


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


def state(page: Any) -> str:
    return page.inner_text('[data-sarrus="state"]')


def residual(page: Any) -> float:
    found = re.search(r"closure residual\s+([0-9.e+-]+) m, rad", state(page))
    assert found is not None
    return float(found.group(1))


def wait_for(page: Any, condition: Callable[[], Any]) -> None:
    """Have the page draw frame after frame until a condition holds."""
    for _ in range(FRAMES):
        if condition():
            return
        page.evaluate(NEXT_FRAME)
    pytest.fail("the page did not come to show it")


def picture(page: Any) -> np.ndarray:
    """The pixels of the canvas without viser's notices, once two of them in a row are alike."""
    page.add_style_tag(content=".mantine-Notifications-root { display: none }")
    clip = page.locator("canvas").first.bounding_box()
    shots: list[np.ndarray] = []

    def rests() -> bool:
        shot = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        shots.append(np.asarray(shot).astype(int))
        return len(shots) > 1 and np.array_equal(shots[-2], shots[-1])

    wait_for(page, rests)
    return shots[-1]


def orange(shot: np.ndarray) -> int:
    """How many pixels have the colour of closures."""
    return int(((shot[..., 0] > 150) & (shot[..., 0] > 2 * shot[..., 2]) & (shot[..., 1] < 130)).sum())


def places(viewer: Viewer, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Where the hinges of the five-bar and the closure are in a picture, by the camera and the kinematics alone."""
    positions, rotations = viewer.system.body_placements(viewer.q)
    names = list(viewer.drawing.names)
    points = {f"hinge of {name}": positions[names.index(name)] for name in names}
    points["closure"] = positions[names.index("link2")] + rotations[names.index("link2")] @ (1.5, 0.0, 0.0)
    height, width = shape[:2]
    return {name: viewer.camera.pixels(point, width, height)[:2] for name, point in points.items()}


@pytest.mark.slow
def test_a_slider_over_its_whole_range_keeps_the_loop_closed_on_the_screen(browser: Any) -> None:
    system = sr.System(sr.load(ROOT / "models" / "five_bar.xml"))
    with (
        sr.view(system, open_browser=False, port=8310) as viewer,
        open_page(browser, viewer.url) as (page, complaints),
    ):
        page.wait_for_selector('[data-sarrus="state"]', timeout=60000)
        wait_for(page, lambda: "degrees of freedom\t2" in state(page))
        assert "tips.y" in state(page)  # a planar loop closed in space: one row is redundant
        assert page.inner_text('[data-sarrus="forces"]').startswith("tips.x")
        slider = viewer.joints.sliders["left"]
        wait_for(page, lambda: viewer.joints.pending == 0)
        track = page.locator(f'[id="{slider._impl.uuid}"] .mantine-Slider-trackContainer').bounding_box()
        y = track["y"] + track["height"] / 2
        start = (slider.value - slider.min) / (slider.max - slider.min)
        page.mouse.move(track["x"] + start * track["width"], y)
        page.mouse.down()
        seen, worst = [], 0.0
        for share in (*np.linspace(start, 0.0, POSITIONS // 3), *np.linspace(0.0, 1.0, POSITIONS)):
            page.mouse.move(track["x"] + share * track["width"], y)
            aim = slider.min + share * (slider.max - slider.min)
            wait_for(page, lambda aim=aim: abs(viewer.q[0] - aim) < 0.05)
            wait_for(page, lambda: f"{viewer.readout.residual:.1e}" in state(page))
            worst = max(worst, residual(page))
            assert np.abs(system.constraint_residual(viewer.q)).max() < 1e-9
            seen.append(float(viewer.q[0]))
        page.mouse.up()
        assert worst < 1e-9
        assert max(seen) - min(seen) > 0.98 * 2 * np.pi
        assert complaints == []


@pytest.mark.slow
def test_joints_are_where_the_camera_and_the_kinematics_say(browser: Any) -> None:
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    with (
        sr.view(mechanism, open_browser=False, port=8320) as viewer,
        open_page(browser, viewer.url, 1100, 520) as (page, _),
    ):
        page.wait_for_selector('[data-sarrus="state"]', timeout=60000)
        viewer.forces.wanted.value = False
        for value in (2.3, 1.8):
            viewer.drag("left", value)
            # What is shown beside the picture comes after it.
            wait_for(page, lambda: f"{viewer.readout.condition:.4g}" in state(page))
            shot = picture(page)
            assert (shot > 225).all(axis=2).mean() > 0.6  # a light background
            assert (shot < 200).any(axis=2).mean() > 0.01  # and something on it
            for name, place in places(viewer, shot.shape).items():
                x, y = np.rint(place).astype(int)
                red, green, blue = shot[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
                if name == "closure":
                    assert red > 2 * green > 0
                    assert red > 2 * blue
                else:
                    assert max(red, green, blue) < 75, (name, value)


def green(shot: np.ndarray) -> int:
    """How many pixels have the colour of forces."""
    return int(((shot[..., 1] > shot[..., 0] + 60) & (shot[..., 1] > shot[..., 2])).sum())


def purple(shot: np.ndarray) -> int:
    """How many pixels have the colour of couples."""
    return int((shot[..., [0, 2]].min(axis=-1) > shot[..., 1] + 40).sum())


@pytest.mark.slow
def test_switches_show_forces_and_couples_with_a_table(browser: Any) -> None:
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    with (
        sr.view(mechanism, open_browser=False, port=8340) as viewer,
        open_page(browser, viewer.url, 1100, 900) as (page, complaints),
    ):
        page.wait_for_selector('[data-sarrus="reactions"]', timeout=60000)

        def table() -> str:
            return page.inner_text('[data-sarrus="reactions"]')

        wait_for(page, lambda: "tips" in table())
        assert "left_elbow" not in table()
        before = picture(page)
        page.get_by_text("Which", exact=True).click()
        page.get_by_role("button", name="All", exact=True).click()
        wait_for(page, lambda: "left_elbow" in table())
        for name, force, couple in viewer.forces.shown.described():  # type: ignore[union-attr]
            assert name in table()
            assert force in table()
            assert couple in table()
        assert green(before) > 0 == purple(before)
        wait_for(page, lambda: green(picture(page)) > 2 * green(before) and purple(picture(page)) > 100)
        page.get_by_role("button", name="None", exact=True).click()
        wait_for(page, lambda: green(picture(page)) == purple(picture(page)) == 0)
        assert complaints == []


@pytest.mark.slow
def test_a_run_plays_and_marks_its_passages(browser: Any) -> None:
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    run = sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=1.0, dt=1e-3)
    assert run.passages
    with (
        sr.view(run, open_browser=False, port=8330) as viewer,
        open_page(browser, viewer.url, 1280, 600) as (page, complaints),
    ):
        page.wait_for_selector('[data-sarrus="energy_change"]', timeout=60000)
        assert page.get_by_text("▲").count() == len(run.passages)
        page.get_by_role("button", name="Next singular passage").click()
        wait_for(page, lambda: abs(viewer.timeline.time - run.passages[0].time) < 1e-9)
        wait_for(page, lambda: re.search(r"condition number\s+(∞|[0-9.]+e\+|[0-9]{4})", state(page)))
        assert viewer.readout.condition > 1e3
        page.get_by_role("button", name="Play").click()
        wait_for(page, lambda: viewer.timeline.time > run.passages[0].time + 0.1)
        page.get_by_role("button", name="Pause").click()
        wait_for(page, lambda: not viewer.timeline.playing)
        np.testing.assert_allclose(viewer.q, run.at(viewer.timeline.time), atol=1e-12)
        page.get_by_role("button", name="Simulate from here").click()
        wait_for(page, lambda: viewer.labels == ["simulated from here"])
        assert viewer.runs[0].residual.max() < 1e-12
        assert complaints == []


@pytest.mark.slow
def test_an_exported_page_opens_from_its_file(browser: Any, tmp_path: Path) -> None:
    mechanism = sr.load(ROOT / "models" / "five_bar.xml")
    path = sr.render(mechanism, tmp_path / "five_bar.html", q=mechanism.keyframes["symmetric"].q)
    assert path.stat().st_size < 1.2e6
    with open_page(browser, path.as_uri()) as (page, complaints):
        page.wait_for_selector("canvas", timeout=60000)
        wait_for(page, lambda: orange(picture(page)) > 50)  # the closure
        assert (picture(page) > 225).all(axis=2).mean() > 0.6
        assert "five bar" in page.inner_text('[data-sarrus="caption"]')
        assert complaints == []
