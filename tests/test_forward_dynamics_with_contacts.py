"""Forward dynamics with contacts, stops and dry friction, against closed forms, runs and inverse dynamics."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import Mode
from test_rest_on_contacts import quadruped
from test_several_contacts import table
from test_time_stepping import G, body, moving, pendulums, point, rod, slider_crank


def ball(friction: float, **contact: float) -> sr.System:
    """Return a ball of 10 cm and 1 kg that touches the ground."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", mass=1.0, inertia=(0.004,) * 3)
    mechanism.add_joint("float", "free", "world", "ball")
    mechanism.add_contact(
        "c", "ball", radius=0.1, friction="coulomb", friction_coefficient=friction, **contact
    )
    return sr.System(mechanism)


ON_GROUND = [0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]


def test_a_ball_slides_rolls_and_begins_to_do_either() -> None:
    system, mu, still = ball(0.3), 0.3, np.zeros(6)
    slides = system.forward_dynamics(ON_GROUND, [1.0, 0, 0, 0, 0, 0])
    assert_allclose(slides.a, [-mu * G, 0, 0, 0, mu * G * 0.1 / 0.004, 0], atol=1e-12)
    assert_allclose(slides.contacts["c"], [G, -mu * G, 0.0], atol=1e-12)
    rolls = system.forward_dynamics(ON_GROUND, [1.0, 0, 0, 0, 10.0, 0])
    assert_allclose(rolls.a, 0.0, atol=1e-12)
    assert rolls.contacts.modes == {"c": Mode.STICKING}
    for push, mode in (
        (0.99, Mode.STICKING),
        (1.01, Mode.SLIDING),
    ):  # a force at the centre: 2/7 of it is friction
        force = push * 3.5 * mu * G
        begins = system.forward_dynamics(ON_GROUND, still, tau=[0, force, 0, 0, 0, 0])
        friction = min(force / 3.5, mu * G)
        assert begins.contacts.modes["c"] is mode
        assert_allclose(begins.a, [0, force - friction, 0, -friction * 0.1 / 0.004, 0, 0], atol=1e-10)
        assert (begins.contacts.residual < 1e-12, begins.contacts.ambiguous) == (True, ())
        assert begins.contacts.determined.all()


def test_what_sticks_has_the_static_coefficient_until_it_slides() -> None:
    system = point(0.3, static_coefficient=0.5)
    for part, slides in ((0.49, False), (0.51, True)):
        found = system.forward_dynamics(system.neutral(), np.zeros(6), tau=[part * 2.0 * G, 0, 0, 0, 0, 0])
        assert found.a[0] == pytest.approx((part - 0.3) * G if slides else 0.0, abs=1e-12)
    found = system.forward_dynamics(system.neutral(), moving(system, vy=1.0))
    assert found.a[1] == pytest.approx(-0.3 * G)


def test_torsional_friction_and_a_lifted_body() -> None:
    mechanism = body(inertia=4e-3)
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=0.3, torsion=0.02)
    system = sr.System(mechanism)
    spins = system.forward_dynamics(system.neutral(), moving(system, wz=2.0))
    assert spins.a[5] == pytest.approx(-0.3 * 2.0 * G * 0.02 / 4e-3)
    lifted = system.forward_dynamics(system.neutral(), np.zeros(6), tau=[0, 0, 3.0 * G, 0, 0, 0])
    assert lifted.a[2] == pytest.approx(0.5 * G)
    assert (lifted.contacts.modes["c"], lifted.contacts.carrying) == (Mode.OPEN, ())
    leaves = system.forward_dynamics(system.neutral(), moving(system, vz=1.0))
    assert leaves.a[2] == pytest.approx(-G)


def test_a_table_stands_whatever_its_legs_share() -> None:
    system, q = table()
    found = system.forward_dynamics(q, np.zeros(6))
    assert_allclose(found.a, 0.0, atol=1e-12)
    assert_allclose(found.contacts.forces[::3].sum(), 2.0 * G)
    assert not found.contacts.determined.any()
    slides = system.forward_dynamics(q, moving(system, vx=1.0))
    assert slides.a[0] == pytest.approx(-0.4 * G)
    assert slides.contacts.ambiguous == ()  # all rub alike, however they share
    spins = system.forward_dynamics(q, moving(system, vx=0.5, wz=1.0))
    assert spins.contacts.ambiguous == ("leg0", "leg1", "leg2", "leg3")
    assert "ambiguous" not in repr(spins)
    assert spins.status is Status.OK


