"""`ForceBuilder`: adds springs, dampers, actuators and user forces to a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import (
    Activation,
    Actuator,
    CoordinateSpring,
    Function,
    SpringDamper,
    UserForce,
    Winding,
)
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import as_pose, scalar, vector
from sarrus.model.mechanism.transmissions import (
    JointGears,
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
    Transmission,
)


class ForceBuilder(Description):
    """The methods of `Mechanism` that add forces."""

    def add_spring_damper(
        self,
        name: str,
        body1: str,
        body2: str,
        *,
        point1: ArrayLike = (0.0, 0.0, 0.0),
        point2: ArrayLike = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
        law: Function | None = None,
        damper_law: Function | None = None,
    ) -> SpringDamper:
        """Add a spring and damper between two points, each in the axes of its body.

        ``rest_length`` [m], ≥ 0, is one number, or (lower, upper) between which the spring is slack: (0, L)
        is a rope. The bodies are different; one of them may be "world".

        ``law`` adds a tension [N], a function of the extension beyond rest [m]: a function of a CasADi expression,
        or a `Spline`, such as the table of a progressive spring or of a bump stop. The energy of a `Spline` (except
        a periodic one) is part of the potential energy; any other function counts as an external force.
        ``damper_law`` adds a tension [N], a function of the rate [m/s]. A law with memory (hysteresis) needs a state:
        write it as your own equations.
        """
        label = self._fresh(name, "spring", self.springs, self.coordinate_springs, self.tendons)
        self._check_bodies(body1, body2, label)
        rest = checks.rest_length(rest_length, label)
        if rest[0] < 0.0:
            raise fault(label, f"rest_length is a distance and must not be negative, got {rest_length!r}")
        spring = SpringDamper(
            name,
            body1,
            body2,
            vector(point1, 3, "point1", label),
            vector(point2, 3, "point2", label),
            checks.nonnegative(stiffness, "stiffness", label),
            checks.nonnegative(damping, "damping", label),
            rest,
            None if law is None else checks.function(law, "law", label),
            None if damper_law is None else checks.function(damper_law, "damper_law", label),
        )
        self.springs[name] = spring
        return spring

    def add_coordinate_spring(
        self,
        name: str,
        terms: Mapping[str, float],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
        law: Function | None = None,
        damper_law: Function | None = None,
    ) -> CoordinateSpring:
        """Add a spring and damper on Σ weight × coordinate (MuJoCo's fixed tendon).

        ``law`` and ``damper_law`` are as in `add_spring_damper`, for example smooth joint friction:
        ``damper_law=stribeck(...)`` (`sarrus.model.mechanism.laws`).
        """
        label = self._fresh(name, "spring", self.springs, self.coordinate_springs, self.tendons)
        spring = CoordinateSpring(
            name,
            self._weights(terms, "terms", label),
            checks.nonnegative(stiffness, "stiffness", label),
            checks.nonnegative(damping, "damping", label),
            checks.rest_length(rest_length, label),
            None if law is None else checks.function(law, "law", label),
            None if damper_law is None else checks.function(damper_law, "damper_law", label),
        )
        self.coordinate_springs[name] = spring
        return spring

    def add_actuator(
        self,
        name: str,
        target: str | Mapping[str, float] | Transmission,
        *,
        gear: float = 1.0,
        gain: float = 1.0,
        bias: ArrayLike = (0.0, 0.0, 0.0),
        limits: tuple[float, float] | None = None,
        force_limits: tuple[float, float] | None = None,
        activation: Activation | Winding | None = None,
        gain_slopes: tuple[float, float] = (0.0, 0.0),
        motor_constant: float | None = None,
    ) -> Actuator:
        """Add an actuator on a velocity by name (a scalar joint's own name), several with gears, or a transmission.

        ``target`` may be one of `sarrus.model.mechanism.transmissions`, with its own gear: along a tendon, at a
        frame, on a slider-crank. The generalized force is gear × (gain × u + bias[0] + bias[1] × length + bias[2] ×
        rate), with the length defined in `sarrus.model.mechanism.elements.Actuator`. A position servo has gain kp and
        bias (0, −kp, −kd). ``limits`` [unit of u] bound u, ``force_limits`` [N, N m] the scalar force gain × u +
        bias; both are (lower, upper) and hold wherever u enters the equations. With an ``activation`` its state w
        takes the place of u in the force: a coordinate of its own, after the coordinates of the joints. With a
        `Winding` the state is a current [A], u a voltage [V], and the force is gain [N/A, N m/A] × current without
        bias. Control laws need a mechanism without activations (`Mechanism.without_activation`). ``motor_constant``
        K_t / √R [N m/√W, N/√W] of the data sheet is needed by `Trajectory.motor_loss`; it changes no motion.

        Raises `ModelError` for an unknown target and for limits in the wrong order.

        """
        label = self._fresh(name, "actuator", self.actuators)
        b, slopes = vector(bias, 3, "bias", label), vector(gain_slopes, 2, "gain_slopes", label)
        actuator = Actuator(
            name,
            self._transmission(target, gear, label),
            scalar(gain, "gain", label),
            (float(b[0]), float(b[1]), float(b[2])),
            checks.bounds(limits, "limits", label),
            checks.bounds(force_limits, "force_limits", label),
            None if activation is None else checks.activation(activation, label),
            (float(slopes[0]), float(slopes[1])),
            None if motor_constant is None else checks.positive(motor_constant, "motor_constant", label),
        )
        if isinstance(actuator.activation, Winding):
            _check_winding(actuator, label)
        self.actuators[name] = actuator
        return actuator

    def _transmission(self, target: Any, gear: float, label: Label) -> JointGears | Transmission:
        if isinstance(target, Transmission):
            return self._elsewhere(target, label)
        gears = {target: gear} if isinstance(target, str) else target
        checks.mapping(gears, "target", label)
        for velocity in gears:
            self._velocity(velocity, label)
        return tuple((velocity, scalar(g, "gear", label)) for velocity, g in gears.items())

    def _elsewhere(self, target: Transmission, label: Label) -> Transmission:
        """Return a checked transmission other than constant gears on joints."""
        if isinstance(target, TendonTransmission):
            self._tendon(target.tendon, label)
            return TendonTransmission(target.tendon, scalar(target.gear, "gear", label))
        if isinstance(target, ParentTransmission):
            sizes = {joint.name: {"spherical": 3, "free": 6}.get(joint.kind, 0) for joint in self.joints()}
            valid = tuple(name for name, size in sizes.items() if size)
            check_name("spherical or free joint", target.joint, valid, label)
            gear = vector(target.gear, sizes[target.joint], "gear", label)
            return ParentTransmission(target.joint, tuple(map(float, gear)))
        if isinstance(target, SiteTransmission):
            self.check_body(target.body, label)
            reference = None
            if target.reference is not None:
                self.check_body(target.reference[0], label)
                reference = target.reference[0], as_pose(target.reference[1], "reference", label)
            pose, gears = as_pose(target.pose, "pose", label), vector(target.gear, 6, "gear", label)
            return SiteTransmission(target.body, pose, tuple(map(float, gears)), reference)
        self.check_body(target.body, label)
        self.check_body(target.slider, label)
        pin, pose = vector(target.pin, 3, "pin", label), as_pose(target.pose, "pose", label)
        rod, gear_ratio = scalar(target.rod, "rod", label), scalar(target.gear, "gear", label)
        if rod <= 0.0:
            raise fault(label, f"the rod of a slider-crank must be positive, got {rod}")
        return SliderCrank(target.body, pin, target.slider, pose, rod, gear_ratio)

    def without_activation(self) -> Self:
        """Return a copy without activation dynamics: the controls act at once, with w = u.

        The current of a winding is its steady state (u − k ω) / R within its limits, as without inductance. The
        coordinates are then those of the joints alone. Control laws are made for such mechanisms.
        """
        duplicate, kept = self.snapshot(), len([x for joint in self.joints() for x in joint.coordinate_names])
        for name, actuator in self.actuators.items():
            if isinstance(actuator.activation, Winding):
                duplicate.actuators[name] = _without_inductance(actuator, actuator.activation)
            elif actuator.activation is not None:
                integrates = actuator.activation.kind == "integrator"
                limits = actuator.activation.limits if integrates else actuator.limits
                duplicate.actuators[name] = replace(actuator, limits=limits, activation=None)
        duplicate.keyframes = {name: replace(key, q=key.q[:kept]) for name, key in self.keyframes.items()}
        return duplicate

    def add_force(
        self,
        name: str,
        function: Callable[[Any, Any, Any], Any],
        *,
        body: str | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
        through_joints: bool = False,
    ) -> UserForce:
        """Add a force function(q, v, t) of CasADi vectors, compiled into the equations.

        With ``body``: force [N] in world axes on ``point`` (body axes). Without: nv generalized forces.
        ``through_joints`` marks a force on a body as exerted through its joints; only force sensors depend on it.
        """
        label = self._fresh(name, "force", self.forces)
        if not callable(function):
            raise fault(label, "function must be callable as function(q, v, t)")
        if body is not None:
            self._body(body, label)
        force = UserForce(name, function, body, vector(point, 3, "point", label), through_joints)
        self.forces[name] = force
        return force


def _check_winding(actuator: Actuator, label: Label) -> None:
    """Raise unless the force of an actuator with a winding is gain × current, without bias and gain slopes."""
    if actuator.gain == 0.0:
        raise fault(label, "gain is the force per ampere of its winding and must not be zero")
    if actuator.motor_constant is not None:
        raise fault(label, "with a Winding the loss is R i², by its resistance: leave motor_constant out")
    if any(actuator.bias) or any(actuator.gain_slopes):
        raise fault(label, "with a Winding the force is gain × current: bias and gain_slopes must be zero")


def _without_inductance(actuator: Actuator, winding: Winding) -> Actuator:
    """Return the actuator with the steady-state current (u − k ω) / R, within the limits of the current."""
    k, ohm, limits = actuator.gain, winding.resistance, actuator.force_limits
    if winding.limits is not None:
        pair = np.sort(k * np.array(winding.limits))
        lower, upper = pair if limits is None else np.clip(pair, *limits)
        limits = float(lower), float(upper)
    return replace(
        actuator,
        gain=k / ohm,
        bias=(0.0, 0.0, -k * k / ohm),
        force_limits=limits,
        activation=None,
        motor_constant=abs(k) / ohm**0.5,
    )
