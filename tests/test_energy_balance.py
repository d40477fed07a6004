"""Where the energy of a motion goes: against closed forms, and as a balance that closes as samples get dense."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from mechanisms import four_bar, random_coordinates, random_tree
from sarrus.analysis.loads.work_integral import integral
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.tendons import Wrap


def slider(**more) -> sr.System:
    mechanism = sr.Mechanism("slider", gravity=(0, 0, 0))
    mechanism.add_body("block", 2.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("x", "prismatic", "world", "block", axis=(1, 0, 0), **more)
    return sr.System(mechanism)


def test_a_damper_takes_all_by_its_closed_form():
    """m v̇ = −d v: the damper takes ½ m v0² (1 − exp(−2 d t / m))."""
    balance = sr.energy_balance(sr.simulate(slider(damping=0.8), [0.0], [3.0], duration=2.0, dt=0.01))
    assert balance.labels == ("joint damping x",)
    taken = 0.5 * 2.0 * 9.0 * (1.0 - np.exp(-0.8 * balance.t))
    assert np.abs(balance.work[:, 0] + taken).max() < 1e-8
    assert np.abs(balance.residual).max() < 1e-8
    assert balance.of("joint damping")[-1] == balance.total["joint damping x"]


def test_dry_friction_takes_force_times_way_and_stops_take_their_part():
    """2 kg at 3 m/s against 4 N: after 0.5 m a stop, e = 0.5; then back until it rests."""
    system = slider(friction=4.0, limits=(-5.0, 0.5), limit_restitution=0.5)
    run = sr.simulate(system, [0.0], [3.0], duration=3.0, dt=0.01)
    balance = sr.energy_balance(run)
    at_stop = 9.0 - 4.0 * 0.5
    assert balance.total["impact"] == pytest.approx(-0.75 * at_stop, abs=1e-9)
    assert balance.total["dry friction x.friction"] == pytest.approx(-9.0 + 0.75 * at_stop, abs=1e-6)
    assert balance.energy[-1] == pytest.approx(-9.0, abs=1e-9)
    assert abs(balance.residual[-1]) < 1e-6
    assert balance.error.sum() < 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_with_springs_dampers_and_user_forces(seed):
    plan = random_tree(seed, ("revolute", "spherical", "prismatic", "universal"))
    mechanism = plan.mechanism
    body = list(mechanism.bodies)[-1]
    mechanism.add_force("wind", lambda q, v, t: ca.vertcat(ca.sin(3 * t), 0.2, 0), body=body)
    system = sr.System(mechanism)
    q = random_coordinates(plan)
    left = []
    for dt in (4e-3, 2e-3):
        balance = sr.energy_balance(sr.simulate(system, q, 0.3 * np.ones(system.nv), duration=0.4, dt=dt))
        assert {"force", "joint damping"} <= set(balance.kinds)
        left.append(np.abs(balance.residual).max())
        assert np.abs(balance.work).max() > 0.01
    assert left[1] < 1e-6
    assert left[1] < left[0] / 8 or left[1] < 1e-11


def test_motors_and_a_force_that_was_given():
    system = sr.System(four_bar())
    q = system.assemble([0.5, 0.5, 0.5]).q
    run = sr.simulate(
        system, q, duration=1.0, dt=1e-3, force=lambda q, v, t: -0.2 * v,
        control=lambda q, v, t: ca.sin(7 * t),
    )  # fmt: skip
    balance = sr.energy_balance(run)
    assert balance.labels == ("actuator motor", "applied")
    assert np.abs(balance.residual).max() < 1e-8
    assert np.allclose(balance.power[:, 1], -0.2 * (run.v**2).sum(axis=1), rtol=0, atol=1e-9)
    assert np.allclose(balance.torques[:, 0], run.u[:, 0], rtol=0, atol=1e-15)
    assert np.allclose(balance.speeds[:, 0], run.v[:, 0], rtol=0, atol=1e-15)
    assert np.allclose(balance.power[:, 0], balance.speeds[:, 0] * balance.torques[:, 0], rtol=0, atol=1e-12)


def test_bodies_that_are_driven_put_energy_in():
    """A hand carries a mass up by 0.2 m at rest to rest: m g h through the grip."""
    lift = sr.Mechanism("lift")
    lift.add_body("hand")
    lift.add_joint("hand", "fixed", "world", "hand")
    lift.drive("hand", lambda t: ca.vertcat(0, 0, 0.1 * (1 - ca.cos(np.pi * t))))
    lift.add_body("load", 2.0, inertia=(0.1, 0.1, 0.1))
    lift.add_joint("load", "prismatic", "world", "load")
    lift.add_closure("grip", "point", "hand", "load")
    balance = sr.energy_balance(sr.simulate(sr.System(lift), [0.0], duration=1.0, dt=5e-3))
    assert balance.total["constraint grip"] == pytest.approx(2.0 * 9.81 * 0.2, abs=1e-6)
    assert np.abs(balance.residual).max() < 1e-6
    # the same as a part of the tree
    lift = sr.Mechanism("swing")
    lift.add_body("hand")
    lift.add_joint("hand", "fixed", "world", "hand")
    lift.drive("hand", lambda t: ca.vertcat(0.3 * ca.sin(3 * t), 0, 0))
    lift.add_body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    lift.add_joint("hinge", "revolute", "hand", "rod", axis=(0, 1, 0), damping=0.05)
    balance = sr.energy_balance(sr.simulate(sr.System(lift), [0.4], duration=2.0, dt=2e-3))
    assert balance.labels == ("joint damping hinge", "driven bodies")
    assert balance.total["driven bodies"] > 1.0
    assert np.abs(balance.residual).max() < 1e-8


def test_ideal_constraints_and_springs_do_no_work():
    """Redundant rows, a singular passage: nothing acts, so that the residual is the drift of the energy."""
    run = sr.simulate(
        sr.System(four_bar()), sr.System(four_bar()).assemble([0.5] * 3).q, duration=1.0, dt=1e-3
    )
    balance = sr.energy_balance(run)
    assert set(balance.kinds) == {"actuator"}
    assert not balance.work.any()
    assert np.abs(balance.residual).max() == pytest.approx(run.energy_drift)


def test_equations_of_ones_own():
    system = sr.System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: v[0] ** 2 / 2 - 2 * q[0] ** 2,
        generalized_force=lambda q, v, t: -0.3 * v,
        inputs=lambda q: ca.SX(1),
    )
    run = sr.simulate(system, [1.0], [0.0], duration=2.0, dt=2e-3, control=lambda q, v, t: ca.sin(t))
    balance = sr.energy_balance(run)
    assert balance.kinds == ("inputs", "passive force")
    assert np.abs(balance.residual).max() < 1e-9


def test_steps_in_time():
    system = slider(friction=4.0)
    balance = sr.energy_balance(
        sr.simulate(system, [0.0], [3.0], duration=1.0, dt=1e-3, method="moreau-jean")
    )
    assert balance.work[-1].sum() == pytest.approx(-9.0 + 0.5 * 2 * (3 - 2.0) ** 2, abs=0.02)


def test_the_error_of_the_quadrature_is_told():
    t = np.linspace(0.0, 1.0, 15)
    for power, exact in ((np.exp(3 * t), (np.exp(3.0) - 1) / 3), (np.cos(9 * t), np.sin(9.0) / 9)):
        done, off = integral(t, power)
        assert abs(done[-1] - exact) < off < 1e-2
    both = np.concatenate([t, t + 1.0])
    done, _ = integral(both, np.concatenate([0 * t, 1 + 0 * t]))
    assert done[len(t) - 1] == done[len(t)] == 0.0
    assert done[-1] == pytest.approx(1.0, abs=1e-14)


def test_samples_that_lie_dense_at_an_event_do_not_blow_up_the_work():
    """A power that jumps; samples come close to it and leave it by factors of ten, as runs with events have them."""
    gaps = 1e-2 * 10.0 ** -np.arange(10)
    regular = np.linspace(0.0, 1.0, 41)
    before = np.concatenate([regular[regular < 0.395], 0.4051 - gaps])
    after = np.concatenate([0.4051 + gaps[::-1], regular[regular > 0.425]])
    t = np.concatenate([before, after])
    power = np.concatenate([np.cos(5 * before), -3.0 * np.exp(after)])
    exact = np.sin(5 * 0.4051) / 5 - 3.0 * (np.exp(1.0) - np.exp(0.4051))
    done, off = integral(t, power)
    assert abs(done[-1] - exact) < off < 1e-4
    scaled, off_scaled = integral(1e3 * t, 1e-6 * power)  # other units
    assert scaled[-1] == pytest.approx(1e-3 * done[-1], rel=1e-9)
    assert off_scaled == pytest.approx(1e-3 * off, rel=1e-6)


def test_a_peak_that_is_sampled_too_coarsely_is_told():
    """A push of 2 ms at known times on 1 kg at 1 m/s, from 20 samples over it to less than one."""
    width = 2e-3
    mechanism = sr.Mechanism("pulse", gravity=(0, 0, 0))
    mechanism.add_body("block", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("x", "prismatic", "world", "block")
    mechanism.add_force("kick", lambda q, v, t: 200 * ca.exp(-(((t - 0.5007) / width) ** 2)))
    system = sr.System(mechanism)
    exact = 0.5 * ((1 + 200 * width * np.sqrt(np.pi)) ** 2 - 1)
    for every, within in ((1, 1e-12), (10, 1e-5), (20, 0.1), (30, 0.1), (40, 0.1), (50, 0.3)):
        balance = sr.energy_balance(sr.simulate(system, [0.0], [1.0], duration=1.2, dt=1e-4, every=every))
        assert balance.energy[-1] == pytest.approx(exact, rel=1e-12)
        assert abs(balance.total["force kick"] - exact) < within
        assert abs(balance.residual[-1]) <= balance.error.sum() < 1.0


def test_a_current_that_meets_its_limit_again_and_again():
    """Against 20000 steps of Euler's method; the run has 200 samples, some 4e-12 s apart."""
    constant, resistance, inductance, rotor, damping, top = 0.05, 0.5, 1e-3, 2e-4, 1e-3, 15.0
    mechanism = sr.Mechanism("m", gravity=(0, 0, 0))
    mechanism.add_body("r", 0.1, inertia=(rotor,) * 3)
    mechanism.add_joint("j", "revolute", "world", "r", damping=damping)
    mechanism.add_motor(
        "m",
        "j",
        torque_constant=constant,
        resistance=resistance,
        inductance=inductance,
        current_limits=(0.0, top),
    )
    run = sr.simulate(
        sr.System(mechanism), [0.0, 0.0], [0.0], duration=0.2, control=lambda q, v, t: [12 * ca.cos(60 * t)]
    )
    balance = sr.energy_balance(run)
    h, i, speed, source, heat, lost = 1e-5, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in h * np.arange(20000):
        rate = (12 * np.cos(60 * t) - resistance * i - constant * speed) / inductance
        rate = (min(max(i + h * rate, 0.0), top) - i) / h
        source += h * i * (inductance * rate + resistance * i + constant * speed)
        heat, lost = heat - h * resistance * i**2, lost - h * damping * speed**2
        i, speed = i + h * rate, speed + h * (constant * i - damping * speed) / rotor
    for label, work in {"source m": source, "winding m": heat, "joint damping j": lost}.items():
        assert balance.total[label] == pytest.approx(work, rel=1e-3)
    assert np.abs(balance.residual).max() <= balance.error.sum() < 5e-3