def test_stops_and_dry_friction() -> None:
    system = pendulums(limits=(-0.4, 0.4))
    at = np.full(system.nq, 0.4)
    beyond, free = at + 0.01, system.forward_dynamics(at, np.zeros(system.nv), contacts=False).a
    inward = system.forward_dynamics(at, np.zeros(system.nv))
    for k, pushed in enumerate(free > 0.0):
        assert inward.a[k] == pytest.approx(0.0 if pushed else free[k], abs=1e-12)
    outside = system.forward_dynamics(beyond, np.zeros(system.nv))  # stops act there, and may be left
    assert_allclose(
        outside.a, system.forward_dynamics(beyond, np.zeros(system.nv), contacts=False).a, rtol=1e-12
    )
    pushed = system.forward_dynamics(beyond, np.zeros(system.nv), tau=np.array([30.0, 0.0]))
    assert pushed.a[0] == pytest.approx(0.0, abs=1e-12)
    assert pushed.contacts.forces.max() > 20.0
    with pytest.raises(
        sr.SolveError, match=r"stop .*upper stop' closes with a velocity of 1, which takes an impact"
    ):
        system.forward_dynamics(at, np.ones(system.nv))
    crank = slider_crank(0.3, 1.0, 0.1, 5.0)
    dead_centre = crank.assemble(crank.neutral()).q
    assert_allclose(crank.forward_dynamics(dead_centre, np.zeros(crank.nv)).a, 0.0, atol=1e-10)
    turned = crank.forward_dynamics(dead_centre, np.zeros(crank.nv), tau=[100.0, 0.0, 0.0])
    plain = crank.forward_dynamics(dead_centre, np.zeros(crank.nv), tau=[100.0, 0.0, 0.0], contacts=False)
    assert_allclose(turned.a, plain.a, rtol=1e-12)  # friction has no lever there
    q = crank.assemble([0.7, -0.3, 1.2], locked=["crank"]).q
    held = crank.forward_dynamics(q, np.zeros(crank.nv), tau=[0.5, 0.0, 0.0])
    assert_allclose(held.a, 0.0, atol=1e-10)
    assert held.contacts.modes["slider.friction"] is Mode.STICKING
    v = crank.project_velocity(q, np.ones(crank.nv))
    slides = crank.forward_dynamics(q, v)
    rows = np.abs(slides.contacts.forces)
    assert_allclose(rows[rows > 0.0], 5.0)
    plain = crank.forward_dynamics(q, v, tau=slides.contacts.force, contacts=False)
    assert_allclose(slides.a, plain.a, rtol=1e-12)
    assert_allclose(slides.multipliers, plain.multipliers, rtol=1e-10, atol=1e-10)


def test_painleves_rod_has_no_acceleration() -> None:
    """It slides at an angle at which pressing makes it turn into the ground: no force is enough."""
    friction = 2.5
    system = rod(friction)
    for angle in np.linspace(0.3, 1.5, 25):
        q = np.array([0.0, np.sin(angle), angle])
        inertia = 1.0 + 3.0 * np.cos(angle) * (np.cos(angle) - friction * np.sin(angle))
        found = system.forward_dynamics(q, [-1.0, 0.0, 0.0], throw=False)
        back = system.forward_dynamics(q, [1.0, 0.0, 0.0])
        other = 1.0 + 3.0 * np.cos(angle) * (np.cos(angle) + friction * np.sin(angle))
        assert_allclose(back.contacts["end"], 3.0 * G / other * np.array([1.0, -friction, 0.0]), atol=1e-9)
        if inertia > 0.0:
            assert_allclose(
                found.contacts["end"], 3.0 * G / inertia * np.array([1.0, friction, 0.0]), rtol=1e-9
            )
            continue
        assert found.status is Status.INFEASIBLE
        assert found.contacts.ambiguous == ("end",)
        with pytest.raises(
            sr.SolveError, match=r"'end' slide on: it jams, which takes an impact \(Painlevé\)"
        ):
            system.forward_dynamics(q, [-1.0, 0.0, 0.0])


