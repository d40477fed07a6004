"""Time stepping with several contacts that share a load: ladders, tables, patches, blocks that rock, grippers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.contacts import activity
from test_time_stepping import G, body, moving, run


@pytest.mark.parametrize("legs", [1, 2])
def test_the_limit_angle_of_a_ladder(legs: int) -> None:
    """On a smooth wall it stands for tan θ ≥ 1/(2μ); so do two that lean on each other, as an arch of two stones."""
    friction = 0.5
    limit = np.arctan(1.0 / (2.0 * friction))
    for angle, stands in ((limit + 1e-3, True), (limit - 1e-3, False)):
        mechanism = sr.Mechanism("ladder")
        for k in range(legs):
            name = f"rod{k}"
            mechanism.add_body(name, 3.0, inertia=(0.01, 1.0, 1.0))
            mechanism.add_joint(name, "planar", "world", name, axis=(0, -1, 0), axis2=(1, 0, 0))
            foot = ((-1.0, 0, 0), (1.0, 0, 0))[k]
            mechanism.add_contact(f"foot{k}", name, foot, friction="coulomb", friction_coefficient=friction)
        wall = "world" if legs == 1 else "rod1"
        normal = (-1, 0, 0) if legs == 1 else (-np.cos(angle), 0, -np.sin(angle))
        mechanism.add_contact(
            "top", "rod0", (1, 0, 0), ground=wall, normal=normal,
            offset=np.cos(angle) * (-1 if legs == 1 else 1), friction="coulomb", friction_coefficient=0.0,
        )  # fmt: skip
        system = sr.System(mechanism)
        q = np.array([0.0, np.sin(angle), angle])
        if legs == 2:
            q = np.array([-np.cos(angle), np.sin(angle), angle, np.cos(angle), np.sin(angle), -angle])
        assert_allclose(list(activity.gaps(system, q).values()), 0.0, atol=1e-12)
        motion = run(system, q, None, 0.5, 1e-3)
        assert bool(np.abs(motion.v[-1]).max() < 1e-9) is stands


def table() -> tuple[sr.System, np.ndarray]:
    """Return a table on four legs, and where it stands."""
    mechanism = body()
    for k, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        mechanism.add_contact(f"leg{k}", "block", (x, y, -1), friction="coulomb", friction_coefficient=0.4)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 1.0
    return system, q


def test_a_table_on_four_legs_shares_its_weight() -> None:
    system, q = table()
    assert run(system, q, None, 0.01, 1e-3).status.ok  # what rounding creates is no energy
    motion = run(system, q, None, 0.2, 1e-2)
    assert_allclose(motion.contact_forces[:, ::3].sum(axis=1), 2.0 * G, rtol=1e-12)
    assert_allclose(motion.contact_forces[:, ::3], 0.5 * G, rtol=1e-6)
    assert np.abs(motion.v).max() < 1e-12


def test_the_wrench_of_a_patch_that_slides() -> None:
    """Weight and friction at the foot of a body whose centre of mass is ahead of that of the patch."""
    mechanism = sr.Mechanism("foot")
    mechanism.add_body("foot", 2.0, com=(0.03, 0.01, 0.0), inertia=(0.02,) * 3)
    mechanism.add_joint("free", "free", "world", "foot")
    mechanism.add_contact_patch(
        "sole", "foot", extent=(0.12, 0.05), friction="coulomb", friction_coefficient=0.2
    )
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), moving(system, vx=1.0), 0.1, 1e-3)
    wrench = sr.contact_wrench(system, motion.q[-1], motion.contact_forces[-1], "sole")
    assert_allclose(wrench.force, [2.0 * G, -0.4 * G, 0.0], atol=1e-9)
    assert_allclose(wrench.centre_of_pressure, [0.03, 0.01], atol=1e-9)
    with pytest.raises(sr.ArgumentError, match="multipliers"):
        sr.contact_wrench(system, motion.q[-1], [1.0], "sole")


def test_a_rocking_block_loses_housners_part() -> None:
    """ω⁺/ω⁻ = 1 − 3/2 sin² α for a slender block that rocks from edge to edge without slip or rebound."""
    half_width, half_height, errors = 0.1, 0.4, []
    slenderness = np.arctan2(half_width, half_height)
    mechanism = sr.Mechanism("rocking")
    inertia = (half_width**2 + half_height**2) / 3.0
    mechanism.add_body("block", 1.0, inertia=(1.0, inertia, 1.0), physical=False)
    mechanism.add_joint("free", "planar", "world", "block", axis=(0, -1, 0), axis2=(1, 0, 0))
    for name, side in (("left", -1), ("right", 1)):
        mechanism.add_contact(
            name, "block", (side * half_width, 0, -half_height), friction="coulomb", friction_coefficient=5.0
        )
    system = sr.System(mechanism)
    lean = 0.1
    lower = min(np.sin(lean) * x - np.cos(lean) * half_height for x in (-half_width, half_width))
    q = np.array([0.0, -lower, lean])  # it stands on the lower edge
    for dt in (2e-4, 1e-4):
        motion = run(system, q, None, 0.4, dt)
        spin = motion.v[:, 2]
        hit = int(np.flatnonzero(np.abs(np.diff(spin)) > 0.02 * np.abs(spin).max())[0])
        ratio = spin[hit + 4] / spin[hit - 2]
        errors.append(abs(ratio - (1.0 - 1.5 * np.sin(slenderness) ** 2)))
    assert errors[-1] < 5e-3


def test_a_gripper_holds_what_friction_allows() -> None:
    """Two jaws on parallelograms press a peg with F each: it hangs while 2 μ F > m g, and else slides."""
    friction, mass, wide = 0.5, 0.4, 0.03
    for press, holds in ((1.01, True), (0.99, False)):
        mechanism = sr.Mechanism("gripper")
        mechanism.add_body("peg", mass, inertia=(1e-3,) * 3)
        mechanism.add_joint("peg", "prismatic", "world", "peg", axis=(0, 0, 1))
        for name, side in (("left", -1), ("right", 1)):
            for k, at in enumerate((0.0, 0.05)):
                mechanism.add_body(f"{name}{k}", 0.05, com=(0, 0, -0.05), inertia=(1e-4,) * 3)
                mechanism.add_joint(
                    f"{name}{k}", "revolute", "world", f"{name}{k}", axis=(0, 1, 0),
                    parent_pose=(side * (wide + at), 0, 0.1),
                )  # fmt: skip
            mechanism.add_body(name, 0.1, com=(side * 0.025, 0, 0), inertia=(1e-4,) * 3)
            mechanism.add_joint(name, "revolute", f"{name}0", name, axis=(0, 1, 0), parent_pose=(0, 0, -0.1))
            mechanism.add_closure(
                f"{name}.loop",
                "revolute",
                name,
                f"{name}1",
                pose1=(side * 0.05, 0, 0),
                pose2=(0, 0, -0.1),
                axis=(0, 1, 0),
            )
            mechanism.add_contact(
                f"{name}.pad", name, (0, 0, 0), ground="peg", normal=(side, 0, 0), offset=wide,
                friction="coulomb", friction_coefficient=friction,
            )  # fmt: skip
            mechanism.add_actuator(name, f"{name}0")
        system = sr.System(mechanism)
        force = press * mass * G / (2.0 * friction)
        # cranks that hang straight down: a torque is a horizontal force at the pad
        push = np.array([-force * 0.1, force * 0.1])
        motion = run(system, system.neutral(), None, 0.3, 1e-3, control=lambda q, v, t, push=push: push)
        fallen = -motion.q[-1, system.coordinate_names.index("peg")]
        assert bool(fallen < 1e-6) is holds
        assert motion.residual.max() < 1e-12
