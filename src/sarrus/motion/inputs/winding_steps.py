"""Fixed steps with motor windings: a step far beyond the electrical time constant L/R is refused, as it is unstable.

A current alone obeys di/dt = −(R/L) i + …, so that a step of an explicit method multiplies its error by P(−h R/L), P
the stability polynomial of the method. Runs detect instability by accelerations, which the current of a blocked motor
does not affect.
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
    """Raise `ArgumentError` if steps of ``dt`` [s] are unstable for the winding of a motor; the error names the motor.

    ``parameters`` are values, or arrays with a value for each run, that replace those of the system. Implicit methods
    are not checked.
    """
    if system.mechanism is None or method not in METHODS or not system.mechanism.current_names:
        return
    values, limit = {**system.parameters, **(parameters or {})}, real_interval(method)
    for name, actuator in system.mechanism.actuators.items():
        if isinstance(actuator.activation, Winding):
            time = _time(system, name, actuator.activation, values)
            if dt > limit * time:
                raise ArgumentError(
                    f"{system.name}: steps of {dt:g} s are too long for the winding of motor {name!r} with "
                    f"L/R = {time:.3g} s: {method} is stable up to {limit * time:.3g} s. Take shorter steps, leave dt "
                    "out for adaptive steps, or remove the inductance with mechanism.without_activation()",
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
    """Return the largest x > 0 for which an explicit method is stable on [−x, 0], |P(−x)| ≤ 1."""
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
