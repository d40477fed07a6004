"""Numbers that may depend on parameters: floats and arrays, or CasADi SX in their place.

The description holds plain numbers. Where parameters drive some of them (`sarrus.symbolic.multibody.parameters`), the
recursions meet scalars and columns of SX instead, which these functions let pass. Without parameters nothing is
different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose, clean


@dataclass(frozen=True, eq=False)
class DrivenPose:
    """A pose whose position depends on parameters; its rotation is constant."""

    position: ca.SX
    rotation: Array


AnyPose = Pose | DrivenPose
Numbers = Array | ca.DM | ca.SX


def is_driven(value: Any) -> bool:
    """Tell whether a number, vector or matrix depends on parameters."""
    return isinstance(value, ca.SX)


def varies(value: float | ca.SX) -> bool:
    """Tell whether a number is anything but zero."""
    return True if isinstance(value, ca.SX) else value != 0.0


def as_casadi(value: Numbers) -> ca.DM | ca.SX:
    """Return a vector or matrix as CasADi has it."""
    return value if isinstance(value, (ca.SX, ca.DM)) else ca.DM(value)


def stacked_numbers(values: Sequence[float | ca.SX]) -> ca.DM | ca.SX:
    """Return numbers as a column."""
    return ca.vertcat(ca.DM(0, 1), *values)


def place(pose: AnyPose, point: Numbers) -> Numbers:
    """Return in the frame that the pose is given in the coordinates of a point in the frame that it places."""
    if isinstance(pose, Pose) and isinstance(point, np.ndarray):
        return pose.apply(point)
    return as_casadi(pose.position) + ca.DM(pose.rotation) @ as_casadi(point)


def compose(outer: AnyPose, inner: AnyPose) -> AnyPose:
    """Return the pose of what ``inner`` places in the frame that ``outer`` is given in."""
    if isinstance(outer, Pose) and isinstance(inner, Pose):
        return outer @ inner
    return DrivenPose(ca.SX(place(outer, inner.position)), clean(outer.rotation @ inner.rotation))