def test_what_is_not_possible_is_named() -> None:
    system = ball(0.3)
    with pytest.raises(sr.SolveError, match=r"'c' closes with a velocity of 0\.5, which takes an impact"):
        system.forward_dynamics(ON_GROUND, [0, 0, -0.5, 0, 0, 0])
    with pytest.raises(sr.ArgumentError, match=r"contact 'c' is 0\.05 m below its plane; raise the body"):
        system.forward_dynamics([0, 0, 0.05, 1, 0, 0, 0], np.zeros(6))
    found = system.forward_dynamics(ON_GROUND, [0, 0, -0.5, 0, 0, 0], throw=False)
    assert (found.status, found.contacts.status) == (Status.INCONSISTENT, Status.INCONSISTENT)
    assert_allclose(found.a, [0, 0, -G, 0, 0, 0], atol=1e-12)  # without them
    near = system.forward_dynamics([0, 0, 0.1 + 1e-7, 1, 0, 0, 0], [0, 0, -0.5, 0, 0, 0])
    assert (near.contacts, near.a[2]) == (None, pytest.approx(-G))  # it has not arrived


@pytest.mark.parametrize("seed", [2, 16, 25, 77, 143])
def test_boxes_accelerate_as_they_do_in_runs(seed: int) -> None:
    """At all records of a box that falls on eight corners, slides, pivots and rocks, but those at events."""
    rng = np.random.default_rng(seed)
    friction = float(rng.choice([0.1, 0.4, 0.8, 1.5]))
    mechanism = sr.Mechanism("box")
    mechanism.add_body("box", 1.0, inertia=(0.02, 0.03, 0.04))
    mechanism.add_joint("free", "free", "world", "box")
    for k, corner in enumerate(product((-0.2, 0.2), (-0.15, 0.15), (-0.1, 0.1))):
        mechanism.add_contact(f"c{k}", "box", corner, friction="coulomb", friction_coefficient=friction)
    system = sr.System(mechanism)
    q, turn = system.neutral(), rng.normal(size=4)
    q[2], q[3:7] = 0.5, turn / np.linalg.norm(turn)
    motion = sr.simulate(
        system, q, rng.normal(size=6) * [1, 1, 1, 3, 3, 3], duration=1.5, error_estimate=False
    )
    events = np.array([switch.time for switch in motion.switches])
    compared = 0
    for k in np.flatnonzero(np.abs(motion.contact_forces).max(axis=1) > 0.0):
        if np.abs(events - motion.t[k]).min() < 1e-4:
            continue
        found = system.forward_dynamics(motion.q[k], motion.v[k])
        assert found.contacts.residual < 1e-8
        if not found.contacts.ambiguous:
            compared += 1
            assert_allclose(found.a, motion.a[k], atol=1e-5 * (1.0 + np.abs(motion.a[k]).max()))
    assert compared > 10


def test_a_quadruped_goes_where_inverse_dynamics_says() -> None:
    """On four feet that stick and share loads: forward after inverse is the identity."""
    system, q = quadruped()
    still = np.zeros(system.nv)
    found = system.inverse_dynamics(q, still, still)
    forward = system.forward_dynamics(q, still, found.u)
    assert_allclose(forward.a, 0.0, atol=1e-7)
    assert forward.contacts.modes == found.contacts.modes
    assert_allclose(forward.contacts.force, found.contacts.force, atol=1e-6)


def test_a_load_cell_reads_what_the_ground_pushes() -> None:
    mechanism = sr.Mechanism("leg")
    mechanism.add_body("hip", 2.0, inertia=(0.1,) * 3)
    mechanism.add_joint("slide", "prismatic", "world", "hip", axis=(0, 0, 1))
    mechanism.add_body("foot", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("cell", "fixed", "hip", "foot", parent_pose=(0, 0, -0.5))
    mechanism.add_sensor("force", "force", "foot")
    mechanism.add_sensor("torque", "torque", "foot")
    mechanism.add_contact("toe", "foot", (0.1, 0, -0.1), friction="coulomb", friction_coefficient=0.0)
    system = sr.System(mechanism)
    read = system.sensors([0.6])
    assert_allclose(read["force"], [0, 0, -2.0 * G], atol=1e-12)
    assert_allclose(read["torque"], [0, 3.0 * G * 0.1, 0], atol=1e-12)
    assert read.undetermined == ()
    assert_allclose(system.sensors([0.6], contacts=False)["force"], 0.0, atol=1e-12)
    run = sr.simulate(system, [0.6], duration=0.01, error_estimate=False)
    assert_allclose(run.sensors["force"], np.tile([0, 0, -2.0 * G], (len(run.t), 1)), atol=1e-9)
    assert_allclose(run.sensors["torque"], np.tile([0, 3.0 * G * 0.1, 0], (len(run.t), 1)), atol=1e-9)
