"""Actuators on tendons, sites, slider-cranks and turning joints, where S depends on q and v."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled, assert_same_motion, build
from sarrus.base.errors import ModelError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.tendons import Wrap
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
)
from sarrus.symbolic.forces.lengths import Lengths
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.closures import coordinate_jets
from test_driven_bodies import carousel, driven
from test_linearization import State, assert_exact, moving

INERTIA = '<inertial pos=".02 .01 -.03" mass="1" diaginertia=".01 .012 .014"/>'
BODIES = f"""<site name="w" pos=".5 .1 .2" euler="20 30 40"/>
<body name="a" pos=".1 .2 .3"><joint name="ball" type="ball"/>{INERTIA}
  <site name="a1" pos=".1 .2 -.1" euler="40 -50 60"/><site name="a2" pos="-.3 .1 .2"/>
  <body name="b" pos=".3 0 .1">{INERTIA}<joint name="h" axis="1 2 3"/><joint name="s" type="slide" axis="0 1 1"/>
    <site name="b1" pos=".2 .1 .1" euler="-30 20 70"/></body></body>
<body name="f" pos="1 0 0">{INERTIA}<freejoint name="free"/><site name="f1" pos=".1 .1 .1" euler="1 2 3"/>
  <body name="g" pos=".2 0 0">{INERTIA}<joint axis="0 1 0"/><site name="g1" pos=".2 0 .1" euler="9 80 7"/>
    <body name="fixed" pos=".1 0 0">{INERTIA}<site name="x1" euler="5 6 7" pos=".1 .2 .3"/></body></body></body>"""
TENDONS = """<tendon><spatial name="t"><site site="w"/><site site="b1"/><pulley divisor="2"/><site site="f1"/>
<site site="a1"/></spatial><fixed name="sum"><joint joint="h" coef="2"/><joint joint="s" coef="-3"/></fixed></tendon>"""
SERVO = 'gainprm="2" biastype="affine" biasprm="1 -5 -3"'
SIX = 'gear="1 2 3 4 5 6"'
ACTUATORS = {
    "spatial tendon": f'<general tendon="t" gear="3" {SERVO}/>',
    "fixed tendon": f'<general tendon="sum" gear="-2" {SERVO}/>',
    "damper": '<damper tendon="t" kv="3" ctrlrange="0 9" gear="-2"/>',
    "gain by length and rate": f'<general joint="h" gaintype="affine" gear="2" {SERVO.replace("2", "2 .4 .7", 1)}/>',
    "reflected": '<motor tendon="t" damping="3 1 2" gear="-2"/>',
    "ball": f'<general joint="ball" gear="1 2 3" {SERVO}/>',
    "ball in parent": f'<general jointinparent="ball" gear="1 2 3" {SERVO}/>',
    "free": f'<general joint="free" {SIX} {SERVO}/>',
    "free in parent": f'<general jointinparent="free" {SIX} {SERVO}/>',
    "site": f'<general site="b1" {SIX} {SERVO}/>',
    "site and parent": f'<general site="b1" refsite="a1" {SIX} {SERVO}/>',
    "site and world": f'<general site="b1" refsite="w" {SIX} {SERVO}/>',
    "site and other branch": f'<general site="b1" refsite="g1" {SIX} {SERVO}/>',
    "sites of welded bodies": f'<general site="g1" refsite="x1" {SIX} {SERVO}/>',
    "sites of one body": f'<general site="a2" refsite="a1" {SIX} {SERVO}/>',
    "site, parent on a free joint": f'<general site="x1" refsite="f1" {SIX} {SERVO}/>',
    "long rod": f'<general cranksite="b1" slidersite="w" cranklength="1.5" gear="2" {SERVO}/>',
    "short rod": f'<general cranksite="f1" slidersite="a1" cranklength=".7" gear="2" {SERVO}/>',
}


if int(mujoco.__version__.split(".")[0]) < 4:  # its length and moment at two sites were others before
    ACTUATORS = {name: text for name, text in ACTUATORS.items() if "refsite" not in text}


def transmissions(system: sr.System) -> ca.Function:
    """Return (q, v) → lengths, rates and moments (nu × nv)."""
    mechanism, tree, q, v = system.mechanism, system.equations.tree, system.equations.q, system.equations.v
    assert mechanism is not None
    assert tree is not None
    jets = coordinate_jets(system.coordinate_names, system.velocity_names, q, v)
    found = Lengths(mechanism, tree, Frames(tree, links(tree, q, v)), jets, q, v)
    along = [found.of(actuator) for actuator in mechanism.actuators.values()]
    parts = [ca.vertcat(*(a.value for a in along)), ca.vertcat(*(a.rate for a in along))]
    return ca.Function("transmissions", [q, v], [*parts, ca.horzcat(*(a.moment for a in along)).T])


def dense_moment(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    out = np.zeros((model.nu, model.nv))
    mujoco.mju_sparse2dense(
        out, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    return out


def compare(file: Path, system: sr.System, count: int) -> None:
    """Check lengths, rates, moments and forces against MuJoCo in random states."""
    model = mujoco.MjModel.from_xml_path(str(file))
    data, rng, found = mujoco.MjData(model), np.random.default_rng(7), transmissions(system)
    for _ in range(count):
        data.qpos[:], data.qvel[:] = rng.normal(0, 0.8, model.nq), rng.normal(0, 1, model.nv)
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.ctrl[:] = rng.normal(0, 1, model.nu)
        mujoco.mj_forward(model, data)
        q, v, u = data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()
        length, rate, moment = (np.array(part) for part in found(q, v))
        np.testing.assert_allclose(length[:, 0], data.actuator_length, rtol=0, atol=1e-12)
        np.testing.assert_allclose(rate[:, 0], data.actuator_velocity, rtol=0, atol=1e-11)
        np.testing.assert_allclose(moment, dense_moment(model, data), rtol=0, atol=1e-12)
        force = system.passive_force(q, v) + system.input_force(q, v, u) - data.qfrc_passive
        scale = 1 + np.abs(data.qfrc_actuator).max()
        np.testing.assert_allclose(force, data.qfrc_actuator, rtol=0, atol=1e-12 * scale)


def test_every_transmission_is_that_of_mujoco_and_comes_back(tmp_path: Path) -> None:
    file, again = tmp_path / "model.xml", tmp_path / "again.xml"
    file.write_text(
        f"<mujoco><worldbody>{BODIES}</worldbody>{TENDONS}"
        f"<actuator>{''.join(ACTUATORS.values())}</actuator></mujoco>"
    )
    mechanism = sr.load(file)
    assert len(mechanism.actuators) == len(ACTUATORS)
    assert mechanism.report.complete
    system = sr.System(mechanism)
    compare(file, system, 8)
    mechanism.to_mjcf(again)
    compare(again, system, 2)
    compare(file, sr.System(sr.load(again)), 2)
    compare(file, sr.System(from_json(to_json(mechanism))), 2)


def test_a_rod_that_is_too_short_leaves_the_slider_under_the_pin(tmp_path: Path) -> None:
    """On both sides of the edge, where MuJoCo's length is continuous and its moment jumps."""
    file = tmp_path / "model.xml"
    file.write_text(
        f'<mujoco><worldbody><site name="w"/><body>{INERTIA}<joint type="slide"/>'
        '<joint type="slide" axis="1 0 0"/><site name="p"/></body></worldbody><actuator>'
        '<motor cranksite="p" slidersite="w" cranklength="1"/></actuator></mujoco>'
    )
    system = sr.System(sr.load(file))
    for x, length in ((0.6, 0.3 - 0.8), (1.5, 0.3)):
        found = transmissions(system)([0.3, x], [0, 0])
        assert float(found[0]) == pytest.approx(length, abs=1e-15)
        slope = 1.0 if x > 1 else 0.6 / 0.8
        expected = [1.0, 0.0] if x > 1 else [1.0, slope]
        np.testing.assert_allclose(np.array(found[2])[0], expected, atol=1e-15)


