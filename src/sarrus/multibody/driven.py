"""Driven bodies: grounds that move as functions of time, with velocity and acceleration by differentiation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.errors import ModelError
from sarrus.equations.symbolic import holds_nan, stacked
from sarrus.mechanism.driven_body import DrivenBody
from sarrus.mechanism.pose import Pose


@dataclass(frozen=True, eq=False)
class DrivenFrame:
    """Where a driven body is in the world and how it moves; twist and spatial acceleration in its own axes."""

    rotation: ca.SX
    quaternion: ca.SX
    position: ca.SX
    angular: ca.SX
    linear: ca.SX
    angular_bias: ca.SX
    linear_bias: ca.SX


def driven_frame(body: DrivenBody, placement: Pose, t: ca.SX) -> DrivenFrame:
    """Return the motion of a driven body; where its function gives no quaternion it keeps its orientation."""
    position, quaternion = _traced(body, t)
    velocity = ca.jacobian(position, t)
    acceleration = ca.jacobian(velocity, t)
    if quaternion is None:
        rotation = ca.SX(ca.DM(placement.rotation))
        turn = ca.SX(ca.DM(placement.quaternion))
        spin = ca.SX.zeros(3)
    else:
        rotation, turn = _matrix(quaternion), quaternion
        spin = _spin(quaternion, ca.jacobian(quaternion, t))
    return DrivenFrame(
        rotation,
        turn,
        position,
        rotation.T @ spin,
        rotation.T @ velocity,
        rotation.T @ ca.jacobian(spin, t),
        rotation.T @ (acceleration - ca.cross(spin, velocity)),
    )


def _traced(body: DrivenBody, t: ca.SX) -> tuple[ca.SX, ca.SX | None]:
    """Return the position and the unit quaternion that a body's function gives; errors name the body."""
    label = f"driven body {body.name!r}"
    assert body.function is not None
    try:
        value = body.function(t)
        parts = value if isinstance(value, tuple) and len(value) == 2 else (value,)
        column = ca.vertcat(*(ca.vec(ca.densify(stacked(part))) for part in parts))
    except Exception as error:
        raise ModelError(
            f"{label}: the function could not be traced over a CasADi symbol ({type(error).__name__}: {error}). "
            "Write it with CasADi operations as function(t)",
            element=body.name,
        ) from error
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
    if holds_nan(column) or not np.isfinite(start).all():
        raise ModelError(f"{label}: function(t) is not finite at t = 0: {start}", element=body.name)
    if column.numel() == 3:
        return column, None
    if np.linalg.norm(start[3:]) < 1e-9:
        raise ModelError(f"{label}: its quaternion has zero length at t = 0", element=body.name)
    return column[:3], column[3:] / ca.norm_2(column[3:])


def _matrix(q: ca.SX) -> ca.SX:
    w, x, y, z = ca.vertsplit(q)
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def _spin(q: ca.SX, rate: ca.SX) -> ca.SX:
    """Return the angular velocity in world axes, 2 q̇ ∘ q*."""
    scalar, vector = q[0], q[1:]
    return 2 * (scalar * rate[1:] - rate[0] * vector - ca.cross(rate[1:], vector))
