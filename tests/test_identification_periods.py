"""Periodic logs: means of periods lose nothing, their scatter is the noise, and what does not repeat is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sarrus as sr
from identified import case, controls, motion, noisy
from sarrus.base.arrays import Array
from sarrus.design.identification import Regressor, base_parameters, identify
from sarrus.design.identification.measurements import read
from sarrus.design.identification.noise import noise_levels


def periodic(periods: int, count: int, seed: int, part: float = 0.01) -> tuple[Any, ...]:
    """The five-bar, a log of a motion again and again with noise, exact signals of one period, and the noise."""
    mechanism, names, q0, _, period = case("five_bar")
    system = sr.System(mechanism)
    _, q, v, a = motion(system, names, q0, 1.5, period, 2 * count, seed=2)
    one = {name: x[:count] for name, x in {"q": q, "v": v, "a": a, "u": controls(system, q, v, a)}.items()}
    log, noise = noisy(
        np.random.default_rng(seed), part, **{name: np.tile(x, (periods, 1)) for name, x in one.items()}
    )
    return system, log | {"t": np.arange(periods * count) * (period / count)}, one, noise, period


def test_the_mean_of_periods_tells_what_all_samples_tell() -> None:
    system, log, _, noise, period = periodic(10, 60, seed=3)
    regressor = Regressor(system)
    base = base_parameters(regressor)
    every = identify(regressor, noise=noise, base=base, **log)
    mean = identify(regressor, noise=noise, base=base, period=period, **log)
    assert (every.samples, every.periods, mean.samples, mean.periods) == (600, 1, 60, 10)
    np.testing.assert_allclose(mean.std, every.std, rtol=0.05)
    assert np.abs((mean.values - every.values) / every.std).max() < 0.3
    assert 0.7 < mean.misfit < 1.3
    # The noise need not be known: periods tell it.
    unknown = identify(regressor, base=base, period=period, **log)
    np.testing.assert_allclose(unknown.std, every.std, rtol=0.1)
    assert 0.7 < unknown.misfit < 1.3
    assert "60 samples, each the mean of 10 periods" in str(mean)


def test_scatter_of_periods_is_the_noise_and_leftovers_do_not_count() -> None:
    system, log, one, noise, period = periodic(30, 50, seed=4, part=0.02)
    log = {name: np.concatenate([x, x[:7]]) for name, x in log.items()}
    log["t"][-7:] = log["t"][1499] + (1 + np.arange(7)) * (period / 50)
    found = read(system, None, log, period=period)
    assert len(found) == 50
    assert found.periods == 30
    expected = np.concatenate([noise[name] for name in "qvau"]) / np.sqrt(30)
    np.testing.assert_allclose(noise_levels(system, found, None), expected, rtol=0.12)
    np.testing.assert_allclose(noise_levels(system, found, noise), expected, rtol=1e-12)
    for name, exact in one.items():
        off = np.sqrt(((getattr(found, name) - exact) ** 2).mean(axis=0))
        np.testing.assert_allclose(off, noise[name] / np.sqrt(30), rtol=0.4)


def test_splines_of_a_period_have_no_ends() -> None:
    system, log, one, _, period = periodic(4, 300, seed=5, part=0.0)
    found = read(system, None, {name: log[name] for name in "tqu"}, period=period)
    assert len(found) == 300
    for name in "va":
        exact: Array = one[name]
        np.testing.assert_allclose(getattr(found, name), exact, atol=2e-3 * np.abs(exact).max())


def test_quaternions_are_averaged_too() -> None:
    m = sr.Mechanism("top")
    m.add_body("top", 1.0, com=(0.1, 0, 0.2), inertia=(0.02, 0.03, 0.03))
    m.add_joint("ball", "spherical", "world", "top")
    system = sr.System(m)
    rng, t = np.random.default_rng(1), np.arange(400) * 0.01
    angle = np.stack(
        [0.5 * np.sin(2 * np.pi * t), 0.3 * np.cos(2 * np.pi * t), 0.2 * np.sin(4 * np.pi * t)], 1
    )
    exact = np.array([system.move(system.neutral(), x) for x in angle])
    q = np.array([system.move(x, 0.01 * rng.standard_normal(3)) for x in exact])
    q[1::3] *= -1.0  # the same rotations
    rates = np.zeros((400, 3)) + 0.01 * rng.standard_normal((400, 3))
    found = read(system, None, {"t": t, "q": q, "v": rates, "a": rates}, period=1.0)
    assert found.periods == 4
    np.testing.assert_allclose(found.q, exact[:100], atol=0.012)
    np.testing.assert_allclose(noise_levels(system, found, None)[:3], 0.005, rtol=0.25)


def test_logs_that_do_not_repeat_are_errors() -> None:
    system, log, _, _, period = periodic(6, 50, seed=6)

    def fails(match: str, period: float = period, cutoff: float | None = None, **changes: Array) -> None:
        with pytest.raises(sr.ArgumentError, match=match):
            read(system, None, log | changes, cutoff, period)

    start = log["v"].copy()
    start[:50, 2] *= np.linspace(0.0, 1.0, 50)
    fails(r"the log does not repeat: 'right' in period 0 .*Leave out the beginning of the motion", v=start)
    turning = log["q"] + np.arange(300)[:, None] / 300.0
    fails(r"the log does not repeat: 'left' in period", q=turning)
    fails(r"a period of 1\.505 s is 25\.08.* samples", period=1.505)
    fails(r"0 whole periods of 100 s; at least two", period=100.0)
    fails(r"period must be positive", period=-1.0)
    fails(r"either cutoff= or period=", cutoff=3.0)
    uneven = log["t"] + 0.3 * (log["t"][1] - log["t"][0]) * (np.arange(300) % 2)
    fails(r"needs samples at even times", t=uneven)
