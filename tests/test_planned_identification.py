"""Planned motions, averaged over their periods: all base parameters within one percent, from logs with noise of 1 %."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sarrus as sr
from identified import case, controls, noisy, other_numbers, physical, true_values
from sarrus.base.arrays import Array
from sarrus.design.identification import (
    BaseParameters,
    ExcitingTrajectory,
    Regressor,
    base_parameters,
    exciting_trajectory,
    identify,
)

SAMPLES = 200  # of a period
# What the mechanisms may do, how many periods their logs have, and how many base parameters are told to a third of a
# percent of their own values; the others are small parts of what they combine, such as moments across a link.
MOTIONS: dict[str, tuple[dict[str, Any], int, int]] = {
    "five_bar": (
        {"limits": {"left": (1.1, 3.0), "right": (0.1, 2.0)}, "speed": 8, "acceleration": 60},
        20,
        6,
    ),
    "three_leg_platform": (
        {
            "limits": {"platform.x": (-0.3, 0.3), "platform.y": (-0.35, 0.35), "platform.angle": (-1.2, 1.2)},
            "speed": 8,
            "acceleration": 80,
            "effort": 60,
        },
        80,
        12,
    ),
    "four_bar": ({"limits": {"crank_pin": (-3.2, 3.2)}, "speed": 15, "acceleration": 150}, 400, 7),
}

Planned = tuple[str, Regressor, BaseParameters, ExcitingTrajectory]


@pytest.fixture(scope="module", params=MOTIONS)
def planned(request: pytest.FixtureRequest) -> Planned:
    mechanism, names, q0, _, _ = case(request.param)
    regressor = Regressor(sr.System(mechanism))
    base = base_parameters(regressor)
    options = MOTIONS[request.param][0]
    plan = exciting_trajectory(
        regressor, names, q=q0, period=5.0, base=base, evaluations=60, seed=3, **options
    )
    return request.param, regressor, base, plan


def log_of(
    plan: ExcitingTrajectory, truth: sr.System, seed: int, periods: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """A log of whole periods with one percent of noise on all channels, and how large the noise is."""
    t = np.arange(SAMPLES) * (plan.series.period / SAMPLES)
    q, v, a = plan.motion(t)
    signals = {"q": q, "v": v, "a": a, "u": controls(truth, q, v, a)}
    signals = {name: np.tile(x, (periods, 1)) for name, x in signals.items()}
    log, sizes = noisy(np.random.default_rng(seed), 0.01, **signals)
    return log | {"t": np.arange(periods * SAMPLES) * (plan.series.period / SAMPLES)}, sizes


@pytest.mark.parametrize("seed", range(3))
def test_all_base_parameters_are_within_one_percent(planned: Planned, seed: int) -> None:
    name, regressor, base, plan = planned
    _, periods, least = MOTIONS[name]
    true = other_numbers(regressor.system.current_mechanism(), seed=20 + seed)
    log, _ = log_of(plan, sr.System(true), seed, periods)
    found = identify(regressor, period=5.0, base=base, **log)
    assert (found.samples, found.periods) == (SAMPLES, periods)
    expected = found.matrix @ true_values(regressor, true)
    off = np.abs(found.values - expected)
    assert (off / found.std).max() < 3.0
    size = regressor.sizes(found.matrix, expected)
    assert (off / size).max() < 0.01
    own = found.std < np.abs(expected) / 300
    assert own.sum() >= least
    assert (off / np.abs(expected))[own].max() < 0.01
    # The plan says so before.
    assert len(found.well_excited) == len(found.values) == len(base)
    assert plan.samples_needed() < periods * SAMPLES
    assert f"{len(base)} of {len(base)} are well excited" in str(found)
    ratio = found.std / plan.expected_std(periods * SAMPLES)
    assert 0.6 < ratio.min() < ratio.max() < 1.6
    assert 0.7 < found.misfit < 1.3
    physical(found.mechanism)
    assert np.abs((found.consistent - expected) / size).max() < 0.01
