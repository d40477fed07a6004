"""Wrenches of contacts from every sort of answer, beside the balance of momentum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import sarrus as sr
from mechanisms import unit
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

G = np.array([0.0, 0.0, -9.81])
LEGS = ("FL", "FR", "RL", "RR")


def demanded(system: sr.System, q: Array, v: Array, a: Array, about: Array) -> Array:
    """What the ground has to exert, force and moment about a point, for this motion under gravity."""
    whole = system.centroidal(q, v)
    rate = whole.matrix @ a + whole.bias
    force = rate[:3] - whole.mass * G
    return np.concatenate([force, rate[3:] + np.cross(whole.centre - about, force)])


def in_world(wrench: sr.ContactWrench) -> Array:
    return np.concatenate([wrench.force @ wrench.axes, wrench.moment @ wrench.axes])


def foot(friction: str, **options: float) -> sr.Mechanism:
    mechanism = sr.Mechanism("foot")
    mechanism.add_body("foot", 2.0, com=(0.03, 0.01, 0.2), inertia=(0.02, 0.03, 0.025))
    mechanism.add_joint("free", "free", "world", "foot")
    mechanism.add_contact_patch(
        "sole", "foot", extent=(0.12, 0.05), friction=friction, friction_coefficient=0.4, **options
    )
    return mechanism


def quadruped() -> tuple[sr.System, Array]:
    mechanism = sr.load("models/quadruped.xml")
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.6, active=True)
    return sr.System(mechanism), np.array(mechanism.keyframes["stand"].q)


@pytest.mark.parametrize("friction", ["stick", "coulomb"])
def test_forward_dynamics_gives_the_wrench_that_the_motion_needs(friction: str) -> None:
    """Constraints by their multipliers, friction by ``contacts``; what slides has its push along the plane."""
    system = sr.System(foot(friction, **({"active": True} if friction == "stick" else {})))
    q, v = system.neutral(), np.zeros(6)
    if friction == "coulomb":
        v[:2] = 0.3, -0.2  # it slides
    found = system.forward_dynamics(q, v)
    wrench = sr.contact_wrench(system, q, found, "sole")
    assert_allclose(in_world(wrench), demanded(system, q, v, found.a, wrench.centre), atol=1e-9)
    assert_allclose(wrench.axes[0], [0, 0, 1])
    if friction == "coulomb":
        push = 0.4 * wrench.force[0] * v[:2] / np.hypot(*v[:2])
        assert_allclose((wrench.force @ wrench.axes)[:2], -push, atol=1e-9)
        again = sr.contact_wrench(system, q, found.contacts, "sole")
        by_rows = sr.contact_wrench(system, q, found.contacts.forces, "sole")
        assert_allclose(again.moment, wrench.moment)
        assert_allclose(by_rows.moment, wrench.moment)
    else:
        assert_allclose(wrench.centre_of_pressure, [0.03, 0.01], atol=1e-10)
        assert_allclose(wrench.pressure_point, [0.03, 0.01, 0.0], atol=1e-10)


def test_what_rests_shows_its_weight_in_an_equilibrium() -> None:
    system = sr.System(foot("coulomb"))
    found = sr.equilibrium(system, system.neutral())
    wrench = sr.contact_wrench(system, found.q, found.contacts, "sole")
    assert_allclose(wrench.force, [2.0 * 9.81, 0, 0], atol=1e-8)
    assert_allclose(wrench.centre_of_pressure, [0.03, 0.01], atol=1e-7)


def test_a_ball_with_torsion_touches_at_its_surface() -> None:
    """The moment of friction about the point of touch is the torsion alone; 4 rows, not 3."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.5, inertia=(0.02, 0.02, 0.02))
    mechanism.add_joint("free", "free", "world", "ball", parent_pose=(0, 0, 0.2))
    mechanism.add_contact(
        "c", "ball", (0, 0, 0), radius=0.2, friction="coulomb", friction_coefficient=0.3, torsion=0.02
    )
    system = sr.System(mechanism)
    q, v = system.neutral(), np.array([0.5, 0.1, 0, 0.3, 0.2, 4.0])
    found = system.forward_dynamics(q, v)
    wrench = sr.contact_wrench(system, q, found, "c")
    assert_allclose(wrench.centre, [0, 0, 0], atol=1e-12)
    assert_allclose(wrench.centre_of_pressure, [0, 0], atol=1e-12)
    assert_allclose(in_world(wrench), demanded(system, q, v, found.a, np.zeros(3)), atol=1e-8)
    assert abs(wrench.moment[0]) > 1e-3


