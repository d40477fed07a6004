"""Workspaces against closed forms: lenses, rings and sectors, with limits, in any unit."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from five_bars import ARMS, START, TIP, five_bar
from sarrus.base.errors import ArgumentError
from scaled import scaled


def lens(radius: float, apart: float) -> float:
    """Return the area that two discs have in common."""
    half = apart / (2 * radius)
    return 2 * radius**2 * np.arccos(half) - apart / 2 * np.sqrt(4 * radius**2 - apart**2)


def test_the_workspace_of_a_five_bar():
    """What both rings reach: two discs of radius far + near without two of radius far − near."""
    near, far, apart = ARMS
    found = sr.workspace(five_bar(*ARMS), START, *TIP, resolution=16, rays=6)
    distances = [np.hypot(found.points[:, 0] - x, found.points[:, 2]) for x in (0.0, apart)]
    for d in distances:
        assert d.min() >= far - near - 1e-9
        assert d.max() <= far + near + 1e-9
    assert len(found.outline) == 1
    assert len(found.holes) == 2
    expected = lens(near + far, apart) - 2 * np.pi * (far - near) ** 2
    assert found.area == pytest.approx(expected, rel=6e-3)
    for ring in (*found.outline, *found.holes):
        miss = [
            min(abs(np.hypot(p[0] - x, p[2]) - r) for x in (0.0, apart) for r in (far - near, far + near))
            for p in ring
        ]
        assert max(miss) < found.cell / 100
    assert np.abs([five_bar(*ARMS).constraint_residual(q) for q in found.q]).max() < 1e-9
    assert found.modes.max() == 4  # each leg's elbow on either side


def arm(limits: tuple[int] | None = None) -> sr.System:
    mechanism = sr.Mechanism("arm")
    for name, parent, x, bounds in (("upper", "world", 0.0, (0.0, 1.5)), ("lower", "upper", 1.0, (0.2, 2.0))):
        mechanism.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        mechanism.add_joint(
            name,
            "revolute",
            parent,
            name,
            axis=(0, -1, 0),
            parent_pose=(x, 0, 0),
            limits=bounds if limits else None,
        )
    return sr.System(mechanism)


def test_the_ring_of_an_arm_and_its_sector():
    """A ring between 0.6 and 1.4; with limits ∫∫ r₁ r₂ sin φ₂ dφ₁ dφ₂."""
    tip = (0.4, 0.0, 0.0)
    found = sr.workspace(arm(), [0.3, 1.0], "lower", tip, resolution=10, rays=2)
    assert found.area == pytest.approx(np.pi * (1.4**2 - 0.6**2), rel=4e-3)
    assert (len(found.outline), len(found.holes)) == (1, 1)
    found = sr.workspace(arm((1,)), [0.3, 1.0], "lower", tip, resolution=28, rays=2)
    assert found.area == pytest.approx(0.4 * (np.cos(0.2) - np.cos(2.0)) * 1.5, rel=1e-2)
    assert np.all((found.q >= np.array([0.0, 0.2]) - 1e-9) & (found.q <= np.array([1.5, 2.0]) + 1e-9))


def test_limits_of_joints_or_given_and_any_unit():
    options = {"resolution": 5, "rays": 2}
    limits = {"upper": (0.0, 1.5), "lower": (0.2, 2.0)}
    areas = []
    for factor in (1.0, 1000.0):
        free, limited = (sr.System(scaled(system, factor)) for system in (arm(), arm((1,))))
        tip = (0.4 * factor, 0.0, 0.0)
        areas += [
            sr.workspace(limited, [0.3, 1.0], "lower", tip, **options).area / factor**2,
            sr.workspace(free, [0.3, 1.0], "lower", tip, limits=limits, **options).area / factor**2,
        ]
    assert areas == pytest.approx([areas[0]] * 4, rel=1e-6)


def test_a_plane_askew_and_a_body_in_space():
    """An arm whose axes are askew has the ring in another plane; a point of three motions fills a part of space."""
    axis = np.array([0.6, -0.64, 0.48])
    other = np.cross(axis, (0.0, 0.0, 1.0)) / np.linalg.norm(np.cross(axis, (0.0, 0.0, 1.0)))
    mechanism = sr.Mechanism("askew")
    for name, parent, place in (("upper", "world", 0.0 * other), ("lower", "upper", other)):
        mechanism.add_body(name, 1.0, com=0.5 * other, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, axis=axis, parent_pose=place)
    found = sr.workspace(
        sr.System(mechanism), [0.3, 1.0], "lower", 0.4 * other, resolution=6, rays=2, halvings=6
    )
    assert found.area == pytest.approx(np.pi * (1.4**2 - 0.6**2), rel=3e-2)
    assert max(np.abs(ring @ axis).max() for ring in (*found.outline, *found.holes)) < 1e-12
    box = sr.Mechanism("gantry")
    for k, (name, parent) in enumerate((("x", "world"), ("y", "x"), ("z", "y"))):
        box.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        box.add_joint(name, "prismatic", parent, name, axis=np.eye(3)[k], limits=(0.0, 1.0 + k))
    found = sr.workspace(sr.System(box), [0.5, 1.0, 1.5], "z", resolution=8, rays=12)
    assert not found.planar
    assert found.points.min(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=found.cell)
    assert found.points.max(axis=0) == pytest.approx([1.0, 2.0, 3.0], abs=found.cell)
    assert np.abs(found.points - found.q).max() < 1e-9


def stage(
    arm: float = 0.1,
    x: tuple[float, float] | None = (0.0, 1.0),
    y: tuple[float, float] | None = (0.0, 0.5),
    wheel: bool = False,
) -> sr.System:
    """Return a stage of two sliders whose bodies are as wide as ``arm``, which is κ; a wheel may spin on it."""
    mechanism = sr.Mechanism("stage")
    for k, (name, parent, limits) in enumerate((("x", "world", x), ("y", "x", y))):
        mechanism.add_body(name, 1.0, com=(arm, 0, 0), inertia=(1e-2,) * 3)
        mechanism.add_joint(name, "prismatic", parent, name, axis=np.eye(3)[k], limits=limits)
    if wheel:
        mechanism.add_body("wheel", 0.1, inertia=(1e-2,) * 3)
        mechanism.add_joint("spin", "revolute", "y", "wheel", axis=(0, 0, 1))
    return sr.System(mechanism)


@pytest.mark.parametrize(("arm", "resolution"), [(0.1, 40), (0.1, 4), (0.02, 8), (0.02, 4), (0.001, 16)])
def test_a_stage_much_larger_than_its_bodies(arm, resolution):
    """A rectangle whose corners are cut, with as many nodes along it as asked for."""
    found = sr.workspace(stage(arm), [0.2, 0.2], "y", resolution=resolution)
    assert len(found.outline) == 1
    x, y, _ = found.outline[0].T
    assert np.min(np.abs([x, x - 1.0, y, y - 0.5]), axis=0).max() < found.cell / 2**10
    assert 0.5 - 4 * found.cell**2 / 2 < found.area < 0.5 + 1e-4
    assert resolution / 2 <= 1.0 / found.cell <= 2 * resolution
    assert (found.modes == 1).all()


def test_a_short_arm_on_a_long_slide():
    """A stadium, whose nodes are about as far apart as the arm is long: each step turns the arm."""
    mechanism = sr.Mechanism("crane")
    for name, parent, kind, axis in (
        ("slide", "world", "prismatic", (1, 0, 0)),
        ("arm", "slide", "revolute", (0, 0, 1)),
    ):
        mechanism.add_body(name, 1.0, com=(0.05, 0, 0), inertia=(1e-2,) * 3)
        mechanism.add_joint(
            name, kind, parent, name, axis=axis, limits=(0.0, 1.0) if kind == "prismatic" else None
        )
    found = sr.workspace(sr.System(mechanism), [0.3, 0.4], "arm", (0.05, 0, 0), resolution=20)
    assert found.area == pytest.approx(0.1 + np.pi * 0.05**2, rel=1e-2)
    assert found.modes.max() == 2


def test_a_gantry_of_small_bodies_has_as_many_nodes_as_asked_for():
    box = sr.Mechanism("gantry")
    for k, (name, parent) in enumerate((("x", "world"), ("y", "x"), ("z", "y"))):
        box.add_body(name, 1.0, com=(0.002, 0, 0), inertia=(0.1, 0.1, 0.1))
        box.add_joint(name, "prismatic", parent, name, axis=np.eye(3)[k], limits=(0.0, 1.0))
    found = sr.workspace(sr.System(box), [0.5, 0.5, 0.5], "z", resolution=8)
    assert 4**3 <= len(found.points) <= 17**3
    assert np.ptp(found.points, axis=0) == pytest.approx([1.0] * 3, abs=2 * found.cell)


def test_a_wheel_that_spins_freely_changes_no_unit():
    found = []
    for factor in (1.0, 1000.0):
        system = sr.System(scaled(stage(wheel=True), factor))
        found.append(
            sr.workspace(system, [0.2 * factor, 0.2 * factor, 0.0], "wheel", resolution=8, rays=6).points
            / factor
        )
    assert found[0].shape == found[1].shape
    assert found[1] == pytest.approx(found[0], abs=1e-9)


def test_small_strokes():
    """±2 mm at bodies of 0.1 m, from the middle or a corner; an elbow that hardly bends, narrower than a cell."""
    small = stage(0.1, (-0.002, 0.002), (-0.002, 0.002))
    for start in ([0.0, 0.0], [-0.002, -0.002]):
        assert sr.workspace(small, start, "y").area == pytest.approx(1.6e-5, rel=2e-3)
    limits = {"upper": (-1.0, 1.0), "lower": (0.2, 0.3)}
    found = sr.workspace(arm(), [0.0, 0.25], "lower", (0.6, 0.0, 0.0), limits=limits)
    assert found.area == pytest.approx(0.6 * (np.cos(0.2) - np.cos(0.3)) * 2.0, rel=1e-2)


def test_a_slider_without_limits_is_named():
    for y in ((0.0, 0.5), None):
        with pytest.raises(
            ArgumentError, match=r"unbounded: give limits= for 'x', or lock it with locked="
        ) as caught:
            sr.workspace(stage(x=None, y=y), [0.2, 0.2], "y")
        assert caught.value.element == "x"
    found = sr.workspace(stage(x=None), [0.2, 0.2], "y", limits={"x": (0.0, 1.0)}, resolution=20)
    assert found.area == pytest.approx(0.5, abs=2 * found.cell**2)


@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_a_point_on_a_curved_surface_is_refused(factor):
    mechanism = sr.Mechanism("head")
    for name, parent, axis, limits in (
        ("pan", "world", (0, 0, 1), None),
        ("tilt", "pan", (0, 1, 0), (-1, 1)),
    ):
        mechanism.add_body(name, 1.0, inertia=(1e-2,) * 3)
        mechanism.add_joint(name, "revolute", parent, name, axis=axis, limits=limits)
    system = sr.System(scaled(sr.System(mechanism), factor))
    point = (0.5 * factor, 0.0, 0.0)
    with pytest.raises(
        ArgumentError, match="'tilt' moves on a curved surface, neither in a plane nor through space"
    ):
        sr.workspace(system, [0.1, 0.1], "tilt", point)
    with pytest.raises(ArgumentError, match="rests or moves on a line, straight or curved"):
        sr.workspace(system, [0.1, 0.1], "tilt", point, locked=["pan"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"upper": 3}}, "limits of 'upper' must be"),
        ({"limits": {"upper": None}}, "limits of 'upper' must be"),
        ({"limits": {"upper": ("x", "y")}}, "limits of 'upper' must be"),
        ({"limits": [("upper", (0, 1))]}, "limits must be names with pairs"),
        ({"resolution": "8"}, "resolution must be a whole number, at least 4"),
        ({"resolution": np.nan}, "resolution must be a whole number, at least 4"),
        ({"resolution": 8.5}, "resolution must be a whole number, at least 4"),
        ({"rays": 2.5}, "rays must be a whole number, at least 1"),
        ({"rays": 0}, "rays must be a whole number, at least 1"),
        ({"halvings": 2.5}, "halvings must be a whole number, at least 0"),
        ({"halvings": -1}, "halvings must be a whole number, at least 0"),
        ({"q": np.zeros((0, 2))}, r"q must be a start \(2,\) or several"),
    ],
)
def test_arguments_that_are_none_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        sr.workspace(arm(), options.pop("q", [0.3, 1.0]), "lower", (0.4, 0.0, 0.0), **options)


def test_errors_say_what_would_be_right():
    system = five_bar(*ARMS)
    with pytest.raises(ArgumentError, match=r"'left' starts at .* outside of its limits"):
        sr.workspace(system, START, *TIP, limits={"left": (0.0, 0.1)})
    with pytest.raises(ArgumentError, match="rests or moves on a line"):
        sr.workspace(system, START, "left", (0.0, 0.0, 0.0))
    with pytest.raises(ArgumentError, match="lower < upper"):
        sr.workspace(system, START, *TIP, limits={"left": (1.0, 0.0)})
