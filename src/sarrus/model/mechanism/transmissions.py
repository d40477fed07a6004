"""Where an actuator pulls, other than on joints by constant gears: what it measures and works on (as in MuJoCo)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose


@dataclass(frozen=True)
class TendonTransmission:
    """Force along a tendon of the mechanism: length = gear × L, positive force shortens where gear is negative."""

    tendon: str
    gear: float = 1.0


@dataclass(frozen=True)
class ParentTransmission:
    """Torque on a spherical or free joint in the axes of its parent (of the world): MuJoCo's jointinparent.

    ``gear`` has 3 entries for a spherical joint, 6 for a free one, of which the first three are a force in world axes.
    The length is gear · rotation vector of a spherical joint, and zero of a free one.
    """

    joint: str
    gear: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SiteTransmission:
    """Force and torque at a frame of a body.

    ``gear`` are force (3) and torque (3) per unit, in the axes of the frame ``pose`` on ``body``; the length is zero.
    With a ``reference`` (body and pose) they are in the axes of the reference, act there the other way round, and the
    length is gear · (position of the frame in the reference, rotation vector from the reference to the frame). What
    moves both bodies alike does not count as motion between them.
    """

    body: str
    pose: Pose
    gear: tuple[float, ...]
    reference: tuple[str, Pose] | None = None


@dataclass(frozen=True, eq=False)
class SliderCrank:
    """A slider that a rod of length ``rod`` [m] joins to a pin: force along the slider's axis.

    The pin is ``pin`` [m] on ``body``; the slider runs along z of ``pose`` on ``slider``. The length is gear × where
    the slider is on its axis; where the rod is too short to reach the axis, where the pin stands over it.
    """

    body: str
    pin: Array = field(default_factory=lambda: np.zeros(3))
    slider: str = ""
    pose: Pose = field(default_factory=Pose)
    rod: float = 0.0
    gear: float = 1.0


JointGears = tuple[tuple[str, float], ...]
Transmission = TendonTransmission | ParentTransmission | SiteTransmission | SliderCrank
