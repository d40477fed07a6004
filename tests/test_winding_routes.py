"""Motors with inductance: all routes alike, documents and files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled
from sarrus.base.errors import ArgumentError, ModelError, UnsupportedElementError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.elements import Winding
from windings import GEAR, HENRY, OHM, K, axle, held, pump

# --- all routes ------------------------------------------------------------------------------------


def test_runs_many_runs_and_c_code_are_alike(tmp_path: Path) -> None:
    system = sr.System(pump(current_limits=(-8.0, 8.0), voltage_limits=(-10.0, 10.0)))
    q = np.array(system.assemble([0.7, 0.0, 0.2, 0.5]).q)
    v = np.array(system.project_velocity(q, np.array([3.0, 0.0, 0.0])))
    options = {"duration": 0.05, "dt": 1e-4}
    run = sr.simulate(system, q, v, control=lambda q, v, t: [7.0], error_estimate=False, **options)
    many = sr.rollout(system, np.tile(q, (3, 1)), np.tile(v, (3, 1)), u=np.full((3, 1, 1), 7.0), **options)
    np.testing.assert_allclose(many.q[:, -1], np.tile(run.q[-1], (3, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(many.v[:, -1], np.tile(run.v[-1], (3, 1)), rtol=0, atol=1e-10)
    compiled = Compiled(
        sr.export.c_code(system, tmp_path, functions=["forward_dynamics", "step"], q=q), system
    )
    t = np.zeros(1)
    for _ in range(500):
        assert compiled.call("step", q, v, np.array([7.0]), t, None, 1e-4) == sr.Status.OK
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, run.v[-1], rtol=0, atol=1e-10)
    adaptive = sr.simulate(system, run.q[0], run.v[0], duration=0.05, control=lambda q, v, t: [7.0])
    np.testing.assert_allclose(adaptive.q[-1], run.q[-1], rtol=0, atol=1e-4)  # the step that meets the limit
    assert run.currents["motor"].max() > 8.001
    np.testing.assert_allclose(run.currents["motor"][-1], 8.0, rtol=2e-9)


def test_tiny_time_constants_are_followed_and_fixed_steps_refused() -> None:
    """L/R = 2.5 µs: steps with error control follow; fixed steps far beyond it would grow without bound."""
    system, locked = sr.System(axle(inductance=2e-6)), held()
    run = sr.simulate(system, system.neutral(), duration=0.02, control=lambda q, v, t: [12.0])
    assert run.status is sr.Status.OK
    i = run.currents["motor"][-1]
    assert i == pytest.approx((12.0 - K * GEAR * run.v[-1, 0]) / OHM, rel=1e-4)
    message = r"steps of 0.00[45] s are too long for the winding of motor 'motor' with L/R = 0.00125 s: (rk4|dopri5) is"
    for call in (
        lambda: sr.simulate(locked, [0.0, 0.0], duration=0.1, dt=4e-3),
        lambda: sr.rollout(locked, np.zeros((2, 2)), duration=0.1, dt=4e-3),
        lambda: sr.simulate(locked, [0.0, 0.0], duration=0.1, dt=5e-3, method="dopri5", rtol=np.inf),
    ):
        with pytest.raises(ArgumentError, match=message) as caught:
            call()
        assert caught.value.element == "motor"
    sr.rollout(locked, np.zeros((2, 2)), duration=0.102, dt=3.4e-3)  # within the region of stability


def test_inductance_and_resistance_are_parameters() -> None:
    """Runs side by side with numbers of their own, each as its closed form; the shortest time L/R bounds the step."""
    mechanism = axle()
    mechanism.add_coupling("brake", {"axle": 1.0})
    system = sr.System(mechanism, {"L": "motor.inductance", "R": "motor.resistance"})
    assert system.parameters == {"L": HENRY, "R": OHM}
    numbers = {"L": np.array([1e-3, 4e-3, 2e-3]), "R": np.array([0.8, 1.0, 0.5])}
    many = sr.rollout(
        system, np.zeros((3, 2)), u=np.full((3, 1, 1), 6.0), parameters=numbers, duration=2e-3, dt=2e-5
    )
    exact = 6.0 / numbers["R"] * (1 - np.exp(-2e-3 * numbers["R"] / numbers["L"]))
    np.testing.assert_allclose(many.q[:, -1, 1], exact, rtol=1e-8)
    with pytest.raises(ArgumentError, match=r"motor 'motor' with L/R = 1e-05 s"):
        sr.rollout(system, np.zeros((3, 2)), parameters={"L": [1e-3, 8e-6, 1e-3]}, duration=2e-3, dt=1e-4)
    system.parameters["L"] = 5e-3
    assert sr.linearize_at(system, [0.0, 0.0]).A[-1, -1] == pytest.approx(-OHM / 5e-3, rel=1e-14)
    with pytest.raises(ArgumentError, match="resistance of actuator 'motor' would be 0"):
        system.parameters["R"] = 0.0


def test_rotors_with_dry_friction_run_in_phases() -> None:
    """Below the friction nothing turns, and the current is that of a rotor held; above it turns."""
    system = sr.System(axle(rotor_friction=0.02))
    still = sr.simulate(system, [0.0, 0.0], duration=0.02, control=lambda q, v, t: [0.2])
    np.testing.assert_allclose(still.v, 0.0, atol=1e-12)
    exact = 0.2 / OHM * (1 - np.exp(-still.t * OHM / HENRY))
    np.testing.assert_allclose(still.currents["motor"], exact, rtol=0, atol=1e-8)
    turns = sr.simulate(system, [0.0, 0.0], duration=0.02, control=lambda q, v, t: [2.0])
    breaks = -HENRY / OHM * np.log(1 - 0.02 / K * OHM / 2.0)  # when k i reaches the friction
    assert turns.switches[0].time == pytest.approx(breaks, abs=1e-7)


def test_what_knows_no_currents_says_so_by_name() -> None:
    system = sr.System(pump())
    q, v = system.assemble([0.7, 0.0, 0.2, 0.0]).q, np.zeros(3)
    calls = [
        lambda: system.inverse_dynamics(q, v, v),
        lambda: sr.simulate(system, q, duration=0.1, method="rodas5p"),
        lambda: sr.simulate(system, q, duration=0.1, method="moreau-jean"),
        lambda: sr.simulate(system, q, duration=0.1, coordinates="partition"),
        lambda: sr.parametrize(system, q),
        lambda: sr.equilibrium(system, q, hold=True),
        lambda: sr.control.ComputedTorque(system, ["crank"], [0.0]),
        lambda: sr.linearize_at(
            system, q, coordinates=sr.coordinates.Relation(lambda q, y: q[0] - y[0], ["x"])
        ),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"do not support activations \(motor\.current\)") as caught:
            call()
        assert caught.value.element == "motor"
    reach = sr.control.controllability(system, q)
    assert reach.controllable
    assert reach.dof == 1


# --- description -----------------------------------------------------------------------------------


def test_without_activation_is_the_motor_without_inductance() -> None:
    numbers = {"current_limits": (-2.0, 3.0), "voltage_limits": (-24.0, 24.0)}
    for k in (K, -K):
        wound, plain = axle(torque_constant=k, **numbers), axle(torque_constant=k, inductance=0.0, **numbers)
        assert plain.coordinate_names == ("axle",)
        assert wound.without_activation().actuators == plain.actuators
        assert [j.armature for j in wound.joints()] == [j.armature for j in plain.joints()]


def test_documents_and_trajectories_come_back(tmp_path: Path) -> None:
    mechanism = axle(current_limits=(-2.0, 3.0))
    assert from_json(to_json(mechanism)).actuators == mechanism.actuators
    assert mechanism.actuators["motor"].activation == Winding(HENRY, OHM, (-2.0, 3.0))
    run = sr.simulate(sr.System(mechanism), [0.0, 0.0], duration=0.01, control=lambda q, v, t: [5.0])
    again = sr.Trajectory.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again.currents["motor"], run.currents["motor"])
    assert again.mechanism is not None
    assert again.mechanism.actuators == mechanism.actuators
    balance = sr.energy_balance(again)
    assert balance.total["source motor"] == pytest.approx(
        sr.energy_balance(run).total["source motor"], rel=1e-14
    )


MJCF = """
<mujoco><option timestep="{step}" integrator="RK4"><flag contact="disable" limit="disable"/></option>
<worldbody>
  <body><inertial pos="0.2 0 0" mass="1.5" diaginertia="0.02 0.03 0.04"/><joint name="j" axis="0 1 0" damping="0.2"/>
    <body pos="0.4 0 0"><inertial pos="0.1 0.02 0" mass="0.7" diaginertia="0.01 0.02 0.02"/>
      <joint name="k" type="slide" axis="1 0 0" damping="0.3" stiffness="40"/></body></body>