# --- what depends on S(q, v) -----------------------------------------------------------------------------


@lru_cache
def four_bar() -> State:
    """A four-bar linkage that a string, a spring leg, a rod and a damper drive, closed and moving."""
    m = sr.Mechanism("four_bar")
    lengths = {"crank": 0.3, "coupler": 0.6, "rocker": 0.5}
    parents = {"crank": ("world", 0.0), "coupler": ("crank", 0.3), "rocker": ("world", 0.7)}
    for name, size in lengths.items():
        parent, x = parents[name]
        m.add_body(name, 1.0, (size / 2, 0, 0), (1e-3, 0.01, 0.01))
        m.add_joint(f"{name}_joint", "revolute", parent, name, axis=(0, 1, 0), parent_pose=(x, 0, 0))
    m.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(0.6, 0, 0), pose2=(0.5, 0, 0), axis=(0, 1, 0)
    )
    drum = Wrap("crank", "cylinder", 0.05, sr.Pose.of((0.15, 0, 0), rpy=(np.pi / 2, 0, 0)))
    path = [("world", (0.1, 0, -0.5)), drum, ("coupler", (0.3, 0, 0.02))]
    m.add_tendon("string", path, stiffness=5.0, damping=0.3, rest_length=(0.0, 0.4))
    m.add_actuator("winch", TendonTransmission("string", -2.0), gain=3.0, bias=(0.0, -1.0, -0.4))
    tip, base = sr.Pose((0.3, 0, 0.1)), sr.Pose((0.2, 0, 0))
    m.add_actuator(
        "leg", SiteTransmission("coupler", tip, (1, 0, 2, 0, 0.5, 0), ("rocker", base)), bias=(0, -2.0, -0.1)
    )
    m.add_actuator("jet", SiteTransmission("coupler", tip, (1, 0, 0, 0, 0, 0)))
    m.add_actuator(
        "rod", SliderCrank("rocker", np.array([0.4, 0, 0]), "world", sr.Pose((0, 0, -1)), 1.3, 2.0)
    )
    m.add_actuator("brake", "crank_joint", gain=0.3, gain_slopes=(0.2, -0.7))
    system = sr.System(m)
    return moving(system, system.assemble([-0.8, 1.2, -1.4], locked=["crank_joint"]).q)


