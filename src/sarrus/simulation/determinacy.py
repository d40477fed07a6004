"""How long a motion is determined that passes singular configurations.

At a passage the acceleration divides rounding by the square of the smallest singular value; a motion that is off a
crossing by little may leave on another branch than the one that goes through; and what is lost there grows as the
motion goes on, by many powers of ten where it is unstable. So the run is repeated with somewhat other steps, from a
start that differs by rounding: where the two part, the equations and the precision of the numbers do not say which is
right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.simulation.motion import Motion
from sarrus.simulation.repetition import LOST, compared, difference
from sarrus.simulation.trajectory import Trajectory

# Relative change of the start, some units of rounding. Relative distance from which motions count as parted, unless the
# tolerance of the run is more.
CHANGE, PARTED = 1e-15, 1e-6
# Distance of two motions before a passage, as a part of their distance from the singular configuration, that leaves it
# open on which side of it they pass.
SIDE = 0.01
# Fixed steps of the repetition in those of the run, and tolerances likewise.
STEP, TOLERANCE = 0.95, 4.0
# Where the repetition lays a singular configuration between stages: else it makes the same error there.
PLACE = 0.3


def estimate_determinacy(motion: Motion, trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with ``determined_until``; NOT_DETERMINED where no digit is at its end."""
    if not trajectory.passages:
        return trajectory
    records = compared(motion, trajectory, *(passage.time for passage in trajectory.passages))
    if len(records) == 0:
        return trajectory
    q, v = _neighbour(motion)
    scheme, times = motion.options.scheme, trajectory.t[records]
    limits = replace(scheme.limits, max_steps=4 * (trajectory.steps + trajectory.rejected) + 1000)
    other = replace(scheme, place=PLACE, limits=limits).scaled(TOLERANCE if scheme.adaptive else STEP)
    apart = difference(motion, trajectory, records, other, q=q, v=v)
    until = _agree_until(trajectory, times, apart, max(PARTED, scheme.rtol if scheme.adaptive else 0.0))
    lost = _agree_until(trajectory, times, apart, LOST)
    if lost == np.inf:
        return trajectory.revised(determined_until=until)
    status = Status.NOT_DETERMINED
    message = f"{status.diagnosis} after t = {lost:.6g} s. {status.remedy}"
    return trajectory.revised(determined_until=until, status=status, message=message)


def _neighbour(motion: Motion) -> tuple[Array, Array]:
    """Return a start that differs from the motion's by rounding, the same one every time; at rest where it was."""
    random = np.random.default_rng(0)
    q = np.array(motion.q, dtype=float)
    v = np.zeros(motion.system.nv) if motion.v is None else np.array(motion.v, dtype=float)
    q += CHANGE * (1.0 + np.abs(q)) * random.choice([-1.0, 1.0], q.shape)
    return q, v * (1.0 + CHANGE * random.choice([-1.0, 1.0], v.shape))


def _agree_until(trajectory: Trajectory, times: Array, apart: Array, tolerance: float) -> float:
    """Return the last time [s] up to which two motions ``apart`` agree; infinity where they do to the end.

    Agreement ends, too, at a passage before which the two are not much closer to each other than the steps come to the
    singular configuration: then it is not determined on which side of it they pass.
    """
    ends = [np.inf]
    for passage in trajectory.passages:
        before = apart[times < passage.time]
        if len(before) and not before[-1] <= SIDE * 10.0 ** (-0.5 * passage.digits_lost):
            ends.append(passage.time)
    wrong = np.flatnonzero(~(apart <= tolerance))
    if len(wrong):
        ends.append(float(times[max(wrong[0] - 1, 0)]))
    return min(ends)
