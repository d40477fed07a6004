"""Boxes on boxes in runs from event to event: corners, faces and edges against closed forms and exact equations."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sarrus as sr
from geometry_scenes import G, add_free, check_places, cube, scene, turned
from sarrus.dynamics.contacts.contact_functions import contact_gaps
from sarrus.dynamics.contacts.narrow_phase import geometry_model
from sarrus.model.mechanism.contact_features import Edges
from sarrus.model.mechanism.pose import Pose

BOOK = np.array([0.1, 0.08, 0.02])
TABLE = np.array([0.5, 0.3, 0.1])


def balance(motion):
    """Return by how much energy and what contacts took do not add up, relative to the largest kinetic energy."""
    off = np.abs(motion.energy + motion.contact_loss - motion.energy[0]).max()
    return off / (np.ptp(motion.energy) + np.abs(motion.energy).max())


def inertia(half):
    """Return the principal moments of inertia of a box of 1 kg."""
    return (np.sum(half**2) - half**2) / 3.0


def on_table(half=BOOK, place=(0.0, 0.0, 0.0), *, friction=0.2, restitution=0.0, tilt=0.0, pose=None):
    """Return a system with a box above a table whose top is z = 0, in axes that fall by ``tilt`` along x."""
    mechanism = scene("book", floor=False, tilt=tilt)
    if pose is None:
        pose = Pose((0.0, 0.0, -TABLE[2]))
    mechanism.add_geom("table", "world", "box", TABLE, pose)
    add_free(mechanism, "book", "box", half, place)
    mechanism.add_geometry_contacts(friction_coefficient=friction, restitution=restitution, closed_form=True)
    return sr.System(mechanism)


@pytest.fixture(scope="module")
def table():
    return on_table()


def test_rates_and_biases_are_derivatives_of_gaps_that_are_held():
    """Beyond the borders of the places too, of all 84 places, at random poses."""
    mechanism, rng = scene("pair", floor=False), np.random.default_rng(5)
    for name, half in (("a", BOOK), ("b", TABLE)):
        turn = Rotation.random(random_state=len(half)).as_matrix()
        mechanism.add_body(name, mass=1.0, inertia=np.full(3, 0.01))
        mechanism.add_joint(name, "free", "world", name)
        mechanism.add_geom(name, name, "box", half, Pose(rng.normal(scale=0.05, size=3), turn))
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=True)
    compared, _ = check_places(sr.System(mechanism), rng)
    assert compared > 480


def test_a_box_slides_down_an_incline_and_another_one_stops():
    tilt, friction, speed = 0.3, 0.5, 0.8
    system = on_table(friction=friction, tilt=tilt)
    q = turned([-0.2, 0.0, BOOK[2]], Rotation.from_euler("z", 0.3))
    motion = sr.simulate(system, q, [speed, 0, 0, 0, 0, 0], duration=0.6)
    slowing = G * (friction * np.cos(tilt) - np.sin(tilt))
    (stop,) = [switch for switch in motion.switches if switch.sticking]
    assert stop.time == pytest.approx(speed / slowing, abs=1e-8)  # slower than 1e-8 m/s it sticks
    assert motion.q[-1, 0] == pytest.approx(-0.2 + 0.5 * speed**2 / slowing, abs=1e-10)
    assert balance(motion) < 1e-12


@pytest.mark.parametrize("yaw", [0.0, 0.25])
def test_a_book_tips_when_its_weight_passes_the_edge(table, yaw):
    """Friction acts at the bottom: the force of the table is ahead of the centre by μ times its height."""
    friction, start, speed = 0.2, 0.45, 1.5
    q = turned([start, 0.0, BOOK[2]], Rotation.from_euler("z", yaw))
    motion = sr.simulate(table, q, [speed, 0, 0, 0, 0, 0], duration=0.06, rtol=1e-10)
    way, slowing = TABLE[0] - friction * BOOK[2] - start, friction * G
    tips = (speed - np.sqrt(speed**2 - 2.0 * slowing * way)) / slowing
    at = [switch.time for switch in motion.switches if switch.opened]
    assert min(abs(np.array(at) - tips)) < 1e-9
    assert np.abs(motion.at(tips)[4:7] - q[4:7]).max() < 1e-9
    assert abs(motion.q[-1, 5] - q[5]) > 1e-4
    assert balance(motion) < 1e-9
    assert min(contact_gaps(table)(table.pack(q)).min() for q in motion.q) > -1e-9


def test_a_box_tips_over_its_own_edge_on_a_table():
    half = np.array([0.05, 0.06, 0.1])
    system = on_table(half, friction=5.0)
    angle, rate, arm = 0.3, 1.8, np.array([half[0], 0.0, -half[2]])
    turn = Rotation.from_euler("y", angle)
    q = turned(arm * [1, 0, 0] - turn.apply(arm), turn)
    v = np.concatenate([np.cross([0.0, rate, 0.0], q[:3] - arm * [1, 0, 0]), [0.0, rate, 0.0]])
    motion = sr.simulate(system, q, v, duration=0.36, rtol=1e-11)
    reach, moment = np.hypot(half[0], half[2]), inertia(half)[1] + half[0] ** 2 + half[2] ** 2
    leans = np.arctan2(half[0], half[2])
    truth = solve_ivp(
        lambda t, y: [y[1], G * reach * np.sin(y[0] - leans) / moment], (0.0, 0.4), [angle, rate], "DOP853",
        rtol=1e-13, atol=1e-14, dense_output=True,
    ).sol  # fmt: skip
    found = 2.0 * np.arctan2(motion.q[:, 5], motion.q[:, 3])
    assert found == pytest.approx(truth(motion.t)[0], abs=1e-9)
    assert not [switch for switch in motion.switches if switch.slipping or switch.opened]
    assert balance(motion) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_a_corner_hits_a_face(seed):
    """A corner of the box above the table, or a corner of the table below the box."""
    restitution, rng = 0.5, np.random.default_rng(seed)
    turn, of_table = Rotation.random(random_state=seed), seed % 2 == 1
    if of_table:  # the table is turned, the box falls flat on its highest corner
        pose = Pose((0.0, 0.0, 0.0), turn.as_matrix())
        system = on_table(friction=0.0, restitution=restitution, pose=pose)
        arms = turn.apply(cube(1.0) * TABLE)
        top = arms[np.argmax(arms[:, 2])]
        flat = Rotation.from_euler("z", 0.4)
        arm = flat.apply([0.04, -0.03, -BOOK[2]])
        q = turned(top - arm + [0.0, 0.0, 0.1], flat)
    else:
        system, flat = on_table(friction=0.0, restitution=restitution), turn
        arms = turn.apply(cube(1.0) * BOOK)
        arm = arms[np.argmin(arms[:, 2])]
        q = turned(np.array([*rng.uniform(-0.05, 0.05, 2), 0.1]) - arm * [0, 0, 1], flat)
    motion = sr.simulate(system, q, duration=0.2, rtol=1e-10)
    hit = motion.switches[0]
    fall = np.sqrt(2.0 * 0.1 / G)
    assert hit.time == pytest.approx(fall, abs=1e-9)
    rotation = flat.as_matrix()
    turns = np.cross(arm, [0.0, 0.0, 1.0]) @ rotation
    light = 1.0 + np.sum(turns**2 / inertia(BOOK))
    assert hit.energy_loss == pytest.approx(0.5 * (1.0 - restitution**2) * (G * fall) ** 2 / light, rel=1e-9)
    assert balance(motion) < 1e-9


def test_edges_that_cross_bounce():
    """The table stands on an edge, the box falls with an edge across it: each contact is of two edges."""
    restitution, height = 0.6, 0.1
    pose = Pose((0.0, 0.0, -np.sqrt(2.0) * 0.1), Rotation.from_euler("x", np.pi / 4).as_matrix())
    mechanism = scene("edges", floor=False)
    mechanism.add_geom("table", "world", "box", (0.5, 0.1, 0.1), pose)
    half = np.array([0.05, 0.3, 0.05])
    add_free(mechanism, "beam", "box", half)
    mechanism.add_geometry_contacts(friction_coefficient=0.3, restitution=restitution, closed_form=True)
    system = sr.System(mechanism)
    turn = Rotation.from_euler("z", 0.3) * Rotation.from_euler("y", np.pi / 4)
    q = turned([0.02, 0.0, np.sqrt(2.0) * 0.05 + height], turn)
    motion = sr.simulate(system, q, duration=1.2, rtol=1e-10)
    fall = np.sqrt(2.0 * height / G)
    times = [switch.time for switch in motion.switches if switch.bounced]
    first = fall * (1.0 + 2.0 * restitution * np.array([0.0, 1.0, 1.0 + restitution]))
    assert np.array(times[:3]) == pytest.approx(first, abs=1e-9)
    (name,) = motion.switches[0].bounced
    (place,) = (place for place in system.surface_contacts if place.name == name)
    assert isinstance(place.feature, Edges)
    assert balance(motion) < 1e-10


def test_a_domino_hits_the_next_one():
    half, apart, rate = np.array([0.005, 0.02, 0.04]), 0.03, 4.0
    mechanism = scene("dominoes")
    for k in range(2):
        add_free(mechanism, f"d{k}", "box", half, (k * apart, 0.0, half[2]), mass=1.0)
    mechanism.add_geometry_contacts(friction_coefficient=0.6, closed_form=True)
    system = sr.System(mechanism)
    q, v = system.neutral(), np.zeros(12)
    arm = np.array([half[0], 0.0, -half[2]])
    v[:6] = np.concatenate([np.cross([0.0, rate, 0.0], -arm), [0.0, rate, 0.0]])
    motion = sr.simulate(system, q, v, duration=0.3, rtol=1e-10)
    assert motion.status.ok, motion.message
    reach, moment = np.hypot(half[0], half[2]), inertia(half)[1] + half[0] ** 2 + half[2] ** 2
    leans = np.arctan2(half[0], half[2])
    hits = lambda t, y: 2.0 * half[2] * np.sin(y[0]) - (apart - 2.0 * half[0])  # noqa: E731
    hits.terminal = True
    truth = solve_ivp(
        lambda t, y: [y[1], G * reach * np.sin(y[0] - leans) / moment], (0.0, 1.0), [0.0, rate], "DOP853",
        rtol=1e-13, atol=1e-14, events=hits,
    ).t[-1]  # fmt: skip
    at = [one.time for one in motion.switches if "d0-d1" in " ".join(one.closed + one.bounced)]
    assert at[0] == pytest.approx(truth, abs=1e-9)
    assert motion.q[-1, 12] > 0.1  # the second one falls, too
    assert balance(motion) < 1e-9


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_boxes_that_are_thrown_stay_outside_of_each_other(restitution):
    """The truth is MuJoCo's distance; energy and what contacts took add up."""
    half = np.array([0.1, 0.07, 0.04])
    system, hits = on_table(half, friction=0.4, restitution=restitution), 0
    geoms = [system.mechanism.geoms[name] for name in ("table", "book")]
    model = geometry_model("pair", geoms)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        turn, place = Rotation.random(random_state=seed), rng.uniform([-0.5, -0.3, 0.25], [0.5, 0.3, 0.25])
        v = rng.normal(size=6) * [0.5, 0.5, 0.5, 5.0, 5.0, 5.0]
        motion = sr.simulate(system, turned(place, turn), v, duration=0.6, error_estimate=False)
        assert motion.status.ok, motion.message
        assert balance(motion) < 1e-8
        for q in motion.q:
            (x,), (r,) = system.body_placements(q)
            data.geom_xpos[1], data.geom_xmat[1] = x, r.ravel()
            assert mujoco.mj_geomDistance(model, data, 0, 1, 1.0, np.zeros(6)) > -1e-9
        hits += len(motion.switches)
    assert hits > 30


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"coordinates": "partition", "rtol": 1e-10}, 1e-12),
        ({"formulation": "null-space", "rtol": 1e-10}, 1e-12),
        ({"method": "rk4", "dt": 1e-3}, 1e-8),
        ({"method": "rodas5p", "rtol": 1e-9}, 1e-9),
        ({"method": "moreau-jean", "dt": 1e-4}, 1e-6),
    ],
    ids=["partition", "null-space", "rk4", "rodas5p", "moreau-jean"],
)
def test_all_methods_take_a_book_over_the_edge(table, options, near):
    """Runs by events take the closed form of a pair that steps in time leave to the narrow phase."""
    mechanism = table.mechanism.snapshot()
    mechanism.add_geometry_contacts(friction_coefficient=0.2, closed_form=False)
    q, v = turned([0.45, 0.0, BOOK[2]], Rotation.from_euler("z", 0.25)), [1.5, 0, 0, 0, 0, 0]
    exact = sr.simulate(table, q, v, duration=0.06, rtol=1e-10, error_estimate=False)
    motion = sr.simulate(sr.System(mechanism), q, v, duration=0.06, error_estimate=False, **options)
    assert motion.q[-1] == pytest.approx(exact.q[-1], abs=near)
    assert abs(sr.energy_balance(exact).residual[-1]) < 1e-12
