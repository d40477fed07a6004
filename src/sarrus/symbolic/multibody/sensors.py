"""Measurements of the sensors of a mechanism, as expressions of its state, accelerations and multipliers.

Forces and torques are the wrench through the joint of a body, see `sarrus.symbolic.multibody.cuts`.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism import sensor as kinds
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.sensor import Sensor
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.forces import actuators
from sarrus.symbolic.forces.lengths import spring_length
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.rotations import conjugate, product
from sarrus.symbolic.kinematics.scalars import as_casadi, varies
from sarrus.symbolic.kinematics.tree import world_quaternion
from sarrus.symbolic.multibody.cuts import Cuts, Wrench
from sarrus.symbolic.multibody.geometry_bodies import geometry_bodies


def sensor_values(
    mechanism: Mechanism, e: Equations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX | None = None
) -> dict[str, ca.SX]:
    """Return the entries of every sensor by name; ``mechanism`` may have expressions of e.p as its numbers.

    ``pushes`` are the forces of contacts with Coulomb friction by rows, then wrenches on the bodies of
    `sarrus.symbolic.multibody.geometry_bodies.geometry_bodies`; zero by default.
    """
    count = int(e.row_rates.numel()) + 6 * len(geometry_bodies(mechanism))
    measuring = _Measuring(mechanism, e, a, multipliers, ca.SX.zeros(count) if pushes is None else pushes)
    return {name: _clipped(s, measuring.value(s)) for name, s in mechanism.sensors.items()}


def _clipped(sensor: Sensor, value: ca.SX) -> ca.SX:
    if not sensor.cutoff or sensor.kind in kinds.DIRECTION_KINDS:
        return value
    return ca.fmax(-sensor.cutoff, ca.fmin(sensor.cutoff, value))


class _Measuring:
    """The quantities of one mechanism shared by its sensors."""

    def __init__(
        self, mechanism: Mechanism, e: Equations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX
    ) -> None:
        assert e.tree is not None
        self.mechanism, self.e, self.tree = mechanism, e, e.tree
        self.cuts = Cuts(mechanism, e, a, multipliers, pushes)
        self.frames, self.moved, self.lengths = self.cuts.frames, self.cuts.moved, self.cuts.lengths
        self.coordinates, self.gravity = self.cuts.coordinates, self.cuts.gravity
        self.velocities = dict(zip(e.velocity_names, ca.vertsplit(e.v)))
        self._through: dict[str, Wrench] = {}

    def value(self, s: Sensor) -> ca.SX:
        """Return the entries of a sensor without cutoff."""
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
            return self.cuts.actuator_forces[actuator.name]
        along = self.lengths.of(actuator)
        return along.value if s.kind == "actuatorpos" else along.rate

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
        """Return the potential energy, bodies on the ground included."""
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
        """Return the orientation of a frame as a product of quaternions along the tree, which has no jumps."""
        own = self._turn(s.target, s.pose)
        if s.reference is None:
            return own
        return product(conjugate(self._turn(s.reference, s.reference_pose)), own)

    def _turn(self, body: str, pose: Pose) -> ca.SX:
        return product(world_quaternion(self.tree, body, self.e.q), ca.DM(pose.quaternion))

    # --- subtrees and cuts -------------------------------------------------------------------------

    def _of_subtree(self, s: Sensor) -> ca.SX:
        below = self.cuts.below(s.target)
        bodies = [body for name, body in self.cuts.bodies.items() if name in below]
        total = sum((body.mass for body in bodies), 0.0)
        points = [self.frames.point(body.name, body.com) for body in bodies]
        if not varies(total):  # massless subtree: the frame of the body itself
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
        """Return the force or torque of the parent on a body, in axes of the sensor."""
        if s.target not in self._through:
            self._through[s.target] = self.cuts.through_joint(s.target)
        wrench, rotation = self._through[s.target], self._rotation(s.target, s.pose)
        if s.kind == "force":
            return rotation.T @ wrench.force
        return rotation.T @ wrench.about(self.frames.point(s.target, s.pose.position).value).torque
