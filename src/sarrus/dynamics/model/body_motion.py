"""Jacobians of points of bodies, and the centroidal momentum, in world axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array, three_numbers
from sarrus.codegen import NativeFunction
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Body
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.multibody.momentum import momentum

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class BodyJacobian:
    """Motion of a point of a body and of its axes: ṗ = J v, ω = J_ω v, p̈ = J a + J̇ v; all in world axes.

    On driven bodies, velocities and biases include the prescribed motion; J v does not.

    Attributes
    ----------
    position : (3,) of the point [m]. rotation : (3, 3) of the body's axes; columns are these axes.
    linear : J (3, nv), MuJoCo's ``jacp``. angular : J_ω (3, nv), MuJoCo's ``jacr``.
    linear_velocity : (3,) ṗ [m/s]. angular_velocity : (3,) ω [rad/s].
    linear_bias : (3,) J̇ v [m/s²], p̈ at a = 0. angular_bias : (3,) J̇_ω v [rad/s²], ω̇ at a = 0.
    """

    position: Array
    rotation: Array
    linear: Array
    angular: Array
    linear_velocity: Array
    angular_velocity: Array
    linear_bias: Array
    angular_bias: Array

    def acceleration(self, a: ArrayLike) -> Array:
        """Return p̈ = J a + J̇ v (3,) [m/s²] for a = v̇ (nv,), for example ``System.forward_dynamics(…).a``."""
        return read_only(self.linear @ self._checked(a) + self.linear_bias)

    def angular_acceleration(self, a: ArrayLike) -> Array:
        """Return ω̇ = J_ω a + J̇_ω v (3,) [rad/s²] for v̇ = a (nv,)."""
        return read_only(self.angular @ self._checked(a) + self.angular_bias)

    def _checked(self, a: ArrayLike) -> Array:
        values = real_array(a)
        if values.shape != (self.linear.shape[1],) or not np.isfinite(values).all():
            raise ArgumentError(
                f"a must be {self.linear.shape[1]} finite numbers, the accelerations v̇, got {a!r}",
                element="a",
            )
        return values


@dataclass(frozen=True, eq=False)
class CentroidalMotion:
    """Momentum of the whole mechanism about its centre of mass: [p | L] = A_G v, d/dt [p | L] = A_G a + Ȧ_G v.

    World axes; linear momentum first, then angular. The rate of [p | L] is the external wrench about the centre of
    mass: gravity, contacts, closures with the world. Armatures are rotor inertias, not part of the bodies, and are not
    included (as in MuJoCo and Pinocchio). On driven bodies ``momentum`` includes the prescribed motion; A_G v does not.

    Attributes
    ----------
    mass : [kg]. centre : (3,) centre of mass c [m]. velocity : (3,) ċ [m/s].
    matrix : A_G (6, nv), the centroidal momentum matrix; its first three rows are mass × the Jacobian of c, the last
        three MuJoCo's ``mj_angmomMat`` of the world.
    bias : (6,) Ȧ_G v, the rate of the momentum at a = 0 [N, N m].
    momentum : (6,) p [kg m/s] and L [kg m²/s].
    inertia : (3, 3) composite inertia of all bodies about c with locked joints [kg m²].
    """

    mass: float
    centre: Array
    velocity: Array
    matrix: Array
    bias: Array
    momentum: Array
    inertia: Array


def jacobian(
    system: Evaluations,
    q: ArrayLike,
    v: ArrayLike | None = None,
    t: float = 0.0,
    *,
    body: str = "",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> BodyJacobian:
    """Return position, velocity, Jacobians and J̇ v of a ``point`` (3,) of a ``body``, given in its axes [m].

    v is laid out as MuJoCo's qvel (free joint: linear velocity in world axes, angular in body axes), by default
    zero. Only the tree counts: loops, redundant rows and singular configurations do not change J. Motions that satisfy
    the loops are J v with A v = 0.

    Raises `ArgumentError` for an unknown or missing body, and for a system without mechanism.
    """
    if not isinstance(body, str) or not body:
        names = ", ".join(_mechanism(system).bodies)
        raise ArgumentError(
            f"{system.name}: jacobian takes the state first and the name of a body: system.jacobian(q, v, t, body=…), "
            f"of these: {names}",
            element="body",
            valid=tuple(_mechanism(system).bodies),
        )
    place = place_on(system, body, point)
    native = motion_function(system, body)
    return BodyJacobian(
        **_arrays(native.evaluate(np.concatenate([system.pack(q, v, t=t), place])), "rotation")
    )


def place_on(system: Evaluations, body: str, point: ArrayLike) -> Array:
    """Return a point (3,) in axes of a body, checked; an unknown body, or no three numbers, is an `ArgumentError`."""
    check_known("body", body, _mechanism(system).bodies, system.name)
    return three_numbers(point, f"{system.name}: point", element="point")


def motion_function(system: Evaluations, body: str) -> NativeFunction:
    """Return the native function of [x | point] for the arrays of a `BodyJacobian`, compiled at its first use."""

    def outputs(at: ca.SX) -> Mapping[str, ca.SX]:
        frames = _frames(system)
        p, turning = frames.point(body, at), frames.turning(body)
        return {
            "position": p.value,
            "rotation": frames.placement(body)[1],
            "linear": ca.jacobian(p.rate, system.equations.v),
            "angular": ca.jacobian(turning.rate, system.equations.v),
            "linear_velocity": p.rate,
            "angular_velocity": turning.rate,
            "linear_bias": p.bias,
            "angular_bias": turning.bias,
        }

    return system.compiled.named(f"jacobian.{body}", outputs, {"point": 3})


def centroidal(
    system: Evaluations, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0
) -> CentroidalMotion:
    """Return centre of mass, centroidal momentum matrix, its bias, momentum and composite inertia at a state.

    v, by default zero, is laid out as MuJoCo's qvel. Loops, redundant rows and singular configurations change nothing.

    Raises `ArgumentError` for a system without mechanism and for one without mass.
    """
    if not any(body.mass > 0.0 for body in _mechanism(system).bodies.values()):
        raise ArgumentError(f"{system.name}: no body has mass, so there is no centre of mass", element="mass")

    def outputs() -> Mapping[str, ca.SX]:
        m = momentum(_frames(system), _bodies(system))
        total = ca.vertcat(m.linear, m.angular)
        return {
            "mass": ca.SX(m.mass),
            "centre": m.centre.value,
            "velocity": m.centre.rate,
            "matrix": ca.jacobian(total, system.equations.v),
            "bias": ca.vertcat(m.linear_bias, m.angular_bias),
            "momentum": total,
            "inertia": m.inertia,
        }

    found = system.compiled.named("centroidal", outputs).evaluate(system.pack(q, v, t=t))
    mass = float(found.pop("mass")[0, 0])
    return CentroidalMotion(mass=mass, **_arrays(found, "matrix", "inertia"))


def _arrays(found: Mapping[str, Array], *matrices: str) -> dict[str, Array]:
    """Return read-only outputs, single columns as vectors except for the named ``matrices``."""
    keep = {"linear", "angular", *matrices}
    return {name: read_only(x if name in keep else x[:, 0]) for name, x in found.items()}


def _mechanism(system: Evaluations) -> Mechanism:
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has bodies", element="mechanism"
        )
    return system.mechanism


def _frames(system: Evaluations) -> Frames:
    e = system.equations
    assert e.tree is not None
    return Frames(e.tree, links(e.tree, e.q, e.v))


def _bodies(system: Evaluations) -> list[Body]:
    """Return the bodies with symbolic parameters as their numbers."""
    _mechanism(system)
    return list(system.model.symbolic_mechanism().bodies.values())
