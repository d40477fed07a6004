"""Reactions: MuJoCo's forces, joints as closures, contacts, stops, driven bodies, frames, statuses, errors."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import sarrus as sr
from free_body_balance import Moving
from mechanisms import (
    all_loops,
    random_coordinates,
    random_state,
    random_tree,
)


@pytest.mark.parametrize("seed", range(4))
def test_a_joint_as_a_closure_exerts_the_same(seed: int) -> None:
    """The tree, and all its bodies free with a closure for each joint: the same forces and couples, to 1e-10."""
    kinds = (("revolute", "screw", "universal"), ("prismatic", "spherical", "cylindrical"))[seed % 2]
    plan = random_tree(40 + seed, (*kinds, "planar"), forces=False)
    tree, loose = sr.System(plan.mechanism), sr.System(all_loops(plan))
    q = random_coordinates(plan)
    moving = Moving(plan, q, plan.rng.standard_normal(tree.nv), np.zeros(tree.nv))
    position, rate = [], []
    for body in plan.mechanism.bodies:
        place, turn = (np.array(part, dtype=float) for part in moving.now[body])
        position += [*place, *sr.Pose(place, turn).quaternion]
        speed, spin = moving.point(body, np.zeros(3))[1], moving.turning(body)[0]
        rate += [*speed.astype(float), *(turn.T @ spin.astype(float))]
    one, other = sr.reactions(tree, q, moving.v), sr.reactions(loose, position, rate)
    assert other.open == 0
    scale = np.abs(one.force).max()
    for joint in plan.joints:
        here, there = one[f"j{joint.child[1:]}"], other[f"to_{joint.child}"]
        assert (here.body, here.on) == (there.body, there.on)
        for part in ("force", "couple", "bearing_force", "bearing_couple"):
            np.testing.assert_allclose(getattr(here, part), getattr(there, part), rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(other[joint.child].force, 0.0, atol=1e-10 * scale)  # of the free joint


@pytest.mark.parametrize("seed", range(3))
def test_open_trees_have_the_forces_of_mujoco(seed: int, tmp_path: Path) -> None:
    """cfrc_int, the force between a body and its parent, with springs, dampers, rotors and motors of joints in it."""
    kinds = ("revolute", "prismatic", "spherical", "universal", "cylindrical", "planar", "free")
    plan = random_tree(seed, kinds)
    plan.mechanism.springs.clear()
    plan.mechanism.add_actuator("motor", "j0", gain=3.0)
    plan.mechanism.to_mjcf(tmp_path / "tree.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "tree.xml"))
    system, data = sr.System(plan.mechanism), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = random_state(system, seed)
    data.ctrl[:] = 0.7
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    found = sr.reactions(system, data.qpos, data.qvel, data.ctrl)
    np.testing.assert_allclose(found.a, data.qacc, rtol=0, atol=1e-9 * np.abs(data.qacc).max())
    scale = np.abs(found.force).max()
    for name in found:
        one = found[name]
        body = model.body(one.body).id
        torque, force = np.split(data.cfrc_int[body], 2)
        arm = one.point - data.subtree_com[model.body_rootid[body]]
        np.testing.assert_allclose(one.force, force, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(one.couple, torque - np.cross(arm, force), rtol=0, atol=1e-10 * scale)


def test_couplings_share_and_parameters_count() -> None:
    """Two equal gears beside each other between the same wheels: half each; a mass that is a parameter weighs."""
    m = sr.Mechanism("gears", gravity=(0, 0, -10.0))
    for k, x in enumerate((0.0, 1.0)):
        m.add_body(f"wheel{k}", 2.0, (0, 0.1, 0), (0.1, 0.2, 0.1))
        m.add_joint(f"axle{k}", "revolute", "world", f"wheel{k}", axis=(0, 0, 1), parent_pose=(x, 0, 0))
    m.add_coupling("teeth", {"axle0": 1.0, "axle1": 2.0})
    m.add_coupling("chain", {"axle0": 1.0, "axle1": 2.0})
    m.add_actuator("motor", "axle0")
    system = sr.System(m, {"heavy": "wheel1.mass"})
    found = sr.reactions(system, [0.0, 0.0], u=[3.0])
    assert found.coupling_forces["teeth"] == pytest.approx(found.coupling_forces["chain"], rel=1e-12)
    assert found.couplings_determined == {"teeth": False, "chain": False}
    assert found["axle0"].determined.all()  # both together are
    total = 2 * found.coupling_forces["teeth"]
    assert found["axle0"].drive_couple[2] == pytest.approx(3.0 + total)
    assert found["axle1"].drive_couple[2] == pytest.approx(2 * total)
    assert "coupling teeth  ~" in str(found)
    stiff = sr.reactions(system, [0.0, 0.0], u=[3.0], stiffness={"teeth": 3.0, "chain": 1.0})
    assert stiff.coupling_forces["teeth"] == pytest.approx(0.75 * total)
    with pytest.raises(sr.ArgumentError, match="stiffness of 'teeth' must be one number"):
        sr.reactions(system, [0.0, 0.0], stiffness={"teeth": (1.0, 2.0)})
    heavier = sr.reactions(system.with_parameters({"heavy": 5.0}), [0.0, 0.0])
    assert heavier["axle1"].force[2] == pytest.approx(50.0)


def test_where_there_is_no_acceleration() -> None:
    m = sr.Mechanism("nothing")
    m.add_body("empty", 0.0)
    m.add_joint("pin", "revolute", "world", "empty")
    m.add_body("bob", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("arm", "revolute", "world", "bob")
    system = sr.System(m)
    with pytest.raises(sr.SolveError, match="massless"):
        sr.reactions(system, [0.0, 0.0])
    found = sr.reactions(system, [0.0, 0.0], throw=False)
    assert found.status is sr.Status.ILL_POSED
    assert not found.success
    assert "ILL_POSED" in str(found)


def test_contacts_that_are_closed_push_in_the_balance() -> None:
    """A crate that slides down a slope on four corners, with a lid on a hinge: N = m g cos α, and the hinge's load."""
    slope, mu = 0.6, 0.3
    m = sr.Mechanism("crate", gravity=(0, 0, -9.81))
    m.add_body("ramp")
    m.add_joint("base", "fixed", "world", "ramp", parent_pose=sr.Pose.of((0, 0, 0), rpy=(0, slope, 0)))
    m.add_body("crate", 5.0, (0, 0, 0.2), (0.2, 0.2, 0.2))
    m.add_joint("loose", "free", "world", "crate")
    m.add_body("lid", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
    m.add_joint("hinge", "revolute", "crate", "lid", axis=(0, 1, 0), parent_pose=(-0.3, 0, 0.4))
    m.add_coupling("clamp", {"hinge": 1.0})
    for k, (x, y) in enumerate([(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]):
        m.add_contact(
            f"foot{k}", "crate", (x, y, 0), ground="ramp", friction="coulomb", friction_coefficient=mu
        )
    system = sr.System(m)
    pose = sr.Pose.of((0, 0, 0), rpy=(0, slope, 0))
    down = pose.rotation[:, 0]
    q = np.concatenate([np.zeros(3), pose.quaternion, [0.0]])
    v = np.concatenate([0.5 * down, np.zeros(4)])
    found = sr.reactions(system, q, v)
    feet = sum(found[f"foot{k}"].force for k in range(4))
    normal = 6 * 9.81 * np.cos(slope)
    np.testing.assert_allclose(feet, normal * (pose.rotation[:, 2] - mu * down), atol=1e-8)
    a = 9.81 * (np.sin(slope) - mu * np.cos(slope))
    np.testing.assert_allclose(found["hinge"].force, a * down + [0, 0, 9.81], atol=1e-8)
    arm = pose.rotation @ [0.1, 0, 0]
    np.testing.assert_allclose(found["hinge"].couple, np.cross(arm, a * down + [0, 0, 9.81]), atol=1e-8)
    assert found["hinge"].determined.all()
    assert not any(found[f"foot{k}"].determined[2] for k in range(4))
    np.testing.assert_allclose(found["loose"].force, 0.0, atol=1e-8)
    np.testing.assert_allclose(found["ramp"].force, feet, atol=1e-8)
    assert found.coupling_forces["clamp"] == pytest.approx(found["hinge"].drive_couple[1])
    free = sr.reactions(system, q, v, contacts=False)
    np.testing.assert_allclose(free["foot0"].force, 0.0)


def test_stops_and_dry_friction_are_drives() -> None:
    m = sr.Mechanism("arm")
    m.add_body("arm", 2.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("pin", "revolute", "world", "arm", axis=(0, -1, 0), limits=(-1.0, 0.0), friction=0.5)
    m.add_body("bob", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("rail", "prismatic", "arm", "bob", axis=(1, 0, 0), parent_pose=(0.5, 0, 0), friction=2.0)
    system = sr.System(m)
    low = sr.reactions(system, [-1.0, 0.0], frame="joint")
    assert low["pin"].drive_couple[2] == pytest.approx(3 * 9.81 * 0.5 * np.cos(1.0), rel=1e-9)
    assert low["rail"].drive_force[2] == pytest.approx(
        -9.81 * np.sin(1.0) + (9.81 * np.sin(1.0) - 2.0), abs=1e-9
    )
    moving = sr.reactions(system, [-0.5, 0.0], [1.0, 0.0], frame="joint")
    assert moving["pin"].drive_couple[2] == pytest.approx(-0.5, rel=1e-9)


def test_driven_bodies_and_what_is_fixed() -> None:
    m = sr.Mechanism("shaker")
    m.add_body("table", 3.0)
    m.add_joint("mount", "fixed", "world", "table")
    m.add_body("load", 2.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("bolts", "fixed", "table", "load", parent_pose=(0, 0, 0.5))
    m.add_body("bob", 1.0, (0, 0, -1), (0.1, 0.1, 0.1))
    m.add_joint("pivot", "revolute", "load", "bob", axis=(0, 1, 0))
    m.drive("table", lambda t: [0.0, 0.0, 0.2 * ca.sin(3 * t)])
    system, t = sr.System(m), 0.4
    found = sr.reactions(system, [0.0], t=t)
    felt = 9.81 - 1.8 * np.sin(3 * t)
    assert (found["table"].what, found["load"].what, found["pivot"].on) == ("driven", "fixed", "load")
    for name, mass in (("pivot", 1.0), ("load", 3.0), ("table", 6.0)):
        np.testing.assert_allclose(found[name].force, [0, 0, mass * felt], atol=1e-10)
    np.testing.assert_allclose(found["load"].couple, [0, -0.2 * felt, 0], atol=1e-10)


def test_frames_points_and_names() -> None:
    """Other axes and points change nothing; joints in series pass one load; names that clash are told apart."""
    m = sr.Mechanism("two")
    m.add_body("arm", 1.0, (0.1, 0.2, 0), (0.1, 0.1, 0.1))
    m.add_joint("arm", "revolute", "world", "arm", axis=(0, 1, 0))
    m.add_joint("wrist", "revolute", "world", "arm", axis=(1, 0, 0), child_pose=(0.2, 0, 0))
    m.add_body("tool", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("weld", "fixed", "arm", "tool", parent_pose=(0.3, 0, 0))
    m.add_closure("tool", "point_on_plane", "world", "arm", pose2=(1, 0, 0), axis=(0, 0, 1))
    system = sr.System(m)
    q = system.assemble([0.0, 0.7]).q
    world = sr.reactions(system, q, [0.0, 0.4])
    assert world.names == ("arm", "wrist", "fixed:tool", "closure:tool")
    assert list(world) == list(world.names)
    assert "tool" not in world
    np.testing.assert_allclose(world["arm"].force, world["wrist"].force, atol=1e-12)
    arm = world["arm"].point - world["wrist"].point
    np.testing.assert_allclose(
        world["wrist"].couple, world["arm"].couple + np.cross(arm, world["arm"].force), atol=1e-12
    )
    positions, rotations = system.body_placements(q)
    place = {"arm": (0.1, 0.2, 0.3)}
    seen = sr.reactions(system, q, [0.0, 0.4], frame="arm", points=place)
    np.testing.assert_allclose(rotations[0] @ seen["arm"].force, world["arm"].force, atol=1e-12)
    point = positions[0] + rotations[0] @ place["arm"]
    np.testing.assert_allclose(seen["arm"].point, point, atol=1e-14)
    expected = world["arm"].couple + np.cross(world["arm"].point - point, world["arm"].force)
    np.testing.assert_allclose(rotations[0] @ seen["arm"].couple, expected, atol=1e-12)
    own = sr.reactions(system, q, [0.0, 0.4], frame="joint")
    np.testing.assert_allclose(own["wrist"].axes[2], rotations[0] @ [1, 0, 0], atol=1e-12)
    assert own["wrist"].bearing_couple[2] == own["arm"].bearing_couple[2] == 0.0
    assert "fixed:tool" in str(own)
    assert "own axes" in str(own)


def test_singular_rigid_and_inconsistent_states_say_so() -> None:
    rods = sr.Mechanism("between rods")
    rods.add_body("mass", 1.0, inertia=(0.1, 0.1, 0.1))
    rods.add_joint("plane", "planar", "world", "mass", axis=(0, 1, 0), axis2=(1, 0, 0))
    for k, x in enumerate((-1.0, 1.0)):
        rods.add_closure(f"rod{k}", "distance", "world", "mass", pose1=(x, 0, 0), length=1.0)
    found = sr.reactions(sr.System(rods), [0.0, 0.0, 0.0])
    assert found.status is sr.Status.RIGID
    assert "RIGID" in str(found)
    for k in range(2):  # a prestress of the rods is anybody's guess, and the least is none
        assert found[f"rod{k}"].determined.tolist() == [False, True, True, True, True, True]
        np.testing.assert_allclose(found[f"rod{k}"].force, 0.0, atol=1e-12)

    slider = sr.Mechanism("equal links")
    for name, parent, x in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
        slider.add_body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        slider.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(x, 0, 0))
    slider.add_closure("way", "point_on_plane", "world", "rod", axis=(0, 0, 1), pose2=(1, 0, 0))
    here = sr.reactions(sr.System(slider), [np.pi / 2, -np.pi])
    assert here.status is sr.Status.SINGULAR
    assert not here["way"].determined[2]
    for name, force in (("crank", 9.81), ("rod", 0.0), ("way", 9.81)):  # least (2 − f)² + (1 − f)² + f²
        np.testing.assert_allclose(here[name].force, [0, 0, force], atol=1e-9)
    assert here["crank"].determined.tolist() == [True, True, False, True, True, True]

    fight = sr.Mechanism("fight")
    fight.add_body("mass", 1.0, inertia=(0.1, 0.1, 0.1))
    fight.add_joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0))
    fight.add_body("table")
    fight.add_joint("mount", "fixed", "world", "table")
    fight.drive("table", lambda t: [t * t, 0, 0])
    fight.add_closure("still", "point_on_plane", "world", "mass", axis=(1, 0, 0))
    fight.add_closure("pushed", "point_on_plane", "table", "mass", axis=(1, 0, 0))
    found = sr.reactions(sr.System(fight), [0.0])
    assert found.status is sr.Status.INCONSISTENT
    total = found["still"].force + found["pushed"].force
    np.testing.assert_allclose(total, [found.a[0], 0.0, 0.0], atol=1e-12)


def test_errors_say_what_would_be_right() -> None:
    lagrangian = sr.System.from_lagrangian(1, lambda q, v, t: v[0] ** 2 / 2 - q[0])
    with pytest.raises(sr.ArgumentError, match="only a system made from a Mechanism has joints"):
        sr.reactions(lagrangian, [0.0])
    plan = random_tree(1, ("revolute", "prismatic"))
    system = sr.System(plan.mechanism)
    with pytest.raises(sr.ArgumentError, match=r"unknown frame 'b9'.*Known: 'joint', 'world', 'b0', 'b1'"):
        sr.reactions(system, system.neutral(), frame="b9")
    with pytest.raises(sr.ArgumentError, match="points: unknown joint 'j9'"):
        sr.reactions(system, system.neutral(), points={"j9": (0, 0, 0)})
    with pytest.raises(
        sr.ArgumentError, match="the point of 'j0' must be three finite numbers in axes of 'b0'"
    ):
        sr.reactions(system, system.neutral(), points={"j0": (0, np.nan, 0)})
    with pytest.raises(sr.ArgumentError, match="q"):
        sr.reactions(system, [0.0])


def test_contacts_between_geometries_act_on_joints(tmp_path: Path) -> None:
    path = tmp_path / "boxes.xml"
    path.write_text("""
<mujoco><worldbody><geom name="floor" type="box" size="1 1 .1"/>
  <body name="crate" pos="0 0 .2"><joint name="slide" type="slide" axis="0 0 1"/><joint name="wind" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="2" diaginertia="0.01 0.01 0.01"/>
    <geom name="box" type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>""")
    with pytest.warns(sr.ModelWarning):
        mechanism = sr.load(path)
    mechanism.add_geometry_contacts()
    system = sr.System(mechanism)
    for tau in (
        [0.0, 0.0],
        [-5.0, 0.0],
    ):  # the floor carries the weight and τ, which passes through the joint
        found = sr.reactions(system, system.neutral(), tau=tau)["slide"]
        assert found.force[2] == pytest.approx(tau[0], abs=1e-9)
    falls = sr.reactions(system, system.neutral(), contacts=False)
    assert falls.a[0] == pytest.approx(-9.81)
