"""Unit quaternions among the coordinates of a system."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from sarrus.mechanism.pose import Array

# A quaternion whose squared length is this near to one counts as a rotation.
UNIT = 1e-12
_SHORTEST = 1e-9


@njit(
    types.boolean(types.Array(types.float64, 1, "C", readonly=True), types.Array(types.int64, 1, "C")),
    cache=True,
)
def are_unit(q, starts):
    """Tell whether the quaternions that begin at ``starts`` have length one; short or NaN entries pass."""
    for start in starts:
        if start + 4 <= q.shape[0]:
            w, x, y, z = q[start], q[start + 1], q[start + 2], q[start + 3]
            if abs(w * w + x * x + y * y + z * z - 1.0) > UNIT:
                return False
    return True


def normalize(q: Array, starts: np.ndarray) -> int | None:
    """Scale the quaternions in q to length one, in place; return where one begins that has no length."""
    for start in starts:
        size = np.linalg.norm(q[start : start + 4])
        if size < _SHORTEST:
            return int(start)
        q[start : start + 4] /= size
    return None
