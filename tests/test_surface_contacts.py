"""Contacts between geometries in closed form: gaps against MuJoCo's, their derivatives, runs from event to event."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus as sr
from geometry_scenes import G, add_free, scene
from sarrus.dynamics.contacts.contact_functions import contact_gaps
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.contacts.narrow_phase import geometry_model
from sarrus.model.mechanism.pose import Pose, rotation_of_quaternion

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


@pytest.mark.parametrize(("kind1", "kind2", "places"), [*PAIRS, ("cylinder", "plane", 26)])
def test_gaps_are_those_of_the_narrow_phase(kind1, kind2, places):
    rng = np.random.default_rng(3)
    system, mechanism = two_bodies(kind1, kind2, rng)
    assert len(system.equations.friction_contacts) == places
    near = 1e-7 if kind1 == "mesh" else 1e-12  # MuJoCo has meshes in single precision
    for _ in range(40):
        q, v = random_state(system, rng, 0.4)
        found = contact_gaps(system)(system.pack(q, v))
        truth = distance(mechanism, system, q)
        if (
            "plane" in (kind1, kind2) or truth > 1e-3
        ):  # of what is inside, MuJoCo has the depth of another direction
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
        here = contact_row_state(system, q, v, 0.0)
        assert here.rows @ v == pytest.approx(here.rates, abs=1e-12)
        ahead, behind = (
            contact_row_state(system, system.move(q, sign * step * v), v, 0.0) for sign in (1.0, -1.0)
        )
        normals = here.rates[:: len(here.rates) // places]
        assert (ahead.gaps - behind.gaps) / (2 * step) == pytest.approx(normals, abs=1e-6)
        scale = 1.0 + np.abs(here.bias).max()
        assert (ahead.rates - behind.rates) / (2 * step) == pytest.approx(here.bias, abs=1e-5 * scale)


# --- runs from event to event -------------------------------------------------------------------------


def balance(motion):
    """Return by how much energy and what contacts took do not add up, as a part of the energy."""
    return np.abs(motion.energy + motion.contact_loss - motion.energy[0]).max() / abs(motion.energy[0])


@pytest.mark.parametrize(("friction", "inertia"), [(5.0, 5.0 / 7.0), (0.0, 1.0)])
def test_a_ball_on_a_ball_is_a_pendulum_on_its_head(friction, inertia):
    mechanism, big, small = scene("ball on ball", floor=False), 0.5, 0.1
    mechanism.add_geom("base", "world", "sphere", (big,))
    angle, rate, reach = 0.3, 0.5, big + small
    add_free(mechanism, "ball", "sphere", (small,), reach * np.array([np.sin(angle), 0.0, np.cos(angle)]))
    mechanism.add_geometry_contacts(friction_coefficient=friction)
    system = sr.System(mechanism)
    v = np.zeros(6)
    v[:3] = rate * reach * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    v[4] = rate * reach / small if friction else 0.0
    motion = sr.simulate(system, system.neutral(), v, duration=0.25, rtol=1e-11)
    truth = solve_ivp(
        lambda t, y: [y[1], inertia * G / reach * np.sin(y[0])], (0.0, 0.25), [angle, rate], "DOP853",
        rtol=1e-13, atol=1e-14,
    ).y[0, -1]  # fmt: skip
    x, _, z = motion.q[-1, :3]
    assert np.arctan2(x, z) == pytest.approx(truth, abs=1e-10)
    assert np.hypot(x, z) == pytest.approx(reach, abs=1e-14)
    (meeting,) = motion.contact_log.at(len(motion.t) - 1)
    assert meeting.normal == pytest.approx(motion.q[-1, :3] / reach, abs=1e-12)
    assert motion.geometry_forces(-1)["base-ball"] @ meeting.normal == pytest.approx(
        motion.contact_forces[-1, 0], rel=1e-12
    )


def test_a_ball_leaves_a_ball_where_it_presses_no_more():
    """Without friction a ball that slides down from the top leaves at cos θ = 2/3 (to first order in the push)."""
    mechanism, reach, rate = scene("leaves", floor=False), 0.6, 0.05
    mechanism.add_geom("base", "world", "sphere", (0.5,))
    add_free(mechanism, "ball", "sphere", (0.1,), (0.0, 0.0, reach))
    mechanism.add_geometry_contacts(friction_coefficient=0.0)
    system = sr.System(mechanism)
    motion = sr.simulate(system, system.neutral(), [rate * reach, 0, 0, 0, 0, 0], duration=2.0, rtol=1e-11)
    (opening,) = [switch for switch in motion.switches if switch.opened]
    x, _, z = motion.at(opening.time)[:3]
    cosine = (2.0 + rate**2 * reach / G) / 3.0  # g cos θ = reach θ̇², and energy
    assert z / np.hypot(x, z) == pytest.approx(cosine, abs=1e-8)


def test_an_ellipsoid_that_rolls_keeps_its_energy():
    mechanism = scene("egg")
    add_free(mechanism, "egg", "ellipsoid", (0.1, 0.15, 0.08), (0.0, 0.0, 0.08), mass=2.0)
    mechanism.add_geometry_contacts(friction_coefficient=3.0)
    system = sr.System(mechanism)
    motion = sr.simulate(system, system.neutral(), [0.0, 0.08, 0.0, -1.0, 0.0, 0.4], duration=1.5, rtol=1e-10)
    assert motion.status.ok, motion.message
    assert not [switch for switch in motion.switches if switch.slipping]
    assert np.ptp(motion.energy) < 1e-9 * motion.energy[0]
    assert min(contact_gaps(system)(system.pack(q))[0] for q in motion.q) > -1e-13
    assert np.ptp(motion.q[:, 3:], axis=0).max() > 0.25


def test_boxes_on_a_plane_are_boxes_with_corners():
    """A box as a geometry moves as one with eight contacts at its corners, however it hits.

    Once it lies flat and slides, how its corners share the weight is not determined, and what slows its turn is.
    """
    runs = []
    for as_geometry in (True, False):
        mechanism = scene("box")
        add_free(mechanism, "box", "box", (0.1, 0.14, 0.07), (0.0, 0.0, 0.4), friction=0.4)
        if as_geometry:
            mechanism.add_geometry_contacts(friction_coefficient=0.4)
        else:
            mechanism.add_floor_contacts("floor", geoms=["box"], friction_coefficient=0.4)
        system = sr.System(mechanism)
        runs.append(
            sr.simulate(system, system.neutral(), [0.3, 0.1, 0, 2.0, -1.0, 0.5], duration=1.0, rtol=1e-10)
        )
    one, other = runs
    assert len(one.switches) == len(other.switches) > 4
    lies = one.switches[-2].time
    assert one.at(lies) == pytest.approx(other.at(lies), abs=1e-9)
    assert one.q[-1] == pytest.approx(other.q[-1], abs=1e-5)
    assert balance(one) < 1e-8


def test_a_tilted_capsule_that_spins_fast_is_not_missed():
    """Between the ends of a long step both of its ends come down and go up again; each time one of them hits."""
    mechanism = scene("baton")
    add_free(mechanism, "baton", "capsule", (0.02, 0.2), (0.0, 0.0, 0.3))
    mechanism.add_geometry_contacts(friction_coefficient=0.0, restitution=1.0)
    system = sr.System(mechanism)
    q, v = system.neutral(), np.array([0.0, 0.0, 0.0, 0.0, 30.0, 0.0])
    motion = sr.simulate(system, q, v, duration=1.0)
    assert motion.status.ok, motion.message
    assert len([switch for switch in motion.switches if switch.bounced]) > 10
    assert balance(motion) < 1e-8
    fine = np.linspace(0.0, 1.0, 20001)
    gaps = np.array([contact_gaps(system)(system.pack(q)) for q in motion.at(fine)])
    assert gaps.min() > -1e-5  # `at` interpolates


@pytest.mark.parametrize("seed", range(12))
def test_what_is_thrown_agrees_with_steps_in_time(seed):
    """Bodies fall on a floor and on each other; smaller and smaller steps in time come to the same motion."""
    rng = np.random.default_rng(seed)
    mechanism = scene("thrown")
    kinds = [("sphere", (0.08,)), ("capsule", (0.06, 0.1)), ("ellipsoid", (0.1, 0.08, 0.06))]
    pair = seed % 2 == 1
    for k in range(1 + pair):
        kind, size = kinds[int(rng.integers(2 if pair else 3))]
        place = (0.02 * k, 0.01 * k, 0.25 + 0.35 * k)
        add_free(mechanism, f"b{k}", kind, size, place, condim=(1, 3, 4, 6)[seed // 2 % 4], rolling=2e-3)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=True)
    system = sr.System(mechanism)
    turns = rng.normal(scale=0.2, size=system.nq) * np.tile([0, 0, 0, 1, 1, 1, 1], 1 + pair)
    q = system.normalized(system.neutral() + turns)
    v = 0.5 * rng.normal(size=system.nv)
    motion = sr.simulate(system, q, v, duration=0.35)
    assert motion.status.ok, motion.message
    assert motion.switches
    assert balance(motion) < 1e-7
    errors = [
        np.abs(
            sr.simulate(system, q, v, duration=0.35, dt=dt, error_estimate=False).q[-1] - motion.q[-1]
        ).max()
        for dt in (2e-4, 1e-5)
    ]
    assert errors[1] < max(0.2 * errors[0], 1e-6)
    assert errors[1] < 2e-3


@pytest.mark.parametrize(
    ("law", "after"), [("newton", (1 / 3, 1 / 3, 1 / 3)), ("poisson", (1 / 6, 1 / 6, 2 / 3))]
)
def test_balls_hit_by_either_law(law, after):
    """Of three balls in a row the first hits; the first contact does not rebound, the second one does (e = 0, 1)."""
    mechanism = sr.Mechanism("cradle", gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        mechanism.add_body(f"b{k}", mass=1.0, inertia=np.full(3, 4e-3))
        mechanism.add_joint(f"b{k}", "prismatic", "world", f"b{k}", axis=(1, 0, 0))
        mechanism.add_geom(f"b{k}", f"b{k}", "sphere", (0.1,))
    for k, e in ((0, 0.0), (1, 1.0)):
        mechanism.add_geometry_contacts(
            f"b{k}", f"b{k + 1}", friction_coefficient=0.0, restitution=e, impact_law=law, closed_form=True
        )
    motion = sr.simulate(sr.System(mechanism), [0.0, 0.3, 0.5], [1.0, 0.0, 0.0], duration=0.15)
    assert motion.v[-1] == pytest.approx(after, abs=1e-9)
    mechanism.add_geometry_contacts(
        "b0", "b1", friction_coefficient=0.0, impact_law="poisson", closed_form=False
    )
    with pytest.raises(
        sr.ArgumentError, match=r"'b.-b.' has impact_law='poisson', which time stepping does not"
    ):
        sr.simulate(sr.System(mechanism), [0.0, 0.3, 0.5], [1.0, 0.0, 0.0], duration=0.15, dt=1e-3)


def test_pairs_without_closed_form_are_refused_by_name():
    mechanism = scene("cans")
    for k, (kind, size) in enumerate((("box", (0.1, 0.1, 0.1)), ("cylinder", (0.1, 0.1)))):
        add_free(mechanism, f"b{k}", kind, size, (0.0, 0.0, 0.1 + 0.3 * k))
    with pytest.raises(sr.ModelError, match=r"'b0' \(box\) and 'b1' \(cylinder\) have no gap in closed form"):
        mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=True)
    mechanism.add_geometry_contacts(friction_coefficient=0.5)  # all by the narrow phase
    assert not sr.System(mechanism).equations.friction_contacts


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_a_ball_does_not_fly_through_what_is_thinner_than_a_step(kind):
    """Nothing else happens, so that steps are as long as they like: gaps come and go along straight lines between."""
    mechanism = sr.Mechanism("shot", gravity=(0.0, 0.0, 0.0))
    mechanism.add_geom(
        "target", "world", kind, {"sphere": (0.05,), "capsule": (0.05, 0.5), "box": (0.05,) * 3}[kind]
    )
    mechanism.add_body("ball", mass=1.0, inertia=np.full(3, 1e-3))
    mechanism.add_joint("x", "prismatic", "world", "ball", axis=(1, 0, 0), parent_pose=(-1.0, 0.0, 0.0))
    mechanism.add_geom("ball", "ball", "sphere", (0.05,))
    mechanism.add_geometry_contacts(friction_coefficient=0.0, restitution=1.0)
    motion = sr.simulate(sr.System(mechanism), [0.0], [5.0], duration=1.0)
    assert motion.v[-1, 0] == pytest.approx(-5.0, abs=1e-9)
    assert motion.switches[-1].time == pytest.approx(0.18, abs=1e-9)
