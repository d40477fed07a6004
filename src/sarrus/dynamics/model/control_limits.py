"""Limits of controls: as bounds of u, or, if they depend on the state, by the name of the actuator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Actuator
from sarrus.model.mechanism.transmissions import TendonTransmission

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


def control_bounds(system: Evaluations) -> Array:
    """Return (lower, upper) rows of u (2, nu): limits of u, and of the force of actuators without bias divided by gain.

    Force limits of a servo depend on position and speed, limits behind an activation on its state; they are not
    included. All limits act in the equations.
    """
    key = "bounds", *system.parameters.values()
    return system.model.cached_lru(key, lambda: _control_bounds(system))


def _control_bounds(system: Evaluations) -> Array:
    bounds = np.array([np.full(system.nu, -np.inf), np.full(system.nu, np.inf)])
    if not system.mechanism:
        return read_only(bounds)
    mechanism = system.current_mechanism()
    joints = {joint.name: joint.actuator_force_limits for joint in mechanism.joints()}
    alone = _driven_alone(mechanism)
    for k, actuator in enumerate(mechanism.actuators.values()):
        found = [actuator.limits] if actuator.limits else []
        if actuator.gain and not _varies(actuator) and actuator.activation is None:
            found += _scaled(actuator.force_limits, actuator.gain)
            if actuator.name in alone:
                name, gear = alone[actuator.name]
                found += _scaled(joints.get(name), actuator.gain * gear)
        for lower, upper in found:
            bounds[:, k] = np.clip((lower, upper), *bounds[:, k])
    return read_only(bounds)


def force_at_zero_control(system: Evaluations) -> ca.SX:
    """Return the expression (nv,) of the force of the controls at u = 0: not zero where the limits of u exclude zero.

    There the equations replace u by the nearest value within its limits, as for a cable that must not go slack.
    """
    e, nearest = system.equations, np.clip(0.0, *control_bounds(system))
    without = (
        e.activation_places.stop == e.activation_places.start
    )  # behind an activation u acts on its rate alone
    return e.actuation @ ca.DM(nearest) if without and nearest.any() else ca.SX(e.nv, 1)


def limited_by_state(system: Evaluations) -> tuple[str, ...]:
    """Return the actuators whose limits are no bounds of u: servos, and actuators that share a limited joint."""
    if not system.mechanism:
        return ()
    mechanism = system.current_mechanism()
    joints = {joint.name for joint in mechanism.joints() if joint.actuator_force_limits}
    alone = _driven_alone(mechanism)
    return tuple(
        actuator.name
        for actuator in mechanism.actuators.values()
        if (_varies(actuator) and actuator.force_limits)
        or (
            isinstance(actuator.transmission, TendonTransmission)
            and mechanism.tendons[actuator.transmission.tendon].force_limits
        )
        or (_reaches(actuator, joints) and (_varies(actuator) or actuator.name not in alone))
    )


def _varies(actuator: Actuator) -> bool:
    """Tell whether the force at a given control depends on position or speed."""
    return any(actuator.bias) or any(actuator.gain_slopes)


def _reaches(actuator: Actuator, joints: set[str]) -> bool:
    """Tell whether an actuator acts on one of the joints."""
    gears = actuator.transmission
    return any(name in joints for name, _ in gears) if isinstance(gears, tuple) else bool(joints)


def _driven_alone(mechanism: Mechanism) -> dict[str, tuple[str, float]]:
    """Return (velocity, gear) of each actuator on one velocity that no other actuator drives; {} with transmissions."""
    gears = {a.name: a.transmission for a in mechanism.actuators.values()}
    on_joints = {name: g for name, g in gears.items() if isinstance(g, tuple)}
    driven = [velocity for g in on_joints.values() for velocity, _ in g]
    if len(on_joints) < len(gears):
        return {}
    return {name: g[0] for name, g in on_joints.items() if len(g) == 1 and driven.count(g[0][0]) == 1}


def _scaled(limits: tuple[float, float] | None, factor: float) -> list[tuple[float, float]]:
    """Return the limits of u from limits of factor × u."""
    if limits is None or factor == 0.0:
        return []
    lower, upper = sorted(x / factor for x in limits)
    return [(lower, upper)]
