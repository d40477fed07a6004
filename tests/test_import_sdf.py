"""Import of SDF: frames, joints of every kind, loops of the joint graph, errors."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from mechanisms import rotation_about
from sarrus.base.errors import ModelError, ModelFileError, UnsupportedElementError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from sarrus.model.mechanism.pose import Pose, rotation_of_rpy
from sarrus.model.mechanism.report import Outcome

MODELS = Path(__file__).parent / "models"
LINK = '<link name="{0}"><pose>{1} 0 0 0 0 0</pose></link>'


def model(body: str, folder: Path, version: str = "1.11", name: str = "m") -> Path:
    path = folder / f"{name}.sdf"
    path.write_text(f'<sdf version="{version}"><model name="{name}">{body}</model></sdf>')
    return path


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    given = (
        inside
        if "<axis>" in inside or kind in ("fixed", "ball")
        else f"{inside}<axis><xyz>0 1 0</xyz></axis>"
    )
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{given}</joint>'
    )


def outcome(mechanism: Mechanism, kind: str, name: str) -> tuple[Outcome, str]:
    entry = next(e for e in mechanism.report if (e.kind, e.name) == (kind, name))
    return entry.outcome, entry.reason


def placements(mechanism: Mechanism, q: np.ndarray | None = None) -> dict[str, Pose]:
    system = System(mechanism)
    positions, rotations = system.body_placements(system.neutral() if q is None else q)
    return {name: Pose(p, r) for name, p, r in zip(mechanism.bodies, positions, rotations)}


# --- loops -----------------------------------------------------------------------------------------


def four_bar_by_hand() -> Mechanism:
    m = Mechanism("by_hand", gravity=(0, 0, -9.81))
    m.add_body("crank", 1.0, (0.2, 0, 0), (0.001, 0.02, 0.02))
    m.add_body("coupler", 2.0, (0.45, 0, 0), (0.001, 0.13, 0.13))
    m.add_body("rocker", 1.5, (0.35, 0, 0.01), (0.001, 0.06, 0.06))
    y = (0, 1, 0)
    turned = rotation_of_rpy((0, -0.5, 0))
    tip = np.array([0.4, 0, 0]) + turned @ [0.9, 0, 0]
    rocker = Pose.of((1, 0, 0), rpy=(0, -1.2, 0))
    end = Pose(rocker.inverse().apply(tip), rocker.rotation.T @ turned)
    m.add_joint("crank_joint", "revolute", "world", "crank", axis=y, damping=0.1)
    m.add_joint(
        "coupler_joint", "revolute", "crank", "coupler", axis=y, parent_pose=Pose((0.4, 0, 0), turned)
    )
    m.add_joint("rocker_joint", "revolute", "world", "rocker", axis=y, parent_pose=rocker)
    m.add_closure("loop_joint", "revolute", "rocker", "coupler", axis=y, pose1=end, pose2=(0.9, 0, 0))
    return m


def test_the_four_bar_is_the_one_built_by_hand() -> None:
    mechanism = load(MODELS / "four_bar.sdf")
    system, by_hand = System(mechanism), System(four_bar_by_hand())
    assert system.coordinate_names == by_hand.coordinate_names
    assert system.constraint_names == by_hand.constraint_names
    np.testing.assert_allclose(system.constraint_residual(system.neutral())[:3], 0.0, atol=1e-15)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = rng.normal(size=3), rng.normal(size=3)
        np.testing.assert_allclose(system.mass_matrix(q), by_hand.mass_matrix(q), atol=1e-14)
        np.testing.assert_allclose(system.bias_force(q, v), by_hand.bias_force(q, v), atol=1e-13)
        np.testing.assert_allclose(system.passive_force(q, v), by_hand.passive_force(q, v), atol=1e-14)
        np.testing.assert_allclose(system.constraint_residual(q), by_hand.constraint_residual(q), atol=1e-14)
        np.testing.assert_allclose(system.constraint_jacobian(q), by_hand.constraint_jacobian(q), atol=1e-14)
    result = system.forward_dynamics(system.assemble(system.neutral()).q, np.zeros(3))
    assert result.rank == 2


def test_the_report_of_the_four_bar_lists_every_element() -> None:
    mechanism = load(MODELS / "four_bar.sdf")
    assert outcome(mechanism, "joint", "loop_joint") == (Outcome.ACTS, "cut: a revolute closure of 5 rows")
    assert outcome(mechanism, "joint", "crank_joint")[0] is Outcome.ACTS
    assert outcome(mechanism, "collision", "crank/hull")[0] is Outcome.KEPT
    assert outcome(mechanism, "visual", "crank/bar")[0] is Outcome.ASIDE
    assert outcome(mechanism, "light", "sun")[0] is Outcome.ASIDE
    assert outcome(mechanism, "axis effort", "crank_joint")[0] is Outcome.ASIDE
    shape = mechanism.bodies["crank"].shapes[0]
    assert shape.kind == "box"
    np.testing.assert_array_equal(shape.size, [0.2, 0.01, 0.02])
    assert shape.rgba == (0.8, 0.2, 0.1, 1.0)
    assert mechanism.bodies["crank"].joints[0].limits == (None,)


@pytest.mark.parametrize(
    ("kind", "closure", "rows"),
    [
        ("fixed", "weld", 6),
        ("ball", "point", 3),
        ("revolute", "revolute", 5),
        ("continuous", "revolute", 5),
        ("prismatic", "prismatic", 5),
        ("screw", "screw", 5),
        ("universal", "universal", 4),
        ("revolute2", "universal", 4),
    ],
)
def test_a_cut_joint_becomes_a_closure_of_its_own_kind(
    kind: str, closure: str, rows: int, tmp_path: Path
) -> None:
    """A triangle of links of which one joint is marked to be cut; it closes exactly at the initial pose."""
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    cut = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>"
    inside = cut + "<pose>0.3 0.1 0.2 0.4 0.5 0.6</pose><screw_thread_pitch>0.02</screw_thread_pitch>"
    body = LINK.format("a", 0.1) + LINK.format("b", 0.2) + joint("ja", "ball", "world", "a")
    body += joint("jb", "ball", "a", "b") + joint("cut", kind, "b", "world_end", inside + axes)
    body += LINK.format("world_end", 0.5) + joint("hold", "fixed", "world", "world_end")
    mechanism = load(model(body, tmp_path))
    made = mechanism.closures["cut"]
    assert (made.kind, made.body1, made.body2) == (closure, "b", "world_end")
    assert len(made.row_names) == rows
    assert made.pitch == (0.02 if kind == "screw" else 0.0)
    system = System(mechanism)
    np.testing.assert_allclose(system.constraint_residual(system.neutral()), 0.0, atol=1e-14)


def ring(folder: Path, *insides: str) -> Mechanism:
    """A ring world, a, b, c, world with four joints, each with something more inside."""
    links = "".join(LINK.format(name, k) for k, name in enumerate("abc"))
    ends = ["world", "a", "b", "c", "world"]
    joints = "".join(
        joint(f"j{k}", "revolute", *sorted((ends[k], ends[k + 1]), key=lambda e: e != "world"), inside)
        for k, inside in enumerate(insides)
    )
    return load(model(links + joints, folder))


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize(
    "keep",
    [
        "<dynamics><damping>1</damping></dynamics>",
        "<dynamics><spring_stiffness>1</spring_stiffness></dynamics>",
        "<dynamics><friction>1</friction></dynamics>",
        "<limit><lower>-1</lower><upper>1</upper></limit>",
        "<limit><effort>5</effort></limit>",
    ],
)
def test_the_joint_that_loses_nothing_is_cut(keep: str, at: int, tmp_path: Path) -> None:
    axis = "<axis><xyz>0 1 0</xyz>{}</axis>"
    mechanism = ring(tmp_path, *(axis.format("" if k == at else keep) for k in range(4)))
    assert list(mechanism.closures) == [f"j{at}"]
    assert not mechanism.report.left_out


def test_what_a_cut_loses_is_warned_if_it_cannot_be_avoided(tmp_path: Path) -> None:
    axis = "<axis><xyz>0 1 0</xyz><dynamics><damping>1</damping></dynamics></axis>"
    mechanism = ring(tmp_path, *[axis] * 4)
    assert list(mechanism.closures) == ["j2"]
    assert outcome(mechanism, "joint", "j2")[0] is Outcome.LEFT_OUT
    assert "damping" in outcome(mechanism, "joint", "j2")[1]


def test_the_tree_is_shallow(tmp_path: Path) -> None:
    mechanism = ring(tmp_path, *[""] * 4)
    parents = {body.name: body.parent for body in mechanism.bodies.values()}
    assert parents == {"a": "world", "b": "a", "c": "world"}


def test_a_ball_is_cut_rather_than_a_hinge(tmp_path: Path) -> None:
    links = LINK.format("a", 0) + LINK.format("b", 1) + LINK.format("c", 2)
    joints = joint("j0", "revolute", "world", "a") + joint("j1", "ball", "a", "b")
    joints += joint("j2", "revolute", "c", "b") + joint("j3", "revolute", "world", "c")
    assert list(load(model(links + joints, tmp_path)).closures) == ["j1"]


# --- frames ----------------------------------------------------------------------------------------


def test_poses_resolve_through_frames_scopes_and_placement_frames() -> None:
    mechanism = load(MODELS / "frames.sdf")
    np.testing.assert_array_equal(mechanism.gravity, [0, 0, -9.8])
    assert "SDF's default" in outcome(mechanism, "gravity", "yard")[1]
    # The mount, 0.5 m below the base, sits at (1, 0, 0) in the post's frame, turned by 90° about z.
    mount = Pose.of((1, 0, 2), rpy=(0, 0, np.pi / 2))
    base = mount @ Pose.of((0, 0, 0.5))
    upper = base @ Pose.of((0.1, 0, 0.3), rpy=(np.pi / 2, 0, 0)) @ Pose.of((0, 0, 0.2))
    expected = {"post::pole": Pose.of((0, 0, 2)), "robot::base": base, "robot::arm::upper": upper}
    expected["robot::arm::lower"] = upper @ Pose.of((0, 0, 1.05))
    for name, pose in placements(mechanism).items():
        np.testing.assert_allclose(pose.position, expected[name].position, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(pose.rotation, expected[name].rotation, atol=1e-14, err_msg=name)


def test_expressed_in_turns_the_axis() -> None:
    mechanism = load(MODELS / "frames.sdf")
    q = np.array([0.3, 0.0])
    before, after = placements(mechanism), placements(mechanism, q)
    shoulder = before["robot::base"].apply((0.1, 0, 0.3))
    turn = rotation_about((0, 0, 1), 0.3)
    for name in ("robot::arm::upper", "robot::arm::lower"):
        np.testing.assert_allclose(
            after[name].position, shoulder + turn @ (before[name].position - shoulder), atol=1e-14
        )
        np.testing.assert_allclose(after[name].rotation, turn @ before[name].rotation, atol=1e-14)
    assert next(mechanism.joints()).limits == ((-1.0, 2.0),)


def test_included_models_nest_under_their_name() -> None:
    mechanism = load(MODELS / "nested_include.sdf")
    assert list(mechanism.coordinate_names) == [
        "rail",
        "swing_left",
        "left::flex",
        "swing_right",
        "right::flex",
    ]
    poses = placements(mechanism)
    np.testing.assert_allclose(poses["left::rod"].position, [0, 1, -0.5], atol=1e-15)
    # placement_frame: the pivot, 0.5 m above the rod in its turned axes, is what sits at (0, −1, 0)
    np.testing.assert_allclose(poses["right::rod"].apply((0, 0, 0.5)), [0, -1, 0], atol=1e-15)
    # use_parent_model_frame: the axis is x of the model, the link is turned by 0.7 about z
    flex = next(j for j in mechanism.joints() if j.name == "left::flex")
    np.testing.assert_allclose(flex.axis, [np.cos(0.7), -np.sin(0.7), 0], atol=1e-15)


@pytest.mark.parametrize(
    ("version", "expected"), [("1.4", [1, 0, 0]), ("1.5", [0, 1, 0]), ("1.7", [0, 1, 0])]
)
def test_axes_were_in_model_axes_before_1_5(version: str, expected: list[float], tmp_path: Path) -> None:
    link = f'<link name="a"><pose>0 0 0 0 0 {np.pi / 2}</pose></link>'
    hinge = joint("j", "revolute", "world", "a", "<axis><xyz>1 0 0</xyz></axis>")
    mechanism = load(model(link + hinge, tmp_path, version))
    world_axis = placements(mechanism)["a"].rotation @ next(mechanism.joints()).axis
    np.testing.assert_allclose(world_axis, expected, atol=1e-15)


def test_inertial_pose_turns_the_inertia(tmp_path: Path) -> None:
    moments = "<inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz></inertia>"
    inertial = f"<inertial><pose>1 2 3 0 0 {np.pi / 2}</pose><mass>4</mass>{moments}</inertial>"
    body = f'<link name="a">{inertial}</link>' + joint("j", "revolute", "world", "a")
    a = load(model(body, tmp_path)).bodies["a"]
    np.testing.assert_allclose(a.com, [1, 2, 3])
    np.testing.assert_allclose(a.inertia, np.diag([2, 1, 2.5]), atol=1e-15)


# --- joints ----------------------------------------------------------------------------------------


def test_every_kind_of_joint() -> None:
    mechanism = load(MODELS / "joint_kinds.sdf")
    joints = {j.name: j for j in mechanism.joints()}
    kinds = {name: j.kind for name, j in joints.items()}
    assert kinds == {
        "zoo": "free",
        "ball": "spherical",
        "cardan": "universal",
        "wheel.angle1": "revolute",
        "wheel.angle2": "revolute",
        "thread": "screw",
        "old_thread": "screw",
        "rail": "prismatic",
        "shaft1": "revolute",
        "shaft2": "revolute",
    }
    assert joints["thread"].pitch == 0.004
    assert joints["old_thread"].pitch == pytest.approx(2 * np.pi / 1000)
    assert joints["cardan"].damping == (0.3, 0.0)
    assert joints["cardan"].limits == (None, (-1.0, 1.0))
    assert (joints["wheel.angle1"].stiffness, joints["wheel.angle2"].stiffness) == (5.0, 0.0)
    assert (joints["rail"].stiffness, joints["rail"].spring_reference) == (40.0, (0.2,))
    assert outcome(mechanism, "joint friction", "rail")[0] is Outcome.KEPT
    hub = placements(mechanism)["hub"]
    np.testing.assert_allclose(hub.position, [0, 0, 3])
    np.testing.assert_allclose(hub.rotation, rotation_of_rpy((0.1, 0.2, 0.3)), atol=1e-14)


def test_mimic_and_gearbox_are_couplings() -> None:
    mechanism = load(MODELS / "joint_kinds.sdf")
    system = System(mechanism)
    names = list(system.coordinate_names)
    q = system.neutral()
    shaft1 = 0.4
    q[names.index("shaft1")] = shaft1
    q[names.index("rail")] = 0.05 * (shaft1 - 0.3) + 0.01
    # θ2 = −3 θ1, and the file's shaft2 turns the hub relative to gear 2
    q[names.index("shaft2")] = 3 * shaft1
    np.testing.assert_allclose(system.constraint_residual(q), 0.0, atol=1e-15)
    hub, gear = (placements(mechanism, q)[name].rotation for name in ("hub", "gear2"))
    np.testing.assert_allclose(hub.T @ gear, rotation_about((0, 0, 1), -3 * shaft1), atol=1e-14)


def test_a_reversed_joint_keeps_the_sign_of_its_coordinate() -> None:
    """The child's motion relative to the parent, computed here from the file, is the same at any q."""
    mechanism = load(MODELS / "reversed.sdf")
    coordinates = dict(zip(mechanism.coordinate_names, (0.7, -0.3, 2.0, 0.4, -0.9), strict=True))
    start, now = placements(mechanism), placements(mechanism, np.array(list(coordinates.values())))
    x, y, z = np.eye(3)
    along = np.array([1.0, 0, 1]) / np.sqrt(2)
    pitch = 2 * np.pi / 20
    motions = {
        ("a", "anchor"): Pose(np.zeros(3), rotation_about(y, coordinates["hinge"])),
        ("b", "a"): Pose(coordinates["rail"] * along),
        ("c", "b"): Pose(
            pitch * coordinates["thread"] / (2 * np.pi) * z, rotation_about(z, coordinates["thread"])
        ),
        ("d", "c"): Pose(
            np.zeros(3),
            rotation_about(x, coordinates["cardan.angle1"]) @ rotation_about(y, coordinates["cardan.angle2"]),
        ),
    }
    for (parent, child), motion in motions.items():  # the joint's frame is the child's, at the start
        expected = start[parent].inverse() @ start[child] @ motion
        found = now[parent].inverse() @ now[child]
        np.testing.assert_allclose(found.position, expected.position, atol=1e-14, err_msg=parent)
        np.testing.assert_allclose(found.rotation, expected.rotation, atol=1e-14, err_msg=parent)
    assert next(mechanism.joints()).limits == ((-0.5, 2.0),)


