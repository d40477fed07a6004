"""Exports from CAD programs in the layouts of exporters: loops as equalities, as marks, as elements of their own."""

from __future__ import annotations

from math import hypot, pi
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from cad_models import CAD
from sarrus.base.errors import ModelFileError, ModelWarning, UnsupportedElementError
from sarrus.base.status import Status
from sarrus.model.mechanism.pose import Pose

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
FIVE_BAR = CAD / "onshape_five_bar"
REVOLUTE = {"closing": "revolute"}
HALVES = [{"name": "halves", "kind": "weld", "frame1": "rocker", "frame2": "rocker_half"}]

# file → options of load, closures, rank, dof, how far printed digits leave the loops open [m, rad]
EXPORTS: dict[str, tuple[dict[str, object], list[str], int, int, float]] = {
    "onshape_five_bar/robot.xml": ({}, ["connect_0", "connect_1"], 2, 2, 1e-12),
    "onshape_five_bar/robot.urdf": ({"loops": REVOLUTE}, ["effector"], 2, 2, 1e-12),
    "onshape_five_bar/robot.sdf": ({"loops": REVOLUTE}, ["effector"], 2, 2, 1e-12),
    "onshape_3rrr.urdf": ({}, ["wrist_2", "wrist_3"], 4, 3, 5e-6),
    "onshape_3rrr.xml": ({}, [f"connect_{k}" for k in range(4)], 4, 3, 5e-6),
    "onshape_stewart.xml": (
        {},
        [f"connect_{k}" for k in range(5)],
        15,
        12,
        5e-6,
    ),  # six rods spin for themselves
    "onshape_slider_crank.xml": (
        {"loops": {"closing": {"cylinder": "prismatic"}}},
        ["cylinder"],
        2,
        1,
        1e-12,
    ),
    "isaac_four_bar.urdf": ({}, ["knuckle"], 2, 1, 1e-12),
    "fusion_geared_four_bar.xml": ({}, ["Revolute 5"], 3, 1, 1e-12),
    "gazebo_four_bar.sdf": ({"loops": HALVES}, ["halves"], 3, 1, 1e-12),
}


@pytest.mark.parametrize("file", EXPORTS)
def test_loops_close_and_stay_closed(file: str) -> None:
    options, closures, rank, dof, digits = EXPORTS[file]
    mechanism = sr.load(CAD / file, **options)
    assert list(mechanism.closures) == closures
    system = sr.System(mechanism)
    q = system.neutral()
    assert np.abs(system.constraint_residual(q)).max() < digits
    as_printed = system.forward_dynamics(q, np.zeros(system.nv))
    assert (as_printed.status, as_printed.rank) == (Status.OK, rank)
    closed = system.assemble(q)
    assert closed.residual < 1e-13
    assert np.abs(closed.q - q).max() < 100 * digits
    mobility = sr.mobility(system, closed.q)
    assert (mobility.rank, mobility.dof) == (rank, dof)
    v = system.project_velocity(closed.q, np.linspace(-1.0, 1.0, system.nv))
    run = sr.simulate(system, closed.q, v, duration=0.15)
    assert run.status is Status.OK
    assert run.residual.max() < 1e-12
    assert np.abs(run.q[-1] - run.q[0]).max() > 1e-3


@pytest.mark.parametrize("file", [file for file in EXPORTS if file.endswith(".xml") and "slider" not in file])
def test_equalities_are_those_of_mujoco(file: str) -> None:
    system = sr.System(sr.load(CAD / file))
    model = mujoco.MjModel.from_xml_path(str(CAD / file))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = system.move(system.neutral(), rng.uniform(-0.3, 0.3, system.nv))
        v = rng.uniform(-1.0, 1.0, system.nv)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        np.testing.assert_allclose(system.mass_matrix(q), full, atol=1e-12)
        np.testing.assert_allclose(system.bias_force(q, v), data.qfrc_bias, atol=1e-10)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        theirs = data.efc_J.reshape(-1, model.nv)[rows]
        ours = system.constraint_jacobian(q)
        assert ours.shape == theirs.shape
        # the carriers are fixed, so that rows agree but for their sign
        signs = np.sign(np.sum(ours * theirs, axis=1))
        np.testing.assert_allclose(signs[:, None] * ours, theirs, atol=1e-10)
        np.testing.assert_allclose(signs * system.constraint_residual(q), data.efc_pos[rows], atol=1e-10)


