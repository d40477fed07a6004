"""`Sensor`: a named measurement: its kind (as in MJCF), target, frame and unit."""

from __future__ import annotations

from dataclasses import dataclass, field

from sarrus.model.mechanism.pose import Pose

_ONE, _XYZ, _QUATERNION = ("",), (".x", ".y", ".z"), (".qw", ".qx", ".qy", ".qz")

# Labels of the entries of each kind, appended to the sensor's name, and their unit, empty if it depends on the
# target. The kinds are named as in MJCF.
ENTRIES: dict[str, tuple[tuple[str, ...], str]] = {
    "jointpos": (_ONE, ""),
    "jointvel": (_ONE, ""),
    "ballquat": (_QUATERNION, "1"),
    "ballangvel": (_XYZ, "rad/s"),
    "tendonpos": (_ONE, ""),
    "tendonvel": (_ONE, ""),
    "actuatorpos": (_ONE, ""),
    "actuatorvel": (_ONE, ""),
    "actuatorfrc": (_ONE, ""),
    "jointactuatorfrc": (_ONE, ""),
    "framepos": (_XYZ, "m"),
    "framequat": (_QUATERNION, "1"),
    "framexaxis": (_XYZ, "1"),
    "frameyaxis": (_XYZ, "1"),
    "framezaxis": (_XYZ, "1"),
    "framelinvel": (_XYZ, "m/s"),
    "frameangvel": (_XYZ, "rad/s"),
    "framelinacc": (_XYZ, "m/s²"),
    "frameangacc": (_XYZ, "rad/s²"),
    "velocimeter": (_XYZ, "m/s"),
    "gyro": (_XYZ, "rad/s"),
    "accelerometer": (_XYZ, "m/s²"),
    "magnetometer": (_XYZ, "T"),
    "force": (_XYZ, "N"),
    "torque": (_XYZ, "N m"),
    "subtreecom": (_XYZ, "m"),
    "subtreelinvel": (_XYZ, "m/s"),
    "subtreeangmom": (_XYZ, "kg m²/s"),
    "clock": (_ONE, "s"),
    "e_potential": (_ONE, "J"),
    "e_kinetic": (_ONE, "J"),
}
# Magnetic field [T, world axes] of a mechanism without an own one, the default of MuJoCo.
MAGNETIC_FIELD = (0.0, -0.5, 0.0)
SENSOR_KINDS: tuple[str, ...] = tuple(ENTRIES)

# Type of the target of each kind.
SCALAR_KINDS = ("jointpos", "jointvel", "jointactuatorfrc")
BALL_KINDS = ("ballquat", "ballangvel")
LENGTH_KINDS = ("tendonpos", "tendonvel")
ACTUATOR_KINDS = ("actuatorpos", "actuatorvel", "actuatorfrc")
SUBTREE_KINDS = ("subtreecom", "subtreelinvel", "subtreeangmom")
GLOBAL_KINDS = ("clock", "e_potential", "e_kinetic")
REACTION_KINDS = ("force", "torque")
FRAME_KINDS = tuple(
    kind
    for kind in SENSOR_KINDS
    if kind not in (*SCALAR_KINDS, *BALL_KINDS, *LENGTH_KINDS, *ACTUATOR_KINDS, *SUBTREE_KINDS, *GLOBAL_KINDS)
)
# Kinds that can have a reference frame, kinds that need accelerations, and kinds with directions as entries, which
# have no cutoff.
RELATIVE_KINDS = (
    "framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel",
)  # fmt: skip
ACCELERATION_KINDS = ("framelinacc", "frameangacc", "accelerometer", "force", "torque")
DIRECTION_KINDS = ("ballquat", "framequat", "framexaxis", "frameyaxis", "framezaxis")


@dataclass(frozen=True, eq=False)
class Sensor:
    """A named measurement of the state; `Mechanism.add_sensor` lists the ``kind`` s.

    ``target`` is the measured coordinate, velocity, joint, spring, actuator or body; it is empty for clock, energies
    and lengths Σ weight × coordinate, which have ``terms``. ``pose`` is the frame of the sensor in axes of its body.
    ``reference`` is the body of the reference frame, with ``reference_pose`` on it, None for the world. ``cutoff`` > 0
    clips entries at ± its value. ``noise``, a standard deviation, is recorded only.
    """

    name: str
    kind: str
    target: str = ""
    terms: tuple[tuple[str, float], ...] = ()
    pose: Pose = field(default_factory=Pose)
    reference: str | None = None
    reference_pose: Pose = field(default_factory=Pose)
    cutoff: float = 0.0
    noise: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its entries."""
        return tuple(self.name + label for label in ENTRIES[self.kind][0])

    @property
    def unit(self) -> str:
        """Unit of its entries, empty if it depends on the target."""
        return ENTRIES[self.kind][1]

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(ENTRIES[self.kind][0])
