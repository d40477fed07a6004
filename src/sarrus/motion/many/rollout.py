"""`rollout`: many runs of one system in one call, each with its own state, controls and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.arguments import described
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.progress import progress_bar
from sarrus.base.status import Status, statuses
from sarrus.control.laws.law import Law
from sarrus.dynamics.contacts.contact_elements import event_function_count
from sarrus.dynamics.impacts.activity import switch_off
from sarrus.dynamics.model.joint_limits import beyond_limits, sides_beyond
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.platform.c_function import lanes
from sarrus.motion.inputs.contacts_of_events import goes_by_events, with_closed_forms
from sarrus.motion.inputs.contacts_of_steps import with_contacts_of_steps
from sarrus.motion.inputs.run_options import (
    REDUCTIONS,
    Recording,
    RunOptions,
    Stabilization,
    Stepping,
    run_options,
    stepping_of_many,
)
from sarrus.motion.inputs.winding_steps import refuse_long_steps
from sarrus.motion.many.one_by_one import do_one_by_one, find_jumps
from sarrus.motion.many.plan import Plan, groups
from sarrus.motion.many.result import Quantities, Rollout
from sarrus.motion.many.starts import count_runs, pack_inputs, pack_states, warn_of_runs
from sarrus.motion.many.workers import Batch, default_threads, do_runs


@described()
def rollout(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    t0: float = 0.0,
    u: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    control: StateFunction | None = None,
    method: str | Stepping | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    stabilization: str | Stabilization = "projection",
    every: int | Recording | None = None,
    reduce: Sequence[str] = (),
    assemble: bool = False,
    switching: bool = True,
    side_by_side: bool = True,
    threads: int | None = None,
    progress: bool | None = None,
) -> Rollout:
    """Return a `Rollout`: many runs of ``duration`` [s] on all processors, with no Python per step or per run.

    Parameters
    ----------
    q, v : (runs, nq) and (runs, nv), or one state (nq,), (nv,) for all runs. They must satisfy the constraints to 1e-5
        [m, rad, per second], as in `simulate`; an error names the first run that does not.
    dt, t0, method, rtol, atol, stabilization : as in `simulate`, the same for all runs, with two differences: the
        default is "rk4" with fixed steps, and no implicit method takes over from "dop853". With contacts,
        joint limits or dry friction the default is "moreau-jean". Other methods that are named go from event to event,
        as in `simulate`: one run after another in each thread, with Python at every event. Between geometries without
        closed form only "moreau-jean" is possible, as in `simulate`.
    u : controls, within the actuators' limits: (nu,) for all, (runs, nu), or (runs, intervals, nu). Each interval lasts
        duration/intervals, a whole number of steps if steps are fixed.
    parameters : values of ``system.parameters`` by name, numbers or (runs,). Parameters that are not named keep the
        system's values.
    control : u(q, v, t), traced and compiled as in `simulate`, or a law of `sarrus.control`. A law starts anew in every
        run and computes with the parameters of its own system; by events, a law of this system with those of the run.
    every : number of steps between two samples (of intervals ``dt``, with an adaptive method); start and end are
        samples too. Default: the end alone.
    reduce : any of "min", "max", "mean" and "rms", over all steps (over the samples, if ``every`` is given, or the
        method is adaptive): then ``rollout.maximum.energy`` and so on.
    assemble : True moves starts with open loops to the nearest closed configuration, which is needed if parameters
        change the loops. A run whose loops cannot be closed gets the status PROJECTION_FAILED.
    switching : True lets contacts, joint limits and dry friction act: with fixed ``dt`` by time stepping. False leaves
        them out, runs are then by RK4, and keeps contacts that are constraints as ``system.parameters`` have them.
    side_by_side : True lets runs with fixed steps, by RK4 or by time stepping, share vector registers: several times
        as many runs per second. They differ from single runs by rounding, which changes of contact amplify, and by the
        share of a load between redundant contacts that slide in different directions, where the laws of friction leave
        it open. Singular configurations and redundant rows that affect the answer always use the kernels of `simulate`,
        and so do steps in which more than four contacts with friction or eight stops and frictionless contacts act, or
        whose contact forces are not found at once.
        Systems with contacts found by a narrow phase, contacts that are constraints, gearings with losses, torsional or
        rolling friction, static friction above sliding friction or dry friction of more than 24 joints and tendons go
        one run after the other.
    threads : number of threads; default: one per processor that this process may use.
    progress : bar on stderr; default: for long calls in a terminal.

    Returns
    -------
    Rollout
        A run that fails has its status in ``status``, RIGID if no motion is possible from its start, and does not
        affect the other runs. Redundant, inconsistent and singular constraints are treated as in `simulate`. The
        result of a run depends neither on the other runs nor on the number of threads. The global error of runs by
        events, and past jumps of drives, is estimated as in `simulate`: above 3e-4 they are INACCURATE and have all
        their samples. It is not estimated of other runs, nor where ``u`` is given.
    """
    check_is("rollout", system, System)
    given = dict(parameters or {})
    driven = u is not None or control is not None
    asked = Stepping.of(method, dt, rtol, atol)
    given_system = system
    if switching is not False and goes_by_events(asked):
        system = with_closed_forms(system, "a run by events")
    stepping = stepping_of_many(system, asked, switching, events=True)
    if stepping.method == TIME_STEPPING and switching:
        system = with_contacts_of_steps(system)
    options = many_options(
        system, stepping, stabilization, Recording.of(every, reduce), t0=t0, duration=duration, driven=driven,
    )  # fmt: skip
    if u is not None and control is not None:
        raise ArgumentError("give either u or control, not both", element="u")
    if driven and system.nu == 0:
        raise ArgumentError(f"{system.name} has no actuators to control", element="u")
    switches = event_function_count(system) > 0 or len(system.equations.contacts) > 0
    by_events = switching and switches and options.scheme.method != TIME_STEPPING
    u = None if u is None else real_array(u)
    per_run = {"q": (q, 1), "v": (v, 1), "u": (u, 2 if u is not None and u.ndim > 2 else 1)}
    runs = count_runs(system, per_run, given)
    if isinstance(control, Law):
        control = control.of_run(system, given_system)
    work = system.workspace().copy()
    if by_events:
        switch_off(work, [contact.name for contact in system.equations.contacts])
    plan = Plan(
        system=work, options=options, control=control, side_by_side=side_by_side,
        threads=default_threads() if threads is None else threads, by_events=by_events,
    )  # fmt: skip
    todo = plan.batch(pack_states(plan.system, runs, q, v, t0, given), pack_inputs(system, runs, u))
    if given and not options.scheme.adaptive:
        values = dict(zip(system.parameters, todo.states[:, system.parts.p].T))
        refuse_long_steps(system, options.scheme.method, options.step, values)
    jumps = find_jumps(plan, todo)
    began, beside = perf_counter(), False
    with progress_bar(runs, progress, "runs") as bar:
        for group in groups(plan, todo, assemble):
            if jumps is not None or by_events:
                do_one_by_one(plan, group, jumps, bar.update)
            else:
                workers = plan.workers(group)
                beside = beside or workers[0].kernel is lanes
                do_runs(workers, len(group.todo.states), bar.update)
            if group.runs is not None:
                todo.put_back(group.runs, group.todo)
    warn_of_runs(system, todo.begun, np.arange(runs), "run", stacklevel=2)
    return _result(system, options, todo, given, beside, perf_counter() - began)


def many_options(
    system: System,
    stepping: Stepping,
    stabilization: str | Stabilization,
    recording: Recording,
    *,
    t0: float,
    duration: float,
    driven: bool,
) -> RunOptions:
    """Return the checked options of each of many runs; the default is RK4 with fixed steps."""
    if stepping.method is stepping.rtol is stepping.atol is None:
        stepping = replace(stepping, method="rk4")
    options = run_options(system, stepping, stabilization, recording, t0=t0, duration=duration, driven=driven)
    if recording.at is not None:
        raise ArgumentError("many runs are recorded every so many steps, not at times", element="at")
    without_grid = options.scheme.adaptive and options.scheme.dt is None
    if without_grid and (recording.every is not None or recording.reduce):
        raise ArgumentError(
            "every= and reduce= with an adaptive method need dt, the interval of its samples [s]",
            element="dt",
        )
    return options


def _beyond(system: System, q: Array) -> NDArray[np.int64]:
    """Return the numbers of the runs whose start q (runs, nq) is beyond a joint limit."""
    return np.flatnonzero(beyond_limits(system, q).any(axis=1))


def _result(
    system: System, options: RunOptions, todo: Batch, given: Mapping[str, Any], beside: bool, seconds: float
) -> Rollout:
    """Return the `Rollout` of the arrays of a batch."""
    s, outcomes = system, todo.outcomes
    status = outcomes[:, bl.CODE].astype(np.int64)
    if options.recording.every is None:
        todo.samples[~np.isin(status, (rs.DONE, Status.INACCURATE))] = np.nan
    counts = outcomes[:, bl.SAMPLED, None]
    folds = {}
    for name, fold in todo.folds.items():
        mean = fold / np.maximum(counts, 1.0) if name in ("mean", "rms") else fold
        folds[REDUCTIONS[name]] = Quantities.of(s, np.sqrt(mean) if name == "rms" else mean)
    own = todo.states[:, s.parts.p]
    return Rollout(
        system=s,
        t=options.sample_times,
        samples=Quantities.of(s, todo.samples),
        status=statuses(status),
        reached=outcomes[:, bl.REACHED],
        final_q=todo.states[:, s.parts.q],
        final_v=todo.states[:, s.parts.v],
        steps=outcomes[:, bl.ACCEPTED].astype(np.int64),
        rejected=outcomes[:, bl.REJECTED].astype(np.int64),
        parameters={name: own[:, list(s.parameters).index(name)] for name in given},
        side_by_side=beside,
        wall_seconds=seconds,
        begun_beyond={int(run): tuple(sides_beyond(s, todo.begun[run])) for run in _beyond(s, todo.begun)},
        **folds,
    )