def test_forward_dynamics_after_inverse_is_identity() -> None:
    system, q, v, u, t = four_bar()
    a = system.forward_dynamics(q, v, u, t).a
    again = system.inverse_dynamics(q, v, a, t)
    np.testing.assert_allclose(system.forward_dynamics(q, v, again.u, t).a, a, rtol=0, atol=1e-9)
    assert np.abs(system.actuation_matrix(q, v)[:, 4] - system.actuation_matrix(q)[:, 4]).max() > 1e-2


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
def test_linear_models_are_those_of_differences(coordinates: str) -> None:
    assert_exact(four_bar(), coordinates)


def test_a_motion_is_the_same_in_python_in_c_and_in_casadi(tmp_path: Path) -> None:
    system, q, v, u, t = four_bar()
    export = sr.export.c_code(system, tmp_path, name="four_bar", q=q)
    compiled = Compiled(export, system, build(export))
    assert_same_motion(compiled.forward_dynamics(q, v, u, t, None), system, (q, v, u, t, None))
    function = system.to_casadi("forward_dynamics", rows="independent", q=q)
    expected = system.forward_dynamics(q, v, u, t).a
    np.testing.assert_allclose(np.array(function(q=q, v=v, u=u)["a"])[:, 0], expected, rtol=0, atol=1e-9)


def test_runs_by_all_methods_agree() -> None:
    system, q, v, u, _ = four_bar()
    fine = sr.simulate(system, q, v, duration=0.2, control=lambda q, v, t: u, rtol=1e-11, progress=False)
    for options in ({"dt": 1e-4}, {"method": "rodas5p", "rtol": 1e-9}):
        run = sr.simulate(system, q, v, duration=0.2, control=lambda q, v, t: u, progress=False, **options)
        np.testing.assert_allclose(run.q[-1], fine.q[-1], rtol=0, atol=1e-7)
    many = sr.rollout(
        system, np.tile(q, (4, 1)), np.tile(v, (4, 1)), u=np.tile(u, (4, 2000, 1)), duration=0.2, dt=1e-4
    )
    np.testing.assert_allclose(many.q[:, -1], np.tile(fine.q[-1], (4, 1)), rtol=0, atol=1e-7)
    result = sr.parametrize(system, coordinates=["crank_joint"], q=q)
    place = system.coordinate_names.index("crank_joint")
    ydd = result.reduced_dynamics(q[[place]], v[[place]], u, guess=q)
    np.testing.assert_allclose(ydd, system.forward_dynamics(q, v, u).a[[place]], rtol=1e-9)


