"""Sensors: every kind against MuJoCo's sensordata, reactions against closures, along runs, in C and in files."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled, contiguous
from sarrus.base.errors import ArgumentError, ModelError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.sensor import ENTRIES, FRAME_KINDS, RELATIVE_KINDS, SENSOR_KINDS

ARM = """
<mujoco>
  <option gravity="0.3 -0.4 -9" magnetic="0.1 0.2 -0.4"/>
  <worldbody>
    <body name="base" pos="0.1 0.2 0.3" euler="10 20 30">
      <inertial pos="0.1 0 0" mass="2" diaginertia="1 1.2 1.1"/><site name="on_base" pos="0.1 0.2 0" euler="0 40 0"/>
      <body name="upper" pos="0 0 0.4" euler="0 0 30">
        <joint name="h" axis="1 2 0" pos="0.1 0 0" damping="0.3" stiffness="2" armature="0.1"/>
        <inertial pos="0.1 0.05 0" mass="1.5" diaginertia="0.1 0.12 0.11"/>
        <site name="s1" pos="0.1 0.2 0.3" euler="30 40 50"/><camera name="c" pos="0 0 1"/>
        <geom name="g" type="sphere" size=".1" pos="0 .1 0" contype="0" conaffinity="0" mass="0" euler="0 0 20"/>
        <body name="fore" pos="0.3 0 0" gravcomp="0.7"><joint name="b" type="ball" damping="0.1"/>
          <inertial pos="0.1 0.05 0.2" mass="1.1" diaginertia="0.1 0.12 0.11" quat="1 0.3 0.1 0"/>
          <body name="hand" pos="0.2 0 0.1" euler="20 0 0">
            <inertial pos="0 0.05 0.2" mass="0.4" diaginertia="0.01 0.012 0.011"/>
            <site name="s2" pos="0.1 0.2 0.3" euler="30 40 50"/>
            <body name="tip" pos="0.1 0 0.1"><joint name="sl" type="slide" axis="0 1 1"/>
              <inertial pos="0 0.05 0.2" mass="0.4" diaginertia="0.01 0.012 0.011"/><site name="s3"/></body>
          </body></body></body>
    </body>
    <body name="fl" pos="0.5 0 0"><freejoint name="free"/>
      <inertial pos="0.1 0.05 0" quat="1 .2 .3 0" mass="1.5" diaginertia="0.1 0.12 0.11"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="h" coef="2"/><joint joint="sl" coef="-1"/></fixed></tendon>
  <actuator><position name="p" joint="h" kp="5" kv="0.2" gear="2" forcerange="-3 3"/>
    <motor name="m" tendon="t" ctrlrange="-0.5 0.5"/><motor name="bm" joint="b" gear="1 2 3"/></actuator>
  <sensor>{}</sensor>
