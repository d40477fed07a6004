"""Base parameters from noisy logs: estimates within their errors, and singular configurations."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from identified import case, controls, motion, noisy, other_numbers, physical, true_values
from sarrus.design.identification import Regressor, identify


@pytest.mark.parametrize(("name", "count"), [("five_bar", 11), ("four_bar", 11), ("three_leg_platform", 19)])
def test_noisy_logs_give_the_true_base_parameters(name: str, count: int) -> None:
    mechanism, names, q0, swing, period = case(name)
    true = other_numbers(mechanism, seed=7)
    truth = sr.System(true)
    t, q, v, a = motion(truth, names, q0, swing, period, 1000, seed=2)
    log, sizes = noisy(np.random.default_rng(5), 0.01, q=q, v=v, a=a, u=controls(truth, q, v, a))
    regressor = Regressor(sr.System(mechanism))
    found = identify(regressor, t=t, **log, noise=sizes)
    assert len(found.values) == len(found.base) == count
    expected = found.matrix @ true_values(regressor, true)
    off = found.values - expected
    assert np.abs(off / found.std).max() < 3.0
    excited = found.std < 0.003 * found.size
    assert np.abs(off[excited] / found.size[excited]).max(initial=0.0) < 0.01
    assert 0.8 < found.misfit < 1.2
    assert not found.unexcited
    physical(found.mechanism)
    assert np.abs((found.consistent - expected) / found.std).max() < 3.5
    # The new mechanism takes the torques of the true one on another motion, to one percent.
    _, q, v, a = motion(truth, names, q0, 0.6 * np.array(swing), 1.3 * period, 40, seed=9)
    torques = controls(truth, q, v, a)
    miss = controls(sr.System(found.mechanism), q, v, a) - torques
    assert np.sqrt((miss**2).mean()) < 0.01 * np.sqrt((torques**2).mean())


def test_without_noise_the_true_numbers_come_back_and_what_is_hidden_stays() -> None:
    mechanism, names, q0, _, period = case("five_bar")
    truth = sr.System(other_numbers(mechanism, seed=3))
    t, q, v, a = motion(truth, names, q0, 1.2, period, 120, seed=1)
    regressor = Regressor(sr.System(mechanism))
    u = controls(truth, q, v, a)
    found = identify(regressor, t=t, q=q, v=v, a=a, u=u, noise={"q": 1e-7, "v": 1e-7, "a": 1e-7, "u": 1e-7})
    assert truth.mechanism is not None
    expected = found.matrix @ true_values(regressor, truth.mechanism)
    np.testing.assert_allclose(found.values, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(found.consistent, expected, atol=1e-6 * np.abs(expected).max())
    # A log of the mechanism itself changes nothing, in neither metric.
    u = controls(regressor.system, q, v, a)
    for metric in ("entropic", "pullback"):
        same = identify(regressor, t=t, q=q, v=v, a=a, u=u, metric=metric, base=found.base)
        np.testing.assert_allclose(same.numbers, regressor.values, atol=1e-5)


def test_singular_configurations_in_the_log_are_ordinary() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    regressor = Regressor(system)
    t, q, v, a = motion(system, ["left", "right"], mechanism.keyframes["symmetric"].q, 0.9, 4.0, 60, seed=1)
    u = controls(system, q, v, a)
    stretched = mechanism.keyframes["collinear"].q
    speed = np.zeros(4)  # let go there; three freedoms, three equations
    moved = system.forward_dynamics(stretched, speed, [3.0, -2.0], throw=False)
    assert moved.status is sr.Status.SINGULAR
    found = identify(
        regressor, t=np.append(t, 9.0), q=np.vstack([q, stretched]), v=np.vstack([v, speed]),
        a=np.vstack([a, moved.a]), u=np.vstack([u, [3.0, -2.0]]),
    )  # fmt: skip
    np.testing.assert_allclose(found.values, found.prior, atol=1e-6)
