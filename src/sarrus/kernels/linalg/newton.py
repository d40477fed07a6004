"""Newton's method with a contraction test, and continuation of its solution along a parameter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.tolerances import NEWTON_CONTRACTION, NEWTON_CONVERGED, SHORTEST_WAY

MAX_ITERATIONS = 30

# x → (correction Δ, condition number of the linear equations for Δ)
Correction = Callable[[Array], tuple[Array, float]]
Move = Callable[[Array, Array], Array]


def contract(
    x: Array,
    correction: Callable[[Array], tuple[Array, float]],
    move: Move,
    *,
    rate: float,
    done: float,
    first: float,
    most: int,
    enough: float = 0.0,
) -> Array | None:
    """Return the limit of Newton's method from x, or None if a correction is too large.

    ``correction`` returns a step and its size. The size of the first step may be at most ``first``; the size of each
    later step at most ``rate`` times the size of the step before. The iteration ends after a step of size ``done``,
    or after ``most`` steps if this bound for the next step is at most ``enough``.
    """
    limit = first
    for _ in range(most):
        step, size = correction(x)
        if not size <= max(limit, done):
            return None
        x, limit = move(x, step), rate * size
        if size <= done:
            return x
    return x if limit <= enough else None


def newton(x: Array, correction: Correction, move: Move = np.add) -> Array | None:
    """Return the solution near x, or None if the corrections do not contract.

    The error after a correction Δ is at most ρ/(1 − ρ) |Δ| with the contraction rate ρ, the ratio of the last two
    corrections (Spencer 2004, section 2.3.1, takes the mean ratio of all corrections). The iteration stops if this
    bound is rounding of x, or if Δ is rounding of the residual: 100 ε times the condition number.
    """
    before = 0.0
    for _ in range(MAX_ITERATIONS):
        step, condition = correction(x)
        size = float(np.abs(step).max(initial=0.0))
        if not np.isfinite(size):
            return None
        scale = max(1.0, float(np.abs(x).max(initial=0.0)))
        rate = size / before if before > 0.0 else NEWTON_CONTRACTION
        noise = 100.0 * np.finfo(float).eps * condition * scale
        if rate > NEWTON_CONTRACTION and size > noise:
            return None
        x = move(x, step)
        if rate > NEWTON_CONTRACTION or rate / (1.0 - rate) * size <= NEWTON_CONVERGED * scale:
            return x
        before = size
    return None


def follow(x: Array, solve: Callable[[Array, float], Array | None]) -> tuple[Array, float]:
    """Return the last solution and its s on a path from x at s = 0 to s = 1; s < 1 if the solution was lost.

    ``solve(x, s)`` returns the solution at s near x, or None. After None the step in s is halved.
    """
    s, step = 0.0, 1.0
    while s < 1.0 and step >= SHORTEST_WAY:
        trial = solve(x, s + step)
        if trial is None:
            step *= 0.5
        else:
            x, s = trial, s + step
            step = min(2.0 * step, 1.0 - s)
    return x, s
