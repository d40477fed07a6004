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

from sarrus.mechanism.pose import Array
from sarrus.motion import Motion
from sarrus.status import Status
from sarrus.trajectory import Trajectory

# Relative change of the start, some units of rounding. Relative distance from which motions count as parted, unless the
# tolerance of the run is more; and from which on no digit is left.
CHANGE, PARTED, LOST = 1e-15, 1e-6, 3e-4
# Distance of two motions before a passage, as a part of their distance from the singular configuration, that leaves it
# open on which side of it they pass.
SIDE = 0.01
# Fixed steps of the repetition in those of the run, and tolerances likewise.
STEP, TOLERANCE = 0.95, 4.0
# Most times at which the two are compared.
MOST = 200


def estimate_determinacy(motion: Motion, trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with ``determined_until``; NOT_DETERMINED where no digit is at its end."""
    times = _compared_times(trajectory)
    if not trajectory.passages or len(times) == 0:
        return trajectory
    q, v = _neighbour(motion)
    scheme = motion.scheme
    most_steps = 4 * (trajectory.steps + trajectory.rejected) + 1000
    again = motion.repeat(times, TOLERANCE if scheme.adaptive else STEP, q=q, v=v, max_steps=most_steps)
    own = trajectory.q[np.searchsorted(trajectory.t, times)]
    apart = (np.abs(again - own) / (1.0 + np.abs(own))).max(axis=1, initial=0.0)
    apart[np.isnan(apart)] = np.inf
    until = _agree_until(trajectory, times, apart, max(PARTED, scheme.rtol if scheme.adaptive else 0.0))
    lost = _agree_until(trajectory, times, apart, LOST)
    if lost == np.inf:
        return replace(trajectory, determined_until=until)
    status = Status.NOT_DETERMINED
    message = f"{status.diagnosis} after t = {lost:.6g} s. {status.remedy}"
    return replace(trajectory, determined_until=until, status=status, message=message)


def _neighbour(motion: Motion) -> tuple[Array, Array]:
    """Return a start that differs from the motion's by rounding, the same one every time; at rest where it was."""
    random = np.random.default_rng(0)
    q = np.array(motion.q, dtype=float)
    v = np.zeros(motion.system.nv) if motion.v is None else np.array(motion.v, dtype=float)
    q += CHANGE * (1.0 + np.abs(q)) * random.choice([-1.0, 1.0], q.shape)
    return q, v * (1.0 + CHANGE * random.choice([-1.0, 1.0], v.shape))


def _compared_times(trajectory: Trajectory) -> Array:
    """Return recorded times after the start at which the neighbour is wanted, about evenly spread."""
    t = np.unique(trajectory.t)[1:]
    wanted = np.linspace(trajectory.t[0], trajectory.t[-1], MOST + 1)[1:]
    return t[np.unique(np.minimum(np.searchsorted(t, wanted), len(t) - 1))] if len(t) else t


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
