"""Numbers that may depend on parameters: floats and arrays, or CasADi SX expressions.

The description holds plain numbers. If parameters drive some of them (`sarrus.symbolic.multibody.parameters`), the
recursions get scalars and columns of SX instead. These functions accept both; without parameters nothing changes.
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
    """Tell whether a number is an expression or nonzero."""
    return True if isinstance(value, ca.SX) else value != 0.0


def as_casadi(value: Numbers) -> ca.DM | ca.SX:
    """Return a vector or matrix as a CasADi DM or SX."""
    return value if isinstance(value, (ca.SX, ca.DM)) else ca.DM(value)


def stacked_numbers(values: Sequence[float | ca.SX]) -> ca.DM | ca.SX:
    """Return numbers as a column."""
    return ca.vertcat(ca.DM(0, 1), *values)


def place(pose: AnyPose, point: Numbers) -> Numbers:
    """Return position + rotation @ point: coordinates in the outer frame of a point in the frame of the pose."""
    if isinstance(pose, Pose) and isinstance(point, np.ndarray):
        return pose.apply(point)
    return as_casadi(pose.position) + ca.DM(pose.rotation) @ as_casadi(point)


def compose(outer: AnyPose, inner: AnyPose) -> AnyPose:
    """Return outer @ inner, the pose of the inner frame relative to the frame in which ``outer`` is given."""
    if isinstance(outer, Pose) and isinstance(inner, Pose):
        return outer @ inner
    return DrivenPose(ca.SX(place(outer, inner.position)), clean(outer.rotation @ inner.rotation))