</mujoco>"""
MUJOCO = int(mujoco.__version__.split(".")[0])
FRAMES = (("site", "s2"), ("body", "fl"), ("xbody", "fore"), ("geom", "g"), ("camera", "c"))
REFERENCES = (("site", "s1"), ("body", "fl"), ("xbody", "base"))


def every_sensor() -> list[str]:
    """One of every kind at the least: frames of every sort, in every sort of reference."""
    found = [
        '<jointpos joint="h"/>', '<jointvel joint="sl" cutoff="0.1"/>', '<ballquat joint="b"/>',
        '<ballangvel joint="b" cutoff="0.5"/>', '<tendonpos tendon="t"/>', '<tendonvel tendon="t"/>',
        '<actuatorpos actuator="p"/>', '<actuatorvel actuator="m"/>', '<actuatorfrc actuator="p"/>',
        '<actuatorfrc actuator="m"/>', '<jointactuatorfrc joint="h"/>', '<jointactuatorfrc joint="sl"/>',
        "<clock/>", "<e_potential/>", "<e_kinetic/>",
    ]  # fmt: skip
    for kind in FRAME_KINDS:
        if not kind.startswith("frame"):
            # MuJoCo's accelerometer on a body that nothing moves read zero before version 4
            fixed = ("on_base",) if kind != "accelerometer" or MUJOCO >= 4 else ()
            found += [f'<{kind} site="{site}"/>' for site in (*fixed, "s1", "s2", "s3")]
            continue
        for sort, name in FRAMES:
            found.append(f'<{kind} objtype="{sort}" objname="{name}"/>')
            if kind in RELATIVE_KINDS:
                found += [
                    f'<{kind} objtype="{sort}" objname="{name}" reftype="{other}" refname="{reference}"/>'
                    for other, reference in REFERENCES
                ]
    for body in ("world", "upper", "hand", "base"):
        found += [f'<{kind} body="{body}"/>' for kind in ("subtreecom", "subtreelinvel", "subtreeangmom")]
    return found


def assert_like_mujoco(system: sr.System, model: mujoco.MjModel, seed: int) -> None:
    rng, data = np.random.default_rng(seed), mujoco.MjData(model)
    q = system.normalized(system.neutral() + rng.normal(size=system.nq))
    v, u, t = rng.normal(size=system.nv), 2 * rng.normal(size=system.nu), 0.7
    data.qpos[:], data.qvel[:], data.ctrl[:], data.time = q, v, u, t
    mujoco.mj_forward(model, data)
    readings = system.sensors(q, v, u, t)
    assert len(readings) == model.nsensor
    assert len(readings.labels) == len(readings.units) == model.nsensordata
    for name, entries, start, size in zip(
        readings, readings.values(), model.sensor_adr, model.sensor_dim, strict=True
    ):
        expected = data.sensordata[start : start + size]
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(entries, expected, rtol=0, atol=1e-11 * scale, err_msg=name)


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("arm") / "arm.xml"
    file.write_text(ARM.format("\n".join(every_sensor())))
    return file


@pytest.mark.parametrize("seed", [1, 2])
def test_every_kind_reads_what_mujoco_reads(arm: Path, seed: int) -> None:
    mechanism = sr.load(arm)
    assert mechanism.report.complete
    assert {sensor.kind for sensor in mechanism.sensors.values()} == set(SENSOR_KINDS) == set(ENTRIES)
    assert_like_mujoco(sr.System(mechanism), mujoco.MjModel.from_xml_path(str(arm)), seed)


def test_sensors_survive_json_and_mjcf(arm: Path, tmp_path: Path) -> None:
    mechanism = sr.load(arm)
    mechanism.forces.clear()  # of the gravity compensation, which MJCF and JSON cannot hold as a force
    system = sr.System(mechanism)
    rng = np.random.default_rng(3)
    q, v = system.normalized(system.neutral() + rng.normal(size=system.nq)), rng.normal(size=system.nv)
    u = rng.normal(size=system.nu)
    expected = system.sensors(q, v, u)
    again = sr.System(from_json(to_json(mechanism))).sensors(q, v, u)
    np.testing.assert_array_equal(again.array, expected.array)
    mechanism.to_mjcf(tmp_path / "again.xml")
    written = sr.System(sr.load(tmp_path / "again.xml"))
    assert written.sensor_names == system.sensor_names
    for name, values in written.sensors(q, v, u).items():
        here = expected[name]
        sign = np.sign(here @ values) if here.size == 4 else 1.0  # of a quaternion
        np.testing.assert_allclose(sign * values, here, rtol=0, atol=1e-10, err_msg=name)
    assert_like_mujoco(written, mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml")), 4)


def test_forces_of_actuators_follow_their_activation(tmp_path: Path) -> None:
    path = tmp_path / "lag.xml"
    path.write_text("""
<mujoco><worldbody><body><joint name="j"/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
  <actuator><position name="p" joint="j" kp="5" timeconst="0.1" gear="2" forcerange="-1 1"/></actuator>
  <sensor><actuatorfrc actuator="p"/><jointactuatorfrc joint="j"/></sensor></mujoco>""")
    system, model = sr.System(sr.load(path)), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for w in (0.1, 0.9):
        data.qpos[:], data.act[:], data.ctrl[:] = 0.02, w, 0.5
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(system.sensors([0.02, w], [0.0], [0.5]).array, data.sensordata, atol=1e-13)


def test_springs_between_points_go_past_the_cell_and_the_report_says_so(tmp_path: Path) -> None:
    """A plate on a cell, held down by a spring to the ground: the cell carries weight and pull."""
    path = tmp_path / "plate.xml"
    path.write_text("""
