"""The interfaces of Gymnasium: a single environment, and a vector environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.runs.gym.task import Task, message


class Environment(gymnasium.Env[Array, Any]):
    """One copy of a system; see `sarrus.gym.make`. A failed run terminates, with info["status"] and info["message"]."""

    def __init__(self, task: Task) -> None:
        self.task, self.system = task, task.system
        self.metadata: dict[str, Any] = {"render_modes": []}
        self.observation_space, self.action_space = task.observation_space, task.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode and return (observation, info); "q", "v" and "parameters" in ``options`` override
        ``reset=``.
        """
        super().reset(seed=seed)
        self.task.reset(self.np_random, options=options)
        return self.task.observe()[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold the action for an interval; return (observation, reward, terminated, truncated, info)."""
        task = self.task
        failed, statuses = task.advance(action)
        info: dict[str, Any] = {}
        if failed.size:
            info = {"status": Status(statuses[0]), "message": message(statuses[0])}
        ended = bool(failed.size) or bool(task.terminated()[0])
        return task.observe()[0], float(task.reward()[0]), ended, bool(task.truncated()[0]), info

    def close(self) -> None:
        """Stop the threads."""
        self.task.stepper.close()


class VectorEnvironment(gymnasium.vector.VectorEnv[Array, Any, np.ndarray]):
    """Many copies of a system that step together; see `sarrus.gym.make`.

    An ended episode restarts at the next step, whose action is ignored (NEXT_STEP) and whose reward is 0.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.system, self.num_envs = task, task.system, task.count
        self.metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self.single_observation_space, self.single_action_space = task.observation_space, task.action_space
        batch_space = gymnasium.vector.utils.batch_space
        self.observation_space = batch_space(task.observation_space, task.count)
        self.action_space = batch_space(task.action_space, task.count)
        self._ended = np.zeros(task.count, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all episodes and return (observations, infos); "q", "v" and "parameters" in ``options`` override
        ``reset=``.
        """
        super().reset(seed=seed)
        self.task.reset(self.np_random, options=options)
        self._ended[:] = False
        return self.task.observe(), {}

    def step(self, actions: Array) -> tuple[Array, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Hold the actions (num_envs, nu) for an interval; return (observations, rewards, terminated, truncated,
        infos).
        """
        task, anew = self.task, self._ended
        failed, statuses = task.advance(actions)
        rows = np.flatnonzero(anew)
        if rows.size:
            task.reset(self.np_random, rows)
        reward, ended, truncated = task.reward(), task.terminated(), task.truncated()
        info: dict[str, Any] = {}
        if failed.size:
            info = self._failures(failed, statuses, anew)
            ended[failed] = True
        if rows.size:
            reward[rows], ended[rows], truncated[rows] = 0.0, False, False
        self._ended = ended | truncated
        return task.observe(), reward, ended, truncated, info

    def _failures(self, failed: np.ndarray, statuses: np.ndarray, anew: np.ndarray) -> dict[str, Any]:
        """Return the statuses of the episodes that failed; restarted episodes have none."""
        ended, masked = np.full(self.num_envs, None, dtype=object), np.zeros(self.num_envs, dtype=bool)
        for row, status in zip(failed, statuses):
            if not anew[row]:
                ended[row], masked[row] = Status(status), True
        return {"status": ended, "_status": masked} if masked.any() else {}

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.task.stepper.close()
