"""Springs, dampers and user forces of a mechanism, each by its virtual power.

A force F that works on a rate ẋ(q, v), linear in v, gives the generalized force (∂ẋ/∂v)ᵀ F.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from sarrus.errors import ModelError
from sarrus.mechanism.elements import CoordinateSpring, Joint, SpringDamper, UserForce
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.kinematics import Frames
from sarrus.multibody.numbers import stacked_numbers, varies
from sarrus.symbolic import holds_nan, stacked

# Keeps the direction of a spring of zero length finite [m²]; far below any length that matters.
_ZERO_LENGTH = 1e-30


def power_conjugate(rate: ca.SX, v: ca.SX, force: ca.SX) -> ca.SX:
    """Return the generalized force of ``force`` working on ``rate``."""
    return ca.jtimes(rate, v, force, True)


def stretch(length: ca.SX, rest: tuple[float | ca.SX, float | ca.SX]) -> ca.SX:
    """Return how far a length is beyond the rest interval, negative below it."""
    lower, upper = rest
    if ca.is_equal(ca.SX(lower), ca.SX(upper)):
        return length - lower
    return ca.fmax(length - upper, 0) + ca.fmin(length - lower, 0)


def spring_damper(spring: SpringDamper, frames: Frames, v: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the generalized force and the potential energy of a spring-damper between two points."""
    d = frames.point(spring.body2, spring.point2) - frames.point(spring.body1, spring.point1)
    length = ca.sqrt(ca.dot(d.value, d.value) + _ZERO_LENGTH)
    rate = ca.dot(d.value, d.rate) / length
    extension = stretch(length, spring.rest_length)
    force = power_conjugate(rate, v, -(spring.stiffness * extension + spring.damping * rate))
    return force, 0.5 * spring.stiffness * extension**2


def coordinate_spring(
    spring: CoordinateSpring, value: Callable[[str], ca.SX], rate: Callable[[str], ca.SX], v: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Return the generalized force and the potential energy of a spring on a combination of coordinates."""
    length = sum((w * value(name) for name, w in spring.terms), ca.SX(0))
    speed = sum((w * rate(name) for name, w in spring.terms), ca.SX(0))
    extension = stretch(length, spring.rest_length)
    force = power_conjugate(speed, v, -(spring.stiffness * extension + spring.damping * speed))
    return force, 0.5 * spring.stiffness * extension**2


def joint_spring(joint: Joint, q: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the force (nv of the joint) and the potential energy of a joint's own spring.

    Quaternions: the torque is −stiffness × rotation vector from the reference, in body axes, as in MuJoCo.
    """
    reference = stacked_numbers(joint.spring_reference)
    if joint.kind not in ("spherical", "free"):
        extension = q - reference
        return -joint.stiffness * extension, 0.5 * joint.stiffness * ca.dot(extension, extension)
    split = joint.nq - 4
    translation = q[:split] - reference[:split]
    w, x, y, z = ca.vertsplit(q[split:])
    rw, rx, ry, rz = (float(reference[split + i]) for i in range(4))
    scalar_part = rw * w + rx * x + ry * y + rz * z
    vector_part = ca.vertcat(
        rw * x - rx * w - ry * z + rz * y,
        rw * y + rx * z - ry * w - rz * x,
        rw * z - rx * y + ry * x - rz * w,
    )
    sine = ca.sqrt(ca.dot(vector_part, vector_part) + _ZERO_LENGTH)
    side = ca.if_else(scalar_part < 0, -1, 1)
    angle = 2 * ca.atan2(sine, side * scalar_part)
    turn = side * angle / sine * vector_part
    force = -joint.stiffness * ca.vertcat(translation, turn)
    return force, 0.5 * joint.stiffness * (ca.dot(translation, translation) + angle**2)


def damping_force(mechanism: Mechanism, v: ca.SX) -> ca.SX:
    """Return −damping × velocity of all joints."""
    coefficients = [d for joint in mechanism.joints() for d in joint.damping]
    return -stacked_numbers(coefficients) * v if any(map(varies, coefficients)) else ca.SX.zeros(v.shape[0])


def user_force(force: UserForce, frames: Frames, q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
    """Return the generalized force of a user's function; its size is checked."""
    expected = v.shape[0] if force.body is None else 3
    try:
        value = ca.SX(ca.densify(stacked(force.function(q, v, t))))
    except Exception as error:
        raise ModelError(
            f"force {force.name!r}: the function could not be traced over CasADi symbols "
            f"({type(error).__name__}: {error}). Write it with CasADi operations as function(q, v, t)",
            element=force.name,
        ) from error
    if holds_nan(value):
        raise ModelError(
            f"force {force.name!r}: the function gives NaN over CasADi symbols", element=force.name
        )
    if value.shape not in ((expected, 1), (1, expected)):
        raise ModelError(
            f"force {force.name!r}: function(q, v, t) must return {expected} entries, "
            f"got shape {value.shape}",
            element=force.name,
        )
    value = ca.vec(value)
    if force.body is None:
        return value
    return power_conjugate(frames.point(force.body, force.point).rate, v, value)
