"""`simulate`: motion of a constrained system in time, through redundant and singular configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sarrus.activity import unchanged
from sarrus.control.law import Law
from sarrus.control.sampling import Sampling
from sarrus.errors import ArgumentError, SarrusError, SimulationError
from sarrus.inputs import Event, InputFunction, with_force
from sarrus.integration import Integration
from sarrus.kernels.c_function import prefetch
from sarrus.kernels.rosenbrock_tableau import IMPLICIT_METHODS, rosenbrock_tableau
from sarrus.kernels.tableau import tableau
from sarrus.progress import progress_bar
from sarrus.run_options import check_limits, check_stabilization, check_steps, check_times, is_adaptive
from sarrus.status import Status
from sarrus.switching import Switcher, Switching
from sarrus.system import System
from sarrus.trajectory import Trajectory

if TYPE_CHECKING:
    from sarrus.coordinates.choices import Coordinates
    from sarrus.coordinates.relation import Relation
    from sarrus.formulated import Method


def simulate(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    t0: float = 0.0,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    control: InputFunction | None = None,
    force: InputFunction | None = None,
    sample_time: float | Sampling | None = None,
    coordinates: Coordinates | Relation | None = None,
    formulation: str | Method | None = None,
    stabilization: str = "projection",
    project_every: int = 1,
    baumgarte: tuple[float, float] = (20.0, 20.0),
    events: Sequence[Event] = (),
    switching: Switching | bool = True,
    every: int = 1,
    max_step: float = np.inf,
    max_steps: int | None = None,
    max_bytes: float = 2e9,
    progress: bool | None = None,
    throw: bool = True,
) -> Trajectory:
    """Simulate from the state (q, v) at time ``t0`` for ``duration`` seconds.

    Parameters
    ----------
    q, v : initial coordinates (nq,) and velocities (nv,; default at rest). They must satisfy the constraints
        to 1e-5 and are then projected; see `System.assemble` and `System.project_velocity`.
    dt : fixed step [s], 1e-3 by default. With an adaptive method: interval of the output.
    method : explicit: "rk4" (fixed step, default), "dopri5" (order 5(4)) or "dop853" (order 8, the default once
        ``rtol`` or ``atol`` is given). Implicit, for stiff springs, dampers and control laws: "rodas5p" (order 5(4),
        Steinebach 2023) or "rodas4" (order 4(3), Hairer and Wanner II, IV.7), L-stable Rosenbrock–Wanner methods in
        local coordinates with exact derivatives, a traced ``control`` included (a `Law` by central differences).
        Take rodas5p where dop853 needs many more steps than the motion looks like; of the two it keeps its order
        better where springs are stiff.
        Every stage of theirs lies on the constraints; redundant rows and massless links are as ever, nonholonomic
        rows too. They pass singular configurations as the explicit methods do, but cannot start in one: that is an
        `ArgumentError` (and ends the run with STEP_TOO_SMALL should a step end in one). They want ``stabilization``
        "projection" or "energy" and ``coordinates`` None.
    rtol, atol : tolerances of the adaptive methods, 1e-8 and 1e-10 by default. ``rtol=np.inf``: no error estimate,
        fixed steps of ``dt`` with any method; one that an implicit method cannot take ends the run with
        PROJECTION_FAILED.
    control : u(q, v, t). Without ``sample_time`` it is traced over CasADi symbols and compiled into the kernel;
        with it, it is called as plain Python once per sample and held. Clipped to the actuators' limits. A law of
        `sarrus.control` runs in the kernel either way; ``sample_time`` may then be a `sarrus.control.Sampling`, with
        delay and measurement noise.
    force : applied generalized force τ(q, v, t) (nv,), likewise.
    coordinates : integrate independent coordinates only (local state-space form, Spencer 2004): "partition",
        "tangent-space", "null-space", or names of coordinates; see `sarrus.coordinates.choices.choose`. Charts that
        become poor are changed, which ``trajectory.events`` lists; named coordinates that fail end the run with
        COORDINATES_FAILED. A `sarrus.coordinates.Relation` R(q, y) = 0 appends the coordinates y to the system: the
        trajectory is then that of the extended system, and ``force`` has zeros for y. Needs stabilization "projection".
    formulation : name in `sarrus.formulations.METHODS`, or a function like these, to solve for the acceleration
        instead of the compiled kernel, a hundred times slower; ``trajectory.condition`` is then that of the matrix it
        inverts. What it cannot solve ends the run with its diagnosis.
    stabilization : "projection" of position and velocity after every ``project_every``-th step by A⁺, minimum
        norm; "energy", the same together with conservation of T + V (conservative systems); "baumgarte" with
        γ + 2α ψ + β² φ, (α, β) = ``baumgarte``; "none".
    events : functions whose zeros are located to 1e-10 s; terminal ones stop the run.
    switching : True lets contacts open and close by themselves, a `Switching` adds a schedule of closures that come
        and go, False leaves everything as ``system.parameters`` say. ``trajectory.switches`` lists what switched;
        there the state is recorded twice, before and after. The system has its own parameters again at the end.
    every : record every so many steps.
    max_steps, max_bytes : limits of the run, accepted and rejected steps and the size of its records; at either it ends
        with STEP_LIMIT. By default 10 million steps, or those that ``duration`` and ``dt`` ask for if more; 2 GB.
    progress : bar on stderr; default: for long runs in a terminal.
    throw : raise `SimulationError` (with ``.trajectory``, the motion so far) where the run fails; False returns
        the trajectory with its ``status``. An interrupt from the keyboard returns what is done so far.

    Redundant constraints are ordinary. At a singular configuration the motion goes on along the branch that
    continuity of velocity selects; ``trajectory.passages`` lists these. Inconsistent constraints are met in
    the least-squares sense while the residual stays below 1e-6, else the run ends with PROJECTION_FAILED. A start out
    of which there is no motion, although A allows velocities there, ends with RIGID (see `System.forward_dynamics`).

    Returns
    -------
    Trajectory
    """
    if not isinstance(system, System):
        raise ArgumentError(f"simulate needs a System, got {type(system).__name__}", element="system")
    if coordinates is not None and not isinstance(coordinates, str | Sequence):
        from sarrus.coordinates.relation import Relation, extend

        if not isinstance(coordinates, Relation):
            raise ArgumentError(
                f"coordinates must be a choice, names or a Relation, got {type(coordinates).__name__}",
                element="coordinates",
            )
        system, q, v = extend(system, coordinates, q, v, t0)
        coordinates = coordinates.names
    sample_time, sampling = _sampling(sample_time, control)
    implicit = method in IMPLICIT_METHODS
    prefetch(implicit=implicit)
    adaptive = is_adaptive(method, rtol, atol)
    name = method or ("dop853" if adaptive else "rk4")
    scheme = rosenbrock_tableau(name) if implicit else tableau(name)
    check_times(t0, duration, dt, sample_time, max_step, driven=control is not None or force is not None)
    check_steps(every, project_every, baumgarte, events)
    check_limits(max_steps, max_bytes)
    check_stabilization(system, stabilization, control, force)
    if coordinates is not None and (stabilization != "projection" or project_every != 1):
        raise ArgumentError(
            "coordinates= lie on the constraints by themselves: leave stabilization='projection' and project_every=1",
            element="coordinates",
        )
    if implicit and (coordinates is not None or stabilization in ("baumgarte", "none")):
        raise ArgumentError(
            f"method={method!r} integrates local coordinates of its own, on the constraints: leave "
            "coordinates=None and stabilization='projection' (or 'energy')",
            element="method",
        )
    if control is not None and system.nu == 0:
        raise ArgumentError(
            f"{system.name} has no actuators to control; add_actuator, or use force=", element="control"
        )
    driven = system if force is None or sample_time else with_force(system, force)
    switcher = Switcher.of(system, switching)
    with unchanged(system):
        if switcher is not None:
            switcher.prepare(t0)
        loop = Integration(
            driven,
            stabilization,
            project_every,
            baumgarte,
            events,
            every,
            coordinates,
            formulation,
            switches=switcher.events if switcher else (),
            watched=switcher.watched if switcher else (),
        )
        loop.start(q, v, t0)
        if control is not None and (sample_time is None or isinstance(control, Law)):
            loop.compile_control(control, sampling, duration)
        loop.set_method(scheme, adaptive, rtol, atol, dt, max_step, duration)
        loop.set_limits(max_steps, max_bytes, duration)
        called = [
            (f, name)
            for f, name in ((control, "control"), (force, "force"))
            if f is not None and sample_time and not isinstance(f, Law)
        ]
        loop.warm_up()
        if switcher is None:
            loop.stop_where_rigid()
        began = perf_counter()
        failure: Exception | None = None
        with progress_bar(duration, progress) as bar:
            try:
                due = True
                for end, resample, keep in _stops(t0, duration, sample_time if called else None):
                    try:
                        for function, name in called if due else ():
                            loop.sample(function, name)
                    except Exception as error:
                        loop.status, failure = Status.CONTROL_FAILED, error
                        break
                    loop.align()
                    try:
                        if switcher is None:
                            loop.advance(end, bar, keep=keep)
                        else:
                            switcher.until(loop, end, bar, keep=keep)
                    except SarrusError as error:
                        loop.status, failure = Status.SWITCHING_FAILED, error
                    if loop.status is not None:
                        break
                    due = resample
            except KeyboardInterrupt:
                loop.status = Status.INTERRUPTED
        trajectory = loop.trajectory(system, perf_counter() - began, failure)
        if switcher is not None:
            trajectory = replace(trajectory, switches=tuple(switcher.records))
        if throw and failure is not None:
            raise SimulationError(trajectory.message, trajectory=trajectory, time=loop.time) from failure
        if throw and not trajectory.status.ok and trajectory.status is not Status.INTERRUPTED:
            raise SimulationError(
                f"{system.name}: {trajectory.message}", trajectory=trajectory, time=loop.time
            )
        return trajectory


def _sampling(
    sample_time: float | Sampling | None, control: InputFunction | None
) -> tuple[float | None, Sampling | None]:
    """Return the time between samples, and how a `Law` is sampled in the loop."""
    if isinstance(sample_time, Sampling):
        if not isinstance(control, Law):
            raise ArgumentError(
                "Sampling is for a law of sarrus.control; give sample_time as a number", element="sample_time"
            )
        return sample_time.time, sample_time
    if sample_time is None or not isinstance(control, Law):
        return sample_time, None
    return sample_time, Sampling(sample_time)


def _stops(t0: float, duration: float, sample_time: float | None) -> list[tuple[float, bool, bool]]:
    """Return the times to which the kernel runs in one go, each with (a sample is due, it is to be recorded)."""
    end = t0 + duration
    if sample_time is None:
        return [(end, False, True)]
    count = int(np.floor(duration / sample_time * (1 + 1e-12)))
    stops = [(min(t0 + sample_time * k, end), True, False) for k in range(1, count + 1)]
    if end - stops[-1][0] > 1e-9 * duration if stops else True:
        return [*stops, (end, False, True)]
    return [*stops[:-1], (end, True, True)]
