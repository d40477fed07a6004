"""What the sensors of a mechanism measure, as expressions of its state, accelerations and multipliers.

The reaction at the joint of a body follows from a cut there. With a virtual twist ξ of all that hangs on the body, the
power of each force across the cut is linear in ξ, and its derivative is the wrench that the force exerts on the cut-off
part. What that part's motion needs, less gravity and these wrenches, comes through the joint.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.equations.equations import Equations
from sarrus.equations.symbolic import stacked
from sarrus.mechanism import sensor as kinds
from sarrus.mechanism.description import Constraint
from sarrus.mechanism.elements import WORLD, Actuator, Closure, Coupling
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose
from sarrus.mechanism.sensor import Sensor
from sarrus.mechanism.transmissions import SiteTransmission, SliderCrank, TendonTransmission
from sarrus.multibody import actuators, forces
from sarrus.multibody.closures import coordinate_jets
from sarrus.multibody.frames import Frames
from sarrus.multibody.jet import Jet
from sarrus.multibody.kinematics import cross
from sarrus.multibody.lengths import Lengths, constraint_residual, spring_length
from sarrus.multibody.link import Link, links
from sarrus.multibody.rotations import conjugate, product
from sarrus.multibody.scalars import Numbers, as_casadi, varies
from sarrus.multibody.touches import Touching, contact_motion, touching_elements
from sarrus.multibody.tree import GROUND, Tree, world_quaternion


def sensor_values(
    mechanism: Mechanism, e: Equations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX | None = None
) -> dict[str, ca.SX]:
    """Return the entries of every sensor by name; ``mechanism`` may have expressions of e.p in its numbers.

    ``pushes`` are the forces of contacts with Coulomb friction by rows, zero by default.
    """
    count = sum(len(touch.row_names) for touch in e.touches)
    measuring = _Measuring(mechanism, e, a, multipliers, ca.SX.zeros(count) if pushes is None else pushes)
    return {name: _clipped(s, measuring.value(s)) for name, s in mechanism.sensors.items()}


def _clipped(sensor: Sensor, value: ca.SX) -> ca.SX:
    if not sensor.cutoff or sensor.kind in kinds.DIRECTION_KINDS:
        return value
    return ca.fmax(-sensor.cutoff, ca.fmin(sensor.cutoff, value))


class _CutFrames(Frames):
    """Frames in which the bodies below a cut have a virtual twist more: (angular, linear at a point), in their axes."""

    def __init__(
        self,
        tree: Tree,
        joints: list[Link],
        below: set[str],
        origin: ca.SX,
        twist: ca.SX,
        carrier: int | None = None,
        axes: Array | None = None,
    ) -> None:
        super().__init__(tree, joints, carrier, axes)
        self._below, self._origin, self._twist = below, origin, twist

    def seen_from(self, body: str) -> Frames:
        """Return the frames of what a body carries, as seen from it: what is below the cut moves where it does not."""
        node = self._tree.location[body][0]
        if node == GROUND or body in self._below:
            return super().seen_from(body)
        axes = self._tree.location[body][1].rotation
        position, rotation = self.node(node)
        rotation = rotation @ ca.DM(axes)
        origin = rotation.T @ (self._origin - position)
        twist = ca.vertcat(rotation.T @ self._twist[:3], rotation.T @ self._twist[3:])
        return _CutFrames(self._tree, self._links, self._below, origin, twist, node, axes.T)

    def angular_velocity(self, body: str) -> ca.SX:
        """Return the angular velocity of a body."""
        return super().angular_velocity(body) + (self._twist[:3] if body in self._below else 0)

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body, as a jet whose value is zero."""
        jet = super().turning(body)
        return Jet(jet.value, jet.rate + self._twist[:3], jet.bias) if body in self._below else jet

    def point(self, body: str, point: Numbers) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        jet = super().point(body, point)
        if body not in self._below:
            return jet
        more = self._twist[3:] + cross(self._twist[:3], jet.value - self._origin)
        return Jet(jet.value, jet.rate + more, jet.bias)

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        jet = super().direction(body, direction)
        if body not in self._below:
            return jet
        return Jet(jet.value, jet.rate + cross(self._twist[:3], jet.value), jet.bias)


