"""Time stepping with several contacts that share a load: ladders, tables, patches, blocks that rock, grippers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.dynamics.impacts import activity
from several_contacts import gripper, ladders, rocking_block
from test_time_stepping import G, body, moving, run


@pytest.mark.parametrize("legs", [1, 2])
def test_the_limit_angle_of_a_ladder(legs: int) -> None:
    """On a smooth wall it stands for tan θ ≥ 1/(2μ); so do two that lean on each other, as an arch of two stones."""
    friction = 0.5
    limit = np.arctan(1.0 / (2.0 * friction))
    for angle, stands in ((limit + 1e-3, True), (limit - 1e-3, False)):
        system, q = ladders(legs, angle, friction)
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
    """ω⁺/ω⁻ = 1 − 3/2 sin² α for a slender block that rocks from edge to edge without slip or rebound: order one."""
    block, steps, errors = rocking_block(), (8e-4, 4e-4, 2e-4, 1e-4, 5e-5), []
    raised = G * block.radius * (np.cos(block.slenderness - block.lean) - np.cos(block.slenderness))
    loss = raised * (1.0 - (1.0 - 1.5 * np.sin(block.slenderness) ** 2) ** 2)
    for dt in steps:
        motion = run(block.system, block.q, None, 0.4, dt)
        errors.append(abs(motion.contact_loss[-1] / loss - 1.0))
    assert errors[-1] < 5e-3
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)


def test_a_gripper_holds_what_friction_allows() -> None:
    """Two jaws on parallelograms press a peg with F each: it hangs while 2 μ F > m g, and else slides."""
    for press, holds in ((1.01, True), (0.99, False)):
        system, push = gripper(press, 0.5)
        motion = run(system, system.neutral(), None, 0.3, 1e-3, control=lambda q, v, t, push=push: push)
        fallen = -motion.q[-1, system.coordinate_names.index("peg")]
        assert bool(fallen < 1e-6) is holds
        assert motion.residual.max() < 1e-12
