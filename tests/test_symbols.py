"""Symbols of elements are in proportion: wheels roll on each other, threads advance, strings have their length."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from mechanisms import random_tree
from sarrus.model.mechanism.tendons import Wrap
from sarrus.pictures.plots.skeleton import build_skeleton, placements
from sarrus.pictures.scene.parts import parts_of
from sarrus.pictures.symbols.glyphs import helix, letter, profile, turning_arrow
from sarrus.pictures.symbols.symbols import Mark, Symbols

SEEDS = range(4)


def wheels(seed: int, alike: bool, *, kinds: tuple[str, str] = ("revolute", "revolute")) -> sr.Mechanism:
    """Two bodies with parallel hinges, or a hinge and a slide across it, anywhere in space, coupled by chance."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    axis, way = frame[:, 0], frame[:, 1]
    flip = rng.choice([-1.0, 1.0])
    m = sr.Mechanism("wheels")
    places = rng.standard_normal(3), rng.standard_normal(3)
    other = flip * axis if kinds[1] == "revolute" else flip * way
    for name, kind, place, direction in zip("ab", kinds, places, (axis, other)):
        m.add_body(name, 1.0, rng.standard_normal(3), (1, 1, 1))
        turned = sr.Pose.of((0, 0, 0), rpy=rng.uniform(-1, 1, 3))
        m.add_joint(
            name,
            kind,
            "world",
            name,
            axis=direction,
            parent_pose=sr.Pose(place, np.eye(3)),
            child_pose=sr.Pose(rng.standard_normal(3), turned.rotation),
        )
    ratio = rng.uniform(0.5, 2.0)
    sign = flip if not alike else -flip
    m.add_coupling("c", {"a": 1.0, "b": sign * ratio})
    return m


def marks_of(symbols: Symbols, table: str) -> list[Mark]:
    return [mark for mark in symbols.marks if mark.element[0] == table]


def velocity(system: sr.System, q: np.ndarray, v: np.ndarray, body: str, place: np.ndarray) -> np.ndarray:
    """Velocity of the material of a body at a place in the world, by differences."""
    number = list(system.mechanism.bodies).index(body)  # type: ignore[union-attr]
    position, rotation = (part[number] for part in system.body_placements(q))
    own = rotation.T @ (place - position)
    ends = []
    for side in (-1.0, 1.0):
        p, r = (part[number] for part in system.body_placements(system.move(q, side * 1e-6 * v)))
        ends.append(p + r @ own)
    return (ends[1] - ends[0]) / 2e-6