<mujoco><worldbody><site name="ground"/>
  <body name="bob"><joint name="j"/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/></body>
  <body name="plate" pos="0 0 1"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><site name="top"/></body>
  </worldbody>
  <tendon><spatial name="stay" stiffness="50" springlength="0.4"><site site="ground"/><site site="top"/></spatial>
  </tendon>
  <sensor><force name="cell" site="top"/><tendonpos tendon="stay"/></sensor></mujoco>""")
    mechanism = sr.load(path)
    readings = sr.System(mechanism).sensors([0.0])
    np.testing.assert_allclose(readings["cell"], [0, 0, 2 * 9.81 + 50 * 0.6], atol=1e-12)
    assert readings.array[3] == pytest.approx(1.0)
    entry = next(e for e in mechanism.report if e.name == "cell")
    assert "spatial tendons" in entry.reason


def loop(*, closed: bool) -> sr.Mechanism:
    """A crank that carries a rod in a ball joint, a rope and a strut; the ball joint in the tree, or as a closure."""
    m = sr.Mechanism("loop")
    m.add_body("crank", 1.2, (0.2, 0.05, 0), (0.01, 0.02, 0.025))
    m.add_joint("hinge", "revolute", "world", "crank", axis=(0, 1, 0.2), armature=0.05, damping=0.1)
    m.add_body("rod", 0.8, (0.3, 0, 0.1), (0.02, 0.03, 0.03))
    if closed:
        m.add_joint("free", "free", "world", "rod", parent_pose=(0.5, 0.1, 0))
        m.add_closure("ball", "point", "crank", "rod", pose1=(0.5, 0.1, 0))
    else:
        m.add_joint("ball", "spherical", "crank", "rod", parent_pose=(0.5, 0.1, 0))
    m.add_closure("strut", "distance", "world", "rod", pose1=(0.9, 0.3, 0.8), pose2=(0.6, 0, 0), length=0.9)
    m.add_spring_damper(
        "rope",
        "world",
        "rod",
        point1=(1, 1, 0),
        point2=(0.5, 0, 0.1),
        stiffness=30,
        damping=2,
        rest_length=0.2,
    )
    m.add_spring_damper("inner", "crank", "rod", point1=(0, 0, 0.2), point2=(0.4, 0, 0), stiffness=20)
    m.add_force("wind", lambda q, v, t: ca.vertcat(1.0, -2.0, 0.5 * t), body="rod", point=(0.1, 0, 0))
    m.add_sensor("ball_force", "force", "rod")
    m.add_sensor("ball_torque", "torque", "rod")
    m.add_sensor("base_force", "force", "crank", pose=sr.Pose.of((0.1, 0, 0.3), rpy=(0.3, 0.2, 0.1)))
    m.add_sensor("base_torque", "torque", "crank", pose=sr.Pose.of((0.1, 0, 0.3), rpy=(0.3, 0.2, 0.1)))
    m.add_sensor("imu", "accelerometer", "rod", pose=(0.3, 0, 0))
    return m


def same_states(tree: sr.System, free: sr.System, t: float) -> tuple[np.ndarray, ...]:
    """A closed state with admissible velocities, in the coordinates of both."""
    rng = np.random.default_rng(5)
    q = np.array(tree.assemble(tree.normalized(tree.neutral() + 0.3 * rng.normal(size=5)), t=t).q)
    v = np.array(tree.project_velocity(q, rng.normal(size=4), t))

    def pose(step: float) -> tuple[np.ndarray, np.ndarray]:
        positions, rotations = tree.body_placements(tree.move(q, step * v), t)
        return positions[1], rotations[1]

    (here, turn), (ahead, after), (behind, before) = pose(0.0), pose(1e-5), pose(-1e-5)
    spin = turn.T @ (after - before) / 2e-5
    speed = np.concatenate([v[:1], (ahead - behind) / 2e-5, [spin[2, 1], spin[0, 2], spin[1, 0]]])
    other = np.concatenate([q[:1], here, sr.Pose(here, turn).quaternion])
    return q, v, other, np.array(free.project_velocity(other, speed, t))


def test_reactions_are_the_multipliers_of_the_joint_as_a_closure() -> None:
    t = 0.6
    tree, free = sr.System(loop(closed=False)), sr.System(loop(closed=True))
    q, v, other, speed = same_states(tree, free, t)
    one, two = tree.sensors(q, v, t=t), free.sensors(other, speed, t=t)
    solved = free.forward_dynamics(other, speed, t=t)
    _, rotations = free.body_placements(other)
    push = rotations[1].T @ solved.multipliers[:3]  # on the rod, world axes: rows x, y, z of the closure
    assert one.undetermined == two.undetermined == ()
    np.testing.assert_allclose(one["ball_force"], push, rtol=0, atol=1e-7)
    np.testing.assert_allclose(one["ball_torque"], 0.0, atol=1e-10)
    np.testing.assert_allclose(two["ball_force"], 0.0, atol=1e-10)  # of the free joint
    for name in ("base_force", "base_torque", "imu"):
        np.testing.assert_allclose(one[name], two[name], rtol=0, atol=1e-7)
    # About its own axis the hinge passes what damper and rotor take.
    axis = np.array([0, 1, 0.2]) / np.linalg.norm([0, 1, 0.2])
    pose = sr.Pose.of((0.1, 0, 0.3), rpy=(0.3, 0.2, 0.1))
    torque = pose.rotation @ one["base_torque"] + np.cross(pose.position, pose.rotation @ one["base_force"])
    acceleration = tree.forward_dynamics(q, v, t=t).a[0]
    assert axis @ torque == pytest.approx(-0.1 * v[0] - 0.05 * acceleration, abs=1e-9)


def test_what_redundant_constraints_leave_open_is_named() -> None:
    """A planar four-bar with spatial closures: forces out of its plane have no unique split."""
    m = sr.Mechanism("four-bar")
    for name, parent, at in (("crank", "world", 0.0), ("coupler", "crank", 1.0), ("rocker", "coupler", 2.0)):
        m.add_body(name, 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
        m.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(min(at, 1.0), 0, 0))
    m.add_closure("last", "revolute", "rocker", "world", axis=(0, -1, 0), pose1=(1, 0, 0), pose2=(1.5, 0, 0))
    m.add_sensor("base", "force", "crank")
    m.add_sensor("pin", "torque", "coupler")
    m.add_sensor("gyro", "gyro", "rocker")
    system = sr.System(m)
    q = system.assemble([1.2, -1.0, -1.4]).q
    readings = system.sensors(q, [0.0] * 3)
    assert readings.undetermined == ("base", "pin")
    total = readings["base"] + 0.0
    assert np.isfinite(total).all()


def test_a_body_that_is_driven_weighs_on_its_mount_as_it_is_moved() -> None:
    m = sr.Mechanism("shaker")
    m.add_body("table")
    m.add_joint("mount", "fixed", "world", "table")
    m.add_body("load", 2.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("bolts", "fixed", "table", "load", parent_pose=(0, 0, 0.5))
    m.add_body("bob", 1e-9, (0, 0, -1), (1e-9, 1e-9, 1e-9))
    m.add_joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0))
    m.drive("table", lambda t: [0.2 * ca.sin(3 * t), 0.0, 0.1 * t**2])
    m.add_sensor("cell", "force", "load")
    m.add_sensor("moment", "torque", "load")
    m.add_sensor("imu", "accelerometer", "load")
    readings = sr.System(m).sensors([0.0], t=0.4)
    force = 2.0 * np.array([-1.8 * np.sin(1.2), 0.0, 0.2 + 9.81])
    np.testing.assert_allclose(readings["cell"], force, atol=1e-12)
    np.testing.assert_allclose(readings["moment"], np.cross([0.1, 0, 0], force), atol=1e-12)
    np.testing.assert_allclose(readings["imu"], force / 2.0, atol=1e-12)


def test_runs_have_readings_and_files_keep_them(tmp_path: Path) -> None:
    mechanism = loop(closed=False)
    system = sr.System(mechanism, {"m": "rod.mass"})
    q = system.assemble(system.neutral()).q
    run = sr.simulate(system, q, duration=0.3, dt=1e-2, rtol=1e-9)
    assert list(run.sensors) == list(mechanism.sensors)
    for k in (0, 10, 30):
        readings = system.sensors(run.q[k], run.v[k], t=run.t[k])
        for name in mechanism.sensors:
            np.testing.assert_allclose(run.sensors[name][k], readings[name], rtol=0, atol=1e-8)
    table = run.to_xarray()["sensors"]
    assert table.dims == ("time", "sensor")
    np.testing.assert_array_equal(table.sel(sensor="imu.x"), run.sensors["imu"][:, 0])
    # Readings are those of the parameters of the run, and a file keeps them though it cannot hold the wind.
    late = sr.simulate(system, q, duration=0.1, dt=1e-2, rtol=1e-9)
    system.parameters["m"] = 3.0
    np.testing.assert_array_equal(late.sensors.array[:10], run.sensors.array[:10])
    # its last reading is at the end of a step, that of the longer run within one
    np.testing.assert_allclose(late.sensors.array[10], run.sensors.array[10], rtol=0, atol=1e-13)
    loaded = sr.Trajectory.load(late.save(tmp_path / "run.nc"))
    assert loaded.mechanism.bodies["rod"].mass == 0.8  # type: ignore[union-attr]
    np.testing.assert_array_equal(loaded.sensors["ball_force"], late.sensors["ball_force"])
    assert loaded.sensors.labels == late.sensors.labels
    again = sr.Trajectory.load(loaded.save(tmp_path / "again.nc"))
    np.testing.assert_array_equal(again.sensors.array, late.sensors.array)
    header = late.to_csv(tmp_path / "run.csv").read_text().splitlines()[0]
    assert "imu.x [m/s²]" in header


def test_contacts_that_open_push_no_more() -> None:
    """A ball that bounces on a plate: the plate's mount carries the plate alone while the ball flies."""
    m = sr.Mechanism("drop")
    m.add_body("plate", 2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("glide", "prismatic", "world", "plate", axis=(1, 0, 0))
    m.add_body("ball", 0.5, inertia=(0.01, 0.01, 0.01))
    m.add_joint("fall", "prismatic", "world", "ball", axis=(0, 0, 1), parent_pose=(0, 0, 0.02))
    m.add_contact("touch", "ball", ground="plate", friction="frictionless")
    m.add_sensor("mount", "force", "plate")
    system = sr.System(m)
    run = sr.simulate(system, [0.0, 0.0], [0.3, 0.0], duration=0.2)
    vertical = run.sensors["mount"][:, 2]
    np.testing.assert_allclose(vertical[run.t < 0.06], 2.0 * 9.81, atol=1e-9)
    np.testing.assert_allclose(vertical[run.t > 0.07], 2.5 * 9.81, atol=1e-6)


def test_sensors_in_c_read_what_python_reads(arm: Path, tmp_path: Path) -> None:
    for number, system in enumerate((sr.System(sr.load(arm)), sr.System(loop(closed=True)))):
        export = sr.export.c_code(system, tmp_path / str(number), functions=["sensors"], name=f"s{number}")
        assert export.functions == ("forward_dynamics", "sensors")
        compiled = Compiled(export, system)
        rng = np.random.default_rng(6)
        q = np.array(
            system.assemble(system.normalized(system.neutral() + 0.1 * rng.normal(size=system.nq))).q
        )
        v = np.array(system.project_velocity(q, rng.normal(size=system.nv)))
        u = rng.normal(size=system.nu)
        expected = system.sensors(q, v, u, 0.3)
        got = np.zeros(len(expected.labels))
        scaled = q.copy()
        for start in system.equations.quaternions:
            scaled[start : start + 4] *= 1.7
        assert compiled.call("sensors", contiguous(scaled), v, u, 0.3, None, got) == sr.Status.OK
        np.testing.assert_allclose(got, expected.array, rtol=1e-10, atol=1e-10)
    header = export.files[1].read_text()
    assert "S1_SENSOR_BALL_FORCE_X = 0, /* ball_force.x [N] */" in header


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("s", "sonar"), "sensor 's': unknown kind 'sonar'"),
        (("s", "jointpos", "ball"), "sensor 's': unknown scalar coordinate 'ball'"),
        (("s", "ballquat", "hinge"), "sensor 's': unknown spherical joint 'hinge'. Known: 'ball'"),
        (("s", "gyro", "nothing"), "sensor 's': unknown body 'nothing'"),
        (("s", "force", "world"), "sensor 's': the world has no joint"),
        (("s", "actuatorfrc", "motor"), "sensor 's': unknown actuator 'motor'"),
        (("s", "tendonpos", "robe"), "sensor 's': unknown spring or tendon 'robe'. Did you mean 'rope'"),
        (("s", "tendonpos", {"hinje": 1.0}), "sensor 's': unknown scalar coordinate 'hinje'"),
        (("s", "gyro", {"hinge": 1.0}), "sensor 's': a gyro has one target"),
        (("imu", "clock"), "sensor 'imu': the name is already taken"),
    ],
)
def test_bad_sensors_are_errors_that_name_them(arguments: tuple, message: str) -> None:
    with pytest.raises(ModelError, match=message.replace("?", r"\?")):
        loop(closed=False).add_sensor(*arguments)


