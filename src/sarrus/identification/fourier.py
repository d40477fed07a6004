"""Finite Fourier series of independent coordinates.

c(t) = c₀ + Σ_k α_k sin(k ω t) / (k ω) − β_k cos(k ω t) / (k ω), k = 1 … N (Swevers, Ganseman, Tükel, De Schutter, Van
Brussel: Optimal Robot Excitation and Identification, IEEE Transactions on Robotics and Automation 13(5), 1997, eq. 11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array


@dataclass(frozen=True, eq=False)
class Fourier:
    """A series: centre (m,), sine and cosine coefficients (m, N) of the rates, and the period [s]."""

    centre: Array
    sine: Array
    cosine: Array
    period: float

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return coordinates, rates and accelerations at times t: shape of t plus (m,)."""
        k = np.arange(1, self.sine.shape[1] + 1) * (2.0 * np.pi / self.period)
        phase = np.multiply.outer(np.asarray(t, dtype=float), k)
        s, c = np.sin(phase), np.cos(phase)
        place = self.centre + s @ (self.sine / k).T - c @ (self.cosine / k).T
        rate = c @ self.sine.T + s @ self.cosine.T
        acceleration = -s @ (self.sine * k).T + c @ (self.cosine * k).T
        return place, rate, acceleration

    def scaled(self, factor: float) -> Fourier:
        """Return the series with its swing multiplied."""
        return Fourier(self.centre, factor * self.sine, factor * self.cosine, self.period)
