"""Exciting trajectories: limits, loops, derivatives, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sarrus as sr
from sarrus.identification import Regressor, base_parameters, exciting_trajectory


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
        sr.ArgumentError, match=r"left do not determine the other coordinates at q; there are 2 free"
    ):
        exciting_trajectory(regressor, ["left"], **options)
    with pytest.raises(sr.ArgumentError, match=r"unknown velocity 'lefty'.*Did you mean 'left'"):
        exciting_trajectory(regressor, ["lefty", "right"], **options)
