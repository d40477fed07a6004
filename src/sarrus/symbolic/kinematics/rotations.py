"""Quaternions (wxyz) over CasADi scalars: products, matrices, rotation vectors."""

from __future__ import annotations

import casadi as ca

from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH


def product(a: ca.SX | ca.DM, b: ca.SX | ca.DM) -> ca.SX:
    """Return a ∘ b, the rotation b followed by a."""
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def conjugate(a: ca.SX | ca.DM) -> ca.SX | ca.DM:
    """Return the quaternion of the inverse rotation."""
    return ca.vertcat(a[0], -a[1:])


def quaternion_matrix(q: ca.SX) -> ca.SX:
    """Return the rotation matrix of a unit wxyz quaternion, as polynomials of its entries."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_spin(q: ca.SX, rate: ca.SX) -> ca.SX:
    """Return the angular velocity 2 q̇ ∘ q* in the axes to which q rotates."""
    scalar, vector = q[0], q[1:]
    return 2 * (scalar * rate[1:] - rate[0] * vector - ca.cross(rate[1:], vector))


def quaternion_rotation_vector(quaternion: ca.SX) -> ca.SX:
    """Return axis × angle of the rotation of a unit quaternion, with an angle of at most π."""
    scalar, vector = quaternion[0], quaternion[1:]
    sine = ca.sqrt(ca.dot(vector, vector) + ZERO_LENGTH)
    side = ca.if_else(scalar < 0, -1, 1)
    angle = 2 * ca.atan2(sine, side * scalar)
    return side * angle / sine * vector