def printed(number: float) -> float:
    return float(f"{number:g}")


def five_bar(friction: float, gravity: float, frame_mass: float) -> sr.Mechanism:
    """The five-bar of the files, with the digits that they print.

    ``friction`` is that of the passive joints; SDF has a ``gravity`` of its own; frames of URDF are links with a mass.
    """
    m = sr.Mechanism("five_bar", gravity=(0.0, 0.0, -gravity))
    upright = Pose.of((0.0, 0.0, 0.0), rpy=(printed(pi / 2), 0.0, 0.0))
    # start of the crank, the ways along crank and rod
    for side, x, *ways in (
        ("left", -0.1, (-0.09, 0.12), (0.16, 0.12)),
        ("right", 0.1, (0.05, 0.12), (-0.18, 0.12)),
    ):
        for part, (dx, dy), size, mass in (
            ("crank", ways[0], (0.15, 0.02, 0.02), 0.2),
            ("rod", ways[1], (0.2, 0.02, 0.01), 0.125),
        ):
            c, s = np.array([dx, dy]) / hypot(dx, dy)
            squares = np.square(size)
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            box = turn @ np.diag((squares.sum() - squares) * mass / 12) @ turn.T
            inertia = np.vectorize(printed)(box.round(15))
            m.add_body(f"{side}_{part}", mass, (dx / 2, dy / 2, 0.0), inertia)
        crank, rod = (f"{side}_{part}" for part in ("crank", "rod"))
        m.add_joint(f"motor_{side}", "revolute", "world", crank, parent_pose=Pose((x, 0.0, 0.0)) @ upright)
        m.add_joint(f"passive_{side}", "revolute", crank, rod, parent_pose=(*ways[0], 0.0), friction=friction)
    ends: dict[str, tuple[float, ...]] = {"pose1": (0.16, 0.12, 0.0), "pose2": (-0.18, 0.12, 0.0)}
    m.add_closure("effector", "revolute", "left_rod", "right_rod", **ends)
    for number, (rod, end) in enumerate(
        (("left_rod", "pose1"), ("right_rod", "pose2"), ("right_rod", "pose2"))
    ):
        m.add_body(f"frame_{number}", frame_mass)
        m.add_joint(f"frame_{number}_fixed", "fixed", rod, f"frame_{number}", parent_pose=ends[end])
    return m


@pytest.mark.parametrize(
    ("file", "says"), [("robot.urdf", (0.0, 9.81, 1e-9)), ("robot.sdf", (0.02, 9.8, 0.0))]
)
def test_marked_loops_are_those_of_the_builder(file: str, says: tuple[float, float, float]) -> None:
    loaded, built = sr.System(sr.load(FIVE_BAR / file, loops=REVOLUTE)), sr.System(five_bar(*says))
    assert loaded.coordinate_names == built.coordinate_names
    rng = np.random.default_rng(11)
    for _ in range(4):
        guess = rng.uniform(-0.3, 0.3, 4)
        q = built.assemble(guess, locked=["motor_left", "motor_right"]).q
        v = built.project_velocity(q, rng.uniform(-2.0, 2.0, 4))
        tau = rng.uniform(-1.0, 1.0, 4)
        assert np.abs(loaded.constraint_residual(q)).max() < 1e-12
        ours, theirs = (system.forward_dynamics(q, v, tau=tau) for system in (loaded, built))
        assert ours.rank == theirs.rank == 2
        np.testing.assert_allclose(ours.a, theirs.a, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.constraint_force, theirs.constraint_force, rtol=1e-9, atol=1e-9)
    ours, theirs = (
        sr.simulate(system, q, v, duration=0.1, dt=1e-3, switching=False) for system in (loaded, built)
    )
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-9)


