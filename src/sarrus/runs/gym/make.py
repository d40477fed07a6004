"""`make`: a Gymnasium environment from a system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described, pair, positive
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import real_array
from sarrus.dynamics.model.control_limits import control_bounds
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
    from sarrus.runs.gym.environments import Environment, VectorEnvironment
    from sarrus.runs.gym.task import ResetFunction, StateFunction


@described(limits=pair, duration=positive)
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
    num_envs: int | None = None,
    switching: bool = True,
    threads: int | None = None,
) -> Environment | VectorEnvironment:
    """Return a `gymnasium.Env`, or with ``num_envs`` a `gymnasium.vector.VectorEnv` of that many copies.

    The functions take NumPy arrays with a row for each of n copies: q (n, nq), v (n, nv), the applied controls
    u (n, nu), and the time t (n,) of the episode [s]. A single environment has n = 1. They must not change their
    arguments.

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
    limits : (lower, upper) of the actions, numbers or (nu,) each. Default: those of the actuators.
    num_envs : number of copies of a vector environment; None for a single environment.
    switching : True lets contacts, limits and dry friction of joints act. False keeps contacts that are constraints as
        ``system.parameters`` have them, and leaves the others out.
    threads : number of threads; default: one per processor if there are enough copies.

    An action has a number for each actuator, in the order of ``system.actuator_names``. A step that fails terminates
    the episode: its state is that before the step, and info has its "status". A vector environment restarts ended
    episodes at the next step (NEXT_STEP). Equal seeds give equal bits.
    """
    check_is("make", system, System)
    try:  # an extra, which the modules below need
        import gymnasium  # noqa: F401
    except ImportError as error:
        raise ArgumentError(
            "sarrus.runs.gym needs Gymnasium: pip install 'sarrus[gym]'", element="gymnasium"
        ) from error
    from sarrus.runs.gym.environments import Environment, VectorEnvironment
    from sarrus.runs.gym.stepper import Stepper
    from sarrus.runs.gym.task import Task

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
    task = Task(
        system, stepper, float(duration), _limits(system, limits), reward, terminated, observation, reset
    )
    return Environment(task) if num_envs is None else VectorEnvironment(task)


def _limits(system: System, given: tuple[ArrayLike, ArrayLike] | None) -> Array:
    """Return the lower and upper limits of actions (2, nu)."""
    bounds = control_bounds(system)
    if given is None:
        return bounds
    try:
        lower, upper = (np.broadcast_to(real_array(limit), (system.nu,)) for limit in given)
    except (TypeError, ValueError):
        lower = upper = np.zeros(system.nu)
    if not (lower < upper).all():
        raise ArgumentError(
            f"{system.name}: limits must be (lower, upper), each a number or {system.nu} of them, lower below upper, "
            f"got {given!r}",
            element="limits",
        )
    return np.array([np.maximum(bounds[0], lower), np.minimum(bounds[1], upper)])
