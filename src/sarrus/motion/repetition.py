"""Repetition of a motion with other steps, or from a neighbouring start, and its distance from the first run."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.motion.inputs.run_options import Scheme
from sarrus.motion.motion import Motion
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.tolerances import LOOK_SHARE, LOOK_STEPS, NO_LENGTH

# Records at which two motions are compared, at most. Adaptive steps are short where errors arise: a tenth of them do,
# but not fewer than the second number.
_MOST, _FEW = 100, 10


def compared(motion: Motion, trajectory: Trajectory, *times: float) -> np.ndarray:
    """Return the numbers of records to compare, the last one and the last before each of ``times`` [s] included.

    Half of them are evenly spread over the records, which are dense where the motion is fast, half over the time.
    """
    t = trajectory.t
    records = np.concatenate([[0], 1 + np.flatnonzero(t[1:] != t[:-1])])  # the first of each time
    t = t[records]
    last = len(t) - 1
    count = min(last, _MOST)
    if motion.options.scheme.adaptive:
        count = min(count, max(_FEW, trajectory.steps // 10))
    if count == 0:
        return records[:0]
    parts = np.arange(1, count + 1)
    spread, in_time = parts * last // count, t.searchsorted(t[0] + parts[:-1] * ((t[-1] - t[0]) / count))
    before = [k for k in (t.searchsorted(times) - 1).tolist() if k > 0]
    return records[sorted({*spread.tolist(), *in_time.tolist(), *before})]


def difference(
    motion: Motion,
    trajectory: Trajectory,
    records: np.ndarray,
    scheme: Scheme,
    most: float = np.inf,
    **others: Any,
) -> Array:
    """Return the relative distance at some records between ``trajectory`` and the same motion with another scheme.

    Infinite where the repetition fails, and from the time on at which the distance exceeds ``most``: the repetition
    ends there. ``others`` are further arguments that differ.
    """
    times, known, scales = trajectory.t[records], trajectory.q[records], _scales(motion, trajectory)

    def parted(time: float, q: Array) -> bool:
        k = max(int(times.searchsorted(time, "right")) - 1, 0)
        return times[k] == time and bool((np.abs(q - known[k]) / scales).max(initial=0.0) > most)

    part = max(trajectory.steps / LOOK_SHARE, LOOK_STEPS)
    again = motion.repeat(times, scheme, until=None if most == np.inf else (parted, part), **others)
    apart = np.abs(again - known) / scales
    return np.where(np.isnan(apart).any(axis=1), np.inf, apart.max(axis=1, initial=0.0))


def _scales(motion: Motion, trajectory: Trajectory) -> Array:
    """Return the scale of each coordinate (nq,): 1 rad for angles, the largest coordinate of the run for lengths.

    Coordinates of unknown unit, of the user's own equations, have the largest of these coordinates as their scale.
    Lengths that are zero but for rounding, such as those of the apex of a rolling cone, have the characteristic length.
    """
    system = motion.system
    units = trajectory.coordinate_units or ("",) * system.nq
    scale, least = np.ones(system.nq), NO_LENGTH * system.characteristic.length
    for unit in set(units) - {"rad", "1"}:
        those = [k for k, other in enumerate(units) if other == unit]
        largest = float(np.abs(trajectory.q[:, those]).max(initial=0.0)) or 1.0
        scale[those] = max(largest, least) if unit == "m" else largest
    return scale
