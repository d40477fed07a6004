"""A named state of a mechanism: coordinates, velocities, controls and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named state of a file or a user. As an array, a keyframe is its ``q``.

    Attributes
    ----------
    name : str
    q : (nq,) coordinates.
    v, u : (nv,) velocities and (nu,) controls, None if all are zero; `System.keyframe` fills in the zeros.
    t : time [s].
    poses : poses of driven bodies at that time, as pairs (body, pose in the world). Recorded only: a driven body
        follows its function, see `Mechanism.drive`.
    """

    name: str
    q: Array
    v: Array | None = None
    u: Array | None = None
    t: float = 0.0
    poses: tuple[tuple[str, Pose], ...] = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the coordinates."""
        return np.array(self.q, dtype=dtype)
