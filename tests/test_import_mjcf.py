"""MJCF files: every row of the table in docs/importers.md, the data that arrives, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from importers_table import check_row, table_rows
from sarrus.base.errors import ArgumentError, ModelError, ModelFileError
from sarrus.dynamics.control_limits import control_bounds
from sarrus.formats.load import load

INERTIA = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
# two pendulums with a site each, on which most snippets build
PAIR = (
    f'<body name="a">{INERTIA}<joint name="j"/><site name="s" pos="1 0 0"/></body>'
    f'<body name="b">{INERTIA}<joint name="k"/><site name="r" pos="0 2 0"/><site name="m"/></body>'
)
FREE = f'<body name="f">{INERTIA}<freejoint name="fr"/></body>'
BALL = f'<body name="bb">{INERTIA}<joint name="bl" type="ball"/></body>'
FIXED = '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="2"/></fixed>'
CLOTH = '<flexcomp name="cloth" type="grid" count="2 2 1" spacing=".1 .1 .1" mass="1"'
SPATIAL = '<tendon><spatial name="t" {}><site site="s"/><site site="r"/></spatial></tendon>'


def world(inside: str, outside: str = "") -> str:
    return f"<mujoco><worldbody>{inside}</worldbody>{outside}</mujoco>"


def on_pair(outside: str) -> str:
    return world(PAIR, outside)


def single(joint: str, more: str = "") -> str:
    return world(f'<body name="a">{INERTIA}{joint}{more}</body>')


# id → (model, kind and name of the report's entry)
SNIPPETS: dict[str, tuple[str, str, str]] = {
    "hinge": (single('<joint name="j"/>'), "joint", "j"),
    "slide": (single('<joint name="j" type="slide"/>'), "joint", "j"),
    "ball": (world(BALL), "joint", "bl"),
    "free": (world(FREE), "joint", "fr"),
    "series": (single('<joint name="x"/><joint name="y" axis="0 1 0"/>'), "joint", "y"),
    "fixed-body": (single('<joint name="j"/>', '<body name="tip" pos="0 0 1"/>'), "body", "tip"),
    "massless": (
        world(
            f'<body name="rod"><joint name="j"/><body name="b">{INERTIA}<joint axis="1 0 0"/></body></body>'
        ),
        "body",
        "rod",
    ),
    "mocap": (world('<body name="hand" mocap="true"/>' + PAIR), "mocap body", "hand"),
    "gravcomp": (
        world(f'<body name="a" gravcomp="1">{INERTIA}<joint name="j"/></body>'),
        "gravity compensation",
        "a",
    ),
    "polynomial": (single('<joint name="j" stiffness="1 2 3"/>'), "joint spring", "j"),
    "frictionloss": (single('<joint name="j" frictionloss="0.1"/>'), "joint friction", "j"),
    "range": (single('<joint name="j" range="-10 20"/>'), "joint limits", "j"),
    "ball-range": (single('<joint name="j" type="ball" range="0 20"/>'), "joint limits", "j"),
    "keyframe": (
        on_pair('<keyframe><key name="home" time="3" qpos="1 2" qvel="1 0"/></keyframe>'),
        "keyframe",
        "home",
    ),
    "keyframe-lost": (
        on_pair(
            '<actuator><muscle name="u" joint="j" lengthrange="0 1"/></actuator>'
            '<keyframe><key name="home" act="0.5"/></keyframe>'
        ),
        "keyframe",
        "home",
    ),
    "keyframe-mocap": (
        world(
            '<body name="hand" mocap="true"/>' + PAIR, '<keyframe><key name="up" mpos="0 0 1"/></keyframe>'
        ),
        "keyframe",
        "up",
    ),
    "connect": (
        on_pair('<equality><connect name="c" site1="s" site2="r"/></equality>'),
        "equality connect",
        "c",
    ),
    "weld": (on_pair('<equality><weld name="w" body1="a" body2="b"/></equality>'), "equality weld", "w"),
    "weld-point": (
        on_pair('<equality><weld name="w" body1="a" body2="b" torquescale="0"/></equality>'),
        "equality weld",
        "w",
    ),
    "equality-joint": (
        on_pair('<equality><joint name="e" joint1="j" joint2="k"/></equality>'),
        "equality joint",
        "e",
    ),
    "equality-tendon": (
        on_pair(f'{FIXED}</tendon><equality><tendon name="e" tendon1="t"/></equality>'),
        "equality tendon",
        "e",
    ),
    "equality-rod": (
        on_pair(SPATIAL.format("") + '<equality><tendon name="e" tendon1="t"/></equality>'),
        "equality tendon",
        "e",
    ),
    "equality-spatial": (
        on_pair(
            '<tendon><spatial name="t"><site site="s"/><site site="m"/><site site="r"/></spatial></tendon>'
            '<equality><tendon name="e" tendon1="t"/></equality>'
        ),
        "equality tendon",
        "e",
    ),
    "equality-tendon-polynomial": (
        on_pair(
            f'{FIXED}<fixed name="u"><joint joint="k" coef="1"/></fixed></tendon>'
            '<equality><tendon name="e" tendon1="u" tendon2="t" polycoef="0 1 1 0 0"/></equality>'
        ),
        "equality tendon",
        "e",
    ),
    "equality-flex": (
        world(PAIR + f'<body name="cloth">{CLOTH}><edge equality="true"/></flexcomp></body>'),
        "equality flex",
        "flex_0",
    ),
    "equality-self": (
        on_pair('<equality><connect name="e" site1="r" site2="m"/></equality>'),
        "equality connect",
        "e",
    ),
    "equality-inactive": (
        on_pair('<equality><weld name="w" body1="a" body2="b" active="false"/></equality>'),
        "equality weld",
        "w",
    ),
    "softness": (
        on_pair('<equality><weld name="w" body1="a" body2="b" solref="0.002 1"/></equality>'),
        "equality weld",
        "w",
    ),
    "fixed-tendon": (on_pair(FIXED.replace('"t"', '"t" stiffness="3"') + "</tendon>"), "fixed tendon", "t"),
    "spatial-tendon": (on_pair(SPATIAL.format('stiffness="3"')), "spatial tendon", "t"),
    "rigid-tendon": (
        on_pair(
            '<tendon><spatial name="t" stiffness="3"><site site="r"/><site site="m"/></spatial></tendon>'
        ),
        "spatial tendon",
        "t",
    ),
    "idle-tendon": (on_pair(SPATIAL.format("")), "spatial tendon", "t"),
    "wrapped-tendon": (
        world(
            PAIR + '<geom name="ball" size="0.1"/>',
            '<tendon><spatial name="t" damping="1"><site site="s"/><geom geom="ball" sidesite="m"/>'
            '<site site="r"/></spatial></tendon>',
        ),
        "spatial tendon",
        "t",
    ),
    "pulley-tendon": (
        on_pair(
            '<tendon><spatial name="t" stiffness="1"><site site="s"/><site site="m"/><pulley divisor="2"/>'
            '<site site="m"/><site site="s"/></spatial></tendon>'
        ),
        "spatial tendon",
        "t",
    ),
    "tendon-armature": (on_pair(SPATIAL.format('armature="3"')), "spatial tendon", "t"),
    "tendon-limit": (on_pair(SPATIAL.format('stiffness="3" range="0 5"')), "spatial tendon", "t"),
    "tendon-force": (on_pair(SPATIAL.format('stiffness="3" actuatorfrcrange="-2 5"')), "spatial tendon", "t"),
    "motor": (on_pair('<actuator><motor name="u" joint="j" gear="3"/></actuator>'), "actuator", "u"),
    "motor-ball": (
        world(BALL, '<actuator><motor name="u" joint="bl" gear="1 2 3"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-free": (
        world(FREE, '<actuator><motor name="u" joint="fr" gear="1 2 3 4 5 6"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-tendon": (
        on_pair(f'{FIXED}</tendon><actuator><motor name="u" tendon="t"/></actuator>'),
        "actuator",
        "u",
    ),
    "position": (on_pair('<actuator><position name="u" joint="j" kp="10"/></actuator>'), "actuator", "u"),
    "actuator-damping": (
        on_pair('<actuator><motor name="u" joint="j" damping="1"/></actuator>'),
        "actuator damping",
        "u",
    ),
    "filter": (
        on_pair('<actuator><position name="u" joint="j" kp="1" timeconst="0.1"/></actuator>'),
        "actuator",
        "u",
    ),
    "integrator": (
        on_pair('<actuator><intvelocity name="u" joint="j" kp="1" actrange="-1 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "servo-ball": (
        world(BALL, '<actuator><position name="u" joint="bl" kp="1"/></actuator>'),
        "actuator",
        "u",
    ),
    "jointinparent-ball": (
        world(BALL, '<actuator><motor name="u" jointinparent="bl" gear="1 0 0"/></actuator>'),
        "actuator",
        "u",
    ),
    "damper": (
        on_pair('<actuator><damper name="u" joint="j" kv="1" ctrlrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "muscle": (
        on_pair('<actuator><muscle name="u" joint="j" lengthrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-site": (
        on_pair('<actuator><motor name="u" site="s" gear="0 0 1 0 0 0"/></actuator>'),
        "actuator",
        "u",
    ),
    "slider-crank": (
        on_pair('<actuator><motor name="u" cranksite="s" slidersite="r" cranklength="9"/></actuator>'),
        "actuator",
        "u",
    ),
    "adhesion": (
        on_pair('<actuator><adhesion name="u" body="a" ctrlrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-spatial": (
        on_pair(SPATIAL.format("") + '<actuator><motor name="u" tendon="t"/></actuator>'),
        "actuator",
        "u",
    ),
    "actuator-disabled": (
        '<mujoco><option actuatorgroupdisable="1"/>'
        f'<worldbody>{PAIR}</worldbody><actuator><motor name="u" joint="j" group="1"/></actuator></mujoco>',
        "actuator",
        "u",
    ),
    "contact": (single('<joint name="j"/><geom size="0.1"/>'), "contact geometry", "1 geoms"),
    "pair": (on_pair('<contact><exclude body1="a" body2="b"/></contact>'), "contact exclude", "1"),
    "sensor": (on_pair('<sensor><jointpos joint="j"/></sensor>'), "sensor", "sensor_0"),
    "sensor-contact": (on_pair('<sensor><touch name="sole" site="m"/></sensor>'), "sensor", "sole"),
    "camera": (world(PAIR + '<camera name="c"/>'), "camera", "1"),
    "light": (world(PAIR + "<light/>"), "light", "1"),
    "material": (on_pair('<asset><material name="steel"/></asset>'), "material", "1"),
    "skin-custom": (on_pair('<custom><numeric name="n" data="1"/></custom>'), "custom numeric", "1"),
    "flex": (
        world(PAIR + f'<body name="cloth">{CLOTH}><contact selfcollide="none"/></flexcomp></body>'),
        "flex",
        "1",
    ),
    "fluid": (f'<mujoco><option density="1.2"/><worldbody>{PAIR}</worldbody></mujoco>', "fluid", "density"),
    "missing-mesh": (
        '<mujoco><asset><mesh name="part" file="nowhere.stl"/></asset>'
        f'<worldbody><body name="a">{INERTIA}<joint/><geom type="mesh" mesh="part"/></body></worldbody>'
        "</mujoco>",
        "mesh",
        "part",
    ),
    "hfield": (
        '<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
        f'<worldbody>{PAIR}<geom type="hfield" hfield="h"/></worldbody></mujoco>',
        "geom",
        "1 hfield",
    ),
    "odd-inertia": (
        world('<body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body>'),
        "inertia",
        "a",
    ),
}


def test_table_and_snippets_agree() -> None:
    assert set(table_rows(None)) == set(SNIPPETS)


@pytest.mark.parametrize("row", SNIPPETS)
def test_row_of_the_table(row: str, tmp_path: Path) -> None:
    xml, kind, name = SNIPPETS[row]
    file = tmp_path / "model.xml"
    file.write_text(xml)
    check_row(file, table_rows(None)[row], kind, name)


def read(tmp_path: Path, xml: str, **options: object):
    file = tmp_path / "model.xml"
    file.write_text(xml)
    return load(file, **options)


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


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("<mujoco><worldbody></mujoco>", r"malformed XML at line 1, column"),
        (single('<jont name="j"/>'), r"MuJoCo: .*unrecognized element.*jont"),
        (world(PAIR + PAIR), r"repeated name 'a'"),
        ("<sdf/>", r"root element is <sdf>"),
        (single('<joint name="j" axis="0 0 0"/>'), r"axis.*joint"),
        (single('<joint name="j" axis="nan 0 1"/>'), r"<joint> 'j' has NaN in 'axis'"),
        (on_pair('<equality><connect body1="a" body2="zzz" anchor="0 0 0"/></equality>'), r"zzz"),
        (
            '<mujoco><asset><mesh name="part" file="nowhere.stl"/></asset><worldbody><body name="a"><joint/>'
            '<geom type="mesh" mesh="part"/></body></worldbody></mujoco>',
            r"nowhere.stl.*inertia of body 'a'",
        ),
    ],
)
def test_bad_files_give_one_clear_line(tmp_path: Path, xml: str, text: str) -> None:
    with pytest.raises(ModelFileError, match=text) as caught:
        read(tmp_path, xml)
    assert "\n" not in str(caught.value)
    assert "model.xml" in str(caught.value)


def test_missing_file_unknown_suffix_and_misplaced_options(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "none.xml")
    with pytest.raises(ModelFileError, match="is a folder; load takes one model file"):
        load(tmp_path)
    with pytest.raises(ArgumentError, match="load needs the path of a model file, got 3"):
        load(3)  # type: ignore[arg-type]
    other = tmp_path / "model.step"
    other.write_text("")
    with pytest.raises(ModelFileError, match=r"unknown suffix '\.step'.*\.urdf"):
        load(other)
    with pytest.raises(ArgumentError, match="floating_base is for URDF"):
        read(tmp_path, on_pair(""), floating_base=True)
    with pytest.raises(ModelError, match=r"unknown frame 'nope'"):
        read(tmp_path, on_pair(""), loops=[{"kind": "point", "frame1": "nope", "frame2": "a"}])
