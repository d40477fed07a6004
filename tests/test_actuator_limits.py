"""Limits of controls, actuators and joints act as in MuJoCo: in forces, motion, linear models and inverse dynamics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from legged_robots import hopper
from sarrus.base.errors import ArgumentError
from sarrus.model.builders.document import from_json, to_json

STEP, DURATION = 1e-4, 0.25


def arm(
    joints: list[str], actuators: str, *, lengths: float = 0.3, mass: float = 2.0, joint: str = ""
) -> str:
    """A chain of hinges or slides along alternating axes, with actuators."""
    open_, close = "", ""
    for k, kind in enumerate(joints):
        axis = ("0 0 1", "0 1 0", "1 0 0")[k % 3]
        weight = mass / (1 + k)
        open_ += (
            f'<body name="b{k}" pos="{lengths} 0 {0.1 * (k % 2)}">'
            f'<inertial pos="{lengths / 2} 0.01 0.02" mass="{weight}" diaginertia="{0.02 * weight} '
            f'{0.03 * weight} {0.04 * weight}"/>'
            f'<joint name="j{k}" type="{kind}" axis="{axis}" armature="0.05" damping="0.1" {joint}/>'
        )
        close += "</body>"
    return (
        f'<mujoco><option timestep="{STEP}" integrator="RK4"><flag contact="disable" limit="disable"/></option>'
        f"<worldbody>{open_}{close}</worldbody>"
        '<tendon><fixed name="t"><joint joint="j0" coef="1"/><joint joint="j1" coef="-0.5"/></fixed></tendon>'
        f"<actuator>{actuators}</actuator></mujoco>"
    )


def servos(kind: str, count: int, **attributes: object) -> str:
    given = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return "".join(f'<{kind} name="a{k}" joint="j{k}" {given}/>' for k in range(count))


# patterns of robot files, each with the controls that take it to its limits
MODELS: dict[str, tuple[str, list[float]]] = {
    # six position servos, strong at the base and weak at the wrist (UR5e)
    "ur": (
        arm(
            ["hinge"] * 6,
            "".join(
                f'<general name="a{k}" joint="j{k}" biastype="affine" gainprm="{kp}" biasprm="0 -{kp} -{kd}" '
                f'forcerange="-{f} {f}" ctrlrange="-6.2831 6.2831"/>'
                for k, (kp, kd, f) in enumerate([(2000, 400, 150)] * 3 + [(500, 100, 28)] * 3)
            ),
        ),
        [1.5, -1.0, 2.0, -7.0, 0.5, 1.0],
    ),
    # seven affine actuators with limits that are not even (Panda)
    "panda": (
        arm(
            ["hinge"] * 7,
            "".join(
                f'<general name="a{k}" joint="j{k}" biastype="affine" gainprm="{kp}" biasprm="0 -{kp} -{kp / 10}" '
                f'forcerange="-{f} {f + 3}"/>'
                for k, (kp, f) in enumerate([(4500, 87)] * 2 + [(3500, 87)] * 2 + [(2000, 12)] * 3)
            ),
        ),
        [0.8, -0.5, 0.3, -2.0, 1.0, 1.8, -1.0],
    ),
    "actuatorfrcrange of servos": (
        arm(["hinge"] * 4, servos("position", 4, kp=300, kv=20), joint='actuatorfrcrange="-9 4"'),
        [1.0, -1.0, 2.0, 0.3],
    ),
    "two on one joint": (
        arm(
            ["hinge"] * 2,
            '<motor joint="j0" gear="3" forcerange="-2 2"/><position joint="j0" kp="200"/><motor joint="j1"/>',
            joint='actuatorfrcrange="-5 7"',
        ),
        [4.0, 0.7, 1.0],
    ),
    "velocity": (
        arm(["slide", "hinge", "slide"], servos("velocity", 3, kv=80, forcerange="-3 30", ctrlrange="-1 1")),
        [2.0, -0.5, 0.2],
    ),
    "ctrlrange without zero": (
        arm(["hinge"] * 3, servos("position", 3, kp=50, kv=2, ctrlrange="0.3 0.9", forcerange="-20 6")),
        [0.0, 5.0, 0.5],
    ),
    "motors": (
        arm(["hinge"] * 3, servos("motor", 3, gear=10, ctrlrange="0.2 1", forcerange="-0.5 0.7")),
        [0.0, 3.0, 0.6],
    ),
    "negative gear": (
        arm(["hinge", "slide"], servos("position", 2, kp=400, kv=9, gear=-2, forcerange="-1 9")),
        [0.6, 0.4],
    ),
    "tendon": (
        arm(
            ["hinge"] * 3,
            '<position tendon="t" kp="500" kv="10" gear="3" forcerange="-4 2"/>'
            '<general joint="j2" biastype="affine" gainprm="5" biasprm="3 0 -1" forcerange="-1 6"/>',
            joint='actuatorfrcrange="-8 3"',
        ),
        [0.8, 2.0],
    ),
    "actuatorfrcrange of a tendon": (
        arm(
            ["hinge"] * 3,
            '<position tendon="t" kp="500" kv="10" gear="3" forcerange="-4 2"/><motor tendon="t" gear="0.5"/>'
            '<motor joint="j2" gear="2" ctrlrange="0 1"/>',
        ).replace('name="t">', 'name="t" actuatorfrcrange="-3 2.5" actuatorfrclimited="true">'),
        [0.8, 2.5, 2.0],
    ),
    "constant bias": (
        arm(
            ["slide", "hinge"],
            "".join(
                f'<general joint="j{k}" biastype="affine" gainprm="-7" biasprm="12 -30 0" forcerange="2 11" '
                'ctrlrange="-1 -0.1"/>'
                for k in range(2)
            ),
        ),
        [0.0, -4.0],
    ),
}


def both(name: str, folder: Path) -> tuple[mujoco.MjModel, sr.System, np.ndarray]:
    text, u = MODELS[name]
    path = folder / "model.xml"
    path.write_text(text)
    return mujoco.MjModel.from_xml_string(text), sr.System(sr.load(path)), np.array(u)


@pytest.mark.parametrize("name", MODELS)
def test_the_motion_is_that_of_mujoco(name: str, tmp_path: Path) -> None:
    model, system, u = both(name, tmp_path)
    data = mujoco.MjData(model)
    data.ctrl[:] = u
    held = 0
    for _ in range(round(DURATION / STEP)):
        mujoco.mj_step(model, data)
        limited = np.clip(u, *model.actuator_ctrlrange.T) if model.actuator_ctrllimited.all() else u
        free = model.actuator_gainprm[:, 0] * limited + model.actuator_biasprm[:, 0]
        free += model.actuator_biasprm[:, 1] * data.actuator_length
        free += model.actuator_biasprm[:, 2] * data.actuator_velocity
        held += bool(np.abs(free - data.actuator_force).max() > 1e-6) or bool(
            np.isin(np.abs(data.qfrc_actuator), np.abs(model.jnt_actfrcrange)).any()
        )
    assert held > 100  # limits act for a good part
    run = sr.simulate(
        system, system.neutral(), duration=DURATION, control=lambda q, v, t: u, rtol=1e-10, progress=False
    )
    np.testing.assert_allclose(run.q[-1], data.qpos, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.v[-1], data.qvel, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["ur", "panda"])
def test_a_run_without_options_is_right(name: str, tmp_path: Path) -> None:
    """Fixed steps of a millisecond left such arms within a few steps: their servos are stiff."""
    _, system, u = both(name, tmp_path)
    fine, plain = (
        sr.simulate(
            system, system.neutral(), duration=2.0, control=lambda q, v, t: u, progress=False, **options
        )
        for options in ({"rtol": 1e-10}, {})
    )
    assert plain.status is sr.Status.OK
    assert np.abs(plain.q[-1] - fine.q[-1]).max() < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_forces_are_those_of_mujoco(name: str, tmp_path: Path) -> None:
    model, system, u = both(name, tmp_path)
    assert system.mechanism is not None
    assert system.mechanism.report.complete
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    for size in (0.01, 0.1, 1.0, 3.0):
        data.qpos[:], data.qvel[:] = rng.normal(0, size, model.nq), rng.normal(0, size, model.nv)
        data.ctrl[:] = u + rng.normal(0, size, model.nu)
        mujoco.mj_forward(model, data)
        passive = system.passive_force(data.qpos, data.qvel) - data.qfrc_passive
        got = passive + system.input_force(data.qpos, data.qvel, data.ctrl)
        scale = 1 + np.abs(data.qfrc_actuator).max() + np.abs(passive).max()
        np.testing.assert_allclose(got, data.qfrc_actuator, rtol=0, atol=1e-12 * scale)
        a = system.forward_dynamics(data.qpos, data.qvel, data.ctrl).a
        np.testing.assert_allclose(a, data.qacc, rtol=0, atol=1e-9 * (1 + np.abs(data.qacc).max()))


def test_every_way_to_a_motion_has_the_limits(tmp_path: Path) -> None:
    """Adaptive, fixed and implicit steps and rollouts agree while two servos are at a limit."""
    _, system, u = both("actuatorfrcrange of servos", tmp_path)
    q = system.neutral()
    fine = sr.simulate(system, q, duration=0.1, control=lambda q, v, t: u, rtol=1e-11, progress=False)
    for options, tolerance in (
        ({"dt": 1e-4}, 1e-7),
        ({"method": "rodas5p", "rtol": 1e-9}, 1e-7),
        ({"method": "dop853", "rtol": 1e-10}, 1e-8),
    ):
        run = sr.simulate(system, q, duration=0.1, control=lambda q, v, t: u, progress=False, **options)
        np.testing.assert_allclose(run.q[-1], fine.q[-1], rtol=0, atol=tolerance)
    many = sr.rollout(
        system,
        np.tile(q, (5, 1)),
        np.zeros((5, system.nv)),
        u=np.tile(u, (5, 1000, 1)),
        duration=0.1,
        dt=1e-4,
    )
    np.testing.assert_allclose(many.q[:, -1], np.tile(fine.q[-1], (5, 1)), rtol=0, atol=1e-7)


def test_a_linear_model_says_what_is_saturated(tmp_path: Path) -> None:
    _, system, u = both("panda", tmp_path)
    q, rng = system.neutral(), np.random.default_rng(5)
    v, u = rng.normal(0, 0.02, system.nv), 0.02 * u
    model = sr.linearize_at(system, q, v, u)
    step, n = 1e-5, system.nu
    columns = [
        (
            np.asarray(system.forward_dynamics(q, v, u + step * row).a)
            - np.asarray(system.forward_dynamics(q, v, u - step * row).a)
        )
        / (2 * step)
        for row in np.eye(n)
    ]
    # Forward dynamics is linear in u where nothing saturates: what is left is rounding, over the step.
    a = np.abs(system.forward_dynamics(q, v, u).a).max()
    atol = 64 * np.finfo(float).eps * a / step
    np.testing.assert_allclose(model.B[n:], np.array(columns).T, rtol=1e-6, atol=atol)
    silent = [name for name, column in zip(system.actuator_names, columns) if not np.any(column)]
    assert model.saturated == tuple(silent)
    assert 0 < len(silent) < n
    assert sr.linearize_at(system, q, np.zeros(n), np.zeros(n)).saturated == ()


def test_inverse_dynamics_names_what_would_be_saturated(tmp_path: Path) -> None:
    _, system, _ = both("ur", tmp_path)
    q, still = system.neutral(), np.zeros(6)
    calm, hard = (system.inverse_dynamics(q, still, a * np.eye(6)[5]) for a in (0.1, 1e4))
    assert calm.saturated == ()
    assert "a5" in hard.saturated
    np.testing.assert_allclose(system.forward_dynamics(q, still, calm.u).a, 0.1 * np.eye(6)[5], atol=1e-9)


def test_controls_out_of_their_range_are_recorded_as_they_act(tmp_path: Path) -> None:
    _, system, _ = both("ctrlrange without zero", tmp_path)
    run = sr.simulate(system, system.neutral(), duration=0.01, progress=False)
    assert (run.u == 0.3).all()
    alike = sr.simulate(
        system, system.neutral(), duration=0.01, control=lambda q, v, t: np.full(3, 0.3), progress=False
    )
    np.testing.assert_array_equal(run.q[-1], alike.q[-1])


def test_limits_come_back_from_mjcf_and_from_a_document(tmp_path: Path) -> None:
    _, system, u = both("actuatorfrcrange of servos", tmp_path)
    mechanism, q = system.mechanism, system.neutral() + 0.1
    assert mechanism is not None
    mechanism.to_mjcf(tmp_path / "again.xml")
    for again in (sr.load(tmp_path / "again.xml"), from_json(to_json(mechanism))):
        other = sr.System(again)
        force = other.passive_force(q, q) + other.input_force(q, q, u)
        np.testing.assert_allclose(
            force, system.passive_force(q, q) + system.input_force(q, q, u), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("name", MODELS)
def test_controls_that_are_no_numbers_stay_none(name: str, tmp_path: Path) -> None:
    _, system, u = both(name, tmp_path)
    for k in range(system.nu):
        x = system.pack(system.neutral(), None, u)
        x[system.parts.u.start + k] = np.nan
        force = system.compiled.function("input_force")(x)
        assert np.isnan(force).any()


def test_a_limit_of_force_needs_one_degree_of_freedom() -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("b", 1.0, [0, 0, 0], np.eye(3))
    with pytest.raises(sr.ModelError, match="one degree of freedom, this one has 3"):
        mechanism.add_joint("j", "spherical", "world", "b", actuator_force_limits=(-1, 1))


def test_a_law_with_constant_limits_refuses_those_that_depend_on_the_state() -> None:
    """Its program knows limits of u; a servo's limits of force are others in every state."""
    system, _ = hopper()
    assert system.mechanism is not None
    mechanism = system.mechanism.snapshot()
    name, actuator = next(iter(mechanism.actuators.items()))
    mechanism.actuators[name] = replace(actuator, bias=(0.0, -50.0, -1.0), force_limits=(-30.0, 30.0))
    servo = sr.System(mechanism)
    with pytest.raises(
        ArgumentError, match=rf"limits of the force of {name} depend on the state.*Give limits="
    ):
        sr.control.LeggedController(servo, [])
    sr.control.LeggedController(servo, [], limits=(-100.0, 100.0))
