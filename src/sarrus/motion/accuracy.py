"""The global error of a motion, estimated from the same motion done once more with other steps.

A run with four times the step, or a hundred times the tolerance, differs from the first by its own error, which exceeds
that of the first in a proportion that the order of the method fixes (Hairer, Nørsett and Wanner, Solving Ordinary
Differential Equations I, 2nd ed., II.4 and II.9). Where they agree to more digits than are asked for, the first is
better still. Where they do not, because errors grow, rounding is magnified or the longer step is unstable, a run with
half the step, or a tenth of the tolerance, tells by how much the first is wrong.

Where steps are long parts of a run they may be as long whatever the tolerance. Then the longest ones of the coarser run
are shortened, by as much as a quarter more steps allow, and its difference is not divided by anything. Where functions
of time act, which a motion at rest may pass over, it is also done with the same tolerance and a longest step of its
own. And where the two agree in every digit, though something moves, a run with shorter steps tells.

Between hits steps begin anew and grow, whatever the tolerance, until the next hit ends them. A run with hits in a row
is done again with a smaller tolerance and shorter steps between them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.motion.determinacy import Coarser, estimate_determinacy, shortened
from sarrus.motion.inputs.run_options import Scheme
from sarrus.motion.inputs.time_breaks import program_of
from sarrus.motion.loop.time_loop import tableau_of
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
    """Tell whether it can be done again: no Python at its samples, which may remember them, and no slow formulation."""
    return not motion.called and motion.formulation is None


def estimated(motion: Motion, trajectory: Trajectory, looks: Array) -> Trajectory:
    """Return the trajectory with ``error`` and ``determined_until``, and the status that follows.

    ``looks`` are states [t | q] on the way (k, 1 + nq) that are not recorded and count here.
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
    """Return the trajectory with ``error``, and INACCURATE where that leaves no digit.

    A ``coarser`` run that was done counts as the first one here. Where the motion is not determined the error has no
    bound: it is infinite from ``determined_until`` on.
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
    """Tell whether functions of time act, which may pass between the steps of a run and of a coarser one alike."""
    if motion.control is not None or motion.force is not None or motion.events:
        return True
    return program_of(motion.system) is not None


def _restarts_often(trajectory: Trajectory) -> bool:
    """Tell whether most steps are those of short stretches between switches, where they only grow from step to step.

    A run with another tolerance has the same ones, and the same error.
    """
    return 0 < trajectory.steps < STEPS_OF_STRETCH * (len(trajectory.switches) + 1) and bool(
        trajectory.switches
    )


def _part_of_stretches(trajectory: Trajectory) -> float:
    """Return a longest step that shortens the long ones between switches: a part of their mean distance."""
    span = float(trajectory.t[-1] - trajectory.t[0])
    return PART_OF_STRETCH * span / (len(trajectory.switches) + 1)


def _has_long_steps(trajectory: Trajectory) -> bool:
    """Tell whether steps, or those of a coarser run, are longer than those of a run with a longest step of its own."""
    span, longest = float(trajectory.t[-1] - trajectory.t[0]), float(np.diff(trajectory.t).max())
    mean = span / max(trajectory.steps, 1)
    if len(trajectory.t) > 2 * trajectory.steps:  # several records in a step
        longest = mean
    elif 2 * len(trajectory.t) < trajectory.steps:  # several steps between records
        longest = min(longest, 2.0 * mean)
    return MANY_STEPS * longest > span


def _with_own_steps(scheme: Scheme, trajectory: Trajectory) -> Scheme:
    """Return an adaptive scheme with a longest step of its own, a part of the run that no step of the run is."""
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
    """Return a complete motion whose error an interrupt left unknown."""
    status, unknown = Status.INTERRUPTED, np.full(len(trajectory.t), np.nan)
    message = (
        f"{status.diagnosis} while its error was estimated. The motion is complete, its error is not known"
    )
    return trajectory.revised(
        status=status, message=message, error=read_only(unknown), determined_until=np.nan
    )


def _variants(scheme: Scheme) -> tuple[float, float, float]:
    """Return the factor of a coarser run, by how much its error exceeds that of the run, and the factor of a finer run.

    The error of an adaptive run is roughly proportional to its tolerance. Below the least tolerance that double
    precision allows a finer run is a coarser one.
    """
    if scheme.adaptive:
        return 100.0, 50.0, 0.1 if scheme.rtol >= TIGHTEST_TOLERANCE else 10.0
    return 4.0, 4.0 ** tableau_of(scheme.method).order - 1.0, 0.5
