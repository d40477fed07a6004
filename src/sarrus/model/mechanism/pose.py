"""Rigid placements: rotation matrices, wxyz quaternions and `Pose`, the placement of one frame in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError
from sarrus.base.numbers import real_array
from sarrus.model.mechanism.faults import fault
from sarrus.model.mechanism.tolerances import (
    LARGEST,
    NO_DIRECTION,
    ORTHONORMAL,
    PERPENDICULAR,
    SNAPPED,
    ZERO_QUATERNION,
)


def clean(array: ArrayLike) -> Array:
    """Return a copy in which entries within 1e-14 of -1, 0 or 1 are exactly -1, 0 or 1.

    Rotation by 90° about an axis then has exact zeros, and the traced equations of a planar mechanism
    keep their planar structure.
    """
    out = np.array(array, dtype=float)
    nearest = np.rint(out)
    close = (np.abs(out - nearest) < SNAPPED) & (np.abs(nearest) <= 1.0)
    out[close] = nearest[close]
    return out + 0.0  # no negative zeros


def numbers(value: ArrayLike) -> Array:
    """Return a copy of ``value`` as an array of floats, an empty one if it cannot be converted."""
    try:
        return np.array(real_array(value))
    except (TypeError, ValueError):
        return np.empty(0)


def vector(value: ArrayLike, size: int, what: str, element: str) -> Array:
    """Return ``value`` as a finite float vector of length ``size``; the error names ``element``."""
    out = numbers(value)
    if out.shape != (size,):
        shown = f"shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        raise fault(element, f"{what} must be {size} numbers, got {shown}")
    check_range(out, value, what, element)
    return out


def scalar(value: Any, what: str, element: str) -> float:
    """Return ``value`` as a finite float; the error names ``element``."""
    try:
        out = float(value)
    except (TypeError, ValueError):
        raise fault(element, f"{what} must be a number, got {value!r}") from None
    check_range(np.array(out), value, what, element)
    return out


def check_range(out: Array, value: Any, what: str, element: str) -> None:
    """Raise unless the numbers in ``value`` are finite and at most LARGEST in size."""
    if not np.all(np.isfinite(out)):
        raise fault(element, f"{what} must be finite, got {value!r}")
    if np.any(np.abs(out) > LARGEST):
        raise fault(element, f"{what} must be at most {LARGEST:g} in size, got {out.tolist()}")


def unit_vector(value: ArrayLike, what: str, element: str) -> Array:
    """Return ``value`` scaled to length one; a direction of zero length is an error."""
    out = vector(value, 3, what, element)
    length = float(np.linalg.norm(out))
    if length < NO_DIRECTION:
        raise fault(element, f"{what} has zero length; give a direction such as (0, 0, 1)")
    return clean(out / length)


def rotation_of_quaternion(quaternion: ArrayLike) -> Array:
    """Return the rotation matrix of a wxyz quaternion, which need not have unit length."""
    w, x, y, z = real_array(quaternion) / np.linalg.norm(quaternion)
    return clean(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of_rotation(rotation: ArrayLike) -> Array:
    """Return the wxyz quaternion, w ≥ 0, of a rotation matrix (Shepperd's choice of pivot)."""
    r = real_array(rotation)
    trace = float(np.trace(r))
    squares = np.array([trace, r[0, 0], r[1, 1], r[2, 2]])
    pivot = int(np.argmax(squares))
    q = np.empty(4)
    if pivot == 0:
        q[:] = [1 + trace, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    else:
        i = pivot - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        q[0] = r[k, j] - r[j, k]
        q[1 + i] = 1 + r[i, i] - r[j, j] - r[k, k]
        q[1 + j] = r[j, i] + r[i, j]
        q[1 + k] = r[k, i] + r[i, k]
    q /= np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def rotation_of_rpy(rpy: ArrayLike) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's and SDF's fixed-axis roll-pitch-yaw."""
    roll, pitch, yaw = real_array(rpy)
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(angle), np.sin(angle)) for angle in (roll, pitch, yaw))
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return clean(rz @ ry @ rx)


def perpendicular_to(axis: ArrayLike) -> Array:
    """Return a unit vector perpendicular to the unit vector ``axis``: the projection of x, or of y or z."""
    a = real_array(axis)
    seed = np.eye(3)[int(np.argmin(np.abs(a).round(6)))]
    out = seed - a * (a @ seed)
    return clean(out / np.linalg.norm(out))


def rotation_along(axis: Array) -> Array:
    """Return a rotation whose z axis is the unit vector ``axis``."""
    x = perpendicular_to(axis)
    return np.column_stack([x, np.cross(axis, x), axis])


def plane_axes(normal: ArrayLike, tangent: ArrayLike | None, element: str) -> tuple[Array, Array, Array]:
    """Return the unit normal of a plane and two unit tangents, the first as given; the three are right-handed."""
    n = unit_vector(normal, "normal", element)
    along = perpendicular_to(n) if tangent is None else unit_vector(tangent, "tangent", element)
    if abs(float(n @ along)) > PERPENDICULAR:
        raise fault(element, "tangent must be perpendicular to normal")
    return n, along, clean(np.cross(n, along))


def times(a: Any, b: Any) -> Array:
    """Return A B, A x or x·y, summed in index order: BLAS rounds differently on different processors."""
    return np.asarray((a * b).sum(axis=-1) if b.ndim == 1 else (a[:, :, None] * b).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Pose:
    """Placement of a frame B in a frame A: a point with coordinates r in B has position + rotation @ r in A."""

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        position = clean(vector(self.position, 3, "position", "pose"))
        rotation = clean(self.rotation)
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=ORTHONORMAL):
            raise ModelError("pose: rotation must be an orthogonal 3×3 matrix", element="pose")
        if np.linalg.det(rotation) < 0:
            raise ModelError("pose: rotation must be right-handed (determinant +1)", element="pose")
        position.flags.writeable = rotation.flags.writeable = False
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "rotation", rotation)

    @classmethod
    def of(
        cls,
        position: ArrayLike = (0.0, 0.0, 0.0),
        *,
        quaternion: ArrayLike | None = None,
        rpy: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> Pose:
        """Return the pose of a position [m] and a wxyz quaternion, roll-pitch-yaw [rad] or rotation matrix."""
        if sum(x is not None for x in (quaternion, rpy, rotation)) > 1:
            raise ModelError("pose: give one of quaternion, rpy and rotation", element="pose")
        if quaternion is not None:
            quaternion = vector(quaternion, 4, "quaternion", "pose")
            if np.linalg.norm(quaternion) < ZERO_QUATERNION:
                raise ModelError("pose: quaternion has zero length", element="pose")
            rotation = rotation_of_quaternion(quaternion)
        elif rpy is not None:
            rotation = rotation_of_rpy(vector(rpy, 3, "rpy", "pose"))
        elif rotation is None:
            rotation = np.eye(3)
        return cls(real_array(position), real_array(rotation))

    @property
    def quaternion(self) -> Array:
        """The rotation as a wxyz quaternion with w ≥ 0."""
        return quaternion_of_rotation(self.rotation)

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.apply(other.position), times(self.rotation, other.rotation))

    def inverse(self) -> Pose:
        """Return the placement of A in B."""
        return Pose(-times(self.rotation.T, self.position), self.rotation.T)

    def apply(self, point: ArrayLike) -> Array:
        """Return the coordinates in A of a point given in B."""
        return self.position + times(self.rotation, real_array(point))


PoseLike = Pose | Sequence[float] | Array | None


def as_pose(value: PoseLike, what: str, element: str) -> Pose:
    """Return a pose from a `Pose`, a position of three numbers, or None for the identity."""
    if value is None:
        return Pose()
    if isinstance(value, Pose):
        return value
    return Pose(vector(value, 3, what, element))
