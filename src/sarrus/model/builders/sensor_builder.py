"""`SensorBuilder`: adds sensors to a mechanism."""

from __future__ import annotations

from collections.abc import Mapping

from sarrus.model.mechanism import checks
from sarrus.model.mechanism import sensor as kinds
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.faults import check_name, fault
from sarrus.model.mechanism.pose import Pose, PoseLike, as_pose
from sarrus.model.mechanism.sensor import SENSOR_KINDS, Sensor


class SensorBuilder(Description):
    """The method of `Mechanism` that adds sensors."""

    def add_sensor(
        self,
        name: str,
        kind: str,
        target: str | Mapping[str, float] = "",
        *,
        pose: PoseLike = None,
        reference: str | None = None,
        reference_pose: PoseLike = None,
        cutoff: float = 0.0,
        noise: float = 0.0,
    ) -> Sensor:
        """Add a sensor of a kind of MJCF; SI units, angles in radians.

        ================================== ================================================================
        kind                               measures
        ================================== ================================================================
        jointpos, jointvel                 a scalar coordinate or velocity by name
        jointactuatorfrc                   the force of all actuators on a scalar velocity, limits included
        ballquat, ballangvel               the unit quaternion of a spherical joint; its angular velocity, body axes
        tendonpos, tendonvel               length and rate of a spring or tendon by name, or Σ weight × coordinate
        actuatorpos, actuatorvel           length and rate of an actuator (of its transmission)
        actuatorfrc                        the force of an actuator, before its gears, limits included
        framepos, framequat                position and orientation of a frame
        framexaxis, frameyaxis, framezaxis an axis of a frame
        framelinvel, frameangvel           velocity of a frame
        framelinacc, frameangacc           acceleration of a frame, in world axes, linear minus gravity's
        velocimeter, gyro                  velocity of a frame in its own axes
        accelerometer                      acceleration minus that of free fall, in axes of the frame
        magnetometer                       ``mechanism.magnetic_field`` in axes of the frame
        force, torque                      force and torque of the parent on a body at their joint, in axes of
                                           the frame; torque about its origin
        subtreecom                         centre of mass of a body and all its descendants
        subtreelinvel, subtreeangmom       its velocity, and the angular momentum about it, world axes
        clock, e_potential, e_kinetic      time and energies of the whole mechanism
        ================================== ================================================================

        Parameters
        ----------
        target : of a frame: a body, "world", or the name of a frame of the file (``mechanism.frames``).
        pose : the frame of the sensor in its target: a `Pose` or a position [m].
        reference, reference_pose : the frame in which framepos to frameangvel measure, given as above; by default the
            world. Velocities are then relative to this moving frame.
        cutoff : entries are clipped at ± cutoff; zero does not clip. noise : standard deviation, recorded only.

        The joint force of a body is the rate of momentum of its subtree minus the external forces on the subtree:
        gravity, closures, contacts, springs between points and forces on bodies. Actuators, joint springs, couplings
        and forces given without a body act within joints. With redundant constraints the closure forces are the
        minimum-norm ones.

        Raises `ModelError` for an unknown kind or target, and for frames given to a kind without frame.
        """
        label = self._fresh(name, "sensor", self.sensors)
        check_name("kind", kind, SENSOR_KINDS, label)
        if kind not in kinds.FRAME_KINDS and not (pose is None and reference is None):
            raise fault(label, f"a {kind} has no frame: leave pose and reference out")
        if reference is not None and kind not in kinds.RELATIVE_KINDS:
            raise fault(label, f"a {kind} has no reference frame")
        terms: tuple[tuple[str, float], ...] = ()
        own = as_pose(pose, "pose", label)
        other = as_pose(reference_pose, "reference_pose", label)
        if isinstance(target, Mapping):
            if kind not in kinds.LENGTH_KINDS:
                raise fault(label, f"a {kind} has one target, got {target!r}")
            terms, target = self._weights(target, "target", label), ""
        elif kind in kinds.FRAME_KINDS:
            target, own = self._sensed_frame(target, own, label)
            if kind in kinds.REACTION_KINDS and target == WORLD:
                raise fault(label, "the world has no joint: name a body")
        else:
            self._check_target(kind, target, label)
        if reference is not None:
            reference, other = self._sensed_frame(reference, other, label)
        sensor = Sensor(
            name,
            kind,
            target,
            terms,
            own,
            reference,
            other,
            checks.nonnegative(cutoff, "cutoff", label),
            checks.nonnegative(noise, "noise", label),
        )
        self.sensors[name] = sensor
        return sensor

    def _sensed_frame(self, target: str, pose: Pose, label: str) -> tuple[str, Pose]:
        """Return the body and the pose of a frame: a body, the world or a frame of the file."""
        if target in self.frames and target not in self._bodies:
            body, place = self.frames[target]
            return body, place @ pose
        self.check_body(target, label)
        return target, pose

    def _check_target(self, kind: str, target: str, label: str) -> None:
        """Raise `ModelError` unless the target of a sensor without frame exists."""
        if kind in kinds.SCALAR_KINDS:
            self._scalar_coordinate(target, label)
            return
        if kind in kinds.SUBTREE_KINDS:
            self.check_body(target, label)
            return
        what = "target"
        valid: tuple[str, ...] = ("",)
        if kind in kinds.BALL_KINDS:
            what, valid = "spherical joint", tuple(j.name for j in self.joints() if j.kind == "spherical")
        elif kind in kinds.LENGTH_KINDS:
            what, valid = "spring or tendon", (*self.springs, *self.coordinate_springs, *self.tendons)
        elif kind in kinds.ACTUATOR_KINDS:
            what, valid = "actuator", tuple(self.actuators)
        check_name(what, target, valid, label)
