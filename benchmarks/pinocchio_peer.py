"""A `Mechanism` as a Pinocchio model, so that both sides of a comparison are the same mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import WORLD, Closure
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import perpendicular_to

# Closures that Pinocchio can express. A planar pin, two rows here, is a point with a dead third row there.
_CONTACTS = {
    "point": pin.ContactType.CONTACT_3D,
    "point_on_line": pin.ContactType.CONTACT_3D,
    "weld": pin.ContactType.CONTACT_6D,
}


@dataclass(frozen=True)
class _Slot:
    """Where one joint's coordinates and velocities lie, the same slice of v on both sides."""

    joint: Joint
    q: slice
    pin_q: slice
    v: slice


class PinocchioPeer:
    """Pinocchio's model, data and constraints of a mechanism of rigid bodies, joints and closures.

    Joints: revolute, prismatic, planar, spherical, free, each along the axis that Pinocchio handles fastest.
    Springs, dampers, couplings and other closures than points and welds are a `ValueError`.
    ``q``, ``v`` and ``acceleration`` translate between the conventions: Pinocchio's quaternions are xyzw, its
    planar joint holds cosine and sine, and its linear velocities are in the axes of the moving body.
    """

    def __init__(self, mechanism: sr.Mechanism) -> None:
        if mechanism.springs or mechanism.coordinate_springs or mechanism.couplings or mechanism.forces:
            raise ValueError(f"{mechanism.name}: only rigid bodies, joints and closures can be compared")
        self.model = pin.Model()
        self.model.gravity.linear = np.array(mechanism.gravity)
        self._slots: list[_Slot] = []
        self._location: dict[str, tuple[int, pin.SE3]] = {WORLD: (0, pin.SE3.Identity())}
        for body in mechanism.bodies.values():
            parent, pose = self._location[body.parent]
            if not (body.joints and body.joints[0].kind == "free"):
                pose = pose * _se3(body.placement)
            for joint in body.joints:
                parent, pose = self._add(joint, parent, pose)
            self._location[body.name] = (parent, pose)
            self.model.appendBodyToJoint(parent, pin.Inertia(body.mass, body.com, body.inertia), pose)
        self.constraints = pin.StdVec_RigidConstraintModel()
        for closure in mechanism.closures.values():
            self.constraints.append(self._contact(closure))
        self.data = self.model.createData()

    @cached_property
    def constraint_data(self) -> pin.StdVec_RigidConstraintData:
        """Pinocchio's data of the constraints; ``data`` is prepared for them."""
        found = pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            found.append(constraint.createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, found)
        return found

    @property
    def n_rows(self) -> int:
        """Number of constraint rows."""
        return sum(constraint.residualSize() for constraint in self.constraints)

    def forward_dynamics(self, q: Array, v: Array, mu: float, iterations: int) -> Callable[[], Array]:
        """Return a call of `constraintDynamics` at a state of sarrus, with nothing but the call inside.

        ``mu`` and ``iterations`` are those of the proximal method, which redundant rows need.
        """
        arguments = (self.model, self.data, self.q(q), self.v(q, v), np.zeros(self.model.nv))
        settings = pin.ProximalSettings(1e-14, mu, iterations)
        compute, models, datas = pin.constraintDynamics, self.constraints, self.constraint_data
        return lambda: compute(*arguments, models, datas, settings)

    def linear_model(self, q: Array, v: Array, mu: float, iterations: int) -> Callable[[], object]:
        """Return a call of `constraintDynamics`, then `computeConstraintDynamicsDerivatives`, at a state of sarrus."""
        solve, compute = self.forward_dynamics(q, v, mu, iterations), pin.computeConstraintDynamicsDerivatives
        arguments = self.model, self.data, self.constraints, self.constraint_data

        def call() -> object:
            solve()
            return compute(*arguments)

        return call

    def deviation(self, q: Array, v: Array, mu: float, iterations: int) -> float:
        """Return how far Pinocchio's ∂a/∂q is from central differences of its own accelerations, relatively.

        With version 4.1 that is large for closures between two moving bodies, and for those with the world it grows
        with every call on the same data: call it once.
        """
        self.linear_model(q, v, mu, iterations)()
        exact, step = np.array(self.data.ddq_dq), 1e-6
        place, speed = self.q(q), self.v(q, v)
        none, settings = np.zeros(self.model.nv), pin.ProximalSettings(1e-14, mu, iterations)
        columns = []
        for direction in step * np.eye(self.model.nv):
            ahead, behind = (
                np.array(
                    pin.constraintDynamics(
                        self.model, self.data, pin.integrate(self.model, place, way), speed, none,
                        self.constraints, self.constraint_data, settings,
                    )
                )
                for way in (direction, -direction)
            )  # fmt: skip
            columns.append((ahead - behind) / (2 * step))
        found = np.column_stack(columns)
        return float(np.abs(exact - found).max() / np.abs(found).max())

    def q(self, q: Array) -> Array:
        """Return Pinocchio's coordinates."""
        out = np.zeros(self.model.nq)
        for slot in self._slots:
            joint, part = slot.joint, q[slot.q]
            match joint.kind:
                case "spherical":
                    part = np.roll(part, -1)
                case "free":
                    part = np.concatenate([part[:3], np.roll(part[3:], -1)])
                case "planar":
                    x, y, angle = part - np.array(joint.reference)
                    part = np.array([x, y, np.cos(angle), np.sin(angle)])
                case _:
                    part = part - np.array(joint.reference)
            out[slot.pin_q] = part
        return out

    def v(self, q: Array, v: Array) -> Array:
        """Return Pinocchio's velocities."""
        out = np.array(v, dtype=float)
        for slot, linear, turn in self._turned(q):
            out[slot.v][linear] = turn.T @ out[slot.v][linear]
        return out

    def acceleration(self, q: Array, v: Array, a: Array) -> Array:
        """Return Pinocchio's accelerations in the conventions of sarrus: d(R w)/dt = R (ẇ + ω × w)."""
        out, body = np.array(a), self.v(q, v)
        for slot, linear, turn in self._turned(q):
            w, rate = body[slot.v][linear], body[slot.v][linear.stop :]
            spin = np.cross(rate, w) if len(rate) == 3 else rate[0] * np.array([-w[1], w[0]])
            out[slot.v][linear] = turn @ (out[slot.v][linear] + spin)
        return out

    def _turned(self, q: Array) -> list[tuple[_Slot, slice, Array]]:
        """Joints whose linear velocity turns with the body, its slice and the rotation of the body."""
        found = []
        for slot in self._slots:
            if slot.joint.kind == "free":
                w, x, y, z = q[slot.q][3:]
                found.append((slot, slice(0, 3), pin.Quaternion(w, x, y, z).toRotationMatrix()))
            elif slot.joint.kind == "planar":
                angle = q[slot.q][2] - slot.joint.reference[2]
                c, s = np.cos(angle), np.sin(angle)
                found.append((slot, slice(0, 2), np.array([[c, -s], [s, c]])))
        return found

    def _add(self, joint: Joint, parent: int, pose: pin.SE3) -> tuple[int, pin.SE3]:
        """Add a joint to a parent in which the body has ``pose``; return its id and the body's pose in it."""
        kind, frame = _joint_frame(joint)
        q, v = sum(s.joint.nq for s in self._slots), self.model.nv
        pin_q = self.model.nq
        added = self.model.addJoint(parent, kind, pose * frame, joint.name)
        self._slots.append(
            _Slot(joint, slice(q, q + joint.nq), slice(pin_q, self.model.nq), slice(v, self.model.nv))
        )
        if any(joint.damping) or joint.stiffness:
            raise ValueError(f"joint {joint.name!r}: only joints without springs and dampers can be compared")
        if any(joint.armature):
            armature = np.array(self.model.armature)
            armature[v : self.model.nv] = joint.armature
            self.model.armature = armature
        return added, frame.inverse()

    def _contact(self, closure: Closure) -> pin.RigidConstraintModel:
        if closure.kind not in _CONTACTS:
            raise ValueError(
                f"closure {closure.name!r}: Pinocchio has no counterpart of kind {closure.kind!r}"
            )
        sides = []
        for body, frame in ((closure.body1, closure.pose1), (closure.body2, closure.pose2)):
            node, pose = self._location[body]
            sides += [node, pose * _se3(frame)]
        return pin.RigidConstraintModel(_CONTACTS[closure.kind], self.model, *sides, pin.ReferenceFrame.LOCAL)


def _se3(pose: sr.Pose) -> pin.SE3:
    return pin.SE3(np.array(pose.rotation), np.array(pose.position))


def _joint_frame(joint: Joint) -> tuple[pin.JointModel, pin.SE3]:
    """Return Pinocchio's joint and its frame in the body: z along the axis, x along the second axis."""
    if joint.kind == "free":
        return pin.JointModelFreeFlyer(), pin.SE3.Identity()
    x = joint.axis2 if joint.kind == "planar" else perpendicular_to(joint.axis)
    rotation = np.column_stack([x, np.cross(joint.axis, x), joint.axis])
    match joint.kind:
        case "revolute":
            return pin.JointModelRZ(), pin.SE3(rotation, joint.anchor)
        case "prismatic":
            return pin.JointModelPZ(), pin.SE3(rotation, joint.anchor)
        case "planar":
            return pin.JointModelPlanar(), pin.SE3(rotation, joint.anchor)
        case "spherical":
            return pin.JointModelSpherical(), pin.SE3(np.eye(3), joint.anchor)
    raise ValueError(f"joint {joint.name!r}: kind {joint.kind!r} is not compared")