def test_more_errors() -> None:
    mechanism = loop(closed=False)
    with pytest.raises(ModelError, match="a clock has no frame"):
        mechanism.add_sensor("s", "clock", pose=(0, 0, 1))
    with pytest.raises(ModelError, match="a gyro has no reference frame"):
        mechanism.add_sensor("s", "gyro", "rod", reference="crank")
    with pytest.raises(ModelError, match="cutoff must not be negative"):
        mechanism.add_sensor("s", "gyro", "rod", cutoff=-1.0)
    readings = sr.System(mechanism).sensors(sr.System(mechanism).neutral())
    with pytest.raises(ArgumentError, match=r"unknown sensor 'imo'\. Did you mean 'imu'"):
        readings["imo"]
    assert "imo" not in readings
    own = sr.System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: v[0] ** 2)
    with pytest.raises(ArgumentError, match="only a system made from a Mechanism has sensors"):
        own.sensors([0.0])
    plain = sr.System(sr.load(Path(__file__).parent.parent / "models" / "five_bar.xml"))
    assert dict(plain.sensors(plain.neutral())) == {}


def test_a_cell_feels_the_couple_of_a_closure_that_holds_axes() -> None:
    """A body that only a weld holds, below a cell that carries another body beside it."""
    m = sr.Mechanism("held")
    m.add_body("top", 2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("free", "free", "world", "top")
    m.add_body("below", 1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("fixed", "fixed", "top", "below")
    m.add_closure("hold", "weld", "below", "world")
    m.add_sensor("force", "force", "below")
    m.add_sensor("torque", "torque", "below")
    system = sr.System(m)
    read = system.sensors(system.neutral())
    np.testing.assert_allclose(read["force"], [0, 0, -2.0 * 9.81], atol=1e-12)
    np.testing.assert_allclose(read["torque"], [0, 2.0 * 9.81 * 0.3, 0], atol=1e-12)


def test_forces_in_joints_include_those_of_geometries(tmp_path: Path) -> None:
    """A crate that falls on a box: its lid's joint carries the lid, its free joint carries nothing."""
    path = tmp_path / "boxes.xml"
    path.write_text(
        """
<mujoco><worldbody><geom name="floor" type="box" size="1 1 .1"/>
  <body name="crate" pos="0 0 .205"><freejoint name="loose"/><geom name="box" type="box" size=".1 .1 .1"/>{}
    <body name="lid" pos="0 0 .2"><joint name="hinge" axis="0 1 0"/><site name="top"/>
      <inertial pos="0 0 .1" mass="0.4" diaginertia="0.01 0.01 0.01"/></body></body>
</worldbody><sensor><force name="cell" site="{}"/></sensor></mujoco>""".format('<site name="below"/>', "top")
    )
    for site, load in (("top", 0.4 * 9.81), ("below", 0.0)):
        path.write_text(path.read_text().replace('site="top"', f'site="{site}"'))
        with pytest.warns(sr.ModelWarning):
            mechanism = sr.load(path)
        mechanism.add_geometry_contacts()
        system = sr.System(mechanism)
        run = sr.simulate(system, system.neutral(), duration=0.1, dt=1e-3)
        assert run.sensors["cell"][-1, 2] == pytest.approx(load, rel=1e-6, abs=1e-6)
        along = run.reactions()
        assert along.force[-1, along.names.index("hinge"), 2] == pytest.approx(0.4 * 9.81, rel=1e-6)
        assert along.left_out.sum() == 1  # the impact
