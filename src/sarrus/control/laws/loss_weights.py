"""Weights of laws by which the norm of the controls is the loss of the motors."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.dynamics.system import System


def loss_weights(system: System) -> Array:
    """Return W (nu,) with uᵀ diag(W) u the loss of the motors [W]: (gain / K_m)² of each, R/K_t² where the gain is one.

    For ``weights=`` of laws and of `System.inverse_dynamics` (Aghili 2022, eq. (26)). K_m is the ``motor_constant`` of
    an actuator whose force is gain × u.

    Raises `ArgumentError` for an actuator without a ``motor_constant``, and one whose force depends on more than its
    control, as that of a motor driven by voltage does, by its name.
    """
    check_is("loss_weights", system, System)
    actuators = {} if system.mechanism is None else system.mechanism.actuators
    if not actuators:
        raise ArgumentError(f"{system.name}: there are no actuators of a mechanism", element="actuators")
    found = []
    for name, actuator in actuators.items():
        if actuator.activation is not None or any(actuator.bias) or any(actuator.gain_slopes):
            raise ArgumentError(
                f"{system.name}: the force of {name!r} depends on more than its control, so that its loss is no square "
                "of the control: describe it by force, add_actuator(..., motor_constant=)",
                element=name,
            )
        if actuator.motor_constant is None or actuator.gain == 0.0:
            raise ArgumentError(
                f"{system.name}: of {name!r} it is not known what a force costs: give it a motor_constant and a gain "
                "that is not zero",
                element=name,
            )
        found.append((actuator.gain / actuator.motor_constant) ** 2)
    return read_only(np.array(found))
