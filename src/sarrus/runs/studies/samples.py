"""Samples of uncertain parameters: random, Latin hypercube or Sobol, reproducible by seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.runs.studies.tolerances import PROBABILITY_EDGE, PROBABILITY_STEP

# scipy.stats is imported where it is used: it takes half a second.
SCHEMES = ("random", "latin", "sobol")


def normal(mean: float, std: float) -> Any:
    """Return the normal distribution with this mean and standard deviation > 0, a frozen one of `scipy.stats`."""
    from scipy.stats import norm

    if not (np.isfinite([mean, std]).all() and std > 0.0):
        raise ArgumentError(
            f"normal({mean!r}, {std!r}): the standard deviation must be positive", element="std"
        )
    return norm(mean, std)


def uniform(low: float, high: float) -> Any:
    """Return the uniform distribution between low and high > low, a frozen one of `scipy.stats`."""
    from scipy.stats import uniform as distribution

    if not (np.isfinite([low, high]).all() and high > low):
        raise ArgumentError(f"uniform({low!r}, {high!r}): the first must be below the second", element="high")
    return distribution(low, high - low)


def draw(
    distributions: Mapping[str, Any], runs: int, *, seed: int = 0, scheme: str = "random"
) -> dict[str, Array]:
    """Return samples (runs,) by name, for ``sr.study(samples=...)``.

    ``distributions`` are `normal`, `uniform`, or any frozen continuous distribution of `scipy.stats` (with ``ppf``, the
    inverse of its distribution function). They are independent of each other.

    scheme : "random": every name has a stream of its own, so run k of a name depends on seed, name and k alone.
        "sobol": scrambled Sobol points; more runs extend fewer; best in powers of two. "latin": Latin hypercube, in
        which every run depends on ``runs``. The coordinates of the last two follow the order of the names.

    Raises `ArgumentError` for an unknown scheme, fewer runs than one, and an entry that is no distribution or gives
    numbers that are not finite; the entry is named.
    """
    check_known("scheme", scheme, SCHEMES)
    if not (isinstance(runs, (int, np.integer)) and runs >= 1):
        raise ArgumentError(f"runs must be a whole number ≥ 1, got {runs!r}", element="runs")
    if not (isinstance(seed, (int, np.integer)) and seed >= 0):
        raise ArgumentError(f"seed must be a whole number ≥ 0, got {seed!r}", element="seed")
    for name, distribution in distributions.items():
        if not callable(getattr(distribution, "ppf", None)):
            raise ArgumentError(
                f"{name!r} must be a distribution such as sr.studies.normal(mean, std) or a frozen continuous one of "
                f"scipy.stats, got {distribution!r}",
                element=name,
            )
    levels = np.clip(
        _levels(list(distributions), int(runs), int(seed), scheme), PROBABILITY_EDGE, 1.0 - PROBABILITY_STEP
    )
    drawn = {}
    for level, (name, distribution) in zip(levels, distributions.items()):
        drawn[name] = np.asarray(distribution.ppf(level), dtype=float)
        if drawn[name].shape != (runs,) or not np.isfinite(drawn[name]).all():
            raise ArgumentError(f"the distribution of {name!r} gives no finite numbers", element=name)
    return drawn


def _levels(names: list[str], runs: int, seed: int, scheme: str) -> Array:
    """Return probabilities (names, runs)."""
    if scheme == "random" or not names:
        streams = [np.random.default_rng([seed, crc32(name.encode())]) for name in names]
        return np.array([stream.random(runs) for stream in streams])
    from scipy.stats import qmc

    if scheme == "latin":
        return np.asarray(qmc.LatinHypercube(len(names), rng=np.random.default_rng(seed)).random(runs)).T
    sobol = qmc.Sobol(len(names), scramble=True, rng=np.random.default_rng(seed))
    # A whole power of two is drawn, whose first rows are what fewer would be.
    return np.asarray(sobol.random_base2(int(np.ceil(np.log2(runs)))))[:runs].T