class _Measuring:
    """The quantities of one mechanism that sensors share."""

    def __init__(
        self, mechanism: Mechanism, e: Equations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX
    ) -> None:
        assert e.tree is not None
        rows = np.cumsum([0, *(len(touch.row_names) for touch in e.touches)])
        self.pushes = {touch.name: pushes[i:j] for touch, i, j in zip(e.touches, rows, rows[1:])}
        self.mechanism, self.e, self.tree, self.multipliers = mechanism, e, e.tree, multipliers
        self.joints = links(e.tree, e.q, e.v)
        self.frames = Frames(e.tree, self.joints)
        self.moved = Frames(e.tree, links(e.tree, e.q, e.v, a))
        self.coordinates = dict(zip(e.coordinate_names, ca.vertsplit(e.q)))
        self.velocities = dict(zip(e.velocity_names, ca.vertsplit(e.v)))
        self.jets = coordinate_jets(e.coordinate_names, e.velocity_names, e.q, e.v)
        self.lengths = Lengths(mechanism, self.tree, self.frames, self.jets, e.q, e.v)
        self.gravity = as_casadi(mechanism.gravity)
        self._cuts: dict[str, tuple[ca.SX, ca.SX]] = {}

    def value(self, s: Sensor) -> ca.SX:
        """Return the entries of a sensor, not clipped."""
        if s.kind in kinds.REACTION_KINDS:
            return self._reaction(s)
        if s.kind in kinds.FRAME_KINDS:
            return self._of_frame(s)
        if s.kind in kinds.SUBTREE_KINDS:
            return self._of_subtree(s)
        if s.kind in kinds.ACTUATOR_KINDS:
            return self._of_actuator(s)
        if s.kind in kinds.LENGTH_KINDS:
            return self._length(s)
        match s.kind:
            case "jointpos":
                return self.coordinates[s.target]
            case "jointvel":
                return self.velocities[s.target]
            case "jointactuatorfrc":
                return self._actuation()[self.e.velocity_names.index(s.target)]
            case "ballquat":
                q = ca.vertcat(*(self.coordinates[s.target + x] for x in (".qw", ".qx", ".qy", ".qz")))
                return q / ca.norm_2(q)
            case "ballangvel":
                return ca.vertcat(*(self.velocities[s.target + x] for x in (".wx", ".wy", ".wz")))
            case "clock":
                return self.e.t
            case "e_kinetic":
                return self.e.kinetic_energy
            case _:
                return self._potential()

    # --- joints, actuators, energies ---------------------------------------------------------------

    def _actuation(self) -> ca.SX:
        """Return the generalized force of all actuators."""
        e = self.e
        return actuators.bias_force(self.mechanism, self.lengths, e.v) + e.input_force

    def _of_actuator(self, s: Sensor) -> ca.SX:
        actuator = self.mechanism.actuators[s.target]
        if s.kind == "actuatorfrc":
            return self._forces[actuator.name]
        along = self.lengths.of(actuator)
        return along.value if s.kind == "actuatorpos" else along.rate

    @cached_property
    def _forces(self) -> dict[str, ca.SX]:
        """The scalar forces of the actuators."""
        return actuators.forces(self.mechanism, self.lengths, self.coordinates, self.e.u)

    def _length(self, s: Sensor) -> ca.SX:
        """Return the length of a spring, a tendon or a combination of coordinates, or its rate."""
        if s.target in self.mechanism.tendons:
            jet = self.lengths.tendon(s.target)
        elif s.target in self.mechanism.springs:
            jet = spring_length(self.mechanism.springs[s.target], self.mechanism, self.frames)
        else:
            terms = s.terms or self.mechanism.coordinate_springs[s.target].terms
            values = self.coordinates if s.kind == "tendonpos" else self.velocities
            return sum((weight * values[name] for name, weight in terms), ca.SX(0))
        return jet.value if s.kind == "tendonpos" else jet.rate

    def _potential(self) -> ca.SX:
        """Return the potential energy, that of bodies on the ground included."""
        energy = self.e.potential_energy
        for name, body in self.mechanism.bodies.items():
            if self.tree.location[name][0] < 0 and varies(body.mass):
                energy = energy - body.mass * ca.dot(self.gravity, self.frames.point(name, body.com).value)
        return energy

    # --- frames ------------------------------------------------------------------------------------

    def _of_frame(self, s: Sensor) -> ca.SX:
        rotation = self._rotation(s.target, s.pose)
        point = self.frames.point(s.target, s.pose.position)
        spin = self.frames.angular_velocity(s.target)
        match s.kind:
            case "velocimeter":
                return rotation.T @ point.rate
            case "gyro":
                return rotation.T @ spin
            case "accelerometer":
                return rotation.T @ self._acceleration(s)
            case "magnetometer":
                return rotation.T @ ca.DM(self.mechanism.magnetic_field)
            case "framelinacc":
                return self._acceleration(s)
            case "frameangacc":
                return self.moved.angular_acceleration(s.target)
            case "framequat":
                return self._quaternion(s)
        axes, origin, turning = ca.SX(ca.DM.eye(3)), None, ca.SX.zeros(3)
        if s.reference is not None:
            axes = self._rotation(s.reference, s.reference_pose)
            origin = self.frames.point(s.reference, s.reference_pose.position)
            turning = self.frames.angular_velocity(s.reference)
        match s.kind:
            case "framepos":
                return point.value if origin is None else axes.T @ (point.value - origin.value)
            case "framelinvel":
                if origin is None:
                    return point.rate
                return axes.T @ (point.rate - origin.rate - cross(turning, point.value - origin.value))
            case "frameangvel":
                return axes.T @ (spin - turning)
        return axes.T @ rotation[:, ("framexaxis", "frameyaxis", "framezaxis").index(s.kind)]

    def _rotation(self, body: str, pose: Pose) -> ca.SX:
        """Return the axes of a frame on a body in the world."""
        return self.frames.placement(body)[1] @ ca.DM(pose.rotation)

    def _acceleration(self, s: Sensor) -> ca.SX:
        """Return the acceleration of a frame's origin minus that of free fall, world axes."""
        return self.moved.point(s.target, s.pose.position).bias - self.gravity

    def _quaternion(self, s: Sensor) -> ca.SX:
        """Return the orientation of a frame as the product of the quaternions on the way, which makes no jumps."""
        own = self._turn(s.target, s.pose)
        if s.reference is None:
            return own
        return product(conjugate(self._turn(s.reference, s.reference_pose)), own)

    def _turn(self, body: str, pose: Pose) -> ca.SX:
        return product(world_quaternion(self.tree, body, self.e.q), ca.DM(pose.quaternion))

    # --- subtrees and cuts -------------------------------------------------------------------------

    def _below(self, body: str) -> list[str]:
        """Return a body and all that hang on it."""
        found = {body}
        for name, other in self.mechanism.bodies.items():  # parents come first
            if other.parent in found:
                found.add(name)
        return [name for name in self.mechanism.bodies if name in found]

    def _of_subtree(self, s: Sensor) -> ca.SX:
        bodies = [self.mechanism.bodies[name] for name in self._below(s.target)]
        total = sum((body.mass for body in bodies), 0.0)
        points = [self.frames.point(body.name, body.com) for body in bodies]
        if not varies(total):  # nothing to weigh: the frame of the body itself
            here = self.frames.point(s.target, np.zeros(3))
            centre, velocity = here.value, ca.SX.zeros(3)
        else:
            centre = sum((b.mass * p.value for b, p in zip(bodies, points)), ca.SX.zeros(3)) / total
            velocity = sum((b.mass * p.rate for b, p in zip(bodies, points)), ca.SX.zeros(3)) / total
        if s.kind == "subtreecom":
            return centre
        if s.kind == "subtreelinvel":
            return velocity
        momentum = ca.SX.zeros(3)
        for body, point in zip(bodies, points):
            rotation = self.frames.placement(body.name)[1]
            spin = rotation.T @ self.frames.angular_velocity(body.name)
            momentum += rotation @ (as_casadi(body.inertia) @ spin)
            momentum += body.mass * cross(point.value - centre, point.rate - velocity)
        return momentum

    def _reaction(self, s: Sensor) -> ca.SX:
        """Return the force or torque that the parent of a body exerts on it, in axes of the sensor."""
        if s.target not in self._cuts:
            self._cuts[s.target] = self._through_joint(s.target)
        torque, force = self._cuts[s.target]
        rotation = self._rotation(s.target, s.pose)
        if s.kind == "force":
            return rotation.T @ force
        body = self.frames.placement(s.target)[0]
        return rotation.T @ (torque - cross(self.frames.point(s.target, s.pose.position).value - body, force))

    def _through_joint(self, body: str) -> tuple[ca.SX, ca.SX]:
        """Return torque about the origin of a body and force that it gets from its parent, world axes."""
        origin, below = self.frames.placement(body)[0], self._below(body)
        torque, force = ca.SX.zeros(3), ca.SX.zeros(3)
        for name in below:
            part = self.mechanism.bodies[name]
            rotation = self.frames.placement(name)[1]
            spin = rotation.T @ self.frames.angular_velocity(name)
            inertia = as_casadi(part.inertia)
            turning = inertia @ (rotation.T @ self.moved.angular_acceleration(name))
            push = part.mass * (self.moved.point(name, part.com).bias - self.gravity)
            torque += rotation @ (turning + cross(spin, inertia @ spin))
            torque += cross(self.frames.point(name, part.com).value - origin, push)
            force += push
        outside = self._from_outside(origin, set(below))
        return torque - outside[:3], force - outside[3:]

    def _from_outside(self, origin: ca.SX, below: set[str]) -> ca.SX:
        """Return the wrench (torque about a point, force) on some bodies of all but gravity and their joints."""
        twist = ca.SX.sym("twist", 6)
        frames = _CutFrames(self.tree, self.joints, below, origin, twist)
        wrench, row = ca.SX.zeros(6), 0
        for constraint in self.mechanism.constraints():
            rows = slice(row, row := row + len(constraint.row_names))
            if _acts_across(constraint, below):
                rate = constraint_residual(constraint, self.mechanism, frames, self.jets).rate
                wrench += forces.power_conjugate(rate, twist, self.multipliers[rows])
        for contact in touching_elements(self.mechanism):
            if _acts_across(contact, below):
                rates = contact_motion(contact, self.mechanism, frames).rates
                wrench += forces.power_conjugate(rates, twist, self.pushes[contact.name])
        for spring in self.mechanism.springs.values():
            if _crosses(below, spring.body1, spring.body2):
                wrench += forces.elastic_force(spring, spring_length(spring, self.mechanism, frames), twist)[
                    0
                ]
        lengths = Lengths(self.mechanism, self.tree, frames, self.jets, self.e.q, self.e.v)
        for tendon in self.mechanism.tendons.values():
            if tendon.spatial:
                wrench += forces.elastic_force(tendon, lengths.tendon(tendon.name), twist)[0]
        for actuator in self.mechanism.actuators.values():
            if _pulls_across(self.mechanism, actuator, below):
                wrench += forces.power_conjugate(
                    lengths.of(actuator).rate, twist, self._forces[actuator.name]
                )
        for user in self.mechanism.forces.values():
            if user.body in below and not user.through_joints:
                value = ca.vec(ca.SX(stacked(user.function(self.e.q, self.e.v, self.e.t))))
                rate = frames.point(user.body, user.point).rate
                wrench += forces.power_conjugate(rate, twist, value)
        return ca.substitute(wrench, twist, ca.SX.zeros(6))


def _acts_across(constraint: Constraint | Touching, below: set[str]) -> bool:
    """Tell whether a constraint ties some bodies to others, past the joints."""
    if isinstance(constraint, Coupling):
        return any(term.coordinate.startswith("tendon:") for term in constraint.terms)
    if isinstance(constraint, Closure):
        return _crosses(below, constraint.body1, constraint.body2)
    return _crosses(below, constraint.body, constraint.ground)


def _pulls_across(mechanism: Mechanism, actuator: Actuator, below: set[str]) -> bool:
    """Tell whether an actuator pulls on some bodies from outside, past the joints."""
    along = actuator.transmission
    if isinstance(along, TendonTransmission):
        return mechanism.tendons[along.tendon].spatial
    if isinstance(along, SliderCrank):
        return _crosses(below, along.body, along.slider)
    if isinstance(along, SiteTransmission):
        return _crosses(below, along.body, along.reference[0] if along.reference else WORLD)
    return False


def _crosses(below: set[str], one: str, other: str) -> bool:
    return (one in below) != (other in below)
