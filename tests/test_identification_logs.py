"""Logs: what they do not excite, splines, filters, datasets, and errors that name the sample."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from identified import case, controls, motion, noisy, other_numbers, physical, true_values
from sarrus.design.identification import Regressor, base_parameters, identify


def test_what_a_log_does_not_excite_is_named_and_stays() -> None:
    mechanism, names, q0, swing, period = case("five_bar")
    system = sr.System(mechanism)
    t, *_ = motion(system, names, q0, swing, period, 60, seed=2)
    held = np.tile(q0, (60, 1))
    still = np.zeros((60, system.nv))
    found = identify(system, t=t, q=held, v=still, a=still, u=controls(system, held, still, still))
    assert found.unexcited
    assert any("origin_inertia.yy" in label for label in found.unexcited)
    assert len(found.values) < len(found.base)
    physical(found.mechanism)
    np.testing.assert_allclose(found.numbers, found.prior_numbers, atol=1e-6)
    assert "link1.mass" in found.unidentifiable
    assert "not excited" in str(found)


def test_splines_and_filter_make_a_log_whole() -> None:
    mechanism, names, q0, _, period = case("five_bar")
    truth = sr.System(other_numbers(mechanism, seed=4))
    t, q, v, a = motion(truth, names, q0, 1.2, period, 800, seed=2)
    u = controls(truth, q, v, a)
    log, _ = noisy(np.random.default_rng(6), 1e-5, q=q, u=u)
    found = identify(sr.System(mechanism), t=t, **log)
    assert truth.mechanism is not None
    expected = found.matrix @ true_values(Regressor(sr.System(mechanism)), truth.mechanism)
    assert np.abs((found.values - expected) / found.size).max() < 0.003
    log, _ = noisy(np.random.default_rng(6), 0.05, q=q, v=v, a=a, u=u)
    found = identify(sr.System(mechanism), t=t, **log, cutoff=8.0)
    assert found.samples < 120
    assert np.abs((found.values - expected) / found.std).max() < 4.0


def test_trajectories_and_datasets_are_logs() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)

    def push(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        return ca.vertcat(8 * ca.sin(5 * t) - 4 - 2 * v[0], 6 * ca.cos(4 * t) + 4 - 2 * v[2])

    run = sr.simulate(system, mechanism.keyframes["symmetric"].q, duration=1.0, dt=0.01, control=push)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    by_run = identify(regressor, run, base=base)
    np.testing.assert_allclose(by_run.values, by_run.prior, atol=1e-6)
    data = run.to_xarray()
    turned = data.isel(coordinate=[3, 1, 0, 2], velocity=[1, 0, 3, 2], actuator=[1, 0])
    by_label = identify(regressor, turned, base=base)
    np.testing.assert_allclose(by_label.values, by_run.values, atol=1e-9)
    with pytest.raises(sr.ArgumentError, match="the log has no coordinate 'right'"):
        identify(regressor, data.isel(coordinate=[0, 1]), base=base)


def test_bad_logs_are_errors_that_name_the_sample() -> None:
    mechanism, names, q0, swing, period = case("five_bar")
    system = sr.System(mechanism)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    t, q, v, a = motion(system, names, q0, swing, period, 40, seed=2)
    good = {"t": t, "q": q, "v": v, "a": a, "u": controls(system, q, v, a)}

    def fails(match: str, **changes: Any) -> None:
        with pytest.raises(sr.ArgumentError, match=match):
            identify(regressor, base=base, **(good | changes))

    hole = v.copy()
    hole[3, 1] = np.nan
    fails(r"v must be finite; sample 3 of 'left_elbow' is nan", v=hole)
    fails(
        r"u must have shape \(40, 2\), one row for each time.*left_motor, right_motor, got \(40, 3\)",
        u=v[:, :3],
    )
    fails(r"q must have shape \(40, 4\)", q=q[:-1])
    back = t.copy()
    back[7] = back[5]
    fails(r"t must increase; sample 7 at", t=back)
    fails(r"t must be finite, sample 0 is nan", t=np.full(40, np.nan))
    fails(r"t must be a vector of 6 times", t=t[:, None])
    fails(r"the log has no 'u'.*left_motor", u=None)
    fails(r"the log has no 'q'", q=None)
    fails(r"the loops are open in sample 0 at 0 s: 'tips\.[xz]'", q=np.rad2deg(q))
    fails(r"the loops are open in sample", q=q + np.array([0, 0, 1.0, 0]))
    fails(r"velocities of the log would open the loops", v=v[:, ::-1])
    fails(r"noise must have standard deviations of q, v, a and u, not 'x'", noise={"x": 1.0})
    fails(r"noise has nothing for 'v'", noise={"q": 1.0})
    fails(r"noise\['q'\] must be a number ≥ 0", noise={"q": -1.0, "v": 1, "a": 1, "u": 1})
    fails(r"cutoff must be between 0 and half the sample rate", cutoff=1e4)
    fails(r"metric must be one of entropic, pullback", metric="euclidean")
    fails(r"prior_weight must be positive", prior_weight=0.0)
    few = {name: x[:6] for name, x in good.items()}
    short = {name: x[::20] for name, x in few.items()}
    fails(r"t must be a vector of 6 times", **short)
    with pytest.raises(sr.ArgumentError, match="a log must be a Trajectory or an xarray Dataset"):
        identify(regressor, {"q": q}, base=base)
