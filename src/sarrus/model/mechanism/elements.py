"""The elements of a mechanism: plain, frozen data. `Mechanism` checks them when they are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import Pose, rotation_of_quaternion
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.tolerances import SAME_PLANE
from sarrus.model.mechanism.transmissions import JointGears, Transmission

WORLD = "world"

# A function of one CasADi expression, such as time, that a user gives, or a table.
Function = Callable[[Any], Any] | Spline

# Kinds of closure between two bodies and the rows each one has.
CLOSURE_ROWS: dict[str, tuple[str, ...]] = {
    "weld": ("x", "y", "z", "rx", "ry", "rz"),
    "point": ("x", "y", "z"),
    "revolute": ("x", "y", "z", "n1", "n2"),
    "prismatic": ("p1", "p2", "rx", "ry", "rz"),
    "screw": ("p1", "p2", "n1", "n2", "lead"),
    "cylindrical": ("p1", "p2", "n1", "n2"),
    "universal": ("x", "y", "z", "perpendicular"),
    "planar": ("height", "n1", "n2"),
    "distance": ("length",),
    "point_on_line": ("p1", "p2"),
    "point_on_plane": ("height",),
}
CLOSURE_KINDS: tuple[str, ...] = tuple(CLOSURE_ROWS)
# What a contact does along its plane, and the rows that it has.
CONTACT_ROWS: dict[str, tuple[str, ...]] = {
    "stick": ("n", "t1", "t2"),
    "frictionless": ("n",),
    "coulomb": ("n", "t1", "t2"),
}
# Laws of restitution: of velocities, of impulses.
IMPACT_LAWS: tuple[str, ...] = ("newton", "poisson")


@dataclass(frozen=True, eq=False)
class Shape:
    """Something to draw on a body: kind is box, sphere, capsule, cylinder, ellipsoid, plane, mesh or line.

    ``size`` follows MuJoCo (half extents; radius, half length along z); a line joins its ``points``. A mesh is that
    in ``file``, scaled by ``size``, or has triangles of its own: ``points`` (n, 3) and ``faces`` (m, 3), indices.
    """

    kind: str
    size: Array = field(default_factory=lambda: np.zeros(3))
    pose: Pose = field(default_factory=Pose)
    rgba: tuple[float, float, float, float] = (0.5, 0.6, 0.7, 1.0)
    file: str | None = None
    points: Array | None = None
    faces: Array | None = None


@dataclass(frozen=True, eq=False)
class Geom:
    """A shape that can collide: where contacts may be; see `sarrus.model.builders.geometry_contacts`.

    ``kind`` and ``size`` are those of a `Shape`, ``pose`` is in axes of the body. A mesh is the convex hull of its
    ``points`` (n, 3); an hfield has ``heights`` (rows along y, columns along x) from 0 to 1 and as ``size`` the half
    sizes along x and y, the height of 1 and the thickness below 0. ``points`` are None where the file has no such mesh.

    ``friction`` is the coefficient of sliding friction, None where the file has none, ``torsion`` and ``rolling`` are
    those of torsional and rolling friction [m]; ``condim`` says which act (1: none, 3: sliding, 4: torsional too, 6:
    all). Of two geoms those of the higher ``priority`` count, of equals the larger ones. Two may touch where a bit of
    the ``contype`` of one is in the ``conaffinity`` of the other, and do at a distance of the sum of their ``margin``.
    """

    name: str
    body: str
    kind: str
    size: Array
    pose: Pose = field(default_factory=Pose)
    friction: float | None = None
    torsion: float = 0.005
    rolling: float = 0.0001
    condim: int = 3
    contype: int = 1
    conaffinity: int = 1
    priority: int = 0
    margin: float = 0.0
    points: Array | None = None
    heights: Array | None = None


@dataclass(frozen=True)
class GeomPair:
    """A pair of geoms that a file lets touch, with numbers of its own: those of a `Geom`."""

    name: str
    geom1: str
    geom2: str
    condim: int
    friction: float
    torsion: float
    rolling: float
    margin: float


@dataclass(frozen=True)
class GeometryContact:
    """Two geoms that touch, wherever they are nearest to each other.

    ``torsion`` and ``rolling`` are lengths [m] by which such friction is multiplied in the cone, zero where there is
    none: the moment is at most the coefficient times the length times the normal force. The surfaces keep a distance of
    ``margin`` [m]. ``width`` is the number of rows: the normal, two tangents, torsion, two of rolling. What sticks does
    so up to the ``static_coefficient``, None: that of sliding. ``closed_form`` says whether the contact is written down
    beforehand, with the places of `sarrus.model.mechanism.surface_contacts`, or found in steps in time by a narrow
    phase;
    None: by what all pairs are.
    """

    name: str
    geom1: str
    geom2: str
    friction_coefficient: float
    torsion: float = 0.0
    rolling: float = 0.0
    restitution: float = 0.0
    margin: float = 0.0
    static_coefficient: float | None = None
    closed_form: bool | None = None
    impact_law: str = "newton"

    @property
    def width(self) -> int:
        """Number of rows."""
        if self.friction_coefficient == 0.0:
            return 1
        return 6 if self.rolling else 4 if self.torsion else 3


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body. ``com`` [m] and ``inertia`` [kg m², about the centre of mass] are in body axes.

    ``parent``, ``placement`` (body frame in the parent's frame at the joints' reference) and ``joints``
    say how it hangs on the tree; ``attached`` is False until a joint has been given. ``physical`` is False where mass
    and inertia are such as no body has.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    shapes: tuple[Shape, ...] = ()
    parent: str = WORLD
    placement: Pose = field(default_factory=Pose)
    joints: tuple[Joint, ...] = ()
    attached: bool = False
    physical: bool = True

    @property
    def reference_pose(self) -> Pose:
        """Body frame in the parent's with all coordinates at their reference, quaternions too."""
        pose = self.placement
        for number, joint in enumerate(self.joints):
            if joint.kind == "free":
                own = Pose.of(joint.reference[:3], quaternion=joint.reference[3:])
                pose = pose @ own if number else own
            elif joint.kind == "spherical":
                turn = rotation_of_quaternion(joint.reference)
                pose = pose @ Pose(joint.anchor - turn @ joint.anchor, turn)
        return pose


