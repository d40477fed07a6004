"""Contacts of flat faces of boxes, cylinders and meshes: which bodies that hang over stand, points on both faces."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import add_free, run, scene
from sarrus.dynamics.contacts.geometry_state import GeometryContacts

SIDES = 16
ANGLES = 2.0 * np.pi * np.arange(SIDES) / SIDES
PRISM = np.array([[0.1 * np.cos(t), 0.1 * np.sin(t), z] for t in ANGLES for z in (-0.1, 0.1)])
GEOMS = {"box": (0.1, 0.1, 0.1), "cylinder": (0.1, 0.1), "mesh": ()}


def given(kind):
    """Return kind, sizes and points of a body with faces 0.1 above and below its centre."""
    return {"kind": kind, "size": GEOMS[kind], **({"points": PRISM} if kind == "mesh" else {})}


def on_post(base, kind):
    """Return a system with a free body on top of a fixed one, or on a plane."""
    mechanism = scene("post", floor=base == "plane")
    if base != "plane":
        mechanism.add_geom("post", "world", pose=(0.0, 0.0, -0.1), **given(base))
    add_free(mechanism, "body", position=(0.0, 0.0, 0.1), **given(kind))
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    return sr.System(mechanism)


def reach(kind, point):
    """Return how far a point is inside the face of a body, negative outside [m]."""
    if kind == "box":
        return 0.1 - np.abs(point).max()
    if kind == "mesh":
        normals = np.column_stack([np.cos(ANGLES + np.pi / SIDES), np.sin(ANGLES + np.pi / SIDES)])
        return 0.1 * np.cos(np.pi / SIDES) - (normals @ point).max()
    return 0.1 - np.hypot(*point)


@pytest.mark.parametrize("base", ["box", "cylinder", "mesh"])
@pytest.mark.parametrize("kind", ["box", "cylinder", "mesh"])
def test_a_body_that_hangs_over_stands_if_its_centre_is_above_the_overlap(base, kind):
    """The end of a cylinder is a polygon: within 4 % of its radius from the rim nothing is asked."""
    system, rng, stands = on_post(base, kind), np.random.default_rng(2), []
    for _ in range(16):
        q, yaw = system.neutral(), rng.uniform(0.0, 2.0 * np.pi)
        q[:2], q[3:] = rng.uniform(-0.12, 0.12, 2), (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        inside = reach(base, q[:2])
        if -1e-3 < inside < 4e-3:
            continue
        found = system.forward_dynamics(q, np.zeros(6))
        assert (np.abs(found.a).max() < 1e-7) == (inside > 0.0)
        stands.append(inside > 0.0)
    assert 3 < sum(stands) < len(stands) - 2


@pytest.mark.parametrize(("kind", "least"), [("cylinder", 0.96), ("mesh", 0.999)])
def test_a_load_beside_the_centre_does_not_tip_a_body_on_a_plane(kind, least):
    system, push = on_post("plane", kind), 1e4
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        way = np.array([np.cos(angle), np.sin(angle)])
        rim = reach(kind, np.zeros(2)) if kind == "mesh" else 0.1
        for part, stands in ((least, True), (1.03, False)):
            tau = np.zeros(6)
            tau[2], (x, y) = -push, part * rim * way
            tau[3:5] = -push * y, push * x
            found = system.forward_dynamics(system.neutral(), np.zeros(6), tau=tau)
            assert (np.abs(found.a).max() < 1e-6) == stands


@pytest.mark.parametrize(
    ("base", "kind"), [("plane", "cylinder"), ("box", "cylinder"), ("mesh", "mesh"), ("cylinder", "box")]
)
def test_points_are_on_both_faces_and_the_lowest_gap_is_exact(base, kind):
    system, rng = on_post(base, kind), np.random.default_rng(4)
    for _ in range(8):
        q, tilt = system.neutral(), 5e-3 * rng.normal(size=2)
        q[:2] = rng.uniform(-0.03, 0.03, 2)
        q[3:] = np.cos(0.5 * np.hypot(*tilt)), *(0.5 * tilt * np.sinc(0.5 * np.hypot(*tilt) / np.pi)), 0.0
        q[2] += 1e-3  # above, so that nothing overlaps
        found = GeometryContacts(system, q, 0.0, 5e-3)
        rotation = system.body_placements(q)[1][-1]
        assert len(found.points) >= 3
        for one in found.points:
            sign = 1.0 if one.bodies[1] >= 0 else -1.0
            own = rotation.T @ (one.point + sign * 0.5 * one.gap * one.axes[0] - q[:3])
            ground = one.point - sign * 0.5 * one.gap * one.axes[0]
            assert own[2] == pytest.approx(-0.1, abs=1e-8)
            assert reach(kind, own[:2]) > -1e-8
            assert ground[2] == pytest.approx(0.0, abs=1e-8)
            assert base == "plane" or reach(base, ground[:2]) > -1e-8
        if kind == "cylinder" and base == "plane":
            lean = np.hypot(rotation[2, 0], rotation[2, 1])
            lowest = q[2] - 0.1 * rotation[2, 2] - 0.1 * lean
            assert found.gaps.min() == pytest.approx(lowest, abs=1e-15)


def test_a_can_that_rocks_comes_to_rest_on_its_end():
    system = on_post("plane", "cylinder")
    q = system.neutral()
    q[3:] = np.cos(0.02), np.sin(0.02), 0.0, 0.0
    q[2] = 0.1 * np.cos(0.04) + 0.1 * np.sin(0.04)
    motion = run(system, q, duration=0.6, dt=1e-3)
    assert motion.status.ok
    assert np.diff(motion.energy).max() < 1e-6
    assert motion.q[-1, 2] == pytest.approx(0.1, abs=1e-8)
    assert np.abs(motion.v[-1]).max() < 1e-8


def test_a_stack_of_cylinders_has_room_for_its_contacts():
    mechanism = scene("stack")
    for k in range(5):
        add_free(
            mechanism, f"can{k}", "cylinder", (0.1, 0.1), (0.02 * (k % 2), 0.01 * (k % 3), 0.1 + 0.2 * k)
        )
    mechanism.add_geometry_contacts(friction_coefficient=0.5)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=5e-3)
    assert len(motion.contact_log.at(1)) == 60
    assert np.abs(motion.v).max() < 1e-10
