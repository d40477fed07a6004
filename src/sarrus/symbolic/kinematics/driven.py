"""Driven bodies: grounds with a prescribed motion, velocity and acceleration by differentiation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.model.mechanism.driven_body import DrivenBody
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.pose import Pose
from sarrus.symbolic.kinematics.rotations import quaternion_matrix, quaternion_spin
from sarrus.symbolic.kinematics.timed import pose_at


@dataclass(frozen=True, eq=False)
class Ground:
    """Motion of the world or of a driven body, in world axes.

    ``rotation`` with its quaternion and ``position``; angular velocity (``spin``) and velocity; angular acceleration
    (``turning``) and acceleration.
    """

    quaternion: ca.SX
    rotation: ca.SX
    position: ca.SX
    spin: ca.SX
    velocity: ca.SX
    turning: ca.SX
    acceleration: ca.SX

    @classmethod
    def at_rest(cls) -> Ground:
        """Return the motion of the world."""
        zero = ca.SX.zeros(3)
        return cls(ca.SX([1, 0, 0, 0]), ca.SX(ca.DM.eye(3)), zero, zero, zero, zero, zero)


def driven_ground(body: DrivenBody, placement: Pose, t: ca.SX) -> Ground:
    """Return the motion of a driven body; without a quaternion in its function it keeps its orientation."""
    assert body.function is not None
    position, quaternion = pose_at(body.function, t, Label("driven body", body.name))
    velocity = ca.jacobian(position, t)
    if quaternion is None:
        rotation = ca.SX(ca.DM(placement.rotation))
        turn = ca.SX(ca.DM(placement.quaternion))
        spin = ca.SX.zeros(3)
    else:
        rotation, turn = quaternion_matrix(quaternion), quaternion
        spin = quaternion_spin(quaternion, ca.jacobian(quaternion, t))
    return Ground(turn, rotation, position, spin, velocity, ca.jacobian(spin, t), ca.jacobian(velocity, t))
