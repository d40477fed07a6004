"""Contacts that are constraints in steps of time: they stick while they push, or slide without friction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.errors import ArgumentError

G = 9.81
CORNERS = ((0.2, 0.15), (-0.2, 0.15), (-0.2, -0.15), (0.2, -0.15))


def box(kinds: tuple[str, ...] = ("stick",) * 4, restitution: float = 0.0, **more: object) -> sr.System:
    mechanism = sr.Mechanism("box", **more)
    mechanism.add_body("box", 2.0, com=(0.01, -0.02, 0.0), inertia=(0.05, 0.06, 0.07))
    mechanism.add_joint("free", "free", "world", "box")
    for k, ((x, y), kind) in enumerate(zip(CORNERS, kinds)):
        own = {"friction_coefficient": 0.4} if kind == "coulomb" else {}
        mechanism.add_contact(
            f"c{k}", "box", (x, y, -0.1), friction=kind, restitution=restitution, **own,
        )  # fmt: skip
    return sr.System(mechanism)


def leg() -> sr.System:
    """Return a leg on a rail with a passive hip and a sprung knee, whose foot sticks."""
    mechanism = sr.Mechanism("leg")
    for name, mass in (("hip", 1.0), ("thigh", 1.0), ("shank", 0.5)):
        mechanism.add_body(name, mass, com=(0, 0, -0.2), inertia=(0.02,) * 3)
    mechanism.add_joint("rail", "prismatic", "world", "hip", axis=(0, 0, 1), damping=1.0)
    mechanism.add_joint("thigh", "revolute", "hip", "thigh", axis=(0, 1, 0), damping=0.3)
    mechanism.add_joint(
        "knee",
        "revolute",
        "thigh",
        "shank",
        axis=(0, 1, 0),
        parent_pose=(0, 0, -0.4),
        stiffness=20.0,
        damping=0.3,
    )
    mechanism.add_contact("foot", "shank", (0, 0, -0.4))
    return sr.System(mechanism)


def stepped(system: sr.System, q: object, v: object, duration: float, dt: float) -> sr.Trajectory:
    found = sr.simulate(system, q, v, duration=duration, dt=dt, method="moreau-jean", error_estimate=False)
    assert found.status is sr.Status.OK
    return found


def test_a_foot_that_sticks_from_its_touchdown_on() -> None:
    """The foot stays where it has touched; steps of half the length have a quarter of the error, but for touchdown."""
    system, q, v = leg(), [0.9, 0.3, -0.4], [0.0, 0.5, 0.0]
    plain = sr.simulate(system, q, v, duration=1.5, rtol=1e-11, error_estimate=False)
    errors = [
        float(np.abs(stepped(system, q, v, 1.5, dt).q[-1] - plain.q[-1]).max()) for dt in (1e-3, 5e-4, 2.5e-4)
    ]
    assert errors[-1] < 1e-6
    assert errors[0] > 8.0 * errors[-1]
    fine = stepped(system, q, v, 1.5, 1e-3)
    assert_allclose(fine.contact_forces[-1], plain.multipliers[-1], rtol=1e-4)


def test_a_box_that_falls_on_four_corners_that_stick() -> None:
    """Redundant contacts: rank 6 of 12 rows. The path is the one by events."""
    system = box()
    q, v = system.normalized([0, 0, 0.2, 1, 0.02, 0.03, 0]), [0.5, 0.2, 0, 0, 0.2, 0.3]
    plain = sr.simulate(system, q, v, duration=0.6, error_estimate=False)
    for dt in (1e-3, 1e-4):
        found = stepped(system, q, v, 0.6, dt)
        assert_allclose(found.q[-1], plain.q[-1], rtol=0, atol=2e-3)
    assert_allclose(found.contact_forces[-1].reshape(4, 3).sum(axis=0), [2.0 * G, 0, 0], atol=1e-6)
    assert_allclose(found.v[-1], 0.0, atol=1e-8)


@pytest.mark.parametrize("kind", ["stick", "frictionless"])
def test_a_step_at_touchdown_is_the_impact_by_gauss(kind: str) -> None:
    """Of random boxes that touch with all corners: sr.impact finds what sticks and opens by least distances."""
    rng, ways = np.random.default_rng(4), set()
    for _ in range(3):
        com = rng.uniform(-0.15, 0.15, 3)
        mechanism = sr.Mechanism("box", gravity=(0, 0, 0))
        mechanism.add_body("box", 2.0, com=com, inertia=rng.uniform(0.05, 0.08, 3))
        mechanism.add_joint("free", "free", "world", "box")
        for k, (x, y) in enumerate(CORNERS):
            mechanism.add_contact(f"c{k}", "box", (x, y, -0.1), offset=-0.1, friction=kind)
        system = sr.System(mechanism)
        for _ in range(12):
            v = rng.standard_normal(6)
            v[2] = -abs(v[2])
            wanted = sr.impact(system, system.neutral(), v, closing=[f"c{k}" for k in range(4)])
            if wanted.slipping:
                continue
            found = stepped(system, system.neutral(), v, 1e-9, 1e-9)
            assert_allclose(found.v[-1], wanted.v, rtol=0, atol=1e-7 * np.abs(v).max())
            ways.add(len(wanted.released))
    assert len(ways) > 2


def test_bounces_and_slides_without_friction() -> None:
    """Falls from 0.5 m, rebounds with e = 1/2 and slides on: the closed form, to the order of the steps."""
    system = box(("frictionless",) * 4, restitution=0.5)
    top = np.sqrt(2 * 0.5 / G) * 1.5
    mechanism = system.mechanism
    assert mechanism is not None
    flat = sr.Mechanism("flat")
    flat.add_body("box", 2.0, inertia=(0.05, 0.06, 0.07))
    flat.add_joint("free", "free", "world", "box")
    for k, (x, y) in enumerate(CORNERS):
        flat.add_contact(f"c{k}", "box", (x, y, -0.1), friction="frictionless", restitution=0.5)
    found = stepped(sr.System(flat), [0, 0, 0.6, 1, 0, 0, 0], [0.7, 0, 0, 0, 0, 0], top, top / 1024)
    assert_allclose(found.q[-1, :3], [0.7 * top, 0.0, 0.1 + 0.125], atol=2e-3)
    assert_allclose(found.v[-1, 0], 0.7, atol=1e-12)


def test_beside_coulomb_contacts_and_in_many_runs() -> None:
    """A box on two smooth and two Coulomb corners slides down its slope with half the friction."""
    slope = 0.3
    system = box(
        ("frictionless", "coulomb", "coulomb", "frictionless"),
        gravity=(G * np.sin(slope), 0, -G * np.cos(slope)),
    )
    q = [0, 0, 0.1, 1, 0, 0, 0]
    many = sr.rollout(
        system, [q, q], [[1.0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0]], duration=0.2, dt=1e-3, every=1
    )
    alone = stepped(system, q, [1.0, 0, 0, 0, 0, 0], 0.2, 1e-3)
    assert_allclose(many.q[0], alone.q, rtol=0, atol=0)
    behind = alone.contact_forces[10].reshape(4, 3)
    assert_allclose(np.linalg.norm(behind[[1, 2], 1:], axis=1), 0.4 * behind[[1, 2], 0], rtol=1e-6)
    assert_allclose(behind[[0, 3], 1:], 0.0, atol=1e-12)
    momentum = [(system.mass_matrix(q) @ v)[0] for q, v in zip(alone.q[9:12], alone.v[9:12])]
    pulls = 2.0 * G * np.sin(slope) + behind[:, 1].sum()
    assert_allclose(np.diff(momentum) / 1e-3, pulls, rtol=1e-3)
    study = sr.study(system, grid={"v.free.vx": [0.5, 1.0]}, q=q, duration=0.2, dt=1e-3, outputs=["q"])
    assert_allclose(study.q.values[1], many.final_q[0], atol=1e-12)


def test_environments_step_with_them() -> None:
    pytest.importorskip("gymnasium")
    mechanism = sr.Mechanism("lift")
    mechanism.add_body("cabin", 1.0)
    mechanism.add_joint("z", "prismatic", "world", "cabin", axis=(0, 0, 1))
    mechanism.add_actuator("rope", "z")
    mechanism.add_contact("floor", "cabin", friction="frictionless", active=True)
    made = sr.gym.make(sr.System(mechanism), q=[0.0], sample_time=0.05)
    made.reset(seed=0)
    assert_allclose(made.step([0.0])[0][:2], 0.0, atol=1e-12)
    up = made.step([2 * G])[0]
    assert_allclose(up[:2], [0.5 * G * 0.05**2, G * 0.05], rtol=1e-6)
    with pytest.raises(ArgumentError, match="contact 'floor' opens and closes, which in environments only"):
        sr.gym.make(sr.System(mechanism), q=[0.0], method="rk4")


def test_the_trajectory_can_be_saved_and_its_system_acts_in_steps_alone(tmp_path: Path) -> None:
    found = stepped(leg(), [0.9, 0.3, -0.4], [0.0, 0.5, 0.0], 0.1, 1e-3)
    found.save(tmp_path / "steps.nc")
    again = sr.Trajectory.load(tmp_path / "steps.nc")
    assert_allclose(sr.contact_wrenches(again, "foot").force, sr.contact_wrenches(found, "foot").force)
    assert found.system is not None
    with pytest.raises(
        ArgumentError, match="contact 'foot' sticks without a limit of friction, which acts in steps"
    ):
        found.system.forward_dynamics(found.q[-1], found.v[-1])
    with pytest.raises(
        ArgumentError, match="contact 'foot' sticks without a limit of friction, which acts in steps"
    ):
        sr.simulate(found.system, found.q[-1], duration=0.1)


def test_beside_geometries_without_closed_form_what_sticks_is_refused_by_name() -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("free", "free", "world", "ball")
    mechanism.add_geom("ground", "world", "plane")
    mechanism.add_geom("ball", "ball", "sphere", (0.1,), friction=0.3)
    mechanism.add_geometry_contacts(closed_form=False)
    mechanism.add_contact("spike", "ball", (0, 0, -0.05))
    with pytest.raises(ArgumentError, match="'spike' sticks whatever the friction, which steps in time"):
        sr.simulate(sr.System(mechanism), [0, 0, 0.2, 1, 0, 0, 0], duration=0.1)
