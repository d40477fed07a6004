"""How long a motion through singular configurations is determined by its equations in double precision.

At a passage the acceleration divides rounding by the square of the smallest singular value. A motion slightly off the
singular configuration may leave on another branch, and the error made there grows, by many powers of ten if the motion
is unstable. So the run is repeated with other steps from a start that differs by rounding. From the time at which the
two runs part, the equations and double precision do not decide between them.

The coarser run of the error estimate is compared first. If it agrees, the repetition is not needed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.motion.inputs.run_options import Scheme
from sarrus.motion.loop.method_table import tableau_of
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
    """A coarser run: its distance ``apart`` from the run at some ``records``, and the ratio of its error to the
    run's.
    """

    records: np.ndarray
    apart: Array
    excess: float


def estimate_determinacy(motion: Motion, trajectory: Trajectory) -> tuple[Trajectory, Coarser | None]:
    """Return the trajectory with ``determined_until`` [s], and the coarser run if one was done.

    The status is NOT_DETERMINED if no digit is determined at the end of the run.
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
    """Return the relative distance at some records between the motion and its repetition from a neighbouring start.

    The repetition has steps, or tolerances, ``factor`` times as large, and no step longer than ``longest`` [s].
    """
    scheme, most = motion.options.scheme, 4 * (trajectory.steps + trajectory.rejected) + 1000
    limits = replace(scheme.limits, max_steps=most, max_step=min(scheme.limits.max_step, longest))
    q, v = _neighbour(motion)
    other = scheme.scaled(factor, place=SINGULAR_PLACE, limits=limits)
    return difference(motion, trajectory, records, other, NO_DIGITS, q=q, v=v, beside=True)


def _coarser(scheme: Scheme, trajectory: Trajectory) -> tuple[float, float, float]:
    """Return (factor of steps or tolerances, longest step [s], least ratio of errors) of a coarser run.

    Steps that would be as long at every tolerance are shortened: the difference of the runs is then the error.
    """
    if not scheme.adaptive:
        return COARSE_STEP, np.inf, COARSE_STEP ** tableau_of(scheme.method).order - 1.0
    if trajectory.steps > MANY_STEPS:
        return COARSE_TOLERANCE, np.inf, COARSE_EXCESS
    return COARSE_TOLERANCE, shortened(trajectory), 1.0


def shortened(trajectory: Trajectory) -> float:
    """Return the longest step [s] with which the run takes about `MORE_STEPS` times as many steps."""
    t = trajectory.t
    h = t[1:] - t[:-1]
    h = np.sort(h[h > 0.0])[::-1]
    if not trajectory.steps / 2 <= len(h) <= 2 * trajectory.steps:  # records are no steps
        return float(h.sum()) / (MORE_STEPS * max(trajectory.steps, 1))
    count = np.arange(1, len(h) + 1)
    shortened = np.cumsum(h) / ((MORE_STEPS - 1.0) * len(h) + count)  # where the first so many are
    return float(shortened[np.argmax(shortened >= [*h[1:].tolist(), 0.0])])


def _neighbour(motion: Motion) -> tuple[Array, Array]:
    """Return a start (q, v) that differs from the start of the motion by rounding, the same in every call.

    Velocities that are zero stay zero.
    """
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
    """Return the last time [s] up to which two motions with distances ``apart`` agree; infinity if they never part.

    Agreement also ends at a passage before which the distance of the two motions is not small against their distance
    from the singular configuration: the side on which they pass is then not determined.
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
