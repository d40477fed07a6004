"""Ropes in files: limits of lengths of tendons that are written and read, those of Drake, and ranges of MJCF."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from families import ropes
from sarrus.base.errors import ModelFileError, UnsupportedElementError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.tendons import TendonJoint

G = 9.81


def test_ropes_are_written_to_files_and_read(tmp_path: Path) -> None:
    system = ropes.atwood()
    mechanism = system.mechanism
    del mechanism.contacts["floor"]
    mechanism.to_mjcf(tmp_path / "atwood.xml")
    again = sr.load(tmp_path / "atwood.xml")
    assert again.tendons["rope"].limits == (0.0, 2.0)
    assert from_json(to_json(mechanism)).tendons["rope"].limits == (-np.inf, 2.0)
    for q in ([-1.0, -1.0], [-0.9, -1.05]):
        np.testing.assert_array_equal(
            sr.System(again).forward_dynamics(q, [0, 0]).a, sr.System(mechanism).forward_dynamics(q, [0, 0]).a
        )
    wound = ropes.winch(lambda t: 2.0 - t).mechanism
    with pytest.raises(UnsupportedElementError, match="tendon 'rope': MJCF cannot express a length"):
        wound.to_mjcf(tmp_path / "winch.xml")
    kept = from_json(to_json(wound))
    assert kept.tendons["rope"].limits is None
    assert "rope" in str(kept.report)
    with pytest.raises(UnsupportedElementError, match="tendon 'rope': MJCF has no tendon with both"):
        ropes.drum_and_load().mechanism.to_mjcf(tmp_path / "drum.xml")
    drum = from_json(to_json(ropes.drum_and_load().mechanism)).tendons["rope"]
    assert isinstance(drum.path[-1], TendonJoint)


DRAKE = """<robot name="rope" xmlns:drake="http://drake.mit.edu"><link name="base"/>
  <link name="l"><inertial><mass value="2"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="r"><inertial><mass value="1"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="left" type="prismatic"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/>
    <limit lower="-5" upper="5" effort="0" velocity="9"/></joint>
  <joint name="right" type="prismatic"><parent link="base"/><child link="r"/><axis xyz="0 0 1"/>
    <limit lower="-5" upper="5" effort="0" velocity="9"/></joint>
  <drake:tendon_constraint><drake:tendon_constraint_joint name="left" a="1"/>
    <drake:tendon_constraint_joint name="right" a="1"/>{}</drake:tendon_constraint></robot>"""


def drake(tmp_path: Path, **values: object) -> sr.Mechanism:
    parts = (f'<drake:tendon_constraint_{key} value="{value}"/>' for key, value in values.items())
    (tmp_path / "rope.urdf").write_text(DRAKE.format("".join(parts)))
    return sr.load(tmp_path / "rope.urdf")


def test_ropes_over_joints_of_drake(tmp_path: Path) -> None:
    """The sum of two heights stays above −0.2: an Atwood machine of 2 kg and 1 kg; also as coupling and spring."""
    q = [-0.1, -0.1]
    rope = sr.System(drake(tmp_path, lower_limit=-0.7, offset=-0.5))
    found = rope.forward_dynamics(q, [0, 0])
    np.testing.assert_allclose(found.a, [-3.27, 3.27], rtol=0, atol=1e-12)
    assert found.contacts["tendon_constraint.lower"] == pytest.approx(13.08, abs=1e-12)
    tied = drake(tmp_path, lower_limit=-0.7, upper_limit=-0.7, offset=-0.5)
    assert list(tied.couplings) == ["tendon_constraint"]
    np.testing.assert_allclose(
        sr.System(tied).forward_dynamics(q, [0, 0]).a, [-3.27, 3.27], rtol=0, atol=1e-12
    )
    spring = sr.System(drake(tmp_path, lower_limit=-0.2, stiffness=100.0))
    np.testing.assert_allclose(
        spring.forward_dynamics([-0.2, -0.1], [0, 0]).a, [5.0 - G, 10.0 - G], rtol=0, atol=1e-12
    )
    for values, text in (
        ({}, "needs a lower_limit or an upper_limit"),
        ({"lower_limit": 1, "upper_limit": 0}, "the lower one not above the upper one"),
        ({"lower_limit": "x"}, "lower_limit must be a number"),
    ):
        with pytest.raises(ModelFileError, match=text):
            drake(tmp_path, **values)


SCENES = """<mujoco><option timestep="1e-4" integrator="implicitfast"/><worldbody>
  <body name="a" pos="0.3 0 0"><joint name="ax" type="slide" axis="1 0 0"/><joint name="az" type="slide" axis="0 0 1"/>
    <geom size=".05" mass="1" contype="0"/><site name="a"/></body>
  <body name="b" pos="1 0 -0.4"><joint name="b" axis="0 1 0"/><geom size=".05" mass="2" contype="0"/>
    <inertial pos="0.3 0 0" mass="2" diaginertia=".1 .1 .1"/><site name="b" pos="0.5 0 0"/></body>
  <site name="w" pos="0 0 .5"/><site name="p" pos="0.8 0 .6"/><geom name="rim" type="cylinder" size=".1 .1"
    pos="0.5 0 0.6" euler="90 0 0" contype="0"/></worldbody>
<tendon><spatial name="rope" range="0 {}" solreflimit="-1e7 -6e3" solimplimit=".99999 .99999 1"><site site="w"/>
    <site site="a"/><pulley divisor="2"/><site site="a"/><geom geom="rim"/><site site="p"/><site site="b"/></spatial>
  <fixed name="sum" range="-0.8 0.35" solreflimit="-1e7 -6e3" solimplimit=".99999 .99999 1"><joint joint="az"
    coef="1"/><joint joint="b" coef="-0.5"/></fixed></tendon></mujoco>"""


def test_ranges_of_files_act_as_in_mujoco_with_tightened_softness(tmp_path: Path) -> None:
    """With stiff limits MuJoCo's tensions, accelerations and motion approach those of exact ones."""
    text = SCENES.format(2.0)
    probe = mujoco.MjData(model := mujoco.MjModel.from_xml_string(text))
    mujoco.mj_forward(model, probe)
    taut = SCENES.format(repr(float(probe.ten_length[0]) - 1e-11))  # MuJoCo's limits are off at equality
    (tmp_path / "ropes.xml").write_text(taut)
    model = mujoco.MjModel.from_xml_string(taut)
    data, system = mujoco.MjData(model), sr.System(sr.load(tmp_path / "ropes.xml"))
    mujoco.mj_forward(model, data)
    found = system.forward_dynamics(data.qpos, data.qvel)
    np.testing.assert_allclose(found.a, data.qacc, rtol=2e-3, atol=2e-3)
    assert found.contacts["rope"] == pytest.approx(float(data.efc_force[0]), rel=2e-3)
    run = sr.simulate(system, system.neutral(), duration=0.4)
    assert any("rope" in s.opened or "rope" in s.closed or "sum" in str(s) for s in run.switches)
    while data.time < 0.4 - 1e-9:
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(run.q[-1], data.qpos, rtol=0, atol=5e-3)
