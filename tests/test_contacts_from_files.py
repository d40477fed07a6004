"""Contacts at the sites and geoms of model files, by name."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from mechanisms import random_pose
from sarrus.base.errors import ModelError
from sarrus.dynamics.impacts import activity
from sarrus.model.mechanism.elements import Geom
from sarrus.model.mechanism.pose import Pose, rotation_of_rpy

MJCF = """
<mujoco model="walker">
  <default><geom friction="0.8"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <site name="step" pos="1 0 0.2"/>
    <body name="trunk" pos="0 0 0.5" euler="0 10 20">
      <freejoint name="root"/>
      <inertial pos="0 0 0" mass="5" diaginertia="0.1 0.2 0.3"/>
      <geom name="shell" type="ellipsoid" size="0.2 0.1 0.1"/>
      <geom type="box" size="0.3 0.1 0.1" contype="0" conaffinity="0"/>
      <body name="FL" pos="0.2 0.1 0">
        <joint name="hip" axis="0 1 0"/>
        <inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
        <geom name="shin" type="capsule" size="0.01" fromto="0 0 0 0 0 -0.3"/>
        <geom name="FL" type="sphere" size="0.02" pos="0.01 0 -0.3" friction="0.5 0.01 0.001"/>
        <site name="FL" pos="0 0.03 -0.3" euler="0 0 90"/>
        <site name="FL_foot" pos="0 0 -0.3"/>
      </body>
      <body name="ankle" pos="-0.2 0 -0.3">
        <joint name="ankle" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <geom type="box" size="0.03 0.1 0.05" pos="0.02 0 -0.04" euler="0 90 0"/>
        <geom type="cylinder" size="0.03 0.1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def walker(tmp_path: Path) -> sr.Mechanism:
    return read(tmp_path, MJCF)


def read(tmp_path: Path, text: str, suffix: str = ".xml") -> sr.Mechanism:
    file = tmp_path / f"model{suffix}"
    file.write_text(text)
    return sr.load(file)


# --- what is kept of the file --------------------------------------------------------------------------


def test_frames_and_geoms_of_the_file_are_kept(walker):
    assert set(walker.frames) == {"step", "FL", "FL_foot"}
    body, pose = walker.frames["FL"]
    assert body == "FL"
    np.testing.assert_allclose(pose.position, (0, 0.03, -0.3))
    np.testing.assert_allclose(pose.rotation[:, 0], (0, 1, 0), atol=1e-12)
    assert set(walker.geoms) == {
        "floor",
        "shell",
        "shin",
        "FL",
        "ankle_geom1",
        "ankle_geom2",
    }  # those that collide
    geom = walker.geoms["FL"]
    assert (geom.body, geom.kind, geom.friction) == ("FL", "sphere", 0.5)
    assert geom.size[0] == 0.02
    assert walker.geoms["shin"].friction == 0.8
    copied = walker.snapshot()
    walker.frames.clear()
    walker.geoms.clear()
    assert len(copied.frames) == 3
    assert len(copied.geoms) == 6


def test_the_report_says_how_contacts_are_added(walker):
    (entry,) = (entry for entry in walker.report if entry.kind == "contact geometry")
    assert entry.name == "6 geoms"
    assert "mechanism.add_contact(name, geom=…)" in entry.reason


# --- points --------------------------------------------------------------------------------------------


def test_a_contact_at_a_site_is_at_its_origin(walker):
    contact = walker.add_contact("foot", site="FL_foot", friction_coefficient=0.7)
    assert (contact.body, contact.ground, contact.friction_coefficient) == ("FL", "world", 0.7)
    np.testing.assert_array_equal(contact.point, (0, 0, -0.3))
    np.testing.assert_array_equal(contact.origin, 0.0)
    # A site is looked for before a body of the same name, and a body is its own frame.
    assert walker.add_contact("heel", site="FL").point[1] == 0.03
    assert not walker.add_contact("knee", site="ankle").point.any()
    assert walker.contacts["heel"].friction_coefficient is None


