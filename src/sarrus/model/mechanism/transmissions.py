"""Transmissions of actuators other than constant gears on joints: their length and their generalized force."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose


@dataclass(frozen=True)
class TendonTransmission:
    """A force along a tendon: length = gear × L of the tendon; for gear < 0 a positive force shortens it."""

    tendon: str
    gear: float = 1.0


@dataclass(frozen=True)
class ParentTransmission:
    """A torque on a spherical or free joint in axes of its parent (free joint: of the world): MuJoCo's jointinparent.

    ``gear`` has 3 entries for a spherical joint; for a free joint 6, the first three a force in world axes. The length
    is gear · rotation vector for a spherical joint, zero for a free one.
    """

    joint: str
    gear: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SiteTransmission:
    """A force and torque at a frame of a body.

    ``gear`` has force (3) and torque (3) per unit, in the axes of the frame ``pose`` on ``body``; the length is zero.
    With a ``reference`` (body and pose) both are in the axes of the reference, with the opposite force and torque on
    it, and the length is gear · (position of the frame in the reference, rotation vector from the reference to the
    frame). Motion common to both bodies does no work and changes no length.
    """

    body: str
    pose: Pose
    gear: tuple[float, ...]
    reference: tuple[str, Pose] | None = None


@dataclass(frozen=True, eq=False)
class SliderCrank:
    """A force along the axis of a slider that a rod of length ``rod`` [m] joins to a pin.

    The pin is ``pin`` [m] on ``body``; the slider moves along z of ``pose`` on ``slider``. The length is gear × the
    position of the slider on its axis; if the rod is too short to reach the axis, gear × the projection of the pin.
    """

    body: str
    pin: Array = field(default_factory=lambda: np.zeros(3))
    slider: str = ""
    pose: Pose = field(default_factory=Pose)
    rod: float = 0.0
    gear: float = 1.0


JointGears = tuple[tuple[str, float], ...]
Transmission = TendonTransmission | ParentTransmission | SiteTransmission | SliderCrank
