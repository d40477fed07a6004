"""Actuators of a mechanism: their generalized force, activation dynamics, and limits.

The force of an actuator is clamp(gain × clamp(u) + bias), with the activation w in place of clamp(u) if it has one; its
generalized force is gear × force. If a joint or a tendon has limits of the total actuator force, the sum of the forces
is held within them (MuJoCo's ctrlrange, actrange, forcerange, actuatorfrcrange). In the equations k contains the bias,
S has no limits, and the input force contains the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Actuator, Winding
from sarrus.model.mechanism.transmissions import TendonTransmission
from sarrus.symbolic.forces.lengths import Length, Lengths
from sarrus.symbolic.forces.tolerances import CURRENT_WIDTH
from sarrus.symbolic.kinematics.scalars import varies

# Values of scalar coordinates by name.
Named = Mapping[str, ca.SX]


def actuation_matrix(mechanism: Mechanism, lengths: Lengths) -> ca.SX:
    """Return S (nv × nu): generalized force per unit of control, without limits.

    Controls with an activation do not act instantaneously: their columns are zero.
    """
    matrix = ca.SX.zeros(len(mechanism.velocity_names), len(mechanism.actuators))
    for k, actuator in enumerate(mechanism.actuators.values()):
        if actuator.activation is None:
            along = lengths.of(actuator)
            matrix[:, k] = along.moment * _gain(actuator, along)
    return matrix


def bias_force(mechanism: Mechanism, lengths: Lengths, v: ca.SX) -> ca.SX:
    """Return the generalized force (nv,) of all actuators at u = 0 and w = 0, without limits."""
    total = ca.SX.zeros(v.shape[0])
    for actuator in mechanism.actuators.values():
        if any(map(varies, actuator.bias)):
            along = lengths.of(actuator)
            total += along.moment * _bias(actuator, along)
    return total


def forces(mechanism: Mechanism, lengths: Lengths, coordinates: Named, u: ca.SX) -> dict[str, ca.SX]:
    """Return the scalar forces of the actuators, before their gears, within their limits.

    If a tendon limits the total force of its actuators, all of them are scaled by one factor before their own limits
    act, as in MuJoCo.
    """
    whole = {}
    for actuator, control in zip(mechanism.actuators.values(), ca.vertsplit(u)):
        along = lengths.of(actuator)
        whole[actuator.name] = _gain(actuator, along) * _drive(actuator, control, coordinates) + _bias(
            actuator, along
        )
    for tendon in mechanism.tendons.values():
        members = [a.name for a in mechanism.actuators.values() if _pulled(a) == tendon.name]
        if tendon.force_limits is not None and members:
            share = _share(sum((whole[name] for name in members), ca.SX(0)), tendon.force_limits)
            whole |= {name: share * whole[name] for name in members}
    return {name: clamp(force, mechanism.actuators[name].force_limits) for name, force in whole.items()}


def input_force(mechanism: Mechanism, lengths: Lengths, coordinates: Named, v: ca.SX, u: ca.SX) -> ca.SX:
    """Return the generalized force (nv,) of controls and activations beyond the bias: S u without limits."""
    joints = {j.name: j.actuator_force_limits for j in mechanism.joints() if j.actuator_force_limits}
    tendons = {tendon.name for tendon in mechanism.tendons.values() if tendon.force_limits}
    limited = forces(mechanism, lengths, coordinates, u)
    added, total = ca.SX.zeros(v.shape[0]), ca.SX.zeros(v.shape[0])
    for actuator, control in zip(mechanism.actuators.values(), ca.vertsplit(u)):
        along = lengths.of(actuator)
        if actuator.force_limits or _pulled(actuator) in tendons:
            push = limited[actuator.name] - _bias(actuator, along)
        else:  # without the bias, which cancels
            push = _gain(actuator, along) * _drive(actuator, control, coordinates)
        added += along.moment * push
        total += along.moment * limited[actuator.name]
    names = mechanism.velocity_names
    for name, limits in joints.items():
        k = names.index(name)
        added[k] += clamp(total[k], limits) - total[k]
    return added


def activation_rate(mechanism: Mechanism, lengths: Lengths, coordinates: Named, u: ca.SX) -> ca.SX:
    """Return ẇ of the activations in the order of their actuators; for a winding (u − R i − k ω) / L.

    At a limit ẇ is zero if it points outward. (MuJoCo's documentation, computation: activation dynamics.) A current
    that a step carried beyond its limit falls back to it with the time constant L/R.
    """
    rates = []
    for actuator, control in zip(mechanism.actuators.values(), ca.vertsplit(u)):
        activation = actuator.activation
        if activation is None:
            continue
        w, rate = coordinates[actuator.activation_name], clamp(control, actuator.limits)
        if isinstance(activation, Winding):
            induced = actuator.gain * lengths.of(actuator).rate
            rate = (rate - activation.resistance * w - induced) / activation.inductance
        elif activation.kind == "filter":
            rate = (rate - w) / activation.time_constant
        if activation.limits is not None:
            lower, upper = activation.limits
            above, below = ca.fmin(rate, 0), ca.fmax(rate, 0)
            if isinstance(activation, Winding):
                back = activation.resistance / activation.inductance
                width = CURRENT_WIDTH * max(abs(limit) for limit in (lower, upper, 0.0) if np.isfinite(limit))
                above -= back * ca.fmax(w - upper - width, 0)
                below -= back * ca.fmin(w - lower + width, 0)
            rate = ca.if_else(w >= upper, above, ca.if_else(w <= lower, below, rate))
        rates.append(rate)
    return ca.vertcat(ca.SX(0, 1), *rates)


def current(actuator: Actuator, coordinates: Named) -> ca.SX:
    """Return the current of a winding within its limits [A]."""
    assert actuator.activation is not None
    return clamp(coordinates[actuator.activation_name], actuator.activation.limits)


def magnetic_energies(mechanism: Mechanism, coordinates: Named) -> dict[str, ca.SX]:
    """Return the energies ½ L i² [J] of the windings by the names of their motors."""
    return {
        name: 0.5 * actuator.activation.inductance * coordinates[actuator.activation_name] ** 2
        for name, actuator in mechanism.actuators.items()
        if isinstance(actuator.activation, Winding)
    }


def clamp(value: ca.SX, limits: tuple[float, float] | None) -> ca.SX:
    """Return the nearest value within limits, NaN for NaN; at a limit the derivative is the one inside."""
    lower, upper = limits or (-np.inf, np.inf)
    if upper < np.inf:
        value = ca.if_else(value > upper, upper, value)
    return ca.if_else(value < lower, lower, value) if lower > -np.inf else value


def _pulled(actuator: Actuator) -> str | None:
    """Return the tendon that an actuator pulls on."""
    return actuator.transmission.tendon if isinstance(actuator.transmission, TendonTransmission) else None


def _share(total: ca.SX, limits: tuple[float, float]) -> ca.SX:
    """Return the factor that scales a total force into limits containing zero; one inside."""
    lower, upper = limits
    above = upper / ca.fmax(total, upper) if upper > 0.0 else ca.if_else(total > 0.0, 0.0, 1.0)
    below = lower / ca.fmin(total, lower) if lower < 0.0 else ca.if_else(total < 0.0, 0.0, 1.0)
    return ca.SX(1.0 if np.isinf(upper) else above) * (1.0 if np.isinf(lower) else below)


def _drive(actuator: Actuator, control: ca.SX, coordinates: Named) -> ca.SX:
    """Return the factor of the gain: the control, or the activation, within its limits."""
    if actuator.activation is None:
        return clamp(control, actuator.limits)
    return current(actuator, coordinates)


def _gain(actuator: Actuator, along: Length) -> ca.SX:
    """Return the scalar force of an actuator per unit of control, which may depend on its length and rate."""
    per_length, per_rate = actuator.gain_slopes
    total = ca.SX(actuator.gain)
    if varies(per_length) or varies(per_rate):
        total += per_length * along.value + per_rate * along.rate
    return total


def _bias(actuator: Actuator, along: Length) -> ca.SX:
    """Return the scalar force of an actuator at u = 0, without limits."""
    constant, per_length, per_rate = actuator.bias
    total = ca.SX(constant)
    if varies(per_rate):
        total += per_rate * along.rate
    if varies(per_length):
        total += per_length * along.value
    return total
