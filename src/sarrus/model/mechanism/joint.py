"""`Joint`: its kinds, the elementary joints of each, and the names of its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array

# Labels of the coordinates and velocities of each joint kind, appended to the joint's name.
COORDINATE_LABELS: dict[str, tuple[str, ...]] = {
    "revolute": ("",),
    "prismatic": ("",),
    "screw": ("",),
    "cylindrical": (".translation", ".angle"),
    "universal": (".angle1", ".angle2"),
    "planar": (".x", ".y", ".angle"),
    "spherical": (".qw", ".qx", ".qy", ".qz"),
    "free": (".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"),
}

VELOCITY_LABELS: dict[str, tuple[str, ...]] = COORDINATE_LABELS | {
    "spherical": (".wx", ".wy", ".wz"),
    "free": (".vx", ".vy", ".vz", ".wx", ".wy", ".wz"),
}

# Elementary joints in series of each kind, one for each coordinate (spherical and free have several), with the
# direction of each: ``axis``, ``axis2``, or ``across``, the normal to both.
SERIES: dict[str, tuple[tuple[str, str], ...]] = {
    "revolute": (("revolute", "axis"),),
    "prismatic": (("prismatic", "axis"),),
    "screw": (("screw", "axis"),),
    "cylindrical": (("prismatic", "axis"), ("revolute", "axis")),
    "universal": (("revolute", "axis"), ("revolute", "axis2")),
    "planar": (("prismatic", "axis2"), ("prismatic", "across"), ("revolute", "axis")),
    "spherical": (("spherical", "axis"),),
    "free": (("free", "axis"),),
}

JOINT_KINDS: tuple[str, ...] = ("fixed", *COORDINATE_LABELS)


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint of a body, in body axes; several joints of one body act in series, as in MuJoCo.

    ``anchor`` [m] and ``axis`` are in the frame of the child body. ``axis2`` is the second axis of a
    universal joint, or the x direction of a planar one. ``reference`` is the coordinate at which the body
    has its reference placement; ``limits``, ``stiffness`` [N/m, N m/rad], ``spring_reference``,
    ``damping``, ``armature`` and ``limit_restitution`` have one entry per degree of freedom if they are tuples.
    ``actuator_force_limits`` [N, N m] bound the sum of the actuators' forces on a joint of one degree of freedom.
    ``pitch`` is the advance per turn of a screw [m]: translation = pitch × angle / 2π.
    ``limits`` and ``friction`` (dry friction per degree of freedom [N, N m]) act in runs, statics and dynamics.
    ``limit_restitution`` is Newton's coefficient of impacts on both limits, from 0 to 1, empty if not given.
    ``largest_angle``, the limit of the rotation angle of a spherical joint from the identity [rad], is recorded only.
    """

    name: str
    kind: str
    anchor: Array
    axis: Array
    axis2: Array
    pitch: float = 0.0
    reference: tuple[float, ...] = ()
    limits: tuple[tuple[float, float] | None, ...] = ()
    stiffness: float = 0.0
    spring_reference: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    armature: tuple[float, ...] = ()
    actuator_force_limits: tuple[float, float] | None = None
    friction: tuple[float, ...] = ()
    largest_angle: float | None = None
    limit_restitution: tuple[float, ...] = ()

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(COORDINATE_LABELS.get(self.kind, ()))

    @property
    def nv(self) -> int:
        """Number of velocities (degrees of freedom)."""
        return len(VELOCITY_LABELS.get(self.kind, ()))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(self.name + label for label in COORDINATE_LABELS.get(self.kind, ()))

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities."""
        return tuple(self.name + label for label in VELOCITY_LABELS.get(self.kind, ()))

    @property
    def across(self) -> Array:
        """The direction normal to both axes."""
        return np.cross(self.axis, self.axis2)

    @property
    def series(self) -> tuple[tuple[str, Array], ...]:
        """Kinds and axes of the elementary joints in series."""
        return tuple((kind, getattr(self, axis)) for kind, axis in SERIES.get(self.kind, ()))

    @property
    def turning_names(self) -> tuple[str, ...]:
        """Names of the coordinates that are angles: q and q + 2π are the same configuration."""
        return tuple(
            name for name, (kind, _) in zip(self.coordinate_names, self.series) if kind == "revolute"
        )

    @property
    def slides(self) -> bool:
        """Whether the first elementary joint is prismatic."""
        return bool(self.series) and self.series[0][0] == "prismatic"
