"""Driven bodies: grounds that move as functions of time, with velocity and acceleration by differentiation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.errors import ModelError
from sarrus.equations.symbolic import stacked, traced_matrix
from sarrus.mechanism.driven_body import DrivenBody
from sarrus.mechanism.pose import Pose
from sarrus.multibody.rotations import quaternion_matrix


@dataclass(frozen=True, eq=False)
class Ground:
    """How the world or a driven body moves, in world axes.

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
        """Return that of the world."""
        zero = ca.SX.zeros(3)
        return cls(ca.SX([1, 0, 0, 0]), ca.SX(ca.DM.eye(3)), zero, zero, zero, zero, zero)


def driven_ground(body: DrivenBody, placement: Pose, t: ca.SX) -> Ground:
    """Return the motion of a driven body; where its function gives no quaternion it keeps its orientation."""
    position, quaternion = _traced(body, t)
    velocity = ca.jacobian(position, t)
    if quaternion is None:
        rotation = ca.SX(ca.DM(placement.rotation))
        turn = ca.SX(ca.DM(placement.quaternion))
        spin = ca.SX.zeros(3)
    else:
        rotation, turn = quaternion_matrix(quaternion), quaternion
        spin = _spin(quaternion, ca.jacobian(quaternion, t))
    return Ground(turn, rotation, position, spin, velocity, ca.jacobian(spin, t), ca.jacobian(velocity, t))


def _traced(body: DrivenBody, t: ca.SX) -> tuple[ca.SX, ca.SX | None]:
    """Return the position and the unit quaternion that a body's function gives; errors name the body."""
    label = f"driven body {body.name!r}"

    def stacked_parts(t: ca.SX) -> ca.SX:
        assert body.function is not None
        value = body.function(t)
        parts = value if isinstance(value, tuple) and len(value) == 2 else (value,)
        return ca.vertcat(*(ca.vec(ca.densify(stacked(part))) for part in parts))

    remedy = "Write it with CasADi operations as function(t)"
    column = traced_matrix(stacked_parts, (t,), label, remedy, ModelError, body.name)
    if column.numel() not in (3, 7):
        raise ModelError(
            f"{label}: function(t) must return a position (3 entries), or a position and a wxyz quaternion (7), "
            f"got {column.numel()}",
            element=body.name,
        )
    foreign = [s.name() for s in ca.symvar(column) if s.element_hash() != t.element_hash()]
    if foreign:
        raise ModelError(f"{label}: function(t) depends on other symbols: {foreign}", element=body.name)
    start = np.array(ca.Function("start", [t], [column])(0.0)).ravel()
    if not np.isfinite(start).all():
        raise ModelError(f"{label}: function(t) is not finite at t = 0: {start}", element=body.name)
    if column.numel() == 3:
        return column, None
    if np.linalg.norm(start[3:]) < 1e-9:
        raise ModelError(f"{label}: its quaternion has zero length at t = 0", element=body.name)
    return column[:3], column[3:] / ca.norm_2(column[3:])


def _spin(q: ca.SX, rate: ca.SX) -> ca.SX:
    """Return the angular velocity in world axes, 2 q̇ ∘ q*."""
    scalar, vector = q[0], q[1:]
    return 2 * (scalar * rate[1:] - rate[0] * vector - ca.cross(rate[1:], vector))
