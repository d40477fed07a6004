"""`StableBaselinesEnvironment`: a vector environment with the interface of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.runs.gym.environments import VectorEnvironment


class StableBaselinesEnvironment(VecEnv):
    """See `sarrus.gym.sb3`; ``environment`` is the vector environment that steps."""

    def __init__(self, environment: VectorEnvironment) -> None:
        self.environment = VectorEnvironment(environment.task, AutoresetMode.SAME_STEP)
        super().__init__(
            environment.num_envs, environment.single_observation_space, environment.single_action_space
        )

    def reset(self) -> Array:
        """Begin all episodes, with the seeds and options given before, and return the observations."""
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ArgumentError(
                "the options of Stable-Baselines3 must be the same for all copies; reset= can draw different starts",
                element="options",
            )
        seen, _ = self.environment.reset(seed=seeds, options=options)
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions (num_envs, nu) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Hold the actions for an interval; return (observations, rewards, ended, infos)."""
        seen, reward, ended, truncated, found = self.environment.step(self._actions)
        infos: list[dict[str, Any]] = [
            {"TimeLimit.truncated": late} for late in (truncated & ~ended).tolist()
        ]
        done = ended | truncated
        last = found.get("final_info", {})
        for row in np.flatnonzero(done):
            infos[row]["terminal_observation"] = found["final_obs"][row]
            if last and last["_status"][row]:
                infos[row] |= {"status": last["status"][row], "message": last["message"][row]}
        return seen, reward.astype(np.float32), done, infos

    def close(self) -> None:
        """Stop the threads."""
        self.environment.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment, which its copies share, for each index."""
        return [getattr(self.environment, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which its copies share."""
        setattr(self.environment, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        """Refuse: copies are rows of arrays and have no methods."""
        raise ArgumentError(
            f"copies of an environment have no methods of their own, so there is no {method_name!r}",
            element=method_name,
        )

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each index."""
        return [False] * len(self._rows(indices))

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return None for each copy: environments draw nothing."""
        return [None] * self.num_envs

    def _rows(self, indices: int | Iterable[int] | None) -> list[int]:
        return list(self._get_indices(indices))