def test_pairs_of_connects_are_the_revolute_closure() -> None:
    """Two point closures along one axis, six rows, and a revolute one, five, leave the same motions."""
    pairs, marks = sr.System(sr.load(CAD / "onshape_3rrr.xml")), sr.System(sr.load(CAD / "onshape_3rrr.urdf"))
    q = marks.assemble(marks.neutral()).q
    allowed = []
    for system in (pairs, marks):
        values = np.linalg.svd(system.constraint_jacobian(q))
        assert values[1][3] > 1e-2 > 1e-4 > values[1][4]
        allowed.append(values[2][4:].T @ values[2][4:])
    np.testing.assert_allclose(allowed[0], allowed[1], atol=1e-4)


def test_what_exports_say_beside_loops() -> None:
    """Defaults and classes of onshape-to-robot, gears and sensors of add-ins for Fusion."""
    mechanism = sr.load(FIVE_BAR / "robot.xml")
    joints = {joint.name: joint for joint in mechanism.joints()}
    assert joints["motor_left"].friction == (0.1,)
    assert joints["passive_left"].friction == (0.02,)
    assert joints["passive_left"].armature == (0.005,)
    motor = mechanism.actuators["motor_left"]
    assert (motor.gain, motor.force_limits, motor.limits) == (50.0, (-3.0, 3.0), (-1.5, 1.5))
    assert motor.bias[1] == -50.0
    assert motor.bias[2] < 0.0  # dampratio="1"
    assert [geom.kind for geom in mechanism.geoms.values()] == ["mesh"] * 5
    geared = sr.load(CAD / "fusion_geared_four_bar.xml")
    assert (geared.time_step, geared.integrator) == (0.002, "implicitfast")
    system = sr.System(geared)
    assert list(geared.couplings) == ["Gear 1"]
    readings = system.sensors(system.neutral(), np.zeros(4), u=[1.5])
    assert (readings["rocker angle"], readings["motor torque"]) == (0.0, 1.5)


# --- marks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["robot.urdf", "robot.sdf"])
def test_a_mark_without_a_kind_is_refused(file: str) -> None:
    with pytest.raises(
        UnsupportedElementError, match=r"loop 'effector'.*closing_effector_2.*'closing'.*revolute"
    ):
        sr.load(FIVE_BAR / file)
    left_open = sr.load(FIVE_BAR / file, strict=False)
    assert not left_open.closures
    (entry,) = [entry for entry in left_open.report.left_out if entry.kind == "loop"]
    assert entry.name == "effector"


def test_the_mark_of_a_slider_is_refused_in_mjcf() -> None:
    """onshape-to-robot has no equality for a slider, and leaves its two sites."""
    with pytest.raises(UnsupportedElementError, match="loop 'cylinder' cannot be kept"):
        sr.load(CAD / "onshape_slider_crank.xml")


def test_frames_along_z_say_that_a_mark_is_revolute() -> None:
    mechanism = sr.load(CAD / "onshape_3rrr.urdf")
    entries = {entry.name: entry for entry in mechanism.report.acting if entry.kind == "loop revolute"}
    assert set(entries) == {"wrist_2", "wrist_3"}
    assert "'closing_wrist_2_1_z' stands there" in entries["wrist_2"].reason
    other = sr.load(CAD / "onshape_3rrr.urdf", loops={"closing": {"wrist_3": "ball"}})
    assert [closure.kind for closure in other.closures.values()] == ["revolute", "point"]


def test_closures_of_the_user_close_marks() -> None:
    """By their frames, or by the links that these are fixed to."""
    by_frames = [{"kind": "point", "frame1": "closing_effector_1", "frame2": "closing_effector_2"}]
    tip = {"frame": "right_rod", "position": [-0.18, 0.12, 0]}
    by_links = [
        {"kind": "point", "frame1": {"frame": "left_rod", "position": [0.16, 0.12, 0]}, "frame2": tip}
    ]
    for loops in (by_frames, by_links):
        assert [
            closure.kind for closure in sr.load(FIVE_BAR / "robot.urdf", loops=loops).closures.values()
        ] == ["point"]


