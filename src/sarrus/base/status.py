"""Statuses of solves and simulations: each one carries a diagnosis and a remedy."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sarrus.base import notebook
from sarrus.base.errors import SolveError


class Status(IntEnum):
    """Outcome of a solve or a run. `ok` tells whether the result is a full answer (OK, SINGULAR, EVENT).

    ``status.diagnosis`` explains the status and ``status.remedy`` says what to do about it.
    """

    OK = 0
    SINGULAR = 1
    INCONSISTENT = 2
    NOT_CLOSED = 3
    NOT_ACHIEVABLE = 4
    ILL_POSED = 5
    NOT_FINITE = 6
    STEP_TOO_SMALL = 7
    PROJECTION_FAILED = 8
    INTERRUPTED = 9
    EVENT = 10
    CONTROL_FAILED = 11
    SWITCHING_FAILED = 13
    COORDINATES_FAILED = 12
    INFEASIBLE = 14
    UNBOUNDED = 15
    NOT_CONVERGED = 16
    ILL_CONDITIONED = 17
    ALMOST = 18
    RIGID = 19
    STEP_LIMIT = 20
    INACCURATE = 21
    UNSTABLE_STEP = 22
    NOT_DETERMINED = 23
    CHATTERING = 24
    SOFTENED = 25
    NOT_INVARIANT = 26

    @property
    def ok(self) -> bool:
        """True if the result is a full answer."""
        return self in (Status.OK, Status.SINGULAR, Status.EVENT)

    @property
    def complete(self) -> bool:
        """True if the run reached its end; the accuracy of the motion is a separate question."""
        return self.ok or self in (Status.INACCURATE, Status.NOT_DETERMINED, Status.SOFTENED)

    @property
    def diagnosis(self) -> str:
        """The meaning of the status, without capital and full stop."""
        return _TEXT[self][0]

    @property
    def remedy(self) -> str:
        """What the user can do about it: a sentence without its full stop."""
        return _TEXT[self][1]

    def error(self, label: str, reason: str = "", *, result: object = None) -> SolveError:
        """Return the error of a failed solve: label, ``reason`` (default: the diagnosis) and remedy."""
        return SolveError(f"{label}: {reason or self.diagnosis}. {self.remedy}", result=result)

    def __str__(self) -> str:
        return self.name


class Answer:
    """The outcome of a result in addition to its ``status``, named as in SciPy."""

    __slots__ = ()
    status: Status

    @property
    def success(self) -> bool:
        """True if the result is a full answer: ``status.ok``."""
        return self.status.ok

    @property
    def message(self) -> str:
        """The diagnosis of the outcome; ``status.remedy`` says what to do about it."""
        return self.status.diagnosis

    def _repr_html_(self) -> str:
        return notebook.answer(self)


def statuses(codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return an array of `Status` from an array of their numbers, such as the statuses of many runs."""
    found = np.array([*map(Status, np.unique(codes))], dtype=object)
    named = found[np.searchsorted(found.astype(np.int64), codes)]
    named.flags.writeable = False
    return named


# Diagnosis of NOT_ACHIEVABLE in inverse dynamics.
ACTUATORS_FALL_SHORT = "the actuators cannot produce the requested acceleration"