def test_the_gap_of_a_sphere_is_that_of_mujoco_in_all_poses(walker):
    walker.add_contact("foot", geom="FL")
    system = sr.System(walker)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    floor, foot = (mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name) for name in ("floor", "FL"))
    for _ in range(5):
        pose = random_pose(rng)
        data.qpos[:] = [*pose.position, *pose.quaternion, *rng.normal(size=2)]
        mujoco.mj_kinematics(model, data)
        expected = mujoco.mj_geomDistance(model, data, floor, foot, 10.0, None)
        assert activity.gaps(system, data.qpos)["foot"] == pytest.approx(expected, abs=1e-12)


def test_friction_of_a_geom_is_the_default(walker):
    assert walker.add_contact("foot", geom="FL").friction_coefficient == 0.5
    assert walker.add_contact("icy", geom="FL", friction_coefficient=0.1).friction_coefficient == 0.1
    assert walker.add_contact("free", geom="FL", friction="frictionless").friction_coefficient is None
    assert walker.add_contact_patch("sole", geom="ankle_geom1").contacts[0] == "sole.1"
    assert walker.contacts["sole.1"].friction_coefficient == 0.8
    raised = walker.add_contact("stair", geom="FL", normal=(0, 0, 2), offset=0.3)
    np.testing.assert_allclose(raised.origin, (0, 0, 0.32))


# --- box feet ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_box_stands_on_its_lowest_corners(seed):
    rng = np.random.default_rng(seed)
    mechanism = sr.Mechanism("box")
    for name in ("box", "ground"):
        mechanism.add_body(name, 1.0, inertia=(1, 1, 1))
        pose = random_pose(rng)
        reference = [*pose.position, *pose.quaternion]
        mechanism.add_joint(name, "free", "world", name, reference=reference)
    # The box is turned in its body so that it stands on some face, tilted a little, in the reference pose.
    half, normal = rng.uniform(0.1, 0.4, 3), np.array([0.0, 0.0, 1.0])
    quarter = rotation_of_rpy(0.5 * np.pi * rng.integers(4, size=3))
    upright = Pose.of(rng.normal(size=3), rotation=rotation_of_rpy(0.1 * rng.normal(size=3)) @ quarter)
    ground, body = mechanism.reference_pose("ground"), mechanism.reference_pose("box")
    mechanism.geoms["g"] = Geom("g", "box", "box", half, body.inverse() @ ground @ upright, 0.9)
    patch = mechanism.add_contact_patch("sole", geom="g", ground="ground", normal=normal, tangent=(1, 0, 0))
    signs = np.stack(np.meshgrid(*[(-1, 1)] * 3), axis=-1).reshape(-1, 3)
    corners = np.array([upright.apply(half * sign) for sign in signs])
    lowest = corners[np.argsort(corners[:, 2])[:4]]
    there = ground.inverse() @ body
    found = np.array([there.apply(mechanism.contacts[name].point) for name in patch.contacts])
    np.testing.assert_allclose(found[np.lexsort(found.T)], lowest[np.lexsort(lowest.T)], atol=1e-12)
    # Along is the edge nearest to the tangent, and the corners go round as those of any foot.
    along, across, up = (there.rotation @ axis for axis in (patch.along, patch.across, patch.normal))
    assert along[0] > 0.7
    assert across[1] > 0.7
    assert up[2] > 0.7
    middle = there.apply(patch.centre)
    offsets = (found - middle) @ np.column_stack([along, across])
    one, two = patch.half_sizes
    np.testing.assert_allclose(offsets, [(one, two), (-one, two), (-one, -two), (one, -two)], atol=1e-12)


def test_a_patch_at_a_site_has_its_axes(walker):
    patch = walker.add_contact_patch("sole", site="FL", extent=(0.1, 0.02))
    np.testing.assert_allclose(patch.along, (0, 1, 0), atol=1e-12)
    np.testing.assert_allclose(walker.contacts["sole.1"].point, (-0.02, 0.13, -0.3), atol=1e-12)


# --- other formats -------------------------------------------------------------------------------------

