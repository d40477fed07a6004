"""`simulate`: motion of a constrained system in time, also with redundant rows and through singular configurations."""

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
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.singularity_forecast import require_holonomic
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.motion.accuracy import estimated, is_repeatable, not_estimated
from sarrus.motion.inputs.contacts_of_events import goes_by_events, with_closed_forms
from sarrus.motion.inputs.contacts_of_steps import with_contacts_of_steps
from sarrus.motion.inputs.inputs import Event, check_events, with_force
from sarrus.motion.inputs.run_options import (
    Recording,
    Stabilization,
    Stepping,
    check_positive,
    run_options,
    stepping_of,
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
    """Return the motion from the state (q, v) at time ``t0`` over ``duration`` seconds, as a `Trajectory`.

    Parameters
    ----------
    q, v : initial coordinates (nq,) and velocities (nv,; default zero). They must satisfy the constraints to 1e-5 [m,
        rad, per second] and are then projected on them; see `System.assemble` and `System.project_velocity`.
    dt : fixed step [s]. With an adaptive method (``method``, ``rtol`` or ``atol`` given as well): interval of the
        records; without ``dt`` an adaptive method records its steps.
    method : name of the integrator, or a `sarrus.Stepping` with the name and limits of steps and memory. Default
        without ``dt``: "auto", adaptive steps of "dop853" while accuracy limits them, of "rodas5p" while stability does
        (stiff springs, dampers, laws); ``trajectory.events`` lists the changes. Default with ``dt``: "rk4" with fixed
        steps; method="rk4" without ``dt`` takes the time step of the model's file, else 1e-3 s. Explicit: "rk4",
        "dopri5" (order 5(4)) and "dop853" (order 8). Implicit, for stiff systems: "rodas5p" (order 5(4), Steinebach
        2023) and "rodas4" (order 4(3), Hairer and Wanner II, IV.7), L-stable Rosenbrock–Wanner methods in local
        coordinates with exact derivatives, also of a traced ``control`` (a `Law` is differentiated by central
        differences). "rodas5p" loses less order with stiff springs. All stages lie on the constraints; redundant rows,
        massless links and nonholonomic rows are treated as by the explicit methods. Implicit methods pass singular
        configurations but cannot start in one (`ArgumentError`); a step that ends in one ends the run with
        STEP_TOO_SMALL. They require ``stabilization`` "projection" or "energy" and ``coordinates`` None. "moreau-jean":
        time stepping with fixed steps, in which contacts with Coulomb friction, joint limits and dry friction act
        (`sarrus.kernels.integrate.time_stepping`). It is the default with ``dt`` if there are contacts with Coulomb
        friction, and the only method for contacts between geometries without closed form; other methods take those
        with one, as `add_geometry_contacts` does with ``closed_form=True``. All other methods, implicit
        ones included, integrate smooth phases between events, at which contacts change
        (`sarrus.motion.contacts.event_driven`).
    rtol, atol : tolerances of adaptive methods, default 1e-8 and rtol / 100. atol is in radians and characteristic
        lengths of the mechanism (`sarrus.dynamics.model.characteristic`), per second for velocities. ``rtol=np.inf``:
        fixed steps of ``dt`` without error control, with any method; a step that an implicit method cannot take ends
        the run with PROJECTION_FAILED.
    control : u(q, v, t) (nu,), or u(q, v, t, p) with the parameters as ``p.name``; clipped to the actuators' limits.
        Without ``sample_time`` it is traced over CasADi symbols and compiled into the kernel; with ``sample_time`` it
        is called as plain Python once per sample, and its value is held. A law of `sarrus.control` runs in the kernel
        in both cases; ``sample_time`` may then be a `sarrus.control.Sampling` with delay and measurement noise.
        Functions of time, in the control and in all forces, are examined before an adaptive run: steps end at their
        jumps and kinks, and miss no peak (`sarrus.motion.inputs.time_course`). Of a Python function only the samples
        are known.
    force : applied generalized force τ(q, v, t) or τ(q, v, t, p) (nv,) [N, N m], treated as ``control`` is.
    sample_time : interval [s] at which ``control`` and ``force`` are sampled and held.
    coordinates : integrate independent coordinates only (local state-space form, Spencer 2004): "partition",
        "tangent-space", "null-space", or names of coordinates (`sarrus.dynamics.coordinates.choices`). Charts are
        changed before they become singular, and ``trajectory.events`` lists the changes; named coordinates that become
        singular end the run with COORDINATES_FAILED. A `sarrus.coordinates.Relation` R(q, y) = 0 appends the
        coordinates y to the system; a relation with velocities, such as `sarrus.coordinates.Momenta`,
        appends y to q and z to v. The trajectory is then that of the extended system, and ``force`` has zeros for the
        appended entries. Requires stabilization "projection". Contacts, limits and dry friction act in smooth
        phases between events, with fixed steps too, as with a ``formulation``; the chart is one of the loops alone.
    formulation : name in `sarrus.formulations.METHODS`, ``SOFTENED`` or ``LEAST_CONDITION``, or a function of the same
        form, that solves for the acceleration in the place of the compiled kernel, a hundred times slower.
        ``trajectory.condition`` is then the condition number of the matrix that it inverts. A
        `sarrus.formulations.LeastConditionRule` over the motion first runs the motion with the kernel;
        ``trajectory.events`` begins with the g or ν that keeps the condition number least. A state that the formulation
        cannot solve ends the run with its diagnosis; softened formulations give the status SOFTENED and a warning.
    stabilization : "projection" (default), "energy", "baumgarte", "none", or a `sarrus.Stabilization`, for instance
        with ``invariants`` to keep: momenta, or any function of the state.
    events : `Event` functions whose zeros are located to 1e-11 s; a terminal event ends the run. Steps of adaptive
        methods end at events, so that forces may jump there.
    switching : True lets contacts open and close; a `Switching` adds a schedule of closures that are switched on and
        off. False keeps contacts and closures that are constraints as ``system.parameters`` have them, and removes
        contacts with Coulomb friction, limits and dry friction; limits that are crossed are still reported.
        ``trajectory.switches`` lists the changes; at each one the state is recorded twice, before and after. The
        parameters of the system are the same after the run as before.
    every : number of steps between two records, or a `sarrus.Recording`, for instance with times to record.
    watch : bound of the smallest singular value σ of A, in characteristic units, or a `sarrus.SingularityWatch`. When σ
        falls below it, the run warns (`sarrus.SingularityWarning`) and forecasts whether the motion will pass, turn
        back or lock up (`sarrus.forecast_singularity`); ``trajectory.events`` lists the forecast. Each evaluation costs
        0.1 ms, and they are rarer the larger σ is. The steps do not change, unless ``part`` bounds them.
    error_estimate : repeat the motion with coarser steps to estimate ``trajectory.error``, and a third time if the two
        differ. It costs a third of a run with fixed steps, and less than the run itself with some hundred adaptive
        steps or with determined singular passages. A further run is needed if adaptive steps are long parts of the run
        without passages, if a motion is not determined, and if the estimate leaves few digits. Motions with sampled
        Python functions or formulations are not repeated.
    progress : bar on stderr; default: for long runs in a terminal.
    throw : True raises `SimulationError` (with ``.trajectory``, the motion so far) if the run fails; False returns the
        trajectory with its ``status``. An interrupt from the keyboard (Ctrl-C) returns the motion so far with the
        status INTERRUPTED, also during the error estimate. The next call by the same script, function or cell then
        raises KeyboardInterrupt, so that a loop of runs ends; with ``throw=False`` it does not.

    Full rank: the unique motion. Redundant rows change nothing: motion and constraint forces Aᵀλ are unique, λ has
    least norm. At a singular configuration the motion continues on the branch with continuous velocity;
    ``trajectory.passages`` lists these configurations. If there are any, the coarser run starts from a state changed by
    rounding, and a run with slightly different steps follows if the two disagree (see `sarrus.motion.determinacy`);
    ``trajectory.determined_until`` is the time up to which they agree. Inconsistent constraints are met in the
    least-squares sense while the residual is below 1e-6, else the run ends with PROJECTION_FAILED. A start from which
    no motion is possible, although A allows velocities, ends with RIGID (see `System.forward_dynamics`).

    A complete motion with an estimated error above 3e-4 has the status INACCURATE; if singular passages leave it open,
    NOT_DETERMINED. Both are a warning (`sarrus.base.errors.AccuracyWarning`). Errors are: UNSTABLE_STEP, fixed steps of
    RK4 outside its region of stability; CHATTERING, a force or control that jumps, as sign(v) does, and pushes back
    from both sides; NOT_FINITE, for instance an event function that is NaN.

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
    known: KnownMotions[Motion] = system.model.cached("known motions", KnownMotions)
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
    """Return the system (extended by the coordinates of a relation, with the contacts of the method) and the checked
    `Motion`.
    """
    local: RunCoordinates | None = None
    if coordinates is None or isinstance(coordinates, str | Sequence):
        local = coordinates
    else:
        system, q, v, local = _extended(system, q, v, t0, coordinates)
    own_form = coordinates is not None or formulation is not None
    asked = Stepping.of(method, dt, rtol, atol)
    given = system
    if switching is not False and asked.method != TIME_STEPPING and (own_form or goes_by_events(asked)):
        system = with_closed_forms(system, "a run by events")
    stepping = stepping_of(system, asked, switching, smooth=own_form)
    if stepping.method == TIME_STEPPING and switching is not False:
        system = with_contacts_of_steps(system)
    work = system.workspace().copy()
    if isinstance(control, Law):
        control = control.of_run(system, given)
    options = run_options(
        system, stepping, stabilization, Recording.of(every), t0=t0, duration=duration,
        driven=control is not None or force is not None,
        explicit_only=own_form or system.equations.activations > 0,
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
    """Return the system extended by the coordinates of a relation, its state, and the coordinates to integrate."""
    if not isinstance(relation, Relation):
        raise ArgumentError(
            'coordinates must be "partition", "tangent-space", "null-space", names of coordinates or a Relation, got '
            f"{type(relation).__name__}",
            element="coordinates",
        )
    extended, q, v, traced = extend_traced(system, q, v, t0, relation)
    names = StateCoordinates(relation, traced) if relation.has_velocities else relation.names
    return extended, q, v, names


def _check(motion: Motion) -> None:
    """Raise `ArgumentError` if arguments of a motion exclude each other."""
    system, options = motion.system, motion.options
    kept, method, local = options.stabilization, options.scheme.method, motion.coordinates is not None
    check_events(motion.events)
    if motion.watch is not None:
        require_holonomic(system, "watch")
    if options.recording.reduce:
        raise ArgumentError("reduce= is for many runs only, see sarrus.rollout", element="reduce")
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
    implicit = method in IMPLICIT_METHODS
    if implicit or local:
        system.require_no_activations("implicit methods and coordinates=")
    if implicit and (local or kept.kind in ("baumgarte", "none")):
        raise ArgumentError(
            f"method={method!r} integrates local coordinates on the constraints: leave coordinates=None and "
            "stabilization='projection' (or 'energy')",
            element="method",
        )
    if motion.control is not None and system.nu == 0:
        raise ArgumentError(
            f"{system.name} has no actuators to control: add one with add_actuator, or use force=",
            element="control",
        )


def _check_time_stepping(motion: Motion) -> None:
    """Raise `ArgumentError` for arguments that exclude time stepping."""
    others = {"coordinates": motion.coordinates, "formulation": motion.formulation}
    for name in (name for name, given in others.items() if given is not None):
        raise ArgumentError(
            f"method={TIME_STEPPING!r} has a formulation and coordinates of its own: leave {name} at its default",
            element=name,
        )


def _sampling(
    given: float | Sampling | None, control: StateFunction | None, force: StateFunction | None
) -> Sampling | None:
    """Return the sampling of control and force; None if both act continuously."""
    if given is None:
        return None
    sampling = given if isinstance(given, Sampling) else Sampling(given)
    check_positive("sample_time", sampling.sample_time, " [s]")
    if control is None and force is None:
        raise ArgumentError("sample_time needs a control or a force to sample", element="sample_time")
    if sampling is given and not isinstance(control, Law):
        raise ArgumentError(
            "Sampling is for laws of sarrus.control only: give sample_time as a number [s]",
            element="sample_time",
        )
    return sampling
