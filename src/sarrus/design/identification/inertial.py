"""The ten inertial parameters of a body, in which the equations of motion are linear, and its pseudo-inertia.

They are the mass m [kg], the first moment h = m c [kg m], and the inertia I about the origin of the body frame [kg m²],
in body axes. The pseudo-inertia is P = [[Σ, h], [hᵀ, m]] (4, 4) with Σ = ½ tr(I) E − I, the second moments of mass. A
body with a mass density has P ≻ 0, and every P ≻ 0 belongs to a body (Wensing, Kim, Slotine: Linear Matrix Inequalities
for Physically Consistent Inertial Parameter Identification, IEEE Robotics and Automation Letters 3(1), 2018,
section III).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Body
from sarrus.symbolic.kinematics.scalars import AnyPose

LABELS = (
    "mass",
    *(f"first_moment.{x}" for x in "xyz"),
    *(f"origin_inertia.{x}" for x in ("xx", "yy", "zz", "xy", "xz", "yz")),
)
# How many lengths a unit has beside the mass.
LENGTHS = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
_PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class LinearPart:
    """Inertia of a rigid part in axes of a node, for the recursion: linear in the ten parameters."""

    mass: ca.SX
    moment: ca.SX
    inertia_about_origin: ca.SX

    @classmethod
    def of(cls, numbers: ca.SX, pose: AnyPose) -> LinearPart:
        """Return the part of a body with ten parameters (10,), placed at ``pose`` in the node."""
        r, p, mass = ca.DM(pose.rotation), ca.DM(pose.position), numbers[0]
        inertia = ca.SX(3, 3)
        for k, (i, j) in enumerate(_PLACES):
            inertia[i, j] = inertia[j, i] = numbers[4 + k]
        first = r @ numbers[1:4]
        crossed = p @ first.T
        about = r @ inertia @ r.T + 2 * ca.dot(p, first) * ca.DM.eye(3) - crossed - crossed.T
        return cls(mass, first + mass * p, about + mass * (ca.dot(p, p) * ca.DM.eye(3) - p @ p.T))


def numbers_of(body: Body) -> Array:
    """Return the ten inertial parameters of a body (10,), in the order of `LABELS` [kg, kg m, kg m²]."""
    c, m = body.com, body.mass
    inertia = body.inertia + m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *(inertia[i, j] for i, j in _PLACES)])


def with_numbers(body: Body, numbers: Array) -> Body:
    """Return the body with these ten parameters; without mass its centre of mass is unchanged."""
    m, h = float(numbers[0]), np.asarray(numbers[1:4])
    inertia = np.zeros((3, 3))
    for k, (i, j) in enumerate(_PLACES):
        inertia[i, j] = inertia[j, i] = numbers[4 + k]
    if m == 0.0:
        return replace(body, mass=0.0, inertia=inertia)
    c = h / m
    return replace(body, mass=m, com=c, inertia=inertia - m * (float(c @ c) * np.eye(3) - np.outer(c, c)))


def pseudo_inertia(numbers: Array) -> Array:
    """Return the pseudo-inertia P (4, 4) of ten parameters; linear in them."""
    inertia = np.zeros((3, 3))
    for k, (i, j) in enumerate(_PLACES):
        inertia[i, j] = inertia[j, i] = numbers[4 + k]
    p = np.empty((4, 4))
    p[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    p[:3, 3] = p[3, :3] = numbers[1:4]
    p[3, 3] = numbers[0]
    return p


# P = Σ numbers × BASIS.
BASIS = np.stack([pseudo_inertia(e) for e in np.eye(10)])
