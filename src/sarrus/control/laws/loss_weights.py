"""Weights of laws that make the norm of the controls the heat loss of the motors."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.dynamics.system import System


def loss_weights(system: System) -> Array:
    """Return W (nu,) with uᵀ diag(W) u the heat loss of the motors [W]: (gain / K_m)² of each, R/K_t² for a gain of
    one.

    For ``weights=`` of laws and of `System.inverse_dynamics` (Aghili 2022, eq. (26)). K_m is the ``motor_constant`` of
    an actuator whose force is gain × u.

    Raises `ArgumentError` for an actuator without a ``motor_constant``, and one whose force depends on more than its
    control, such as a motor driven by voltage. The error names the actuator.
    """
    check_is("loss_weights", system, System)
    actuators = {} if system.mechanism is None else system.mechanism.actuators
    if not actuators:
        raise ArgumentError(f"{system.name} has no actuators of a mechanism", element="actuators")
    found = []
    for name, actuator in actuators.items():
        if actuator.activation is not None or any(actuator.bias) or any(actuator.gain_slopes):
            raise ArgumentError(
                f"{system.name}: the force of actuator {name!r} depends on more than its control, so its loss is not "
                "W u². Describe it as a force actuator, add_actuator(..., motor_constant=)",
                element=name,
            )
        if actuator.motor_constant is None or actuator.gain == 0.0:
            raise ArgumentError(
                f"{system.name}: the loss of actuator {name!r} is unknown; give it a motor_constant and a nonzero gain",
                element=name,
            )
        found.append((actuator.gain / actuator.motor_constant) ** 2)
    return read_only(np.array(found))
