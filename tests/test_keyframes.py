"""Keyframes: whole states by the names of joints and actuators; what is recorded of joints and options."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError, ModelError
from sarrus.model.builders.document import from_json, to_json
from sarrus.runs.cli.main import main

INERTIA = '<inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>'
MODEL = f"""
<mujoco>
  <option integrator="implicitfast" timestep="0.004"/>
  <worldbody>
    <body name="a">{INERTIA}<joint name="j" frictionloss="0.3"/>
      <body name="b">{INERTIA}<joint name="k" type="ball" range="0 40" frictionloss="0.2"/></body></body>
    <body name="f">{INERTIA}<freejoint name="fr"/></body>
  </worldbody>
  <actuator><motor name="m" joint="j"/><position name="p" joint="j" kp="7"/>
    <general name="w" joint="j" dyntype="filter" dynprm="0.1"/></actuator>
  <keyframe>
    <key name="rest" qpos="0.1 2 0 0 0 1 2 3 1 0 0 0"/>
    <key name="fast" time="1.5" qpos="0.2 1 0 0 0 0 0 0 0 2 0 0" qvel="1 2 3 4 5 6 7 8 9 10"
      act="0.7" ctrl="0.5 -1 0.25"/>
  </keyframe>
</mujoco>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    return path


def test_a_keyframe_is_a_whole_state(file: Path) -> None:
    mechanism = sr.load(file)
    system = sr.System(mechanism)
    outcomes = {(e.kind, e.name): e.outcome.value for e in mechanism.report}
    assert outcomes["keyframe", "rest"] == outcomes["keyframe", "fast"] == "acts"
    fast, rest = system.keyframe("fast"), system.keyframe("rest")
    model = mujoco.MjModel.from_xml_path(str(file))
    assert (fast.t, rest.t) == (1.5, 0.0)
    np.testing.assert_array_equal(fast.v, model.key_qvel[1])
    np.testing.assert_array_equal(fast.u, model.key_ctrl[1])
    np.testing.assert_array_equal(rest.v, np.zeros(10))
    np.testing.assert_array_equal(rest.u, np.zeros(3))
    np.testing.assert_array_equal(mechanism.keyframes["fast"].q, [*model.key_qpos[1], 0.7])
    np.testing.assert_array_equal(rest.q[1:5], [1, 0, 0, 0])  # quaternions of length one
    np.testing.assert_array_equal(np.asarray(mechanism.keyframes["rest"]), mechanism.keyframes["rest"].q)
    again = from_json(to_json(mechanism)).keyframes["fast"]
    np.testing.assert_array_equal(again.u, model.key_ctrl[1])


def test_controls_go_by_name_and_lost_ones_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace('<motor name="m"', '<motor group="1" name="m"').replace(
        "<option ", '<option actuatorgroupdisable="1" '
    ))  # fmt: skip
    mechanism = sr.load(path)
    assert list(mechanism.actuators) == ["p", "w"]
    np.testing.assert_array_equal(mechanism.keyframes["fast"].u, [-1, 0.25])
    entry = next(e for e in mechanism.report if e.name == "fast")
    assert (entry.outcome.value, entry.reason) == ("left out", "left out: ctrl of m, which is not here")


def test_recorded_numbers_are_listed_and_written_back(file: Path, tmp_path: Path) -> None:
    mechanism = sr.load(file)
    joints = {joint.name: joint for joint in mechanism.joints()}
    assert joints["j"].friction == (0.3,)
    assert joints["k"].friction == (0.2, 0.2, 0.2)
    assert joints["k"].largest_angle == pytest.approx(np.deg2rad(40))
    assert mechanism.integrator == "implicitfast"
    kept = {(e.kind, e.name) for e in mechanism.report.kept}
    assert {("joint friction", "j"), ("joint friction", "k"), ("joint limits", "k")} <= kept
    mechanism.to_mjcf(tmp_path / "again.xml")
    one, two = (mujoco.MjModel.from_xml_path(str(path)) for path in (file, tmp_path / "again.xml"))
    for attribute in (
        "dof_frictionloss",
        "jnt_range",
        "jnt_limited",
        "key_qpos",
        "key_qvel",
        "key_act",
        "key_ctrl",
        "key_time",
    ):
        np.testing.assert_array_equal(getattr(two, attribute), getattr(one, attribute), attribute)
    assert (two.opt.integrator, two.opt.timestep) == (one.opt.integrator, one.opt.timestep)
    again = from_json(to_json(mechanism))
    assert {j.name: j.friction for j in again.joints()} == {name: j.friction for name, j in joints.items()}
    assert again.integrator == "implicitfast"


def test_the_command_line_starts_from_the_whole_keyframe(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.nc"
    arguments = ["--keyframe", "fast", "--duration", "0.02", "--velocity", "j=3", "-o", str(out)]
    assert main(["simulate", str(file), *arguments]) == 0
    assert "the controls of keyframe 'fast' are held" in capsys.readouterr().out
    run = sr.Trajectory.load(out)
    assert run.t[0] == 1.5
    np.testing.assert_allclose(run.v[0], [3, *range(2, 11)], rtol=1e-12)
    np.testing.assert_array_equal(run.u, np.tile([0.5, -1.0, 0.25], (len(run.t), 1)))


def test_builders_check_states() -> None:
    m = sr.Mechanism("m")
    m.add_body("a", 1.0, inertia=(1, 1, 1))
    m.add_joint("j", "revolute", "world", "a")
    m.add_keyframe("one", [0.3], [0.1], t=2.0)
    with pytest.raises(ModelError, match="keyframe 'one': the name is already taken"):
        m.add_keyframe("one", [0.3])
    with pytest.raises(ModelError, match="keyframe 'two': v must"):
        m.add_keyframe("two", [0.3], [0.1, 0.2])
    with pytest.raises(ModelError, match="joint 'k': largest_angle is for spherical joints"):
        m.add_joint("k", "revolute", "world", "a", child_pose=(0, 0, 1), largest_angle=1.0)
    m.add_joint("k", "revolute", "world", "a", child_pose=(0, 0, 1))
    system = sr.System(m)
    with pytest.raises(ArgumentError, match="v must have 2 entries"):
        system.keyframe("one")
    with pytest.raises(ArgumentError, match=r"unknown keyframe 'on'\. Did you mean 'one'"):
        system.keyframe("on")
    m.keyframes["three"] = np.zeros(2)  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"keyframe 'three' must be a Keyframe.*add_keyframe"):
        sr.System(m)


def test_documents_with_coordinates_alone_are_still_read() -> None:
    """What trajectory files held before keyframes were whole states."""
    mechanism = sr.load(Path(__file__).parent.parent / "models" / "five_bar.xml")
    text = to_json(mechanism)
    key = mechanism.keyframes["symmetric"]
    document = json.loads(text)
    document["data"]["map"] = [
        [
            name,
            {"map": [["symmetric", {"array": key.q.tolist(), "shape": [4]}]]}
            if name == "keyframes"
            else value,
        ]
        for name, value in document["data"]["map"]
        if name not in ("sensors", "driven_bodies", "magnetic_field", "integrator")
    ]
    again = from_json(json.dumps(document))
    np.testing.assert_array_equal(again.keyframes["symmetric"].q, key.q)
