"""Runs in steps of time begin from every state that such a run has recorded, and go on as it did."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.dynamics.impacts import activity


def two_bones(seed: int) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """Return a body of two parts with five corners that fall on the floor, tumbling, with q and v."""
    random = np.random.default_rng(seed)
    mechanism = sr.Mechanism("bones")
    mechanism.add_body("a", 1.0, inertia=(0.02,) * 3)
    mechanism.add_joint("float", "free", "world", "a")
    mechanism.add_body("b", 0.3, inertia=(0.005,) * 3)
    mechanism.add_joint("hinge", "revolute", "a", "b", axis=(0, 1, 0), parent_pose=(0.2, 0, 0))
    for k in range(5):
        mechanism.add_contact(
            f"c{k}", "a" if k < 3 else "b", 0.15 * random.standard_normal(3), friction="coulomb",
            friction_coefficient=0.4, restitution=0.5 * (k % 2), radius=0.03 * (k % 3),
        )  # fmt: skip
    turn = random.standard_normal(4)
    system = sr.System(mechanism)
    q = np.array([0, 0, 0.5, *turn / np.linalg.norm(turn), 0.1])
    return system, q, random.standard_normal(system.nv)


@pytest.mark.parametrize("seed", [4, 6, 9])
def test_a_run_goes_on_from_each_recorded_state(seed: int) -> None:
    """After an impact a corner of a turning body may be some 0.1 mm below the floor; the next step lifts it."""
    system, q, v = two_bones(seed)
    how = {"dt": 5e-3, "method": "moreau-jean", "error_estimate": False}
    run = sr.simulate(system, q, v, duration=0.7, **how)
    depth = 0.0
    for k in range(40, len(run.t) - 2):
        depth = min([depth, *activity.gaps(system, run.q[k]).values()])
        again = sr.simulate(system, run.q[k], run.v[k], duration=2 * how["dt"], **how)
        np.testing.assert_allclose(again.q[-1], run.q[k + 2], rtol=0, atol=1e-7)
    assert depth < -1e-5
    many = sr.rollout(system, run.q[40:-2], run.v[40:-2], duration=2 * how["dt"], dt=how["dt"])
    np.testing.assert_allclose(many.final_q, run.q[42:], rtol=0, atol=1e-7)


def test_what_is_too_deep_for_a_step_is_an_error() -> None:
    system, q, v = two_bones(0)
    q[2] = 0.0
    for speed in (0.0, 1.0):
        with pytest.raises(sr.ArgumentError, match="below its plane"):
            sr.simulate(system, q, speed * v, duration=0.1, dt=1e-3)


def test_a_last_step_that_is_very_short_keeps_its_impact() -> None:
    """The impact in a step of 4 ns at the end of the run costs all of the energy of the fall."""
    mechanism = sr.Mechanism("fall")
    mechanism.add_body("ball", 1.0)
    mechanism.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_contact("ground", "ball", friction="coulomb", friction_coefficient=0.3)
    height = 0.5 * 9.81 * (0.3 + 2e-9) ** 2
    fall = sr.simulate(
        sr.System(mechanism),
        [height],
        duration=0.3 + 4e-9,
        dt=0.01,
        method="moreau-jean",
        error_estimate=False,
    )
    assert fall.v[-1] == pytest.approx([0.0], abs=1e-6)
    assert fall.contact_loss[-1] == pytest.approx(9.81 * height, abs=1e-9)
