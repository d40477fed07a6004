"""Pictures: they show the motion, need no display, and leave Matplotlib's settings alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.impacts import activity
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.contact_drawing import contact_marks
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.symbols.picture_plane import choose_view

MODELS = Path(__file__).parent.parent / "models"


@pytest.fixture(scope="module")
def five_bar() -> Trajectory:
    mechanism = sr.load(MODELS / "five_bar.xml")
    return sr.simulate(sr.System(mechanism), mechanism.keyframes["symmetric"].q, duration=0.8, dt=1e-3)


@pytest.fixture(scope="module")
def spatial() -> Trajectory:
    """A slider in x carrying a ball-jointed rod, with a spring to the ground."""
    mechanism = sr.Mechanism("spatial")
    mechanism.add_body("slider", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_body("rod", 1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.02))
    mechanism.add_joint("slide", "prismatic", "world", "slider", axis=(1, 0, 0))
    mechanism.add_joint("ball", "spherical", "slider", "rod")
    mechanism.add_spring_damper(
        "spring", "world", "slider", point1=(-1, 0, 0), stiffness=5.0, rest_length=0.5
    )
    system = sr.System(mechanism)
    return sr.simulate(system, system.neutral(), [0.0, 2.0, 1.0, 0.5], duration=0.5, dt=5e-3)


def test_history_has_a_panel_per_quantity_and_marks_passages(five_bar: Trajectory, tmp_path: Path) -> None:
    figure = five_bar.plot(tmp_path / "plot.png")
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    assert labels == ["angle [rad]", "energy change [J]", "closure residual", "condition number"]
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "linear", "log", "log"]
    assert "0.65 s" in [text.get_text() for text in figure.axes[0].texts]
    assert Image.open(tmp_path / "plot.png").size[0] > 600


def test_history_without_constraints_and_with_mixed_units(spatial: Trajectory) -> None:
    labels = [axes.get_ylabel().replace("\n", " ") for axes in spatial.plot().axes]
    assert labels == ["displacement [m]", "quaternion", "energy change [J]"]


@pytest.mark.parametrize("samples", [0, 1])
def test_history_of_a_run_that_failed_at_once(five_bar: Trajectory, samples: int, tmp_path: Path) -> None:
    arrays = ("t", "q", "v", "a", "u", "multipliers", "energy", "rank", "condition", "residual", "error")
    short = replace(five_bar, **{name: getattr(five_bar, name)[:samples] for name in arrays}, passages=())
    short.plot(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 1000


def test_history_of_many_coordinates() -> None:
    nq, t = 80, np.linspace(0, 1, 20)
    names = tuple(f"q{k}" for k in range(nq))
    wave = np.sin(t[:, None] + np.arange(nq))
    nothing = np.zeros((20, 0))
    one = np.ones(20)
    trajectory = Trajectory(
        "many",
        t,
        wave,
        wave,
        wave,
        nothing,
        nothing,
        one,
        one,
        one,
        one,
        coordinate_names=names,
        velocity_names=names,
    )
    figure = trajectory.plot()
    assert "80 coordinates" in [text.get_text() for text in figure.axes[0].texts]
    assert figure.axes[0].get_legend() is None


def test_skeleton_of_the_five_bar_closes(five_bar: Trajectory) -> None:
    skeleton = build_skeleton(five_bar.system.mechanism)
    assert [len(outline) for outline in skeleton.outlines] == [2, 2, 2, 2]
    placed = skeleton.place(five_bar.system, five_bar.q[::100])
    lengths = [np.linalg.norm(placed[:, a] - placed[:, b], axis=1) for a, b in skeleton.outlines]
    np.testing.assert_allclose(
        lengths, np.repeat([[1.0], [1.5], [1.0], [1.5]], placed.shape[0], axis=1), atol=1e-12
    )
    tips = [skeleton.outlines[1][-1], skeleton.outlines[3][-1]]
    np.testing.assert_allclose(placed[:, tips[0]], placed[:, tips[1]], atol=1e-12)
    pivots = sorted(placed[0, k, 0] for k in skeleton.pivots)
    np.testing.assert_allclose(pivots, [0.0, 1.0], atol=1e-15)


def test_skeleton_of_sliders_rods_and_springs(spatial: Trajectory) -> None:
    skeleton = build_skeleton(spatial.system.mechanism)
    assert len(skeleton.sliders) == 1
    assert not skeleton.rods
    assert [(link.glyph, link.element) for link in skeleton.symbols.links] == [
        ("spring", ("springs", "spring"))
    ]
    assert not skeleton.pivots
    rod = skeleton.outlines[1]
    placed = skeleton.place(spatial.system, spatial.q)
    np.testing.assert_allclose(np.linalg.norm(placed[:, rod[0]] - placed[:, rod[1]], axis=1), 0.5, atol=1e-12)


@pytest.fixture(scope="module")
def block() -> Trajectory:
    """A block that falls on a slope along x, a line with friction and a point without, in the plane y = 0."""
    mechanism = sr.Mechanism("block")
    mechanism.add_body("block", 1.0, inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint(
        "block", "planar", "world", "block", axis=(0, 1, 0), axis2=(1, 0, 0), parent_pose=(0, 0, 0.6)
    )
    slope = {"normal": (0.6, 0, 0.8), "offset": 0.1}
    mechanism.add_contact_patch("line", "block", (0, 0, -0.1), extent=0.2, friction_coefficient=0.75, **slope)
    mechanism.add_contact("tip", "block", (0, 0, 0.1), friction="frictionless", **slope)
    system = sr.System(mechanism)
    return sr.simulate(system, system.neutral(), duration=0.4, dt=5e-3)


def test_marks_of_contacts_lie_on_the_plane_and_open_at_the_angle_of_friction(block: Trajectory) -> None:
    system, view = block.system, choose_view(np.zeros((1, 1, 3)), "xz", np.array([0, 0, -9.81]))
    marks = contact_marks(system.mechanism, system, block.q, view)
    assert marks.points.shape == (len(block.t), 3, 2)
    gaps = np.array([list(activity.gaps(system, q).values()) for q in block.q])
    np.testing.assert_allclose(marks.points @ (0.6, 0.8) - 0.1, gaps, atol=1e-12)
    # From the side a plane is a line under all points that come near, with strokes below it.
    line, strokes = marks.lines[0, 0], marks.lines[0, 1:]
    np.testing.assert_allclose(line @ (0.6, 0.8), 0.1, atol=1e-12)
    np.testing.assert_allclose(strokes[:, 0] @ (0.6, 0.8), 0.1, atol=1e-12)
    assert (strokes[:, 1] @ (0.6, 0.8) < 0.1).all()
    ends = np.sort(line @ (0.8, -0.6))
    landed = marks.points[gaps < 1e-6] @ (0.8, -0.6)
    assert ends[0] < landed.min()
    assert ends[1] > landed.max()
    # A cone at each end of the line where it is down, none at the frictionless tip.
    assert marks.cones.shape[:2] == (len(block.t), 2)
    assert not marks.touching[0].any()
    assert marks.touching[-1].any()
    (outline, *_), k = marks.outlines(-1), int(np.argmax(marks.touching[-1]))
    arms = outline - marks.points[-1, k]
    arms = arms[np.linalg.norm(arms, axis=1) > 1e-9]
    angles = np.arctan2(arms @ (0.8, -0.6), arms @ (0.6, 0.8))
    assert (angles.min(), angles.max()) == pytest.approx((-np.arctan(0.75), np.arctan(0.75)), abs=1e-9)


def test_a_plane_seen_from_above_is_a_mesh(block: Trajectory) -> None:
    system, view = block.system, choose_view(np.zeros((1, 1, 3)), "xy", np.array([0, 0, -9.81]))
    marks = contact_marks(system.mechanism, system, block.q, view)
    ways = np.diff(marks.lines[0], axis=1)[:, 0]
    assert {tuple(np.abs(way) > 1e-9) for way in ways} == {(True, False), (False, True)}


def test_contacts_are_drawn(block: Trajectory, tmp_path: Path) -> None:
    axes = block.draw(frames=3).axes[0]
    planes, cones = (c for c in axes.collections if c.get_zorder() in (0.9, 1.4))
    assert len(planes.get_segments()) > 5
    assert len(cones.get_paths()) >= 1
    with Image.open(block.animate(tmp_path / "run.gif", fps=10)) as film:
        assert film.n_frames == 5


def turning(normal: np.ndarray) -> np.ndarray:
    """Return points (30, 2, 3) that move in the plane with this normal, at two depths."""
    across = np.linalg.svd(normal[None, :])[2][1:]
    angle = np.linspace(0, 2, 30)
    circle = np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1]
    return np.stack([circle, 2 * circle + 0.3 * normal], axis=1)


@pytest.mark.parametrize(("axis", "labels"), [(0, "yz"), (1, "xz"), (2, "xy")])
def test_the_view_is_the_plane_of_motion(axis: int, labels: str) -> None:
    view = choose_view(turning(np.eye(3)[axis]), None, np.array([0, 0, -9.81]))
    assert view.labels == (f"{labels[0]} [m]", f"{labels[1]} [m]")
    assert not view.spatial


def test_an_inclined_plane_is_drawn_in_true_size_and_upright() -> None:
    normal = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
    points = turning(normal)
    view = choose_view(points, None, np.array([0, 0, -9.81]))
    flat = view.project(points)
    distance = np.linalg.norm(points[:, 0] - points[:1, 0], axis=1)
    np.testing.assert_allclose(np.linalg.norm(flat[:, 0] - flat[:1, 0], axis=1), distance, atol=1e-12)
    assert view.up[2] > 0.9


def test_views_of_lines_of_rest_and_of_space() -> None:
    gravity = np.array([0, 0, -9.81])
    line = np.linspace(0, 1, 10)[:, None, None] * np.array([1.0, 0, 0]) + np.array([[0, 0, 0], [0, 0, 1.0]])
    assert choose_view(line, None, gravity).labels == ("x [m]", "z [m]")
    assert choose_view(line[:1], None, gravity).labels == ("x [m]", "z [m]")
    assert choose_view(np.random.default_rng(0).standard_normal((9, 2, 3)), None, gravity).spatial
    with pytest.raises(ArgumentError, match=r"unknown plane 'zx'. Known: 'xy', 'xz', 'yz', '3d'"):
        choose_view(line, "zx", gravity)


def test_stroboscope(five_bar: Trajectory, tmp_path: Path) -> None:
    figure = five_bar.draw(tmp_path / "strobe.png", frames=np.linspace(0, 0.7, 5))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    assert axes.get_aspect() == 1.0
    assert "t = 0 … 0.7 s, 5 poses" in [text.get_text() for text in axes.texts]
    assert sum(line.get_alpha() == 1.0 and line.get_linewidth() > 4.0 for line in axes.lines) == 4
    picture = np.asarray(Image.open(tmp_path / "strobe.png").convert("RGB"), dtype=int)
    assert (np.abs(picture - (0, 0x72, 0xB2)).sum(axis=2) < 30).sum() > 500


def test_stroboscope_in_space_and_of_one_pose(spatial: Trajectory) -> None:
    assert "orthographic view, z up" in [text.get_text() for text in spatial.draw().axes[0].texts]
    assert spatial.draw(frames=1, plane="xz").axes[0].get_xlabel() == "x [m]"


def test_animation_has_the_frames_and_the_pace(
    five_bar: Trajectory, spatial: Trajectory, tmp_path: Path
) -> None:
    with Image.open(five_bar.animate(tmp_path / "run.gif", fps=20)) as film:
        assert film.n_frames == 17
        assert film.info["duration"] == 50
        assert film.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    with Image.open(spatial.animate(tmp_path / "slow.gif", fps=25, speed=0.5)) as film:
        assert film.n_frames == 26


def test_a_loaded_trajectory_is_drawn_with_the_mechanism_in_its_file(
    five_bar: Trajectory, spatial: Trajectory, tmp_path: Path
) -> None:
    loaded = Trajectory.load(five_bar.save(tmp_path / "run.nc"))
    assert loaded.system is None
    loaded.draw()
    assert loaded.system is not None
    with pytest.raises(ArgumentError, match="pass system="):
        replace(loaded, system=None, mechanism=None).draw()
    with pytest.raises(ArgumentError, match="other coordinates"):
        loaded.draw(system=spatial.system)
    loaded.draw(system=five_bar.system)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, p: t.plot(p / "plot.gif"), "must end in one of .png"),
        (lambda t, p: t.draw(frames=0), "frames must be at least 1"),
        (lambda t, p: t.draw(frames=[]), "no times"),
        (lambda t, p: t.draw(frames=[9.0]), "covers 0 to"),
        (lambda t, p: t.animate(p / "run.mp4"), "must end in .gif"),
        (lambda t, p: t.animate(p / "run.gif", fps=0), "fps must lie between 1 and 50"),
        (lambda t, p: t.animate(p / "run.gif", speed=-1), "speed must be positive"),
        (lambda t, p: t.animate(p / "run.gif", speed=1e-6), "raise speed or lower fps"),
    ],
)
def test_bad_requests(five_bar: Trajectory, tmp_path: Path, call: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(five_bar, tmp_path)  # type: ignore[operator]


def test_global_settings_stay(five_bar: Trajectory, tmp_path: Path) -> None:
    before, backend = dict(mpl.rcParams), mpl.get_backend(auto_select=False)
    five_bar.plot()
    five_bar.draw()
    five_bar.animate(tmp_path / "run.gif", fps=2)
    assert dict(mpl.rcParams) == before
    assert mpl.get_backend(auto_select=False) == backend