_TEXT: dict[Status, tuple[str, str]] = {
    Status.OK: ("the answer is complete", "Nothing to do"),
    Status.SINGULAR: (
        "the rank of the constraints drops at this configuration but not nearby",
        "Nothing to do for motion; multipliers in the lost direction are not determined here",
    ),
    Status.INCONSISTENT: (
        "the constraint equations contradict each other; the answer is the least-squares solution",
        "Assemble the configuration, project the velocity, or look for contradictory closures",
    ),
    Status.NOT_CLOSED: (
        "the loops do not close: the gap is at a local minimum",
        "Start nearer to a closed configuration, unlock coordinates, or check the dimensions of the named "
        "closure",
    ),
    Status.NOT_ACHIEVABLE: (
        "the target cannot be reached; the answer has the smallest residual",
        "Actuate more joints, start nearer, or give a target that the loops and the passive joints allow; the residual "
        "is the remaining distance",
    ),
    Status.ILL_POSED: (
        "the mass matrix is not positive definite on the motions that the constraints leave",
        "Give a mass or armature to the massless bodies that can still move on their own",
    ),
    Status.NOT_FINITE: (
        "a number became infinite or NaN",
        "Look at the last state of the trajectory; with a fixed step leave dt out, or take method='rodas5p' if forces "
        "are stiff; check user forces and control laws",
    ),
    Status.STEP_TOO_SMALL: (
        "the adaptive method would need a step below its minimum",
        "Loosen rtol and atol, or look for a discontinuity in forces or control at the last time",
    ),
    Status.PROJECTION_FAILED: (
        "the step ended too far from the constraints to be projected back",
        "Reduce the step; the motion up to the last good step is kept",
    ),
    Status.INTERRUPTED: ("the run was interrupted", "The motion up to the interruption is kept"),
    Status.EVENT: ("a terminal event stopped the run", "Nothing to do"),
    Status.COORDINATES_FAILED: (
        "the chosen coordinates no longer determine the configuration",
        "Choose other coordinates, or coordinates='partition', which changes them during the run",
    ),
    Status.SWITCHING_FAILED: (
        "no consistent state was found after a contact, limit or constraint was switched on or off",
        "See the message for its name; the motion up to then is kept",
    ),
    Status.INFEASIBLE: (
        "no point satisfies all constraints",
        "Loosen the constraints that the certificate names: they contradict each other whatever the cost",
    ),
    Status.UNBOUNDED: (
        "the cost falls without bound along a direction that the constraints leave free",
        "Give that direction a cost or a limit",
    ),
    Status.NOT_CONVERGED: (
        "the iterations ended before residuals and gap were below their tolerances",
        "Look at the residuals of the result; scale the problem, or allow more iterations",
    ),
    Status.RIGID: (
        "the constraints allow velocities here, but no motion in their direction (second-order rigid); no finite "
        "multipliers resist a force in this direction",
        "Ask sr.mobility(system, q) what can move; change the lengths that just reach, or describe the rigid part as "
        "one body or a weld",
    ),
    Status.STEP_LIMIT: (
        "the run reached its limit of steps or of memory for records",
        "Give method=Stepping(max_steps=, max_bytes=), record less with every= or dt=, or see why the steps are so "
        "small: loosen rtol, or take an implicit method for stiff forces; the motion up to then is kept",
    ),
    Status.CHATTERING: (
        "a force or a control jumps and drives the motion back to the jump from both sides, in ever smaller "
        "steps",
        "Give dry friction to the joint (add_joint: friction=) or to a contact (friction='coulomb'), which stick and "
        "slip exactly, instead of a force with sign(v); hold a control that switches between samples "
        "(sample_time=); the motion up to then is kept",
    ),
    Status.ILL_CONDITIONED: (
        "the equations are so ill-conditioned that the answer may have lost all digits",
        "Look at units, at masses that differ by many decades and at nearly dependent rows; a larger rank tolerance "
        "counts these rows as redundant",
    ),
    Status.ALMOST: (
        "the answer is close, but its residual stays above the tolerance",
        "Look at the residuals of the result, which bound its error; scale the equations",
    ),
    Status.NOT_INVARIANT: (
        "a function of the state given as an invariant changes during the motion",
        "Leave it out: a force, gravity, a driven joint or a contact changes it; or give an invariant that they do not "
        "change, such as momentum across gravity",
    ),
    Status.INACCURATE: (
        "the motion is complete, but its estimated error leaves no digit that can be trusted",
        "Give a tighter rtol or a smaller dt; if that changes nothing the motion amplifies rounding, and no step "
        "determines it further",
    ),
    Status.NOT_DETERMINED: (
        "the motion is complete, but singular passages amplify rounding: starts that differ by rounding end elsewhere",
        "Trust it up to trajectory.determined_until; beyond that a tighter rtol, other coordinates or another place "
        "to cut the loops may determine more, the equations alone do not",
    ),
    Status.SOFTENED: (
        "the formulation softens the constraints: they are satisfied in part, and the answer has an error of this size",
        "Lower its damping or cut, or take null_space, which needs none in singular configurations",
    ),
    Status.UNSTABLE_STEP: (
        "the step is too long for the fastest forces of the mechanism: errors grow from step to step",
        "Leave dt out, so that step and method are chosen by error and stiffness; or take method='rodas5p', or a "
        "smaller dt",
    ),
    Status.CONTROL_FAILED: (
        "the control law or applied-force function failed",
        "See the message for the time and the original exception",
    ),
}