def circle(line: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of a closed line."""
    centre = line[:-1].mean(axis=0)
    return centre, float(np.linalg.norm(line[0] - centre))


@pytest.mark.parametrize("seed", SEEDS)
def test_pitch_circles_of_gears_touch_and_roll_on_each_other(seed: int) -> None:
    mechanism = wheels(seed, alike=False)
    system, symbols = sr.System(mechanism), build_skeleton(mechanism).symbols
    q = system.neutral()
    v = system.project_velocity(q, [1.0, 0.3])
    positions, rotations = (part[0] for part in placements(system, q[None]))
    found = [
        circle(mark.lines[0] @ rotations[mark.body].T + positions[mark.body])
        for mark in marks_of(symbols, "couplings")
    ]
    (one, radius), (two, other) = found
    gap = float(np.linalg.norm(two - one))
    assert radius + other == pytest.approx(gap, rel=1e-9)
    touch = one + radius * (two - one) / gap
    speeds = [velocity(system, q, v, name, touch) for name in "ab"]
    assert np.linalg.norm(speeds[0]) > 1e-2
    assert_allclose(speeds[0], speeds[1], atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_belts_touch_their_pulleys_and_run_at_one_speed(seed: int) -> None:
    mechanism = wheels(seed, alike=True)
    system, symbols = sr.System(mechanism), build_skeleton(mechanism).symbols
    q = system.neutral()
    v = system.project_velocity(q, [1.0, 0.3])
    positions, rotations = (part[0] for part in placements(system, q[None]))
    first, second, belt = marks_of(symbols, "couplings")
    pulleys = [circle(m.lines[0] @ rotations[m.body].T + positions[m.body]) for m in (first, second)]
    assert belt.body == -1
    for line in belt.lines:
        way = (line[1] - line[0]) / np.linalg.norm(line[1] - line[0])
        speeds = []
        for name, (centre, radius), end in zip("ab", pulleys, line):
            assert np.linalg.norm(end - centre) == pytest.approx(radius, rel=1e-9)
            assert abs((end - centre) @ way) < 1e-9  # a tangent
            speeds.append(velocity(system, q, v, name, end) @ way)
        assert speeds[0] == pytest.approx(speeds[1], abs=1e-7)
        assert abs(speeds[0]) > 1e-2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alike", [False, True])
def test_a_pinion_rolls_on_its_rack(seed: int, alike: bool) -> None:
    mechanism = wheels(seed, alike, kinds=("revolute", "prismatic"))
    system, symbols = sr.System(mechanism), build_skeleton(mechanism).symbols
    q = system.neutral()
    v = system.project_velocity(q, [1.0, 0.3])
    positions, rotations = (part[0] for part in placements(system, q[None]))
    pinion, rack = marks_of(symbols, "couplings")
    centre, radius = circle(pinion.lines[0] @ rotations[pinion.body].T + positions[pinion.body])
    start, end = rack.lines[0] @ rotations[rack.body].T + positions[rack.body]
    touch = 0.5 * (start + end)
    assert np.linalg.norm(touch - centre) == pytest.approx(radius, rel=1e-9)
    assert abs((touch - centre) @ (end - start)) < 1e-9
    speeds = [velocity(system, q, v, name, touch) for name in "ab"]
    assert np.linalg.norm(speeds[0]) > 1e-2
    assert_allclose(speeds[0], speeds[1], atol=1e-7)


@pytest.mark.parametrize("pitch", [0.2, -0.2])
def test_threads_of_screws_turn_as_they_advance(pitch: float) -> None:
    mechanism = sr.Mechanism("screw")
    mechanism.add_body("a", 1.0, (0.3, 0, 0), (1, 1, 1))
    mechanism.add_joint("a", "screw", "world", "a", axis=(0, 0, 1), pitch=pitch)
    (mark,) = marks_of(build_skeleton(mechanism).symbols, "joints")
    x, y, z = mark.lines[0].T
    turn = np.polyfit(np.unwrap(np.arctan2(y, x)), z, 1)[0]
    assert np.sign(turn) == np.sign(pitch)
    line = helix(np.zeros(3), np.array([0.0, 0, 1]), 1.0, 0.5, 2)
    assert_allclose(np.hypot(*line[:, :2].T), 1.0)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("side", [None, "outside", "inside"])
@pytest.mark.parametrize("seed", SEEDS)
def test_strings_are_drawn_as_long_as_they_are(kind: str, side: str | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = sr.Mechanism("string")
    m.add_body("a", 1.0, (0.3, 0, 0), (1, 1, 1))
    m.add_joint("a", "spherical", "world", "a")
    given = {None: None, "outside": ("world", (0.0, 0.3, 1.2)), "inside": ("world", (0.0, 0.02, 0.81))}[side]
    pose = sr.Pose.of((0.0, 0.0, 0.8), rpy=(0.3, np.pi / 2 + 0.2, 0.0))
    if given is not None:
        given = given[0], np.array(given[1])
    wrap = Wrap("world", kind, 0.2, pose, side=given)
    m.add_tendon("t", [("world", (-0.1, -0.7, 0.9)), wrap, ("a", (0.1, 0.6, 0.7))], stiffness=1.0)
    m.add_sensor("length", "tendonpos", "t")
    system = sr.System(m)
    skeleton, lengths = build_skeleton(m), []
    for _ in range(6):
        q = system.normalized(system.neutral() + 0.25 * rng.standard_normal(4))
        length = float(system.sensors(q)["length"][0])
        points = skeleton.place(system, q[None])[0][-18:]
        drawn = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        straight = float(np.linalg.norm(points[-1] - points[0]))
        assert drawn == pytest.approx(length, rel=6e-3)
        assert drawn <= length + 1e-9
        lengths.append(length / straight)
    assert max(lengths) > 1.001 or side == "inside"


@pytest.mark.parametrize("seed", SEEDS)
def test_drawings_of_random_mechanisms_are_finite(seed: int) -> None:
    plan = random_tree(
        seed, ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical")
    )
    mechanism = plan.mechanism
    names = [joint.name for joint in mechanism.joints() if joint.nv == 1]
    rng = np.random.default_rng(seed)
    for k in range(3):
        one, other = rng.choice(names, 2, replace=False)
        mechanism.add_coupling(f"pair{k}", {str(one): 1.0, str(other): float(rng.standard_normal())})
    mechanism.add_motion("motion", names[0], lambda t: t)
    system, skeleton = sr.System(mechanism), build_skeleton(mechanism)
    parts = parts_of(mechanism, skeleton, skeleton.symbols.size)
    assert all(np.isfinite(part.mesh.vertices).all() for part in parts.solids)
    assert all(np.isfinite(rod.mesh.vertices).all() for rod in parts.rods)
    placed = skeleton.place(system, system.neutral()[None])
    assert np.isfinite(placed).all()
    there = [mechanism.reference_pose(name) for name in (*mechanism.bodies, "world")]
    positions = np.array([pose.position for pose in there])[None]
    rotations = np.array([pose.rotation for pose in there])[None]
    assert_allclose(skeleton.at(positions, rotations), placed, atol=1e-9)
    figures = [sr.plot.mechanism(what) for what in (mechanism, system)]
    lines = [[line.get_xydata() for line in figure.axes[0].lines] for figure in figures]
    for one, other in zip(*lines, strict=True):
        assert_allclose(one, other, atol=1e-9)


def test_a_mechanism_without_bodies_is_a_clear_error() -> None:
    with pytest.raises(sr.ArgumentError, match="no bodies to draw"):
        sr.plot.mechanism(sr.Mechanism("empty"))
    assert "empty" in sr.Mechanism("empty")._repr_html_()


def test_letters_and_arrows_lie_in_their_plane() -> None:
    axis, up = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for line in (*letter("M", np.ones(3), axis, 0.1, up), *turning_arrow(np.ones(3), axis, 0.1)):
        assert_allclose((line - 1.0) @ axis, 0.0, atol=1e-12)
    stroke = letter("M", np.zeros(3), axis, 1.0, up)[1]
    assert_allclose(stroke[0], [-0.5, 0, -0.5], atol=1e-12)  # seen along +y it begins at the lower left
    for glyph in ("spring", "damper", "spring damper", "rod"):
        lines = profile(glyph)
        ends = [point for line in lines for point in (line[0], line[-1])]
        assert any(np.allclose(point, (0, 0)) for point in ends)
        assert any(np.allclose(point, (1, 0)) for point in ends)
