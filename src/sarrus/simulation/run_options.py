"""What all runs are asked for, one or many: method, times, steps, stabilization; checked, with one clear error each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.dynamics.evaluations import Evaluations
from sarrus.kernels.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.tableau import METHODS
from sarrus.simulation.inputs import Event

# The method that is chosen by itself: it is this one, and where that is held back by stability the other one.
AUTO, NOT_STIFF, STIFF = "auto", "dop853", "rodas5p"
# Tolerances of adaptive methods, and the absolute one as a part of the relative one.
RTOL, ATOL_SHARE = 1e-8, 1e-2
STABILIZATIONS = ("projection", "energy", "baumgarte", "none")


@dataclass(frozen=True)
class Scheme:
    """How a run steps: with a method, or one of two that take turns; by error estimates, or with a fixed step.

    ``stiff`` names the implicit method that takes over from ``method`` where stability holds the steps back, and hands
    back where it does not; None where nothing takes over. ``dt`` is the fixed step, or the interval of the records of
    an adaptive run (None: every step). A singular configuration is laid at ``place``, from 0 to 1, in the widest gap
    between the stages of a step.
    """

    method: str
    stiff: str | None
    adaptive: bool
    rtol: float
    atol: float
    dt: float | None
    place: float = 0.5

    def scaled(self, factor: float) -> Scheme:
        """Return the same with ``factor`` times the step, or the tolerances; an adaptive one without an output grid."""
        if not self.adaptive:
            assert self.dt is not None
            return replace(self, dt=self.dt * factor)
        return replace(self, rtol=self.rtol * factor, atol=self.atol * factor, dt=None)


def choose_scheme(
    system: Evaluations,
    method: str | None,
    rtol: float | None,
    atol: float | None,
    dt: float | None,
    *,
    explicit_only: bool,
) -> Scheme:
    """Return how to step for the arguments of `sarrus.simulate`; what does not exist or fit is an error.

    Without method and tolerances: adaptive, unless ``dt`` is given. ``explicit_only`` says that no implicit method can
    take part.
    """
    known = (AUTO, *METHODS, *IMPLICIT_METHODS)
    if method is not None and method not in known:
        raise ArgumentError(
            f"unknown method {method!r}. Known: {', '.join(known)}", element="method", valid=known
        )
    if method == "rk4" and (rtol is not None or atol is not None):
        raise ArgumentError("rk4 has a fixed step: give dt, or choose another method for rtol and atol")
    estimated = rtol is None or _number("rtol", rtol) != np.inf
    for name, value in (("rtol", rtol), ("atol", atol)):
        if estimated or name == "atol":
            check_positive(name, value, "")
    check_positive("dt", dt, " [s]")
    relative = RTOL if rtol is None else float(rtol)
    absolute = float(atol) if atol is not None else ATOL_SHARE * relative if estimated else ATOL_SHARE * RTOL
    fixed = (
        not estimated
        or method == "rk4"
        or (method is None and dt is not None and rtol is None and atol is None)
    )
    if fixed:
        step = dt if dt is not None else own_step(system)
        return Scheme(
            "rk4" if method in (None, AUTO) else method, None, False, relative, absolute, float(step)
        )
    free = method in (None, AUTO)
    stiff = STIFF if free and not explicit_only else None
    return Scheme(NOT_STIFF if free else str(method), stiff, True, relative, absolute, dt)


def own_step(system: Evaluations) -> float:
    """Return the step [s] for fixed steps without a number: that of the model's file, else a millisecond."""
    step = system.mechanism.time_step if system.mechanism is not None else None
    return 1e-3 if step is None else step


def _number(name: str, value: Any) -> float:
    """Return a float that is not NaN; anything else is an `ArgumentError`."""
    try:
        number = real_array(value)
    except ArgumentError:
        number = np.array(np.nan)
    if number.ndim or np.isnan(number):
        raise ArgumentError(f"{name} must be a number, got {value!r}", element=name)
    return float(number)


def check_positive(name: str, value: float | None, unit: str, *, bounded: bool = True) -> None:
    """Raise unless ``value`` is None or positive (and finite where ``bounded``)."""
    if value is not None and not 0.0 < _number(name, value) <= (np.finfo(float).max if bounded else np.inf):
        wanted = "positive and finite" if bounded else "positive"
        raise ArgumentError(f"{name} must be {wanted}{unit}, got {value}", element=name)


def check_times(
    t0: float, duration: float, dt: float | None, sample_time: float | None, max_step: float, *, driven: bool
) -> None:
    """Check the times of a run."""
    if not np.isfinite(_number("t0", t0)):
        raise ArgumentError(f"t0 must be finite [s], got {t0}", element="t0")
    if duration is None:
        raise ArgumentError("duration must be a number, got None", element="duration")
    for name, value in (("duration", duration), ("dt", dt), ("sample_time", sample_time)):
        check_positive(name, value, " [s]")
    check_positive("max_step", max_step, " [s]", bounded=False)
    if sample_time is not None and not driven:
        raise ArgumentError("sample_time needs a control or a force to sample", element="sample_time")


def check_limits(max_steps: int | None, max_bytes: float) -> None:
    """Check the limits of a run."""
    if max_steps is not None and not (isinstance(max_steps, (int, np.integer)) and max_steps >= 1):
        raise ArgumentError(
            f"max_steps must be a whole number of steps ≥ 1, got {max_steps!r}", element="max_steps"
        )
    check_positive("max_bytes", max_bytes, "", bounded=False)


def check_steps(every: int, project_every: int, baumgarte: Any, events: Any) -> None:
    """Check counts of steps, Baumgarte's numbers and events."""
    for name, count in (("every", every), ("project_every", project_every)):
        if not (isinstance(count, (int, np.integer)) and count >= 1):
            raise ArgumentError(f"{name} must be a whole number of steps ≥ 1, got {count!r}", element=name)
    if np.shape(baumgarte) != (2,) or not np.isfinite([_number("baumgarte", x) for x in baumgarte]).all():
        raise ArgumentError(
            f"baumgarte must be two finite numbers (α, β), got {baumgarte!r}", element="baumgarte"
        )
    if not (isinstance(events, Sequence) and all(isinstance(event, Event) for event in events)):
        raise ArgumentError(f"events must be a sequence of Event, got {events!r}", element="events")


def check_stabilization(system: Evaluations, stabilization: str, control: Any, force: Any) -> None:
    """Check the stabilization; keeping the energy needs a system that does."""
    if stabilization not in STABILIZATIONS:
        raise ArgumentError(
            f"unknown stabilization {stabilization!r}. Known: {', '.join(STABILIZATIONS)}",
            element="stabilization",
            valid=STABILIZATIONS,
        )
    if stabilization == "energy" and not (
        system.equations.conservative and control is None and force is None
    ):
        driven = (
            "a control law or an applied force"
            if system.equations.conservative
            else "dampers, servos or user forces"
        )
        raise ArgumentError(
            f"{system.name}: stabilization='energy' needs a conservative system; this one has {driven}",
            element="stabilization",
        )


def check_contacts(system: Evaluations, switching: bool, what: str) -> None:
    """Refuse a system with contacts that ``what`` would not open and close, unless they are to stay as they are."""
    if switching and system.equations.contacts:
        raise ArgumentError(
            f"{system.name} has contacts, which sarrus.simulate opens and closes but {what} does not: "
            "switching=False keeps them as system.parameters say",
            element="switching",
        )
