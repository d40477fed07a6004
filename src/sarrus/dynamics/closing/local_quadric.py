"""Motion on the quadric s + ½ zᵀ H z = 0 past its centre: the local model of a near-singular configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.tolerances import (
    QUADRIC_CENTRE,
    QUADRIC_NEARS,
    QUADRIC_REMAINS,
    QUADRIC_STEP,
    QUADRIC_STEPS,
)


class Quadric(NamedTuple):
    """The quadric s(τ) + ½ zᵀ H z = 0; ``s`` is a function of τ and of the order of the derivative, up to a time τ."""

    H: Array
    constant: Callable[[float, int], float]
    until: float = np.inf


class Way(NamedTuple):
    """Outcome of the motion; fields as in `sarrus.dynamics.singularity_forecast.SingularityForecast`."""

    outcome: str
    time: float
    least: float
    spike: float
    reason: str = ""


def follow(quadric: Quadric, mass: Array, force: Array, z: Array, velocity: Array) -> Way:
    """Return the outcome of M z̈ = force + H z λ on the quadric, started at its point closest to z with a velocity."""
    H, constant, inverse = quadric.H, quadric.constant, np.linalg.inv(mass)

    def place(z: Array, time: float) -> Array:
        for _ in range(4):
            slope = H @ z
            z = z - inverse @ slope * (constant(time, 0) + 0.5 * z @ slope) / (slope @ inverse @ slope)
        return np.asarray(z)

    def along(z: Array, velocity: Array, time: float) -> Array:
        slope = H @ z
        excess = slope @ velocity + constant(time, 1)
        return np.asarray(velocity - inverse @ slope * excess / (slope @ inverse @ slope))

    def acceleration(z: Array, velocity: Array, time: float) -> Array:
        slope, free = H @ z, inverse @ force
        excess = slope @ free + velocity @ H @ velocity + constant(time, 2)
        return np.asarray(free - inverse @ slope * excess / (slope @ inverse @ slope))

    def indicator(velocity: Array, time: float) -> float:
        return abs(float(velocity @ H @ velocity + constant(time, 2)))

    with np.errstate(all="ignore"):
        time, z = 0.0, place(z, 0.0)
        velocity = along(z, velocity, 0.0)
        first = least = float(np.linalg.norm(H @ z))
        spike, last = indicator(velocity, 0.0) / first, [(0.0, first)]
        for _ in range(QUADRIC_STEPS):
            turning = float(np.linalg.norm(H @ velocity))
            if not np.isfinite(turning) or turning == 0.0:
                return Way(
                    "undecided",
                    np.nan,
                    least,
                    spike,
                    "the motion to the singular configuration is not resolved",
                )
            h = QUADRIC_STEP * float(np.linalg.norm(H @ z)) / turning
            # classical Runge–Kutta step
            k1, l1 = velocity, acceleration(z, velocity, time)
            k2 = velocity + 0.5 * h * l1
            l2 = acceleration(z + 0.5 * h * k1, k2, time + 0.5 * h)
            k3 = velocity + 0.5 * h * l2
            l3 = acceleration(z + 0.5 * h * k2, k3, time + 0.5 * h)
            k4 = velocity + h * l3
            l4 = acceleration(z + h * k3, k4, time + h)
            z, velocity = (
                z + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6,
                velocity + h * (l1 + 2 * l2 + 2 * l3 + l4) / 6,
            )
            time += h
            if time > quadric.until:
                return Way("leads away", np.nan, first, spike)
            z = place(z, time)
            velocity = along(z, velocity, time)
            sigma = float(np.linalg.norm(H @ z))
            if not np.isfinite(sigma):
                return Way("locks up", time, 0.0, np.inf)
            now = indicator(velocity, time)
            spike = max(spike, now / sigma)
            last = [*last[-2:], (time, sigma)]
            if len(last) == 3 and last[1][1] < min(last[0][1], sigma):
                when, least = _lowest(last)
                break
            least = min(least, sigma)
            if sigma < QUADRIC_CENTRE * first:
                arrival = time + sigma / float(np.linalg.norm(H @ velocity))
                if now > QUADRIC_REMAINS * turning * float(np.linalg.norm(velocity)):
                    return Way("locks up", arrival, 0.0, np.inf)
                return Way("passes", arrival, 0.0, np.nan)
        else:
            return Way(
                "undecided", np.nan, least, spike, "the motion to the singular configuration is not resolved"
            )
    if least > QUADRIC_NEARS * first:
        return Way("leads away", np.nan, first, spike)
    return Way("turns back", when, least, spike)


def _lowest(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return time and σ of the minimum of the parabola through σ² at three times, the lowest in the middle."""
    times, squares = np.array(points)[:, 0], np.array(points)[:, 1] ** 2
    middle = times[1]
    a, b, c = np.polyfit(times - middle, squares, 2)
    shift = float(np.clip(-b / (2 * a), times[0] - middle, times[2] - middle))
    return float(middle + shift), float(np.sqrt(max(a * shift**2 + b * shift + c, 0.0)))
