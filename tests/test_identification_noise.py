"""Covariance by Monte Carlo, bias by noise in the regressor, and dry friction in noisy logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

import sarrus as sr
from identified import case, controls, four_bar, motion, noisy
from sarrus.design.identification import Regressor, base_parameters, identify


def test_covariance_is_that_of_many_logs() -> None:
    mechanism, names, q0, swing, period = case("five_bar")
    system = sr.System(mechanism)
    t, q, v, a = motion(system, names, q0, swing, period, 80, seed=2)
    u, regressor, rng = controls(system, q, v, a), Regressor(system), np.random.default_rng(11)
    base = base_parameters(regressor)
    squares, estimates, runs = [], [], 25
    for _ in range(runs):
        log, sizes = noisy(rng, 0.003, q=q, v=v, a=a, u=u)
        found = identify(regressor, t=t, **log, noise=sizes, base=base)
        off = found.values - found.prior
        squares.append(float(off @ np.linalg.solve(found.covariance, off)))
        estimates.append(off / found.std)
    n = len(base)
    low, high = chi2.ppf([0.001, 0.999], n * runs)
    assert low < sum(squares) < high
    spread = np.std(estimates, axis=0)
    assert 0.6 < spread.min() < spread.max() < 1.5
    assert np.abs(np.mean(estimates, axis=0)).max() < 3.5 / np.sqrt(runs)


def test_noise_in_the_regressor_does_not_bias() -> None:
    # Plain least squares with 5 % of noise in the accelerations are wrong by many standard deviations.
    mechanism, names, q0, _, period = case("four_bar")
    system = sr.System(mechanism)
    t, q, v, a = motion(system, names, q0, 5.0, period, 700, seed=2)
    log, sizes = noisy(np.random.default_rng(1), 0.03, q=q, v=v, a=a, u=controls(system, q, v, a))
    found = identify(system, t=t, **log, noise=sizes)
    assert np.abs((found.values - found.prior) / found.std).max() < 3.5


def test_dry_friction_gain_and_armature() -> None:
    mechanism = four_bar()
    m = mechanism.snapshot()
    body = m.bodies["rocker"]
    m.replace_body(replace(body, joints=(replace(body.joints[0], friction=(0.7,), armature=(0.02,)),)))
    system = sr.System(m)
    numbers = ["coupler", "rocker", "rocker_pin.friction", "crank_pin.damping", "motor.gain"]
    regressor = Regressor(system, numbers)  # the crank gives the scale
    t, q, v, a = motion(system, ["crank_pin"], system.assemble(system.neutral()).q, 2.0, 4.0, 400, seed=2)
    u = []
    for state in zip(q, v, a):  # Zᵀ (W p + w) is linear in u
        rows, right = regressor.rows(*state, [0.0])
        more, other = regressor.rows(*state, [1.0])
        force = [float((r @ regressor.values - b)[0]) for r, b in ((rows, right), (more, other))]
        u.append([force[0] / (force[0] - force[1])])
    log, sizes = noisy(np.random.default_rng(3), 0.01, q=q, v=v, a=a, u=np.array(u))
    found = identify(regressor, t=t, **log, noise=sizes)
    assert found.left_out > 0
    assert np.abs((found.values - found.prior) / found.std).max() < 3.0
    assert {"rocker_pin.friction", "crank_pin.damping", "motor.gain"} <= set(found.base.identifiable)
    assert abs(found["rocker_pin.friction"] - 0.7) < 0.03
    assert abs(found["motor.gain"] - 1.0) < 0.02
    joint = found.mechanism.bodies["rocker"].joints[0]
    assert joint.friction == (found["rocker_pin.friction"],)
    assert found.mechanism.actuators["motor"].gain == found["motor.gain"]
    # Without a scale all may be multiplied alike.
    m.springs.clear()
    free = Regressor(sr.System(m), also=("motor.gain",))
    with pytest.raises(sr.ArgumentError, match=r"nothing in the equations is known.*Fix one with known="):
        identify(free, t=t, **log)