</worldbody>
<actuator>
  <dcmotor name="slow" joint="j" motorconst="0.08" resistance="0.9" inductance="0.01" gear="20" ctrlrange="-12 12"/>
  <dcmotor name="cut" joint="k" motorconst="0.05 0.07" resistance="1.2" inductance="0 0.02" gear="-40"
    saturation="0.1"/>
  <dcmotor name="fast" joint="j" nominal="12 0.5 80" gear="5" saturation="0 1.5"/>
</actuator>
<keyframe><key name="turning" qpos="0.1 0.02" act="1.5 -2"/></keyframe></mujoco>"""


def test_the_dcmotor_of_mujoco_is_the_same(tmp_path: Path) -> None:
    """Rates to rounding; motions in the limit of small steps, in which MuJoCo is of first order with its actearly."""
    (tmp_path / "model.xml").write_text(MJCF.format(step=1e-4))
    mechanism = sr.load(tmp_path / "model.xml")
    system, rng = sr.System(mechanism), np.random.default_rng(5)
    assert system.coordinate_names == ("j", "k", "slow.current", "cut.current")
    model = mujoco.MjModel.from_xml_string(MJCF.format(step=1e-4))
    data, u = mujoco.MjData(model), np.array([14.0, -6.0, 5.0])
    for _ in range(10):
        q, v, at = rng.normal(size=4), rng.normal(size=2), 10 * rng.normal(size=3)
        data.qpos[:], data.act[:], data.qvel[:], data.ctrl[:] = q[:2], q[2:], v, at
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(system.activation_rate(q, at, v), data.act_dot, rtol=1e-12, atol=1e-10)
    ends = []
    for step in (2e-5, 1e-5):
        model = mujoco.MjModel.from_xml_string(MJCF.format(step=step))
        data = mujoco.MjData(model)
        data.ctrl[:] = u
        for _ in range(round(0.1 / step)):
            mujoco.mj_step(model, data)
        ends.append(np.concatenate([data.qpos, data.act]))
    run = sr.simulate(system, system.neutral(), duration=0.1, control=lambda q, v, t: u, rtol=1e-10)
    assert np.abs(ends[1] - run.q[-1]).max() < 5e-3
    np.testing.assert_allclose(run.q[-1], 2 * ends[1] - ends[0], rtol=0, atol=2e-5)

    mechanism.to_mjcf(tmp_path / "again.xml")
    loaded = sr.load(tmp_path / "again.xml")
    for one in (mechanism, loaded):
        np.testing.assert_array_equal(one.keyframes["turning"].q, [0.1, 0.02, 1.5, -2.0])
    again = loaded.actuators
    for name, actuator in mechanism.actuators.items():
        assert again[name].transmission == actuator.transmission
        assert again[name].limits == actuator.limits
        if isinstance(actuator.activation, Winding):
            np.testing.assert_allclose(
                again[name].force_limits or 0.0, actuator.force_limits or 0.0, rtol=1e-14
            )
            assert again[name].activation.inductance == pytest.approx(
                actuator.activation.inductance, rel=1e-14
            )


def test_mjcf_turns_negative_constants_and_refuses_limits_of_currents(tmp_path: Path) -> None:
    axle(torque_constant=-K).to_mjcf(tmp_path / "back.xml")
    motor = sr.load(tmp_path / "back.xml").actuators["motor"]
    assert (motor.gain, motor.transmission) == (K, (("axle", -GEAR),))
    with pytest.raises(UnsupportedElementError, match="actuator 'motor': MJCF limits the torque of a motor"):
        axle(current_limits=(-3.0, 3.0)).to_mjcf(tmp_path / "limits.xml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inductance": -1e-3}, "motor 'motor': inductance must not be negative"),
        ({"inductance": np.nan}, "motor 'motor': inductance must be finite"),
        ({"current_limits": (3.0, -3.0)}, "motor 'motor': current_limits has lower 3.0 above upper -3.0"),
    ],
)
def test_bad_numbers_are_errors_that_name_the_motor(given, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        axle(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"activation": Winding(0.0, 1.0)}, "inductance of its winding must be positive"),
        ({"activation": Winding(1e-3, 0.0)}, "resistance of its winding must be positive"),
        ({"activation": Winding(1e-3, 1.0), "gain": 0.0}, "must not be zero"),
        ({"activation": Winding(1e-3, 1.0), "bias": (0, 1, 0)}, "bias and gain_slopes must be zero"),
    ],
)
def test_actuators_with_windings_are_gain_and_current(given, message: str) -> None:
    mechanism = axle()
    with pytest.raises(ModelError, match=f"actuator 'other': .*{message}"):
        mechanism.add_actuator("other", "axle", **given)