def test_a_driven_cable_that_lifts_off_a_sphere():
    """The power of the winch jumps where the cable leaves the sphere; samples there are 7e-8 s apart."""
    mechanism = sr.Mechanism("winch")
    mechanism.add_body("arm", 1.0, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02))
    mechanism.add_joint("a", "revolute", "world", "arm", axis=(0, 1, 0), damping=0.01)
    mechanism.add_body("w", 2.0, inertia=(0.01, 0.02, 0.02))
    mechanism.add_joint("z", "prismatic", "world", "w", axis=(0, 0, 1), parent_pose=(-0.3, 0, 0))
    over = Wrap("world", "sphere", 0.08, Pose((0, 0, 0)))
    mechanism.add_tendon("t", [("w", (0, 0.01, 0)), over, ("arm", (0.3, 0, 0.02))])
    mechanism.add_motion("winch", "tendon:t", lambda t: 0.72 - 0.05 * ca.sin(5 * t))
    system = sr.System(mechanism)
    q = system.assemble([0.2, -0.25]).q
    balance = sr.energy_balance(sr.simulate(system, q, system.project_velocity(q, [0.5, 0.0]), duration=0.4))
    assert np.ptp(balance.energy) > 1.0
    assert np.abs(balance.residual).max() <= balance.error.sum() < 0.05