def test_kinds_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "loops.yaml"
    file.write_text("closing: {effector: revolute}\nmotors: [motor]\n")
    mechanism = sr.load(FIVE_BAR / "robot.urdf", loops=file)
    assert mechanism.closures["effector"].kind == "revolute"
    assert list(mechanism.actuators) == ["motor_left", "motor_right"]


@pytest.mark.parametrize(
    ("file", "closing", "message"),
    [
        ("onshape_five_bar/robot.urdf", "hinge", "unknown kind 'hinge'.*'revolute'"),
        (
            "onshape_five_bar/robot.urdf",
            {"efector": "point"},
            "unknown loop 'efector'. Did you mean 'effector'",
        ),
        ("onshape_five_bar/robot.urdf", {"effector": "screw"}, "closing 'effector': unknown kind 'screw'"),
        ("onshape_five_bar/robot.urdf", ["point"], "'closing' must be a kind of joint or a mapping"),
        ("onshape_five_bar/robot.xml", {"effector": "point"}, "loop 'effector' is closed already"),
        ("isaac_four_bar.urdf", "point", "no frames closing_NAME_1"),
    ],
)
def test_wrong_kinds(file: str, closing: object, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        sr.load(CAD / file, loops={"closing": closing})


def test_marks_on_one_body_are_no_loop(tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    sites = '<site name="closing_lid_1"/><site name="closing_lid_2" pos="0 0 1"/>'
    file.write_text(
        f'<mujoco><worldbody><body name="box"><joint/><geom size="1"/>{sites}</body></worldbody></mujoco>'
    )
    (entry,) = [entry for entry in sr.load(file).report.aside if entry.kind == "loop"]
    assert (entry.name, entry.reason) == ("lid", "both of its frames are fixed to 'box'")


def test_names_before_a_mark(tmp_path: Path) -> None:
    """Attached models have prefixes, and the same mark in each of them."""
    file = tmp_path / "model.xml"
    legs = "".join(
        f'<body name="{leg}thigh"><joint/><geom size="1"/><site name="{leg}closing_knee_1"/></body>'
        f'<body name="{leg}shank"><joint/><geom size="1"/><site name="{leg}closing_knee_2"/></body>'
        for leg in ("left/", "right/")
    )
    file.write_text(f"<mujoco><worldbody>{legs}</worldbody></mujoco>")
    mechanism = sr.load(file, loops={"closing": {"left/knee": "point", "right/knee": "revolute"}})
    assert [(c.name, c.kind) for c in mechanism.closures.values()] == [
        ("left/knee", "point"),
        ("right/knee", "revolute"),
    ]


# --- beside loops ---------------------------------------------------------------------------------------------------


def test_joints_of_other_kinds_are_for_urdf() -> None:
    with pytest.raises(ModelFileError, match="joint_name and joint_type are for URDF"):
        sr.load(FIVE_BAR / "robot.xml", loops={"joint_name": ["motor_left"], "joint_type": ["FIXED"]})


@pytest.mark.parametrize(
    ("suffix", "way"),
    [
        *(
            (suffix, r"USD is not read.*<loop_joint>.*Isaac Sim")
            for suffix in (".usd", ".usda", ".usdc", ".usdz")
        ),
        (".urdf.xacro", r"xacro model.urdf.xacro > model.urdf"),
        (".smurf", r"a set of files around a URDF.*loops="),
    ],
)
def test_formats_that_are_not_read_have_a_way(suffix: str, way: str, tmp_path: Path) -> None:
    file = tmp_path / f"robot{suffix}"
    file.write_text("#usda 1.0")
    with pytest.raises(ModelFileError, match=way):
        sr.load(file)


def test_a_loaded_export_warns_of_what_does_not_act() -> None:
    with pytest.warns(ModelWarning, match="robot.xml: 14 elements act, 6 kept"):
        sr.load(FIVE_BAR / "robot.xml")
