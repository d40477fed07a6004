"""Exact derivatives of the equations of motion at given accelerations and multipliers, as one native function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.activations import by_inputs
from sarrus.multibody.dynamics import bias_force
from sarrus.multibody.kinematics import accelerated, forward_kinematics
from sarrus.multibody.scalars import stacked_numbers
from sarrus.multibody.tree import Tree

if TYPE_CHECKING:
    from sarrus.dynamics.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class Derivatives:
    """What the linear model at a state (q, v, u, t) with a and λ consists of.

    With F = M a + h − k − S u − C − τ − Aᵀλ and G = A a + γ, which vanish in a motion, and the coordinate rates
    r(q, v) = N v and r̈ = N a + Ṅ v:

    Attributes
    ----------
    mass, jacobian, actuation : M, A, S = −∂F/∂(u, w), zero for actuators at a limit; w are the activations.
    force_q, bias_q, slip_q : ∂F, ∂G, ∂ψ along velocities (columns, δq = N δ), then by time (last column).
    force_v, bias_v : ∂F/∂v, ∂G/∂v.
    rate_q, rate2_q, rate2_v : of r and r̈ in the same way; rate2 is r̈ itself and rate_v = N. Where N is the identity
        these are None.
    """

    mass: Array
    jacobian: Array
    actuation: Array
    force_q: Array
    bias_q: Array
    slip_q: Array
    force_v: Array
    bias_v: Array
    rate_v: Array | None = None
    rate2: Array | None = None
    rate_q: Array | None = None
    rate2_q: Array | None = None
    rate2_v: Array | None = None


def derivatives(system: Evaluations, x: Array, a: Array, multipliers: Array) -> Derivatives:
    """Evaluate the derivatives at x = [q | v | u | t | p | τ], a (nv,) and λ (nc,)."""
    native = native_derivatives(system)
    flat = native(np.concatenate([x, a, multipliers]))
    return Derivatives(**{name: flat[part].reshape(shape) for name, (part, shape) in native.outputs.items()})


def native_derivatives(system: Evaluations) -> NativeFunction:
    """Return the function of [x | a | λ] that gives `Derivatives`, compiled when it is first needed."""
    return system.compiled.named(
        "linear", partial(_outputs, system), {"a": system.nv, "multipliers": system.nc}
    )


def _outputs(system: Evaluations, a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
    e = system.equations
    force, bias = residual_force(system, a, multipliers), bias_rows(system, a)
    by_place = {"force_q": force, "bias_q": bias, "slip_q": e.velocity_residual}
    by_velocity = {"force_v": force, "bias_v": bias}
    out = {"mass": e.mass_matrix, "jacobian": e.jacobian, "actuation": by_inputs(system)}
    if not system.compiled.table().simple_rate:
        basis = ca.jacobian(e.rate, e.v)
        rate2 = basis @ a + ca.jtimes(e.rate, e.q, e.rate)
        by_place |= {"rate_q": e.rate, "rate2_q": rate2}
        by_velocity |= {"rate2_v": rate2}
        out |= {"rate_v": basis, "rate2": rate2}
    by_v = ca.jacobian(ca.vertcat(*by_velocity.values()), e.v)
    return out | _split(by_place, along(system, ca.vertcat(*by_place.values()))) | _split(by_velocity, by_v)


def residual_force(system: Evaluations, a: ca.SX, multipliers: ca.SX) -> ca.SX:
    """Return F = M a + h − k − S u − C − τ − Aᵀλ."""
    e = system.equations
    reaction = ca.jtimes(e.velocity_residual, e.v, multipliers, True) if e.nc else ca.SX.zeros(e.nv)
    return _inertial_force(system, a) - (system.compiled.force + e.bias_force) - reaction


def bias_rows(system: Evaluations, a: ca.SX) -> ca.SX:
    """Return G = A a + γ."""
    e = system.equations
    return ca.jtimes(e.velocity_residual, e.v, a) + e.constraint_bias if e.nc else ca.SX(0, 1)


def along(system: Evaluations, expressions: ca.SX) -> ca.SX:
    """Return the derivatives of a column along velocities, δq = N δ, and by time in the last column."""
    e = system.equations
    if expressions.numel() == 0:
        return ca.SX(0, e.nv + 1)
    seeds = ca.diagcat(ca.jacobian(e.rate, e.v), 1)
    return ca.jtimes(expressions, ca.vertcat(e.q, e.t), ca.densify(seeds))


def _split(parts: dict[str, ca.SX], rows: ca.SX) -> dict[str, ca.SX]:
    """Return the rows that belong to each part, by its name."""
    out, start = {}, 0
    for name, part in parts.items():
        out[name] = rows[start : start + part.shape[0], :]
        start += part.shape[0]
    return out


def _inertial_force(system: Evaluations, a: ca.SX) -> ca.SX:
    """Return M a + h: of a mechanism by the recursion with its accelerations, which is cheaper to differentiate."""
    e = system.equations
    if e.tree is None or e.rotors:
        return e.mass_matrix @ a + e.bias_force
    return inverse_dynamics_force(e.tree, e.q, e.v, a)


def inverse_dynamics_force(tree: Tree, q: ca.SX, v: ca.SX, a: ca.SX) -> ca.SX:
    """Return M a + h by the recursive Newton–Euler algorithm (Featherstone 2008, table 5.1), armature included."""
    armature = stacked_numbers([x for node in tree.nodes for x in node.armature])
    return bias_force(tree, accelerated(tree, forward_kinematics(tree, q, v), a)) + armature * a
