"""`Task`: many copies of a system with observations, rewards and ends of episodes, independent of the interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known, place_of
from sarrus.base.numbers import finite_array, real_array
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.runs.gym.actions import Actions
from sarrus.runs.gym.stepper import Stepper
from sarrus.runs.gym.tolerances import END_EARLY
from sarrus.runs.gym.traced import TracedFunctions

# f(q, v, u, t) of all copies: q (n, nq), v (n, nv), u (n, nu), t (n,).
StateFunction = Callable[[Array, Array, Array, Array], ArrayLike]
# reset(rng, n) → q (n, nq) or (q, v) or (q, v, parameters); None for what stays.
ResetFunction = Callable[[np.random.Generator, int], Any]
# What an episode begins with.
_OPTIONS = ("q", "v", "parameters")


class Task:
    """Copies of a system and all steps of an episode, without the bookkeeping of `gymnasium`.

    ``functions`` has the user's "observation", "reward" and "terminated", of arrays with a row for each copy, unless
    they are among the ``compiled`` ones.
    """

    def __init__(
        self,
        system: System,
        stepper: Stepper,
        duration: float,
        actions: Actions,
        functions: Mapping[str, StateFunction],
        compiled: TracedFunctions | None,
        reset: ResetFunction | None,
        dtype: type[np.floating],
    ) -> None:
        self.system, self.stepper, self.count, self.duration = system, stepper, stepper.count, duration
        self._functions, self._compiled, self._reset = functions, compiled, reset
        self._everything, self._dtype = np.arange(self.count), dtype
        self._actions, self.action_space = actions, gymnasium.spaces.Box(*actions.bounds, dtype=np.float32)
        # A hair's breadth below, so that rounding does not add a step.
        self._end = duration - END_EARLY * stepper.interval
        self._evaluate()
        first = self.observe()
        if first.ndim < 1 or len(first) != self.count:
            raise ArgumentError(
                f"observation must return an array with a row for each of the {self.count} copies, got shape "
                f"{first.shape}",
                element="observation",
            )
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, first.shape[1:], dtype)

    def reset(
        self,
        rng: np.random.Generator | Sequence[np.random.Generator],
        rows: np.ndarray | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin new episodes in these rows, or in all; ``options`` override the values of the reset function.

        The function is called once for all rows, or with a generator for each copy, for each row alone.
        """
        rows, s, own = self._everything if rows is None else rows, self.stepper, dict(options or {})
        for name in own:
            check_known("option", name, _OPTIONS, f"{self.system.name}: reset")
        s.back(rows)
        s.u[rows] = 0.0
        if self._reset is not None:
            together = isinstance(rng, np.random.Generator)
            for part in [rows] if together else rows[:, None]:
                given = self._reset(rng if together else rng[part[0]], len(part))  # type: ignore[arg-type, index]
                drawn = dict(zip(_OPTIONS, given if isinstance(given, tuple) else (given,)))
                self._assign(part, {name: value for name, value in drawn.items() if name not in own})
        self._assign(rows, own)
        lost = s.place(rows) if own or self._reset is not None else rows[:0]
        if lost.size:
            raise ArgumentError(
                f"{self.system.name}: reset: the loops of copy {lost[0]} cannot be closed with the rank that the "
                "constraints have at the start",
                element="reset",
            )
        self._evaluate(rows)

    def _assign(self, rows: np.ndarray, given: Mapping[str, Any]) -> None:
        """Write q, v and parameters of new episodes, those that are not None."""
        for name, target in (("q", self.stepper.q), ("v", self.stepper.v)):
            if (value := given.get(name)) is not None:
                target[rows] = _finite(value, (len(rows), target.shape[1]), f"reset: {name}")
        self._set_parameters(rows, given.get("parameters") or {})

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
        failed = s.advance(self._actions.controls(u.reshape(self.count, nu)))
        self._evaluate()
        return failed, s.failure(failed)

    def _evaluate(self, rows: np.ndarray | None = None) -> None:
        """Evaluate the compiled functions after the states of these rows, in order, or of all have changed."""
        if self._compiled is not None:
            first, last = (0, self.count) if rows is None else (int(rows[0]), int(rows[-1]) + 1)
            self._compiled.evaluate(first, last)

    def _value(self, name: str) -> Any:
        """Return the values of a function of the user for all copies; None without this function."""
        if self._compiled is not None and name in self._compiled:
            found = self._compiled[name]
            return found if name == "observation" else found[:, 0]
        function, s = self._functions.get(name), self.stepper
        return None if function is None else function(s.q, s.v, s.u, s.t)

    def observe(self) -> Array:
        """Return the observations (n, …): q and v, or the result of the user's function."""
        found = self._value("observation")
        if found is None:
            return np.concatenate([self.stepper.q, self.stepper.v], axis=1, dtype=self._dtype)
        return np.array(found, dtype=self._dtype)

    def reward(self) -> Array:
        """Return the rewards (n,): zero, or the result of the user's function."""
        found = self._value("reward")
        return np.zeros(self.count) if found is None else _shaped(found, self.count, "reward").astype(float)

    def terminated(self) -> np.ndarray:
        """Return which copies have terminated (n,): none, or the result of the user's function."""
        found = self._value("terminated")
        if found is None:
            return np.zeros(self.count, dtype=bool)
        return _shaped(found, self.count, "terminated").astype(bool)

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
