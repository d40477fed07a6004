"""The global error of a motion, estimated from the same motion done once more with other steps.

A run with four times the step, or a hundred times the tolerance, differs from the first by its own error, which exceeds
that of the first in a proportion that the order of the method fixes (Hairer, Nørsett and Wanner, Solving Ordinary
Differential Equations I, 2nd ed., II.4 and II.9). Where they agree to more digits than are asked for, the first is
better still. Where they do not, because errors grow, rounding is magnified or the longer step is unstable, a run with
half the step, or a tenth of the tolerance, tells by how much the first is wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.mechanism.pose import Array
from sarrus.motion import Motion
from sarrus.status import Status
from sarrus.trajectory import Trajectory

# A motion is INACCURATE from this relative error on: of the motion's size in lengths, of one radian in angles.
INACCURATE = 3e-4
# Times at which two runs are compared, at most; with fewer than so many a coarser run says too little.
_TIMES, _FEW = 100, 4
# Orders of the methods with fixed steps.
_ORDERS = {"rk4": 4, "dopri5": 5, "dop853": 8, "rodas4": 4, "rodas5p": 5}


def is_repeatable(motion: Motion) -> bool:
    """Tell whether it can be done again: no Python at its samples, which may remember them, and no slow formulation."""
    return not motion.called and motion.formulation is None


def estimate_error(motion: Motion, trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with ``error``, and INACCURATE where that leaves no digit."""
    if len(trajectory.t) < 2:
        return trajectory
    scale = coordinate_scales(motion, trajectory)
    coarser, excess, finer = _variants(motion)

    def difference(records: np.ndarray, factor: float) -> Array:
        return _difference(motion.repeat(trajectory.t[records], factor), trajectory.q[records], scale)

    records = _checkpoints(trajectory, motion)
    error = difference(records, coarser) / excess if len(records) >= _FEW else np.full(1, np.inf)
    if not error.max() * excess < INACCURATE:
        records = np.unique(np.linspace(1, len(trajectory.t) - 1, _TIMES).astype(int))
        error = difference(records, finer)
    times = trajectory.t[records]
    error = np.maximum.accumulate(error)
    at_all = np.interp(trajectory.t, times, error, left=0.0)
    status, message = trajectory.status, trajectory.message
    if error[-1] > INACCURATE:
        since = float(times[np.argmax(error > INACCURATE)])
        status = Status.INACCURATE
        message = (
            f"{status.diagnosis}: {error[-1]:.2g} of its size, above {INACCURATE:g} from t = {since:.4g} s on. "
            f"{status.remedy}"
        )
    return replace(trajectory, error=at_all, status=status, message=message)


def _variants(motion: Motion) -> tuple[float, float, float]:
    """Return the factor of a coarser run, by how much its error exceeds that of the run, and the factor of a finer run.

    The error of an adaptive run is roughly proportional to its tolerance. Below the least tolerance that double
    precision allows a finer run is a coarser one.
    """
    if motion.scheme.adaptive:
        return 100.0, 50.0, 0.1 if motion.scheme.rtol >= 1e-12 else 10.0
    return 4.0, 4.0 ** _ORDERS[motion.scheme.method] - 1.0, 0.5


def coordinate_scales(motion: Motion, trajectory: Trajectory) -> Array:
    """Return what an error of each coordinate is relative to: one for angles, the largest coordinate for lengths.

    Coordinates of unknown unit, of one's own equations, are measured by the largest of them.
    """
    system = motion.system
    units = trajectory.coordinate_units or ("",) * system.nq
    scale = np.ones(system.nq)
    for unit in set(units) - {"rad", "1"}:
        those = [k for k, other in enumerate(units) if other == unit]
        scale[those] = np.abs(trajectory.q[:, those]).max(initial=0.0) or 1.0
    return scale


def _checkpoints(trajectory: Trajectory, motion: Motion) -> np.ndarray:
    """Return the records that are compared, the last one among them.

    Another run stops at each, so they lie ten of the steps of a coarser one apart: else it would not be coarser. Where
    steps are fixed they are on its grid.
    """
    count = len(trajectory.t)
    most = max(1, min(_TIMES, trajectory.steps // (20 if motion.scheme.adaptive else 40)))
    stride = -(-(count - 1) // most)
    if not motion.scheme.adaptive and count > 8:
        stride = -(-stride // 4) * 4
    records = np.arange(stride, count, stride)
    return records if len(records) and records[-1] == count - 1 else np.append(records, count - 1)


def _difference(again: Array, q: Array, scale: Array) -> Array:
    """Return the largest difference of each pair of states, relative; infinite where there is none."""
    difference = np.abs(again - q) / scale
    return np.where(np.isnan(difference).any(axis=1), np.inf, difference.max(axis=1, initial=0.0))
