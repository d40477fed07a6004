"""`rollout`: many runs of one system in one call, from states, controls and parameters of their own."""

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
from sarrus.base.status import statuses
from sarrus.control.laws.law import Law
from sarrus.dynamics.model.joint_limits import beyond_limits, sides_beyond
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.system import System
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.platform.c_function import lanes
from sarrus.motion.inputs.run_options import (
    REDUCTIONS,
    Recording,
    RunOptions,
    Stabilization,
    Stepping,
    check_contacts,
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
    """Do many runs of ``duration`` seconds, on all processors, with no Python per step or per run.

    Parameters
    ----------
    q, v : (runs, nq) and (runs, nv), or one state for all; as in `simulate` they must satisfy the constraints to 1e-5,
        and an error names the first run that does not.
    dt, t0, method, rtol, atol, stabilization : as in `simulate`, the same for all runs; but "rk4"
        with fixed steps is the default, and no method takes over from "dop853". Where contacts have Coulomb friction or
        are between geometries, joints have limits, or dry friction, the default is "moreau-jean", and another method an
        `ArgumentError`.
    u : controls, within the actuators' limits: (nu,) for all, (runs, nu), or (runs, intervals, nu), each held for
        duration/intervals, which must be a whole number of steps where steps are fixed.
    parameters : values of ``system.parameters`` by name, numbers or (runs,); the others are as they are.
    control : u(q, v, t), traced and compiled as in `simulate`, or a law of `sarrus.control`, which begins every run
        anew and believes in the parameters that its system has.
    every : keep a sample every so many steps (of the interval ``dt``, with an adaptive method), the start and the end
        included. Default: the end alone.
    reduce : any of "min", "max", "mean" and "rms", over all steps (over the samples, if ``every`` is given, or the
        method is adaptive): then ``rollout.maximum.energy`` and so on.
    assemble : bring starts that leave loops open to the nearest closed configuration, which is needed where parameters
        change the loops; a run whose loops cannot be closed so has the status PROJECTION_FAILED.
    switching : contacts with Coulomb friction or between geometries, limits and dry friction of joints act. False
        leaves them out, which lets runs share registers: three to seven times as many of a robot with limits. Contacts
        that are constraints switch in `simulate` alone: False says that they stay as ``system.parameters`` have them.
    side_by_side : let runs with fixed RK4 steps share the registers of a processor, which does several times as many;
        they differ from single runs by rounding. Singular configurations, redundant rows that matter, and all else that
        straight-line code cannot serve, go through the kernels of `simulate` whatever this says.
    threads : default: one per processor that this process may use.
    progress : bar on stderr; default: for long calls in a terminal.

    Returns
    -------
    Rollout
        A run that fails is a row with its status, RIGID where nothing can move from its start; the others are not
        affected. UNSTABLE_STEP and statuses of solves are found as in `simulate`; the global error is not estimated.
        What a run comes to does not depend on the runs beside it, nor on the number of threads.
    """
    check_is("rollout", system, System)
    given = dict(parameters or {})
    driven = u is not None or control is not None
    stepping = stepping_of_many(system, Stepping.of(method, dt, rtol, atol), switching)
    options = many_options(
        system, stepping, stabilization, Recording.of(every, reduce), t0=t0, duration=duration, driven=driven,
    )  # fmt: skip
    if u is not None and control is not None:
        raise ArgumentError("give either u or control, not both", element="u")
    if driven and system.nu == 0:
        raise ArgumentError(f"{system.name} has no actuators to control", element="u")
    check_contacts(system, switching, "a rollout")
    u = None if u is None else real_array(u)
    per_run = {"q": (q, 1), "v": (v, 1), "u": (u, 2 if u is not None and u.ndim > 2 else 1)}
    runs = count_runs(system, per_run, given)
    if isinstance(control, Law):
        control = control.of_run(system)
    plan = Plan(
        system=system.workspace().copy(), options=options, control=control, side_by_side=side_by_side,
        threads=default_threads() if threads is None else threads,
    )  # fmt: skip
    todo = plan.batch(pack_states(plan.system, runs, q, v, t0, given), pack_inputs(system, runs, u))
    if given and not options.scheme.adaptive:
        values = dict(zip(system.parameters, todo.states[:, system.parts.p].T))
        refuse_long_steps(system, options.scheme.method, options.step, values)
    jumps = find_jumps(plan, todo)
    began, beside = perf_counter(), False
    with progress_bar(runs, progress, "runs") as bar:
        for group in groups(plan, todo, assemble):
            if jumps is not None:
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
    """Return what each of many runs is asked for; steps are fixed ones of RK4 where nothing else is said."""
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
    """Return which runs with these starts (runs, nq) begin beyond limits."""
    return np.flatnonzero(beyond_limits(system, q).any(axis=1))


def _result(
    system: System, options: RunOptions, todo: Batch, given: Mapping[str, Any], beside: bool, seconds: float
) -> Rollout:
    """Return the rollout that the arrays of a batch tell of."""
    s, outcomes = system, todo.outcomes
    status = outcomes[:, bl.CODE].astype(np.int64)
    if options.recording.every is None:
        todo.samples[status != rs.DONE] = np.nan
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