def test_parts_without_a_joint_to_the_world_float(tmp_path: Path) -> None:
    body = LINK.format("a", 0) + LINK.format("b", 1) + LINK.format("c", 2) + joint("j", "revolute", "a", "b")
    path = model(body, tmp_path, name="raft")
    mechanism = load(path)
    assert [(j.name, j.kind) for j in mechanism.joints()] == [
        ("raft", "free"),
        ("j", "revolute"),
        ("c", "free"),
    ]
    np.testing.assert_allclose(placements(mechanism)["c"].position, [2, 0, 0])
    path.write_text(path.read_text().replace('name="raft"', 'name="raft" canonical_link="b"'))
    assert [j.name for j in load(path).joints()] == ["raft", "j", "c"]
    assert load(path).bodies["b"].joints[0].kind == "free"


# --- errors ----------------------------------------------------------------------------------------

HINGE = LINK.format("a", 0) + joint("j", "revolute", "world", "a")
CIRCLE = '<frame name="f"><pose relative_to="g"/></frame><frame name="g"><pose relative_to="f"/></frame>'
PLACED = '<pose relative_to="a"/></frame>'
ATTACHED = f'<frame name="f" attached_to="g">{PLACED}<frame name="g" attached_to="f">{PLACED}'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LINK.format("arm", 0) + joint("j", "revolute", "world", "amr"), "child of joint 'j'.*'amr'.*'arm'"),
        (LINK.format("a", 0) * 2, "name 'a' is given to a link and to a link"),
        (HINGE + '<frame name="a"/>', "name 'a' is given to a link and to a frame"),
        (HINGE + CIRCLE, "relative_to is circular: f -> g -> f"),
        (HINGE + ATTACHED, "attached_to is circular: f -> g -> f"),
        (HINGE.replace("<xyz>0 1 0</xyz>", "<xyz>0 0 0</xyz>"), "joint 'j'.*zero length"),
        (HINGE.replace("<xyz>0 1 0</xyz>", "<xyz>0 1</xyz>"), "joint 'j'.*xyz must be 3 numbers"),
        (HINGE.replace("0 0 0 0 0 0</pose>", "0 0 zero 0 0 0</pose>"), "link 'a'.*pose.*6 numbers"),
        ('<link name="a"><inertial><mass>x</mass></inertial></link>', "'a'.*<mass> must be a number"),
        (LINK.format("a", 0) + joint("j", "revolute", "a", "a"), "parent and child are the same link"),
        (LINK.format("a", 0) + '<joint name="j" type="fixed"><child>a</child></joint>', "needs <parent>"),
        ("<link/>", "<link> needs a name"),
        ("", "model 'm': has no link|no movable"),
    ],
)  # fmt: skip
def test_errors_name_the_element(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=message):
        load(model(body, tmp_path)).check()


