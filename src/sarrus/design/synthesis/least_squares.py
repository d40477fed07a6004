"""Levenberg–Marquardt within bounds, for residuals that do not exist everywhere.

SciPy's trust region divides by singular values of the Jacobian, and ends in NaN if designs form families.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.synthesis.tolerances import (
    DAMPING_FIRST,
    DAMPING_LEAST,
    DAMPING_MOST,
    GOOD_FALL,
    IDLE_FALL,
    IDLE_STEPS,
    POOR_FALL,
    SMALLEST_STEP,
)
from sarrus.kernels.linalg import dense

Place = TypeVar("Place")


class Residuals(Protocol, Generic[Place]):
    """Residuals at places between which steps lead, in scaled variables."""

    def residual(self, place: Place) -> Array | None:
        """Return the residuals; None if they do not exist there."""

    def jacobian(self, place: Place) -> Array:
        """Return the derivative of the residuals with respect to steps."""

    def moved(self, place: Place, step: Array) -> Place:
        """Return the place after a step, within bounds."""

    def stops(self, place: Place, step: Array) -> np.ndarray:
        """Return the mask of variables at a bound that the step would cross."""


def descend(
    residuals: Residuals[Place], place: Place, iterations: int, *, slow: float = 1.0 - IDLE_FALL
) -> tuple[Place, bool]:
    """Return a local minimum of the sum of squares, and whether it was reached within so many iterations.

    A step to a place without residuals, or with larger ones, is repeated with more damping. The iteration also ends if
    several steps in a row leave more than the share ``slow`` of the squares.
    """
    now = residuals.residual(place)
    assert now is not None
    jacobian = residuals.jacobian(place)
    damping, growth, idle = DAMPING_FIRST, 2.0, 0
    for _ in range(iterations):
        size = max(float((jacobian**2).sum(axis=0).max(initial=0.0)), LEAST_DIVISOR)
        step = _step(residuals, place, jacobian, now, damping * size)
        if (
            float(np.abs(step).max(initial=0.0)) <= SMALLEST_STEP
            or damping > DAMPING_MOST
            or idle > IDLE_STEPS
        ):
            return place, True
        trial = residuals.moved(place, step)
        after = residuals.residual(trial)
        before = float(now @ now)
        left = np.inf if after is None else float(after @ after)
        if after is None or not left < before:
            damping, growth = damping * growth, 2.0 * growth
            continue
        linear = now + jacobian @ step
        share = (before - left) / max(before - float(linear @ linear), LEAST_DIVISOR)
        damping = max(
            damping * (0.1 if share > GOOD_FALL else 2.0 if share < POOR_FALL else 1.0), DAMPING_LEAST
        )
        idle = idle + 1 if left > slow * before else 0
        place, now, growth = trial, after, 2.0
        jacobian = residuals.jacobian(place)
    return place, False


def _step(residuals: Residuals[Place], place: Place, jacobian: Array, now: Array, damping: float) -> Array:
    """Return the damped Gauss–Newton step; variables that it would push out of their bounds stay."""
    free = np.ones(jacobian.shape[1], dtype=bool)
    step = np.zeros(len(free))
    while free.any():
        own = np.ascontiguousarray(jacobian[:, free])
        normal = dense.product(own.T, own) + damping * np.eye(own.shape[1])
        step[:] = 0.0
        step[free] = -dense.solve(normal, dense.product(own.T, now))
        out = residuals.stops(place, step) & free
        if not out.any():
            break
        free &= ~out
    return step if free.any() else np.zeros(len(free))