def test_a_file_knows_it_too(tmp_path):
    run = sr.simulate(slider(damping=0.8, friction=1.0), [0.0], [3.0], duration=0.5, dt=0.01)
    again = sr.energy_balance(sr.Trajectory.load(run.save(tmp_path / "run.nc")))
    assert again.total == sr.energy_balance(run).total


def test_what_cannot_be_balanced_is_an_error(tmp_path):
    balance = sr.energy_balance(sr.simulate(slider(damping=0.8), [0.0], [3.0], duration=0.1))
    with pytest.raises(sr.ArgumentError, match=r"slider: no force of kind 'motor'; kinds: joint damping"):
        balance.of("motor")
    system = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2 / 2)
    path = sr.simulate(system, [0.0], [1.0], duration=0.1).save(tmp_path / "run.nc")
    with pytest.raises(sr.ArgumentError, match="its system is not known"):
        sr.energy_balance(sr.Trajectory.load(path))


def test_pictures_and_text(tmp_path):
    system = sr.System(four_bar())
    run = sr.simulate(
        system, system.assemble([0.5] * 3).q, duration=0.5, dt=1e-2, control=lambda q, v, t: ca.sin(9 * t)
    )
    balance = sr.energy_balance(run)
    assert str(balance).splitlines()[2].startswith("actuator motor")
    balance.plot(tmp_path / "shares.png")
    sr.plot.motor_diagram(balance, tmp_path / "motor.png")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("shares.png", "motor.png"))


