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

# A function of one CasADi expression, such as time, given by the user, or a table.
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
# Friction models of a contact along its plane, and the rows of each.
CONTACT_ROWS: dict[str, tuple[str, ...]] = {
    "stick": ("n", "t1", "t2"),
    "frictionless": ("n",),
    "coulomb": ("n", "t1", "t2"),
}
# Rows of friction against rotation about the normal and about both tangents.
TURNING_ROWS: tuple[str, ...] = ("torsion", "roll1", "roll2")
# Laws of restitution: Newton's for velocities, Poisson's for impulses.
IMPACT_LAWS: tuple[str, ...] = ("newton", "poisson")


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape drawn on a body: kind is box, sphere, capsule, cylinder, ellipsoid, plane, mesh or line.

    ``size`` [m] follows MuJoCo (half extents; radius, half length along z); a line joins its ``points``. A mesh is read
    from ``file`` and scaled by ``size``, or has triangles of its own: ``points`` (n, 3) and ``faces`` (m, 3), indices.
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
    """A collision shape; see `sarrus.model.builders.geometry_contacts`.

    ``kind`` and ``size`` [m] are as in `Shape`, ``pose`` is in axes of the body. A mesh is the convex hull of its
    ``points`` (n, 3), None if the file has no such mesh. A height field (hfield) has ``heights`` (rows along y, columns
    along x) from 0 to 1; its ``size`` is the half sizes along x and y, the height of 1 and the thickness below 0.

    ``friction`` is the coefficient of sliding friction, None if the file has none; ``torsion`` and ``rolling`` are
    the lengths of torsional and rolling friction [m]. ``condim`` selects the friction: 1 none, 3 sliding, 4 sliding and
    torsional, 6 all. For a pair, the geom of the higher ``priority`` gives these numbers; at equal priority the larger
    ones hold. Two geoms can touch if a bit of the ``contype`` of one is in the ``conaffinity`` of the other. Their
    contact is closed at the distance margin1 + margin2 [m].
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
    """A pair of geoms with contact in a model file, and its own contact parameters (those of a `Geom`)."""

    name: str
    geom1: str
    geom2: str
    condim: int
    friction: float
    torsion: float
    rolling: float
    margin: float


def turning_axes(width: int) -> tuple[int, ...]:
    """Return the axes of the rows of friction against rotation of a contact with ``width`` rows.

    0 is the normal (torsion), 1 and 2 are the tangents (rolling). Four rows have torsion, five rolling, six both.
    """
    return {4: (0,), 5: (1, 2), 6: (0, 1, 2)}.get(width, ())


class TurningFriction:
    """A contact with friction against rotation in its cone: lengths ``torsion`` and ``rolling`` [m], zero without."""

    torsion: float
    rolling: float

    @property
    def friction_rows(self) -> int:
        """Number of rows with a normal force and friction: 3 to 6."""
        return 3 + (self.torsion > 0.0) + 2 * (self.rolling > 0.0)

    @property
    def turns(self) -> tuple[tuple[int, float], ...]:
        """Axis (see `turning_axes`) and length [m] of each row of friction against rotation."""
        lengths = self.torsion, self.rolling, self.rolling
        return tuple((axis, lengths[axis]) for axis in turning_axes(self.friction_rows))

    @property
    def turning_rows(self) -> tuple[str, ...]:
        """Names of the rows of friction against rotation."""
        return tuple(TURNING_ROWS[axis] for axis, _ in self.turns)


@dataclass(frozen=True)
class GeometryContact(TurningFriction):
    """A contact of two geoms at their closest points, found anew in each configuration.

    ``torsion`` and ``rolling`` are the lengths l [m] of torsional and rolling friction in the cone, zero without such
    friction: the moment is at most μ l λ_n. The surfaces keep a distance of ``margin`` [m]. ``width`` is the number of
    rows: the normal, two tangents, torsion, two of rolling; only the normal without friction. ``static_coefficient``
    bounds sticking; None: the coefficient of sliding. ``closed_form`` True: the gap is an expression in q at fixed
    places (`sarrus.model.mechanism.surface_contacts`). False: a narrow phase finds the places in each time step. None:
    True if all pairs have a closed form.
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
        return 1 if self.friction_coefficient == 0.0 else self.friction_rows

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of each contact point."""
        return (*CONTACT_ROWS["coulomb"], *self.turning_rows)[: self.width]


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body. ``com`` [m] and ``inertia`` [kg m², about the centre of mass] are in body axes.

    ``parent``, ``placement`` (body frame in the parent's frame at the joints' reference) and ``joints`` describe the
    connection to the tree; ``attached`` is False until a joint has been given. ``physical`` is False for a mass and
    inertia that no rigid body can have.
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
        """Body frame in the parent's frame with all coordinates at their reference, quaternions too."""
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
    ``active`` is None for a permanent closure; True or False is the state of a switchable closure at the start.
    ``motion`` is a function of time or None. For a distance it is the length [m]; for all other kinds the pose of frame
    1 relative to ``pose1``, as a position, or a position and a wxyz quaternion. ``keep_offset`` keeps the offset of
    the frames in the reference pose along directions in which no joint moves the bodies. A switchable closure can be
    switched on while the residual of each row is at most ``capture`` [m, rad]; it keeps the residual of that moment.
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
    """A ``body`` tied to a plane of ``ground``, through ``origin`` [m] with unit ``normal``, both in its axes."""

    name: str
    body: str
    ground: str
    origin: Array
    normal: Array
    tangent1: Array
    tangent2: Array

    def same_plane(self, other: OnPlane) -> bool:
        """Tell whether two elements have the same plane, to 1e-9 m and rad."""
        return (
            self.ground == other.ground
            and getattr(self, "surface", None) is getattr(other, "surface", None) is None
            and np.abs(self.normal - other.normal).max() < SAME_PLANE
            and abs(float(self.normal @ (self.origin - other.origin))) < SAME_PLANE
        )


