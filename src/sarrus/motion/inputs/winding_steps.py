"""Fixed steps and windings: a step far beyond the time L/R of a current is refused, for it would grow without bound.

A current alone obeys di/dt = −(R/L) i + …, so that a step of an explicit method multiplies its error by P(−h R/L), P
the polynomial of stability of the method. Runs watch their stability by accelerations, which a current whose motor is
held fast does not touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.integrate.tableau import METHODS, tableau
from sarrus.model.mechanism.elements import Winding


def refuse_long_steps(
    system: Evaluations, method: str, dt: float, parameters: Mapping[str, Any] | None = None
) -> None:
    """Raise `ArgumentError` where steps of ``dt`` [s] are too long for the winding of a motor, by its name.

    ``parameters`` have values, or arrays with one for each run, in the place of the system's own. Steps of methods that
    are not explicit are let pass.
    """
    if system.mechanism is None or method not in METHODS or not system.mechanism.current_names:
        return
    values, limit = {**system.parameters, **(parameters or {})}, real_interval(method)
    for name, actuator in system.mechanism.actuators.items():
        if isinstance(actuator.activation, Winding):
            time = _time(system, name, actuator.activation, values)
            if dt > limit * time:
                raise ArgumentError(
                    f"{system.name}: steps of {dt:g} s are too long for the winding of motor {name!r}, "
                    f"L/R = {time:.3g} s: {method} is stable up to {limit * time:.3g} s. Take shorter ones, or no dt, "
                    "so that steps follow the current, or no inductance: mechanism.without_activation()",
                    element=name,
                )


def _time(system: Evaluations, name: str, winding: Winding, values: Mapping[str, Any]) -> float:
    """Return the shortest time L/R [s] of a winding at values of the parameters."""
    numbers: dict[Any, Any] = {"inductance": winding.inductance, "resistance": winding.resistance}
    for drive in system.model.driven.drives:
        entry = drive.entry
        if (entry.kind, entry.element, entry.attribute) == ("actuator", name, "activation"):
            numbers |= dict.fromkeys(entry.places, drive.at(values))
    return float(np.min(numbers["inductance"] / numbers["resistance"]))


@cache
def real_interval(method: str) -> float:
    """Return x > 0 up to which an explicit method is stable on the negative real axis, |P(−x)| ≤ 1."""
    scheme = tableau(method)
    stages = len(scheme.b)
    powers = [1.0]
    column = np.ones(stages)
    for _ in range(stages):  # P(z) = 1 + z bᵀ 1 + z² bᵀ A 1 + …
        powers.append(float(scheme.b @ column))
        column = scheme.a @ column

    def grows(x: float) -> bool:
        return bool(abs(np.polyval(powers[::-1], -x)) > 1.0)

    high = 0.1
    while not grows(high):
        high += 0.1
    low = high - 0.1
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low
