"""Levenberg–Marquardt iteration: steps that are damped as far as it takes to come closer.

Nocedal and Wright, Numerical Optimization, 2nd ed., section 10.3. What a step is, and whether it comes closer, is the
caller's; the damping is ten times as large after a step that does not, and a tenth after one that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

State = TypeVar("State")


def levenberg_marquardt(
    state: State,
    size: Callable[[State], float],
    steps: Callable[[State], Callable[[float], State | None] | None],
    *,
    damping: float,
    least: float,
    tries: int,
    most: int,
    stalled: float = 0.0,
) -> tuple[State, int]:
    """Return where the iteration ends, and how many steps were taken.

    Parameters
    ----------
    size : what is to vanish. steps : makes the linear equations at a state, None where nothing is left to do; called
        with a damping they give the state after the step, None where that is no better, and the state itself where the
        step is too short to be one.
    damping, least : the first and the smallest damping. tries : of each step. most : steps.
    stalled : the part of ``size`` below which a gain ends the iteration.
    """
    for iteration in range(most):
        step = steps(state)
        if step is None:
            return state, iteration
        for _ in range(tries):
            better = step(damping)
            if better is not None:
                break
            damping *= 10.0
        if better is None or better is state:
            return state, iteration
        before, state, damping = size(state), better, max(damping / 10.0, least)
        if before - size(state) < stalled * before:
            return state, iteration
    return state, most
