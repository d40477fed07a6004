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
    found = sr.workspace(arm((1,)), [0.3, 1.0], "lower", tip, resolution=16, rays=2)
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


def test_errors_say_what_would_be_right():
    system = five_bar(*ARMS)
    with pytest.raises(ArgumentError, match=r"'left' starts at .* outside of its limits"):
        sr.workspace(system, START, *TIP, limits={"left": (0.0, 0.1)})
    with pytest.raises(ArgumentError, match="rests or moves on a line"):
        sr.workspace(system, START, "left", (0.0, 0.0, 0.0))
    with pytest.raises(ArgumentError, match="lower < upper"):
        sr.workspace(system, START, *TIP, limits={"left": (1.0, 0.0)})
