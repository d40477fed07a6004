"""Quantities of bodies: position of a `point`, `orientation` (both also relative to another body), and `gaze`."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import three_numbers
from sarrus.control.quantities.quantities import (
    AXES,
    Part,
    Quantity,
    chosen_axes,
    direction,
    frames_of,
    of_jet,
)
from sarrus.control.quantities.tolerances import SMALL_ROTATION, SMALL_ROTATION_SQUARE
from sarrus.dynamics.system import System
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet, dot, through, vertcat
from sarrus.symbolic.kinematics.kinematics import cross


def point(
    body: str, position: ArrayLike = (0.0, 0.0, 0.0), axes: str = AXES, relative_to: str = WORLD
) -> Part:
    """Return the quantity position [m] of a point given in body axes; ``axes`` such as "xy" selects rows.

    The position is in world axes, or from the origin and in the axes of the body ``relative_to``.
    """
    where, chosen = three_numbers(position, "position"), chosen_axes(axes)

    def trace(system: System) -> Quantity:
        frames = frames_of(system, body, relative_to)
        jet = _seen(frames, frames.point(body, where), relative_to)
        jet = Jet(*(part[chosen] for part in (jet.value, jet.rate, jet.bias)))
        return of_jet(system, jet, tuple(f"{_label(body, relative_to)}.{AXES[k]}" for k in chosen), "m")

    return Part(trace)


def orientation(body: str, axes: str = AXES, relative_to: str = WORLD) -> Part:
    """Return the quantity orientation of a body; the rows are rotations about the world's axes [rad].

    The reference is a rotation vector from the world's axes (direction times angle, of a rotation R_d); the error is
    the rotation vector of R_d Rᵀ, whose length must stay below π. For a planar mechanism ``axes`` is the normal, and
    the reference the angle. A reference that turns about changing axes is followed up to the difference between the
    rate of the rotation vector and the angular velocity. With ``relative_to`` the axes of that body replace the
    world's.
    """
    chosen = chosen_axes(axes)

    def trace(system: System) -> Quantity:
        frames = frames_of(system, body, relative_to)
        columns = [frames.direction(body, axis) for axis in np.eye(3)]
        rate = frames.angular_velocity(body)
        if relative_to != WORLD:
            own = ca.horzcat(*(frames.direction(relative_to, axis).value for axis in np.eye(3)))
            rate = own.T @ (rate - frames.angular_velocity(relative_to))
            columns = [_turned(frames, column, relative_to) for column in columns]
        rotation = ca.horzcat(*[c.value for c in columns])
        # ω = ½ Σ c × ċ, and the same with c̈ for its derivative
        bias = sum((0.5 * cross(c.value, c.bias) for c in columns), ca.SX.zeros(3))

        def error(wanted: ca.SX) -> ca.SX:
            full = ca.SX.zeros(3)
            for row, k in enumerate(chosen):
                full[k] = wanted[row]
            return _logarithm(_rotation(full) @ rotation.T)[chosen]

        rows = tuple(f"{_label(body, relative_to)}.r{AXES[k]}" for k in chosen)
        jacobian = ca.jacobian(rate[chosen], system.equations.v)
        value = _logarithm(rotation)[chosen]
        units = ("rad",) * len(rows)
        return Quantity(rows, value, rate[chosen], jacobian, bias[chosen], error, direct=False, units=units)

    return Part(trace)


def gaze(
    body: str,
    axis: ArrayLike,
    target: str | ArrayLike,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Part:
    """Return the quantity gaze: two angles [rad] between an axis of a body and the line to a target, zero on the
    target.

    The line begins at ``position`` [m], in body axes as ``axis`` is. ``target`` is a point of the world [m], or the
    name of a body with ``point`` [m] in its axes. With w the line in body axes, and t1, t2 two axes across ``axis`` n
    (t1 the most perpendicular of x, y, z, made perpendicular; t2 = n × t1), the rows are atan2(w·t1, w·n) and
    atan2(w·t2, w·n), the picture coordinates of a camera, so that bounds of them are a field of view. They are smooth
    except where the target is perpendicular to both n and t1, or n and t2.
    """
    n, eye = direction(axis, "axis"), three_numbers(position, "position")
    t1 = perpendicular_to(n)
    at = three_numbers(
        point if isinstance(target, str) else target, "point" if isinstance(target, str) else "target"
    )
    other = target if isinstance(target, str) else WORLD

    def trace(system: System) -> Quantity:
        frames = frames_of(system, body, other)
        line = frames.point(other, at) - frames.point(body, eye)
        ahead, *across = (dot(frames.direction(body, way), line) for way in (n, t1, np.cross(n, t1)))
        jet = vertcat([through(ca.atan2, aside, ahead) for aside in across])
        return of_jet(system, jet, (f"{body}.gaze1", f"{body}.gaze2"), "rad")

    if other == body:
        raise ArgumentError(f"gaze of {body!r}: the target must not be on {body!r} itself", element="target")
    return Part(trace)


def _label(body: str, relative_to: str) -> str:
    return body if relative_to == WORLD else f"{body} from {relative_to}"


def _seen(frames: Frames, place: Jet, body: str) -> Jet:
    """Return the jet of a point relative to the origin and in the axes of a body."""
    return place if body == WORLD else _turned(frames, place - frames.point(body, np.zeros(3)), body)


def _turned(frames: Frames, way: Jet, body: str) -> Jet:
    """Return the jet of a vector in the axes of a body."""
    return vertcat([dot(frames.direction(body, axis), way) for axis in np.eye(3)])


def _logarithm(rotation: ca.SX) -> ca.SX:
    """Return direction times angle of a rotation matrix, for angles below π; smooth at zero."""
    axial = 0.5 * ca.vertcat(
        rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]
    )
    sine = ca.norm_2(axial)
    angle = ca.atan2(sine, 0.5 * (ca.trace(rotation) - 1.0))
    small = sine < SMALL_ROTATION
    return ca.if_else(small, 1.0, angle / ca.if_else(small, 1.0, sine)) * axial


def _rotation(vector: ca.SX) -> ca.SX:
    """Return the rotation matrix of a rotation vector (Rodrigues), smooth at zero."""
    square = ca.dot(vector, vector)
    small = square < SMALL_ROTATION_SQUARE
    angle = ca.sqrt(ca.if_else(small, 1.0, square))
    first = ca.if_else(small, 1.0, ca.sin(angle) / angle)
    second = ca.if_else(small, 0.5, (1.0 - ca.cos(angle)) / (angle * angle))
    k = ca.skew(vector)
    return ca.SX.eye(3) + first * k + second * (k @ k)
