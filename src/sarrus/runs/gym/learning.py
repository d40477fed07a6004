"""`sb3` and `rsl_rl`: environments with the interfaces of Stable-Baselines3 and of rsl_rl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sarrus.base.errors import ArgumentError

if TYPE_CHECKING:
    from sarrus.runs.gym.environments import Environment, VectorEnvironment
    from sarrus.runs.gym.rsl import RslEnvironment
    from sarrus.runs.gym.stable_baselines import StableBaselinesEnvironment


def sb3(environment: Environment | VectorEnvironment) -> StableBaselinesEnvironment:
    """Return a vector environment of `make` as a ``stable_baselines3.common.vec_env.VecEnv``.

    Ended episodes begin anew at once, whatever the environment's own autoreset mode. Their info has
    "terminal_observation", and "TimeLimit.truncated" if they were truncated; failed ones have "status" and "message".
    The seeds of ``VecEnv.seed`` give each copy a generator of its own. The two share their copies, so step one of them
    alone.

    Raises
    ------
    ArgumentError
        The environment is not a vector environment of `make`, or Stable-Baselines3 is not installed.
    """
    of = _vector(environment, "sb3")
    try:
        from sarrus.runs.gym.stable_baselines import StableBaselinesEnvironment
    except ImportError as error:
        raise _missing("sb3", "Stable-Baselines3", "stable-baselines3") from error
    return StableBaselinesEnvironment(of)


def rsl_rl(
    environment: Environment | VectorEnvironment, *, device: Any = "cpu", seed: int | None = None
) -> RslEnvironment:
    """Return a vector environment of `make` as an ``rsl_rl.env.VecEnv``, with tensors on ``device``.

    All episodes have begun, with the starts that ``seed`` draws; ended ones begin anew at once. Observations are the
    group "policy", float32 (num_envs, …); extras have "time_outs", the truncated episodes. ``episode_length_buf`` are
    the steps of the running episodes: assigning it sets their times. The policy of rsl_rl begins with actions of some
    ±1: make the environment with ``normalized_actions=True``. The two share their copies, so step one of them alone.

    Raises
    ------
    ArgumentError
        The environment is not a vector environment of `make`, or rsl_rl is not installed.
    """
    of = _vector(environment, "rsl_rl")
    try:
        from sarrus.runs.gym.rsl import RslEnvironment
    except ImportError as error:
        raise _missing("rsl_rl", "rsl_rl", "rsl-rl-lib") from error
    return RslEnvironment(of, device, seed)


def _vector(environment: Any, name: str) -> VectorEnvironment:
    from sarrus.runs.gym.environments import VectorEnvironment

    if isinstance(environment, VectorEnvironment):
        return environment
    raise ArgumentError(
        f"sr.gym.{name} needs a vector environment, sr.gym.make(system, num_envs=…), not a "
        f"{type(environment).__name__}",
        element="environment",
    )


def _missing(name: str, program: str, package: str) -> ArgumentError:
    return ArgumentError(f"sr.gym.{name} needs {program}: pip install {package}", element=package)
