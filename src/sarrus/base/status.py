"""Statuses of solves and simulations: each one carries a diagnosis and a remedy."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sarrus.base import notebook
from sarrus.base.errors import SolveError


class Status(IntEnum):
    """Outcome of a solve or a run. Values 0 and 1 are answers; the others need attention.

    ``status.diagnosis`` says what it means and ``status.remedy`` what to do about it.
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
        """True where the result is a full answer."""
        return self in (Status.OK, Status.SINGULAR, Status.EVENT)

    @property
    def complete(self) -> bool:
        """True where nothing ended the run early; how far its numbers can be trusted is another question."""
        return self.ok or self in (Status.INACCURATE, Status.NOT_DETERMINED, Status.SOFTENED)

    @property
    def diagnosis(self) -> str:
        """What the status means."""
        return _TEXT[self][0]

    @property
    def remedy(self) -> str:
        """What a user can do about it: a sentence without its full stop."""
        return _TEXT[self][1]

    def error(self, label: str, reason: str = "", *, result: object = None) -> SolveError:
        """Return the error of a solve that ended so: label, ``reason`` (default: the diagnosis) and remedy."""
        return SolveError(f"{label}: {reason or self.diagnosis}. {self.remedy}", result=result)

    def __str__(self) -> str:
        return self.name


class Answer:
    """What results say beside their ``status``, as results of SciPy do."""

    __slots__ = ()
    status: Status

    @property
    def success(self) -> bool:
        """True where the result is a full answer: ``status.ok``."""
        return self.status.ok

    @property
    def message(self) -> str:
        """What became of it, in words; ``status.remedy`` says what to do about it."""
        return self.status.diagnosis

    def _repr_html_(self) -> str:
        return notebook.answer(self)


def statuses(codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return an array of `Status` from their numbers, such as those of many runs."""
    found = np.array([*map(Status, np.unique(codes))], dtype=object)
    named = found[np.searchsorted(found.astype(np.int64), codes)]
    named.flags.writeable = False
    return named


# What inverse dynamics says of NOT_ACHIEVABLE.
ACTUATORS_FALL_SHORT = "the actuators cannot produce the requested acceleration"

_TEXT: dict[Status, tuple[str, str]] = {
    Status.OK: ("the answer is complete", "Nothing to do"),
    Status.SINGULAR: (
        "the rank of the constraints drops at this configuration but not nearby",
        "Nothing to do for motion; multipliers in the lost direction are not determined here",
    ),
    Status.INCONSISTENT: (
        "the constraint equations contradict each other; the answer is their least-squares compromise",
        "Assemble the configuration, project the velocity, or look for closures that fight each other",
    ),
    Status.NOT_CLOSED: (
        "the loops do not close: the gap is at a local minimum",
        "Start nearer to a closed configuration, unlock coordinates, or check the dimensions of the named "
        "closure",
    ),
    Status.NOT_ACHIEVABLE: (
        "what was asked for is out of reach; the answer is the one that misses it least",
        "Actuate more joints, start nearer, or ask for what the loops and the passive joints allow; the residual says "
        "how much is missing",
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
        "Choose other coordinates, or coordinates='partition', which changes them on the way",
    ),
    Status.SWITCHING_FAILED: (
        "a constraint that comes or goes left the run without a state to go on from",
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
        "the iterations ended before residuals and gap were small",
        "Look at the residuals of the result; scale the problem, or allow more iterations",
    ),
    Status.RIGID: (
        "the constraints allow velocities here that no motion has (second-order rigid); nothing moves in these "
        "directions, and no finite multipliers hold a force along them",
        "Ask sr.mobility(system, q) what can move; change the lengths that just reach, or describe what cannot move as "
        "one body or a weld",
    ),
    Status.STEP_LIMIT: (
        "the run came to the limit of its steps or of the memory for its records",
        "Give method=Stepping(max_steps=, max_bytes=), record less with every= or dt=, or see why the steps are so "
        "small: loosen rtol, or take an implicit method for stiff forces; the motion up to then is kept",
    ),
    Status.CHATTERING: (
        "a force or a control jumps and pushes back from both sides: the motion slides along the jump in ever smaller "
        "steps",
        "Give dry friction to the joint (add_joint: friction=) or to a contact (friction='coulomb'), which stick and "
        "slide exactly, instead of writing it as a force with sign(v); hold a control that switches between samples "
        "(sample_time=); the motion up to then is kept",
    ),
    Status.ILL_CONDITIONED: (
        "the equations are so ill-conditioned that the answer may have lost all digits",
        "Look at units, at masses many decades apart and at rows that are nearly dependent; a larger rank tolerance "
        "counts these as redundant",
    ),
    Status.ALMOST: (
        "the answer is near, but its residual stays above the tolerance",
        "Look at the residuals of the result: they say how far to trust it; scale the equations",
    ),
    Status.NOT_INVARIANT: (
        "the motion changes a function of the state that was to be kept as an invariant",
        "Leave it out: a force, gravity, a driven joint or a contact works on it; or keep one that has no such part, "
        "as momentum across gravity",
    ),
    Status.INACCURATE: (
        "the motion is there, but its estimated error is as large as the digits that count",
        "Give a tighter rtol or a smaller dt; where that changes nothing the motion magnifies rounding, and no step "
        "determines it further",
    ),
    Status.NOT_DETERMINED: (
        "the motion is there, but singular passages magnify rounding: starts that differ by no more lead elsewhere",
        "Believe it up to trajectory.determined_until; beyond that a tighter rtol, other coordinates or another place "
        "to cut the loops may tell more, the equations alone do not",
    ),
    Status.SOFTENED: (
        "the formulation softens the constraints: they are met in part, and the answer is off by that",
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
