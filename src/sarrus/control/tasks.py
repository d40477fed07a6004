"""What a law can be about: coordinates, points and orientations of bodies, the centre of mass, functions of the
user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_known, place_of
from sarrus.base.numbers import real_array
from sarrus.control.demands import Demand, Settings
from sarrus.control.reference import Reference, trace_reference
from sarrus.dynamics.system import System
from sarrus.equations.symbolic import traced
from sarrus.mechanism.elements import WORLD
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.frames import Frames
from sarrus.multibody.jet import Jet
from sarrus.multibody.kinematics import cross
from sarrus.multibody.link import links
from sarrus.multibody.momentum import centre_of_mass as mass_centre

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Quantity:
    """Something that a task controls, over the symbols of a system: names of its rows, and

    ``error(x_d)``, the columns x_d − x; ``rate`` ẋ = J v + ∂x/∂t; ``jacobian`` J; ``bias`` the part of ẍ without
    accelerations.
    """

    rows: tuple[str, ...]
    value: ca.SX
    rate: ca.SX
    jacobian: ca.SX
    bias: ca.SX
    error: Callable[[ca.SX], ca.SX]


@dataclass(frozen=True, eq=False)
class Task:
    """Follow ``reference`` with ẍ = ẍ_d + ``damping`` (ẋ_d − ẋ) + ``stiffness`` (x_d − x).

    ``quantity``: "boom" or ["boom", "bucket"], coordinates of the mechanism by name; `point`, `orientation`,
    `centre_of_mass`; or a function x(q, t) of CasADi vectors. ``reference``: numbers, or a function of t (CasADi, as
    `sarrus.control.references` makes). ``stiffness`` [1/s²] and ``damping`` [1/s]: a number or one for each row. They
    are settings of the law, named NAME.stiffness, NAME.damping and, where numbers are held, NAME.reference.
    """

    quantity: Any
    reference: Reference
    stiffness: ArrayLike = 100.0
    damping: ArrayLike = 20.0
    name: str = ""

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the task as a level of a law of ``system``."""
        x = quantity(system, self.quantity)
        size = len(x.rows)
        wanted, rate, acceleration = trace_reference(
            system, self.reference, size, settings, f"{name}.reference"
        )
        stiffness = settings.add(f"{name}.stiffness", self.stiffness, size, name)
        damping = settings.add(f"{name}.damping", self.damping, size, name)
        target = acceleration + damping * (rate - x.rate) + stiffness * x.error(wanted)
        return Demand(name, x.rows, x.jacobian, target - x.bias)


def quantity(system: System, what: Any) -> Quantity:
    """Return what names, a function, or one of the functions below mean for a system."""
    if isinstance(what, Part):
        return what.trace(system)
    if isinstance(what, str):
        what = [what]
    if callable(what):
        return _function(system, what)
    if isinstance(what, Sequence) and all(isinstance(name, str) for name in what):
        return _coordinates(system, what)
    raise ArgumentError(
        f"{system.name}: a task is about names of coordinates, a point, an orientation or a function of (q, t), "
        f"not {what!r}",
        element="quantity",
    )


def along(system: System, value: ca.SX, rows: tuple[str, ...]) -> Quantity:
    """Return the quantity x(q, t) with its derivatives along the motion."""
    e = system.equations
    rate = ca.jtimes(value, e.q, e.rate) + ca.jtimes(value, e.t, ca.SX(1))
    bias = ca.jtimes(rate, e.q, e.rate) + ca.jtimes(rate, e.t, ca.SX(1))
    return Quantity(rows, value, rate, ca.jacobian(rate, e.v), bias, lambda wanted: wanted - value)


def _coordinates(system: System, names: Sequence[str]) -> Quantity:
    places = [place_of("coordinate", name, system.coordinate_names) for name in names]
    return along(system, system.equations.q[places], tuple(names))


def _function(system: System, function: Callable[..., Any]) -> Quantity:
    e, name = system.equations, getattr(function, "__name__", "function")
    value = traced(
        function, (e.q, e.t), f"{system.name}: task {name}", "Write it with CasADi operations of (q, t)"
    )
    return along(system, value, tuple(f"{name}[{k}]" for k in range(value.numel())))


@dataclass(frozen=True, eq=False)
class Part:
    """A quantity of bodies; `point`, `orientation` and `centre_of_mass` make them."""

    trace: Callable[[System], Quantity]


def point(body: str, position: ArrayLike = (0.0, 0.0, 0.0), axes: str = AXES) -> Part:
    """Return the position in the world [m] of a point given in body axes; ``axes`` such as "xy" selects rows."""
    where = _vector(position, "position")
    chosen = _axes(axes)

    def trace(system: System) -> Quantity:
        return _place(system, body, _frames(system, body).point(body, where), chosen)

    return Part(trace)


