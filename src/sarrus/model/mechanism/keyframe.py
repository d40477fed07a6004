"""A named state of a mechanism: coordinates, velocities, controls and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state that a file or a user gives a name. Where an array is asked for, a keyframe is its ``q``.

    Attributes
    ----------
    name : str
    q : (nq,) coordinates.
    v, u : (nv,) velocities and (nu,) controls; None where they are all zero. `System.keyframe` fills them in.
    t : time [s].
    poses : where driven bodies are then, as pairs of a body and its pose in the world. Recorded: what moves a
        driven body is its function, see `Mechanism.drive`.
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
