"""`SearchLimits`: the range of the coordinates in which configurations are searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.inverse_kinematics import coordinate_limits
from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.configurations.tolerances import LIMIT_MET
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class SearchLimits:
    """Limits ``lower`` and ``upper`` (nq,) of the coordinates [m, rad], infinite without a limit."""

    system: System
    lower: Array
    upper: Array

    @classmethod
    def of(cls, system: System, limits: Mapping[str, tuple[float, float]] | None) -> SearchLimits:
        """Return the limits of the joints, replaced by ``limits`` for the named scalar coordinates."""
        lower, upper = (np.array(side, dtype=float) for side in coordinate_limits(system))
        places = scalar_coordinates(system)
        if not isinstance(limits, Mapping | None):
            raise ArgumentError(
                f"limits must be names with pairs, {{'name': (lower, upper)}}, got {limits!r}",
                element="limits",
            )
        for name, pair in (limits or {}).items():
            check_known("scalar coordinate", name, places, "limits")
            lower[places[name][0]], upper[places[name][0]] = _checked(name, pair)
        return cls(system, lower, upper)

    @classmethod
    def of_one(cls, system: System, name: str, lower: float | None, upper: float | None) -> SearchLimits:
        """Return limits of one scalar coordinate alone; default: those of its joint."""
        k = scalar_coordinates(system)[name][0]
        own = [float(side[k]) for side in coordinate_limits(system)]
        pair = (own[0] if lower is None else lower, own[1] if upper is None else upper)
        given, others = cls.of(system, {name: pair}), np.arange(system.nq) != k
        return cls(system, np.where(others, -np.inf, given.lower), np.where(others, np.inf, given.upper))

    def contain(self, q: Array) -> bool:
        """Return whether q is within the limits, up to rounding."""
        return bool(np.all(self._over(q) <= LIMIT_MET))

    def contain_each(self, q: Array) -> np.ndarray:
        """Return which of several configurations (n, nq) are within the limits, up to rounding."""
        return np.asarray(self.slack(q) >= -LIMIT_MET)

    def slack(self, q: Array) -> Array:
        """Return the distance of configurations (n, nq) from the nearest limit [rad, κ], negative beyond a limit."""
        return np.asarray(-self._over(q).max(axis=1))

    def require(self, q: Array) -> None:
        """Raise `ArgumentError` if a start is outside of the limits, up to rounding."""
        over = self._over(q)
        k = int(np.argmax(over))
        if over[k] > LIMIT_MET:
            name = self.system.coordinate_names[k]
            raise ArgumentError(
                f"{self.system.name}: {name!r} starts at {q[k]:.6g}, outside of its limits "
                f"{self.lower[k]:.6g} to {self.upper[k]:.6g}",
                element=name,
            )

    def _over(self, q: Array) -> Array:
        return np.maximum(self.lower - q, q - self.upper) * self.system.characteristic.coordinates


def _checked(name: str, pair: ArrayLike) -> Array:
    """Return the checked limits (2,) of a coordinate; they may be infinite."""
    try:
        bounds = real_array(pair)
    except ArgumentError:
        bounds = np.zeros(0)
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise ArgumentError(
            f"limits of {name!r} must be (lower, upper) with lower < upper, got {pair!r}", element=name
        )
    return bounds