def test_a_step_is_differentiated_by_states_and_controls() -> None:
    system, q, v, u, _ = four_bar()
    exact = sr.sensitivity.step_derivatives(system, q, v, u, dt=1e-2)
    step, columns = 1e-6, []
    for e in np.eye(system.nu):
        ends = [
            sr.simulate(
                system, q, v, duration=1e-2, dt=1e-2, progress=False,
                control=lambda q, v, t, w=u + sign * step * e: w,
            )
            for sign in (1, -1)
        ]  # fmt: skip
        columns.append(
            np.concatenate([(ends[0].q[-1] - ends[1].q[-1]), ends[0].v[-1] - ends[1].v[-1]]) / (2 * step)
        )
    np.testing.assert_allclose(exact.G, np.array(columns).T, rtol=0, atol=1e-6)


def test_rest_holds_with_the_forces_of_strings_and_sites() -> None:
    system, q, _, _, _ = four_bar()
    rest = sr.equilibrium(system, q, u=[0.4, 1.0, -2.0, 0.5, 0.3])
    still = np.zeros(system.nv)
    a = system.forward_dynamics(rest.q, still, [0.4, 1.0, -2.0, 0.5, 0.3]).a
    np.testing.assert_allclose(a, 0.0, atol=1e-7)


def test_laws_drive_through_a_string() -> None:
    system, q, _, _, _ = four_bar()
    law = sr.control.ProjectedInverseDynamics(
        system, ["crank_joint"], q[[0]] + 0.1, stiffness=100.0, damping=20.0
    )
    run = sr.simulate(system, q, np.zeros(3), duration=1.5, control=law, progress=False)
    assert abs(run.q[-1][0] - q[0] - 0.1) < 1e-3


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        (TendonTransmission("rope"), {}, "actuator 'x': unknown tendon 'rope'"),
        (ParentTransmission("crank_joint", (1, 2, 3)), {}, "unknown spherical or free joint 'crank_joint'"),
        (SiteTransmission("wheel", sr.Pose(), (1,) * 6), {}, "actuator 'x': unknown body 'wheel'"),
        (SiteTransmission("crank", sr.Pose(), (1, 2)), {}, "actuator 'x': gear must be 6 numbers"),
        (
            SliderCrank("crank", np.zeros(3), "world", sr.Pose(), 0.0),
            {},
            "rod of a slider-crank must be positive",
        ),
        ("crank_joint", {"gain_slopes": (1, 2, 3)}, "actuator 'x': gain_slopes must be 2 numbers"),
    ],
)
def test_errors_name_the_actuator(target: object, options: dict[str, object], text: str) -> None:
    mechanism = four_bar()[0].mechanism
    assert mechanism is not None
    with pytest.raises(ModelError) as caught:
        mechanism.snapshot().add_actuator("x", target, **options)  # type: ignore[arg-type]
    assert text in str(caught.value)


# --- sensors -----------------------------------------------------------------------------------------------


def test_sensors_of_lengths_and_actuators_are_those_of_mujoco(tmp_path: Path) -> None:
    kinds = ("actuatorpos", "actuatorvel", "actuatorfrc")
    sensors = "".join(f'<{kind} actuator="a{k}"/>' for k in range(len(ACTUATORS)) for kind in kinds)
    named = "".join(text.replace(" ", f' name="a{k}" ', 1) for k, text in enumerate(ACTUATORS.values()))
    file = tmp_path / "model.xml"
    file.write_text(
        f"<mujoco><worldbody>{BODIES}</worldbody>{TENDONS}<actuator>{named}</actuator>"
        f'<sensor>{sensors}<tendonpos tendon="t"/><tendonvel tendon="t"/></sensor></mujoco>'
    )
    model, system = mujoco.MjModel.from_xml_path(str(file)), sr.System(sr.load(file))
    data, rng = mujoco.MjData(model), np.random.default_rng(9)
    data.qpos[:], data.qvel[:] = rng.normal(0, 0.8, model.nq), rng.normal(0, 1, model.nv)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.ctrl[:] = rng.normal(0, 1, model.nu)
    mujoco.mj_forward(model, data)
    found = system.sensors(data.qpos, data.qvel, data.ctrl)
    values = np.concatenate([np.atleast_1d(value) for value in found.values()])
    np.testing.assert_allclose(values, data.sensordata, rtol=0, atol=1e-10)


