"""Robots with loops in their legs drop on a floor and stand: loops, contacts and a law at once, energy balanced."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts import activity
from standing_robots import FRICTION, Stander, with_flat_feet, with_springs

DROP, DURATION = 0.02, 3.0  # m, s
ROLL, PITCH = 0.02, 0.01  # rad, of the whole robot at first, so that one corner hits after the other


@pytest.fixture(scope="module", params=[with_springs, with_flat_feet], ids=lambda make: make.__name__)
def robot(request: pytest.FixtureRequest) -> Stander:
    """Return one of the two robots."""
    robot: Stander = request.param()
    return robot


def dropped(robot: Stander) -> Array:
    """Return the start: askew in the air, the lowest point of the feet this far above the floor."""
    q = robot.q.copy()
    q[4:6] = 0.5 * ROLL, 0.5 * PITCH
    q = robot.system.normalized(q)
    q[2] += DROP - min(activity.gaps(robot.system, q).values())
    return q


def stands(robot: Stander, motion: sr.Trajectory) -> None:
    """Assert that a motion ends at rest on both feet, its loops closed all the time."""
    assert motion.status.ok
    assert motion.residual.max() < 1e-12
    assert np.abs(motion.v[motion.t > DURATION - 0.1]).max() < 0.02
    assert_allclose(motion.q[-1, 2], robot.q[2], atol=2e-3)
    assert np.abs(motion.q[-1, 4:6]).max() < 5e-3
    forces = motion.contact_forces.reshape(len(motion.t), -1, 3)
    normal, friction = forces[..., 0], np.hypot(forces[..., 1], forces[..., 2])
    weight = 9.81 * robot.mass
    assert normal[-1].sum() == pytest.approx(weight, rel=1e-3)
    assert (normal[-1] > 0.02 * weight).all()
    # What begins to slide turns its friction while it is slower than counts as still, within a nanosecond of a switch.
    switches = np.array([-1.0, *(switch.time for switch in motion.switches)])
    settled = np.abs(motion.t[:, None] - switches).min(axis=1) > 1e-9
    assert (~settled).sum() <= 6 * len(switches)  # a few records a switch, on every processor
    assert (friction - FRICTION * normal)[settled].max() < 1e-6 * weight


def balance(robot: Stander, motion: sr.Trajectory) -> float:
    """Return how far energy, less the work of the law, and what contacts took are from the first, relative."""
    total = motion.energy + motion.contact_loss - robot.work(motion)
    return float(np.abs(total - total[0]).max() / np.abs(motion.energy).max())


def test_the_pose_is_closed_and_rests(robot: Stander) -> None:
    """The loops of the feet that a crank moves have a dead row each; what holds the pose comes from statics."""
    s = robot.system
    assert np.abs(s.constraint_residual(robot.q)).max() < 1e-15
    found = sr.mobility(s, robot.q, contacts=False)
    dead = [f"{leg}_plantar_pin.y" for leg in ("left", "right")] if s.nu == 10 else []
    assert sorted(found.redundant) == dead
    assert found.dof == 6 + (7 if s.nu == 10 else 6) * 2
    held = sr.equilibrium(s, robot.q, hold=True)
    assert_allclose(held.u, robot.hold, atol=1e-8)
    assert held.contacts is not None
    assert held.contacts.friction_needed < 0.1


def test_it_drops_and_stands_from_event_to_event(robot: Stander) -> None:
    method = sr.Stepping(rtol=1e-10, max_step=2e-3)  # short ones, for the integral of the power of the law
    motion = sr.simulate(
        robot.system, dropped(robot), duration=DURATION, method=method, control=robot.law(), error_estimate=False
    )  # fmt: skip
    stands(robot, motion)
    assert balance(robot, motion) < 1e-6
    assert motion.contact_loss[-1] > 0.05
    assert (np.diff(motion.contact_loss) > -1e-9).all()
    assert len(motion.switches) < 120
    coarse = sr.simulate(
        robot.system, dropped(robot), duration=DURATION, control=robot.law(), error_estimate=False
    )
    assert_allclose(coarse.q[-1], motion.q[-1], atol=1e-5)


def test_it_drops_and_stands_in_steps_of_a_millisecond(robot: Stander) -> None:
    """What an impact takes is known to the order of the step."""
    balances = []
    for dt in (1e-3, 2.5e-4):
        motion = sr.simulate(
            robot.system, dropped(robot), duration=DURATION, dt=dt, control=robot.law(), error_estimate=False
        )
        stands(robot, motion)
        assert motion.contact_residual < 1e-8
        balances.append(balance(robot, motion))
    assert balances[0] < 1e-3
    assert balances[1] < 0.5 * balances[0]
