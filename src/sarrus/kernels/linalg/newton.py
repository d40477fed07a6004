"""Newton's method with a contraction test, and the following of its solution along a parameter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.tolerances import NEWTON_CONTRACTION, NEWTON_CONVERGED, SHORTEST_WAY

MAX_ITERATIONS = 30

# x → (correction, condition number of the linear equations it solves)
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
    """Return where Newton's method leads from x, or None where a correction is larger than it may be.

    ``correction`` gives a step and its size; that of the first is at most ``first``, that of others ``rate`` times the
    one before. It ends after one of size ``done``, or after ``most`` if another would be below ``enough``.
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
    """Return the solution near x, or None where the corrections do not contract.

    The error left after a correction Δ is at most ρ/(1 − ρ) |Δ| with ρ the contraction rate, the ratio of the last two
    corrections (Spencer 2004, section 2.3.1, which takes the mean ratio of all of them). It stops where that is
    rounding of x, or where Δ is rounding of the residual: 100 ε times the condition number.
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
    """Follow solutions from x at s = 0 to s = 1; return the last one found and its s, below one where they are lost.

    ``solve(x, s)`` finds the solution at s near x. Where it cannot, the step in s is halved.
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