@dataclass(frozen=True, eq=False)
class Closure:
    """A loop closure between frame 1 on ``body1`` and frame 2 on ``body2``.

    ``axis1``, ``axis2`` are unit vectors in the axes of body 1 and body 2: the joint axis (revolute,
    prismatic, screw, cylindrical), the two perpendicular axes of a universal joint, the line's direction
    or the plane's normal (fixed to body 1). ``length`` is the constant distance of a massless rod [m].
    ``active`` is None where the closure always holds, else whether it holds at the start.
    ``motion`` is a function of time: of a distance its length [m], of all others where frame 1 is as seen from
    ``pose1``, a position or that and a wxyz quaternion. None where nothing moves by itself. With ``keep_offset`` the
    frames stay apart by what they are in the reference pose along directions in which no joint moves the bodies. What
    comes and goes holds the frames as they are when it is switched on if they are apart by no more than ``capture`` in
    any row [m, rad].
    """

    name: str
    kind: str
    body1: str
    body2: str
    pose1: Pose
    pose2: Pose
    axis1: Array
    axis2: Array
    pitch: float = 0.0
    length: float = 0.0
    active: bool | None = None
    motion: Function | None = None
    keep_offset: bool = False
    capture: float = 0.0

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the constraint rows, as ``closure.row``."""
        return tuple(f"{self.name}.{row}" for row in CLOSURE_ROWS[self.kind])


class OnPlane:
    """What ties a ``body`` to a plane of another, through ``origin`` with ``normal``, in axes of the ``ground``."""

    name: str
    body: str
    ground: str
    origin: Array
    normal: Array
    tangent1: Array
    tangent2: Array

    def same_plane(self, other: OnPlane) -> bool:
        """Tell whether the other one has the same plane, to 1e-9 m and rad."""
        return (
            self.ground == other.ground
            and getattr(self, "surface", None) is getattr(other, "surface", None) is None
            and np.abs(self.normal - other.normal).max() < SAME_PLANE
            and abs(float(self.normal @ (self.origin - other.origin))) < SAME_PLANE
        )


@dataclass(frozen=True, eq=False)
class Contact(OnPlane):
    """A unilateral contact of a point of ``body`` with a plane of ``ground``.

    ``point`` [m] is in axes of the body; ``origin`` [m], a point of the plane, and the unit vectors ``normal``
    (away from the ground), ``tangent1`` and ``tangent2`` = normal × tangent1 are in axes of the ground.
    ``friction`` is "coulomb", with the ``friction_coefficient`` as its limit, or "stick" or "frictionless", where that
    is recorded only, and ``active`` tells whether the contact is closed at the start. The point is the centre of a
    ball of the ``radius`` [m], which touches at its surface; ``torsion`` is the length [m] by which the torsional
    friction is multiplied in the cone, zero where there is none. What sticks does so up to the ``static_coefficient``.
    ``restitution`` is that of the ``impact_law``, Newton's or Poisson's. ``raised`` is the radius [m] of a ball whose
    centre is the point of a contact that sticks or has no friction: ``origin`` lies so far above the ground.
    """

    name: str
    body: str
    point: Array
    ground: str
    origin: Array
    normal: Array
    tangent1: Array
    tangent2: Array
    friction: str = "stick"
    restitution: float = 0.0
    friction_coefficient: float | None = None
    active: bool = False
    radius: float = 0.0
    torsion: float = 0.0
    static_coefficient: float | None = None
    impact_law: str = "newton"
    raised: float = 0.0

    @property
    def ground_origin(self) -> Array:
        """A point of the ground, where the contact touches [m], in axes of the ground."""
        return self.origin - self.raised * self.normal

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of its rows, as ``contact.row``: n, where there is friction t1 and t2, and torsion."""
        rows = CONTACT_ROWS[self.friction] + (("torsion",) if self.torsion else ())
        return tuple(f"{self.name}.{row}" for row in rows)

    @property
    def slides(self) -> bool:
        """Whether its friction has a limit: then its rows are none of the constraints'."""
        return self.friction == "coulomb"


