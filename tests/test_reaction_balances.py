"""Balances of free bodies with all reactions, in 50 digits: joints, closures, springs, tendons, actuators."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from mpmath import mp, mpf

import sarrus as sr
from free_body_balance import Moving, exact, missing
from mechanisms import (
    KINDS,
    close_loops,
    random_coordinates,
    random_pose,
    random_state,
    random_tree,
)
from sarrus.model.mechanism.transmissions import SiteTransmission, TendonTransmission

CHAINS = [
    (("revolute", "prismatic", "universal"), ("point",)),
    (("screw", "cylindrical", "spherical"), ("distance", "planar")),
    (("planar", "free", "revolute"), ("universal",)),
    (("spherical", "screw", "free"), ("revolute",)),
    (("free", "free"), ("prismatic",)),
    (("cylindrical", "universal", "planar", "free"), ("weld",)),
    (("revolute", "spherical", "prismatic"), ("point_on_line", "point_on_plane")),
    (("free", "planar", "spherical"), ("screw", "distance")),
    (("universal", "revolute", "free"), ("cylindrical",)),
    (("free", "screw", "prismatic"), ("point", "point")),
    (("free", "revolute", "free", "spherical"), ("disc", "ball")),
    (("free", "free"), ("knife_edge", "omni")),
    (("free", "revolute"), ("cone",)),
]


def closed_state(seed: int, joints: tuple[str, ...], closures: tuple[str, ...]):
    """A random mechanism that is closed at q, with a velocity that it may have."""
    plan = random_tree(seed, joints)
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, closures)
    for k, joint in enumerate(plan.joints):
        if joint.kind in ("revolute", "prismatic", "screw"):
            mechanism.add_actuator(f"motor{k}", f"j{k}", gain=2.0)
    system = sr.System(mechanism)
    q = np.array(system.assemble(q).q)
    v = np.array(system.project_velocity(q, plan.rng.standard_normal(system.nv)))
    return plan, system, q, v, plan.rng.standard_normal(system.nu)


@pytest.mark.parametrize("seed", range(2 * len(CHAINS)))
def test_forces_on_every_free_body_give_its_acceleration(seed: int) -> None:
    plan, system, q, v, u = closed_state(100 + seed, *CHAINS[seed % len(CHAINS)])
    found = sr.reactions(system, q, v, u)
    assert found.status.ok
    moving = Moving(plan, q, v, found.a)
    assert missing(moving, {name: found[name] for name in found}) < 1e-10
    largest = max(1.0, np.abs(found.force).max(), np.abs(found.couple).max())
    for joint in plan.joints:
        drives(moving, joint, found[f"j{joint.child[1:]}"], u, 1e-10 * largest)


def drives(moving: Moving, joint, one, u: np.ndarray, tolerance: float) -> None:
    """The full load has the power of spring, damper, rotor and motor in every motion of the joint; the bearing none."""
    system = moving.plan.mechanism
    own = next(j for j in system.joints() if j.name == one.name)
    (iq, iv), motors = moving.places[joint.child], list(system.actuators)
    power, carried = [], []
    for turn, shift, anchor in moving.joint_twists(joint.child):
        assert np.abs((exact(one.point) - anchor).astype(float)).max() < 1e-12
        power.append(float(turn @ exact(one.couple) + shift @ exact(one.force)))
        carried.append(float(turn @ exact(one.bearing_couple) + shift @ exact(one.bearing_force)))
    np.testing.assert_allclose(carried, 0.0, atol=tolerance)
    expected = -np.array(own.damping) * moving.v[iv] - np.array(own.armature) * moving.a[iv]
    if joint.kind not in ("spherical", "free"):
        expected -= own.stiffness * (moving.q[iq] - np.array(own.spring_reference))
        if f"motor{joint.child[1:]}" in motors:
            expected += 2.0 * u[motors.index(f"motor{joint.child[1:]}")]
        np.testing.assert_allclose(power, expected, rtol=0, atol=tolerance)


def test_every_kind_of_joint_is_among_them() -> None:
    assert {kind for joints, _ in CHAINS for kind in joints} == set(KINDS)


@pytest.mark.parametrize("stiff", [False, True])
def test_bodies_balance_whatever_the_share(stiff: bool) -> None:
    """Every closure twice, moving, with springs, dampers and rotors: shares differ, balances do not."""
    plan = random_tree(5, ("free", "spherical", "revolute", "screw"))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, ("revolute", "distance"))
    for closure in list(mechanism.closures.values()):
        mechanism.add_closure(
            f"{closure.name} again", closure.kind, closure.body1, closure.body2, pose1=closure.pose1,
            pose2=closure.pose2, axis=closure.pose1.rotation.T @ closure.axis1, length=closure.length,
        )  # fmt: skip
    system = sr.System(mechanism)
    v = np.array(system.project_velocity(q, plan.rng.standard_normal(system.nv)))
    stiffness = {
        "c0": (1e6, 2e6, 3e6, 1e4, 2e4, 0),
        "c0 again": (3e6, 3e6, 3e6, 1e4, 1e4, 0),
        "c1 again": np.inf,
    }
    found = sr.reactions(system, q, v, stiffness=stiffness if stiff else None)
    assert found.status.ok
    assert found.open >= 6
    assert found.undetermined[-4:] == ("c0", "c1", "c0 again", "c1 again")
    assert missing(Moving(plan, q, v, found.a), {name: found[name] for name in found}) < 1e-10
    scale = np.abs(found.force).max()
    if (
        stiff
    ):  # what is stiffer, of two in parallel, has the larger part; a rigid one has all beside an elastic one
        assert not np.allclose(found["c0"].force, found["c0 again"].force, atol=1e-3 * scale)
    else:
        np.testing.assert_allclose(found["c0"].force, found["c0 again"].force, atol=1e-10 * scale)
        np.testing.assert_allclose(found["c0"].couple, found["c0 again"].couple, atol=1e-10 * scale)


def test_what_acts_past_the_joints() -> None:
    """A force on a body, a tendon with spring, damper, rotor and motor over three bodies, and actuators at sites."""
    plan = random_tree(77, ("revolute", "spherical", "prismatic"), damping=False)
    m, rng = plan.mechanism, plan.rng
    points = {body: rng.standard_normal(3) for body in ("world", *m.bodies)}
    m.add_force("wind", lambda q, v, t: ca.vertcat(q[0], -2.0, 0.5 * t), body="b1", point=points["b1"])
    way = [(body, points[body]) for body in points]
    m.add_tendon("rope", way, stiffness=30.0, damping=2.0, armature=0.4, rest_length=0.3)
    m.add_actuator("winch", TendonTransmission("rope"), gain=5.0)
    nozzle, base = random_pose(rng), random_pose(rng)
    m.add_actuator("jet", SiteTransmission("b2", nozzle, (1.0, -2.0, 0.5, 0, 0, 0)))
    m.add_actuator("piston", SiteTransmission("b0", nozzle, (0, 0, 3.0, 0, 0, 0), ("b1", base)))
    system = sr.System(m)
    q, v = random_state(system, 3)
    u, t = np.array([0.8, 4.0, -2.0]), 0.6
    found = sr.reactions(system, q, v, u, t)
    moving = Moving(plan, q, v, found.a)
    ends = [moving.point(body, point) for body, point in way]
    ways = [[two[k] - one[k] for k in range(3)] for one, two in pairwise(ends)]
    sizes = [mp.sqrt(x @ x) for x, _, _ in ways]
    rates = [x @ dx / size for (x, dx, _), size in zip(ways, sizes)]
    seconds = [(dx @ dx + x @ ddx - r * r) / size for (x, dx, ddx), size, r in zip(ways, sizes, rates)]
    tension = 30 * (sum(sizes) - mpf(0.3)) + 2 * sum(rates) + mpf(0.4) * sum(seconds) - mpf(5.0) * mpf(0.8)
    more = {body: [] for body in points}
    for (one, two), (x, _, _), size, (here, there) in zip(pairwise(way), ways, sizes, pairwise(ends)):
        pull = (tension * x / size).astype(float)
        more[one[0]].append((pull, here[0].astype(float)))
        more[two[0]].append((-pull, there[0].astype(float)))
    more["b1"].append((np.array([q[0], -2.0, 0.5 * t]), moving.point("b1", points["b1"])[0].astype(float)))
    place, _, _ = moving.point("b2", nozzle.position)
    axes = moving.now["b2"][1] @ exact(nozzle.rotation)
    more["b2"].append(((axes @ exact([4.0, -8.0, 2.0])).astype(float), place.astype(float)))
    place, _, _ = moving.point("b0", nozzle.position)
    push = (moving.now["b1"][1] @ exact(base.rotation) @ exact([0, 0, -6.0])).astype(float)
    more["b0"].append((push, place.astype(float)))
    there = moving.point("b1", base.position)[0]
    more["b1"].append((-push, there.astype(float)))
    carrier = m.carrier("b0", "b1")  # the two forces make a couple, which what carries both takes
    couple = np.cross((there - place).astype(float), push)
    more[carrier].append((np.zeros(3), np.zeros(3), couple))
    assert missing(moving, {name: found[name] for name in found}, more) < 1e-10
