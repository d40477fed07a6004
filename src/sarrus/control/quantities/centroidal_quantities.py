"""Quantities of the whole mechanism: `centre_of_mass`, `momentum` and `capture_point`."""

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
    """Return the quantity position of the centre of mass of the whole mechanism, in world axes [m]."""
    chosen = chosen_axes(axes)

    def trace(system: System) -> Quantity:
        jet = mass_centre(frames_of(system), bodies_of(system))
        jet = Jet(*(part[chosen] for part in (jet.value, jet.rate, jet.bias)))
        return of_jet(system, jet, tuple(f"centre_of_mass.{AXES[k]}" for k in chosen), "m")

    return Part(trace)


def momentum(linear: str = AXES, angular: str = AXES) -> Part:
    """Return the quantity momentum in world axes, of degree 1: linear p [kg m/s], then angular L [kg m²/s].

    L is about the centre of mass. ``linear`` and ``angular`` such as "xy" select rows, "" none. The rate is the
    resultant wrench of all external forces about the centre of mass [N, N m], which a task demands (Orin, Goswami and
    Lee 2013).
    """
    rows = [
        chosen_axes(axes, what) if axes else [] for axes, what in ((linear, "linear"), (angular, "angular"))
    ]
    if not any(rows):
        raise ArgumentError("momentum needs at least one axis in linear= or angular=", element="linear")

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
    """Return the quantity instantaneous capture point ξ = c + ċ / ω [m] of the centre of mass c, of degree 1.

    ω = √(g / height), ``height`` [m] of the centre of mass above the ground, g the magnitude of gravity. A linear
    inverted pendulum that sets its foot on ξ comes to rest (Pratt, Carff, Drakunov and Goswami, Capture point: a step
    toward humanoid push recovery, 2006). A task on ξ determines c̈ through ξ̇ = ċ + c̈ / ω.
    """
    chosen, length = chosen_axes(axes), number_between(height, LEAST_HEIGHT, np.inf, "height")

    def trace(system: System) -> Quantity:
        gravity = float(np.linalg.norm(mechanism_of(system).gravity))
        if gravity == 0.0:
            raise ArgumentError(
                f"{system.name}: a capture point needs gravity, which is zero here", element="gravity"
            )
        lag = (length / gravity) ** 0.5
        c = mass_centre(frames_of(system), bodies_of(system))
        value, bias = (c.value + lag * c.rate)[chosen], (c.rate + lag * c.bias)[chosen]
        names = tuple(f"capture_point.{AXES[k]}" for k in chosen)
        return of_velocity(system, value, names, bias, ("m",) * len(names))

    return Part(trace)
