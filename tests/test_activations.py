"""Activations of actuators, filters and integrators, are states: forces, motion, rest and linear models with them."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled, assert_same_motion
from sarrus.base.errors import ArgumentError, ModelError, SolveError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.elements import Activation

STEP, DURATION = 1e-4, 0.3
MODEL = f"""
<mujoco><option timestep="{STEP}" integrator="RK4"><flag contact="disable" limit="disable"/></option>
<worldbody>
  <body name="a"><inertial pos="0.2 0 0" mass="1.5" diaginertia="0.02 0.03 0.04"/>
    <joint name="j" axis="0 1 0" damping="0.2"/>
    <body name="b" pos="0.4 0 0"><inertial pos="0.1 0.02 0" mass="0.7" diaginertia="0.01 0.02 0.02"/>
      <joint name="k" type="slide" axis="1 0 0" damping="0.3" stiffness="4"/>
      <body name="c" pos="0.1 0 0.1"><inertial pos="0 0 0.1" mass="0.4" diaginertia="0.01 0.01 0.01"/>
        <joint name="l" type="ball" damping="0.05"/></body></body></body>
</worldbody>
<actuator>
  <general name="lag" joint="j" dyntype="filter" dynprm="0.05" gainprm="6" gear="2" ctrlrange="-1 2"/>
  <motor name="plain" joint="j"/>
  <intvelocity name="servo" joint="k" kp="90" kv="3" actrange="-0.2 0.15"/>
  <general name="exact" joint="k" dyntype="filterexact" dynprm="0.2" biastype="affine" gainprm="30"
    biasprm="0 -30 -1" forcerange="-2 1.5"/>
