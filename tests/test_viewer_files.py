"""`sarrus.render` and `sarrus view`: pages, pictures and films on disk, and a viewer without a browser."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.runs.cli.main import main

FIVE_BAR = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"


@pytest.fixture(scope="module")
def run() -> sr.Trajectory:
    mechanism = sr.load(FIVE_BAR)
    return sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=0.5, dt=1e-3)


def test_a_picture_of_a_saved_run_needs_nothing_else(run: sr.Trajectory, tmp_path: Path) -> None:
    loaded = sr.Trajectory.load(run.save(tmp_path / "run.nc"))
    one = Image.open(sr.render(loaded, tmp_path / "one.png", t=0.3, size=(320, 240), forces=True))
    two = Image.open(sr.render(run, tmp_path / "two.png", t=0.3, size=(320, 240), forces=True))
    assert one.size == (320, 240)
    np.testing.assert_array_equal(np.asarray(one), np.asarray(two))
    start = Image.open(sr.render(run, tmp_path / "start.png", t=0.0, size=(320, 240)))
    assert np.abs(np.asarray(start).astype(int) - np.asarray(one)).max() > 100


def test_runs_laid_over_each_other_have_their_own_colours(run: sr.Trajectory, tmp_path: Path) -> None:
    later = sr.simulate(run.system, run.q[-1], run.v[-1], duration=0.3, dt=1e-3)
    path = sr.render({"early": run, "late": later}, tmp_path / "two.png", t=0.2, size=(480, 360))
    picture = np.asarray(Image.open(path)).astype(int)
    red, green, blue = (picture[60:, :, k] for k in range(3))
    assert ((blue > red + 60) & (blue > green + 20)).sum() > 300
    assert ((red > blue + 25) & (red > green + 10)).sum() > 300


def test_films_have_their_frames_and_their_pace(run: sr.Trajectory, tmp_path: Path) -> None:
    with Image.open(sr.render(run, tmp_path / "run.gif", size=(240, 180), fps=20)) as film:
        assert film.n_frames == 11
        assert film.info["duration"] == 50
        assert film.size == (240, 180)
    import imageio_ffmpeg

    path = sr.render(run, tmp_path / "run.mp4", size=(240, 180), fps=20, speed=0.5)
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == 21
    assert seconds == pytest.approx(1.05, abs=0.01)


def test_a_page_is_one_file_that_names_no_host(run: sr.Trajectory, tmp_path: Path) -> None:
    text = sr.render(run, tmp_path / "run.html", forces=True).read_text(encoding="utf-8")
    assert "<title>five bar</title>" in text
    assert "__VISER_EMBED_DATA__" in text
    assert "https://" not in text
    assert len(text) < 1.2e6


@pytest.mark.parametrize(
    ("suffix", "options", "message"),
    [
        (".jpg", {}, "must end in one of .html, .png, .gif, .mp4"),
        (".gif", {"fps": 0}, "fps must lie"),
        (".gif", {"speed": -1.0}, "speed must be positive"),
        (".png", {"t": 9.0}, "lies outside the run"),
        (".png", {"size": (3, 4)}, "size must be"),
        (".gif", {"speed": 1e-6}, "raise speed or lower fps"),
    ],
)
def test_bad_arguments_are_named(
    run: sr.Trajectory, tmp_path: Path, suffix: str, options: dict, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        sr.render(run, tmp_path / f"x{suffix}", **options)


def test_a_model_makes_no_film(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="needs a trajectory"):
        sr.render(sr.load(FIVE_BAR), tmp_path / "x.gif")


def test_the_command_writes_files_and_names_what_is_wrong(
    run: sr.Trajectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(run.save(tmp_path / "run.nc"))
    png, html = tmp_path / "a.png", tmp_path / "a.html"
    assert main(["view", file, "--png", str(png), "--time", "0.2", "--html", str(html), "--forces"]) == 0
    assert png.stat().st_size > 3000
    assert "written" in capsys.readouterr().out
    model = tmp_path / "b.png"
    assert main(["view", str(FIVE_BAR), "--keyframe", "collinear", "--png", str(model)]) == 0
    assert main(["view", file, str(FIVE_BAR)]) == 2
    assert "one model file" in capsys.readouterr().err
    assert main(["view", str(FIVE_BAR), "--png", str(tmp_path / "a.gif")]) == 2
    assert "must end in .png" in capsys.readouterr().err


def test_the_command_serves_a_page_until_it_is_interrupted() -> None:
    command = [
        sys.executable,
        "-m",
        "sarrus.runs.cli.main",
        "view",
        str(FIVE_BAR),
        "--no-browser",
        "--port",
        "8470",
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # what the background of a shell ignores stays ignored in what is started there
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+", line)
        assert found is not None, line
        with urllib.request.urlopen(found.group()) as page:
            assert b"<title>Viser</title>" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_without_viser_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ArgumentError, match=r"pip install 'sarrus\[view\]'"):
        sr.view(sr.load(FIVE_BAR), open_browser=False)


def test_viewing_is_not_loaded_with_sarrus() -> None:
    heavy = ("viser", "trimesh", "sarrus.pictures.browser")
    code = f"import sarrus, sys; sarrus.load; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the viewer without a browser ------------------------------------------------------------------


def test_dragging_stays_on_the_manifold_and_says_where_it_ends(tmp_path: Path) -> None:
    with sr.view(sr.load(FIVE_BAR), open_browser=False, port=8410) as viewer:
        for value in np.linspace(2.0, -3.0, 12):
            viewer.drag("left", float(value))
            assert viewer.q[0] == pytest.approx(value, abs=1e-9)
            assert viewer.readout.residual < 1e-12
        picture = Image.open(viewer.save(tmp_path / "here.png", size=(160, 120)))
        assert picture.size == (160, 120)
        viewer.joints.held["right"].value = True
        viewer.joints.held["left"].value = True
        viewer.worker.do(viewer.joints._hold)
        before = viewer.q.copy()
        viewer.drag("left_elbow", float(before[1] + 1.0))
        assert "goes no further" in viewer._note
        np.testing.assert_allclose(viewer.q, before, atol=1e-6)
        assert viewer.readout.residual < 1e-12


def test_sliders_end_where_the_mechanism_does(tmp_path: Path) -> None:
    """Crank 1, coupler 2, rocker 2, ground 2.5: the crank turns, the rocker swings between its dead points."""
    mechanism = sr.Mechanism("crank_rocker", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("coupler", "crank", 1.0), ("rocker", "world", 2.5)):
        mechanism.add_body(name, 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
        limits = (-1.0, 2.0) if name == "crank" else None
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0), limits=limits)
    mechanism.add_closure("pin", "point", "coupler", "rocker", pose1=(2, 0, 0), pose2=(2, 0, 0))
    with sr.view(mechanism, q=[1.0, -0.5, 1.5], open_browser=False, port=8450) as viewer:
        while viewer.joints.pending:
            viewer.worker.do(lambda: None)
        rocker, crank = viewer.joints.sliders["rocker"], viewer.joints.sliders["crank"]
        dead = [np.pi - np.arccos((2.5**2 + 4.0 - reach**2) / 10.0) for reach in (1.0, 3.0)]
        assert sorted((rocker.min, rocker.max)) == pytest.approx(sorted(dead), abs=1e-8)
        assert (crank.min, crank.max) == (-1.0, 2.0)  # the limits of the joint
        viewer.drag("rocker", rocker.max)
        assert viewer.readout.residual < 1e-12


def test_contacts_that_come_and_go_are_read_as_they_were(tmp_path: Path) -> None:
    ball = sr.Mechanism("ball")
    ball.add_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    ball.add_joint("slide", "prismatic", "world", "ball", axis=(0, 0, 1))
    ball.add_contact("ground", "ball", (0, 0, -0.1), friction="frictionless")
    rest = sr.simulate(sr.System(ball), [0.5], duration=1.0)
    with sr.view(rest, open_browser=False, port=8460) as viewer:
        viewer.show_time(0.1)  # in the air
        assert (viewer.readout.rank, viewer.readout.forces) == (0, ())
        viewer.show_time(1.0)  # on the ground
        assert (viewer.readout.rank, viewer.readout.dof) == (1, 0)
        assert viewer.readout.forces[0][1] == pytest.approx(2.0 * 9.81, rel=1e-9)
        assert viewer.forces.shown is not None
        np.testing.assert_allclose(viewer.forces.shown.determined, [[0, 0, 2.0 * 9.81]], rtol=1e-9)
        assert viewer.readout.residual < 1e-12


def test_time_is_shown_played_and_paused(run: sr.Trajectory) -> None:
    with sr.view(run, run, open_browser=False, port=8420) as viewer:
        assert viewer.labels == ["five_bar 1", "five_bar 2"]
        viewer.show_time(0.25)
        np.testing.assert_allclose(viewer.q, run.at(0.25))
        assert float(viewer.timeline.slider.value) == pytest.approx(0.25)
        viewer.worker.do(lambda: viewer.timeline.tick(0.1))
        assert viewer.timeline.time == pytest.approx(0.35)
        viewer.worker.do(lambda: viewer.timeline.tick(10.0))
        assert viewer.timeline.time == 0.0  # round again
        for node in viewer.nodes:
            np.testing.assert_allclose(node.nodes[0].position, run.system.body_placements(run.q[0])[0][0])  # type: ignore[union-attr]


def test_modes_swing_at_rest_and_are_refused_elsewhere() -> None:
    with sr.view(sr.load(FIVE_BAR), open_browser=False, port=8430) as viewer:
        viewer.worker.do(viewer.modes.find_modes)
        assert viewer.modes.model is None
        assert "no modes here" in viewer.modes.text.content
        viewer.worker.do(viewer.modes.go_to_rest)
        assert viewer.modes.model is not None
        viewer.modes.choice.value = viewer.modes.choice.options[1]
        viewer.worker.do(viewer.modes.start)
        rest = viewer.modes.model.q
        away = []
        for _ in range(10):
            viewer.worker.do(lambda: viewer.modes.tick(0.1))
            away.append(np.abs(viewer.q - rest).max())
            assert viewer.readout.residual < 1e-12
        assert max(away) > 0.1
        viewer.pause()
        np.testing.assert_allclose(viewer.q, rest)
        viewer.drag("left", float(rest[0]) + 0.3)
        assert viewer.modes.model is None


def test_simulating_from_here_starts_where_it_was() -> None:
    with sr.view(sr.load(FIVE_BAR), open_browser=False, port=8440) as viewer:
        viewer.drag("left", 1.9)
        here = viewer.q.copy()
        viewer.run.duration.value = 0.2
        viewer.worker.do(viewer.run.run)
        viewer.pause()
        assert viewer.labels == ["simulated from here"]
        np.testing.assert_allclose(viewer.runs[0].q[0], here, atol=1e-12)
        assert viewer.runs[0].duration == pytest.approx(0.2)