def first_on_planes(contacts: Sequence[OnPlane]) -> list[int]:
    """Return for every contact, or what else is tied to a plane, the index of the first one with the same plane."""
    firsts: list[int] = []
    for k, contact in enumerate(contacts):
        firsts.append(next((i for i in firsts if contact.same_plane(contacts[i])), k))
    return firsts


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """A line or a flat foot of ``body`` that touches a plane of ``ground``, by contacts at its ends or corners.

    ``pose`` is the patch on the body: its origin the centre, its axes along, across, and the normal of the plane
    where the patch lies flat. ``half_sizes`` [m] are those along and, of a foot, across; ``contacts`` names the
    contacts, in the order of the ends +, − or of the corners + +, − +, − −, + −.
    """

    name: str
    body: str
    ground: str
    pose: Pose
    half_sizes: tuple[float, ...]
    contacts: tuple[str, ...]

    @property
    def centre(self) -> Array:
        """Centre in axes of the body [m]."""
        return self.pose.position

    @property
    def along(self) -> Array:
        """Direction of the line, or of the first half size, in axes of the body."""
        return self.pose.rotation[:, 0]

    @property
    def across(self) -> Array:
        """Normal × along, in axes of the body."""
        return self.pose.rotation[:, 1]

    @property
    def normal(self) -> Array:
        """Normal of the patch in axes of the body, that of the plane where the patch lies flat on it."""
        return self.pose.rotation[:, 2]


@dataclass(frozen=True)
class CouplingTerm:
    """The polynomial Σ_k coefficients[k] (q − reference)^k of a coordinate, or of a tendon's length "tendon:NAME".

    With a ``function`` its value at q − reference comes on top: a cam from a table.
    """

    coordinate: str
    coefficients: tuple[float, ...]
    reference: float = 0.0
    function: Function | None = None


