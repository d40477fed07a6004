"""Loops in URDF files beyond URDF+: <loop_joint>, links with several parents, and what is for Gazebo alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from cad_models import CAD, four_bar
from sarrus.base.errors import ModelFileError, UnsupportedElementError
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.report import Outcome

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
FIVE_BAR = CAD / "onshape_five_bar"
REVOLUTE = {"closing": "revolute"}


def test_loop_joint_is_its_closure(tmp_path: Path) -> None:
    """The same loop as a <loop> of URDF+; its second end as Isaac Sim's page has it."""
    loop = sr.load(CAD / "isaac_four_bar.urdf").closures["knuckle"]
    assert (loop.kind, loop.body1, loop.body2) == ("revolute", "coupler", "rocker")
    np.testing.assert_array_equal(loop.axis1, [0, 1, 0])
    text = (CAD / "isaac_four_bar.urdf").read_text()
    start, end = text.index("<loop_joint name"), text.index("</loop_joint>") + len("</loop_joint>")
    plus = (
        '<loop name="knuckle" type="revolute"><predecessor link="coupler"><origin xyz="0.3 0 0.1"/></predecessor>'
        '<successor link="rocker"><origin xyz="0 0 0.2"/></successor><axis xyz="0 1 0"/></loop>'
    )
    same = sr.load(four_bar(tmp_path, text[start:end], plus)).closures["knuckle"]
    for one, two in ((loop.pose1, same.pose1), (loop.pose2, same.pose2)):
        np.testing.assert_array_equal(one.position, two.position)
    assert sr.load(four_bar(tmp_path, "<link2", "<link1")).closures["knuckle"].body2 == "rocker"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '<axis xyz="0 1 0"/>\n  </loop_joint>',
            "</loop_joint>",
            "loop_joint 'knuckle' cannot be kept.*no <axis>",
        ),
        (
            'type="revolute">\n    <link1',
            'type="hinge"><link1',
            "loop_joint 'knuckle': unknown type 'hinge'",
        ),
        (
            '<link2 link="rocker"',
            '<link2 link="roker"',
            "link2: unknown frame 'roker'. Did you mean 'rocker'",
        ),
        ('<link2 link="rocker" xyz="0 0 0.2" rpy="0 0 0"/>', "", "needs one <link1 link=…> and one <link2"),
        (
            '<link2 link="rocker" xyz="0 0 0.2"',
            '<link2 link="rocker" xyz="0 0"',
            "link2 xyz must be 3 numbers",
        ),
        ("</loop_joint>", "<child_origin/></loop_joint>", "unknown element 'child_origin'"),
    ],
)
def test_wrong_loop_joints(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((ModelFileError, UnsupportedElementError), match=message):
        sr.load(four_bar(tmp_path, old, new))


PLUGINS = {
    "Gazebo classic": "<joint>pin</joint><child>rocker</child><parent>coupler</parent>",
    "Gazebo Sim": "<parent_link>coupler</parent_link><child_link>rocker</child_link><child_model>me</child_model>",
    "mimic": "<joint>crank_joint</joint><mimicJoint>rocker_joint</mimicJoint><multiplier>2</multiplier>",
}


@pytest.mark.parametrize("kind", PLUGINS)
def test_plugins_that_join_are_refused(kind: str, tmp_path: Path) -> None:
    text = (CAD / "isaac_four_bar.urdf").read_text()
    loop = text[text.index("<loop_joint name") : text.index("</robot>")]
    plugin = f'<gazebo><plugin name="closer" filename="closer.so">{PLUGINS[kind]}</plugin></gazebo>'
    file = four_bar(tmp_path, loop, plugin)
    with pytest.raises(UnsupportedElementError, match="plugin 'closer' cannot be kept"):
        sr.load(file)
    report = sr.load(file, strict=False).report
    assert [entry.name for entry in report.left_out if entry.kind == "plugin"] == ["closer"]


def test_plugins_whose_work_is_done_are_set_aside(tmp_path: Path) -> None:
    """Beside a closure of the two links, and beside a mimic of the joint."""
    more = "".join(f'<gazebo><plugin name="{kind}">{PLUGINS[kind]}</plugin></gazebo>' for kind in PLUGINS)
    file = four_bar(tmp_path, "</robot>", f"{more}</robot>")
    file.write_text(
        file.read_text().replace('<limit lower="-1.4"', '<mimic joint="crank_joint"/><limit lower="-1.4"')
    )
    report = sr.load(file).report
    aside = [entry.name for entry in report.of(Outcome.ASIDE) if entry.kind == "plugin"]
    assert aside == ["Gazebo classic", "Gazebo Sim"]


@pytest.mark.parametrize(
    "ends",
    ['<parent link="coupler"/><child link="rocker"/>', "<parent>coupler</parent><child>rocker</child>"],
)
def test_joints_in_gazebo(ends: str, tmp_path: Path) -> None:
    """Refused alone, set aside beside a closure of the two links."""
    joint = f'<gazebo><joint name="pin" type="revolute">{ends}</joint></gazebo></robot>'
    entries = sr.load(four_bar(tmp_path, "</robot>", joint)).report.aside
    assert "joined by a closure" in next(entry.reason for entry in entries if entry.name == "pin")
    text = (CAD / "isaac_four_bar.urdf").read_text()
    alone = four_bar(tmp_path, text[text.index("<loop_joint name") :], joint)
    with pytest.raises(
        UnsupportedElementError, match=r"<joint> 'pin' cannot be kept: it joins 'coupler' and 'rocker'"
    ):
        sr.load(alone)


def test_gazebo_four_bar_without_loops_is_refused() -> None:
    with pytest.raises(
        UnsupportedElementError, match=r"joins 'rocker' and 'rocker_half' in Gazebo.*with loops="
    ):
        sr.load(CAD / "gazebo_four_bar.sdf")


def test_a_ball_joint_in_urdf(tmp_path: Path) -> None:
    """onshape-to-robot writes type="ball", which is none of URDF's."""
    file = four_bar(tmp_path, 'name="coupler_joint" type="continuous"', 'name="coupler_joint" type="ball"')
    kinds = {joint.name: joint.kind for joint in sr.load(file).joints()}
    assert kinds["coupler_joint"] == "spherical"


def test_friction_that_no_reader_reads(tmp_path: Path) -> None:
    """onshape-to-robot writes <joint_properties friction=…/>, which URDF has not."""
    report = sr.load(FIVE_BAR / "robot.urdf", loops=REVOLUTE).report
    entries = [entry for entry in report.left_out if entry.kind == "joint <joint_properties>"]
    assert [entry.name for entry in entries] == ["passive_left", "passive_right"]
    assert "<dynamics friction" in entries[0].reason


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("planar", "planar"),
        ("ball", "point"),
        ("fixed", "weld"),
    ],
)
def test_a_second_parent_is_a_closure(given: str, kind: str, tmp_path: Path) -> None:
    """Its frame is that of the child link; frames 1 and 2 are together where the file has the two links."""
    text = (CAD / "isaac_four_bar.urdf").read_text()
    second = (
        f'<joint name="knuckle" type="{given}"><origin xyz="0.3 0 -0.1" rpy="0 0 0.2"/><parent link="coupler"/>'
        '<child link="rocker"/><axis xyz="0 1 0"/></joint></robot>'
    )
    file = four_bar(tmp_path, text[text.index("<loop_joint name") :], second)
    mechanism = sr.load(file)
    closure = mechanism.closures["knuckle"]
    assert (closure.kind, closure.body1, closure.body2) == (kind, "coupler", "rocker")
    system = sr.System(mechanism)
    places = [
        row.rpartition(".")[2] in ("x", "y", "z", "p1", "p2", "height") for row in system.constraint_names
    ]
    assert np.abs(system.constraint_residual(system.neutral())[places]).max() < 1e-15
    np.testing.assert_allclose(closure.pose1.rotation, Pose.of((0, 0, 0), rpy=(0, 0, 0.2)).rotation)
    entry = next(entry for entry in mechanism.report if entry.name == "knuckle")
    assert entry.reason == f"link 'rocker' has another parent: a {kind} closure"
    with pytest.raises(ModelFileError, match="joint 'knuckle': link 'rocker' has another parent"):
        sr.load(file, strict=True)


