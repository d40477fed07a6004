"""Limits of planned motions: coordinates, speeds, accelerations, controls, and the distance to singularities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, place_of
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import INSET, LEAST_MARGIN, SWING
from sarrus.dynamics.model.control_limits import control_bounds


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of scalar coordinates (nv,), largest speeds and accelerations (nv,), controls (nu,).

    ``places``: coordinates of the velocities, −1 if there is none. ``margin``: least 1/‖D⁺‖ of the loops, and least
    distance of the actuators, see `sarrus.design.identification.information.Told`.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    weakest: Array
    strongest: Array
    margin: float
    places: np.ndarray

    @classmethod
    def of(
        cls,
        regressor: Regressor,
        q: Array,
        independent: list[int],
        limits: Mapping[str, tuple[float, float]] | None,
        speed: float | Mapping[str, float],
        acceleration: float | Mapping[str, float],
        effort: float | Mapping[str, float],
        margin: float,
    ) -> Limits:
        """Return the mechanism's limits and the given ones; independent coordinates always have limits."""
        system, mechanism = regressor.system, regressor.numbers.mechanism
        names = system.velocity_names
        lower, upper = np.full(system.nv, -np.inf), np.full(system.nv, np.inf)
        start = 0
        for joint in mechanism.joints():
            for k, pair in enumerate(joint.limits or ()):
                if pair is not None:
                    lower[start + k], upper[start + k] = pair
            start += joint.nv
        for name, pair in (limits or {}).items():
            k = place_of("coordinate", name, names, f"{system.name}: limits")
            low, high = map(float, pair)
            if not low < high:
                raise ArgumentError(
                    f"{system.name}: limits of {name!r} must be (lower, upper), got {pair}", element=name
                )
            lower[k], upper[k] = low, high
        places = [system.coordinate_names.index(n) if n in system.coordinate_names else -1 for n in names]
        for k in independent:
            room = SWING / system.model.characteristic.columns[k]
            if lower[k] == -np.inf:
                lower[k] = min(q[places[k]] - room, upper[k] - 2 * room)
            if upper[k] == np.inf:
                upper[k] = max(q[places[k]] + room, lower[k] + 2 * room)
        most = _largest(system.name, system.actuator_names, effort, "effort")
        low, high = control_bounds(system)
        weakest, strongest = np.maximum(-most, low), np.minimum(most, high)
        return cls(
            lower, upper, _largest(system.name, names, speed, "speed"),
            _largest(system.name, names, acceleration, "acceleration"), weakest, strongest, margin, np.array(places),
        )  # fmt: skip

    def broken(
        self, q: Array, v: Array, a: Array, u: Array, margin: Array, drive: Array, inset: float = INSET
    ) -> Array:
        """Return the violation of each limit by motions (P, T, …), relative to its range (P, …): zero or positive."""
        scalar = np.flatnonzero(self.places >= 0)
        parts = [
            _beyond(q[:, :, self.places[scalar]], self.lower[scalar], self.upper[scalar], inset),
            _beyond(v, -self.speed, self.speed, inset),
            _beyond(a, -self.acceleration, self.acceleration, inset),
            _beyond(u, self.weakest, self.strongest, inset),
            np.maximum((1.0 + inset) * self.margin / np.maximum(margin, LEAST_DIVISOR) - 1.0, 0.0)[
                :, :, None
            ],
            np.maximum((1.0 + inset) - drive / max(self.margin, LEAST_MARGIN), 0.0)[:, :, None],
        ]
        return np.concatenate(parts, axis=2)

    def names(self, regressor: Regressor) -> list[str]:
        """Return the names of the columns of `broken`."""
        s = regressor.system
        scalar = [n for n, place in zip(s.velocity_names, self.places) if place >= 0]
        return [
            *(f"the position of {n!r}" for n in scalar),
            *(f"the speed of {n!r}" for n in s.velocity_names),
            *(f"the acceleration of {n!r}" for n in s.velocity_names),
            *(f"the control {n!r}" for n in s.actuator_names),
            "the distance to singular configurations of the loops",
            "the distance to configurations where actuators do not drive all degrees of freedom",
        ]


def _beyond(x: Array, lower: Array, upper: Array, inset: float) -> Array:
    """Return the distance of x (P, T, n) from its limits, relative to their range, or absolute if that is infinite."""
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    over = np.maximum(x - (upper - inset * width), (lower + inset * width) - x)
    return np.asarray(np.maximum(over, 0.0) / width)


def _largest(label: str, names: tuple[str, ...], given: float | Mapping[str, float], what: str) -> Array:
    out = np.full(len(names), np.inf)
    if isinstance(given, Mapping):
        for name, value in given.items():
            out[place_of(
                "actuator" if what == "effort" else "velocity", name, names, f"{label}: {what}"
            )] = value  # fmt: skip
    else:
        out[:] = given
    if not (out > 0.0).all():
        raise ArgumentError(f"{label}: {what} must be positive, got {given!r}", element=what)
    return out
