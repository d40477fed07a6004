"""Rolling elements in drawings: rims, points of contact, and directions of the forces there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.rolling import Rolling
from sarrus.symbolic.kinematics.jet import constant
from sarrus.symbolic.rows.surface_contacts import contact_point, tangents

# Corners of a rim.
_CORNERS = 24


@dataclass(frozen=True, eq=False)
class RollingPlaces:
    """Places of contact of rolling elements, in world axes; leading axes are those of the given poses.

    ``low`` is the lowest point (of a cone that of its base), ``centre`` the centre (of a cone its apex) [m]; the
    directions are those of the rows. For a circle that lies flat ``low`` is its centre.
    """

    centre: Array
    low: Array
    normal: Array
    longitudinal: Array
    lateral: Array


def places_of(
    rolling: Rolling, numbers: Mapping[str, int], positions: Array, rotations: Array
) -> RollingPlaces:
    """Return the places at positions (…, nb + 1, 3) and rotations (…, nb + 1, 3, 3) of the bodies and the ground."""
    body, ground = numbers[rolling.body], numbers[rolling.ground]
    turn, plane = rotations[..., body, :, :], rotations[..., ground, :, :]
    centre = positions[..., body, :] + turn @ rolling.centre
    normal, axis = plane @ rolling.normal, turn @ rolling.axis
    if rolling.surface is not None:
        return _on_surface(rolling, positions[..., ground, :], plane, centre, axis)
    if rolling.kind == "ball":
        ways = plane @ rolling.tangent1, plane @ rolling.tangent2
        return RollingPlaces(centre, centre - rolling.radius * normal, normal, *ways)
    lean = np.sum(axis * normal, axis=-1, keepdims=True)
    sine = np.linalg.norm(np.cross(axis, normal), axis=-1, keepdims=True)
    one = np.divide(1.0, sine, out=np.zeros_like(sine), where=sine > 0.0)
    low = centre - rolling.radius * one * (normal - lean * axis)
    if rolling.kind == "cone":
        low = low + rolling.radius / np.tan(rolling.half_angle) * axis
    return RollingPlaces(centre, low, normal, one * np.cross(axis, normal), one * (axis - lean * normal))


def _on_surface(rolling: Rolling, origin: Array, plane: Array, centre: Array, axis: Array) -> RollingPlaces:
    """Return the places on a surface of the ground at ``origin`` with axes ``plane``."""
    local = np.array([rolling.tangent1, rolling.tangent2, rolling.normal])
    turn = plane @ local.T
    away = np.swapaxes(turn, -1, -2) @ (centre - origin - plane @ rolling.origin)[..., None]
    lean = np.swapaxes(turn, -1, -2) @ axis[..., None]
    data = np.concatenate([away[..., 0], lean[..., 0]], axis=-1).reshape(-1, 6)
    found = np.array(_touch(rolling)(data.T)).T.reshape(*centre.shape[:-1], 4, 3)
    found[..., 0, :] = np.where(np.isfinite(found[..., 0, :]), found[..., 0, :], 0.0)
    arm, *ways = ((turn @ found[..., k, :, None])[..., 0] for k in range(4))
    return RollingPlaces(centre, centre + arm, *np.nan_to_num(ways))


@lru_cache(maxsize=64)
def _touch(rolling: Rolling) -> ca.Function:
    """Return the function of centre and axis in local axes that returns arm, normal, longitudinal and lateral
    direction.
    """
    d, a = ca.SX.sym("d", 3), ca.SX.sym("a", 3)
    found = contact_point(rolling, constant(d), constant(a))
    n = found.normal.value
    if rolling.kind == "ball":
        ways = [jet.value for jet in tangents(rolling, found.normal)]
    else:
        x = ca.cross(a, n)
        x = x / ca.norm_2(x)
        ways = [x, ca.cross(n, x)]
    return ca.Function("contact_point", [ca.vertcat(d, a)], [ca.vertcat(found.arm.value, n, *ways)])


def rim(rolling: Rolling) -> list[tuple[Array, Array]]:
    """Return the lines of a rolling element, in axes of its body: a circle, and two generators of a cone."""
    if not rolling.radius:
        return []
    one = perpendicular_to(rolling.axis)
    other = np.cross(rolling.axis, one)
    angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    centre = rolling.centre
    if rolling.kind == "cone":
        centre = centre + rolling.radius / np.tan(rolling.half_angle) * rolling.axis
    corners = [centre + rolling.radius * (np.cos(a) * one + np.sin(a) * other) for a in angles]
    lines = list(zip(corners, [*corners[1:], corners[0]]))
    if rolling.kind == "cone":
        lines += [(rolling.centre, corners[0]), (rolling.centre, corners[_CORNERS // 2])]
    return lines
