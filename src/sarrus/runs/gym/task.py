"""`Task`: many copies of a system with observations, rewards and ends of episodes, independent of the interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known, place_of
from sarrus.base.numbers import finite_array, real_array
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.runs.gym.stepper import Stepper
from sarrus.runs.gym.tolerances import END_EARLY

# f(q, v, u, t) of all copies: q (n, nq), v (n, nv), u (n, nu), t (n,).
StateFunction = Callable[[Array, Array, Array, Array], ArrayLike]
# reset(rng, n) → q (n, nq) or (q, v) or (q, v, parameters); None for what stays.
ResetFunction = Callable[[np.random.Generator, int], Any]
# What an episode begins with.
_OPTIONS = ("q", "v", "parameters")


class Task:
    """Copies of a system and all steps of an episode, without the bookkeeping of `gymnasium`."""

    def __init__(
        self,
        system: System,
        stepper: Stepper,
        duration: float,
        limits: Array,
        reward: StateFunction | None,
        terminated: StateFunction | None,
        observation: StateFunction | None,
        reset: ResetFunction | None,
    ) -> None:
        self.system, self.stepper, self.count = system, stepper, stepper.count
        self._reward, self._terminated = reward, terminated
        self._observation, self._reset = observation, reset
        self._everything = np.arange(self.count)
        self._lower, self._upper = limits
        # A hair's breadth below, so that rounding does not add a step.
        self._end = duration - END_EARLY * stepper.interval
        first = self.observe()
        if first.ndim < 1 or len(first) != self.count:
            raise ArgumentError(
                f"observation must return an array with a row for each of the {self.count} copies, got shape "
                f"{first.shape}",
                element="observation",
            )
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, first.shape[1:], np.float64)
        self.action_space = gymnasium.spaces.Box(*limits.astype(np.float32), dtype=np.float32)

    def reset(
        self,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin new episodes in these rows, or in all; ``options`` override the values of the reset function."""
        rows, s, own = self._everything if rows is None else rows, self.stepper, dict(options or {})
        for name in own:
            check_known("option", name, _OPTIONS, f"{self.system.name}: reset")
        s.back(rows)
        s.u[rows] = 0.0
        if self._reset is None and not own:
            return
        given = None if self._reset is None else self._reset(rng, len(rows))
        parts = given if isinstance(given, tuple) else (given,)
        drawn = dict(zip(_OPTIONS, (*parts, None, None, None)))
        q, v, parameters = (own.get(name, drawn[name]) for name in _OPTIONS)
        for name, target, value in (("q", s.q, q), ("v", s.v, v)):
            if value is not None:
                target[rows] = _finite(value, (len(rows), target.shape[1]), f"reset: {name}")
        self._set_parameters(rows, {} if parameters is None else parameters)
        lost = s.place(rows)
        if lost.size:
            raise ArgumentError(
                f"{self.system.name}: reset: the loops of copy {lost[0]} cannot be closed with the rank that the "
                "constraints have at the start",
                element="reset",
            )

    def _set_parameters(self, rows: np.ndarray, given: Mapping[str, ArrayLike]) -> None:
        names = list(self.system.parameters)
        for name, value in given.items():
            place = place_of("parameter", name, names, f"{self.system.name}: reset")
            self.stepper.parameters[rows, place] = _finite(value, (len(rows),), f"reset: parameter {name!r}")

    def advance(self, actions: Array) -> tuple[np.ndarray, np.ndarray]:
        """Hold the actions (n, nu), within their limits, for an interval; return rows and statuses of failed copies."""
        s = self.stepper
        u, nu = real_array(actions), self.system.nu
        if u.shape != (self.count, nu) and not (self.count == 1 and u.shape == (nu,)):
            wanted = f"({nu},)" if self.count == 1 else f"({self.count}, {nu})"
            raise ArgumentError(
                f"{self.system.name}: actions must be {wanted}, a number for each of the actuators "
                f"{', '.join(self.system.actuator_names) or '(none)'}, got shape {u.shape}",
                element="actions",
            )
        u = u.reshape(self.count, nu)
        failed = s.advance(np.clip(u, self._lower, self._upper))
        return failed, s.failure(failed)

    def observe(self) -> Array:
        """Return the observations (n, …): q and v, or the result of the user's function."""
        s = self.stepper
        if self._observation is None:
            return np.concatenate([s.q, s.v], axis=1)
        return np.array(self._observation(s.q, s.v, s.u, s.t), dtype=float)

    def reward(self) -> Array:
        """Return the rewards (n,): zero, or the result of the user's function."""
        s = self.stepper
        if self._reward is None:
            return np.zeros(self.count)
        return _shaped(self._reward(s.q, s.v, s.u, s.t), self.count, "reward").astype(float)

    def terminated(self) -> np.ndarray:
        """Return which copies have terminated (n,): none, or the result of the user's function."""
        s = self.stepper
        if self._terminated is None:
            return np.zeros(self.count, dtype=bool)
        return _shaped(self._terminated(s.q, s.v, s.u, s.t), self.count, "terminated").astype(bool)

    def truncated(self) -> np.ndarray:
        """Return which copies have reached the duration of an episode (n,)."""
        return np.asarray(self.stepper.t >= self._end)


def message(status: int) -> str:
    """Return the diagnosis of a failed episode."""
    return f"{Status(status).diagnosis}. {Status(status).remedy}"


def _finite(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    array = finite_array(value)
    if array is None or array.shape not in (shape, shape[1:]):
        raise ArgumentError(
            f"{what} must be finite numbers {shape}, got shape {np.shape(value)}", element=what
        )
    return array


def _shaped(value: ArrayLike, count: int, what: str) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != (count,):
        raise ArgumentError(
            f"{what} must return one number for each of the {count} copies, got shape {array.shape}",
            element=what,
        )
    return array
