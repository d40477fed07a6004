"""What drives a simulation from outside: control laws, applied forces and events.

A function is compiled into the kernel when it returns CasADi expressions of the symbols (q, v, t); a Python
callable with a sample time is called once per sample, its value held in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.codegen import NativeFunction
from sarrus.equations.symbolic import traced
from sarrus.mechanism.transmissions import TendonTransmission

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.mechanism.elements import Actuator
    from sarrus.mechanism.mechanism import Mechanism

InputFunction = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Event:
    """A zero of function(q, v, t), a CasADi expression, located within a step.

    direction : 1 counts rising zeros, −1 falling ones, 0 both. terminal : the run stops there.
    Raises `ArgumentError` for another direction.
    """

    name: str
    function: InputFunction
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ArgumentError(
                f"event {self.name!r}: direction must be -1, 0 or 1, got {self.direction!r}",
                element=self.name,
            )


def trace_function(system: System, function: InputFunction, size: int, what: str) -> ca.SX:
    """Return function(q, v, t) as an SX column of ``size`` entries over the system's symbols."""
    e = system.equations
    remedy = "Write it with CasADi operations, or give sample_time= to call it as plain Python"
    return traced(function, (e.q, e.v, e.t), what, remedy, size)


def compile_control(system: System, control: InputFunction) -> NativeFunction:
    """Compile a control law u(q, v, t) over CasADi symbols."""
    return system.compiled.compile("control", {"u": trace_function(system, control, system.nu, "control")})


def compile_events(system: System, events: Sequence[Event]) -> tuple[NativeFunction, Array]:
    """Compile event functions; return them with their (direction, terminal) rows."""
    names = [event.name for event in events]
    if len(set(names)) != len(names):
        raise ArgumentError(f"events: names must be unique, got {names}", element="events")
    rows = [trace_function(system, event.function, 1, f"event {event.name!r}") for event in events]
    modes = np.array([[float(np.sign(event.direction)), float(event.terminal)] for event in events])
    return system.compiled.compile("events", {"g": ca.vertcat(*rows)}), modes


def with_force(system: System, force: InputFunction) -> System:
    """Return a system with the applied generalized force force(q, v, t) compiled into its passive forces."""
    from sarrus.dynamics.system import System as Class

    e = system.equations
    value = trace_function(system, force, system.nv, "force")
    driven = Class.from_symbolic(replace(e, passive_force=e.passive_force + value, conservative=False))
    driven.adopt(system)
    return driven


def sampled(function: InputFunction, q: Array, v: Array, t: float, size: int, what: str) -> Array:
    """Return the value of a Python function at a sample; the caller adds the time to its errors."""
    value = real_array(function(q, v, t))
    if value.ndim == 0 and size == 1:
        value = value[None]
    if value.shape != (size,):
        raise ArgumentError(f"{what} must return {size} entries, got shape {value.shape}", element=what)
    if not np.isfinite(value).all():
        raise ArgumentError(f"{what} returned {value}; every entry must be finite", element=what)
    return value


def control_bounds(system: System) -> Array:
    """Return (lower, upper) rows of u: its own limits, and where a motor without bias reaches a limit of force.

    Limits of the force of a servo depend on its place and speed; they act in the equations, as all of these do.
    """
    bounds = np.array([np.full(system.nu, -np.inf), np.full(system.nu, np.inf)])
    if not system.mechanism:
        return bounds
    mechanism = system.current_mechanism()
    joints = {joint.name: joint.actuator_force_limits for joint in mechanism.joints()}
    alone = _driven_alone(mechanism)
    for k, actuator in enumerate(mechanism.actuators.values()):
        found = [actuator.limits] if actuator.limits else []
        if actuator.gain and not _varies(actuator):
            found += _scaled(actuator.force_limits, actuator.gain)
            if actuator.name in alone:
                name, gear = alone[actuator.name]
                found += _scaled(joints.get(name), actuator.gain * gear)
        for lower, upper in found:
            bounds[:, k] = np.clip((lower, upper), *bounds[:, k])
    return bounds


def limited_by_state(system: System) -> tuple[str, ...]:
    """Return the actuators whose limits `control_bounds` cannot say: servos, and those that share a joint."""
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
    """Tell whether the force at a control depends on place or speed."""
    return any(actuator.bias) or any(actuator.gain_slopes)


def _reaches(actuator: Actuator, joints: set[str]) -> bool:
    """Tell whether an actuator may act on one of some joints."""
    gears = actuator.transmission
    return any(name in joints for name, _ in gears) if isinstance(gears, tuple) else bool(joints)


def _driven_alone(mechanism: Mechanism) -> dict[str, tuple[str, float]]:
    """Return velocity and gear of the actuators that have one, and it for themselves; none where some act elsewhere."""
    gears = {a.name: a.transmission for a in mechanism.actuators.values()}
    on_joints = {name: g for name, g in gears.items() if isinstance(g, tuple)}
    driven = [velocity for g in on_joints.values() for velocity, _ in g]
    if len(on_joints) < len(gears):
        return {}
    return {name: g[0] for name, g in on_joints.items() if len(g) == 1 and driven.count(g[0][0]) == 1}


def _scaled(limits: tuple[float, float] | None, factor: float) -> list[tuple[float, float]]:
    """Return the limits of u from those of factor × u."""
    if limits is None or factor == 0.0:
        return []
    lower, upper = sorted(x / factor for x in limits)
    return [(lower, upper)]