def test_a_drive_that_is_hit_does_work_in_the_impact() -> None:
    """A carriage that a motor moves at 2 m/s drives a pin against a ball at rest: the motor keeps its speed."""
    mechanism = sr.Mechanism("driver", gravity=(0, 0, 0))
    for name, mass in (("carriage", 3.0), ("ball", 0.5)):
        mechanism.add_body(name, mass, inertia=(1, 1, 1))
        mechanism.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0))
    mechanism.add_motion("motor", "carriage", lambda t: 2.0 * t)
    mechanism.add_contact(
        "pin", "ball", ground="carriage", normal=(1, 0, 0), friction="coulomb", friction_coefficient=0.0,
        restitution=0.6,
    )  # fmt: skip
    run = sr.simulate(sr.System(mechanism), [0.0, 0.5], [2.0, 0.0], duration=1.0)
    assert run.v[-1, 1] == pytest.approx(1.6 * 2.0, rel=1e-9)
    balance = sr.energy_balance(run)
    assert balance.total["constraint in impacts"] == pytest.approx(
        0.5 * 3.2 * 2.0, rel=1e-9
    )  # impulse × speed
    assert balance.total["impact"] == pytest.approx(-0.5 * 0.5 * 4.0 * (1 - 0.6**2), rel=1e-9)
    assert np.abs(balance.residual).max() < 1e-9


def test_an_impact_at_the_start_is_before_the_first_sample() -> None:
    """A ball that begins at its floor with a velocity into it: the motion recorded begins after the impact."""
    ball = sr.Mechanism("ball")
    ball.add_body("ball", 1.0, inertia=(1, 1, 1))
    ball.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    ball.add_contact("floor", "ball", friction="coulomb", friction_coefficient=0.2, restitution=0.5)
    run = sr.simulate(sr.System(ball), [0.0], [-1.0], duration=0.3, dt=0.01, method="dop853")
    assert run.switches[0].energy_loss == pytest.approx(0.375)
    balance = sr.energy_balance(run)
    assert abs(balance.residual).max() < 1e-10
    assert balance.of("impact")[-1] == pytest.approx(-sum(s.energy_loss for s in run.switches[1:]), abs=1e-12)