INERTIAL = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
URDF = f"""
<robot name="biped">
  <link name="base"><inertial>{INERTIAL}</inertial></link>
  <link name="foot"><inertial>{INERTIAL}</inertial>
    <collision><origin xyz="0.02 0 -0.03"/><geometry><box size="0.2 0.1 0.04"/></geometry></collision></link>
  <link name="toe"><inertial>{INERTIAL}</inertial>
    <collision name="tip"><geometry><sphere radius="0.01"/></geometry></collision></link>
  <joint name="ankle" type="revolute"><parent link="base"/><child link="foot"/><origin xyz="0 0 -1"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="toe_joint" type="fixed"><parent link="foot"/><child link="toe"/><origin xyz="0.1 0 0"/></joint>
</robot>
"""
SDF = """
<sdf version="1.11"><model name="m"><link name="foot">
  <collision name="sole"><pose>0 0 -0.1 0 0 0</pose><geometry><box><size>0.2 0.1 0.06</size></box></geometry>
    <surface><friction><ode><mu>0.4</mu></ode></friction></surface></collision>
  <collision name="ball"><geometry><sphere><radius>0.03</radius></sphere></geometry></collision>
  <visual name="look"><geometry><box/></geometry></visual></link>
  <frame name="toe" attached_to="foot"><pose>0.1 0 0 0 0 1.5</pose></frame>
</model></sdf>
"""


def test_urdf_has_links_joints_and_collisions_without_friction(tmp_path):
    mechanism = read(tmp_path, URDF, ".urdf")
    assert not mechanism.add_contact("a", site="toe").point.any()
    assert mechanism.add_contact("b", site="toe_joint").body == "toe"
    ball = mechanism.add_contact("c", geom="tip")
    assert (ball.body, ball.friction_coefficient, ball.origin[2]) == ("toe", None, 0.01)
    patch = mechanism.add_contact_patch("sole", geom="foot_geom")
    np.testing.assert_allclose(patch.centre, (0.02, 0, -0.05))
    assert patch.half_sizes == (0.1, 0.05)


def test_sdf_has_frames_and_collisions_with_friction(tmp_path):
    mechanism = read(tmp_path, SDF, ".sdf")
    body, pose = mechanism.frames["toe"]
    assert body == "foot"
    np.testing.assert_allclose(pose.position, (0.1, 0, 0))
    np.testing.assert_allclose(pose.rotation, rotation_of_rpy((0, 0, 1.5)), atol=1e-15)
    np.testing.assert_allclose(mechanism.add_contact("toe", site="toe").point, (0.1, 0, 0))
    patch = mechanism.add_contact_patch("sole", geom="foot/sole")
    np.testing.assert_allclose(patch.centre, (0, 0, -0.13))
    assert mechanism.contacts["sole.1"].friction_coefficient == 0.4
    assert mechanism.add_contact("ball", geom="foot/ball").friction_coefficient == 1.0
    assert [shape.kind for shape in mechanism.bodies["foot"].shapes] == ["box"]


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({}, "contact 'c': give one of body, site and geom, got none"),
        ({"body": "FL", "geom": "FL"}, "contact 'c': give one of body, site and geom, got body and geom"),
        (
            {"site": "FL", "point": (0, 0, 0)},
            "contact 'c': a point or pose goes with body= only; a site has its own",
        ),
        ({"site": "FR_foot"}, "contact 'c': unknown site 'FR_foot'. Did you mean 'FL_foot'"),
        ({"geom": "feet"}, "contact 'c': unknown geom 'feet'. Known: 'floor', 'shell', 'shin', 'FL'"),
        ({"geom": "ankle_geom1"}, r"\(box\).*add_contact_patch with geom='ankle_geom1'"),
        (
            {"geom": "shin"},
            r"\(capsule\).*body=.FL. and an end, point=\(0, 0, 0\) or \(0, 0, -0.3\), with offset raised by 0.01",
        ),
        ({"geom": "ankle_geom2"}, r"\(cylinder\).*give body='ankle' and the point that touches"),
        ({"geom": "shell"}, "ellipsoid"),
        ({"site": "step"}, "contact 'c': needs two different bodies, got 'world' twice"),
        ({"geom": "floor"}, "plane"),
    ],
)
def test_a_place_that_is_none_is_one_clear_error(walker, wrong, sentence):
    with pytest.raises(ModelError, match=sentence) as caught:
        walker.add_contact("c", **wrong)
    assert caught.value.element
    assert not walker.contacts


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"geom": "FL"}, r"contact patch 'p': geom 'FL' \(sphere\): only a box has a face.*body='FL'"),
        ({"geom": "ankle_geom1", "extent": 0.1}, "contact patch 'p': extent: a box has its own"),
        ({"site": "FL_foot"}, "contact patch 'p': extent: give a half length"),
        ({"site": "FL_foot", "extent": 0.1, "pose": (0, 0, 0)}, "a point or pose goes with body= only"),
    ],
)
def test_a_patch_that_has_no_place_is_one_clear_error(walker, wrong, sentence):
    with pytest.raises(ModelError, match=sentence):
        walker.add_contact_patch("p", **wrong)
    assert not walker.patches


