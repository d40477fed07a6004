"""Robots that nobody tuned walk by the few lines that the tutorials show, on floors that know nothing of their gait."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from random_walkers import Walker, biped, quadruped, trot, walk
from sarrus import control


def run(walker: Walker, law: control.LeggedController, duration: float) -> sr.Trajectory:
    """Walk for so long, in units of the time that a pendulum of the height of a quadruped takes."""
    duration *= np.sqrt(walker.height / 0.4)
    return sr.simulate(walker.plant, walker.q, duration=duration, dt=1e-3, sample_time=2e-3, control=law)


def walks(walker: Walker, law: control.LeggedController, motion: sr.Trajectory, tilt: float) -> None:
    """Check that it stays upright at its height, on its line, within its motors, and travels as it was told."""
    half, limits = len(motion.t) // 2, [a.limits[1] for a in walker.system.mechanism.actuators.values()]
    assert 2.0 * np.hypot(motion.q[:, 4], motion.q[:, 5]).max() < tilt
    assert abs(motion.q[:, 2] / walker.q[2] - 1.0).max() < 0.05
    assert abs(motion.q[:, 1]).max() < 0.2 * walker.height
    assert (abs(motion.u) <= np.array(limits) * (1.0 + 1e-12)).all()
    speed = (motion.q[-1, 0] - motion.q[half, 0]) / (motion.t[-1] - motion.t[half])
    assert 0.85 < speed / law.settings["gait.velocity[0]"] < 1.25


@pytest.mark.parametrize("seed", range(5))
def test_quadrupeds_trot(seed: int) -> None:
    walker = quadruped(seed)
    law = trot(walker)
    walks(walker, law, run(walker, law, 2.5), 0.05)


@pytest.mark.parametrize("seed", range(3))
def test_bipeds_walk(seed: int) -> None:
    walker = biped(seed)
    law = walk(walker)
    walks(walker, law, run(walker, law, 3.0), 0.15)
