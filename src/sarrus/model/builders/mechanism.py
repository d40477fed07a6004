"""`Mechanism`: the description of bodies, joints, loop closures, springs, actuators and gravity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.lazy_import import lazy_import
from sarrus.model.builders.closure_builder import ClosureBuilder
from sarrus.model.builders.floor_contacts import FloorContactBuilder
from sarrus.model.builders.gearing_builder import GearingBuilder
from sarrus.model.builders.geometry_contacts import GeometryBuilder
from sarrus.model.builders.motor_builder import MotorBuilder
from sarrus.model.builders.rolling_builder import RollingBuilder
from sarrus.model.builders.sensor_builder import SensorBuilder
from sarrus.model.builders.tendon_builder import TendonBuilder
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.driven_body import DrivenBody
from sarrus.model.mechanism.elements import WORLD, Body, Shape
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.joint import COORDINATE_LABELS, JOINT_KINDS, VELOCITY_LABELS, Joint
from sarrus.model.mechanism.keyframe import Keyframe
from sarrus.model.mechanism.pose import (
    PoseLike,
    as_pose,
    clean,
    perpendicular_to,
    scalar,
    unit_vector,
    vector,
)
from sarrus.model.mechanism.tolerances import PERPENDICULAR


class Mechanism(
    ClosureBuilder,
    GearingBuilder,
    RollingBuilder,
    FloorContactBuilder,
    GeometryBuilder,
    MotorBuilder,
    SensorBuilder,
    TendonBuilder,
):
    """The description of a mechanism, built here or loaded by `sarrus.load`; `sarrus.System` compiles it.

    Parameters
    ----------
    name : str
    gravity : 3 numbers, acceleration of free fall in world axes [m/s²].

    Every ``add_…`` method checks its numbers and names at once and raises `ModelError` naming the element.
    Redundant closures are legal, and so are massless bodies as long as the constrained problem is well
    posed (the mass matrix is positive definite on the motions that the constraints leave).
    Joints of the tree are ordered depth first, children in the order in which they were added, which is
    MuJoCo's order; so are the coordinates.

    This class adds bodies and joints. Its bases add the rest: ``ClosureBuilder`` constraints, ``GearingBuilder``
    transmissions with losses, ``RollingBuilder`` rolling wheels, balls, blades and cones, ``FloorContactBuilder``
    unilateral contacts with planes, ``GeometryBuilder`` geometries and contacts between them, ``MotorBuilder`` forces
    and motors, ``TendonBuilder`` tendons, ``SensorBuilder`` sensors. ``Description`` holds the elements.
    """

    def add_body(
        self,
        name: str,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        *,
        shapes: Sequence[Shape] = (),
        physical: bool = True,
    ) -> Body:
        """Add a rigid body; a joint must attach it before the mechanism is used.

        Parameters
        ----------
        mass : mass [kg], ≥ 0; zero is a massless link.
        com : centre of mass in body axes [m].
        inertia : inertia about the centre of mass in body axes [kg m²]: three principal moments, six
            numbers (xx, yy, zz, xy, xz, yz) or a 3×3 matrix. It must be symmetric and positive
            semidefinite, and its moments must obey the triangle inequality.
        shapes : shapes to draw.
        physical : True refuses a mass and inertia that no rigid body can have. False accepts any finite numbers, as
            some files have them; the motion depends on the mass matrix alone.
        """
        label = self._fresh(name, "body", self._bodies, (WORLD,))
        body = Body(
            name=name,
            mass=scalar(mass, "mass", label),
            com=vector(com, 3, "com", label),
            inertia=checks.inertia(inertia, label),
            shapes=tuple(shapes),
        )
        reason = checks.impossible(body.mass, body.inertia)
        if reason and physical:
            raise fault(label, reason)
        body = replace(body, physical=not reason)
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
        actuator_force_limits: tuple[float, float] | None = None,
        friction: float | Sequence[float] = 0.0,
        largest_angle: float | None = None,
        limit_restitution: float | Sequence[float] = 0.0,
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
        reference : coordinate at which the frames coincide [m, rad]; one per coordinate of the joint.
            Spherical: the frames coincide at the identity quaternion, and a free joint's coordinates are the
            pose of the child in the parent; there ``reference`` is only the neutral configuration (default:
            the identity, and the pose that parent_pose and child_pose give).
        limits : (lower, upper) [m, rad], or one pair per degree of freedom. A limit is a unilateral constraint in
            runs, statics and dynamics; ``switching=False`` and ``contacts=False`` switch it off.
        limit_restitution : Newton's coefficient of restitution at both limits, from 0 to 1, one number or one per
            degree of freedom: in runs the velocity after an impact is −coefficient times the velocity before.
        stiffness : spring toward ``spring_reference`` (default: ``reference``) [N/m, N m/rad].
        damping, armature : [N s/m, N m s/rad] and [kg, kg m²], one number or one per degree of freedom.
        actuator_force_limits : (lower, upper) of the sum of the actuators' forces on a joint of one degree of
            freedom [N, N m] (MuJoCo's actuatorfrcrange).
        friction : dry friction [N, N m], one number or one per degree of freedom; it acts in runs, statics and
            dynamics.
        largest_angle : limit of the rotation angle of a spherical joint from the identity [rad]. Recorded only.

        A second joint between the same two bodies acts in series after the first; its ``child_pose``
        alone places it. To connect a body that already has another parent, use `add_closure`.
        """
        label = self._fresh(name, "joint", self._owners)
        check_name("kind", kind, JOINT_KINDS, label)
        body = self._joined(child, parent, parent_pose is None, label)
        in_parent, in_child = (
            as_pose(parent_pose, "parent_pose", label),
            as_pose(child_pose, "child_pose", label),
        )
        u = unit_vector(axis, "axis", label)
        w = perpendicular_to(u) if axis2 is None else unit_vector(axis2, "axis2", label)
        if kind in ("universal", "planar") and abs(float(u @ w)) > PERPENDICULAR:
            raise fault(label, "axis2 must be perpendicular to axis")
        nq, nv = len(COORDINATE_LABELS.get(kind, ())), len(VELOCITY_LABELS.get(kind, ()))
        if actuator_force_limits is not None and nv != 1:
            wrong = f"actuator_force_limits are for joints of one degree of freedom, this one has {nv}"
            raise fault(label, wrong)
        if largest_angle is not None and kind != "spherical":
            raise fault(label, f"largest_angle is for spherical joints; give a {kind} joint limits")
        placement = body.placement if body.attached else in_parent @ in_child.inverse()
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
            actuator_force_limits=checks.bounds(actuator_force_limits, "actuator_force_limits", label),
            friction=checks.per_dof(friction, nv, "friction", label),
            largest_angle=None
            if largest_angle is None
            else checks.nonnegative(largest_angle, "largest_angle", label),
            limit_restitution=checks.per_dof(
                limit_restitution, nv, "limit_restitution", label, checks.fraction
            ),
        )
        if any(joint.limit_restitution) and not any(joint.limits):
            raise fault(
                label, "limit_restitution is for a joint with limits, and this one has none; give limits"
            )
        self._bodies[child] = replace(
            body,
            parent=parent,
            placement=placement,
            joints=body.joints if kind == "fixed" else (*body.joints, joint),
            attached=True,
        )
        if kind != "fixed":
            self._owners[name] = child
        return joint

    def _joined(self, child: str, parent: str, in_series: bool, label: Label) -> Body:
        """Return the body to be attached by a joint; `ModelError` if it cannot be attached to this parent."""
        body = self._body(child, label)
        self.check_body(parent, label)
        if child in self.driven_bodies:
            raise fault(label, f"body {child!r} is driven and cannot have joints")
        if body.attached and (parent != body.parent or not in_series):
            raise fault(
                label,
                f"body {child!r} already hangs on {body.parent!r}. A joint in series names the same "
                "parent and no parent_pose; a loop is closed with add_closure",
            )
        self._no_cycle(parent, child, label)
        return body

    def drive(self, body: str, function: Callable[[Any], Any] | None = None) -> DrivenBody:
        """Prescribe the pose of a body fixed to the ground as a function of time; None: it stands still.

        ``function(t)`` returns CasADi expressions: the position of the body in the world [m] (3 entries), position
        and wxyz quaternion (7), or both as a pair. Bodies attached to it by joints or closures follow exactly, in
        velocity and acceleration too; the driving force is part of the multipliers, and its work is part of the energy
        balance. Mass and inertia of the driven body have no effect. A second call replaces the function. The mocap
        bodies of an MJCF file are driven bodies without a function.

        Raises `ModelError` for a body with joints, or fixed to another body.
        """
        label = Label("driven body", body)
        found = self._body(body, label)
        if not found.attached or found.parent != WORLD or found.joints:
            how = "hangs on joints" if found.joints else f"is fixed to {found.parent!r}"
            raise fault(
                label,
                f"it {how if found.attached else 'is not attached'}; only a body fixed to the world can be "
                f"driven: add_joint(name, 'fixed', 'world', {body!r})",
            )
        if function is not None:
            checks.motion(function, label)
        self.driven_bodies[body] = DrivenBody(body, function)
        return self.driven_bodies[body]

    def add_keyframe(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0
    ) -> Keyframe:
        """Name a state: coordinates q (nq,), velocities v (nv,), controls u (nu,) and time t [s].

        Add the joints first, and the actuators if u is given. `System.keyframe` returns it with zeros for None;
        ``sarrus simulate --keyframe`` starts from it.
        """
        label = self._fresh(name, "keyframe", self.keyframes)
        keyframe = Keyframe(
            name,
            vector(q, len(self.coordinate_names), "q", label),
            None if v is None else vector(v, len(self.velocity_names), "v", label),
            None if u is None else vector(u, len(self.actuators), "u", label),
            scalar(t, "t", label),
        )
        self.keyframes[name] = keyframe
        return keyframe

    def to_mjcf(self, path: str | Path, **options: Any) -> None:
        """Write the mechanism as a MuJoCo model; options are those of `sarrus.export.mjcf_file`."""
        lazy_import("export", "mjcf_file")(self, path, **options)

    def _repr_html_(self) -> str:
        return str(lazy_import("pictures.plots.notebook", "mechanism_html")(self))

    def _no_cycle(self, parent: str, child: str, label: Label) -> None:
        ancestor = parent
        while ancestor != WORLD:
            if ancestor == child:
                raise fault(
                    label,
                    f"{child!r} would hang on itself through {parent!r}; close the loop with add_closure",
                    child,
                )
            ancestor = self._bodies[ancestor].parent
