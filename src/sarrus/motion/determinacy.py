"""How long a motion is determined that passes singular configurations.

At a passage the acceleration divides rounding by the square of the smallest singular value; a motion that is off a
crossing by little may leave on another branch than the one that goes through; and what is lost there grows as the
motion goes on, by many powers of ten where it is unstable. So the run is repeated with other steps, from a start that
differs by rounding: where the two part, the equations and the precision of the numbers do not say which is right.

A run with coarser steps, which the estimate of the error needs anyway, says it first: where that one agrees, one with
somewhat other steps does so too. Only where it does not is the second one done.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.motion.inputs.run_options import Scheme
from sarrus.motion.loop.time_loop import tableau_of
from sarrus.motion.motion import Motion
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.repetition import compared, difference
from sarrus.motion.tolerances import (
    CHANGED_START,
    COARSE_EXCESS,
    COARSE_STEP,
    COARSE_TOLERANCE,
    MANY_STEPS,
    MORE_STEPS,
    NO_DIGITS,
    OPEN_SIDE,
    PARTED_MOTIONS,
    REPEATED_STEP,
    REPEATED_TOLERANCE,
    SINGULAR_PLACE,
)


class Coarser(NamedTuple):
    """A coarser run: how far it is ``apart`` at some ``records``, and by how much its error exceeds that of the run."""

    records: np.ndarray
    apart: Array
    excess: float


def estimate_determinacy(motion: Motion, trajectory: Trajectory) -> tuple[Trajectory, Coarser | None]:
    """Return the trajectory with ``determined_until``, and the coarser run that was done for it.

    NOT_DETERMINED where no digit is at its end.
    """
    if not trajectory.passages:
        return trajectory, None
    records = compared(motion, trajectory, *(passage.time for passage in trajectory.passages))
    if len(records) == 0:
        return trajectory, None
    scheme, times = motion.options.scheme, trajectory.t[records]
    least = max(PARTED_MOTIONS, scheme.rtol if scheme.adaptive else 0.0)
    factor, longest, excess = _coarser(scheme, trajectory)
    coarser = Coarser(records, _apart(motion, trajectory, records, factor, longest), excess)
    if _agree_until(trajectory, times, coarser.apart, min(least, NO_DIGITS)) == np.inf:
        return trajectory, coarser
    apart = _apart(
        motion, trajectory, records, REPEATED_TOLERANCE if scheme.adaptive else REPEATED_STEP, np.inf
    )
    until = _agree_until(trajectory, times, apart, least)
    lost = _agree_until(trajectory, times, apart, NO_DIGITS)
    if lost == np.inf:
        if scheme.adaptive and not coarser.apart.max() < NO_DIGITS:
            coarser = Coarser(records, apart, 1.0)  # with tolerances nearer to those of the run it says more
        return trajectory.revised(determined_until=until), coarser
    status = Status.NOT_DETERMINED
    message = f"{status.diagnosis} after t = {lost:.6g} s. {status.remedy}"
    return trajectory.revised(determined_until=until, status=status, message=message), coarser


def _apart(
    motion: Motion, trajectory: Trajectory, records: np.ndarray, factor: float, longest: float
) -> Array:
    """Return how far the motion is from itself at some records, done from a neighbouring start with other steps.

    These, or their tolerances, are ``factor`` times those of the run, and none is longer than ``longest`` [s].
    """
    scheme, most = motion.options.scheme, 4 * (trajectory.steps + trajectory.rejected) + 1000
    limits = replace(scheme.limits, max_steps=most, max_step=min(scheme.limits.max_step, longest))
    q, v = _neighbour(motion)
    other = scheme.scaled(factor, place=SINGULAR_PLACE, limits=limits)
    return difference(motion, trajectory, records, other, NO_DIGITS, q=q, v=v, beside=True)


def _coarser(scheme: Scheme, trajectory: Trajectory) -> tuple[float, float, float]:
    """Return the steps, or tolerances, of a coarser run in those of the run, its longest step [s], and by how much its
    error exceeds that of the run, at least.

    Long steps may be as long whatever the tolerance. These are shortened: the error of the run is the difference then.
    """
    if not scheme.adaptive:
        return COARSE_STEP, np.inf, COARSE_STEP ** tableau_of(scheme.method).order - 1.0
    if trajectory.steps > MANY_STEPS:
        return COARSE_TOLERANCE, np.inf, COARSE_EXCESS
    return COARSE_TOLERANCE, shortened(trajectory), 1.0


def shortened(trajectory: Trajectory) -> float:
    """Return a step [s] to which those of a run can be shortened with `MORE_STEPS` times as many steps in all."""
    t = trajectory.t
    h = t[1:] - t[:-1]
    h = np.sort(h[h > 0.0])[::-1]
    if not trajectory.steps / 2 <= len(h) <= 2 * trajectory.steps:  # records are no steps
        return float(h.sum()) / (MORE_STEPS * max(trajectory.steps, 1))
    count = np.arange(1, len(h) + 1)
    shortened = np.cumsum(h) / ((MORE_STEPS - 1.0) * len(h) + count)  # where the first so many are
    return float(shortened[np.argmax(shortened >= [*h[1:].tolist(), 0.0])])


def _neighbour(motion: Motion) -> tuple[Array, Array]:
    """Return a start that differs from the motion's by rounding, the same one every time; at rest where it was."""
    q = np.array(motion.q, dtype=float)
    v = np.zeros(motion.system.nv) if motion.v is None else np.array(motion.v, dtype=float)
    of_q, of_v = _signs(q.shape, v.shape)
    return q + CHANGED_START * (1.0 + np.abs(q)) * of_q, v * (1.0 + CHANGED_START * of_v)


@lru_cache(maxsize=64)
def _signs(of_q: tuple[int, ...], of_v: tuple[int, ...]) -> tuple[Array, Array]:
    """Return random signs of two shapes, the same ones every time."""
    random = np.random.default_rng(0)
    return random.choice([-1.0, 1.0], of_q), random.choice([-1.0, 1.0], of_v)


def _agree_until(trajectory: Trajectory, times: Array, apart: Array, tolerance: float) -> float:
    """Return the last time [s] up to which two motions ``apart`` agree; infinity where they do to the end.

    Agreement ends, too, at a passage before which the two are not much closer to each other than the steps come to the
    singular configuration: then it is not determined on which side of it they pass.
    """
    ends = [np.inf]
    for passage in trajectory.passages:
        before = apart[times < passage.time]
        if len(before) and not before[-1] <= OPEN_SIDE * 10.0 ** (-0.5 * passage.digits_lost):
            ends.append(passage.time)
    wrong = np.flatnonzero(~(apart <= tolerance))
    if len(wrong):
        ends.append(float(times[max(wrong[0] - 1, 0)]))
    return min(ends)
