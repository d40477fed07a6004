"""URDF, URDF+ and loop files: every URDF row of docs/importers.md, the data that arrives, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from importers_table import check_row, table_rows
from sarrus.base.errors import ArgumentError, ModelError, ModelFileError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load

MODELS = Path(__file__).parent / "models"
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(joint: str, more: str = "", link: str = INERTIAL) -> str:
    """A robot of two moving links: hinge q on link a, and ``joint`` from a to b."""
    return (
        f'<robot name="r"><link name="base"/><link name="a">{INERTIAL}</link><link name="b">{link}</link>'
        '<joint name="q" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>'
        f"{joint}{more}</robot>"
    )


def joint(kind: str, inside: str = "") -> str:
    return f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</joint>'


def mark(link: str, end: object) -> str:
    """A frame closing_pin_END on a link."""
    name = f"closing_pin_{end}"
    return (
        f'<link name="{name}"/><joint name="{name}_frame" type="fixed"><parent link="{link}"/><child link="{name}"/>'
        "</joint>"
    )


LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
TRANSMISSION = (
    '<transmission name="t"><joint name="j"/><actuator name="m"><mechanicalReduction>4</mechanicalReduction>'
    "</actuator></transmission>"
)
LOOP = (
    '<loop name="l" type="revolute"><predecessor link="base"><origin xyz="0 1 0"/></predecessor>'
    '<successor link="b"/><axis xyz="0 0 1"/></loop>'
)
LOOP_JOINT = (
    '<loop_joint name="l" type="revolute"><link1 link="base" xyz="0 1 0"/><link2 link="b"/><axis xyz="0 0 1"/>'
    "</loop_joint>"
)
COUPLING = '<coupling name="c"><predecessor link="a"/><successor link="b"/><ratio value="6"/></coupling>'
MESH = '<collision><geometry><mesh filename="package://r/nowhere.stl"/></geometry></collision>'
BOX = '<collision><geometry><box size="1 1 1"/></geometry></collision>'

# id → (model, kind and name of the report's entry, options of load)
SNIPPETS: dict[str, tuple[str, str, str, dict[str, object]]] = {
    "urdf-revolute": (robot(joint("revolute", LIMIT)), "joint", "j", {}),
    "urdf-prismatic": (robot(joint("prismatic", LIMIT)), "joint", "j", {}),
    "urdf-fixed": (robot(joint("fixed")), "body", "b", {}),
    "urdf-floating": (robot(joint("floating")), "joint", "j", {}),
    "urdf-planar": (robot(joint("planar")), "joint", "j_TX", {}),
    "urdf-mimic": (
        robot(joint("continuous", '<mimic joint="q" multiplier="2" offset="0.5"/>')),
        "mimic",
        "j",
        {},
    ),
    "urdf-mimic-planar": (robot(joint("planar", '<mimic joint="q"/>')), "mimic", "j", {}),
    "urdf-friction": (robot(joint("continuous", '<dynamics friction="0.2"/>')), "joint friction", "j", {}),
    "urdf-effort": (robot(joint("revolute", LIMIT), TRANSMISSION), "transmission", "t", {}),
    "urdf-velocity": (robot(joint("revolute", LIMIT)), "joint limit", "velocity", {}),
    "urdf-safety": (
        robot(joint("continuous", '<safety_controller k_velocity="1"/>')),
        "joint <safety_controller>",
        "1",
        {},
    ),
    "urdf-inertia": (robot(joint("continuous")), "body", "b", {}),
    "urdf-odd-inertia": (
        robot(joint("continuous"), link=INERTIAL.replace('izz="1"', 'izz="3"')),
        "inertia",
        "b",
        {},
    ),
    "urdf-compiler": (
        robot(joint("continuous"), '<mujoco><compiler balanceinertia="true"/></mujoco>'),
        "<mujoco> compiler",
        "balanceinertia",
        {},
    ),
    "urdf-dangling": (
        robot(joint("continuous"), TRANSMISSION.replace('"j"', '"jj"')),
        "transmission",
        "t",
        {},
    ),
    "urdf-xml": (robot(joint("continuous"), "<!-- a -- b -->"), "XML", "model.urdf, line 1", {}),
    "urdf-transmission": (robot(joint("continuous"), TRANSMISSION), "transmission", "t", {}),
    "urdf-differential": (
        robot(
            joint("continuous"), '<transmission name="t"><joint name="q"/><joint name="j"/></transmission>'
        ),
        "transmission",
        "t",
        {},
    ),
    "urdf-ros2-control": (
        robot(
            joint("continuous"),
            '<ros2_control name="c"><joint name="j"><command_interface name="effort"/></joint>'
            "</ros2_control>",
        ),
        "ros2_control",
        "j",
        {},
    ),
    "urdf-gazebo": (robot(joint("continuous"), '<gazebo reference="a"/>'), "<gazebo>", "1", {}),
    "urdf-mesh": (robot(joint("continuous"), link=INERTIAL + MESH), "mesh", "1 shapes", {}),
    "urdf-no-inertial": (robot(joint("continuous"), link=BOX), "link", "b", {}),
    "urdf-loop": (robot(joint("continuous"), LOOP), "loop revolute", "l", {}),
    "urdf-coupling": (robot(joint("continuous"), COUPLING), "coupling", "c", {}),
    "urdf-loop-joint": (robot(joint("continuous"), LOOP_JOINT), "loop revolute", "l", {}),
    "urdf-loop-joint-axis": (
        robot(joint("continuous"), LOOP_JOINT.replace('<axis xyz="0 0 1"/>', "")),
        "loop_joint",
        "l",
        {},
    ),
    "urdf-closing-joint": (
        robot(joint("continuous"), joint("continuous").replace('"j"', '"c"').replace('"a"', '"base"')),
        "joint",
        "c",
        {},
    ),
    "urdf-marked": (robot(joint("continuous"), mark("base", 1) + mark("b", 2)), "loop", "pin", {}),
    "urdf-marked-axis": (
        robot(
            joint("continuous"),
            "".join(mark(*at) for at in (("base", 1), ("base", "1_z"), ("b", 2), ("b", "2_z"))),
        ),
        "loop revolute",
        "pin",
        {},
    ),
    "urdf-plugin": (
        robot(
            joint("continuous"),
            '<gazebo><plugin name="p"><parent>base</parent><child>b</child></plugin></gazebo>',
        ),
        "plugin",
        "p",
        {},
    ),
    "urdf-tendon-constraint": (
        robot(
            joint("continuous"),
            '<drake:tendon_constraint xmlns:drake="http://drake.mit.edu">'
            '<drake:tendon_constraint_joint name="j" a="2"/>'
            '<drake:tendon_constraint_upper_limit value="0.5"/></drake:tendon_constraint>',
        ),
        "drake:tendon_constraint",
        "tendon_constraint",
        {},
    ),
    "urdf-outside": (
        robot(joint("continuous"), '<gazebo reference="j"><springStiffness>3</springStiffness></gazebo>'),
        "<springStiffness>",
        "j",
        {},
    ),
    "urdf-joint-properties": (
        robot(joint("continuous", '<joint_properties friction="0.1"/>')),
        "joint <joint_properties>",
        "j",
        {},
    ),
    "urdf-fixed-frame": (
        robot(
            joint("continuous"), '<fixed_frame name="f"><parent link="a"/><origin xyz="1 0 0"/></fixed_frame>'
        ),
        "fixed_frame",
        "f",
        {},
    ),
    "urdf-reversed-limits": (
        robot(joint("revolute", '<limit lower="1" upper="-1"/>')),
        "joint limits",
        "j",
        {},
    ),
    "urdf-continuous-limits": (robot(joint("continuous", LIMIT)), "joint limits", "j", {}),
    "urdf-time-step": (
        robot(joint("continuous"), '<mujoco><option timestep="0.003"/></mujoco>'),
        "time step",
        "0.003 s",
        {},
    ),
    "urdf-ros2-mimic": (
        robot(
            joint("continuous"),
            '<ros2_control name="c"><joint name="j"><param name="mimic">q</param></joint></ros2_control>',
        ),
        "mimic",
        "j",
        {},
    ),
    "urdf-draft": (robot(joint("continuous"), '<loop_constraint name="l"/>'), "<loop_constraint>", "1", {}),
    "urdf-misplaced": (robot(joint("continuous"), link=INERTIAL + LOOP), "<loop>", "l", {}),
    "urdf-settings": (
        robot(joint("continuous"), "<gazebo><plugin><joint>q</joint></plugin></gazebo>"),
        "<joint>",
        "q",
        {},
    ),
    "urdf-part-inertial": (
        robot(joint("continuous"), link='<inertial><mass value="1"/></inertial>'),
        "inertial",
        "b",
        {},
    ),
    "urdf-mimic-fixed": (robot(joint("fixed", '<mimic joint="q"/>')), "mimic", "j", {}),
    "urdf-second-axis": (
        robot(joint("continuous", '<axis xyz="0 0 1"/><axis xyz="1 0 0"/>')),
        "joint <axis>",
        "1",
        {},
    ),
    "urdf-reduction": (
        robot(joint("continuous"), TRANSMISSION.replace(">4<", ">${ratio}<")),
        "transmission",
        "t",
        {},
    ),
    "urdf-inner-transmission": (
        robot(
            joint("continuous"),
            f'<ros2_control name="c"><hardware/>{TRANSMISSION}<joint name="j"/></ros2_control>',
        ),
        "transmission",
        "t",
        {},
    ),
    "urdf-empty-shape": (
        robot(joint("continuous"), link=INERTIAL + BOX.replace("1 1 1", "0 1 1")),
        "box",
        "1 shapes",
        {},
    ),
    "urdf-attribute": (
        robot(joint("continuous", '<origin quat_xyzw="0 0 0 1"/>')),
        "<origin> attribute",
        "j: quat_xyzw",
        {},
    ),
    "urdf-yaml": (
        robot(joint("continuous")),
        "loop point",
        "pin",
        {"loops": [{"name": "pin", "kind": "spherical", "frame1": "base", "frame2": "j"}]},
    ),
    "urdf-yaml-pairs": (
        robot(joint("continuous")),
        "loop weld",
        "base-b",
        {"loops": {"closed_loop": [["base", "b"]], "type": ["6d"], "name_mot": ["q"]}},
    ),
}


def test_table_and_snippets_agree() -> None:
    assert set(table_rows("urdf-")) == set(SNIPPETS)


@pytest.mark.parametrize("row", SNIPPETS)
def test_row_of_the_table(row: str, tmp_path: Path) -> None:
    xml, kind, name, options = SNIPPETS[row]
    file = tmp_path / "model.urdf"
    file.write_text(xml)
    check_row(file, table_rows("urdf-")[row], kind, name, **options)


def read(tmp_path: Path, xml: str, **options: object) -> Mechanism:
    file = tmp_path / "model.urdf"
    file.write_text(xml)
    return load(file, **options)


def test_five_bar_with_frame_pairs() -> None:
    m = load(MODELS / "five_bar.urdf", loops=MODELS / "five_bar_pairs.yaml")
    assert [j.name for j in m.joints()] == ["motor_left", "passive_left", "motor_right", "passive_right"]
    assert list(m.actuators) == ["motor_left", "motor_right"]
    (closure,) = m.closures.values()
    assert (closure.kind, closure.body1, closure.body2) == ("point", "loop_left", "loop_right")
    np.testing.assert_allclose(m.bodies["loop_left"].placement.position, [0.6, 0, 0])
    assert m.bodies["left_crank"].joints[0].damping == (0.2,)
    assert [s.kind for s in m.bodies["left_crank"].shapes] == ["box"]
    np.testing.assert_allclose(m.bodies["left_crank"].shapes[0].size, [0.2, 0.025, 0.025])
    assert not m.bodies["base"].shapes
    np.testing.assert_allclose(m.gravity, [0, 0, -9.81])


def test_five_bar_with_our_loop_file() -> None:
    m = load(MODELS / "five_bar.urdf", loops=MODELS / "five_bar_loops.yaml")
    tip = m.closures["tip"]
    assert (tip.kind, tip.body1, tip.body2) == ("revolute", "left_rod", "loop_right")
    np.testing.assert_allclose(tip.pose1.position, [0.6, 0, 0])
    assert list(m.actuators) == ["motor_left", "motor_right"]


def test_urdf_plus_leg() -> None:
    m = load(MODELS / "rotor_leg.urdf")
    loop = m.closures["rod_end"]
    assert (loop.kind, loop.body1, loop.body2) == ("revolute", "rod", "shank")
    np.testing.assert_allclose(loop.axis2, [0, 1, 0])
    terms = {t.coordinate: t.coefficients for t in m.couplings["gear"].terms}
    assert terms == {"hip": (0.0, 6.0), "rotor_joint": (0.0, -1.0)}
    assert list(m.actuators) == ["hip_drive"]


def test_coupling_sums_joints_from_the_common_ancestor(tmp_path: Path) -> None:
    m = read(tmp_path, robot(joint("continuous"), COUPLING.replace('link="a"', 'link="base"')))
    terms = {t.coordinate: t.coefficients[1] for t in m.couplings["c"].terms}
    assert terms == {"q": -1.0, "j": -1.0}


def test_mimic_is_a_coupling(tmp_path: Path) -> None:
    m = read(tmp_path, robot(joint("continuous", '<mimic joint="q" multiplier="2" offset="0.5"/>')))
    terms = {t.coordinate: t.coefficients for t in m.couplings["j_mimic"].terms}
    assert terms == {"j": (-0.5, 1.0), "q": (0.0, -2.0)}


def test_transmission_gear_and_effort(tmp_path: Path) -> None:
    motor = read(tmp_path, robot(joint("revolute", LIMIT), TRANSMISSION)).actuators["t"]
    assert motor.transmission == (("j", 4.0),)
    assert motor.force_limits == (-1.25, 1.25)


def test_floating_base(tmp_path: Path) -> None:
    m = read(tmp_path, robot(joint("continuous")), floating_base=True)
    first, *_ = m.joints()
    assert (first.name, first.kind) == ("root", "free")
    assert m.bodies["base"].joints[0] is first
    xml = robot(joint("continuous")).replace('"base"', '"world"')
    with pytest.raises(ArgumentError, match="'world', which is the ground"):
        read(tmp_path, xml, floating_base=True)
    assert [j.name for j in read(tmp_path, xml).joints()] == ["q", "j"]


def test_floating_joint_below_a_fixed_link_hangs_on_the_world(tmp_path: Path) -> None:
    xml = (
        f'<robot name="r"><link name="base"/><link name="a">{INERTIAL}</link><joint name="j" type="floating">'
        '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><parent link="base"/><child link="a"/></joint>'
        "</robot>"
    )
    m = read(tmp_path, xml)
    (free,) = m.joints()
    assert m.bodies["a"].parent == "world"
    np.testing.assert_allclose(m.bodies["a"].placement.rotation, np.eye(3))
    np.testing.assert_allclose(free.reference, [1, 2, 3, np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


def test_replaced_joints(tmp_path: Path) -> None:
    for kind, expected in {
        "SPHERICAL": [("j", "spherical")],
        "FIXED": [],
        "UJOINT_XY": [("j_X", "revolute"), ("j_Y", "revolute")],
        "UJOINT_ZX": [("j_Z", "revolute"), ("j_X", "revolute")],
        "UJOINT_ZY": [("j_Z", "revolute"), ("j_Y", "revolute")],
        "UJOINT_YX": [("j_Y", "revolute"), ("j_X", "revolute")],
        "UJOINT_XZ": [("j_X", "revolute"), ("j_Z", "revolute")],
    }.items():
        loops = {"joint_name": ["j"], "joint_type": [kind]}
        inside = '<axis xyz="1 0 0"/><dynamics damping="0.2"/>'
        m = read(tmp_path, robot(joint("continuous", inside)), loops=loops)
        assert [(j.name, j.kind) for j in m.bodies["b"].joints] == expected
        assert all(set(j.damping) == {0.2} for j in m.bodies["b"].joints)
        for letter, made in zip(kind.removeprefix("UJOINT_"), m.bodies["b"].joints):
            assert kind == "SPHERICAL" or made.axis["XYZ".index(letter)] == 1.0


def test_package_paths_are_searched_above_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for name in ("meshes", "urdf"):
        (folder / name).mkdir(parents=True)
    part = folder / "meshes" / "part.obj"
    part.write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    visual = '<visual><geometry><mesh filename="package://r/meshes/part.obj"/></geometry></visual>'
    m = read(folder / "urdf", robot(joint("continuous"), link=INERTIAL + visual))
    (shape,) = m.bodies["b"].shapes
    assert shape.file == str(part.resolve())


def test_user_file_is_not_changed() -> None:
    file = MODELS / "five_bar.urdf"
    before = file.read_bytes()
    load(file, loops=MODELS / "five_bar_pairs.yaml", floating_base=True)
    assert file.read_bytes() == before


def test_urdf_under_an_xml_suffix(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(robot(joint("continuous")))
    assert [j.name for j in load(file).joints()] == ["q", "j"]


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        (
            robot(joint("continuous")).replace('child link="b"', 'child link="zz"'),
            r"joint 'j'.*unknown link 'zz'",
        ),
        (
            robot(joint("continuous")).replace('<link name="b">', '<link name="a">'),
            r"link 'a' is defined 2 times",
        ),
        (robot(joint("hinge")), r"joint 'j': unknown type 'hinge'.*'revolute', 'continuous'"),
        (robot(joint("continuous", '<axis xyz="0 0 0"/>')), r"axis.*'j'"),
        (
            robot(joint("continuous"), LOOP.replace('"revolute"', '"hinge"')),
            r"loop 'l': unknown type 'hinge'",
        ),
        (robot(joint("continuous"), LOOP.replace('link="b"', 'link="zz"')), r"unknown frame 'zz'"),
        (robot(joint("continuous"), LOOP.replace("axis", "axle")), r"loop 'l': unknown element 'axle'"),
        (robot(joint("continuous"), LOOP.replace('"0 1 0"', '"0 1"')), r"origin xyz must be 3 numbers"),
        (
            robot(joint("continuous"), COUPLING.replace("ratio", "rate")),
            r"coupling 'c': unknown element 'rate'",
        ),
    ],
)
def test_bad_files_give_one_clear_line(tmp_path: Path, xml: str, text: str) -> None:
    with pytest.raises(ModelFileError, match=text) as caught:
        read(tmp_path, xml)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("yaml", "text"),
    [
        ("closed_loop: [[a, b]\n", r"malformed YAML at line 2"),
        ("closed_loop: [[a, nope]]", r"unknown frame 'nope'.*Known: "),
        ("closed_loop: [[a, b]]\ntype: ['4d']", r"'4d'.*must be '3d' or '6d'"),
        ("closed_loop: [[a, b]]\ntype: ['3d', '6d']", r"1 pairs and type 2 entries"),
        ("closed_loops: []", r"unknown key 'closed_loops'. Did you mean 'closed_loop'"),
        ("- {kind: hinge, frame1: a, frame2: b}", r"unknown kind 'hinge'"),
        ("- {kind: point, frame1: a}", r"'frame2' is missing"),
        ("- {kind: point, frame1: a, frame2: {frame: b, offset: 1}}", r"unknown key 'offset'"),
        ("joint_name: [j]\njoint_type: [HINGE]", r"unknown joint_type 'HINGE'"),
        ("just text", r"expected a list of loops or a mapping"),
    ],
)
def test_bad_loop_files_give_one_clear_line(tmp_path: Path, yaml: str, text: str) -> None:
    loops = tmp_path / "loops.yaml"
    loops.write_text(yaml)
    with pytest.raises(ModelError, match=text):
        read(tmp_path, robot(joint("continuous")), loops=loops)


def test_missing_loop_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        read(tmp_path, robot(joint("continuous")), loops=tmp_path / "none.yaml")
