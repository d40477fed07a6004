"""`BodyMotion`: position, velocity and acceleration of a point of a body, and of the body's axes, along a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.body_motion import motion_function, place_on
from sarrus.motion.records.readings import states_of
from sarrus.motion.records.recorded_motion import RecordedMotion


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of a point of a body and of the body's axes along a run, in world axes (read-only arrays, time first).

    Attributes
    ----------
    t : (T,) [s]. body : name of the body. point : (3,) in axes of the body [m].
    position : (T, 3) of the point [m]. rotation : (T, 3, 3); its columns are the body's axes.
    velocity : (T, 3) ṗ of the point [m/s]. angular_velocity : (T, 3) ω of the body [rad/s].
    acceleration : (T, 3) p̈ = J a + J̇ v [m/s²], without gravity. angular_acceleration : (T, 3) ω̇ [rad/s²].
    """

    t: Array
    body: str
    point: Array
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array


def body_motion(trajectory: RecordedMotion, body: str, point: ArrayLike) -> BodyMotion:
    """Return the `BodyMotion` of a point (3,) of a body along a run; see `sarrus.Trajectory.body_motion`."""
    system = trajectory.moved_system()
    if system is None or system.mechanism is None:
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: no mechanism is known that has bodies", element="mechanism"
        )
    place = place_on(system, body, point)
    function = motion_function(system, body)
    x = states_of(trajectory, system, {**system.parameters, **trajectory.parameters})
    found = function.evaluate_each(np.hstack([x, np.tile(place, (len(x), 1))]))
    parts = {name: read_only(part.copy()) for name, part in found.items()}

    def accelerated(jacobian: str, bias: str) -> Array:
        return read_only(np.einsum("tij,tj->ti", parts[jacobian], trajectory.a) + parts[bias][:, :, 0])

    return BodyMotion(
        trajectory.t,
        body,
        read_only(place.copy()),
        parts["position"][:, :, 0],
        parts["rotation"],
        parts["linear_velocity"][:, :, 0],
        parts["angular_velocity"][:, :, 0],
        accelerated("linear", "linear_bias"),
        accelerated("angular", "angular_bias"),
    )
