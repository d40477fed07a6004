"""Electric motors: torque and speed, exact step responses, powers, limits, what the rotor adds to the joint."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ModelError

K, OHM, GEAR, ROTOR, LOAD = 0.05, 0.8, 30.0, 2e-5, 0.3


def arm(**motor) -> sr.System:
    """A balanced arm of 0.3 kg m² about a vertical axis."""
    mechanism = sr.Mechanism("arm")
    mechanism.add_body("arm", 1.0, inertia=(LOAD, LOAD, LOAD))
    mechanism.add_joint("axle", "revolute", "world", "arm", axis=(0, 0, 1), damping=0.02, armature=0.01)
    numbers = {"torque_constant": K, "resistance": OHM, "gear": GEAR, "rotor_inertia": ROTOR, **motor}
    mechanism.add_motor("motor", "axle", **numbers)
    return sr.System(mechanism)


def test_it_starts_with_the_stall_torque_and_ends_at_the_speed_without_load() -> None:
    system, volts = arm(), 12.0
    inertia = LOAD + 0.01 + GEAR**2 * ROTOR
    np.testing.assert_allclose(system.mass_matrix([0.0]), inertia, rtol=1e-14)
    brake = GEAR**2 * K**2 / OHM + 0.02
    final, time = GEAR * K / OHM * volts / brake, inertia / brake
    found = system.forward_dynamics([0.0], [0.0], [volts])
    np.testing.assert_allclose(found.a, GEAR * K * volts / OHM / inertia, rtol=1e-13)
    run = sr.simulate(system, [0.0], [0.0], duration=1.0, control=lambda q, v, t: [volts])
    np.testing.assert_allclose(run.v[:, 0], final * (1 - np.exp(-run.t / time)), rtol=1e-6, atol=1e-7)
    assert abs(run.v[-1, 0] - final) < 0.2 * final


def test_the_power_of_the_source_heats_the_winding_and_moves_the_joint() -> None:
    system = arm()
    rng = np.random.default_rng(0)
    for speed, volts in rng.uniform(-5, 5, (10, 2)):
        current = (volts - K * GEAR * speed) / OHM
        torque = system.mass_matrix([0.0])[0, 0] * system.forward_dynamics([0.0], [speed], [volts]).a[0]
        joint = torque + 0.02 * speed
        np.testing.assert_allclose(joint, GEAR * K * current, atol=1e-12)
        np.testing.assert_allclose(volts * current, OHM * current**2 + joint * speed, atol=1e-12)


@pytest.mark.parametrize("k", [K, -K])
def test_limits_hold_current_and_voltage(k: float) -> None:
    system = arm(torque_constant=k, current_limits=(-2.0, 3.0), voltage_limits=(-24.0, 24.0))
    inertia = system.mass_matrix([0.0])[0, 0]
    for volts, current in ((24.0, 3.0), (-24.0, -2.0), (1.0, 1.0 / OHM)):
        found = system.forward_dynamics([0.0], [0.0], [volts]).a[0]
        np.testing.assert_allclose(found * inertia, GEAR * k * current, rtol=1e-12)
    fast = 0.5
    spun = system.forward_dynamics([0.0], [fast], [100.0]).a[0] * inertia + 0.02 * fast
    assert abs(spun - GEAR * k * min((24.0 - k * GEAR * fast) / OHM, 3.0)) < 1e-12


def test_a_rotor_adds_friction_to_what_the_joint_has() -> None:
    joint = next(iter(arm(rotor_damping=1e-5, rotor_friction=0.01).mechanism.joints()))
    assert joint.damping == (0.02 + GEAR**2 * 1e-5,)
    assert joint.friction == (GEAR * 0.01,)
    plain = next(iter(arm(rotor_inertia=0.0).mechanism.joints()))
    assert (plain.armature, plain.friction) == ((0.01,), (0.0,))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resistance": 0.0}, "motor 'motor': resistance must be positive"),
        ({"resistance": -1.0}, "motor 'motor': resistance must not be negative"),
        ({"torque_constant": 0.0}, "torque_constant and gear must not be zero"),
        ({"rotor_inertia": np.nan}, "rotor_inertia must be finite"),
        ({"current_limits": (3.0, -3.0)}, "current_limits"),
    ],
)
def test_bad_numbers_are_errors_that_name_the_motor(given, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        arm(**given)


def test_a_motor_drives_a_joint_of_one_degree_of_freedom() -> None:
    mechanism = arm().mechanism
    mechanism.add_body("ball", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("ball", "spherical", "arm", "ball")
    numbers = {"torque_constant": K, "resistance": OHM}
    with pytest.raises(ModelError, match="motor 'other': joint 'ball' has 3 degrees of freedom"):
        mechanism.add_motor("other", "ball.wx", **numbers)
    with pytest.raises(ModelError, match="motor 'other': unknown joint velocity 'elbow'"):
        mechanism.add_motor("other", "elbow", **numbers)


def test_a_motor_that_is_refused_leaves_nothing_behind() -> None:
    mechanism = sr.Mechanism("winch")
    mechanism.add_body("drum", 1.0, inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("drum", "revolute", "world", "drum")
    numbers = {"torque_constant": 0.05, "resistance": 1.0, "rotor_inertia": 1e-4, "gear": 10.0}
    with pytest.raises(sr.SarrusError, match="voltage_limits"):
        mechanism.add_motor("motor", "drum", **numbers, rotor_friction=0.01, voltage_limits=24.0)
    assert [(joint.armature, joint.friction) for joint in mechanism.joints()] == [((0.0,), (0.0,))]
    mechanism.add_motor("motor", "drum", **numbers, rotor_friction=0.01, voltage_limits=(-24.0, 24.0))
    (joint,) = mechanism.joints()
    np.testing.assert_allclose((*joint.armature, *joint.friction), (0.01, 0.1), rtol=1e-15)
