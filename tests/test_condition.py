"""`condition` of runs is σ₁ / σ_r of A in characteristic units, whatever the steps, the run and the units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from legged_robots import quadruped
from linear_precision import shipped
from scaled import scaled, scales


def by_hand(system: sr.System, q: np.ndarray, v: np.ndarray) -> float:
    """Return σ₁ / σ_r by LAPACK, lengths in κ."""
    size = system.characteristic
    rows = size.rows[:, None] * system.constraint_jacobian(q, v) / size.columns
    values = np.linalg.svd(rows)[1]
    return float(values[0] / values[values > 1e-9 * values[0]][-1])


@pytest.mark.parametrize("name", ["five_bar", "stewart", "front_loader", "bennett"])
def test_condition_is_that_of_the_jacobian(name: str) -> None:
    """In runs by fixed and adaptive steps, on records of any number, with redundant and dead rows; in millimetres."""
    system, near = shipped(name)
    q = system.assemble(near).q
    v = 0.3 * system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))
    other, (places, speeds) = sr.System(scaled(system, 1e3)), scales(system, 1e3)
    options = {"duration": 0.02, "error_estimate": False}
    right = None
    for run in (
        sr.simulate(system, q, v, dt=1e-3, **options),
        sr.simulate(system, q, v, dt=1e-3, every=7, **options),
        sr.simulate(system, q, v, **options),
    ):
        right = [by_hand(system, *state) for state in zip(run.q, run.v)]
        assert_allclose(run.condition, right, rtol=1e-9)
    theirs = sr.simulate(other, q * places, v * speeds, dt=1e-3, **options)
    ours = sr.simulate(system, q, v, dt=1e-3, **options)
    assert_allclose(theirs.condition, ours.condition, rtol=1e-7)
    many = sr.rollout(system, np.stack([q, q]), np.stack([v, 0 * v]), duration=0.02, dt=1e-3, every=4)
    for run in range(2):
        right = [by_hand(system, *state) for state in zip(many.q[run], many.v[run])]
        assert_allclose(many.condition[run], right, rtol=1e-9)
        assert_allclose(many.trajectory(run).condition, many.condition[run])


def test_condition_stays_where_q_stays_and_is_saved(tmp_path) -> None:
    """A mechanism at rest, whose drive then turns another way of solving on, has one condition throughout."""
    system, near = shipped("front_loader")
    q = system.assemble(near).q
    hold = sr.equilibrium(system, q, hold=True)
    run = sr.simulate(system, q, duration=0.05, dt=1e-3, control=lambda q, v, t: hold.u)
    assert np.ptp(run.q, axis=0).max() < 1e-9
    assert np.ptp(run.condition) < 1e-7 * run.condition[0]
    run.save(tmp_path / "run.nc")
    assert_allclose(sr.Trajectory.load(tmp_path / "run.nc").condition, run.condition)


def test_condition_is_infinite_where_singular_and_one_without_constraints() -> None:
    system, _ = shipped("five_bar")
    q = sr.find_singularity(system, system.assemble(shipped("five_bar")[1]).q).q
    run = sr.simulate(system, q, duration=1e-3, dt=1e-4, error_estimate=False)
    assert run.condition[0] > 1e7
    pendulum = sr.Mechanism("pendulum")
    pendulum.add_body("bob", 1.0, (1, 0, 0))
    pendulum.add_joint("hinge", "revolute", "world", "bob", axis=(0, 1, 0))
    free = sr.simulate(sr.System(pendulum), [0.1], duration=0.1)
    assert (free.condition == 1.0).all()


def test_condition_of_runs_whose_contacts_switch_at_once() -> None:
    """Stretches between events may hold no sample."""
    system, stand = quadruped()
    run = sr.simulate(system, stand, duration=0.05, dt=1e-3, every=5, error_estimate=False)
    assert np.isfinite(run.condition).all()
    assert (run.condition >= 1.0).all()
    assert len(run.condition) == len(run.t)