SECOND = '<joint name="second" type="{}"><parent link="coupler"/><child link="rocker"/>{}</joint></robot>'


def test_what_a_second_parent_loses(tmp_path: Path) -> None:
    losses = '<limit lower="-1" upper="1"/><dynamics damping="1"/>'
    report = sr.load(four_bar(tmp_path, "</robot>", SECOND.format("revolute", losses))).report
    reasons = [entry.reason for entry in report.left_out if entry.name == "second"]
    assert reasons == ["its closure cannot keep <limit>, <dynamics>"]


def test_what_closes_nothing_and_what_follows_nothing_is_refused(tmp_path: Path) -> None:
    floating = four_bar(tmp_path, "</robot>", SECOND.format("floating", ""))
    with pytest.raises(
        UnsupportedElementError, match="joint 'second' cannot be kept: link 'rocker' has another"
    ):
        sr.load(floating)
    mimic = four_bar(tmp_path, "</robot>", SECOND.format("revolute", '<mimic joint="crank_joint"/>'))
    with pytest.raises(
        UnsupportedElementError, match="mimic 'second' cannot be kept: a closure has no coordinate"
    ):
        sr.load(mimic)


def test_links_in_a_circle_are_named(tmp_path: Path) -> None:
    back = '<joint name="back" type="revolute"><parent link="coupler"/><child link="base"/></joint></robot>'
    with pytest.raises(
        ModelFileError, match=r"the links ('\w+'(, )?){3} are each other's parents in a circle"
    ) as caught:
        sr.load(four_bar(tmp_path, "</robot>", back))
    assert all(repr(link) in str(caught.value) for link in ("base", "crank", "coupler"))
