"""Hybrid motion and force control: closure forces on demand, whatever the motion does."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError

MOTION = ["joint1", "joint2", "joint3"]
ROWS = ["base2.p1", "base2.p2"]


def arms(example) -> tuple[sr.System, object]:
    module = example("two_arms")
    mechanism = module.build()
    system = sr.System(mechanism)
    return system, module


def closed_twice(module) -> sr.System:
    """The arms with their closure written twice, so that multipliers are not unique."""
    mechanism = module.build()
    c = mechanism.closures["base2"]
    mechanism.add_closure("again", c.kind, c.body1, c.body2, pose1=c.pose1, pose2=c.pose2, axis=(0, 0, 1))
    return sr.System(mechanism)


def target(t):
    y = 0.5 * (1 - ca.cos(t))
    reach = ca.sqrt(1.0 + y * y)
    direction, bend = ca.atan2(y, 1.0), ca.acos(reach / 2)
    first, second = direction + bend, direction - bend
    return ca.vertcat(first, second - first, -second)


def step(t):
    return ca.if_else(t < 0.5, 5.0, 12.0)


def test_closure_force_follows_a_step_and_the_motion_does_not_notice(example) -> None:
    system, module = arms(example)
    assert set(ROWS) <= set(system.constraint_names)
    q0, v0, _ = module.lift(0.0)
    plain = control.ProjectedInverseDynamics(system, MOTION, target)
    law = control.HybridMotionForce(system, MOTION, target, {ROWS[0]: step, ROWS[1]: -3.0})
    runs = [sr.simulate(system, q0, v0, duration=1.0, dt=1e-3, control=c) for c in (plain, law)]
    assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    columns = [system.constraint_names.index(name) for name in ROWS]
    forces = runs[1].multipliers[:, columns]
    wanted = np.where(runs[1].t < 0.5, 5.0, 12.0)
    away = np.abs(runs[1].t - 0.5) > 2e-3
    assert_allclose(forces[away, 0], wanted[away], atol=1e-8)
    assert_allclose(forces[:, 1], -3.0, atol=1e-8)
    law.settings[f"force.{ROWS[1]}"] = 4.0
    again = sr.simulate(system, q0, v0, duration=0.1, dt=1e-3, control=law)
    assert_allclose(again.multipliers[:, columns[1]], 4.0, atol=1e-8)


def test_cross_coupling_is_mu(example) -> None:
    """A force along the motions changes the constraint force by μ, μ = (I − P) M M_c⁻¹ P up to the sign of λ."""
    system, module = arms(example)
    q, v, _ = module.lift(0.8)
    mass, jacobian = system.mass_matrix(q), system.constraint_jacobian(q)
    p = np.eye(5) - np.linalg.pinv(jacobian) @ jacobian
    constrained = p @ mass @ p + np.eye(5) - p
    mu = (np.eye(5) - p) @ mass @ np.linalg.solve(constrained, p)
    rng = np.random.default_rng(0)
    push = p @ rng.standard_normal(5)
    without = system.forward_dynamics(q, v).constraint_force
    with_push = system.forward_dynamics(q, v, tau=push).constraint_force
    assert np.abs(mu @ push).max() > 1e-3
    assert_allclose(with_push - without, mu @ push, atol=1e-12)


def test_feedback_removes_what_the_model_gets_wrong(example) -> None:
    """A plant with another mass: the integral brings the closure force to its target, e falls like (1 − G_F − …)."""
    model, module = arms(example)
    heavy = module.build()
    heavy.add_body("load", 0.5, inertia=(0.01, 0.01, 0.01))
    heavy.add_joint("weld", "fixed", "link3", "load", parent_pose=(0.5, 0, 0))
    plant = sr.System(heavy)
    q, v, _ = module.lift(0.6)
    v = np.zeros(5)
    hold = [float(x) for x in q[:3]]
    law = control.HybridMotionForce(
        model, MOTION, hold, {ROWS[0]: 10.0, ROWS[1]: 2.0}, proportional=0.2, integral=30.0
    )
    column = [plant.constraint_names.index(name) for name in ROWS]
    errors = []
    multipliers = None
    for k in range(400):
        u = law.sample(q, v, 1e-3 * k, 1e-3, multipliers)
        answer = plant.forward_dynamics(q, v, u)
        multipliers = answer.multipliers
        errors.append(np.abs(multipliers[column] - [10.0, 2.0]).max())
    assert errors[0] > 0.1
    assert errors[-1] < 1e-3 * errors[0]
    # e[k+1] = −G_F e[k] − G_I T Σ e: the slow root of z² − (1 − G_F) z … falls like exp(−G_I t / (1 + G_F))
    rate = np.log(errors[50] / errors[200]) / 0.15
    assert abs(rate - 30.0 / 1.2) < 0.05 * 25.0


def test_motion_comes_first(example) -> None:
    """A five-bar has no motors to spare: the force is missed, the motion is not."""
    system = sr.System(sr.load("models/five_bar.xml"))
    q: Array = system.assemble(system.mechanism.keyframes["symmetric"].q).q
    row = next(
        n for n, r in zip(system.constraint_names, system.constraint_jacobian(q)) if np.abs(r).max() > 0
    )
    law = control.HybridMotionForce(system, ["left", "right"], [0.1, 0.2], {row: 30.0})
    result = law.solve(q, np.zeros(4), throw=False)
    assert result.missed == ("force",)
    with pytest.raises(SolveError, match="'force' misses"):
        law.solve(q, np.zeros(4))
    a = system.forward_dynamics(q, np.zeros(4), result.u).a
    assert_allclose(a[[0, 2]], 100.0 * (np.array([0.1, 0.2]) - q[[0, 2]]), atol=1e-8)


def test_wrong_rows_are_named(example) -> None:
    system, module = arms(example)
    with pytest.raises(ArgumentError, match=r"base2\.p1"):
        control.HybridMotionForce(system, MOTION, [0, 0, 0], {"base2": 1.0})
    twice = closed_twice(module)
    q, v, _ = module.lift(0.3)
    law = control.HybridMotionForce(twice, MOTION, [0, 0, 0], {ROWS[0]: 1.0})
    with pytest.raises(ArgumentError, match="not unique"):
        law(q, v)


def test_where_multipliers_are_not_determined_their_force_is(example) -> None:
    """The closure twice: λ is not unique, Aᵀλ is, and follows what is asked of it."""
    _, module = arms(example)
    twice = closed_twice(module)
    q, v, _ = module.lift(0.3)
    wanted = twice.constraint_jacobian(q).T @ np.array([3.0, -2.0, 3.0, -2.0])
    law = control.HybridMotionForce(twice, MOTION, [float(x) for x in q[:3]], constraint_force=wanted)
    result = law.solve(q, v)
    assert_allclose(twice.forward_dynamics(q, v, result.u).constraint_force, wanted, atol=1e-9)
    with pytest.raises(ArgumentError, match="constraint_force="):
        control.HybridMotionForce(twice, MOTION, [0, 0, 0])
