"""Centre of mass and momentum of all bodies, over the symbols of the equations.

Linear momentum p = m ċ, angular momentum about the centre of mass c

    L = Σ (cᵢ − c) × mᵢ (ċᵢ − ċ) + Iᵢ ωᵢ,

and the rates of both at zero joint accelerations; the composite inertia I_c about c has L = I_c ω for a rigid motion of
all bodies. (Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, Autonomous Robots 35, 2013.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

from sarrus.model.mechanism.elements import Body
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet, constant
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.scalars import as_casadi


@dataclass(frozen=True)
class Momentum:
    """Momentum of a mechanism in world axes.

    ``centre`` is the jet of the centre of mass [m], ``linear`` and ``angular`` are momenta [kg m/s, kg m²/s],
    ``linear_bias`` and ``angular_bias`` their rates at zero joint accelerations, ``inertia`` (3, 3) is I_c [kg m²].
    """

    mass: float | ca.SX
    centre: Jet
    linear: ca.SX
    angular: ca.SX
    linear_bias: ca.SX
    angular_bias: ca.SX
    inertia: ca.SX


def centre_of_mass(frames: Frames, bodies: Iterable[Body]) -> Jet:
    """Return the jet of the centre of mass in world axes [m]; the masses must not add up to zero."""
    bodies = list(bodies)
    total = sum(body.mass for body in bodies)
    centre = constant(ca.SX.zeros(3))
    for body in bodies:
        centre = centre + frames.point(body.name, body.com).scaled(body.mass / total)
    return centre


def momentum(frames: Frames, bodies: Iterable[Body]) -> Momentum:
    """Return the momentum of bodies, whose masses and inertias may depend on parameters."""
    bodies = list(bodies)
    total, centre = sum(body.mass for body in bodies), centre_of_mass(frames, bodies)
    angular, bias, inertia = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3, 3)
    for body in bodies:
        rotation = frames.placement(body.name)[1]
        own = rotation @ as_casadi(body.inertia) @ rotation.T
        spin, turning = frames.angular_velocity(body.name), frames.angular_acceleration(body.name)
        arm = frames.point(body.name, body.com) - centre
        angular += body.mass * cross(arm.value, arm.rate) + own @ spin
        bias += body.mass * cross(arm.value, arm.bias) + own @ turning + cross(spin, own @ spin)
        square = ca.dot(arm.value, arm.value)
        inertia += own + body.mass * (square * ca.SX.eye(3) - arm.value @ arm.value.T)
    return Momentum(total, centre, total * centre.rate, angular, total * centre.bias, bias, inertia)