def test_unknown_names_come_with_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load(model(LINK.format("arm", 0) + joint("j", "revolute", "world", "amr"), tmp_path))
    assert caught.value.valid == ("arm", "j")
    assert "Did you mean 'arm'?" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<sdf version="1.9">\n<model name="m">\n</sdf>', "malformed XML at line 3"),
        ("<robot/>", "root element of an SDF file is <sdf>"),
        ("<sdf/>", "version such as '1.11'"),
        ('<sdf version="1.9"/>', "no <world> and no <model>"),
        ('<sdf version="1.9"><world name="a"/><world name="b"/></sdf>', "2 worlds"),
    ],
)
def test_broken_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.sdf"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=message):
        load(path)
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "missing.sdf")


@pytest.mark.parametrize(
    ("extra", "kind", "message"),
    [
        (joint("odd", "spiral", "world", "a"), "joint", "unknown joint type 'spiral'.*'revolute'"),
        (joint("odd", "gearbox", "world", "a"), "gearbox", "no revolute joint along its <axis>"),
        ('<link name="odd"><gravity>false</gravity></link>', "link gravity", "gravity is off"),
        ('<include merge="true"><uri>odd</uri></include>', "include", "no such file or folder"),
        ("<include><uri>model://odd</uri></include>", "include", "no such file or folder"),
        ("<include><uri>https://odd</uri></include>", "include", "only relative paths"),
    ],
)
def test_what_cannot_be_kept_is_refused(extra: str, kind: str, message: str, tmp_path: Path) -> None:
    path = model(HINGE + extra, tmp_path)
    with pytest.raises((UnsupportedElementError, ModelFileError), match=message):
        load(path)
    mechanism = load(path, strict=False)
    assert [entry.kind for entry in mechanism.report.left_out] == [kind]
    assert "j" in mechanism.coordinate_names


