"""`make`: a Gymnasium environment from a system."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sarrus.base.arguments import described, flag, name_or_names, pair, positive
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.inputs.contacts_of_steps import with_contacts_of_steps
from sarrus.motion.inputs.run_options import (
    Recording,
    Stabilization,
    Stepping,
    check_positive,
    stepping_of_many,
)
from sarrus.motion.many.rollout import many_options
from sarrus.runs.gym.tolerances import ENVIRONMENT_STEP, SAMPLE_OF_STEPS

if TYPE_CHECKING:
    from gymnasium.vector import AutoresetMode

    from sarrus.runs.gym.environments import Environment, VectorEnvironment
    from sarrus.runs.gym.task import ResetFunction, StateFunction

TRACEABLE = ("observation", "reward", "terminated")


@described(limits=pair, duration=positive, normalized_actions=flag)
def make(
    system: System,
    *,
    reward: StateFunction | None = None,
    terminated: StateFunction | None = None,
    observation: StateFunction | None = None,
    reset: ResetFunction | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    duration: float = 10.0,
    sample_time: float = 0.02,
    dt: float | None = None,
    method: str | Stepping | None = None,
    stabilization: str | Stabilization = "projection",
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    normalized_actions: bool = False,
    num_envs: int | None = None,
    autoreset_mode: str | AutoresetMode = "NextStep",
    dtype: DTypeLike = np.float64,
    traced: bool | Collection[str] = False,
    switching: bool = True,
    threads: int | None = None,
) -> Environment | VectorEnvironment:
    """Return a `gymnasium.Env`, or with ``num_envs`` a `gymnasium.vector.VectorEnv` of that many copies.

    The functions take NumPy arrays with a row for each of n copies: q (n, nq), v (n, nv), the applied controls
    u (n, nu), and the time t (n,) of the episode [s]. A single environment has n = 1. They must not change their
    arguments. Those named by ``traced`` are functions of CasADi vectors of one copy instead, and compiled.

    Parameters
    ----------
    reward : f(q, v, u, t) → (n,), after the step. Default: 0.
    terminated : f(q, v, u, t) → (n,), whether the episode has ended. Default: False.
    observation : f(q, v, u, t) → (n, …). Default: q and v, concatenated.
    reset : f(rng, n) → q, or (q, v), or (q, v, parameters), the starts of n new episodes; None for the initial values.
        ``parameters`` maps names of ``system.parameters`` to numbers (n,), different for each copy. Loops are closed at
        the nearest configuration, velocities become the nearest admissible ones. The generic rank of A must be that
        of the start. Default: the start.
    q, v : start. Default: the reference pose, its loops closed, at rest.
    duration : of an episode [s], after which it is truncated.
    sample_time : time for which an action is held [s]; with fixed steps a whole number of steps.
    dt, method, stabilization : as in `sarrus.rollout`; default: RK4 at 1 ms, or time stepping at 1 ms if contacts with
        friction, limits or dry friction of joints act.
    limits : (lower, upper) of the controls, numbers or (nu,) each. Default: those of the actuators.
    normalized_actions : True: actions from −1 to 1 mean controls from the lower to the upper limit, which must be
        finite. False: actions are the controls.
    num_envs : number of copies of a vector environment; None for a single environment.
    autoreset_mode : when a vector environment begins ended episodes anew, a `gymnasium.vector.AutoresetMode` or its
        value. "NextStep": at the next step, which ignores the action and has reward 0. "SameStep": at once, and infos
        have the last observation as "final_obs" and the last info as "final_info". "Disabled": when you call
        ``reset(options={"reset_mask": terminated | truncated})``.
    dtype : of the observations, float64 or float32, which are the float64 ones rounded.
    traced : True, or names among "observation", "reward", "terminated": these functions take q (nq,), v (nv,), u (nu,)
        and t of one copy as CasADi vectors, and if they have a fifth argument p, the parameters by name. They are
        compiled once for all copies. "terminated" is true where the number is not zero.
    switching : True lets contacts, limits and dry friction of joints act. False keeps contacts that are constraints as
        ``system.parameters`` have them, and leaves the others out.
    threads : number of threads; default: one per processor if there are enough copies.

    An action has a number for each actuator, in the order of ``system.actuator_names``. A step that fails terminates
    the episode: its state is that before the step, and info has its "status" and "message". Equal seeds give equal
    bits. See `sb3` and `rsl_rl` for learning with Stable-Baselines3 and rsl_rl.
    """
    check_is("make", system, System)
    try:  # an extra, which the modules below need
        import gymnasium  # noqa: F401
    except ImportError as error:
        raise ArgumentError(
            "sarrus.runs.gym needs Gymnasium: pip install 'sarrus[gym]'", element="gymnasium"
        ) from error
    from sarrus.runs.gym.actions import Actions
    from sarrus.runs.gym.environments import Environment, VectorEnvironment
    from sarrus.runs.gym.stepper import Stepper
    from sarrus.runs.gym.task import Task
    from sarrus.runs.gym.traced import TracedFunctions

    mode = _mode(autoreset_mode, num_envs is not None)
    for name, value in (("duration", duration), ("sample_time", sample_time)):
        check_positive(name, value, " [s]")
    stepping = stepping_of_many(system, Stepping.of(method, dt), switching)
    if stepping.method == TIME_STEPPING and switching:
        system = with_contacts_of_steps(system)
    if stepping.dt is None:
        stepping = replace(stepping, dt=ENVIRONMENT_STEP)
    options = many_options(
        system, stepping, stabilization, Recording(None), t0=0.0, duration=sample_time, driven=True
    )
    if not options.scheme.adaptive and abs(sample_time / options.step - options.steps) > SAMPLE_OF_STEPS:
        raise ArgumentError(
            f"sample_time = {sample_time:g} s is not a whole number of steps of {options.step:g} s",
            element="sample_time",
        )
    if options.kept is not None:
        raise ArgumentError(
            f"{system.name}: an environment keeps no invariants, because its actions change them and every sample is a "
            "run of its own; leave stabilization='projection'",
            element="stabilization",
        )
    if system.nu == 0:
        raise ArgumentError(f"{system.name} has no actuators to act with", element=system.name)
    start = system.neutral() if q is None else system.normalized(q)
    if q is None and system.nc:
        start = system.assemble(start).q
    speed = np.zeros(system.nv) if v is None else np.array(system.checked(v, system.nv, "v"))
    stepper = Stepper(
        system,
        int(num_envs or 1),
        np.array(start),
        speed,
        options,
        threads,
        float(duration) + float(sample_time),
    )
    written = {"observation": observation, "reward": reward, "terminated": terminated}
    functions = {name: function for name, function in written.items() if function is not None}
    compiled = {name: functions.pop(name) for name in _names(traced) if name in functions}
    task = Task(
        system,
        stepper,
        float(duration),
        Actions.of(system, limits, normalized_actions),
        functions,
        TracedFunctions(system, compiled, stepper) if compiled else None,
        reset,
        _floats(dtype),
    )
    return Environment(task) if num_envs is None else VectorEnvironment(task, mode)


def _names(traced: bool | Collection[str]) -> tuple[str, ...]:
    """Return the names of the functions to compile."""
    if isinstance(traced, bool | np.bool_):
        return TRACEABLE if traced else ()
    name_or_names("traced", traced)
    chosen = (traced,) if isinstance(traced, str) else tuple(traced)
    for name in chosen:
        check_known("function", name, TRACEABLE, "traced")
    return chosen


def _floats(dtype: DTypeLike) -> type[np.floating]:
    """Return the type of observations."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    for kind in (np.float64, np.float32):
        if found == kind:
            return kind
    raise ArgumentError(f"dtype must be float64 or float32, got {dtype!r}", element="dtype")


def _mode(given: str | AutoresetMode, vector: bool) -> AutoresetMode:
    """Return the mode in which ended episodes begin anew."""
    from gymnasium.vector import AutoresetMode

    try:
        mode = AutoresetMode(given)
    except ValueError:
        valid = ", ".join(repr(m.value) for m in AutoresetMode)
        raise ArgumentError(
            f"autoreset_mode must be one of {valid}, got {given!r}", element="autoreset_mode"
        ) from None
    if mode is not AutoresetMode.NEXT_STEP and not vector:
        raise ArgumentError(
            "autoreset_mode is of vector environments; give num_envs=, or leave it out and call reset()",
            element="autoreset_mode",
        )
    return mode
