"""Convex meshes, boxes, capsules and spheres on each other in runs from event to event, against closed forms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sarrus as sr
from geometry_scenes import G, check_places, cube, scene, turned
from sarrus.dynamics.contacts.narrow_phase import geometry_model
from sarrus.model.mechanism.pose import Pose

BOOK, TABLE = np.array([0.1, 0.08, 0.02]), np.array([0.5, 0.3, 0.1])
TETRAHEDRON = 0.08 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
WEDGE = np.array([[x, y, z] for x, z in ((0.1, -0.03), (-0.1, -0.03), (-0.1, 0.05)) for y in (0.07, -0.07)])
CAPSULE = (0.04, 0.09)
SHAPES = {
    "book": ("box", BOOK, None), "mesh book": ("mesh", (), cube(1.0) * BOOK),
    "table": ("box", TABLE, None), "mesh table": ("mesh", (), cube(1.0) * TABLE),
    "tetrahedron": ("mesh", (), TETRAHEDRON), "wedge": ("mesh", (), WEDGE),
    "capsule": ("capsule", CAPSULE, None), "sphere": ("sphere", (0.05,), None),
}  # fmt: skip
INERTIA = np.array([0.003, 0.004, 0.005])


def on_table(table, *bodies, friction=0.2, restitution=0.0, tilt=0.0, turn=None, inertia=INERTIA):
    """Return a system with free bodies above a table with its top at z = 0, or turned about its centre; falling by
    ``tilt`` along x.
    """
    mechanism = scene("hulls", floor=False, tilt=tilt)
    pose = Pose((0.0, 0.0, -TABLE[2])) if turn is None else Pose((0.0, 0.0, 0.0), turn.as_matrix())
    kind, size, points = SHAPES[table]
    mechanism.add_geom("table", "world", kind, size, pose, points=points)
    for k, body in enumerate(bodies):
        kind, size, points = SHAPES[body]
        mechanism.add_body(f"b{k}", mass=1.0, inertia=inertia)
        mechanism.add_joint(f"b{k}", "free", "world", f"b{k}")
        mechanism.add_geom(f"b{k}", f"b{k}", kind, size, points=points)
    mechanism.add_geometry_contacts(friction_coefficient=friction, restitution=restitution, closed_form=True)
    return sr.System(mechanism)


def depth(system, motion):
    """Return the least distance of any two geometries along a run, by MuJoCo."""
    geoms = list(system.mechanism.geoms.values())
    model = geometry_model("depth", geoms)
    data, ends, least, turn = mujoco.MjData(model), np.zeros(6), np.inf, np.zeros(9)
    mujoco.mj_kinematics(model, data)
    for q in motion.q:
        for k in range(1, len(geoms)):
            place = q[7 * k - 7 : 7 * k]
            rotation = Rotation.from_quat(place[3:], scalar_first=True).as_matrix()
            mujoco.mju_quat2Mat(turn, model.geom_quat[k])
            data.geom_xpos[k] = place[:3] + rotation @ model.geom_pos[k]
            data.geom_xmat[k] = (rotation @ turn.reshape(3, 3)).ravel()
        for i in range(len(geoms)):
            for j in range(i + 1, len(geoms)):
                least = min(least, mujoco.mj_geomDistance(model, data, i, j, 0.1, ends))
    return least


@pytest.mark.parametrize("kinds", [("table", "tetrahedron"), ("mesh table", "capsule")])
def test_rates_and_biases_are_derivatives_of_gaps_that_are_held(kinds):
    """Beyond the borders of the places too, at random poses of both bodies."""
    mechanism, rng = scene("pair", floor=False), np.random.default_rng(5)
    for name, which in zip("ab", kinds):
        kind, size, points = SHAPES[which]
        mechanism.add_body(name, mass=1.0, inertia=np.full(3, 0.01))
        mechanism.add_joint(name, "free", "world", name)
        turn = Rotation.random(random_state=len(which)).as_matrix()
        mechanism.add_geom(name, name, kind, size, Pose(rng.normal(scale=0.05, size=3), turn), points=points)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=True)
    compared, places = check_places(sr.System(mechanism), rng)
    assert compared > 0.9 * places


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_mesh_that_is_a_box_moves_as_the_box(restitution):
    """It lands on a corner, and hits the edge of the table."""
    rng, found = np.random.default_rng(4), []
    friction = 0.0 if restitution == 1.0 else 0.3
    q = turned([0.44, 0.05, 0.25], Rotation.random(random_state=3))
    v = np.concatenate([[0.3, 0.1, 0.0], rng.normal(scale=3.0, size=3)])
    for table, body in (("table", "book"), ("table", "mesh book"), ("mesh table", "book")):
        system = on_table(table, body, friction=friction, restitution=restitution)
        found.append(sr.simulate(system, q, v, duration=0.35, rtol=1e-11))
    truth, *others = found
    assert len(truth.switches) > 1
    for motion in others:
        assert [s.time for s in motion.switches] == pytest.approx([s.time for s in truth.switches], abs=1e-9)
        assert motion.q[-1] == pytest.approx(truth.q[-1], abs=1e-9)


def test_a_mesh_tips_when_its_weight_passes_the_edge():
    friction, start, speed = 0.2, 0.45, 1.5
    system = on_table("table", "mesh book", friction=friction)
    q = turned([start, 0.0, BOOK[2]], Rotation.from_euler("z", 0.25))
    motion = sr.simulate(system, q, [speed, 0, 0, 0, 0, 0], duration=0.06, rtol=1e-10)
    way, slowing = TABLE[0] - friction * BOOK[2] - start, friction * G
    tips = (speed - np.sqrt(speed**2 - 2.0 * slowing * way)) / slowing
    at = [switch.time for switch in motion.switches if switch.opened]
    assert min(abs(np.array(at) - tips)) < 1e-9
    assert np.abs(motion.at(tips)[4:7] - q[4:7]).max() < 1e-9
    assert abs(motion.q[-1, 5] - q[5]) > 1e-4


def test_a_capsule_tips_over_the_edge_of_a_table():
    """It slides along its axis: an end and a side on the edge carry it until its weight passes the edge."""
    friction, start, speed = 0.2, 0.44, 1.5
    system = on_table("table", "capsule", friction=friction)
    q = turned([start, 0.0, CAPSULE[0]], Rotation.from_euler("y", np.pi / 2))
    motion = sr.simulate(system, q, [speed, 0, 0, 0, 0, 0], duration=0.06, rtol=1e-10)
    way, slowing = TABLE[0] - friction * CAPSULE[0] - start, friction * G
    tips = (speed - np.sqrt(speed**2 - 2.0 * slowing * way)) / slowing
    at = [switch.time for switch in motion.switches if switch.opened]
    assert min(abs(np.array(at) - tips)) < 1e-9
    assert np.abs(motion.at(tips)[3:7] - q[3:7]).max() < 1e-9
    assert np.abs(motion.q[-1, 3:7] - q[3:7]).max() > 1e-5


@pytest.mark.parametrize("table", ["table", "mesh table"])
def test_a_tetrahedron_slides_and_a_capsule_and_a_ball_roll(table):
    """Down an incline: g (sin α − μ cos α), g sin α / (1 + I / (m r²)), with I about the axis of rolling."""
    tilt, time = 0.3, 0.3
    normal = -TETRAHEDRON[:3].sum(axis=0)  # the face opposite to the last corner is below
    down = Rotation.align_vectors([[0.0, 0.0, 1.0]], [normal])[0]
    system = on_table(table, "tetrahedron", friction=0.2, tilt=tilt)
    height = -float(down.apply(TETRAHEDRON)[:, 2].min())
    motion = sr.simulate(system, turned([-0.3, 0.0, height], down), [0.1, 0, 0, 0, 0, 0], duration=time)
    gain = G * (np.sin(tilt) - 0.2 * np.cos(tilt))
    assert motion.q[-1, 0] == pytest.approx(-0.3 + 0.1 * time + 0.5 * gain * time**2, abs=1e-10)
    turns = Rotation.from_euler("x", np.pi / 2)
    for body, radius, moment in (("capsule", CAPSULE[0], INERTIA[2]), ("sphere", 0.05, INERTIA[1])):
        system = on_table(table, body, friction=3.0, tilt=tilt)
        turn = turns if body == "capsule" else Rotation.identity()
        motion = sr.simulate(system, turned([-0.3, 0.0, radius], turn), duration=time)
        gain = G * np.sin(tilt) / (1.0 + moment / radius**2)
        assert motion.q[-1, 0] == pytest.approx(-0.3 + 0.5 * gain * time**2, abs=1e-9)
        assert motion.q[-1, 2] == pytest.approx(radius, abs=1e-11)


@pytest.mark.parametrize(
    "case", ["corner on face", "end on face", "side on edge", "side on corner", "ball on edge"]
)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_instants_and_rebounds_of_impacts(case, restitution):
    height, radius = 0.1, CAPSULE[0]
    body, turn, flat = "capsule", None, Rotation.from_euler("y", np.pi / 2)
    if case == "corner on face":
        body, flat = "tetrahedron", Rotation.from_rotvec([0.3, 0.2, 0.1])
        points = flat.apply(TETRAHEDRON)
        top, arm = 0.0, points[np.argmin(points[:, 2])]
    elif case == "end on face":
        flat = Rotation.from_rotvec([0.5, 0.3, 0.0])
        axis = flat.apply([0.0, 0.0, 1.0])
        top, arm = 0.0, -CAPSULE[1] * axis - [0.0, 0.0, radius]
    else:
        turn = Rotation.from_euler("x", np.pi / 4)
        if case == "side on corner":
            turn = Rotation.align_vectors([[0.0, 0.0, 1.0]], [TABLE])[0]
        top = turn.apply(cube(1.0) * TABLE)[:, 2].max()
        arm = np.array([0.0, 0.0, -radius])
        flat = Rotation.from_euler("xz", [np.pi / 2, 0.4])
        if case == "ball on edge":
            body, arm = "sphere", np.array([0.0, 0.0, -0.05])
    system = on_table("mesh table", body, friction=0.0, restitution=restitution, turn=turn)
    corner = np.zeros(3)
    if case == "side on corner":
        corners = turn.apply(cube(1.0) * TABLE)
        corner = corners[np.argmax(corners[:, 2])] * [1.0, 1.0, 0.0]
    elif turn is not None:
        corners = turn.apply(cube(1.0) * TABLE)
        corner = corners[corners[:, 2] > top - 1e-9].mean(axis=0) * [1.0, 1.0, 0.0]
    start = corner + np.array([0.0, 0.0, top + height]) - arm
    motion = sr.simulate(system, turned(start, flat), duration=0.16, rtol=1e-10)
    time, speed = np.sqrt(2.0 * height / G), np.sqrt(2.0 * height * G)
    hit = motion.switches[0]
    assert hit.time == pytest.approx(time, abs=1e-10)
    lever = flat.inv().apply(np.cross(arm, [0.0, 0.0, 1.0]))
    compliance = 1.0 + float(lever @ (lever / INERTIA))
    assert hit.energy_loss == pytest.approx(0.5 * (1.0 - restitution**2) * speed**2 / compliance, abs=1e-8)
    assert depth(system, motion) > -3e-8  # MuJoCo has meshes in single precision


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "bodies", [("tetrahedron",), ("wedge",), ("capsule",), ("sphere",), ("tetrahedron", "capsule")]
)
def test_energy_of_thrown_bodies(bodies, restitution):
    """Energy and losses add up, and nothing overlaps; without friction nothing is lost where e = 1."""
    friction = 0.0 if restitution == 1.0 else 0.4
    table = "table" if len(bodies) > 1 else "mesh table"
    system = on_table(table, *bodies, friction=friction, restitution=restitution)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q, v = list[float](), list[float]()
        for k in range(len(bodies)):
            place = [*rng.uniform(-0.4, 0.4, 2), 0.15 + 0.25 * k + rng.uniform(0.0, 0.05)]
            q += list(turned(place, Rotation.random(random_state=7 * seed + k)))
            v += [*rng.uniform(-1.0, 1.0, 2), -0.5 - 0.6 * k, *rng.uniform(-6.0, 6.0, 3)]
        motion = sr.simulate(system, np.array(q), np.array(v), duration=0.3)
        assert motion.status.name == "OK"
        assert np.abs(motion.energy + motion.contact_loss - motion.energy[0]).max() < 1e-9
        if restitution == 1.0:
            assert motion.energy[-1] == pytest.approx(motion.energy[0], abs=1e-9)
        assert motion.switches
        assert depth(system, motion) > -3e-8


@pytest.mark.parametrize("options", [{"coordinates": "tangent-space"}, {"formulation": "null-space"}])
def test_other_coordinates_and_formulations_have_the_same_motion(options):
    """A capsule falls askew on a mesh; runs by events take closed forms where steps in time do not."""
    mechanism = on_table("mesh table", "capsule", friction=0.4).mechanism
    mechanism.add_geometry_contacts(friction_coefficient=0.4)
    system = sr.System(mechanism)
    assert system.contact_geometries
    q, v = turned([0.1, 0.0, 0.2], Rotation.from_rotvec([0.9, 0.2, 0.1])), [0.3, 0.0, 0.0, 1.0, 2.0, 3.0]
    truth, motion = (sr.simulate(system, q, v, duration=0.2, rtol=1e-9, **given) for given in ({}, options))
    assert truth.switches
    assert len(motion.switches) == len(truth.switches)
    assert motion.q[-1] == pytest.approx(truth.q[-1], abs=1e-8)