def test_all_feet_of_a_robot_together() -> None:
    """The forces of the law are what the motion needs; their centre of pressure is where no moment tips the robot."""
    system, q = quadruped()
    v = np.zeros(system.nv)
    upright = control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright")
    place = control.Task(control.centre_of_mass(), [0.02, 0.01, 0.42], 40.0, 10.0, name="place")
    law = control.LeggedController(system, [[upright, place]], largest_force=250.0)
    found = law.solve(q, v)
    a = system.forward_dynamics(q, v, found.u).a
    wrench = sr.contact_wrench(system, q, found, LEGS)
    assert_allclose(in_world(wrench), demanded(system, q, v, a, wrench.centre), atol=1e-6)
    n, (x, y) = wrench.force[0], wrench.centre_of_pressure
    assert_allclose(wrench.moment[1:], [n * y, -n * x], atol=1e-9)
    by_name = sr.contact_wrench(system, q, found.contact_forces, LEGS)
    assert_allclose(by_name.moment, wrench.moment)
    alone = [sr.contact_wrench(system, q, found, leg) for leg in LEGS]
    assert_allclose(sum(one.force @ one.axes for one in alone), wrench.force @ wrench.axes, atol=1e-12)
    assert_allclose(alone[0].centre_of_pressure, [0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_planes_of_any_direction(seed: int) -> None:
    """Force and moment are those of the contacts in the world; about the centre of pressure nothing tips."""
    rng = np.random.default_rng(seed)
    mechanism = sr.Mechanism("slope")
    mechanism.add_body("foot", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("free", "free", "world", "foot")
    normal = unit(rng)
    mechanism.add_contact_patch("sole", "foot", extent=(0.1, 0.04), normal=normal, friction_coefficient=1.0)
    system = sr.System(mechanism)
    rows = {
        name: np.array([rng.uniform(1, 5), *rng.standard_normal(2)])
        for name in mechanism.patches["sole"].contacts
    }
    turn = Rotation.align_vectors([normal], [[0, 0, 1]])[0]  # flat on the plane
    q = np.concatenate([rng.standard_normal(3), turn.as_quat(scalar_first=True)])
    wrench = sr.contact_wrench(system, q, rows, "sole")
    force, moment = np.zeros(3), np.zeros(3)
    for name, row in rows.items():
        c = mechanism.contacts[name]
        push = row @ np.array([c.normal, c.tangent1, c.tangent2])
        force += push
        moment += np.cross(q[:3] + turn.apply(c.point) - wrench.centre, push)
    assert_allclose(wrench.force @ wrench.axes, force, atol=1e-12)
    assert_allclose(wrench.moment @ wrench.axes, moment, atol=1e-12)
    tipping = moment - np.cross(wrench.pressure_point - wrench.centre, force)
    assert_allclose(tipping - (tipping @ normal) * normal, 0.0, atol=1e-12)


def test_along_a_run() -> None:
    """A foot that falls: nothing before it lands, its weight in the end; the entries are those of single samples."""
    system = sr.System(foot("coulomb"))
    q = system.neutral()
    q[2] += 0.02
    motion = sr.simulate(system, q, duration=0.6, dt=2e-3)
    along = sr.contact_wrenches(motion, "sole")
    assert along.force.shape == (len(motion.t), 3)
    assert np.isnan(along.centre_of_pressure[0]).all()
    assert_allclose(along.force[-1], [2.0 * 9.81, 0, 0], atol=1e-3)
    k = len(motion.t) - 1
    one = sr.contact_wrench(system, motion.q[k], motion.contact_forces[k], "sole")
    assert_allclose(along.moment[k], one.moment)
    assert_allclose(along.centre_of_pressure[k], one.centre_of_pressure)
    assert_allclose(along.centre[k], one.centre)
    held = sr.System(foot("stick", active=True))
    still = sr.contact_wrenches(sr.simulate(held, held.neutral(), duration=0.1, dt=0.01), ["sole"])
    assert_allclose(still.centre_of_pressure, np.tile([0.03, 0.01], (len(still.t), 1)), atol=1e-9)


def test_errors_name_contacts() -> None:
    mechanism = foot("stick", active=True)
    mechanism.add_contact("heel", "foot", (0, 0, 0.4), offset=0.4)
    mechanism.add_contact("toe", "foot", (0, 0, 0), friction="coulomb", friction_coefficient=0.5)
    system = sr.System(mechanism)
    q = system.neutral()
    with pytest.raises(ArgumentError, match=r"unknown contact patch 'tail'. Known: 'sole'"):
        sr.contact_wrench(system, q, {}, "tail")
    with pytest.raises(ArgumentError, match=r"'sole.1' and 'heel' are on different planes"):
        sr.contact_wrench(system, q, {}, ["sole", "heel"])
    with pytest.raises(ArgumentError, match=r"unknown contact 'sole.1'"):
        sr.contact_wrench(system, q, {"sole.2": [1, 0, 0]}, "sole")
    with pytest.raises(ArgumentError, match=r"force of 'heel' must be finite, with entries for heel.n"):
        sr.contact_wrench(system, q, {"heel": [1, 0]}, "heel")
    with pytest.raises(ArgumentError, match=r"have Coulomb friction \(toe\) and others are constraints"):
        sr.contact_wrench(system, q, np.zeros(system.nc), ["sole", "toe"])
    with pytest.raises(ArgumentError, match="name a contact patch, or several"):
        sr.contact_wrench(system, q, {}, [])
