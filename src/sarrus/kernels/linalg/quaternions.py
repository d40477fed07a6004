"""Unit quaternions among the coordinates of a system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.tolerances import NO_QUATERNION
from sarrus.kernels.memory.tolerances import UNIT_QUATERNION


def are_unit(q: Array, starts: np.ndarray) -> bool:
    """Tell whether the quaternions at ``starts`` have length one; True also for incomplete or NaN quaternions."""
    for start in starts:
        part = q[start : start + 4].tolist()
        if len(part) == 4:
            w, x, y, z = part
            if abs(w * w + x * x + y * y + z * z - 1.0) > UNIT_QUATERNION:
                return False
    return True


def normalize(q: Array, starts: Iterable[int]) -> int | None:
    """Normalize the quaternions in q (nq,) or (…, nq) in place.

    Return the start of the first quaternion of length zero, else None.
    """
    for start in starts:
        part = q[..., start : start + 4]
        size = np.sqrt(np.add.reduce(part * part, axis=-1, keepdims=True))
        if (size < NO_QUATERNION).any():
            return int(start)
        part /= size
    return None


def normalized_expression(q: ca.SX, starts: Sequence[int]) -> ca.SX:
    """Return an expression of q with its quaternions scaled to length one."""
    scaled = ca.SX(q)
    for start in starts:
        part = q[start : start + 4]
        scaled[start : start + 4] = part / ca.sqrt(ca.sumsqr(part))
    return scaled