</actuator>
<keyframe><key name="home" qpos="0.1 0.2 1 0 0 0" act="0.3 -0.1 0.4"/></keyframe>
</mujoco>"""
U = np.array([3.0, 0.4, 1.3, 0.6])


@pytest.fixture
def loaded(tmp_path: Path) -> tuple[mujoco.MjModel, sr.System]:
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    return mujoco.MjModel.from_xml_string(MODEL), sr.System(sr.load(path))


def test_activations_are_the_last_coordinates(loaded: tuple[mujoco.MjModel, sr.System]) -> None:
    model, system = loaded
    assert system.mechanism is not None
    assert system.mechanism.report.complete
    assert system.nq == model.nq + model.na
    assert system.coordinate_names[-3:] == ("lag.activation", "servo.activation", "exact.activation")
    np.testing.assert_array_equal(
        system.mechanism.keyframes["home"], np.concatenate([model.key_qpos[0], model.key_act[0]])
    )
    np.testing.assert_array_equal(system.neutral()[-3:], 0.0)


def test_rates_and_forces_are_those_of_mujoco(loaded: tuple[mujoco.MjModel, sr.System]) -> None:
    model, system = loaded
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    for _ in range(20):
        q = system.normalized(system.neutral() + rng.normal(0, 0.3, system.nq))
        data.qpos[:], data.qvel[:], data.ctrl[:] = (
            q[: model.nq],
            rng.normal(size=model.nv),
            2 * rng.normal(size=4),
        )
        data.act[:] = q[model.nq :] = np.clip(q[model.nq :], -0.15, 0.12)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(system.activation_rate(q, data.ctrl), data.act_dot, rtol=0, atol=1e-13)
        a = system.forward_dynamics(q, data.qvel, data.ctrl).a
        np.testing.assert_allclose(a, data.qacc, rtol=0, atol=1e-10 * (1 + np.abs(data.qacc).max()))


@pytest.mark.parametrize(
    "options", [{"rtol": 1e-10}, {"dt": STEP}, {"rtol": 1e-9, "formulation": "null-space"}]
)
def test_the_motion_is_that_of_mujoco(
    loaded: tuple[mujoco.MjModel, sr.System], options: dict[str, object]
) -> None:
    """MuJoCo is of first order at limits of activations and with exact filters: its limit for h → 0 counts."""
    model, system = loaded
    ends = []
    for step in (2 * STEP, STEP):
        data, model.opt.timestep = mujoco.MjData(model), step
        mujoco.mj_resetDataKeyframe(model, data, 0)
        data.ctrl[:] = U
        for _ in range(round(DURATION / step)):
            mujoco.mj_step(model, data)
        ends.append(np.concatenate([data.qpos, data.act]))
    expected = 2.0 * ends[1] - ends[0]
    assert np.abs(ends[1] - expected).max() < 1e-4
    assert system.mechanism is not None
    start = system.mechanism.keyframes["home"]
    run = sr.simulate(
        system,
        start,
        duration=DURATION,
        control=lambda q, v, t: U,
        progress=False,
        **options,  # type: ignore[arg-type]
    )
    end = run.q[-1].copy()
    assert (
        end[model.nq + 1] <= 0.15 + STEP * 1.3
    )  # a fixed step may pass a limit by its own advance; the force does not
    end[model.nq + 1] = min(end[model.nq + 1], 0.15)
    np.testing.assert_allclose(end, expected, rtol=0, atol=1e-6)
    many = sr.rollout(system, np.tile(start, (3, 1)), u=np.tile(U, (3, 300, 1)), duration=DURATION, dt=1e-3)
    np.testing.assert_allclose(many.q[:, -1], np.tile(expected, (3, 1)), rtol=0, atol=1e-3)


def test_a_filter_follows_its_exact_solution() -> None:
    mechanism = sr.Mechanism("cart", gravity=(0, 0, 0))
    mechanism.add_body("b", 2.0, [0, 0, 0], np.eye(3))
    mechanism.add_joint("x", "prismatic", "world", "b", axis=(1, 0, 0))
    mechanism.add_actuator("m", "x", gain=4.0, activation=Activation("filter", 0.1))
    mechanism.add_actuator("n", "x", gain=1.0, activation=Activation("integrator"))
    system = sr.System(mechanism)
    t, tau = 0.7, 0.1
    run = sr.simulate(
        system, [0, 0, 0], duration=t, control=lambda q, v, t: [1.5, 0.2], rtol=1e-11, progress=False
    )
    w = 1.5 * (1 - np.exp(-t / tau))
    v = (4.0 * 1.5 * (t - tau * (1 - np.exp(-t / tau))) + 0.2 * t**2 / 2) / 2.0
    np.testing.assert_allclose(run.q[-1, 1:], [w, 0.2 * t], rtol=0, atol=1e-9)
    assert run.v[-1, 0] == pytest.approx(v, abs=1e-9)


def test_limits_of_the_force_do_not_clip_what_a_filter_follows() -> None:
    """The force is held at 2 N, the filter goes on to its control of 5."""
    mechanism = sr.Mechanism("cart", gravity=(0, 0, 0))
    mechanism.add_body("b", 2.0, [0, 0, 0], np.eye(3))
    mechanism.add_joint("x", "prismatic", "world", "b", axis=(1, 0, 0))
    mechanism.add_actuator("m", "x", force_limits=(-2.0, 2.0), activation=Activation("filter", 0.1))
    mechanism.add_actuator("n", "x", force_limits=(-1.0, 3.0))
    system = sr.System(mechanism)
    run = sr.simulate(system, [0, 0], duration=0.5, control=lambda q, v, t: [5.0, 9.0], rtol=1e-10)
    assert run.q[-1, 1] == pytest.approx(5.0 * (1 - np.exp(-5.0)), abs=1e-8)
    np.testing.assert_allclose(run.u, [[5.0, 3.0]] * len(run.t), rtol=0)
    np.testing.assert_allclose(run.a[-1], (2.0 + 3.0) / 2.0, rtol=1e-12)


def test_the_linear_model_has_activations_as_states(loaded: tuple[mujoco.MjModel, sr.System]) -> None:
    """Its columns are central differences of the rates of the whole state."""
    _, system = loaded
    rng = np.random.default_rng(4)
    q = system.normalized(system.neutral() + 0.1 * rng.normal(size=system.nq))
    v, u = 0.3 * rng.normal(size=system.nv), np.array([0.5, 0.1, 0.2, 0.03])
    model = sr.linearize_at(system, q, v, u, outputs=["j", "lag.activation"])
    nv, na = system.nv, 3
    assert model.names[-na:] == system.coordinate_names[-na:]
    assert model.A.shape == (2 * nv + na,) * 2

    def rates(dw: np.ndarray, du: np.ndarray) -> np.ndarray:
        moved = q + np.concatenate([np.zeros(system.nq - na), dw])
        return np.concatenate(
            [system.forward_dynamics(moved, v, u + du).a, system.activation_rate(moved, u + du)]
        )

    h = 1e-5
    by_w = [(rates(h * e, np.zeros(4)) - rates(-h * e, np.zeros(4))) / (2 * h) for e in np.eye(na)]
    by_u = [(rates(np.zeros(na), h * e) - rates(np.zeros(na), -h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(model.A[nv:, 2 * nv :], np.array(by_w).T, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.B[nv:], np.array(by_u).T, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.A[:nv, 2 * nv :], 0.0)
    np.testing.assert_allclose(model.affine[-na:], system.activation_rate(q, u), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.C[1], np.eye(2 * nv + na)[2 * nv])
    x = model.deviation(q + 1e-3 * np.eye(system.nq)[-1], v)
    np.testing.assert_allclose(x, 1e-3 * np.eye(2 * nv + na)[-1], rtol=0, atol=1e-12)
    assert len(model.units) == len(model.names)


def test_rest_with_activations(loaded: tuple[mujoco.MjModel, sr.System]) -> None:
    _, system = loaded
    u = np.array([0.5, 0.1, 0.0, 0.03])
    found = sr.equilibrium(system, system.neutral(), u)
    np.testing.assert_allclose(system.activation_rate(found.q, u), 0.0, atol=1e-12)
    assert found.q[-3:] == pytest.approx([0.5, 0.0, 0.03])
    model = sr.linearize(system, found.q, u)
    slow = [s for s in model.eigenvalues if abs(s + 20.0) < 1e-6]
    assert len(slow) == 1  # the filter's own rate, 1/0.05 s
    with pytest.raises(SolveError, match=r"'servo\.activation' changes under these inputs"):
        sr.equilibrium(system, system.neutral(), U)
    with pytest.raises(ArgumentError, match=r"'servo\.activation' moves under these inputs"):
        sr.linearize(system, found.q, u + np.array([0, 0, 0.1, 0]))


def test_what_knows_no_activations_says_so(loaded: tuple[mujoco.MjModel, sr.System]) -> None:
    _, system = loaded
    q, v = system.neutral(), np.zeros(system.nv)
    calls = [
        lambda: sr.simulate(system, q, duration=0.1, method="rodas5p", progress=False),
        lambda: sr.simulate(system, q, duration=0.1, coordinates="partition", progress=False),
        lambda: system.inverse_dynamics(q, v, v),
        lambda: sr.parametrize(system, q),
        lambda: sr.equilibrium(system, q, hold=True),
        lambda: sr.control.ProjectedInverseDynamics(system, ["j", "k"], [0.0, 0.0]),
        lambda: sr.sensitivity.eigenvalue_derivatives(system, q),
    ]
    for call in calls:
        with pytest.raises(
            ArgumentError, match=r"do not support activations \(lag\.activation, .*without_activation\(\)"
        ):
            call()
    assert system.mechanism is not None
    instant = sr.System(system.mechanism.without_activation())
    assert instant.nq == system.nq - 3
    assert instant.mechanism is not None
    assert instant.mechanism.actuators["servo"].limits == (-0.2, 0.15)
    sr.control.ProjectedInverseDynamics(instant, ["j", "k"], [0.0, 0.0])
    a = instant.forward_dynamics(q[:-3], v, [0.4, 0.1, 0.1, 0.02]).a
    b = system.forward_dynamics(np.concatenate([q[:-3], [0.4, 0.1, 0.02]]), v, [0, 0.1, 0, 0]).a
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_activations_come_back_from_mjcf_and_from_a_document(
    loaded: tuple[mujoco.MjModel, sr.System], tmp_path: Path
) -> None:
    _, system = loaded
    mechanism = system.mechanism
    assert mechanism is not None
    mechanism.to_mjcf(tmp_path / "again.xml")
    for again in (sr.load(tmp_path / "again.xml"), from_json(to_json(mechanism))):
        assert {n: a.activation for n, a in again.actuators.items()} == {
            "lag": Activation("filter", 0.05),
            "plain": None,
            "servo": Activation("integrator", 0.0, (-0.2, 0.15)),
            "exact": Activation("filter", 0.2),
        }
        np.testing.assert_array_equal(again.keyframes["home"], mechanism.keyframes["home"])


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        (Activation("filter"), "time constant of its activation must be positive, got 0"),
        (Activation("lag", 1.0), r'activation must be Activation\("filter", time_constant\)'),
        ("filter", "got 'filter'"),
        (
            Activation("integrator", limits=(1.0, -1.0)),
            "limits of its activation has lower 1.0 above upper -1.0",
        ),
    ],
)
def test_bad_activations_are_refused(activation: object, message: str) -> None:
    mechanism = sr.Mechanism("cart")
    mechanism.add_body("b", 2.0, [0, 0, 0], np.eye(3))
    mechanism.add_joint("x", "prismatic", "world", "b")
    with pytest.raises(ModelError, match=message):
        mechanism.add_actuator("m", "x", activation=activation)  # type: ignore[arg-type]


def test_exported_c_has_limits_and_activations(
    loaded: tuple[mujoco.MjModel, sr.System], tmp_path: Path
) -> None:
    """Forward dynamics and steps of the C code are those of Python, with servos at their limits."""
    _, system = loaded
    compiled = Compiled(
        sr.export.c_code(system, tmp_path, functions=["forward_dynamics", "step"], q=system.neutral()), system
    )
    rng = np.random.default_rng(6)
    for _ in range(10):
        q = system.normalized(system.neutral() + 0.5 * rng.normal(size=system.nq))
        v, u = rng.normal(size=system.nv), 3 * rng.normal(size=system.nu)
        assert_same_motion(compiled.forward_dynamics(q, v, u, 0.0, None), system, (q, v, u, 0.0, None))
    assert system.mechanism is not None
    q = system.mechanism.keyframes["home"].q
    run = sr.simulate(system, q, duration=0.05, dt=1e-3, control=lambda q, v, t: U, progress=False)
    q, v, t = np.array(q), np.zeros(system.nv), np.zeros(1)
    for _ in range(50):
        assert compiled.call("step", q, v, U, t, None, 1e-3) == sr.Status.OK
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, run.v[-1], rtol=0, atol=1e-11)


def test_activations_go_on_where_the_mass_matrix_is_singular() -> None:
    """Three hinges at gimbal lock, geared so that the motion is determined: the filter follows its solution there."""
    mechanism = sr.Mechanism("gimbal", gravity=(0, 0, 0))
    inertias = {"yaw": (0.0, (0, 0, 0)), "pitch": (0.0, (0, 0, 0)), "bob": (1.5, (0.02, 0.02, 0.01))}
    for parent, (name, (mass, inertia)), axis in zip(
        ("world", "yaw", "pitch"), inertias.items(), ((0, 0, 1), (0, 1, 0), (0, 0, 1))
    ):
        mechanism.add_body(name, mass, (0, 0, -0.4) if mass else (0, 0, 0), inertia)
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, axis=axis)
    mechanism.add_coupling("gear", {"yaw_joint": 1.0, "bob_joint": -1.0})
    mechanism.add_actuator("m", "yaw_joint", gain=0.01, activation=Activation("filter", 0.1))
    run = sr.simulate(
        sr.System(mechanism),
        np.zeros(4),
        duration=0.2,
        control=lambda q, v, t: [1.0],
        rtol=1e-10,
        progress=False,
    )
    assert run.q[-1, 3] == pytest.approx(1.0 - np.exp(-2.0), abs=1e-8)


@pytest.mark.parametrize("name", ["forward_dynamics", "reduced_dynamics"])
def test_casadi_functions_have_the_rates_of_activations(
    loaded: tuple[mujoco.MjModel, sr.System], name: str
) -> None:
    _, system = loaded
    q = system.neutral() + np.array([0.1, 0.2, 0, 0, 0, 0, 0.3, -0.1, 0.2])
    given = {"q": q, "u": U, ("v" if name == "forward_dynamics" else "ydot"): np.zeros(system.nv)}
    rate = np.array(system.to_casadi(name)(**given)["rate"])[:, 0]
    np.testing.assert_allclose(rate[-3:], system.activation_rate(q, U), rtol=0, atol=1e-14)