@dataclass(frozen=True, eq=False)
class Contact(TurningFriction, OnPlane):
    """A unilateral contact of a point of ``body`` with a plane of ``ground``.

    ``point`` [m] is in axes of the body; ``origin`` [m], a point of the plane, and the unit vectors ``normal``
    (away from the ground), ``tangent1`` and ``tangent2`` = normal × tangent1 are in axes of the ground.
    ``friction`` is "coulomb", limited by μ = ``friction_coefficient``, or "stick" or "frictionless", for which μ is
    recorded only. ``active`` tells whether the contact is closed at the start. A ``radius`` [m] makes the point the
    centre of a ball that touches with its surface. ``torsion`` and ``rolling`` are the lengths [m] of torsional and
    rolling friction in the friction cone, zero without such friction; ``static_coefficient`` bounds sticking.
    ``restitution`` is the coefficient of the ``impact_law``, Newton's or Poisson's. ``raised`` is the radius [m] of a
    ball whose centre is the point of a contact with "stick" or "frictionless": ``origin`` is this height above the
    ground.
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
    rolling: float = 0.0
    static_coefficient: float | None = None
    impact_law: str = "newton"
    raised: float = 0.0

    @property
    def ground_origin(self) -> Array:
        """Point of the plane at the surface of the ground [m], ``origin`` − ``raised`` × normal, in its axes."""
        return self.origin - self.raised * self.normal

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, as ``contact.row``: n; with friction t1 and t2; torsion; roll1 and roll2."""
        rows = CONTACT_ROWS[self.friction] + self.turning_rows
        return tuple(f"{self.name}.{row}" for row in rows)

    @property
    def slides(self) -> bool:
        """Whether friction is limited (Coulomb). The rows of such a contact are no rows of A."""
        return self.friction == "coulomb"


