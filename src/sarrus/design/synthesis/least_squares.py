"""Levenberg–Marquardt within bounds, for residuals that do not exist everywhere.

SciPy's trust region divides by singular values of the Jacobian, and ends in NaN if designs form families.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense

Place = TypeVar("Place")
# Damping against the largest diagonal entry of JᵀJ: at first, at least, and where nothing falls any more.
_FIRST, _LEAST, _MOST = 1e-3, 1e-12, 1e12
# Share of the decrease that the model foretells, below which damping grows and above which it falls.
_POOR, _GOOD = 0.25, 0.75
# Steps that end it: the largest entry in the scales, and how many in a row may leave nearly all of the squares.
_SMALL, _IDLE = 1e-15, 5


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
    residuals: Residuals[Place], place: Place, iterations: int, *, slow: float = 1.0 - 1e-12
) -> tuple[Place, bool]:
    """Return a local minimum of the sum of squares, and whether it was reached within so many iterations.

    A step to a place without residuals, or with larger ones, is repeated with more damping. The iteration also ends if
    several steps in a row leave more than the share ``slow`` of the squares.
    """
    now = residuals.residual(place)
    assert now is not None
    jacobian = residuals.jacobian(place)
    damping, growth, idle = _FIRST, 2.0, 0
    for _ in range(iterations):
        size = max(float((jacobian**2).sum(axis=0).max(initial=0.0)), 1e-300)
        step = _step(residuals, place, jacobian, now, damping * size)
        if float(np.abs(step).max(initial=0.0)) <= _SMALL or damping > _MOST or idle > _IDLE:
            return place, True
        trial = residuals.moved(place, step)
        after = residuals.residual(trial)
        before = float(now @ now)
        left = np.inf if after is None else float(after @ after)
        if after is None or not left < before:
            damping, growth = damping * growth, 2.0 * growth
            continue
        linear = now + jacobian @ step
        share = (before - left) / max(before - float(linear @ linear), 1e-300)
        damping = max(damping * (0.1 if share > _GOOD else 2.0 if share < _POOR else 1.0), _LEAST)
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
