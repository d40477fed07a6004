"""Estimate of the global error of a motion, from a second run of the same motion with other steps.

The second run has four times the step, or a hundred times the tolerance. Its error exceeds the error of the first run
by a factor that the order of the method fixes (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I,
2nd ed., II.4 and II.9), so the difference of the two runs, divided by that factor, estimates the error. If the
estimate is large, because errors grow, rounding is amplified or the longer step is unstable, a third run with half the
step, or a tenth of the tolerance, replaces it.

Long steps may have the same length at every tolerance. The longest steps of the coarser run are then shortened, at most
a quarter more steps in all, and the difference is divided by nothing. If functions of time act, which a motion at rest
may pass over, a further run has the same tolerance and a longest step of its own. If the two runs agree in every digit
although the mechanism moves, a run with shorter steps decides.

Between impacts steps start small and grow until the next impact, at every tolerance. A run with many impacts is
repeated with a smaller tolerance and shorter steps between impacts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.motion.determinacy import Coarser, estimate_determinacy, shortened
from sarrus.motion.inputs.run_options import Scheme
from sarrus.motion.inputs.time_breaks import program_of
from sarrus.motion.loop.method_table import tableau_of
from sarrus.motion.motion import Motion
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.repetition import compared, difference
from sarrus.motion.tolerances import (
    COARSE_TOLERANCE,
    FINER_TOLERANCE,
    MANY_STEPS,
    NO_DIGITS,
    OWN_STEPS,
    PART_OF_STRETCH,
    SHORTER_STEP,
    STEPS_OF_STRETCH,
    TIGHTEST_TOLERANCE,
)

# With fewer records than so many a coarser run says too little.
_FEW = 3


def is_repeatable(motion: Motion) -> bool:
    """Return whether the motion can be run again: no Python function at its samples and no formulation in Python."""
    return not motion.called and motion.formulation is None


def estimated(motion: Motion, trajectory: Trajectory, looks: Array) -> Trajectory:
    """Return the trajectory with ``error``, ``determined_until`` and the status that follows from both.

    ``looks`` are further states [t | q] (k, 1 + nq) of the run that enter the estimate but are not recorded.
    """
    if len(looks) == 0:
        return estimate_error(motion, *estimate_determinacy(motion, trajectory))
    t, q = np.concatenate([trajectory.t, looks[:, 0]]), np.concatenate([trajectory.q, looks[:, 1:]])
    order = np.argsort(t, kind="stable")
    whole = trajectory.revised(t=t[order], q=q[order])
    found = estimate_error(motion, *estimate_determinacy(motion, whole))
    assert found.error is not None
    recorded = read_only(found.error[order < len(trajectory.t)])
    return trajectory.revised(
        error=recorded, status=found.status, message=found.message, determined_until=found.determined_until
    )


def estimate_error(motion: Motion, trajectory: Trajectory, coarser: Coarser | None = None) -> Trajectory:
    """Return the trajectory with ``error`` (T,), with status INACCURATE if no digit is left.

    ``coarser`` is a coarser run that has been done already and serves as the second run. From ``determined_until`` on
    the error is infinite.
    """
    if len(trajectory.t) < 2:
        return trajectory
    scheme = motion.options.scheme
    factor, excess, finer = _variants(scheme)
    records = compared(motion, trajectory) if coarser is None else coarser.records
    restarts = scheme.adaptive and _restarts_often(trajectory)
    long = coarser is None and scheme.adaptive and len(records) >= _FEW and _has_long_steps(trajectory)
    if restarts:
        long = long and _depends_on_time(motion)
    elif long and not _depends_on_time(motion):
        coarse = _limited(scheme.scaled(COARSE_TOLERANCE), shortened(trajectory))
        if (apart := difference(motion, trajectory, records, coarse, NO_DIGITS)).max() < NO_DIGITS:
            coarser, long = Coarser(records, apart, 1.0), False
    error = np.full(1, np.inf)
    if coarser is not None:
        excess = coarser.excess
        error = coarser.apart / excess
    elif restarts:
        error[:] = 0.0
    elif len(records) >= _FEW:
        error = difference(motion, trajectory, records, scheme.scaled(factor), NO_DIGITS) / excess
        if scheme.adaptive and not error.any() and np.ptp(trajectory.q, axis=0).any():
            error = difference(motion, trajectory, records, _with_shorter_steps(scheme, trajectory))
    if not error.max() * excess < NO_DIGITS:
        most = NO_DIGITS if trajectory.status is Status.NOT_DETERMINED else np.inf
        error = difference(motion, trajectory, records, scheme.scaled(finer), most)
    if restarts:
        other = _limited(
            scheme.scaled(FINER_TOLERANCE if finer < 1.0 else finer), _part_of_stretches(trajectory)
        )
        error = np.maximum(error, difference(motion, trajectory, records, other) / (1.0 - FINER_TOLERANCE))
    if long:
        own = _with_own_steps(scheme, trajectory)
        error = np.maximum(error, difference(motion, trajectory, records, own))
    times = trajectory.t[records]
    error = np.maximum.accumulate(error)
    at_all = np.interp(trajectory.t, times, error, left=0.0)
    status, message = trajectory.status, trajectory.message
    if error[-1] > NO_DIGITS:
        since = float(times[np.argmax(error > NO_DIGITS)])
        status = Status.INACCURATE
        size = f"above {NO_DIGITS:g}"
        size = f"{error[-1]:.2g} of its size, {size}" if np.isfinite(error[-1]) else f"{size} of its size"
        message = f"{status.diagnosis}: {size} from t = {since:.4g} s on. {status.remedy}"
    if trajectory.status is Status.NOT_DETERMINED:
        at_all[trajectory.t > trajectory.determined_until] = np.inf
    return trajectory.revised(error=read_only(at_all), status=status, message=message)


def _depends_on_time(motion: Motion) -> bool:
    """Return whether functions of time act, which a run and a coarser run could both pass over between their steps."""
    if motion.control is not None or motion.force is not None or motion.events:
        return True
    return program_of(motion.system) is not None


def _restarts_often(trajectory: Trajectory) -> bool:
    """Return whether most steps belong to short stretches between switches, in which steps grow from a small first one.

    A run with another tolerance has the same steps there, and the same error.
    """
    return 0 < trajectory.steps < STEPS_OF_STRETCH * (len(trajectory.switches) + 1) and bool(
        trajectory.switches
    )


def _part_of_stretches(trajectory: Trajectory) -> float:
    """Return a longest step [s] that shortens the long steps between switches: a part of the mean time between them."""
    span = float(trajectory.t[-1] - trajectory.t[0])
    return PART_OF_STRETCH * span / (len(trajectory.switches) + 1)


def _has_long_steps(trajectory: Trajectory) -> bool:
    """Return whether steps of the run or of a coarser run are longer than `_with_own_steps` allows."""
    span, longest = float(trajectory.t[-1] - trajectory.t[0]), float(np.diff(trajectory.t).max())
    mean = span / max(trajectory.steps, 1)
    if len(trajectory.t) > 2 * trajectory.steps:  # several records in a step
        longest = mean
    elif 2 * len(trajectory.t) < trajectory.steps:  # several steps between records
        longest = min(longest, 2.0 * mean)
    return MANY_STEPS * longest > span


def _with_own_steps(scheme: Scheme, trajectory: Trajectory) -> Scheme:
    """Return the adaptive scheme with a longest step that is a part of the run no step of the run equals."""
    span = float(trajectory.t[-1] - trajectory.t[0])
    return _limited(scheme.scaled(1.0), span / OWN_STEPS)


def _with_shorter_steps(scheme: Scheme, trajectory: Trajectory) -> Scheme:
    """Return an adaptive scheme whose steps are about half as long as those of the run."""
    span = float(trajectory.t[-1] - trajectory.t[0])
    return _limited(scheme.scaled(1.0), SHORTER_STEP * span / max(trajectory.steps, 1))


def _limited(scheme: Scheme, longest: float) -> Scheme:
    limits = replace(scheme.limits, max_step=min(scheme.limits.max_step, longest))
    return replace(scheme, limits=limits)


def not_estimated(trajectory: Trajectory) -> Trajectory:
    """Return a complete motion with unknown error, because an interrupt ended the estimate."""
    status, unknown = Status.INTERRUPTED, np.full(len(trajectory.t), np.nan)
    message = (
        f"{status.diagnosis} while its error was estimated. The motion is complete, its error is not known"
    )
    return trajectory.revised(
        status=status, message=message, error=read_only(unknown), determined_until=np.nan
    )


def _variants(scheme: Scheme) -> tuple[float, float, float]:
    """Return (factor of a coarser run, ratio of its error to the error of the run, factor of a finer run).

    The factors multiply the step of a fixed-step run, or the tolerances of an adaptive run, whose error is roughly
    proportional to its tolerance. Below the least tolerance that double precision allows a finer run is a coarser one.
    """
    if scheme.adaptive:
        return 100.0, 50.0, 0.1 if scheme.rtol >= TIGHTEST_TOLERANCE else 10.0
    return 4.0, 4.0 ** tableau_of(scheme.method).order - 1.0, 0.5