def first_on_planes(contacts: Sequence[OnPlane]) -> list[int]:
    """Return (for each element tied to a plane) the index of the first element with the same plane."""
    firsts: list[int] = []
    for k, contact in enumerate(contacts):
        firsts.append(next((i for i in firsts if contact.same_plane(contacts[i])), k))
    return firsts


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """A line or a flat foot of ``body`` with unilateral contacts at its ends or corners with a plane of ``ground``.

    ``pose`` is the patch on the body: origin at the centre, axes along, across, and the normal of the plane when the
    patch lies flat. ``half_sizes`` [m] are the half length along and, for a foot, the half width across; ``contacts``
    names the contacts, in the order of the ends +, − or of the corners + +, − +, − −, + −.
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
        """Normal of the patch in axes of the body; equal to the normal of the plane when the patch lies flat."""
        return self.pose.rotation[:, 2]


@dataclass(frozen=True)
class CouplingTerm:
    """The polynomial Σ_k coefficients[k] (q − reference)^k of a coordinate, or of a tendon's length "tendon:NAME".

    With a ``function`` its value at q − reference is added: a cam given by a table.
    """

    coordinate: str
    coefficients: tuple[float, ...]
    reference: float = 0.0
    function: Function | None = None


@dataclass(frozen=True)
class Coupling:
    """A coupling of coordinates by one row: Σ terms = motion(t), zero without ``motion`` (gear, rack, cam).

    ``motion`` is a function of time [unit of the sum]. ``active`` is None for a permanent coupling; True or False is
    the state of a switchable coupling (clutch, brake) at the start. When it is switched on it holds the sum at its
    value of that moment.
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

    Tension [N] = stiffness × (length − rest) + damping × rate; the stiffness term is zero while the length is
    within ``rest_length`` = (lower, upper) [m]. ``law``, a function of (length − rest) [m], and ``damper_law``, a
    function of the rate [m/s], are added [N].
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

    The parameters and laws are those of `SpringDamper`, with the linear combination in place of the length.
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
    """Activation dynamics of an actuator: a state w between the control u and the force.

    kind "filter": ẇ = (u − w) / time_constant [s]. "integrator": ẇ = u. ``limits`` bound w. At a limit ẇ is zero if it
    points outward; only the integration step that reaches a limit can pass it, by less than one step.
    """

    kind: str
    time_constant: float = 0.0
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Winding:
    """The winding of an electric motor: its voltage is the control u, its state the current i [A].

    L di/dt = u − R i − k ω, with ``inductance`` L [H], ``resistance`` R [Ω], rate ω of the transmission, and gain k of
    the actuator, which is both the force per ampere and the induced voltage per rate (power is conserved).

    ``limits`` bound the current as a drive does: at a limit, if u would drive i outward, the drive replaces u by
    R i + k ω, which keeps the current constant. As soon as u leads i back inside, u is applied again: no windup.
    Only the integration step that reaches a limit can pass it; from there the current decays with the time constant
    L/R, and the force uses the limited current.
    """

    inductance: float
    resistance: float
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Actuator:
    """An actuator: the scalar force F = gain × u + bias [N, N m], applied through a transmission.

    bias = bias[0] + bias[1] × length + bias[2] × rate. ``transmission`` pairs velocity names with gears: the
    generalized force on velocity j is gear_j × F and the length Σ gear × coordinate (spherical joint: with the entries
    of its rotation vector as coordinates; free joint: zero). It can also be one of
    `sarrus.model.mechanism.transmissions`. The rate is the velocity on which F does work. With ``gain_slopes`` the
    gain is gain + gain_slopes[0] × length + gain_slopes[1] × rate. ``limits`` bound the control u, ``force_limits``
    the force F; both hold wherever u enters the equations. With an ``activation`` the state w takes the place of u in
    F; it is the coordinate ``activation_name``, after the coordinates of the joints. With a `Winding` this state is
    the current. ``motor_constant`` K_m = K_t / √R [N m/√W, N/√W] (torque constant, resistance) gives the copper loss
    (F/K_m)² of an electric motor, None if unknown. The loss of a `Winding` is R i².
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
        """Name of the coordinate of its activation, or of the current of its winding."""
        return f"{self.name}.{'current' if isinstance(self.activation, Winding) else 'activation'}"


@dataclass(frozen=True, eq=False)
class UserForce:
    """A force given as a function of CasADi vectors (q, v, t).

    With a ``body``: the force [N] in world axes on ``point`` of the body (the function returns 3 entries).
    Without: the generalized force, nv entries. ``through_joints`` marks a force on a body that stands for actuators at
    the joints, such as gravity compensation: force sensors at joints then measure the full load.
    actuators of the joints do, as gravity compensation does: sensors of force at joints feel the load in full.
    """

    name: str
    function: Callable[[Any, Any, Any], Any]
    body: str | None = None
    point: Array = field(default_factory=lambda: np.zeros(3))
    through_joints: bool = False
