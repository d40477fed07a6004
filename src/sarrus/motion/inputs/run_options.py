"""Options of runs, single or many: steps, stabilization, recording; each invalid option is one clear error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.contacts.contact_state import require_poisson_in_steps
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.integrate.tableau import METHODS, TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.platform.c_function import prefetch
from sarrus.motion.inputs.invariants import (
    ENERGY,
    Invariant,
    TracedInvariants,
    checked_invariants,
    is_energy,
)
from sarrus.motion.inputs.tolerances import (
    ABSOLUTE_SHARE,
    DEFAULT_STEP,
    MOST_BYTES,
    RELATIVE_TOLERANCE,
    RESOLVED_TIME,
)
from sarrus.motion.inputs.winding_steps import refuse_long_steps

# The method that is chosen by itself: it is this one, and where that is held back by stability the other one.
AUTO, NOT_STIFF, STIFF = "auto", "dop853", "rodas5p"
_LARGEST = sys.float_info.max
STABILIZATIONS = ("projection", "energy", "baumgarte", "none")
# Reductions over a run by the names that ``reduce=`` gives them, and the attributes of a `Rollout` that hold them.
REDUCTIONS = {"min": "minimum", "max": "maximum", "mean": "mean", "rms": "rms"}


@dataclass(frozen=True)
class Stabilization:
    """The way in which a run is kept on its constraints.

    Parameters
    ----------
    kind : "projection": positions and velocities are moved to the constraints after a step, by the smallest change in
        the kinetic metric; "energy": the same, with the energy among the ``invariants``; "baumgarte": rows γ + 2α ψ +
        β² φ in the place of γ; "none".
    every : project after every so many steps. gains : (α, β) [1/s] of "baumgarte".
    invariants : functions of the state that the projection keeps at their initial values, and at new values after each
        event that changes velocities or constraints: `sarrus.Invariant`, or "energy", "momentum.x",
        "angular_momentum.z" and so on, in axes and about the origin of the world. Redundant rows change nothing;
        ``trajectory.events`` names them. If the motion changes an invariant the run ends with NOT_INVARIANT. The energy
        is refused before the run if a drive or damper acts.

    Raises `ArgumentError` for another kind and for values out of range.
    """

    kind: str = "projection"
    every: int = 1
    gains: tuple[float, float] = (20.0, 20.0)
    invariants: tuple[str | Invariant, ...] = ()

    def __post_init__(self) -> None:
        check_known("stabilization", self.kind, STABILIZATIONS, element="stabilization")
        check_count("Stabilization: every", self.every)
        if np.shape(self.gains) != (2,) or not np.isfinite([_number("gains", x) for x in self.gains]).all():
            raise ArgumentError(
                f"Stabilization: gains must be two finite numbers (α, β), got {self.gains!r}", element="gains"
            )
        object.__setattr__(self, "invariants", checked_invariants(self.invariants))
        if self.invariants and self.kind not in ("projection", "energy"):
            raise ArgumentError(
                f"Stabilization: invariants are kept by projection, not by kind={self.kind!r}",
                element="invariants",
            )

    @property
    def kept(self) -> tuple[str | Invariant, ...]:
        """All invariants; for the kind "energy" the energy comes first."""
        own = self.kind == "energy" and not any(map(is_energy, self.invariants))
        return (ENERGY, *self.invariants) if own else self.invariants

    @classmethod
    def of(cls, given: str | Stabilization) -> Stabilization:
        """Return a `Stabilization` from its kind, or the object itself."""
        if isinstance(given, Stabilization):
            return given
        return _USUAL if isinstance(given, str) and given == "projection" else cls(given)


@dataclass(frozen=True)
class Stepping:
    """Method, steps, tolerances and limits of a run, for ``method=``; the common ones have short forms in
    `sarrus.simulate`.

    Parameters
    ----------
    method, dt, rtol, atol : as in `sarrus.simulate`.
    max_step : longest step of an adaptive method [s]. Changes that last longer, for instance by conditions on the
        state, are not passed over. Functions of time need no ``max_step``: they are examined before the run.
    max_steps, max_bytes : limits of the number of accepted and rejected steps, and of the size of the records [bytes].
        At either limit the run ends with STEP_LIMIT. Default: 10 million steps, or those of ``duration`` and ``dt`` if
        more; 2 GB. Records above 256 MB are in a temporary file, which the arrays of the trajectory map.

    Raises `ArgumentError` for values out of range.
    """

    method: str | None = None
    dt: float | None = None
    rtol: float | None = None
    atol: float | None = None
    max_step: float = np.inf
    max_steps: int | None = None
    max_bytes: float = MOST_BYTES

    def __post_init__(self) -> None:
        if self.method is not None:
            check_known(
                "method", self.method, (AUTO, *METHODS, *IMPLICIT_METHODS, TIME_STEPPING), element="method"
            )
        check_positive("max_step", self.max_step, " [s]", bounded=False)
        if self.max_steps is not None:
            check_count("max_steps", self.max_steps)
        check_positive("max_bytes", self.max_bytes, "", bounded=False)

    @classmethod
    def of(
        cls,
        method: str | Stepping | None,
        dt: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Stepping:
        """Return a `Stepping` from the short forms or from the object; `ArgumentError` for both together."""
        if not isinstance(method, Stepping):
            return cls(method, dt, rtol, atol)
        for name, value in (("dt", dt), ("rtol", rtol), ("atol", atol)):
            if value is not None:
                raise ArgumentError(f"{name} is given twice: put it into the Stepping only", element=name)
        return method


@dataclass(frozen=True)
class Recording:
    """The records of a run, for ``every=``, whose short form is the field ``every``.

    Parameters
    ----------
    every : number of steps between two records (of intervals ``dt``, with an adaptive method of many runs). The end is
        recorded too, and the start of a single run. None: the end alone.
    at : ascending times [s] at which a single run is recorded instead, besides its start and its end. They do not
        change the steps.
    reduce : reductions of many runs, any of "min", "max", "mean" and "rms", see `sarrus.rollout`.

    Raises `ArgumentError` for values out of range.
    """

    every: int | None = 1
    at: tuple[float, ...] | None = None
    reduce: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_count("every", 1 if self.every is None else self.every)
        if self.at is not None and not (np.diff([_number("at", t) for t in self.at]) > 0.0).all():
            raise ArgumentError(f"Recording: at must be ascending times [s], got {self.at!r}", element="at")
        if isinstance(self.reduce, str) or not set(self.reduce) <= set(REDUCTIONS):
            raise ArgumentError(
                f"reduce must be a sequence of {', '.join(REDUCTIONS)}, got {self.reduce!r}",
                element="reduce",
                valid=tuple(REDUCTIONS),
            )

    @classmethod
    def of(cls, given: int | Recording | None, reduce: Sequence[str] = ()) -> Recording:
        """Return a `Recording` from its short form, or the object itself."""
        if not isinstance(given, Recording):
            return cls(given, reduce=reduce)
        if reduce:
            raise ArgumentError("reduce is given twice: put it into the Recording only", element="reduce")
        return given


@dataclass(frozen=True)
class Scheme:
    """Method and steps of a run: one method, or an explicit and an implicit one that take turns; adaptive or fixed
    steps.

    ``stiff`` names the implicit method that takes over from ``method`` while stability limits the steps; None: no
    method takes over. ``dt`` is the fixed step, or the interval of the records of an adaptive run [s] (None: every
    step). ``limits`` are those of steps and memory. ``place``, from 0 to 1, is the position of a singular configuration
    in the widest gap between two stages of a step.
    """

    method: str
    stiff: str | None
    adaptive: bool
    rtol: float
    atol: float
    dt: float | None
    limits: Stepping
    place: float = 0.5

    def scaled(self, factor: float, **others: Any) -> Scheme:
        """Return the scheme with ``factor`` times the step, or the tolerances; an adaptive one without an output grid.

        ``others`` are further fields that change.
        """
        if not self.adaptive:
            assert self.dt is not None
            return replace(self, dt=self.dt * factor, **others)
        return replace(self, rtol=self.rtol * factor, atol=self.atol * factor, dt=None, **others)


def choose_scheme(system: Evaluations, stepping: Stepping, *, explicit_only: bool) -> Scheme:
    """Return the `Scheme` for the arguments of `sarrus.simulate`; raises `ArgumentError` for arguments that do not fit.

    Without method and tolerances: adaptive, unless ``dt`` is given. ``explicit_only``: implicit methods are excluded.
    """
    method, dt, rtol, atol = stepping.method, stepping.dt, stepping.rtol, stepping.atol
    of_fixed_step = method in ("rk4", TIME_STEPPING)
    if of_fixed_step and (rtol is not None or atol is not None):
        raise ArgumentError(
            f"{method} has a fixed step: give dt, or choose another method for rtol and atol", element="rtol"
        )
    estimated = rtol is None or _number("rtol", rtol) != np.inf
    if estimated:
        check_positive("rtol", rtol, "")
    check_positive("atol", atol, "")
    check_positive("dt", dt, " [s]")
    relative = RELATIVE_TOLERANCE if rtol is None else float(rtol)
    free = method in (None, AUTO)
    short = method is None and dt is not None and rtol is None and atol is None
    fixed = not estimated or of_fixed_step or short
    return Scheme(
        method=("rk4" if fixed else NOT_STIFF) if free else str(method),
        stiff=STIFF if free and not fixed and not explicit_only else None,
        adaptive=not fixed,
        rtol=relative,
        atol=ABSOLUTE_SHARE * (relative if estimated else RELATIVE_TOLERANCE)
        if atol is None
        else float(atol),
        dt=float(own_step(system) if dt is None else dt) if fixed else dt,
        limits=stepping,
    )


def stepping_of(system: Evaluations, stepping: Stepping, switching: Any, *, smooth: bool = False) -> Stepping:
    """Return the `Stepping` of one run: "moreau-jean" if contacts with Coulomb friction act and only ``dt`` is given.

    Systems with contacts between geometries that have no closed form always use "moreau-jean". ``smooth``: the run has
    coordinates or a formulation of its own, which need smooth phases between events.
    """
    if system.contact_geometries:
        return stepping_of_many(system, stepping, switching, events=True)
    fixed = stepping.dt is not None and stepping.rtol is None and stepping.atol is None
    if (
        not system.equations.friction_contacts
        or smooth
        or switching is False
        or stepping.method is not None
        or not fixed
    ):
        return stepping
    return replace(stepping, method=TIME_STEPPING)


def stepping_of_many(
    system: Evaluations, stepping: Stepping, switching: Any, *, events: bool = False
) -> Stepping:
    """Return the `Stepping` of many runs: without a method "moreau-jean" if contacts, stops or dry friction act.

    With ``events`` other methods go from event to event. Raises `ArgumentError` for them without.
    """
    what = what_acts(system)
    if what is None and system.equations.contacts:
        what = f"contact {system.equations.contacts[0].name!r} opens and closes"
    if what is None or switching is False or stepping.method == TIME_STEPPING:
        return stepping
    given = stepping.method if stepping.method not in (None, AUTO) else None
    if given is None and (stepping.rtol is not None or stepping.atol is not None):
        given = "adaptive"
    if given is not None and not events:
        raise ArgumentError(
            f"{system.name}: {what}, which in environments only method={TIME_STEPPING!r} handles, not {given!r}. "
            f"Leave method, rtol and atol out, or give {LEAVES_OUT}",
            element="method",
        )
    return replace(stepping, method=TIME_STEPPING) if given is None else stepping


# The argument that removes these forces, for error messages.
LEAVES_OUT = "switching=False (no contacts with friction, no limits, no dry friction)"


def what_acts(system: Evaluations) -> str | None:
    """Return the text of a friction contact, stop or dry friction that needs events or time stepping; None
    without one.
    """
    found = contact_elements(system)
    if found and found[0].rope:
        return f"rope {found[0].name!r} has a limit of its length"
    if found and found[0].kind == "contact":
        return f"contact {found[0].name!r} has friction='coulomb'"
    if system.contact_geometries:
        return f"geometries {system.contact_geometries[0]!r} touch each other"
    if found:
        kinds = {"stop": "limits that stop it", "friction": "dry friction"}
        return f"joint {found[0].name.rpartition('.')[0]!r} has {kinds[found[0].kind]}"
    return None


@dataclass(frozen=True)
class RunOptions:
    """The checked options of a run, single or one of many; made by `run_options`."""

    t0: float
    duration: float
    scheme: Scheme
    stabilization: Stabilization
    recording: Recording
    kept: TracedInvariants | None = None

    @property
    def step(self) -> float:
        """The fixed step, or the interval of samples of an adaptive method [s]."""
        return DEFAULT_STEP if self.scheme.dt is None else self.scheme.dt

    @property
    def steps(self) -> int:
        """Number of fixed steps, or of intervals."""
        return max(1, ceil(self.duration / self.step - SAME_INSTANT))

    @property
    def records(self) -> float:
        """Number of records of a complete single run; zero if it depends on steps or switches."""
        recording = self.recording
        if recording.at is not None:
            return len(recording.at) + 2.0
        return 0.0 if self.scheme.adaptive or recording.every is None else self.steps // recording.every + 3.0

    @property
    def sample_times(self) -> Array:
        """Times of the samples of each of many runs [s]."""
        every = self.recording.every
        kept = np.arange(0, 0 if every is None else self.steps, every)
        return np.append(self.t0 + self.step * kept, self.t0 + self.duration)


def run_options(
    system: Evaluations,
    stepping: Stepping,
    stabilization: str | Stabilization,
    recording: Recording,
    *,
    t0: float,
    duration: float,
    driven: bool,
    explicit_only: bool = True,
) -> RunOptions:
    """Return the checked options of runs of a system, and start to compile the kernels for them in the background.

    ``driven``: there is a control law or an applied force.
    """
    kept = Stabilization.of(stabilization)
    if not isfinite(_number("t0", t0)):
        raise ArgumentError(f"t0 must be finite [s], got {t0}", element="t0")
    if duration is None:
        raise ArgumentError("duration must be a number, got None", element="duration")
    check_positive("duration", duration, " [s]")
    conservative = system.equations.conservative
    if any(map(is_energy, kept.kept)) and (driven or not conservative):
        cause = "a control law or an applied force" if conservative else "dampers, servos or user forces"
        raise ArgumentError(
            f"{system.name}: stabilization='energy' needs a conservative system, and this one has {cause}",
            element="stabilization",
        )
    free = kept.kind in ("projection", "energy")
    scheme = choose_scheme(system, stepping, explicit_only=explicit_only or not free)
    _check_resolution(t0, float(duration), scheme.dt)
    if scheme.method == TIME_STEPPING:
        system.require_no_activations(f"runs with method={TIME_STEPPING!r}, without switching=False,")
        require_poisson_in_steps(system)
        if kept != _USUAL:
            raise ArgumentError(
                f"method={TIME_STEPPING!r} projects loops and contacts itself: leave stabilization at its default, or "
                f"give {LEAVES_OUT}",
                element="stabilization",
            )
    if not scheme.adaptive and scheme.dt is not None:
        refuse_long_steps(system, scheme.method, scheme.dt)
    prefetch(implicit=scheme.method in IMPLICIT_METHODS)
    invariants = TracedInvariants.of(system, kept.kept) if kept.kept else None
    return RunOptions(t0, float(duration), scheme, kept, recording, invariants)


def _check_resolution(t0: float, duration: float, step: float | None) -> None:
    """Raise `ArgumentError` if the spacing of floating-point numbers near ``t0`` is too coarse for the run or
    its step.
    """
    apart = float(np.spacing(max(abs(t0), abs(t0 + duration))))
    what, shortest = ("the run lasts", duration) if step is None else ("the step is", step)
    if not (duration > RESOLVED_TIME * apart and shortest > RESOLVED_TIME * apart):
        raise ArgumentError(
            f"t0={t0:g}: times there are {apart:.2g} s apart in double precision, and {what} {shortest:g} s; give a t0 "
            f"nearer to zero, such as t0=0",
            element="t0",
        )


def own_step(system: Evaluations) -> float:
    """Return the default fixed step [s]: the time step of the model's file, else 1e-3 s."""
    step = system.mechanism.time_step if system.mechanism is not None else None
    return DEFAULT_STEP if step is None else step


def _number(name: str, value: Any) -> float:
    """Return a float that is not NaN; anything else is an `ArgumentError`."""
    if type(value) is float and value == value:
        return value
    try:
        number = real_array(value)
    except ArgumentError:
        number = np.array(np.nan)
    if number.ndim or np.isnan(number):
        raise ArgumentError(f"{name} must be a number, got {value!r}", element=name)
    return float(number)


def check_positive(name: str, value: float | None, unit: str, *, bounded: bool = True) -> None:
    """Raise `ArgumentError` unless ``value`` is None or a positive number, and finite if ``bounded``."""
    if value is not None and not 0.0 < _number(name, value) <= (_LARGEST if bounded else inf):
        wanted = "positive and finite" if bounded else "positive"
        raise ArgumentError(f"{name} must be {wanted}{unit}, got {value}", element=name)


def check_count(name: str, count: Any, of: str = " of steps") -> None:
    """Raise `ArgumentError` unless ``count`` is a whole number ≥ 1; ``of`` names the unit in the message."""
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ArgumentError(
            f"{name} must be a whole number{of} ≥ 1, got {count!r}", element=name.rpartition(" ")[2]
        )


_USUAL = Stabilization()
