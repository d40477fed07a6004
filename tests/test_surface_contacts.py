"""Contacts between geometries in closed form: gaps against MuJoCo's, their derivatives, and runs from event to event."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from geometry_scenes import G, add_free, cube, scene
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus.dynamics.contact_state import touch_gaps, touch_rows
from sarrus.mechanism.pose import Pose, rotation_of_quaternion
from sarrus.simulation.narrow_phase import geometry_model

SIZES = {
    "plane": (), "sphere": (0.11,), "capsule": (0.07, 0.15), "ellipsoid": (0.1, 0.15, 0.08), "mesh": (),
    "box": (0.1, 0.14, 0.07), "cylinder": (0.09, 0.12),
}  # fmt: skip
PAIRS = [
    ("sphere", "plane", 1), ("capsule", "plane", 2), ("box", "plane", 8), ("mesh", "plane", 6),
    ("ellipsoid", "plane", 1), ("sphere", "sphere", 1), ("sphere", "capsule", 1), ("sphere", "box", 1),
    ("cylinder", "sphere", 1), ("capsule", "capsule", 5),
]  # fmt: skip
OCTAHEDRON = np.vstack([np.diag([0.1, 0.12, 0.15]), -np.diag([0.1, 0.12, 0.15]), np.zeros((1, 3))])


def two_bodies(kind1, kind2, rng):
    """Return a system of two free bodies with a geom each, at random poses on these."""
    mechanism = scene("pair", floor=False)
    for name, kind in (("a", kind1), ("b", kind2)):
        turn = rng.normal(size=4)
        pose = Pose(rng.normal(scale=0.05, size=3), rotation_of_quaternion(turn / np.linalg.norm(turn)))
        points = {"points": OCTAHEDRON} if kind == "mesh" else {}
        mechanism.add_body(name, mass=1.0, inertia=np.full(3, 0.01))
        mechanism.add_joint(name, "free", "world", name)
        mechanism.add_geom(name, name, kind, SIZES[kind], pose, **points)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=True)
    return sr.System(mechanism), mechanism


def random_state(system, rng, away):
    q = rng.normal(scale=away, size=system.nq)
    return system.normalized(q), rng.normal(size=system.nv)


def distance(mechanism, system, q):
    """Return the distance of the two geoms by MuJoCo's narrow phase."""
    geoms = [mechanism.geoms[name] for name in ("a", "b")]
    model = geometry_model("pair", geoms)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for k, (geom, x, r) in enumerate(zip(geoms, *system.body_placements(q))):
        pose = Pose(x, r) @ geom.pose
        data.geom_xpos[k], data.geom_xmat[k] = pose.position, pose.rotation.ravel()
    return mujoco.mj_geomDistance(model, data, 0, 1, 10.0, np.zeros(6))


@pytest.mark.parametrize(("kind1", "kind2", "places"), PAIRS)
def test_gaps_are_those_of_the_narrow_phase(kind1, kind2, places):
    rng = np.random.default_rng(3)
    system, mechanism = two_bodies(kind1, kind2, rng)
    assert len(system.equations.touches) == places
    near = 1e-7 if kind1 == "mesh" else 1e-12  # MuJoCo has meshes in single precision
    for _ in range(40):
        q, v = random_state(system, rng, 0.4)
        found = touch_gaps(system)(system.pack(q, v))
        truth = distance(mechanism, system, q)
        if "plane" in (kind1, kind2) or truth > 1e-3:  # of what is inside, MuJoCo has the depth of another direction
            assert found.min() == pytest.approx(truth, abs=near)


@pytest.mark.parametrize(("kind1", "kind2", "places"), PAIRS)
def test_rates_and_biases_are_derivatives(kind1, kind2, places):
    rng = np.random.default_rng(5)
    system, mechanism = two_bodies(kind1, kind2, rng)
    step = 1e-5
    for _ in range(10):
        q, v = random_state(system, rng, 0.4)
        if "plane" not in (kind1, kind2) and distance(mechanism, system, q) < 1e-2:
            continue
        here = touch_rows(system, q, v, 0.0)
        assert here.rows @ v == pytest.approx(here.rates, abs=1e-12)
        ahead, behind = (
            touch_rows(system, system.move(q, sign * step * v), v, 0.0) for sign in (1.0, -1.0)
        )
        normals = here.rates[:: len(here.rates) // places]
        assert (ahead.gaps - behind.gaps) / (2 * step) == pytest.approx(normals, abs=1e-6)
        scale = 1.0 + np.abs(here.bias).max()
        assert (ahead.rates - behind.rates) / (2 * step) == pytest.approx(here.bias, abs=1e-5 * scale)
