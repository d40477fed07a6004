"""What all runs are asked for, one or many: method, times, steps, stabilization; checked, with one clear error each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.errors import ArgumentError
from sarrus.inputs import Event
from sarrus.kernels.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.tableau import METHODS
from sarrus.system import System

STABILIZATIONS = ("projection", "energy", "baumgarte", "none")


def is_adaptive(method: str | None, rtol: float | None, atol: float | None) -> bool:
    """Tell whether steps are chosen by error estimates; a method that does not exist or fit is an error."""
    known = (*METHODS, *IMPLICIT_METHODS)
    if method is not None and method not in known:
        raise ArgumentError(
            f"unknown method {method!r}. Known: {', '.join(known)}", element="method", valid=known
        )
    if method == "rk4" and (rtol is not None or atol is not None):
        raise ArgumentError("rk4 has a fixed step: give dt, or choose another method for rtol and atol")
    if rtol is not None and rtol == np.inf:
        return False
    for name, value in (("rtol", rtol), ("atol", atol)):
        check_positive(name, value, "")
    return method not in (None, "rk4") or rtol is not None or atol is not None


def _number(name: str, value: Any) -> float:
    """Return a float that is not NaN; anything else is an `ArgumentError`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise ArgumentError(f"{name} must be a number, got {value!r}", element=name)
    return number


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


def check_stabilization(system: System, stabilization: str, control: Any, force: Any) -> None:
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


def check_contacts(system: System, switching: bool, what: str) -> None:
    """Refuse a system with contacts that ``what`` would not open and close, unless they are to stay as they are."""
    if switching and system.equations.contacts:
        raise ArgumentError(
            f"{system.name} has contacts, which sarrus.simulate opens and closes but {what} does not: "
            "switching=False keeps them as system.parameters say",
            element="switching",
        )
