"""MJCF files: the data that arrives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from mjcf_models import FIXED, INERTIA, on_pair, read, single, world
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.model.formats.load import load


def test_joint_data_arrive(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        single(
            '<joint name="j" type="slide" pos="1 2 3" axis="0 2 0" ref="0.5" range="-1 2" stiffness="3" '
            'springref="0.25" damping="0.5" armature="0.75"/>'
        ),
    )
    (joint,) = m.joints()
    assert joint.kind == "prismatic"
    np.testing.assert_allclose(joint.axis, [0, 1, 0])
    np.testing.assert_allclose(joint.anchor, [1, 2, 3])
    assert (joint.reference, joint.spring_reference, joint.limits) == ((0.5,), (0.25,), ((-1.0, 2.0),))
    assert (joint.stiffness, joint.damping, joint.armature) == (3.0, (0.5,), (0.75,))


def test_inertia_frame_is_turned_into_body_axes(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        world(
            '<body name="a"><joint/><inertial pos="1 2 3" mass="4" fullinertia="3 4 5 0.1 0.2 0.3"/></body>'
        ),
    )
    expected = [[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]]
    np.testing.assert_allclose(m.bodies["a"].inertia, expected, atol=2e-6)  # its eigenvectors before 3.3
    np.testing.assert_allclose(m.bodies["a"].com, [1, 2, 3])


def test_massless_bodies_keep_their_data(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        world(
            '<body name="point"><joint/><inertial pos="1 0 0" mass="2" diaginertia="0 0 0"/></body>'
            '<body name="thin"><joint/><inertial pos="0 0 0" mass="3" diaginertia="0 4 4" euler="0 0 90"/>'
            "</body>"
            '<body name="full"><joint/><inertial pos="0 0 0" mass="3" fullinertia="4 4 0 0 0 0"/></body>'
            '<body name="none"><joint/></body>'
        ),
    )
    bodies = m.bodies
    assert [bodies[n].mass for n in ("point", "thin", "full", "none")] == [2, 3, 3, 0]
    assert not bodies["point"].inertia.any()
    assert not bodies["none"].inertia.any()
    np.testing.assert_allclose(bodies["thin"].inertia, np.diag([4, 0, 4]), atol=1e-12)
    np.testing.assert_allclose(bodies["full"].inertia, np.diag([4, 4, 0]), atol=1e-12)


def test_unnamed_elements_get_stable_unique_names(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        world(
            f'<body>{INERTIA}<joint/><joint axis="1 0 0"/></body>'
            f'<body name="body1_joint1">{INERTIA}<joint/></body>',
            '<equality><connect body1="body1_joint1" anchor="1 0 0"/>'
            '<connect body1="body1_joint1" anchor="0 1 0"/></equality>',
        ),
    )
    assert list(m.bodies) == ["body1", "body1_joint1"]
    assert [j.name for j in m.joints()] == ["body1_joint1", "body1_joint2", "body1_joint1_joint"]
    assert list(m.closures) == ["connect_0", "connect_1"]


def test_closure_frames(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        on_pair(
            '<equality><connect name="sites" site1="s" site2="r"/><connect name="bodies" body1="a" body2="b" '
            'anchor="1 2 3"/><weld name="pose" body1="a" body2="b" relpose="1 2 3 0 1 0 0" anchor="4 5 6"/>'
            "</equality>"
        ),
    )
    sites, bodies, pose = (m.closures[n] for n in ("sites", "bodies", "pose"))
    assert (sites.kind, sites.body1, sites.body2) == ("point", "a", "b")
    np.testing.assert_allclose(sites.pose1.position, [1, 0, 0])
    np.testing.assert_allclose(sites.pose2.position, [0, 2, 0])
    np.testing.assert_allclose(bodies.pose2.position, [1, 2, 3])
    np.testing.assert_allclose(pose.pose1.position, [1, 2, 3])
    np.testing.assert_allclose(pose.pose1.rotation, np.diag([1, -1, -1]), atol=1e-15)
    np.testing.assert_allclose(pose.pose2.position, [4, 5, 6])


def test_actuator_data(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        on_pair(
            f"{FIXED}</tendon><actuator>"
            '<motor name="m" joint="j" gear="3" ctrlrange="-1 2" forcerange="-4 5"/>'
            '<position name="p" joint="k" kp="10" kv="2" gear="2"/><motor name="t" tendon="t" gear="5"/>'
            "</actuator>"
        ),
    )
    motor, servo, cable = (m.actuators[n] for n in ("m", "p", "t"))
    assert motor.transmission == (("j", 3.0),)
    assert (motor.limits, motor.force_limits) == ((-1.0, 2.0), (-4.0, 5.0))
    assert (servo.gain, servo.bias) == (10.0, (0.0, -10.0, -2.0))
    assert dict(cable.transmission) == {"j": 5.0, "k": 10.0}


def test_joint_force_limit_is_that_of_the_joint(tmp_path: Path) -> None:
    joint = '<joint name="j" actuatorfrcrange="-6 8"/>'
    model = world(
        f'<body name="a">{INERTIA}{joint}</body>',
        '<actuator><motor name="u" joint="j" gear="-2"/></actuator>',
    )
    m = read(tmp_path, model)
    assert next(m.joints()).actuator_force_limits == (-6.0, 8.0)
    assert control_bounds(sr.System(m)).tolist() == [[-4.0], [3.0]]
    m = read(tmp_path, model.replace("</actuator>", '<motor name="w" joint="j"/></actuator>'))
    assert np.isinf(control_bounds(sr.System(m))).all()
    assert m.report.complete


def test_flags_switch_terms_off(tmp_path: Path) -> None:
    flags = "<option><flag gravity='disable' equality='disable' actuation='disable'/></option>"
    model = on_pair(
        '<equality><weld body1="a" body2="b"/></equality><actuator><motor joint="j"/></actuator>'
    ).replace("<mujoco>", f"<mujoco>{flags}")
    m = read(tmp_path, model)
    assert not m.gravity.any()
    assert not m.closures
    assert not m.actuators
    assert len(m.report.aside) == 2


def test_shapes_and_static_geometry(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/>'
        f'<body name="a">{INERTIA}<joint/><geom type="box" size="1 2 3" pos="0 0 1" rgba="1 0 0 1"/>'
        '<geom type="sphere" size="9" group="3"/></body></worldbody></mujoco>',
    )
    assert [s.kind for s in m.world_shapes] == ["plane"]
    (box,) = m.bodies["a"].shapes
    assert (box.kind, box.rgba) == ("box", (1.0, 0.0, 0.0, 1.0))
    np.testing.assert_allclose(box.size, [1, 2, 3])


def test_mesh_shape_has_its_file_in_its_own_axes(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    corners = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "part.obj").write_text(corners)
    m = read(
        tmp_path,
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj" scale="2 2 2"/></asset>'
        '<worldbody><body name="a"><joint/><geom type="mesh" mesh="part" pos="1 2 3"/></body></worldbody>'
        "</mujoco>",
    )
    (shape,) = m.bodies["a"].shapes
    assert shape.kind == "mesh"
    assert Path(shape.file or "") == (tmp_path / "meshes" / "part.obj").resolve()
    np.testing.assert_allclose(shape.pose.position, [1, 2, 3], atol=1e-6)
    np.testing.assert_allclose(shape.pose.rotation, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(shape.size, [2, 2, 2])


def test_loop_file_on_mjcf_sites(tmp_path: Path) -> None:
    loops = [{"name": "pin", "kind": "revolute", "frame1": "s", "frame2": "b", "axis": [0, 0, 1]}]
    m = read(tmp_path, on_pair(""), loops=loops)
    np.testing.assert_allclose(m.closures["pin"].pose1.position, [1, 0, 0])


def test_mjcf_suffix_with_include_and_mesh(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    corners = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "part.obj").write_text(corners)
    body = '<body name="a"><joint name="j"/><geom type="mesh" mesh="part"/></body>'
    (tmp_path / "body.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    file = tmp_path / "model.mjcf"
    file.write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj"/></asset>'
        '<include file="body.xml"/></mujoco>'
    )
    m = load(file)
    assert [joint.name for joint in m.joints()] == ["j"]
    assert m.bodies["a"].mass == pytest.approx(1000.0)
    assert [shape.kind for shape in m.bodies["a"].shapes] == ["mesh"]


def test_includes_and_defaults_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        f'<mujoco><worldbody><body name="a">{INERTIA}<joint/></body></worldbody></mujoco>'
    )
    m = read(
        tmp_path,
        '<mujoco model="whole"><default><joint damping="3"/></default><include file="part.xml"/></mujoco>',
    )
    assert m.name == "whole"
    assert next(m.joints()).damping == (3.0,)
