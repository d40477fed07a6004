"""The interfaces of Gymnasium: a single environment, and a vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
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

    Ended episodes begin anew as ``mode`` says. NEXT_STEP: at the next step, whose action is ignored and whose reward is
    0. SAME_STEP: at once; infos has the last observation as "final_obs" and the last info as "final_info". DISABLED:
    when `reset` is called with options={"reset_mask": …}. Values and masks are those of Gymnasium's `SyncVectorEnv`.
    """

    def __init__(self, task: Task, mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> None:
        self.task, self.system, self.num_envs, self.autoreset_mode = task, task.system, task.count, mode
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.single_observation_space, self.single_action_space = task.observation_space, task.action_space
        batch_space = gymnasium.vector.utils.batch_space
        self.observation_space = batch_space(task.observation_space, task.count)
        self.action_space = batch_space(task.action_space, task.count)
        self._ended = np.zeros(task.count, dtype=bool)
        self._generators: list[np.random.Generator] | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin episodes and return (observations, infos).

        Parameters
        ----------
        seed : a number: one generator draws the starts of all copies together. A sequence of num_envs numbers: each
            copy has a generator of its own from now on, as in Gymnasium's `SyncVectorEnv`, and the function ``reset=``
            is called for each with n = 1; None keeps its generator.
        options : "q", "v" and "parameters" override ``reset=``. "reset_mask" (num_envs,), bool: begin the episodes of
            these copies alone; the others stay as they are.
        """
        more = dict(options or {})
        rows = self._rows(more.pop("reset_mask", None))
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            self._generators = None if seed is not None else self._generators
        else:
            self._seed_each(seed)
        self.task.reset(self._sources, rows, more)
        self._ended[rows] = False
        return self.task.observe(), {}

    def step(self, actions: Array) -> tuple[Array, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Hold the actions (num_envs, nu) for an interval; return (observations, rewards, terminated, truncated,
        infos).
        """
        task, mode = self.task, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._ended.any():
            raise ArgumentError(
                f"{self.system.name}: the episode of copy {int(self._ended.argmax())} has ended, and with autoreset "
                'DISABLED it begins anew only by reset(options={"reset_mask": terminated | truncated})',
                element="reset_mask",
            )
        anew = self._ended if mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, dtype=bool)
        failed, statuses = task.advance(actions)
        rows = np.flatnonzero(anew)
        if rows.size:
            task.reset(self._sources, rows)
        reward, ended, truncated = task.reward(), task.terminated(), task.truncated()
        ended[failed] = True
        infos = self._failures(failed, statuses, anew) if failed.size else {}
        if rows.size:
            reward[rows], ended[rows], truncated[rows] = 0.0, False, False
        self._ended, seen = ended | truncated, task.observe()
        if mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = self._final(seen, infos)
            task.reset(self._sources, np.flatnonzero(self._ended))
            seen = task.observe()
        return seen, reward, ended, truncated, infos

    @property
    def _sources(self) -> np.random.Generator | list[np.random.Generator]:
        return self.np_random if self._generators is None else self._generators

    def _rows(self, mask: Any) -> np.ndarray:
        """Return the numbers of the copies in a mask, of all without one."""
        if mask is None:
            return np.arange(self.num_envs)
        found = np.asarray(mask)
        if found.dtype != bool or found.shape != (self.num_envs,) or not found.any():
            raise ArgumentError(
                f"{self.system.name}: reset_mask must be ({self.num_envs},) booleans, at least one of them True, got "
                f"shape {found.shape} of {found.dtype}",
                element="reset_mask",
            )
        return np.flatnonzero(found)

    def _seed_each(self, seeds: Sequence[int | None]) -> None:
        if len(seeds) != self.num_envs:
            raise ArgumentError(
                f"{self.system.name}: seed must be a number or {self.num_envs} of them, got {len(seeds)}",
                element="seed",
            )
        known = self._generators or [np.random.default_rng() for _ in seeds]
        self._generators = [
            kept if seed is None else gymnasium.utils.seeding.np_random(int(seed))[0]
            for seed, kept in zip(seeds, known)
        ]

    def _failures(self, failed: np.ndarray, statuses: np.ndarray, anew: np.ndarray) -> dict[str, Any]:
        """Return the statuses and messages of the episodes that failed; restarted episodes have none."""
        status, text = self._objects(), self._objects()
        mask = np.zeros(self.num_envs, dtype=bool)
        for row, number in zip(failed, statuses):
            if not anew[row]:
                status[row], text[row], mask[row] = Status(number), message(number), True
        return (
            {"status": status, "_status": mask, "message": text, "_message": mask.copy()}
            if mask.any()
            else {}
        )

    def _final(self, seen: Array, infos: dict[str, Any]) -> dict[str, Any]:
        """Return infos with the last observations and infos of the episodes that have ended."""
        last = self._objects()
        for row in np.flatnonzero(self._ended):
            last[row] = seen[row]
        mask = self._ended
        return {"final_obs": last, "_final_obs": mask.copy(), "final_info": infos, "_final_info": mask.copy()}

    def _objects(self) -> np.ndarray:
        return np.full(self.num_envs, None, dtype=object)

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        self.task.stepper.close()
