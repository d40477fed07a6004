"""Targets of inverse kinematics: the user's values as errors with derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from sarrus.analysis.configurations.tolerances import NO_ROTATION, SERIES_ANGLE
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array, three_numbers
from sarrus.dynamics.system import System
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.tolerances import ORTHONORMAL
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links

Place = float | Sequence[float | None] | Array | Pose
Targets = Mapping[str | tuple[str, Sequence[float]], Place]


def scalar_coordinates(system: System) -> dict[str, tuple[int, int]]:
    """Return the places in q and in v of the coordinates whose rate is a velocity of the same name, by name."""
    velocity = {name: j for j, name in enumerate(system.velocity_names)}
    return {name: (k, velocity[name]) for k, name in enumerate(system.coordinate_names) if name in velocity}


class CoordinateTarget:
    """A scalar coordinate at a value; ``factors`` convert errors to characteristic units, for all targets."""

    def __init__(self, system: System, name: str, value: float) -> None:
        scalars = scalar_coordinates(system)
        check_known("scalar coordinate", name, scalars, "targets")
        self.name, self._value = name, float(value)
        self._index, velocity = scalars[name]
        self._row = np.eye(system.nv)[[velocity]]
        self.factors = system.characteristic.coordinates[[self._index]]

    def error(self, q: Array) -> Array:
        """Return q − value."""
        return np.array([q[self._index] - self._value])

    def jacobian(self, q: Array) -> Array:
        """Return the unit row."""
        return self._row


class BodyTarget:
    """A point of a body at a position, a body in an orientation, or both; ``kept`` are the components that count."""

    def __init__(
        self, system: System, name: str, body: str, point: Array, place: Array | None, turn: Array | None
    ) -> None:
        self.name, self._system, self._body, self._point = name, system, body, point
        self._place = np.zeros(3) if place is None else place
        self._turn = np.eye(3) if turn is None else turn
        self._kept = np.concatenate([np.full(3, place is not None), np.full(3, turn is not None)])
        if place is not None:
            self._kept[:3] = ~np.isnan(place)
        self.factors = np.repeat([1.0 / system.characteristic.length, 1.0], 3)[self._kept]

    def _evaluate(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Return position and rotation of the body, and the Jacobians of its origin and its angular velocity."""
        system, body = self._system, self._body
        tree = system.equations.tree
        assert tree is not None

        def outputs() -> dict[str, ca.SX]:
            e = system.equations
            frames = Frames(tree, links(tree, e.q, e.v))
            position, rotation = frames.placement(body)
            return {
                "position": position,
                "rotation": rotation,
                "linear": ca.jacobian(frames.point(body, np.zeros(3)).rate, e.v),
                "angular": ca.jacobian(frames.angular_velocity(body), e.v),
            }

        native = system.compiled.named(f"motion of {body}", outputs)
        parts = native.evaluate(system.pack(q))
        return parts["position"][:, 0], parts["rotation"], parts["linear"], parts["angular"]

    def error(self, q: Array) -> Array:
        """Return position error [m] and the rotation vector from the target orientation [rad]."""
        position, rotation, _, _ = self._evaluate(q)
        offset = position + rotation @ self._point - self._place
        return np.concatenate([offset, rotation_vector(rotation @ self._turn.T)])[self._kept]

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of the error along velocities."""
        _, rotation, linear, angular = self._evaluate(q)
        lever = _cross(rotation @ self._point)
        turned = inverse_left_jacobian(rotation_vector(rotation @ self._turn.T)) @ angular
        return np.vstack([linear - lever @ angular, turned])[self._kept]


def target(system: System, key: Any, value: Any) -> CoordinateTarget | BodyTarget:
    """Return the target of a key and a value; raises `ArgumentError` that lists valid forms."""
    name, point = key if isinstance(key, tuple) and len(key) == 2 else (key, (0.0, 0.0, 0.0))
    label = f"targets[{key!r}]"
    if not isinstance(name, str):
        raise ArgumentError(
            f"{label}: a key is a name or a pair of a body's name and a point", element=str(key)
        )
    if isinstance(value, (int, float, np.number)) and name is key:
        if not np.isfinite(value):
            raise ArgumentError(f"{label}: must be finite, got {value}", element=name)
        return CoordinateTarget(system, name, float(value))
    bodies = tuple(system.mechanism.bodies) if system.mechanism else ()
    check_known("body", name, bodies, label)
    place, turn = _place_and_turn(value, label, name)
    local = three_numbers(point, f"{label}: the point", element=name)
    text = name if name is key else f"{name} {tuple(float(x) for x in local)}"
    return BodyTarget(system, text, name, local, place, turn)


def _place_and_turn(value: Any, label: str, name: str) -> tuple[Array | None, Array | None]:
    """Return the given position (NaN for free components) and rotation matrix; None for a missing one."""
    if isinstance(value, Pose):
        return value.position, value.rotation
    try:
        array = np.array(real_array(value))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape == (3, 3) and np.allclose(array @ array.T, np.eye(3), atol=ORTHONORMAL):
        return None, array
    if array.shape == (3,) and not np.isinf(array).any() and not np.isnan(array).all():
        return array, None
    raise ArgumentError(
        f"{label}: must be a number (coordinate), three numbers (position, None where free), a Pose or a "
        f"3×3 rotation matrix, got {value!r}",
        element=name,
    )


def _cross(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_vector(rotation: Array) -> Array:
    """Return the rotation vector (3,) [rad] of a rotation matrix, up to half a turn."""
    w, *vector = Pose.of(rotation=rotation).quaternion
    sine = float(np.linalg.norm(vector))
    scale = 2.0 if sine < NO_ROTATION else 2.0 * np.arctan2(sine, w) / sine
    return scale * np.array(vector)


def inverse_left_jacobian(e: Array) -> Array:
    """Return J⁻¹ (3, 3) with ė = J⁻¹ ω for the rotation vector e = log R and Ṙ = ω × R."""
    angle = float(np.linalg.norm(e))
    k = _cross(e)
    if angle < SERIES_ANGLE:
        return np.eye(3) - k / 2 + k @ k / 12
    factor = (1.0 - angle / (2.0 * np.tan(angle / 2.0))) / angle**2
    return np.eye(3) - k / 2 + factor * k @ k
