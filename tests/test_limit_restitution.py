"""Limits of joints that rebound: closed forms for sliders, pendulums, linkages with redundant stops."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from c_code import Compiled
from sarrus.model.builders.document import from_json, to_json
from test_cli import info_rows
from test_phases import balance, run, times
from test_time_stepping import pendulums

G = 9.81


def slider(gravity: float = 0.0, **joint: object) -> sr.System:
    """Return a body of 2 kg that slides up and down."""
    mechanism = sr.Mechanism("slider", gravity=(0, 0, -gravity))
    mechanism.add_body("block", 2.0)
    mechanism.add_joint("z", "prismatic", "world", "block", axis=(0, 0, 1), **joint)
    return sr.System(mechanism)


def double_pendulum(gravity: float = G, **second: object) -> sr.System:
    """Return two links of 1 kg and 1 m in a plane; the second joint has stops."""
    mechanism = sr.Mechanism("pendulums", gravity=(0, 0, -gravity))
    for name, parent, at, joint in (("one", "world", 0, {}), ("two", "one", -1, second)):
        mechanism.add_body(name, 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=(0, 0, at), **joint)
    return sr.System(mechanism)


def after_impact(motion: sr.Trajectory, time: float) -> int:
    """Return the last record at a time."""
    return int(np.flatnonzero(motion.t == time)[-1])


# --- by events ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounce", [1.0, 0.8, 0.5])
def test_a_slider_bounces_between_its_stops(bounce: float) -> None:
    """It crosses 1 m with speeds e^n, so that it hits at 1/2 + Σ e^-k, and has energies e^(2n)."""
    system = slider(limits=(-0.5, 0.5), limit_restitution=bounce)
    motion = run(system, [0.0], [1.0], 9.0)
    hits = times(motion, "bounced")
    n = np.arange(len(hits))
    assert len(hits) >= 3
    truth = 0.5 + np.concatenate([[0.0], np.cumsum(bounce ** -(n[1:] + 0.0))])
    assert_allclose(hits, truth, atol=1e-9, rtol=0.0)
    assert [crossing.time for crossing in motion.limit_crossings] == hits
    assert [c.limit for c in motion.limit_crossings] == [0.5 if k % 2 == 0 else -0.5 for k in n]
    losses = [switch.energy_loss for switch in motion.switches if switch.bounced]
    assert_allclose(losses, (1.0 - bounce**2) * bounce ** (2.0 * n), atol=1e-14)
    assert_allclose(
        [motion.energy[after_impact(motion, time)] for time in hits], bounce ** (2.0 * (n + 1)), rtol=1e-12
    )
    assert motion.status.ok
    assert balance(motion) < 1e-12


def test_a_block_bounces_on_its_stop_until_it_rests() -> None:
    bounce, least, fall = 0.7, 1e-3, np.sqrt(2.0 / G)
    system = slider(G, limits=(0.0, 2.0), limit_restitution=bounce)
    motion = run(system, [1.0], None, 4.0, switching=sr.Switching(rest_speed=least))
    hits = times(motion, "bounced")
    n = np.arange(len(hits))
    assert_allclose(hits, fall * (1.0 + 2.0 * bounce * (1.0 - bounce**n) / (1.0 - bounce)), atol=1e-9)
    assert np.abs(motion.v[-1]).max() == 0.0
    assert motion.contact_forces[-1, 0] == pytest.approx(2.0 * G, rel=1e-12)
    assert motion.contact_loss[-1] == pytest.approx(2.0 * G, rel=1e-9)


def test_a_pendulum_swings_back_from_its_stop() -> None:
    """At a stop at 0.4 it has ½ I ω² = m g l (cos 0.4 − cos 0.6); every return is with e times the speed."""
    bounce, inertia = 0.9, 0.1 + 0.25
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("link", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint(
        "j", "revolute", "world", "link", axis=(0, 1, 0), limits=(-2.0, 0.0), limit_restitution=bounce
    )
    system = sr.System(mechanism)
    motion = run(system, [-0.6], None, 5.0)
    energy = 0.5 * G * (1.0 - np.cos(0.6))
    losses = np.array([switch.energy_loss for switch in motion.switches if switch.bounced])
    n = np.arange(len(losses))
    assert len(losses) >= 4
    assert_allclose(losses, energy * (1.0 - bounce**2) * bounce ** (2.0 * n), rtol=1e-8)
    first = after_impact(motion, times(motion, "bounced")[0])
    assert motion.v[first, 0] == pytest.approx(-bounce * np.sqrt(2.0 * energy / inertia), rel=1e-8)
    assert motion.q.max() < 1e-9


@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_a_double_pendulum_at_the_stop_of_its_elbow(bounce: float) -> None:
    """q̇₂⁺ = −e q̇₂⁻, and the change is along M⁻¹ of the second joint: that of (1 + e) times the kinetic projection."""
    system = double_pendulum(limits=(-1.0, 0.5), limit_restitution=bounce)
    q, v = np.array([0.3, 0.5]), np.array([-0.7, 2.0])
    motion = run(system, q, v, 1e-3)
    assert motion.switches[0].time == 0.0
    # M of two rods, by hand: about the joints, with the elbow at an angle of 0.5
    own, cross = 0.1 + 0.25, 0.5 * np.cos(0.5)
    mass = np.array([[own + 1.0 + own + 2.0 * cross, own + cross], [own + cross, own]])
    assert_allclose(mass, system.mass_matrix(q), rtol=1e-14)
    way = np.linalg.solve(mass, [0.0, 1.0])
    truth = v - (1.0 + bounce) * way / way[1] * v[1]
    assert_allclose(motion.v[after_impact(motion, 0.0)], truth, rtol=1e-12, atol=1e-12)
    assert truth[1] == pytest.approx(-bounce * v[1], abs=1e-14)
    loss = 0.5 * (1.0 - bounce**2) * v[1] ** 2 / way[1]
    assert motion.switches[0].energy_loss == pytest.approx(loss, rel=1e-12, abs=1e-14)
    assert [crossing.name for crossing in motion.limit_crossings] == ["two"]


def test_stops_of_several_joints_balance_energy() -> None:
    motion = run(pendulums(limits=(-0.4, 0.6), limit_restitution=0.6), [0.55, 0.5], None, 4.0)
    assert motion.status.ok
    assert len(times(motion, "bounced")) > 5
    assert balance(motion) < 1e-8
    assert np.abs(motion.q).max() < 0.6 + 1e-8


# --- loops and redundant stops ------------------------------------------------------------------------


def limited_four_bar(joints: dict[str, dict[str, object]]) -> sr.System:
    """Return a four-bar without gravity, closed by redundant rows, with these limits of its joints."""
    mechanism = sr.Mechanism("four-bar", gravity=(0, 0, 0))
    parent, at = "world", (0.0, 0.0, 0.0)
    for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.6)):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.01, 0.02, 0.03))
        options = joints.get(name, {})
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=at, **options)
        parent, at = name, (length, 0.0, 0.0)
    mechanism.add_closure("pin", "point", "world", "rocker", pose1=(0.7, 0, 0), pose2=(0.6, 0, 0))
    return sr.System(mechanism)


def closed() -> tuple[np.ndarray, np.ndarray]:
    """Return where it is, and velocities that it can have there."""
    system = limited_four_bar({})
    q = system.assemble(system.neutral() + np.array([1.0, -0.5, -1.0])).q
    return q, system.project_velocity(q, [2.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("bounces", "found"),
    [
        ({"crank": 0.6}, 0.6),
        ({"rocker": 0.6}, 0.6),
        ({"crank": 0.6, "rocker": 0.6}, 0.6),
        ({"crank": 0.6, "coupler": 0.6, "rocker": 0.6}, 0.6),
        ({"crank": 0.2, "rocker": 0.7}, 0.7),  # no velocity after it is below what Newton's law asks for
    ],
)
def test_a_four_bar_at_stops_that_say_the_same(bounces: dict[str, float], found: float) -> None:
    """One freedom: all velocities turn round with e times their size, however many stops say so."""
    q, v = closed()
    joints: dict[str, dict[str, object]] = {}
    for name, here, speed in zip(("crank", "coupler", "rocker"), q, v):
        if name in bounces:
            limits = (here - 3.0, here) if speed > 0.0 else (here, here + 3.0)
            joints[name] = {"limits": limits, "limit_restitution": bounces[name]}
    system = limited_four_bar(joints)
    motion = run(system, q, v, 0.02)
    assert_allclose(motion.v[after_impact(motion, 0.0)], -found * v, rtol=1e-10)
    assert motion.switches[0].energy_loss == pytest.approx(
        (1.0 - found**2) * system.kinetic_energy(q, v), rel=1e-10
    )
    assert motion.residual.max() < 1e-12
    assert {crossing.name for crossing in motion.limit_crossings} == set(bounces)
    assert balance(motion) < 1e-9


def test_a_four_bar_comes_back_to_its_stops() -> None:
    """Without gravity it keeps its energy between the stops of its crank: e² at each of them."""
    bounce, (q, v) = 0.8, closed()
    limits = (q[0] - 0.3, q[0] + 0.2)
    system = limited_four_bar({"crank": {"limits": limits, "limit_restitution": bounce}})
    motion = run(system, q, v, 1.5)
    hits = times(motion, "bounced")
    assert len(hits) >= 4
    n = np.arange(len(hits))
    energies = [motion.energy[after_impact(motion, time)] for time in hits]
    assert_allclose(energies, motion.energy[0] * bounce ** (2.0 * (n + 1)), rtol=1e-8)
    assert motion.residual.max() < 1e-12


# --- in steps of time -----------------------------------------------------------------------------------


def test_a_slider_bounces_between_its_stops_in_steps_of_time() -> None:
    """What hits within a step rebounds at once, so a motion without forces is exact."""
    system = slider(limits=(-0.5, 0.5), limit_restitution=0.8)
    motion = sr.simulate(
        system, [0.0], [1.0], duration=3.0, dt=7e-3, method="moreau-jean", error_estimate=False
    )
    at = 0.5 + 1.0 / 0.8
    assert motion.q[-1, 0] == pytest.approx(-0.5 + 0.64 * (3.0 - at), abs=1e-12)
    assert motion.v[-1, 0] == pytest.approx(0.64, abs=1e-14)
    assert motion.contact_loss[-1] == pytest.approx(1.0 - 0.8**4, abs=1e-14)


def test_a_block_that_falls_on_its_stop_in_steps_of_time() -> None:
    bounce, fall, duration = 0.7, np.sqrt(2.0 / G), 0.6
    system, steps, errors = slider(G, limits=(0.0, 2.0), limit_restitution=bounce), [], []
    late = duration - fall
    truth = bounce * G * fall * late - 0.5 * G * late**2
    for count in (64, 128, 256, 512, 1024):
        dt = fall / (count + 0.5)  # it hits in the middle of a step
        motion = sr.simulate(
            system, [1.0], duration=duration, dt=dt, method="moreau-jean", error_estimate=False
        )
        steps.append(dt)
        errors.append(abs(motion.q[-1, 0] - truth))
        assert motion.q.min() > -1e-12
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 0.9
    assert errors[-1] < 1e-3


def test_a_double_pendulum_in_steps_of_time_agrees_with_events() -> None:
    system = double_pendulum(limits=(-0.4, 0.5), limit_restitution=0.5)
    q, v = [0.3, 0.2], [-0.7, 4.0]
    truth = run(system, q, v, 0.4)
    assert len(times(truth, "bounced")) == 1
    steps, errors = (4e-3, 2e-3, 1e-3, 5e-4), []
    for dt in steps:
        motion = sr.simulate(system, q, v, duration=0.4, dt=dt, method="moreau-jean", error_estimate=False)
        errors.append(np.abs(motion.q[-1] - truth.q[-1]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 0.9
    assert errors[-1] < 1e-3
    many = sr.rollout(system, [q, q], [v, v], duration=0.4, dt=steps[-1])
    assert_allclose(many.final_q, [motion.q[-1]] * 2, rtol=1e-12)


def test_exported_steps_rebound(tmp_path: Path) -> None:
    system = slider(G, limits=(0.0, 2.0), limit_restitution=0.7)
    code = Compiled(sr.export.c_code(system, tmp_path, ["contact_step"], name="plant", q=[1.0]), system)
    motion = sr.simulate(system, [1.0], duration=0.6, dt=1e-3, method="moreau-jean", error_estimate=False)
    state, speed, t = np.array([1.0]), np.zeros(1), np.zeros(1)
    for _ in range(600):
        assert code.call("contact_step", state, speed, None, t, None, 1e-3, np.zeros(2)) == 0
    assert_allclose([state[0], speed[0]], [motion.q[-1, 0], motion.v[-1, 0]], rtol=1e-9)


# --- the description ----------------------------------------------------------------------------------


def test_the_coefficient_is_part_of_the_description(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = sr.Mechanism("slide")
    mechanism.add_body("block", 2.0)
    joint = mechanism.add_joint(
        "xy", "planar", "world", "block", limits=[None, (-1.0, 1.0), None], limit_restitution=[0.0, 0.25, 0.0]
    )
    assert joint.limit_restitution == (0.0, 0.25, 0.0)
    again = from_json(to_json(mechanism))
    assert next(again.joints()).limit_restitution == joint.limit_restitution
    assert info_rows(mechanism, capsys)["xy"].endswith("free, -1 … 1, e = 0.25, free")
    before = json.loads(to_json(mechanism))  # a file of before has no such field
    for _, body in dict(before["data"]["map"])["_bodies"]["map"]:
        for one in body["Body"]["joints"]:
            del one["Joint"]["limit_restitution"]
    assert next(from_json(json.dumps(before)).joints()).limit_restitution == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit_restitution": 1.5}, "joint 'x': limit_restitution must be between 0 and 1, got 1.5"),
        ({"limit_restitution": -0.1}, "joint 'x': limit_restitution must be between 0 and 1, got -0.1"),
        ({"limit_restitution": (0.5, 0.5)}, "joint 'x': limit_restitution must be one number or 1, got 2"),
        (
            {"limit_restitution": 0.5, "limits": None},
            "joint 'x': limit_restitution is for a joint with limits",
        ),
    ],
)
def test_wrong_coefficients_are_refused_by_name(options: dict[str, object], message: str) -> None:
    mechanism = sr.Mechanism("slide")
    mechanism.add_body("block", 2.0)
    with pytest.raises(sr.ModelError, match=message):
        mechanism.add_joint("x", "prismatic", "world", "block", **({"limits": (0.0, 1.0)} | options))
