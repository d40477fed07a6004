"""Equations of motion derived from a Lagrangian."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.symbolic.equations.completion import Around, complete
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.symbolic import Tracer, UserFunction, dimension


def derive(
    nq: int,
    lagrangian: UserFunction,
    *,
    parameters: Mapping[str, float] | None = None,
    name: str = "system",
    **around: Unpack[Around],
) -> Equations:
    """Return the equations of motion of a Lagrangian, with v = q̇.

    All arguments but names and numbers are functions of CasADi columns q (nq,), v (nq,) and the scalar t.
    They return SX expressions, numbers or lists of these.

    Parameters
    ----------
    nq : number of coordinates.
    lagrangian : L(q, v, t) = T − V [J], at most quadratic in v. It gives M = ∂²L/∂v² and
        h = d/dt ∂L/∂v − ∂L/∂q at a = 0. M may be singular if it is definite on the kernel of A.
    holonomic : φ(q, t), residuals of holonomic constraints φ = 0; they may depend on time (rheonomic).
    velocity : ψ(q, v, t), residuals of constraints ψ = 0, linear or nonlinear in v, with A = ∂ψ/∂v and γ = dψ/dt at a =
    0.
        For rows nonlinear in v the constraint force is Aᵀλ (Chetaev). A must not vanish where ψ = 0.
    generalized_force : k(q, v, t) (nq,), power k·v.
    inputs : S(q, t) (nq × nu), generalized force per unit of each control; a column is one control. A function of q
        alone may leave out t.
    non_ideal : C(q, v, t) (nq,) of Udwadia and Kalaba (J. Appl. Mech. 68, 2001, 462–467): the force of the
        constraints is Aᵀλ + C and does the work of C in virtual displacements. The part of C that acts
        against the constraints changes λ, not the motion.
    parameters : names and values of constants that may be changed later in ``system.parameters`` without
        compiling. Every function then takes one more, last argument p with the symbols: ``p.m`` or
        ``p["m"]``. Without parameters an argument named p is allowed, without symbols.
    name, coordinate_names, actuator_names, constraint_names : labels; constraint rows in the order holonomic,
        velocity. By default q1, q2, …; u1, …; phi1, …, psi1, ….

    Energies: L = T₂ + T₁ + T₀ − V by order in v. The kinetic energy is T₂ = ½ vᵀ M v, the potential energy −L at v = 0,
    that is V − T₀. Their sum is Jacobi's integral v·∂L/∂v − L, which is constant if L does not depend on time. For a
    natural L = T − V both have their usual meaning.

    Redundant, inconsistent and singular rows are legal; `System.forward_dynamics` explains the results.
    Raises `ArgumentError`, naming the argument, for wrong shapes, unknown symbols or an L not quadratic in v.
    """
    trace = Tracer(name, dimension(name, "nq", nq), nq, parameters)
    value = trace.scalar("lagrangian", lagrangian, "qvt")
    mass, momentum = ca.hessian(value, trace.v)
    if ca.depends_on(mass, trace.v):
        raise ArgumentError(
            f"{name}: lagrangian must be at most quadratic in v, but ∂²L/∂v² depends on v. "
            "Write T with products of velocities, such as ca.sumsqr(v)",
            element="lagrangian",
        )
    bias = trace.time_derivative(momentum, trace.v) - ca.gradient(value, trace.q)
    potential = -ca.substitute(value, trace.v, ca.SX.zeros(nq))
    found = complete(trace, ca.densify(mass), ca.densify(bias), trace.v, potential, **around)
    linear = ca.simplify(ca.substitute(momentum, trace.v, ca.SX.zeros(nq)))
    return found if trace.vanishes(linear) else replace(found, linear_momentum=ca.densify(linear))
