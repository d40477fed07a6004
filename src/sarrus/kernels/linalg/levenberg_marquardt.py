"""Levenberg–Marquardt iteration with adaptive damping.

Nocedal and Wright, Numerical Optimization, 2nd ed., section 10.3. The caller defines the step and accepts or rejects
it; the damping is multiplied by ten after a rejected step and divided by ten after an accepted step.
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
    """Return the final state of the iteration, and the number of steps.

    Parameters
    ----------
    size : norm of the residual of a state. steps : returns the solver of the linear equations at a state, None if the
        state is final. The solver maps a damping to the state after the step, None if the step is rejected, or the
        state itself if the step is negligibly short.
    damping, least : the first and the smallest damping. tries : dampings per step. most : largest number of steps.
    stalled : relative decrease of ``size`` below which the iteration ends.
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