def test_floor_contacts_have_the_gaps_of_the_narrow_phase(tmp_path: Path) -> None:
    """Spheres, capsules and boxes against MuJoCo's own contacts with the plane, in random poses."""
    text = """
<mujoco>
  <default><geom margin="10" friction="0.4"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" pos="0 0 0.1" euler="0 10 0" friction="0.7"/>
    <body name="part"><freejoint name="root"/>
      <geom name="ball" type="sphere" size="0.05" pos="0.2 0 0" friction="0.9" mass="1"/>
      <geom name="rod" type="capsule" size="0.03 0.2" pos="-0.1 0.1 0" euler="30 20 0" mass="1"/>
      <geom name="brick" type="box" size="0.1 0.05 0.02" pos="0 -0.2 0.1" euler="5 6 7" mass="1"/>
      <geom name="egg" type="ellipsoid" size="0.1 0.05 0.02" mass="1"/>
    </body>
  </worldbody>
</mujoco>
"""
    file = tmp_path / "part.xml"
    file.write_text(text)
    mechanism = sr.load(file)
    added = mechanism.add_floor_contacts()
    assert [c.name for c in added] == ["ball", "rod.1", "rod.2", *(f"brick.{k}" for k in range(1, 9))]
    assert [c.friction_coefficient for c in added] == [0.9] + [0.7] * 10
    system, model = sr.System(mechanism), mujoco.MjModel.from_xml_path(str(file))
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    for _ in range(20):
        q = rng.standard_normal(7)
        q[3:] /= np.linalg.norm(q[3:])
        q[2] = abs(q[2]) + 1.0
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        found = {name: [] for name in ("ball", "rod", "brick")}
        for contact in data.contact:
            name = model.geom(max(contact.geom)).name
            found.setdefault(name, []).append(contact.dist)
        gaps = activity.gaps(system, q)
        for name, distances in found.items():
            if name != "egg":
                own = sorted(gap for key, gap in gaps.items() if key.partition(".")[0] == name)
                assert own[: len(distances)] == pytest.approx(sorted(distances), abs=1e-12)
    with pytest.raises(ModelError, match=r"'egg' .* has no fixed contact point"):
        mechanism.add_floor_contacts(geoms=["egg"])
    with pytest.raises(ModelError, match="'ball'"):
        mechanism.add_floor_contacts()  # they have the names already


def test_a_file_without_a_floor_has_one_at_zero_and_needs_friction(tmp_path: Path) -> None:
    file = tmp_path / "ball.urdf"
    file.write_text("""<robot name="ball"><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="c"><geometry><sphere radius="0.1"/></geometry></collision></link></robot>""")
    mechanism = sr.load(file, floating_base=True)
    with pytest.raises(ModelError, match="give friction_coefficient"):
        mechanism.add_floor_contacts()
    (contact,) = mechanism.add_floor_contacts(friction_coefficient=0.5)
    assert (contact.ground, contact.radius, contact.friction) == ("world", 0.1, "coulomb")