@dataclass(frozen=True)
class Coupling:
    """A coupling of joint coordinates: the sum of its terms is zero (gear, rack, cam), or what ``motion`` says.

    ``motion`` is a function of time [unit of the sum]: a motor that follows exactly.
    ``active`` is None where it always holds, else whether it holds at the start (clutch, brake); then the sum keeps
    the value that it had when the coupling was closed.
    """

    name: str
    terms: tuple[CouplingTerm, ...]
    active: bool | None = None
    motion: Function | None = None

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of its one constraint row."""
        return (self.name,)


@dataclass(frozen=True, eq=False)
class SpringDamper:
    """A spring and damper along the line between two points, each in the axes of its body.

    Tension = stiffness × (length − rest) + damping × rate, zero stiffness force while the length is
    within ``rest_length`` = (lower, upper) [m]. ``law``, a function of (length − rest) [m], and ``damper_law``, one of
    the rate [m/s], add to it [N].
    """

    name: str
    body1: str
    body2: str
    point1: Array
    point2: Array
    stiffness: float
    damping: float
    rest_length: tuple[float, float]
    law: Function | None = None
    damper_law: Function | None = None


@dataclass(frozen=True)
class CoordinateSpring:
    """A spring and damper on the linear combination Σ weight × coordinate (MuJoCo's fixed tendon).

    The numbers and laws are those of a `SpringDamper`, with that combination as the length.
    """

    name: str
    terms: tuple[tuple[str, float], ...]
    stiffness: float
    damping: float
    rest_length: tuple[float, float]
    law: Function | None = None
    damper_law: Function | None = None


@dataclass(frozen=True)
class Activation:
    """What stands between the control u of an actuator and its force: a state w with a rate of its own.

    kind "filter": ẇ = (u − w) / time_constant [s]. "integrator": ẇ = u. ``limits`` bound what w gives: at a limit ẇ
    is zero where it leads out, so that only the step that arrives there may pass it, by its own advance.
    """

    kind: str
    time_constant: float = 0.0
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Winding:
    """The winding of a motor between its voltage u and its force: a state i, the current [A], with a rate of its own.

    L di/dt = u − R i − k ω, with the ``inductance`` L [H], the ``resistance`` R [Ω], ω the rate of the transmission and
    k the gain of the actuator: what makes the current a force makes the rate a voltage, for power is conserved.

    ``limits`` bound the current as the chopper of a drive does: where u would lead out of them the winding gets the
    voltage R i + k ω instead, which holds the current, whatever that is, and u again as soon as that leads back in.
    Nothing winds up.
    Only the step that arrives at a limit may pass it, by its own advance, from where the current falls back with the
    time L/R; the force has i within.
    """

    inductance: float
    resistance: float
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Actuator:
    """An actuator: the scalar force (gain × u + bias), which its transmission makes a generalized force.

    bias = bias[0] + bias[1] × length + bias[2] × rate. ``transmission`` pairs velocity names with gears: the
    generalized force on velocity j is gear_j × the scalar one, and the length Σ gear × coordinate, with the entries of
    the rotation vector as coordinates of a spherical joint and zero for a free one; or it is one of
    `sarrus.model.mechanism.transmissions`. The rate is what the force works on. With ``gain_slopes`` the gain is
    gain + gain_slopes[0] × length + gain_slopes[1] × rate. ``limits`` bound the control u,
    ``force_limits`` the force gain × u + bias; both act wherever u enters the equations. With an ``activation`` its
    state w takes the place of u in the force; it is the coordinate ``activation_name``, after those of the joints. A
    `Winding` is one too, whose state is the current. ``motor_constant`` K_m = K_t / √R [N m/√W, N/√W], torque constant
    over the root of the resistance, says that an electric motor makes the scalar force F: its winding loses (F/K_m)²;
    None where that is not known. Of a `Winding` the loss is R i².
    """

    name: str
    transmission: JointGears | Transmission
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    limits: tuple[float, float] | None = None
    force_limits: tuple[float, float] | None = None
    activation: Activation | Winding | None = None
    gain_slopes: tuple[float, float] = (0.0, 0.0)
    motor_constant: float | None = None

    @property
    def activation_name(self) -> str:
        """Name of the coordinate that its activation is, or the current of its winding."""
        return f"{self.name}.{'current' if isinstance(self.activation, Winding) else 'activation'}"


@dataclass(frozen=True, eq=False)
class UserForce:
    """A force given by a function of CasADi vectors (q, v, t).

    With a ``body``: the force [N] in world axes on ``point`` of that body (function returns 3 entries).
    Without: the generalized force, nv entries. ``through_joints`` says of a force on a body that it stands for what
    actuators of the joints do, as gravity compensation does: sensors of force at joints feel the load in full.
    """

    name: str
    function: Callable[[Any, Any, Any], Any]
    body: str | None = None
    point: Array = field(default_factory=lambda: np.zeros(3))
    through_joints: bool = False
