"""`RslEnvironment`: a vector environment with the interface of rsl_rl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from sarrus.base.arrays import Array
from sarrus.runs.gym.environments import VectorEnvironment


@dataclass(frozen=True)
class Settings:
    """What the logger of rsl_rl keeps of an environment; times in s."""

    system: str
    num_envs: int
    sample_time: float
    duration: float


class RslEnvironment(VecEnv):
    """See `sarrus.gym.rsl_rl`; ``environment`` is the vector environment that steps, ``cfg`` what the logger keeps."""

    def __init__(self, environment: VectorEnvironment, device: Any, seed: int | None) -> None:
        task = environment.task
        self.environment = VectorEnvironment(task, AutoresetMode.SAME_STEP)
        self.num_envs, self.num_actions, self.device = task.count, task.system.nu, device
        self._interval = task.stepper.interval
        self.max_episode_length = round(task.duration / self._interval)
        self.cfg = Settings(task.system.name, task.count, self._interval, task.duration)
        self._seen, _ = self.environment.reset(seed=seed)

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """The number of steps of the running episodes (num_envs,)."""
        steps = torch.as_tensor(self.environment.task.stepper.t / self._interval, device=self.device)
        return steps.round().long()

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.environment.task.stepper.t[:] = self._interval * steps.cpu().numpy()

    def reset(self) -> tuple[TensorDict, dict[str, Any]]:
        """Begin all episodes and return (observations, extras)."""
        self._seen, _ = self.environment.reset()
        return self.get_observations(), {}

    def get_observations(self) -> TensorDict:
        """Return the observations of the last step as the group "policy"."""
        return TensorDict(
            {"policy": self._tensor(self._seen)}, batch_size=[self.num_envs], device=self.device
        )

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Hold the actions (num_envs, nu) for an interval; return (observations, rewards, ended, extras)."""
        self._seen, reward, ended, truncated, _ = self.environment.step(actions.detach().cpu().numpy())
        late = torch.as_tensor(truncated & ~ended, device=self.device)
        done = torch.as_tensor(ended | truncated, device=self.device).long()
        return self.get_observations(), self._tensor(reward), done, {"time_outs": late}

    def _tensor(self, values: Array) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self.device)
