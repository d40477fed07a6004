"""`Actions`: the limits of actions, and the controls that an action means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class Actions:
    """Actions of an environment: controls u (n, nu), or parts of their range, −1 … 1, if ``normalized``.

    ``limits`` (2, nu) are the lowest and highest controls.
    """

    limits: Array
    normalized: bool

    @classmethod
    def of(cls, system: System, given: tuple[ArrayLike, ArrayLike] | None, normalized: bool) -> Actions:
        """Return the actions within the limits of the actuators, and of ``given`` = (lower, upper)."""
        limits = _limits(system, given)
        if normalized and not np.isfinite(limits).all():
            place = int(np.flatnonzero(~np.isfinite(limits).all(axis=0))[0])
            raise ArgumentError(
                f"{system.name}: actuator {system.actuator_names[place]!r} has no limits, which normalized_actions "
                "need; give limits=(lower, upper)",
                element="limits",
            )
        return cls(limits, normalized)

    @property
    def bounds(self) -> np.ndarray:
        """The lowest and highest actions (2, nu)."""
        bounds = self.limits if not self.normalized else np.array([[-1.0], [1.0]]) * np.ones_like(self.limits)
        return bounds.astype(np.float32)

    def controls(self, actions: Array) -> Array:
        """Return the controls (n, nu) of actions (n, nu), within their limits."""
        lower, upper = self.limits
        if self.normalized:
            actions = 0.5 * (lower + upper) + 0.5 * (upper - lower) * actions
        return np.asarray(np.clip(actions, lower, upper))


def _limits(system: System, given: tuple[ArrayLike, ArrayLike] | None) -> Array:
    """Return the lower and upper limits of controls (2, nu)."""
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
