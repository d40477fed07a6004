"""Planar loops whose frames are apart across the plane: ``keep_offset`` keeps that, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus import Status
from sarrus.base.errors import ArgumentError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
LENGTHS = (0.12, 0.2, 0.15)  # of a knee: thigh, coupler, rocker on a base of 0.18
BASE, GUESS = 0.18, [1.0, -0.4, 1.6]


def knee(
    offset: float, turn: np.ndarray, unit: float = 1.0, kind: str = "revolute", **options: bool
) -> sr.System:
    """A planar four-bar whose coupler and rocker are ``offset`` apart along the axes of its hinges, zeros along x."""
    mechanism = sr.Mechanism("knee", gravity=tuple(turn @ [0, 0, -9.81 * unit]))
    for name, parent, x, length in zip(
        ("thigh", "coupler", "rocker"), ("world", "thigh", "world"), (0.0, LENGTHS[0], BASE), LENGTHS
    ):
        inertia = turn @ np.diag([1e-4, 1e-3, 1e-3]) @ turn.T * unit**2
        mechanism.add_body(name, 1.0, tuple(turn @ [length / 2 * unit, 0, 0]), inertia)
        place = tuple(turn @ [x * unit, 0, 0])
        mechanism.add_joint(name, "revolute", parent, name, axis=turn @ [0, -1, 0], parent_pose=place)
    ends = (turn @ [LENGTHS[1] * unit, offset * unit, 0], turn @ [LENGTHS[2] * unit, 0, 0])
    poses = {f"pose{k}": tuple(end) for k, end in enumerate(ends, 1)}
    mechanism.add_closure("knee", kind, "coupler", "rocker", axis=turn @ [0, 1, 0], **poses, **options)
    return sr.System(mechanism)


def swing(system: sr.System) -> tuple[np.ndarray, sr.Trajectory]:
    start = system.assemble(GUESS, locked=["thigh"]).q
    return start, sr.simulate(system, start, duration=0.5)


@pytest.mark.parametrize("kind", ["revolute", "point", "weld"])
def test_the_motion_is_that_of_the_loop_in_one_plane(kind: str) -> None:
    """In any unit and plane; a weld of two hinges would leave nothing to move, so one of the links is long enough."""
    rng = np.random.default_rng(5)
    for unit in (1.0, 1e3):
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        turn *= np.sign(np.linalg.det(turn))
        if kind == "weld":  # does not move: closing it is all there is
            found = knee(0.002, turn, unit, kind, keep_offset=True).assemble(GUESS, throw=False)
            flat = knee(0.0, turn, unit, kind).assemble(GUESS, throw=False)
            assert found.status is flat.status
            assert not found.unmoved
            continue
        apart, flat = knee(0.002, turn, unit, kind, keep_offset=True), knee(0.0, turn, unit, kind)
        (start, motion), (known, exact) = swing(apart), swing(flat)
        assert motion.status is Status.OK
        assert motion.residual.max() < 1e-9 * unit
        np.testing.assert_allclose(start, known, rtol=0, atol=1e-12)
        np.testing.assert_allclose(motion.q[-1], exact.q[-1], rtol=0, atol=1e-7)
        assert apart.assemble(GUESS).status is Status.OK


def test_without_it_the_loop_cannot_close_and_the_message_says_how() -> None:
    found = knee(0.002, np.eye(3)).assemble(GUESS, throw=False)
    assert found.status is Status.NOT_CLOSED
    assert found.unmoved == ("knee.y",)
    assert "keep_offset=True in sr.load or add_closure keeps the modelled offset" in found.message


def test_what_joints_can_close_they_still_have_to() -> None:
    """The reference pose is open by 10 mm in the plane, of which nothing is kept."""
    system = knee(0.002, np.eye(3), keep_offset=True)
    assert np.abs(system.constraint_residual(system.neutral())).max() > 0.009
    start = system.assemble(GUESS).q
    pins = [np.array(p) for p in ((LENGTHS[1], 0.002, 0), (LENGTHS[2], 0, 0))]
    places, turns = system.body_placements(start)
    bodies = [list(system.mechanism.bodies).index(name) for name in ("coupler", "rocker")]
    apart = np.subtract(*(places[b] + turns[b] @ pin for b, pin in zip(bodies, pins)))
    np.testing.assert_allclose(apart, [0, 0.002, 0], atol=1e-12)


def test_a_hinge_in_another_direction_is_kept_too() -> None:
    """Of an axis that is off by 0.02 rad along the row that no joint turns."""
    mechanism = sr.Mechanism("tilted", gravity=(0, 0, -9.81))
    mechanism.add_body("bar", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_joint("slide", "prismatic", "world", "bar", axis=(1, 0, 0))
    tilt = (np.sin(0.02), 0.0, np.cos(0.02))
    mechanism.add_closure("guide", "cylindrical", "world", "bar", axis=(1, 0, 0), keep_offset=True)
    mechanism.add_closure("post", "planar", "world", "bar", axis=(0, 0, 1), axis2=tilt, keep_offset=True)
    system = sr.System(mechanism)
    assert system.assemble([0.3]).status is Status.OK
    assert sr.mobility(system, [0.3]).dof == 1


URDF = """<robot name="knee"><link name="base"/>{links}
<joint name="thigh" type="continuous"><parent link="base"/><child link="thigh"/><axis xyz="0 -1 0"/></joint>
<joint name="coupler" type="continuous"><parent link="thigh"/><child link="coupler"/><origin xyz="0.12 0 0"/>
  <axis xyz="0 -1 0"/></joint>