def orientation(body: str, axes: str = AXES) -> Part:
    """Return the orientation of a body; the rows are rotations about the world's axes [rad].

    Its reference is a rotation vector from the world's axes (direction times angle, of a rotation R_d); the error
    is the rotation vector of R_d Rᵀ, whose length must stay below π. For a plane mechanism ``axes`` is the normal,
    and the reference the angle. A reference that turns about changing axes is followed up to the difference between
    the rate of the rotation vector and the angular velocity.
    """
    chosen = _axes(axes)

    def trace(system: System) -> Quantity:
        frames = _frames(system, body)
        columns = [frames.direction(body, axis) for axis in np.eye(3)]
        rotation = ca.horzcat(*[c.value for c in columns])
        rate = frames.angular_velocity(body)
        # ω = ½ Σ c × ċ, and the same with c̈ for its derivative
        bias = sum((0.5 * cross(c.value, c.bias) for c in columns), ca.SX.zeros(3))

        def error(wanted: ca.SX) -> ca.SX:
            full = ca.SX.zeros(3)
            for row, k in enumerate(chosen):
                full[k] = wanted[row]
            return _logarithm(_rotation(full) @ rotation.T)[chosen]

        rows = tuple(f"{body}.r{AXES[k]}" for k in chosen)
        jacobian = ca.jacobian(rate[chosen], system.equations.v)
        return Quantity(rows, _logarithm(rotation)[chosen], rate[chosen], jacobian, bias[chosen], error)

    return Part(trace)


def centre_of_mass(axes: str = AXES) -> Part:
    """Return the position of the centre of mass of the whole mechanism in the world [m]."""
    chosen = _axes(axes)

    def trace(system: System) -> Quantity:
        mechanism = _mechanism(system)
        frames = _frames(system, WORLD)
        symbols = dict(zip(system.equations.parameter_values, ca.vertsplit(system.equations.p)))
        bodies = list(system.model.driven.apply(mechanism, symbols).bodies.values())
        return _place(system, "centre_of_mass", mass_centre(frames, bodies), chosen)

    return Part(trace)


def _place(system: System, name: str, jet: Jet, chosen: list[int]) -> Quantity:
    """Return rows of a point in the world."""
    value, rate, bias = (part[chosen] for part in (jet.value, jet.rate, jet.bias))
    rows = tuple(f"{name}.{AXES[k]}" for k in chosen)
    jacobian = ca.jacobian(rate, system.equations.v)
    return Quantity(rows, value, rate, jacobian, bias, lambda wanted: wanted - value)


def _logarithm(rotation: ca.SX) -> ca.SX:
    """Return direction times angle of a rotation matrix, for angles below π; smooth at zero."""
    axial = 0.5 * ca.vertcat(
        rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]
    )
    sine = ca.norm_2(axial)
    angle = ca.atan2(sine, 0.5 * (ca.trace(rotation) - 1.0))
    small = sine < 1e-8
    return ca.if_else(small, 1.0, angle / ca.if_else(small, 1.0, sine)) * axial


def _rotation(vector: ca.SX) -> ca.SX:
    """Return the rotation matrix of a rotation vector (Rodrigues), smooth at zero."""
    square = ca.dot(vector, vector)
    small = square < 1e-16
    angle = ca.sqrt(ca.if_else(small, 1.0, square))
    first = ca.if_else(small, 1.0, ca.sin(angle) / angle)
    second = ca.if_else(small, 0.5, (1.0 - ca.cos(angle)) / (angle * angle))
    k = ca.skew(vector)
    return ca.SX.eye(3) + first * k + second * (k @ k)


def _frames(system: System, body: str) -> Frames:
    mechanism = _mechanism(system)
    if body != WORLD:
        check_known("body", body, mechanism.bodies)
    tree = system.equations.tree
    assert tree is not None
    return Frames(tree, links(tree, system.equations.q, system.equations.v))


def _mechanism(system: System) -> Mechanism:
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has bodies; give a function of (q, t)",
            element="mechanism",
        )
    return system.mechanism


def _vector(value: ArrayLike, what: str) -> np.ndarray:
    vector = real_array(value)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ArgumentError(f"{what} must be three finite numbers, got {value!r}", element=what)
    return vector


def _axes(axes: str) -> list[int]:
    if not axes or len(set(axes)) != len(axes) or any(axis not in AXES for axis in axes):
        raise ArgumentError(
            f"axes must be some of x, y, z, each once, such as 'xy', got {axes!r}", element="axes"
        )
    return [AXES.index(axis) for axis in axes]
