"""Quantities of all bodies together: their `centre_of_mass`, their `momentum`, and the `capture_point`."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import number_between
from sarrus.control.quantities.quantities import (
    AXES,
    Part,
    Quantity,
    bodies_of,
    chosen_axes,
    frames_of,
    mechanism_of,
    of_jet,
    of_velocity,
)
from sarrus.control.quantities.tolerances import LEAST_HEIGHT
from sarrus.dynamics.system import System
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.multibody.momentum import centre_of_mass as mass_centre
from sarrus.symbolic.multibody.momentum import momentum as whole_momentum


def centre_of_mass(axes: str = AXES) -> Part:
    """Return the position of the centre of mass of the whole mechanism in the world [m]."""
    chosen = chosen_axes(axes)

    def trace(system: System) -> Quantity:
        jet = mass_centre(frames_of(system), bodies_of(system))
        jet = Jet(*(part[chosen] for part in (jet.value, jet.rate, jet.bias)))
        return of_jet(system, jet, tuple(f"centre_of_mass.{AXES[k]}" for k in chosen), "m")

    return Part(trace)


def momentum(linear: str = AXES, angular: str = AXES) -> Part:
    """Return the momentum of the whole mechanism in world axes, of degree 1: linear p [kg m/s], then angular about the
    centre of mass L [kg m²/s].

    ``linear`` and ``angular`` such as "xy" select rows, "" none of them. Its rate is the wrench about the centre of
    mass of all that acts from outside [N, N m], which is what a task wants then (Orin, Goswami and Lee 2013).
    """
    rows = [
        chosen_axes(axes, what) if axes else [] for axes, what in ((linear, "linear"), (angular, "angular"))
    ]
    if not any(rows):
        raise ArgumentError("momentum needs axes of linear= or of angular=", element="linear")

    def trace(system: System) -> Quantity:
        m = whole_momentum(frames_of(system), bodies_of(system))
        value, bias = (
            ca.vertcat(p[rows[0]], L[rows[1]])
            for p, L in ((m.linear, m.angular), (m.linear_bias, m.angular_bias))
        )
        names = [f"momentum.{AXES[k]}" for k in rows[0]] + [f"momentum.r{AXES[k]}" for k in rows[1]]
        units = ("N",) * len(rows[0]) + ("N m",) * len(rows[1])
        return of_velocity(system, value, tuple(names), bias, units)

    return Part(trace)


def capture_point(height: float, axes: str = "xy") -> Part:
    """Return the instantaneous capture point ξ = c + ċ / ω [m] of the centre of mass c, of degree 1.

    ω = √(g / height), with the ``height`` [m] of the centre of mass above the ground and g the size of gravity: where
    an inverted pendulum of that height must set its foot to come to rest (Pratt, Carff, Drakunov and Goswami, Capture
    point: a step toward humanoid push recovery, 2006). Of ξ̇ = ċ + c̈ / ω the task chooses c̈.
    """
    chosen, length = chosen_axes(axes), number_between(height, LEAST_HEIGHT, np.inf, "height")

    def trace(system: System) -> Quantity:
        gravity = float(np.linalg.norm(mechanism_of(system).gravity))
        if gravity == 0.0:
            raise ArgumentError(f"{system.name}: a capture point needs gravity", element="gravity")
        lag = (length / gravity) ** 0.5
        c = mass_centre(frames_of(system), bodies_of(system))
        value, bias = (c.value + lag * c.rate)[chosen], (c.rate + lag * c.bias)[chosen]
        names = tuple(f"capture_point.{AXES[k]}" for k in chosen)
        return of_velocity(system, value, names, bias, ("m",) * len(names))

    return Part(trace)