def test_a_joint_feels_the_pull_of_strings_and_sites() -> None:
    """Against forces of a user at the same points: what acts past the joint is no part of its reaction."""

    def pendulum() -> sr.Mechanism:
        m = sr.Mechanism("pendulum")
        m.add_body("link", 2.0, (0.3, 0, 0), (0.01, 0.05, 0.05))
        m.add_joint("hinge", "revolute", "world", "link", axis=(0, 1, 0))
        m.add_sensor("force", "force", "link")
        m.add_sensor("torque", "torque", "link")
        return m

    def pulled(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        tip = ca.vertcat(0.5 * ca.cos(q[0]), 0.1, -0.5 * ca.sin(q[0]))
        line = ca.DM([0.2, 0.3, 1.0]) - tip
        return (3.0 + 7.0 * (ca.norm_2(line) - 0.4)) * line / ca.norm_2(line)

    def pushed(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        return 1.5 * ca.vertcat(ca.cos(q[0]), 2, -ca.sin(q[0]))

    strings, forces = pendulum(), pendulum()
    strings.add_tendon(
        "s", [("world", (0.2, 0.3, 1.0)), ("link", (0.5, 0.1, 0))], stiffness=7.0, rest_length=0.4
    )
    strings.add_actuator("winch", TendonTransmission("s", -1.0))
    strings.add_actuator("jet", SiteTransmission("link", sr.Pose((0.4, 0, 0.1)), (1, 2, 0, 0, 0, 0)))
    forces.add_force("pull", pulled, body="link", point=(0.5, 0.1, 0))
    forces.add_force("push", pushed, body="link", point=(0.4, 0, 0.1))
    one, two = sr.System(strings), sr.System(forces)
    here, there = one.sensors([0.7], [1.1], [3.0, 1.5]), two.sensors([0.7], [1.1])
    np.testing.assert_allclose(
        one.forward_dynamics([0.7], [1.1], [3.0, 1.5]).a, two.forward_dynamics([0.7], [1.1]).a
    )
    for name in ("force", "torque"):
        np.testing.assert_allclose(here[name], there[name], rtol=0, atol=1e-12)


def test_driven_bodies_carry_tendons_and_references() -> None:
    """A tendon is the spring between the same points, and a reference the frame that sensors take."""
    m = driven(carousel)
    m.add_body("load", 2.0, (0.1, -0.2, 0.05), (0.1, 0.2, 0.25))
    m.add_joint("free", "free", "world", "load")
    at, pose = (0.1, 0.2, 0.3), sr.Pose.of((0.3, 0, 0.1), rpy=(0.3, 0.2, -0.4))
    numbers = {"stiffness": 30.0, "damping": 4.0, "rest_length": 0.2}
    m.add_spring_damper("spring", "hand", "load", point1=at, point2=(0, 0.1, 0), **numbers)
    tendon = m.snapshot()
    tendon.springs.clear()
    tendon.add_tendon("spring", [("hand", at), ("load", (0, 0.1, 0))], **numbers)
    gears = np.eye(6)
    for k, gear in enumerate(gears):
        target = SiteTransmission("load", sr.Pose((0.1, 0, 0)), tuple(gear), ("hand", pose))
        tendon.add_actuator(f"a{k}", target)
        tendon.add_sensor(f"s{k}", "actuatorpos", f"a{k}")
    there = {"pose": sr.Pose((0.1, 0, 0)), "reference": "hand", "reference_pose": pose}
    tendon.add_sensor("place", "framepos", "load", **there)
    tendon.add_sensor("turn", "framequat", "load", **there)
    one, two, rng = sr.System(m), sr.System(tendon), np.random.default_rng(3)
    q, v = one.normalized(rng.normal(0, 1, 7)), rng.normal(0, 1, 6)
    for t in (0.0, 0.8):
        np.testing.assert_allclose(two.passive_force(q, v, t), one.passive_force(q, v, t), rtol=0, atol=1e-12)
        found = two.sensors(q, v, t=t)
        length = np.array([found[f"s{k}"] for k in range(6)]).ravel()
        w, turn = found["turn"][0], found["turn"][1:]
        angle = 2 * np.arctan2(np.linalg.norm(turn), w)
        turn = turn / np.linalg.norm(turn) * (angle if angle < np.pi else angle - 2 * np.pi)
        np.testing.assert_allclose(length, [*found["place"], *turn], rtol=0, atol=1e-12)
