"""`simulate`: motion of a constrained system in time, through redundant and singular configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base import interrupts
from sarrus.base.arguments import described
from sarrus.base.arrays import Array
from sarrus.base.errors import AccuracyWarning, ArgumentError, SimulationError, check_is
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.control.sampling import Sampling
from sarrus.dynamics.coordinates.choices import Coordinates
from sarrus.dynamics.coordinates.relation import Relation, extend_traced
from sarrus.dynamics.coordinates.state_chart import RunCoordinates, StateCoordinates
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.singularity_forecast import require_holonomic
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.motion.accuracy import estimated, is_repeatable, not_estimated
from sarrus.motion.inputs.inputs import Event, check_events, with_force
from sarrus.motion.inputs.run_options import (
    LEAVES_OUT,
    Recording,
    Stabilization,
    Stepping,
    check_positive,
    run_options,
    stepping_of,
    what_acts,
)
from sarrus.motion.known_starts import KnownMotions, ReadyLoops, key_of
from sarrus.motion.loop.singularity_watch import SingularityWatch
from sarrus.motion.motion import Motion
from sarrus.motion.records.records import EventRecord
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.switching import Switching

if TYPE_CHECKING:
    from sarrus.motion.loop.formulated import Method


@described()
def simulate(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    t0: float = 0.0,
    method: str | Stepping | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    control: StateFunction | None = None,
    force: StateFunction | None = None,
    sample_time: float | Sampling | None = None,
    coordinates: Coordinates | Relation | None = None,
    formulation: str | Method | None = None,
    stabilization: str | Stabilization = "projection",
    events: Sequence[Event] = (),
    switching: Switching | bool = True,
    every: int | Recording = 1,
    watch: SingularityWatch | float | None = None,
    error_estimate: bool = True,
    progress: bool | None = None,
    throw: bool = True,
) -> Trajectory:
    """Simulate from the state (q, v) at time ``t0`` for ``duration`` seconds.

    Parameters
    ----------
    q, v : initial coordinates (nq,) and velocities (nv,; default at rest). They must satisfy the constraints
        to 1e-5 and are then projected; see `System.assemble` and `System.project_velocity`.
    dt : fixed step [s]. With an adaptive method (``method``, ``rtol`` or ``atol`` are given too): interval of the
        output. Without it the steps of an adaptive method are the output.
    method : default without ``dt``: "auto", adaptive steps of "dop853" as long as they are held back by accuracy, of
        "rodas5p" where they would be by stability (stiff springs, dampers, laws); ``trajectory.events`` lists the
        changes. Default with ``dt``: "rk4", with fixed steps; without ``dt`` it takes the time step of the model's
        file, else 1e-3 s. Explicit: "rk4", "dopri5" (order 5(4)) or "dop853" (order 8). Implicit, for stiff springs,
        dampers and control laws: "rodas5p" (order 5(4), Steinebach 2023) or "rodas4" (order 4(3), Hairer and Wanner
        II, IV.7), L-stable Rosenbrock–Wanner methods in local coordinates with exact derivatives, a traced ``control``
        included (a `Law` by central differences). Of the two rodas5p keeps its order better where springs are stiff.
        Every stage of theirs lies on the constraints; redundant rows and massless links are as ever, nonholonomic
        rows too. They pass singular configurations as the explicit methods do, but cannot start in one: that is an
        `ArgumentError` (and ends the run with STEP_TOO_SMALL should a step end in one). They want ``stabilization``
        "projection" or "energy" and ``coordinates`` None. "moreau-jean": fixed steps in which contacts with Coulomb
        friction, joint limits and dry friction act (`sarrus.kernels.integrate.time_stepping`), the default with
        ``dt`` where there are such contacts, and always between geometries without closed form. With all other
        methods these act in smooth phases, and where one of them changes is an event
        (`sarrus.motion.contacts.event_driven`), implicit methods included. A `sarrus.Stepping` in the place of the
        name has all of this, and limits of steps and memory.
    rtol, atol : tolerances of the adaptive methods, 1e-8 and a hundredth of rtol by default; atol in radians and
        characteristic lengths of the mechanism (`sarrus.dynamics.model.characteristic`), per second for velocities.
        ``rtol=np.inf``: no control of errors, fixed steps of ``dt`` with any method; one that an implicit method cannot
        take ends the run with PROJECTION_FAILED.
    control : u(q, v, t), or u(q, v, t, p) with the parameters as ``p.name``. Without ``sample_time`` it is traced over
        CasADi symbols and compiled into the kernel;
        with it, it is called as plain Python once per sample and held. Clipped to the actuators' limits. A law of
        `sarrus.control` runs in the kernel either way; ``sample_time`` may then be a `sarrus.control.Sampling`, with
        delay and measurement noise. Functions of time in it, and in all that acts, are looked at before an adaptive
        run: steps end where they jump or have a kink, and pass over no peak (`sarrus.motion.inputs.time_course`). Of a
        Python function only its samples are known.
    force : applied generalized force τ(q, v, t) or τ(q, v, t, p) (nv,), likewise.
    coordinates : integrate independent coordinates only (local state-space form, Spencer 2004): "partition",
        "tangent-space", "null-space", or names of coordinates (`sarrus.dynamics.coordinates.choices`). Charts that
        become poor are changed, which ``trajectory.events`` lists; named coordinates that fail end the run with
        COORDINATES_FAILED. A `sarrus.dynamics.coordinates.Relation` R(q, y) = 0 appends the coordinates y to the
        system, one with velocities, such as `sarrus.dynamics.coordinates.Momenta`, y and z to its velocities: the
        trajectory is then that of the extended system, and ``force`` has zeros for what was appended. Needs
        stabilization "projection"; like ``formulation`` it knows no contacts with friction, no limits and no dry
        friction.
    formulation : name in `sarrus.formulations.METHODS`, ``SOFTENED`` or ``LEAST_CONDITION``, or a function like these,
        to solve for the acceleration instead of the compiled kernel, a hundred times slower; ``trajectory.condition``
        is then that of the matrix it inverts. With a `sarrus.formulations.LeastConditionRule` over the motion it is
        first done by the kernel, and ``trajectory.events`` begins with the g or ν that keeps that condition least. What
        it cannot solve ends the run with its diagnosis; runs that are softened have the status SOFTENED, a warning.
    stabilization : "projection" (default), "energy", "baumgarte" or "none"; a `sarrus.Stabilization` says more, such as
        ``invariants`` to keep: momenta, or any function of the state.
    events : functions whose zeros are located to 1e-11 s; terminal ones stop the run. Steps of adaptive methods end
        there, so that forces may jump at an event.
    switching : True lets contacts open and close by themselves, a `Switching` adds a schedule of closures that come
        and go, False leaves contacts and closures that are constraints as ``system.parameters`` say, and contacts with
        Coulomb friction, limits and dry friction out; limits that are crossed are still reported.
        ``trajectory.switches`` lists what switched; there the state is recorded twice, before and after. The system has
        its own parameters again at the end.
    every : record every so many steps; a `sarrus.Recording` says more, such as times at which to record.
    watch : bound of the smallest singular value σ of A below which the run is near a singular configuration, or a
        `sarrus.SingularityWatch`: at that time it warns (`sarrus.SingularityWarning`), with a forecast whether the
        motion will pass, turn back or lock up (`sarrus.forecast_singularity`), which ``trajectory.events`` lists, too.
        Looks between steps cost 0.1 ms each, fewer the farther away; steps are as without, unless ``part`` bounds them.
    error_estimate : do the motion a second time, coarser, for ``trajectory.error``, and a third time where the two
        differ; costs a third of the run with fixed steps and less than the run with some hundred adaptive ones, or with
        singular passages that leave it determined. Once more where adaptive steps are long parts of the run and there
        are no passages, where a motion is not determined, and where the estimate leaves few digits. Motions that Python
        takes part in (sampled functions, formulations) are not repeated.
    progress : bar on stderr; default: for long runs in a terminal.
    throw : raise `SimulationError` (with ``.trajectory``, the motion so far) where the run fails; False returns
        the trajectory with its ``status``. An interrupt from the keyboard (Ctrl-C) returns what is done so far,
        INTERRUPTED, also where only the estimate of the error was under way. So that a loop around it ends, the next
        call by the same script, function or cell raises KeyboardInterrupt; with False it is the caller who decides.

    Redundant constraints are ordinary. At a singular configuration the motion goes on along the branch that
    continuity of velocity selects; ``trajectory.passages`` lists these. Where there are any, the coarser motion begins
    at a start that differs by rounding, and one with somewhat other steps follows where the two do not agree (see
    `sarrus.motion.determinacy`); ``trajectory.determined_until`` says how long they do. Inconsistent constraints
    are met in the least-squares sense while the residual stays below 1e-6, else the run ends with PROJECTION_FAILED. A
    start out of which there is no motion, although A allows velocities there, ends with RIGID (see
    `System.forward_dynamics`).

    A complete motion whose estimated error is above 3e-4 is INACCURATE, one that singular passages leave open is
    NOT_DETERMINED: both are a warning (`sarrus.base.errors.AccuracyWarning`), not an error. Fixed steps of RK4 that
    leave its region of stability are an UNSTABLE_STEP, which is one. So is CHATTERING: a force or control jumps, as
    sign(v) does, and pushes back from both sides. An event function that gives NaN ends the run with NOT_FINITE.

    Returns
    -------
    Trajectory
    """
    check_is("simulate", system, System)
    key = None
    if control is force is sample_time is coordinates is formulation is watch is None and not events:
        key = key_of(
            system.workspace(), q, v, duration, dt, t0, method, rtol, atol, stabilization, switching, every
        )
    known: KnownMotions[Motion] = system.model.lasting("known motions", KnownMotions)
    motion = None if key is None else known.get(key)
    if motion is None:
        system, motion = _motion(
            system, q, v, duration, dt, t0, method, rtol, atol, control, force, sample_time, coordinates,
            formulation, stabilization, events, switching, every, watch,
        )  # fmt: skip
        if key is not None and motion.follows_from_numbers:
            motion = replace(motion, q=np.array(q), v=None if v is None else np.array(v), ready=ReadyLoops())
            known.keep(key, motion)
    chosen: tuple[EventRecord, ...] = ()
    if formulation is not None:
        from sarrus.motion.condition_of_motion import with_constant  # here: it brings the formulations

        motion, chosen = with_constant(motion)
    with interrupts.held():
        again = error_estimate and is_repeatable(motion)
        trajectory, reached, failure, looks = motion.run(progress, again=again)
        if again and trajectory.status in (Status.OK, Status.EVENT):
            try:
                with interrupts.allowed():
                    trajectory = estimated(motion, trajectory, looks)
            except KeyboardInterrupt:
                trajectory = not_estimated(trajectory)
        elif trajectory.passages:
            trajectory = trajectory.revised(determined_until=np.nan)
        trajectory = trajectory.revised(system=system, events=(*chosen, *trajectory.events), **motion.holds)
        if throw and trajectory.status is Status.INTERRUPTED:
            interrupts.owe()
    if throw and failure is not None:
        raise SimulationError(trajectory.message, trajectory=trajectory, time=reached) from failure
    if trajectory.status.complete and not trajectory.status.ok:
        warn(f"{system.name}: {trajectory.message}", AccuracyWarning, stacklevel=2)
    elif throw and not trajectory.status.ok and trajectory.status is not Status.INTERRUPTED:
        raise SimulationError(f"{system.name}: {trajectory.message}", trajectory=trajectory, time=reached)
    return trajectory


def _motion(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None,
    duration: float,
    dt: float | None,
    t0: float,
    method: str | Stepping | None,
    rtol: float | None,
    atol: float | None,
    control: StateFunction | None,
    force: StateFunction | None,
    sample_time: float | Sampling | None,
    coordinates: Coordinates | Relation | None,
    formulation: str | Method | None,
    stabilization: str | Stabilization,
    events: Sequence[Event],
    switching: Switching | bool,
    every: int | Recording,
    watch: SingularityWatch | float | None,
) -> tuple[System, Motion]:
    """Return the system, with the coordinates of a relation if that is given, and the motion asked for, checked."""
    local: RunCoordinates | None = None
    if coordinates is None or isinstance(coordinates, str | Sequence):
        local = coordinates
    else:
        what = what_acts(system) if switching is not False else None
        if what is not None:
            raise _unknown(system, what, "coordinates")
        system, q, v, local = _extended(system, q, v, t0, coordinates)
    work = system.workspace().copy()
    if isinstance(control, Law):
        control = control.of_run(system)
    free_form = coordinates is not None or formulation is not None or system.equations.activations > 0
    options = run_options(
        system, stepping_of(system, Stepping.of(method, dt, rtol, atol), switching), stabilization, Recording.of(every),
        t0=t0, duration=duration, driven=control is not None or force is not None, explicit_only=free_form,
    )  # fmt: skip
    motion = Motion(
        system=work, q=q, v=v, options=options, control=control, force=force, coordinates=local,
        sampling=_sampling(sample_time, control, force), formulation=formulation, events=events, switching=switching,
        watch=SingularityWatch.of(watch),
    )  # fmt: skip
    _check(motion)
    if force is not None and motion.sampling is None:
        motion = replace(motion, system=with_force(work, force))
    return system, motion


def _extended(
    system: System, q: ArrayLike, v: ArrayLike | None, t0: float, relation: object
) -> tuple[System, Array, Array, tuple[str, ...] | StateCoordinates]:
    """Return the system with the coordinates of a relation, its state, and what to integrate."""
    if not isinstance(relation, Relation):
        raise ArgumentError(
            f"coordinates must be a choice, names or a Relation, got {type(relation).__name__}",
            element="coordinates",
        )
    extended, q, v, traced = extend_traced(system, q, v, t0, relation)
    names = StateCoordinates(relation, traced) if relation.has_velocities else relation.names
    return extended, q, v, names


def _check(motion: Motion) -> None:
    """Raise `ArgumentError` where the parts of a motion do not go together."""
    system, options = motion.system, motion.options
    kept, method, local = options.stabilization, options.scheme.method, motion.coordinates is not None
    check_events(motion.events)
    if motion.watch is not None:
        require_holonomic(system, "watch")
    if options.recording.reduce:
        raise ArgumentError("reduce is for many runs, see sarrus.rollout", element="reduce")
    end, slack = options.t0 + options.duration, SAME_INSTANT * options.duration
    outside = [t for t in options.recording.at or () if not options.t0 - slack <= t <= end + slack]
    if outside:
        raise ArgumentError(
            f"Recording: at must lie in the run, from {options.t0:g} to {end:g} s, got {outside[0]:g}",
            element="at",
        )
    if local and kept != Stabilization():
        raise ArgumentError(
            "coordinates= lie on the constraints by themselves: leave stabilization='projection' after every step",
            element="coordinates",
        )
    if method == TIME_STEPPING:
        _check_time_stepping(motion)
    elif (what := what_acts(system)) and motion.switching is not False and not motion.has_phases:
        raise _unknown(system, what, "formulation" if motion.coordinates is None else "coordinates")
    implicit = method in IMPLICIT_METHODS
    if implicit or local:
        system.without_activations("implicit methods and coordinates=")
    if implicit and (local or kept.kind in ("baumgarte", "none")):
        raise ArgumentError(
            f"method={method!r} integrates local coordinates of its own, on the constraints: leave "
            "coordinates=None and stabilization='projection' (or 'energy')",
            element="method",
        )
    if motion.control is not None and system.nu == 0:
        raise ArgumentError(
            f"{system.name} has no actuators to control; add_actuator, or use force=", element="control"
        )


def _unknown(system: Evaluations, what: str, argument: str) -> ArgumentError:
    """Return the error that something acts which an argument does not know."""
    return ArgumentError(
        f"{system.name}: {what}, which {argument}= does not know: leave it out, or {LEAVES_OUT}",
        element=argument,
    )


def _check_time_stepping(motion: Motion) -> None:
    """Raise `ArgumentError` for what does not go together with time stepping."""
    system = motion.system
    others = {"coordinates": motion.coordinates, "formulation": motion.formulation}
    what = what_acts(system) if motion.switching is not False else None
    for name in (name for name, given in others.items() if given is not None):
        if what is not None:
            raise _unknown(system, what, name)
        raise ArgumentError(
            f"method={TIME_STEPPING!r} has one of its own: leave {name} as it is", element=name
        )
    if system.equations.contacts and motion.switching is not False:
        contact = system.equations.contacts[0]
        raise ArgumentError(
            f"{system.name}: method={TIME_STEPPING!r} takes contacts with friction='coulomb' alone; {contact.name!r} "
            "sticks or slides without friction: give it a coefficient, zero for none, or switching=False",
            element=contact.name,
        )


def _sampling(
    given: float | Sampling | None, control: StateFunction | None, force: StateFunction | None
) -> Sampling | None:
    """Return how what drives the motion is sampled, None where it acts all the time."""
    if given is None:
        return None
    sampling = given if isinstance(given, Sampling) else Sampling(given)
    check_positive("sample_time", sampling.sample_time, " [s]")
    if control is None and force is None:
        raise ArgumentError("sample_time needs a control or a force to sample", element="sample_time")
    if sampling is given and not isinstance(control, Law):
        raise ArgumentError(
            "Sampling is for a law of sarrus.control; give sample_time as a number", element="sample_time"
        )
    return sampling