def test_a_loop_of_includes_is_an_error(tmp_path: Path) -> None:
    path = model("<include><uri>m.sdf</uri></include>", tmp_path)
    with pytest.raises(ModelError, match="includes itself"):
        load(path)


def test_an_included_folder_names_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "model.config").write_text("<model><name>part</name><sdf version='1.11'>part.sdf</sdf></model>")
    model(LINK.format("rod", 0), folder, name="part")
    body = "<include><uri>model://part</uri></include>" + joint("j", "revolute", "world", "part::rod")
    assert list(load(model(body, tmp_path)).bodies) == ["part::rod"]


# --- sensors ---------------------------------------------------------------------------------------


def test_an_imu_measures_what_mujoco_measures(tmp_path: Path) -> None:
    """On two hinges, turned and off the frames of its link; the noise is recorded where all axes have the same."""
    noise = "".join(
        f"<{axis}><noise type='gaussian'><stddev>0.01</stddev></noise></{axis}>" for axis in "xyz"
    )
    imu = (
        '<sensor name="imu" type="imu"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>'
        f"<imu><angular_velocity>{noise}</angular_velocity></imu></sensor>"
    )
    pose = "<pose>{} 0 1 0 0 0</pose>"
    inertial = (
        "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial>"
    )
    body = (
        f'<link name="a">{pose.format(0)}{inertial}</link><link name="b">{pose.format(0.5)}{inertial}{imu}</link>'
        + joint("j", "revolute", "world", "a", "<axis><xyz>0 1 0</xyz></axis>")
        + joint("k", "revolute", "a", "b", "<axis><xyz>0 0 1</xyz></axis>")
    )
    mechanism = load(model(body, tmp_path))
    w, x, y, z = Pose.of((0, 0, 0), rpy=(0.4, 0.5, 0.6)).quaternion
    weight = '<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.2"/>'
    theirs = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 -9.8"/><worldbody><body pos="0 0 1">{weight}<joint axis="0 1 0"/>'
        f'<body pos="0.5 0 0">{weight}<joint axis="0 0 1"/><site name="s" pos="0.1 0.2 0.3" quat="{w} {x} {y} {z}"/>'
        '</body></body></worldbody><sensor><gyro site="s"/><accelerometer site="s"/></sensor></mujoco>'
    )
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = [0.3, -0.7], [1.1, 0.4]
    mujoco.mj_forward(theirs, data)
    system = System(mechanism)
    readings = system.sensors(data.qpos, data.qvel)
    ours = np.concatenate([readings["b/imu.gyro"], readings["b/imu.accelerometer"]])
    np.testing.assert_allclose(ours, data.sensordata, atol=1e-12)
    assert (mechanism.sensors["b/imu.gyro"].noise, mechanism.sensors["b/imu.accelerometer"].noise) == (
        0.01,
        0.0,
    )