<joint name="rocker" type="continuous"><parent link="base"/><child link="rocker"/><origin xyz="0.18 0 0"/>
  <axis xyz="0 -1 0"/></joint>{loop}</robot>"""
LINK = (
    '<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-3" '
    'iyz="0" izz="1e-3"/></inertial></link>'
)
LOOP = (
    '<loop_joint name="knee" type="revolute"><link1 link="coupler" xyz="0.2 0.002 0" rpy="0 0 0"/>'
    '<link2 link="rocker" xyz="0.15 0 0" rpy="0 0 0"/><axis xyz="0 1 0"/></loop_joint>'
)
YAML = {
    "name": "knee",
    "kind": "revolute",
    "frame1": {"frame": "coupler", "position": [0.2, 0.002, 0]},
    "frame2": {"frame": "rocker", "position": [0.15, 0, 0]},
    "axis": [0, 1, 0],
}
MJCF = """<mujoco><worldbody>
<body name="thigh"><joint name="thigh" axis="0 -1 0"/><inertial pos="0.06 0 0" mass="1" diaginertia="1e-4 1e-3 1e-3"/>
  <body name="coupler" pos="0.12 0 0"><joint name="coupler" axis="0 -1 0"/>
    <inertial pos="0.1 0 0" mass="1" diaginertia="1e-4 1e-3 1e-3"/><site name="one" pos="0.2 0.002 0"/></body></body>
<body name="rocker" pos="0.18 0 0"><joint name="rocker" axis="0 -1 0"/>
  <inertial pos="0.075 0 0" mass="1" diaginertia="1e-4 1e-3 1e-3"/><site name="two" pos="0.15 0 0"/></body></worldbody>
<equality><connect name="knee" site1="one" site2="two"/></equality></mujoco>"""


def urdf(folder: Path, loop: str = LOOP) -> Path:
    links = "".join(LINK.format(name, x / 2) for name, x in zip(("thigh", "coupler", "rocker"), LENGTHS))
    file = folder / "knee.urdf"
    file.write_text(URDF.format(links=links, loop=loop))
    return file


@pytest.mark.parametrize("given", [True, "knee", ["knee"]])
@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_files_keep_offsets(form: str, given: bool | str | list[str], tmp_path: Path) -> None:
    file = urdf(tmp_path)
    if form == "mjcf":
        file = tmp_path / "knee.xml"
        file.write_text(MJCF)
    expected = swing(knee(0.0, np.eye(3)))[1].q[-1]
    assert sr.System(sr.load(file)).assemble(GUESS, throw=False).unmoved == ("knee.y",)
    system = sr.System(sr.load(file, keep_offset=given))
    np.testing.assert_allclose(swing(system)[1].q[-1], expected, rtol=0, atol=1e-7)


def test_loop_files_keep_offsets(tmp_path: Path) -> None:
    file = urdf(tmp_path, "")
    assert sr.System(sr.load(file, loops=[YAML])).assemble(GUESS, throw=False).status is Status.NOT_CLOSED
    mechanism = sr.load(file, loops=[{**YAML, "keep_offset": True}])
    assert mechanism.closures["knee"].keep_offset
    assert sr.System(mechanism).assemble(GUESS).status is Status.OK


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="unknown closure 'kne'"):
        sr.load(urdf(tmp_path), keep_offset=["kne"])
    with pytest.raises(ArgumentError, match="keep_offset"):
        sr.load(urdf(tmp_path), keep_offset=3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="keep_offset must be True or False, got 'y'"):
        knee(0.0, np.eye(3), keep_offset="y")  # type: ignore[arg-type]


def test_descriptions_keep_it_and_mjcf_refuses_it(tmp_path: Path) -> None:
    system = knee(0.002, np.eye(3), kind="point", keep_offset=True)
    motion = swing(system)[1]
    motion.save(tmp_path / "knee.nc")
    again = sr.Trajectory.load(tmp_path / "knee.nc")
    assert again.mechanism is not None
    assert again.mechanism.closures["knee"].keep_offset
    with pytest.raises(ModelError, match=r"closure 'knee'.*keeps the offset of its frames"):
        system.mechanism.to_mjcf(tmp_path / "knee.xml")
