"""A frame with a prescribed motion on a body: frame 1 of a driven closure.

With r, Q and s its position, rotation and angular velocity in axes of the body, e_k the axes of the body as jets, and
ω the angular velocity of the body,

    p = o + Σ r_k e_k,    z = Σ (Q z')_k e_k,    ω' = ω + Σ s_k e_k

are a point and a direction fixed to it, and its angular velocity; the product rules of jets give the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.pose import Pose
from sarrus.symbolic.kinematics.frames import BodyFrames
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.rotations import quaternion_matrix, quaternion_spin
from sarrus.symbolic.kinematics.scalars import as_casadi
from sarrus.symbolic.kinematics.timed import Motion, jet_of_time, pose_at

_AXES = np.eye(3)


@dataclass(frozen=True)
class MovedFrames:
    """Frames with an additional frame ``name`` that moves on a ``body`` as a function of time; jets in its axes.

    ``turn`` are the columns of its rotation, ``spin`` is its angular velocity.
    """

    frames: BodyFrames
    name: str
    body: str
    position: Jet
    turn: tuple[Jet, Jet, Jet]
    spin: Jet

    @classmethod
    def on(
        cls, frames: BodyFrames, name: str, body: str, pose: Pose, motion: Motion, t: ca.SX, label: Label
    ) -> MovedFrames:
        """Return frames with an additional frame moved by a function of time, relative to a pose on a body."""
        position, quaternion = pose_at(motion, t, label)
        fixed = ca.DM(pose.rotation)
        turn, spin = ca.SX.eye(3), ca.SX.zeros(3)
        if quaternion is not None:
            turn = quaternion_matrix(quaternion)
            spin = quaternion_spin(quaternion, ca.jacobian(quaternion, t))
        columns = [jet_of_time(fixed @ turn[:, k], t) for k in range(3)]
        place = as_casadi(pose.position) + fixed @ position
        return cls(
            frames,
            name,
            body,
            jet_of_time(place, t),
            (columns[0], columns[1], columns[2]),
            jet_of_time(fixed @ spin, t),
        )

    def point(self, body: str, point: Array) -> Jet:
        """Return the jet of a point given in axes of a body, or of the moved frame [m]."""
        if body != self.name:
            return self.frames.point(body, point)
        place = self.position
        for column, x in zip(self.turn, point):
            place = place + column.scaled(float(x))
        return self.frames.point(self.body, np.zeros(3)) + self._along(place)

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in axes of a body, or of the moved frame."""
        if body != self.name:
            return self.frames.direction(body, direction)
        parts = [column.scaled(float(x)) for column, x in zip(self.turn, direction)]
        return self._along(parts[0] + parts[1] + parts[2])

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body or of the moved frame; the value of the jet is zero."""
        if body != self.name:
            return self.frames.turning(body)
        carried, own = self.frames.turning(self.body), self._along(self.spin)
        return Jet(carried.value, carried.rate + own.value, carried.bias + own.rate)

    def _along(self, vector: Jet) -> Jet:
        """Return the jet of a vector given in axes of the body."""
        parts = []
        for k, axis in enumerate(_AXES):
            entry = Jet(vector.value[k], vector.rate[k], vector.bias[k])
            parts.append(self.frames.direction(self.body, axis) * entry)
        return parts[0] + parts[1] + parts[2]
