"""Actuators of a mechanism: their generalized force, linear in the controls, and what the limits take from it.

The force of an actuator is clamp(gain × clamp(u) + bias), its generalized force that times the gears; where a joint has
limits of the actuators' total force, the sum is held within these (MuJoCo's ctrlrange, forcerange, actuatorfrcrange).
The equations have it as k + S u + saturation: bias in k, S without limits, and ``saturation`` zero while none acts.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from sarrus.mechanism.elements import Actuator
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.forces import power_conjugate
from sarrus.multibody.numbers import varies


def actuation_matrix(mechanism: Mechanism) -> ca.SX:
    """Return S (nv × nu): generalized force per unit of control, where nothing is limited."""
    names, actuators = mechanism.velocity_names(), mechanism.actuators.values()
    matrix = ca.SX.zeros(len(names), len(actuators))
    for k, actuator in enumerate(actuators):
        for name, gear in actuator.transmission:
            matrix[names.index(name), k] += gear * actuator.gain
    return matrix


def bias(actuator: Actuator, coordinates: Mapping[str, ca.SX], velocities: Mapping[str, ca.SX]) -> ca.SX:
    """Return the scalar force of an actuator at u = 0, where nothing is limited."""
    constant, per_length, per_rate = actuator.bias
    force = ca.SX(constant) + per_rate * _speed(actuator, velocities)
    if varies(per_length):
        force += per_length * sum(
            (gear * coordinates[name] for name, gear in actuator.transmission), ca.SX(0)
        )
    return force


def bias_force(
    mechanism: Mechanism, coordinates: Mapping[str, ca.SX], velocities: Mapping[str, ca.SX], v: ca.SX
) -> ca.SX:
    """Return the generalized force of all actuators at u = 0, where nothing is limited."""
    total = ca.SX.zeros(v.shape[0])
    for actuator in mechanism.actuators.values():
        if any(map(varies, actuator.bias)):
            force = bias(actuator, coordinates, velocities)
            total += power_conjugate(_speed(actuator, velocities), v, force)
    return total


def saturation(
    mechanism: Mechanism,
    coordinates: Mapping[str, ca.SX],
    velocities: Mapping[str, ca.SX],
    v: ca.SX,
    u: ca.SX,
) -> ca.SX:
    """Return what the limits of controls, actuators and joints add to bias and S u; a zero column without limits."""
    joints = {j.name: j.actuator_force_limits for j in mechanism.joints() if j.actuator_force_limits}
    actuators = list(mechanism.actuators.values())
    if not actuators or not (joints or any(a.limits or a.force_limits for a in actuators)):
        return ca.SX.zeros(v.shape[0])
    names = mechanism.velocity_names()
    lost, total = ca.SX.zeros(v.shape[0]), ca.SX.zeros(v.shape[0])
    for actuator, control in zip(actuators, ca.vertsplit(u)):
        offset = bias(actuator, coordinates, velocities)
        force = clamp(actuator.gain * clamp(control, actuator.limits) + offset, actuator.force_limits)
        moment = power_conjugate(_speed(actuator, velocities), v, ca.SX(1))
        if actuator.limits or actuator.force_limits:
            lost += moment * (force - (actuator.gain * control + offset))
        total += moment * force
    for name, limits in joints.items():
        k = names.index(name)
        lost[k] += clamp(total[k], limits) - total[k]
    return lost


def clamp(value: ca.SX, limits: tuple[float, float] | None) -> ca.SX:
    """Return the nearest value within limits; at a limit the derivative is that inside."""
    return value if limits is None else ca.fmin(ca.fmax(value, limits[0]), limits[1])


def _speed(actuator: Actuator, velocities: Mapping[str, ca.SX]) -> ca.SX:
    return sum((gear * velocities[name] for name, gear in actuator.transmission), ca.SX(0))
