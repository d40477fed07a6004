"""Periodic logs: the mean of all periods, and the noise from their scatter.

White noise of the mean falls with the square root of the number of periods, and the motion is not distorted as by a
filter (Swevers, Ganseman, Tükel, De Schutter, Van Brussel: Optimal Robot Excitation and Identification, IEEE
Transactions on Robotics and Automation 13(5), 1997, section IV).
"""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.design.identification.tolerances import (
    PERIOD_REPEATS,
    PERIOD_SCATTER,
    PERIOD_SHIFT,
    UNEVEN_SAMPLES,
)


def samples_of(label: str, t: Array, period: float) -> tuple[int, int]:
    """Return the number of samples in a period and the number of whole periods, at least two."""
    if not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"{label}: period must be positive, got {period}", element="period")
    step = float(t[-1] - t[0]) / (len(t) - 1)
    uneven = np.abs(t - t[0] - step * np.arange(len(t)))
    count = round(period / step)
    if uneven.max() > UNEVEN_SAMPLES * step or count < 1:
        k = int(np.argmax(uneven))
        raise ArgumentError(
            f"{label}: period= needs samples at even times, several in each period; sample {k} at {t[k]:g} s is "
            f"{uneven[k]:.3g} s off an even time",
            element="t",
        )
    whole = len(t) // count
    if abs(period / step - count) * whole > UNEVEN_SAMPLES * count:
        raise ArgumentError(
            f"{label}: a period of {period:g} s is {period / step:.6g} samples; it must be a whole number of them",
            element="period",
        )
    if whole < 2:
        raise ArgumentError(
            f"{label}: a log of {float(t[-1] - t[0]) + step:g} s has {whole} whole periods of {period:g} s; at least "
            "two are averaged",
            element="period",
        )
    return count, whole


class Periods:
    """Whole periods of a log: ``count`` samples in each of ``whole`` periods; the remainder is not used."""

    def __init__(self, label: str, t: Array, period: float) -> None:
        self.label = label
        self.count, self.whole = samples_of(label, t, period)

    def mean(self, x: Array) -> Array:
        """Return the mean (count, n) of x (T, n)."""
        return np.asarray(self._cut(x).mean(axis=0))

    def scatter(self, x: Array, means: Array, names: tuple[str, ...]) -> Array:
        """Return standard deviations (n,) of the mean of x, from the scatter of the periods; ``names`` (n,) of columns.

        Raises `ArgumentError` if a period differs from all others.
        """
        if not x.shape[1]:
            return np.zeros(0)
        off = self._cut(x) - means
        shift, power = off.mean(axis=1), (off**2).mean(axis=1)  # (whole, n)
        swing = means.std(axis=0)
        usual = np.sqrt(np.median(power, axis=0))
        white = np.sqrt(np.median(power - shift**2, axis=0) / self.count)
        wrong = np.abs(shift) > np.maximum(PERIOD_SHIFT * white, PERIOD_REPEATS * swing)
        wrong |= np.sqrt(power) > np.maximum(PERIOD_SCATTER * usual, PERIOD_REPEATS * swing)
        if wrong.any():
            k, column = (int(i) for i in np.argwhere(wrong)[0])
            raise ArgumentError(
                f"{self.label}: the log does not repeat: {names[column]!r} in period {k} is "
                f"{np.sqrt(power[k, column]):.3g} from the mean, usually {usual[column]:.3g}. Leave out the beginning "
                "of the motion, or give no period=",
                element=names[column],
            )
        return np.asarray(np.sqrt((off**2).sum(axis=(0, 1)) / (self.count * (self.whole - 1) * self.whole)))

    def _cut(self, x: Array) -> Array:
        return x[: self.count * self.whole].reshape(self.whole, self.count, -1)
