"""Exciting trajectories: limits, loops, derivatives, seeds."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from identified import case, controls
from sarrus.design.identification import Regressor, base_parameters, exciting_trajectory, identify
from sarrus.design.identification.loops import Loops


def test_exciting_trajectory_keeps_limits_and_closes_loops() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    options: dict[str, Any] = {
        "q": mechanism.keyframes["symmetric"].q, "period": 5.0, "harmonics": 3, "speed": 3.0, "acceleration": 15.0,
        "limits": {"left": (1.2, 2.9), "left_elbow": (-2.0, -0.3)}, "samples": 25, "evaluations": 90, "base": base,
    }  # fmt: skip
    plan = exciting_trajectory(regressor, ["left", "right"], **options)
    assert plan.condition < 0.6 * plan.start_condition
    for q, v, a in zip(plan.q, plan.v, plan.a):
        assert np.abs(system.constraint_residual(q)).max() < 1e-11
        assert np.abs(system.velocity_residual(q, v)).max() < 1e-9
        assert np.abs(system.constraint_jacobian(q) @ a + system.constraint_bias(q, v)).max() < 1e-8
    assert (plan.q[:, 0] >= 1.2).all()
    assert (plan.q[:, 0] <= 2.9).all()
    assert (plan.q[:, 1] >= -2.0).all()
    assert (plan.q[:, 1] <= -0.3).all()
    assert np.abs(plan.v).max() <= 3.0
    assert np.abs(plan.a).max() <= 15.0
    place, rate, acceleration = plan.series(plan.t)
    np.testing.assert_allclose(place, plan.q[:, [0, 2]], atol=1e-12)
    h = 1e-5
    ahead, back = plan.series(plan.t + h), plan.series(plan.t - h)
    np.testing.assert_allclose((ahead[0] - back[0]) / (2 * h), rate, atol=1e-7)
    np.testing.assert_allclose((ahead[1] - back[1]) / (2 * h), acceleration, atol=1e-6)
    np.testing.assert_allclose(plan.series(plan.t + 5.0)[0], place, atol=1e-12)
    again = exciting_trajectory(regressor, ["left", "right"], **options | {"evaluations": 30})
    same = exciting_trajectory(regressor, ["left", "right"], **options | {"evaluations": 30})
    assert (again.q == same.q).all()
    with pytest.raises(
        sr.ArgumentError, match=r"left do not determine the other coordinates at q; the mechanism has 2"
    ):
        exciting_trajectory(regressor, ["left"], **options)
    with pytest.raises(sr.ArgumentError, match=r"unknown velocity 'lefty'.*Did you mean 'left'"):
        exciting_trajectory(regressor, ["lefty", "right"], **options)


OPTIONS: dict[str, dict[str, Any]] = {
    "five_bar": {"limits": {"left": (1.1, 3.0), "right": (0.1, 2.0)}, "speed": 8.0, "acceleration": 60.0},
    "three_leg_platform": {
        "limits": {"platform.x": (-0.3, 0.3), "platform.y": (-0.35, 0.35), "platform.angle": (-1.2, 1.2)},
        "speed": {"platform.x": 1.0},
        "effort": {"elbow1": 40.0},
        "margin": 0.08,
    },
    "four_bar": {"limits": {"crank_pin": (-3.2, 3.2)}, "acceleration": 20.0},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_plans_know_the_covariance_of_a_log_of_them(name: str) -> None:
    mechanism, names, q0, _, _ = case(name)
    system = sr.System(mechanism)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    noise = {"q": 0.01, "v": 0.02, "a": 0.2, "u": 0.1}
    plan = exciting_trajectory(
        regressor, names, q=q0, period=5.0, base=base, noise=noise, evaluations=20, seed=1, **OPTIONS[name]
    )
    t = np.arange(120) * (5.0 / 120)
    q, v, a = plan.motion(t)
    np.testing.assert_allclose(q[::2], plan.q, atol=1e-9)
    np.testing.assert_allclose(a[::2], plan.a, atol=1e-7)
    u = controls(system, q, v, a)
    np.testing.assert_allclose(u[::2], plan.u, atol=1e-5 * np.abs(u).max())
    found = identify(regressor, t=t, q=q, v=v, a=a, u=u, noise=noise, base=base)
    np.testing.assert_allclose(
        found.std, plan.expected_std(120), rtol=0.03
    )  # sums over 60 samples and over 120
    np.testing.assert_allclose(found.size, plan.size, rtol=1e-6)
    relative = plan.expected_std(plan.samples_needed(0.01)) / plan.size
    assert 0.0099 < relative.max() <= 0.01
    # Limits hold between the samples, and no configuration is singular.
    fine = np.linspace(0.0, 5.0, 1001)
    q, v, a = plan.motion(fine)
    u = controls(system, q, v, a)
    if name == "three_leg_platform":
        assert np.abs(v[:, 6]).max() < 1.0 + 1e-3
        assert np.abs(u[:, 0]).max() < 40.0 * 1.001
        least = []
        for x in q:
            jacobian = system.constraint_jacobian(x)
            drive = regressor.allowed(jacobian).T @ system.actuation_matrix(x)
            least.append(np.linalg.svd(drive, compute_uv=False))
            others = system.model.characteristic.scaled_rows(jacobian)[:, :6]
            assert np.linalg.svd(others, compute_uv=False)[-1] > 0.08
        assert min(values[-1] / values[0] for values in least) > 0.02
    if name == "four_bar":
        assert np.abs(a).max() < 20.0 * 1.001


def test_the_default_criterion_tells_more_than_others() -> None:
    mechanism, names, q0, _, _ = case("four_bar")
    regressor = Regressor(sr.System(mechanism))
    base = base_parameters(regressor)
    options: dict[str, Any] = {
        "q": q0, "period": 5.0, "base": base, "evaluations": 60, "limits": {"crank_pin": (-3.2, 3.2)},
        "acceleration": 150.0, "samples": 36,
    }  # fmt: skip
    needed = {
        criterion: [
            exciting_trajectory(regressor, names, criterion=criterion, seed=seed, **options).samples_needed()
            for seed in range(2)
        ]
        for criterion in ("relative", "logdet", "condition")
    }
    assert sum(needed["relative"]) < sum(needed["logdet"])
    assert sum(needed["relative"]) < sum(needed["condition"])


def test_plans_that_cannot_be_made_are_errors() -> None:
    mechanism, names, q0, _, _ = case("five_bar")
    regressor = Regressor(sr.System(mechanism))
    base = base_parameters(regressor)

    def fails(kind: type[Exception], match: str, model: Regressor = regressor, **options: Any) -> None:
        with pytest.raises(kind, match=match):
            exciting_trajectory(model, names, **({"q": q0, "base": base, "evaluations": 3} | options))

    fails(sr.ArgumentError, r"criterion must be one of relative, logdet, condition", criterion="trace")
    fails(sr.ArgumentError, r"effort must be positive", effort=-1.0)
    fails(sr.ArgumentError, r"effort: unknown actuator 'left'", effort={"left": 3.0})
    fails(sr.ArgumentError, r"margin must be a number ≥ 0", margin=-0.1)
    fails(sr.ArgumentError, r"noise has nothing for 'v'", noise={"q": 0.1})
    fails(
        sr.SolveError,
        r"limits are violated at any amplitude.*control 'left_motor'",
        effort={"left_motor": 0.1},
    )
    fails(sr.SolveError, r"limits are violated at any amplitude.*singular configurations", margin=2.0)
    # One motor for two freedoms.
    mechanism.actuators.pop("right_motor")
    single = Regressor(sr.System(mechanism))
    fails(
        sr.ArgumentError,
        r"left_motor do not drive all degrees of freedom",
        single,
        base=base_parameters(single),
    )
    # Slips are no coordinates.
    sled = sr.Mechanism("sled")
    sled.add_body("sled", 1.0, inertia=(0.1, 0.1, 0.2))
    sled.add_joint("plane", "planar", "world", "sled", axis=(0, 0, 1), axis2=(1, 0, 0))
    sled.add_rolling("blade", "knife_edge", "sled")
    with pytest.raises(sr.ArgumentError, match=r"'blade\.lateral' constrains velocities only"):
        exciting_trajectory(Regressor(sr.System(sled)), ["plane.x", "plane.angle"])


def test_open_arms_with_limited_motors_and_samples_too_slow_for_dry_friction() -> None:
    arm = sr.Mechanism("arm")
    for k, (parent, body) in enumerate((("world", "one"), ("one", "two"))):
        arm.add_body(body, 1.0, com=(0.25, 0.02, 0.01), inertia=(0.01, 0.03, 0.03))
        arm.add_joint(
            f"j{k}", "revolute", parent, body, axis=(0, -1, 0), parent_pose=(0.5 * k, 0, 0), limits=(-1.0, 2.0),
            friction=0.3 * k,
        )  # fmt: skip
        arm.add_actuator(f"m{k}", f"j{k}", limits=(-9.0, 9.0))
    system = sr.System(arm)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    noise = {"q": 0.01, "v": 0.02, "a": 0.2, "u": 0.1}
    plan = exciting_trajectory(regressor, ["j0", "j1"], period=5.0, base=base, noise=noise, evaluations=30)
    assert "two.first_moment.x" in plan.labels
    assert "j1.friction" in plan.labels
    t = np.arange(240) * (5.0 / 240)
    q, v, a = plan.motion(t)
    assert -1.0 <= q.min() < q.max() <= 2.0
    u = controls(system, q, v, a)  # with dry friction
    assert np.abs(u).max() <= 9.0
    np.testing.assert_allclose(u[::4], plan.u, atol=1e-9)
    found = identify(regressor, t=t, q=q, v=v, a=a, u=u, noise=noise, base=base)
    assert found.left_out > 0
    np.testing.assert_allclose(found.std, plan.expected_std(240), rtol=0.05)
    arm.actuators.clear()  # moved from outside
    free = exciting_trajectory(Regressor(sr.System(arm)), ["j0", "j1"], period=5.0, evaluations=3)
    assert free.u.shape == (60, 0)
    with pytest.raises(sr.ArgumentError, match="samples must be at least 1"):
        plan.expected_std(0)
    with pytest.raises(sr.ArgumentError, match="relative must be positive"):
        plan.samples_needed(0.0)


def test_planning_leaves_the_functions_of_the_equations_alone() -> None:
    """Runs come to the same bits before and after loops were closed for a plan, and plans can follow runs."""
    mechanism = sr.load("models/five_bar.xml")
    start = mechanism.keyframes["collinear"].q
    fresh, used = sr.System(mechanism), sr.System(mechanism)
    q = used.assemble(mechanism.keyframes["symmetric"].q).q
    loops = Loops(used, [0, 2], q)
    t = np.zeros(1)
    assert loops.along(q[[0, 2]][None, None], t)[1].all()
    runs = [sr.simulate(system, start, duration=0.1) for system in (fresh, used)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert Loops(fresh, [0, 2], q).along(q[[0, 2]][None, None], t)[1].all()


def test_a_function_with_the_name_of_one_of_the_equations_never_stands_in_for_it() -> None:
    mechanism = sr.load("models/five_bar.xml")
    start = mechanism.keyframes["collinear"].q
    plain, shadowed = sr.System(mechanism), sr.System(mechanism)
    for name in ("closing", "dynamics", "mass_matrix"):
        zero = shadowed.compiled.named(name, lambda: {"x": ca.SX.zeros(2)})
        np.testing.assert_array_equal(zero.evaluate(shadowed.pack(start))["x"].ravel(), [0, 0])
    np.testing.assert_array_equal(shadowed.mass_matrix(start), plain.mass_matrix(start))
    runs = [sr.simulate(system, start, duration=0.1) for system in (plain, shadowed)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
