"""Finite Fourier series of independent coordinates.

c(t) = c₀ + Σ_k α_k sin(k ω t) / (k ω) − β_k cos(k ω t) / (k ω), k = 1 … N (Swevers, Ganseman, Tükel, De Schutter, Van
Brussel: Optimal Robot Excitation and Identification, IEEE Transactions on Robotics and Automation 13(5), 1997, eq. 11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array


def frequencies(count: int, period: float) -> Array:
    """Return k ω for k = 1 … N [rad/s]."""
    return np.asarray(np.arange(1, count + 1) * (2.0 * np.pi / period))


def unit_series(t: ArrayLike, count: int, period: float) -> Array:
    """Return values, rates and accelerations (3, shape of t, 2 N + 1) of 1, sin(k ω t) and cos(k ω t)."""
    k = frequencies(count, period)
    phase = np.multiply.outer(np.asarray(t, dtype=float), k)
    s, c = np.sin(phase), np.cos(phase)
    one = np.ones((*phase.shape[:-1], 1))
    return np.stack(
        [
            np.concatenate([one, s, c], axis=-1),
            np.concatenate([0.0 * one, k * c, -k * s], axis=-1),
            np.concatenate([0.0 * one, -k * k * s, -k * k * c], axis=-1),
        ]
    )


@dataclass(frozen=True, eq=False)
class Fourier:
    """A series: centre (m,), sine and cosine coefficients (m, N) of the rates, and the period [s]."""

    centre: Array
    sine: Array
    cosine: Array
    period: float

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return coordinates, rates and accelerations at times t: shape of t plus (m,)."""
        count = self.sine.shape[1]
        k = frequencies(count, self.period)
        place, rate, acceleration = (
            unit_series(t, count, self.period)
            @ np.hstack([self.centre[:, None], self.sine / k, -self.cosine / k]).T
        )
        return place, rate, acceleration

    def scaled(self, factor: float) -> Fourier:
        """Return the series with its amplitude multiplied by ``factor``."""
        return Fourier(self.centre, factor * self.sine, factor * self.cosine, self.period)
