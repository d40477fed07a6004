"""`Mechanism`: the description of bodies, joints, loop closures, springs, actuators and gravity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.errors import ModelError, unknown_name
from sarrus.mechanism import checks
from sarrus.mechanism.elements import (
    CLOSURE_KINDS,
    COORDINATE_LABELS,
    JOINT_KINDS,
    VELOCITY_LABELS,
    WORLD,
    Actuator,
    Body,
    Closure,
    CoordinateSpring,
    Coupling,
    CouplingTerm,
    Joint,
    Shape,
    SpringDamper,
    UserForce,
)
from sarrus.mechanism.pose import Array, Pose, as_pose, clean, perpendicular_to, scalar, unit_vector, vector
from sarrus.mechanism.report import ImportReport

PoseLike = Pose | Sequence[float] | Array | None


class Mechanism:
    """A mechanism as data: build it here, or load it with `sarrus.load`; `sarrus.System` compiles it.

    Parameters
    ----------
    name : str
    gravity : 3 numbers, acceleration of free fall in world axes [m/s²].

    Every ``add_…`` method checks its numbers and names at once and raises `ModelError` naming the element.
    Redundant closures are legal, and so are massless bodies as long as the constrained problem is well
    posed (the mass matrix is positive definite on the motions that the constraints leave).
    Joints of the tree are ordered depth first, children in the order in which they were added, which is
    MuJoCo's order; so are the coordinates.
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity = vector(gravity, 3, "gravity", self.name)
        self.closures: dict[str, Closure] = {}
        self.couplings: dict[str, Coupling] = {}
        self.springs: dict[str, SpringDamper] = {}
        self.coordinate_springs: dict[str, CoordinateSpring] = {}
        self.actuators: dict[str, Actuator] = {}
        self.forces: dict[str, UserForce] = {}
        self.world_shapes: tuple[Shape, ...] = ()
        self.keyframes: dict[str, Array] = {}
        self.report = ImportReport()
        self._bodies: dict[str, Body] = {}

    # --- bodies and joints -------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        *,
        shapes: Sequence[Shape] = (),
    ) -> Body:
        """Add a rigid body; a joint must attach it before the mechanism is used.

        Parameters
        ----------
        mass : mass [kg], ≥ 0.
        com : centre of mass in body axes [m].
        inertia : inertia about the centre of mass in body axes [kg m²]: three principal moments, six
            numbers (xx, yy, zz, xy, xz, yz) or a 3×3 matrix. It must be symmetric and positive
            semidefinite, and its moments must obey the triangle inequality.
        shapes : what to draw.
        """
        self._fresh(name, "body", (*self._bodies, WORLD))
        label = f"body {name!r}"
        body = Body(
            name=name,
            mass=checks.mass(mass, label),
            com=vector(com, 3, "com", label),
            inertia=checks.inertia(inertia, label),
            shapes=tuple(shapes),
        )
        self._bodies[name] = body
        return body

    def add_joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
        parent_pose: PoseLike = None,
        child_pose: PoseLike = None,
        pitch: float = 0.0,
        reference: float | Sequence[float] = 0.0,
        limits: Any = None,
        stiffness: float = 0.0,
        spring_reference: float | Sequence[float] | None = None,
        damping: float | Sequence[float] = 0.0,
        armature: float | Sequence[float] = 0.0,
    ) -> Joint:
        """Attach ``child`` to ``parent`` ("world" is the ground) by a joint.

        Parameters
        ----------
        kind : fixed, revolute, prismatic, screw, cylindrical, universal, planar, spherical or free.
        axis : joint axis, in the joint frame. ``axis2``: second axis of a universal joint (perpendicular
            to ``axis``), or the x direction of a planar joint, whose normal is ``axis``.
        parent_pose, child_pose : the joint frame in the parent and in the child: a `Pose` or a position
            [m]. The two frames coincide when the coordinates are at ``reference``.
        pitch : advance of a screw per turn [m].
        reference : coordinate at which the frames coincide [m, rad]; one per coordinate of the joint. Spherical:
            the frames coincide at the identity quaternion, and a free joint's coordinates are the pose of the
            child in the parent; there ``reference`` is only the neutral configuration (default: the identity,
            and the pose that parent_pose and child_pose give).
        limits : (lower, upper), or one pair per degree of freedom. Recorded: a trajectory reports crossings.
        stiffness : spring toward ``spring_reference`` (default: ``reference``) [N/m, N m/rad].
        damping, armature : [N s/m, N m s/rad] and [kg, kg m²], one number or one per degree of freedom.

        A second joint between the same two bodies acts in series after the first; its ``child_pose``
        alone places it. A body that already hangs on another parent is closed with `add_closure`.
        """
        self._fresh(name, "joint", (j.name for j in self.joints()))
        label = f"joint {name!r}"
        if kind not in JOINT_KINDS:
            raise ModelError(
                f"{label}: " + unknown_name("kind", kind, JOINT_KINDS), element=name, valid=JOINT_KINDS
            )
        body = self._body(child, label)
        self._body_or_world(parent, label)
        in_parent, in_child = (
            as_pose(parent_pose, "parent_pose", label),
            as_pose(child_pose, "child_pose", label),
        )
        series = body.attached
        if series and (parent != body.parent or parent_pose is not None):
            raise ModelError(
                f"{label}: body {child!r} already hangs on {body.parent!r}. A joint in series names the same parent "
                "and no parent_pose; a loop is closed with add_closure",
                element=name,
            )
        self._no_cycle(parent, child, label)
        u = unit_vector(axis, "axis", label)
        w = perpendicular_to(u) if axis2 is None else unit_vector(axis2, "axis2", label)
        if kind in ("universal", "planar") and abs(float(u @ w)) > 1e-9:
            raise ModelError(f"{label}: axis2 must be perpendicular to axis", element=name)
        nq, nv = len(COORDINATE_LABELS.get(kind, ())), len(VELOCITY_LABELS.get(kind, ()))
        placement = body.placement if series else in_parent @ in_child.inverse()
        if kind == "free" and np.isscalar(reference):
            reference = (*placement.position, *placement.quaternion)
        zero_reference = checks.reference(reference, kind, nq, label)
        spring = (
            zero_reference
            if spring_reference is None
            else checks.reference(spring_reference, kind, nq, label, "spring_reference")
        )
        joint = Joint(
            name=name,
            kind=kind,
            anchor=in_child.position,
            axis=clean(in_child.rotation @ u),
            axis2=clean(in_child.rotation @ w),
            pitch=scalar(pitch, "pitch", label),
            reference=zero_reference,
            limits=checks.limits(limits, nv, label),
            stiffness=checks.nonnegative(stiffness, "stiffness", label),
            spring_reference=spring,
            damping=checks.per_dof(damping, nv, "damping", label),
            armature=checks.per_dof(armature, nv, "armature", label),
        )
        self._bodies[child] = replace(
            body,
            parent=parent,
            placement=placement,
            joints=body.joints if kind == "fixed" else (*body.joints, joint),
            attached=True,
        )
        return joint

    # --- loop closures -----------------------------------------------------------------------------

    def add_closure(
        self,
        name: str,
        kind: str,
        body1: str,
        body2: str,
        *,
        pose1: PoseLike = None,
        pose2: PoseLike = None,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axis2: ArrayLike | None = None,
        pitch: float = 0.0,
        length: float = 0.0,
    ) -> Closure:
        """Close a loop between frame 1 on ``body1`` and frame 2 on ``body2`` (either may be "world").

        Parameters
        ----------
        kind : weld (6 rows), point or spherical (3), revolute (5), prismatic (5), screw (5),
            cylindrical (4), universal (4), planar (3), distance (1), point_on_line (2),
            point_on_plane (1). ``fixed`` is a weld.
        pose1, pose2 : the frames on the two bodies: `Pose` or position [m].
        axis : the joint axis in frame 1, and in frame 2 the same unless ``axis2`` is given.
            universal: ``axis`` is fixed to body 1 and ``axis2``, perpendicular to it, to body 2.
            point_on_line, point_on_plane: line direction, plane normal, fixed to body 1; the origin of
            frame 2 lies on it.
        length : distance of the two origins [m], > 0, for ``distance``.

        Positions: the residual is the origin of frame 2 minus the origin of frame 1 in world axes, so
        the multiplier is the force [N] that body 1 exerts on body 2, in world axes. Perpendicular
        directions of the other kinds are fixed to body 1; see `sarrus.multibody.closures`.
        """
        kind = {"spherical": "point", "fixed": "weld"}.get(kind, kind)
        self._fresh(name, "closure", (*self.closures, *self.couplings))
        label = f"closure {name!r}"
        if kind not in CLOSURE_KINDS:
            raise ModelError(
                f"{label}: " + unknown_name("kind", kind, CLOSURE_KINDS), element=name, valid=CLOSURE_KINDS
            )
        self._body_or_world(body1, label)
        self._body_or_world(body2, label)
        if body1 == body2:
            raise ModelError(f"{label}: needs two different bodies, got {body1!r} twice", element=name)
        frame1, frame2 = as_pose(pose1, "pose1", label), as_pose(pose2, "pose2", label)
        u = unit_vector(axis, "axis", label)
        if kind == "universal":
            w = perpendicular_to(u) if axis2 is None else unit_vector(axis2, "axis2", label)
            if abs(float(u @ w)) > 1e-9:
                raise ModelError(f"{label}: axis2 must be perpendicular to axis", element=name)
        else:
            w = u if axis2 is None else unit_vector(axis2, "axis2", label)
        if scalar(length, "length", label) <= 0.0 and kind == "distance":
            raise ModelError(
                f"{label}: length must be positive, got {length}. Zero distance is a 'point' closure",
                element=name,
            )
        closure = Closure(
            name=name,
            kind=kind,
            body1=body1,
            body2=body2,
            pose1=frame1,
            pose2=frame2,
            axis1=clean(frame1.rotation @ u),
            axis2=clean(frame2.rotation @ w),
            pitch=scalar(pitch, "pitch", label),
            length=float(length),
        )
        self.closures[name] = closure
        return closure

    def add_coupling(
        self,
        name: str,
        terms: Mapping[str, float | Sequence[float]],
        references: Mapping[str, float] | None = None,
    ) -> Coupling:
        """Couple joint coordinates: Σ over ``terms`` of polynomial(coordinate − reference) = 0.

        ``terms`` maps a coordinate name to its polynomial coefficients, constant first, or to one number,
        the factor of a linear term. A gear with q1 = n q2: ``{"joint1": 1.0, "joint2": -n}``. A rack:
        ``{"slide": 1.0, "pinion": -radius}``. A cam: ``{"follower": 1.0, "cam": (-c0, -c1, -c2)}``.
        """
        self._fresh(name, "closure", (*self.closures, *self.couplings))
        label = f"coupling {name!r}"
        checks.mapping(terms, "terms", label)
        for coordinate in set(references or ()) - set(terms):
            raise ModelError(f"{label}: references: " + unknown_name("term", coordinate, terms), element=name)
        built = []
        for coordinate, given in terms.items():
            self._scalar_coordinate(coordinate, label)
            coefficients = (
                tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (0.0, given)
            )
            values = tuple(scalar(c, f"coefficient of {coordinate!r}", label) for c in coefficients)
            reference = scalar((references or {}).get(coordinate, 0.0), f"reference of {coordinate!r}", label)
            built.append(CouplingTerm(coordinate, values, reference))
        coupling = Coupling(name, tuple(built))
        self.couplings[name] = coupling
        return coupling

    # --- forces ------------------------------------------------------------------------------------

    def add_spring_damper(
        self,
        name: str,
        body1: str,
        body2: str,
        *,
        point1: ArrayLike = (0.0, 0.0, 0.0),
        point2: ArrayLike = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
    ) -> SpringDamper:
        """Add a spring and damper between two points, each in the axes of its body.

        ``rest_length`` [m] is one number, or (lower, upper) between which the spring is slack.
        """
        self._fresh(name, "spring", (*self.springs, *self.coordinate_springs))
        label = f"spring {name!r}"
        self._body_or_world(body1, label)
        self._body_or_world(body2, label)
        spring = SpringDamper(
            name,
            body1,
            body2,
            vector(point1, 3, "point1", label),
            vector(point2, 3, "point2", label),
            checks.nonnegative(stiffness, "stiffness", label),
            checks.nonnegative(damping, "damping", label),
            checks.rest_length(rest_length, label),
        )
        self.springs[name] = spring
        return spring

    def add_coordinate_spring(
        self,
        name: str,
        terms: Mapping[str, float],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: float | tuple[float, float] = 0.0,
    ) -> CoordinateSpring:
        """Add a spring and damper on Σ weight × coordinate (MuJoCo's fixed tendon)."""
        self._fresh(name, "spring", (*self.springs, *self.coordinate_springs))
        label = f"spring {name!r}"
        checks.mapping(terms, "terms", label)
        weights = tuple(
            (self._scalar_coordinate(c, label), scalar(w, f"weight of {c!r}", label))
            for c, w in terms.items()
        )
        spring = CoordinateSpring(
            name,
            weights,
            checks.nonnegative(stiffness, "stiffness", label),
            checks.nonnegative(damping, "damping", label),
            checks.rest_length(rest_length, label),
        )
        self.coordinate_springs[name] = spring
        return spring

    def add_actuator(
        self,
        name: str,
        target: str | Mapping[str, float],
        *,
        gear: float = 1.0,
        gain: float = 1.0,
        bias: ArrayLike = (0.0, 0.0, 0.0),
        limits: tuple[float, float] | None = None,
        force_limits: tuple[float, float] | None = None,
    ) -> Actuator:
        """Add an actuator on a velocity by name (a scalar joint's own name), or on several with gears.

        The generalized force is gear × (gain × u + bias[0] + bias[1] length + bias[2] rate). A position
        servo has gain kp and bias (0, −kp, −kd). Every law and `simulate` clip u to ``limits`` [unit of u],
        and to the u at which a motor without bias reaches ``force_limits`` [N, N m].
        """
        self._fresh(name, "actuator", self.actuators)
        label = f"actuator {name!r}"
        gears = {target: gear} if isinstance(target, str) else target
        checks.mapping(gears, "target", label)
        names = self.velocity_names()
        for velocity in gears:
            if velocity not in names:
                raise ModelError(
                    f"{label}: " + unknown_name("joint velocity", velocity, names), element=name, valid=names
                )
        b = vector(bias, 3, "bias", label)
        if b[1] != 0.0 or b[2] != 0.0:
            for velocity in gears:
                self._scalar_coordinate(velocity, label)
        actuator = Actuator(
            name,
            tuple((velocity, scalar(g, "gear", label)) for velocity, g in gears.items()),
            scalar(gain, "gain", label),
            (float(b[0]), float(b[1]), float(b[2])),
            None if limits is None else checks.interval(limits, "limits", label),
            None if force_limits is None else checks.interval(force_limits, "force_limits", label),
        )
        self.actuators[name] = actuator
        return actuator

    def add_force(
        self,
        name: str,
        function: Callable[[Any, Any, Any], Any],
        *,
        body: str | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
    ) -> UserForce:
        """Add a force function(q, v, t) of CasADi vectors, compiled into the equations.

        With ``body``: force [N] in world axes on ``point`` (body axes). Without: nv generalized forces.
        """
        self._fresh(name, "force", self.forces)
        label = f"force {name!r}"
        if not callable(function):
            raise ModelError(f"{label}: function must be callable as function(q, v, t)", element=name)
        if body is not None:
            self._body(body, label)
        force = UserForce(name, function, body, vector(point, 3, "point", label))
        self.forces[name] = force
        return force

    # --- reading -----------------------------------------------------------------------------------

    @property
    def bodies(self) -> dict[str, Body]:
        """Bodies by name, depth first from the world, children in the order in which they were added."""
        children: dict[str, list[str]] = {WORLD: [], **{name: [] for name in self._bodies}}
        for body in self._bodies.values():
            if body.attached:
                children[body.parent].append(body.name)
        ordered: dict[str, Body] = {}
        stack = children[WORLD][::-1]
        while stack:
            name = stack.pop()
            ordered[name] = self._bodies[name]
            stack.extend(children[name][::-1])
        return ordered | {name: body for name, body in self._bodies.items() if name not in ordered}

    def joints(self) -> Iterator[Joint]:
        """Iterate over the movable joints in the order of the coordinates."""
        for body in self.bodies.values():
            yield from body.joints

    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates q in order."""
        return tuple(name for joint in self.joints() for name in joint.coordinate_names)

    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities v in order."""
        return tuple(name for joint in self.joints() for name in joint.velocity_names)

    def snapshot(self) -> Mechanism:
        """Return a copy that later additions to this mechanism do not change; the elements are shared."""
        twin = copy(self)
        vars(twin).update(
            {name: dict(value) for name, value in vars(self).items() if isinstance(value, dict)}
        )
        return twin

    def check(self) -> None:
        """Raise `ModelError` unless every body is attached and something can move."""
        for body in self._bodies.values():
            if not body.attached:
                raise ModelError(
                    f"body {body.name!r} has no joint: attach it with add_joint, 'fixed' or 'free' at the least",
                    element=body.name,
                )
        if not any(True for _ in self.joints()):
            raise ModelError(f"mechanism {self.name!r} has no movable joint", element=self.name)

    def to_mjcf(self, path: Any) -> None:
        """Write the mechanism as a MuJoCo model; what MJCF cannot say is an error. See `mechanism.export`."""
        from sarrus.mechanism.export import write_mjcf

        write_mjcf(self, path)

    def __repr__(self) -> str:
        return (
            f"Mechanism({self.name!r}: {len(self._bodies)} bodies, {sum(1 for _ in self.joints())} joints, "
            f"{len(self.closures) + len(self.couplings)} closures)"
        )

    # --- checks ------------------------------------------------------------------------------------

    def _fresh(self, name: str, kind: str, taken: Any) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{kind}: name must be a non-empty string, got {name!r}", element=str(name))
        if name in set(taken):
            raise ModelError(f"{kind} {name!r}: the name is already taken; names are unique", element=name)

    def _body(self, name: str, label: str) -> Body:
        if not isinstance(name, str) or name not in self._bodies:
            valid = tuple(self._bodies)
            raise ModelError(f"{label}: " + unknown_name("body", name, valid), element=name, valid=valid)
        return self._bodies[name]

    def _body_or_world(self, name: str, label: str) -> None:
        if name != WORLD:
            self._body(name, label)

    def _scalar_coordinate(self, name: str, label: str) -> str:
        valid = tuple(set(self.coordinate_names()) & set(self.velocity_names()))
        if name not in valid:
            valid = tuple(n for n in self.coordinate_names() if n in valid)
            raise ModelError(
                f"{label}: " + unknown_name("scalar coordinate", name, valid), element=name, valid=valid
            )
        return name

    def _no_cycle(self, parent: str, child: str, label: str) -> None:
        ancestor = parent
        while ancestor != WORLD:
            if ancestor == child:
                raise ModelError(
                    f"{label}: {child!r} would hang on itself through {parent!r}; close the loop with add_closure",
                    element=child,
                )
            ancestor = self._bodies[ancestor].parent
