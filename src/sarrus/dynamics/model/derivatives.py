"""Exact derivatives of the equations of motion, traced with CasADi and compiled at their first use.

Notation: F = M a + h − k − S u − C − τ − Aᵀλ and G = A a + γ, zero in a motion; residuals φ and ψ = A v − b; coordinate
rates r = N v. In names they are ``force``, ``bias``, ``position``, ``velocity`` and ``rate``. A suffix _q is a
derivative along velocities and by time, _v a derivative by v; names without suffix, in `Terms` and `RowTerms`, are
derivatives by z = (q, v, u, p) with plain coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.model.activations import by_inputs
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.kinematics.scalars import stacked_numbers
from sarrus.symbolic.kinematics.tree import Tree
from sarrus.symbolic.multibody.dynamics import bias_force

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Terms of the linear model at a state (q, v, u, t) with a and λ.

    Attributes
    ----------
    mass, jacobian, actuation : M, A, S = −∂F/∂(u, w) with activations w, zero for actuators at a limit.
    force_q, bias_q, velocity_q : ∂F, ∂G, ∂ψ along velocities (columns, δq = N δ), then by time (last column).
    force_v, bias_v : ∂F/∂v, ∂G/∂v.
    rate_q, rate2_q, rate2_v : derivatives of r and r̈, likewise; rate2 is r̈ itself and rate_v = N. None if N is the
        identity.
    push : rows P along which the rows of A act, −Pᵀλ in F, where friction goes with the forces of rows; None for A.
    """

    mass: Array
    jacobian: Array
    actuation: Array
    force_q: Array
    bias_q: Array
    velocity_q: Array
    force_v: Array
    bias_v: Array
    rate_v: Array | None = None
    rate2: Array | None = None
    rate_q: Array | None = None
    rate2_q: Array | None = None
    rate2_v: Array | None = None
    push: Array | None = None

    def times_rows(self, factors: Array) -> Derivatives:
        """Return the same terms with the rows of A, G and ψ multiplied by ``factors`` (nc,); λ is not scaled."""
        by = factors[:, None]
        return replace(
            self,
            jacobian=by * self.jacobian,
            bias_q=by * self.bias_q,
            bias_v=by * self.bias_v,
            velocity_q=by * self.velocity_q,
            push=None if self.push is None else by * self.push,
        )


def derivatives(system: Evaluations, x: Array, a: Array, multipliers: Array) -> Derivatives:
    """Return the `Derivatives` at x = [q | v | u | t | p | τ], a (nv,) and λ (nc,)."""
    return Derivatives(**native_derivatives(system).evaluate(np.concatenate([x, a, multipliers])))


def native_derivatives(system: Evaluations) -> NativeFunction:
    """Return the function of [x | a | λ] for `Derivatives`, compiled at its first use."""
    return _native(system, "linear", _outputs)


def _native(
    system: Evaluations, name: str, outputs: Callable[[Evaluations, ca.SX, ca.SX], Mapping[str, ca.SX]]
) -> NativeFunction:
    """Return the native function of x and two further inputs of lengths nv and nc, by name."""
    return system.compiled.named(name, partial(outputs, system), {"a": system.nv, "multipliers": system.nc})


def _outputs(system: Evaluations, a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
    e = system.equations
    force, bias = residual_force(system, a, multipliers), bias_rows(system, a)
    by_place = {"force_q": force, "bias_q": bias, "velocity_q": e.velocity_residual}
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


@dataclass(frozen=True, eq=False)
class Terms:
    """Derivatives by z of F = M a + h − k − S u − C − τ − Aᵀλ, of G = A a + γ and of r = q̇, and M, A themselves.

    Quaternions are not normalized: the stages of a step have lengths slightly above one.
    ``drift`` is d in q̇ = N v + d for actuators with activations, else None; ``push`` as in `Derivatives`.
    """

    mass: Array
    jacobian: Array
    force: Array
    bias: Array
    rate: Array
    drift: Array | None = None
    push: Array | None = None


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Derivatives by z of φ, ψ, A w, Aᵀμ, M w and N w with constant w and μ; A, N and the metric M themselves.

    M is the metric of `CompiledEquations.metric`.
    """

    jacobian: Array
    basis: Array
    metric: Array
    position: Array
    velocity: Array
    forward: Array
    backward: Array
    heavy: Array
    turning: Array


def terms(system: Evaluations, x: Array, a: Array, multipliers: Array) -> Terms:
    """Return the `Terms` at x = [q | v | u | t | p | τ], a (nv,) and λ (nc,)."""
    native = _native(system, "sensitivity", _terms)
    return Terms(**native.evaluate(np.concatenate([x, a, multipliers])))


def row_terms(system: Evaluations, x: Array, w: Array, mu: Array) -> RowTerms:
    """Return the `RowTerms` at x, w (nv,) and μ (nc,)."""
    native = _native(system, "row_sensitivity", _row_terms)
    return RowTerms(**native.evaluate(np.concatenate([x, w, mu])))


def variables(system: Evaluations) -> ca.SX:
    """Return the symbols z = (q, v, u, p)."""
    e = system.equations
    design = [list(e.parameter_values).index(name) for name in e.design_parameters]
    return ca.vertcat(e.q, e.v, e.u, *(e.p[place] for place in design))


def _terms(system: Evaluations, a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
    e = system.equations
    force, bias = residual_force(system, a, multipliers), bias_rows(system, a)
    if (
        e.quaternions and e.tree is not None
    ):  # at stages quaternions have other lengths, for which the recursion of M a + h does not hold
        force += e.mass_matrix @ a + e.bias_force - _inertial_force(system, a)
    out = {
        "mass": e.mass_matrix,
        "jacobian": e.jacobian,
        **by_variables(system, {"force": force, "bias": bias, "rate": e.whole_rate}),
    }
    return out if e.drift is None else out | {"drift": e.drift}


def _row_terms(system: Evaluations, w: ca.SX, mu: ca.SX) -> dict[str, ca.SX]:
    e = system.equations
    basis, metric = ca.jacobian(e.rate, e.v), system.compiled.metric
    parts = {
        "position": e.position_residual,
        "velocity": e.velocity_residual,
        "forward": e.jacobian @ w,
        "backward": e.jacobian.T @ mu,
        "heavy": metric @ w,
        "turning": basis @ w,
    }
    return {"jacobian": e.jacobian, "basis": basis, "metric": metric} | by_variables(system, parts)


def by_variables(system: Evaluations, parts: dict[str, ca.SX]) -> dict[str, ca.SX]:
    """Return the derivatives of several columns by z, computed together to share subexpressions."""
    return _split(parts, ca.jacobian(ca.vertcat(*parts.values()), variables(system)))


def row_gradient(system: Evaluations, q: Array, left: Array, right: Array, t: float = 0.0) -> Array:
    """Return the derivative (nv,) along velocities of leftᵀ A(q, t) right for constant left (nc,) and right (nv,).

    If left and right are the singular vectors of a simple singular value, it is the derivative of this singular value.
    """

    def outputs(left: ca.SX) -> dict[str, ca.SX]:
        e = system.equations
        product = ca.dot(left, e.jacobian @ e.v)
        return {"gradient": ca.jacobian(product, e.q) @ ca.jacobian(e.rate, e.v)}

    native = system.compiled.named("row_gradient", outputs, {"left": system.nc})
    return native(np.concatenate([system.pack(q, right, None, t), left]))


def stiffness_times(
    system: Evaluations, q: Array, u: Array, multipliers: Array, direction: Array, t: float = 0.0
) -> Array:
    """Return −d/ds (k + S u − h + C + Aᵀλ) (nv,) at rest along a direction x (nv,), with constant u and λ.

    At an equilibrium it is (∂²V − Σ λ_j ∂²φ_j) x for x with A x = 0.
    """

    def outputs(multipliers: ca.SX) -> dict[str, ca.SX]:
        e = system.equations
        force = system.compiled.force + e.jacobian.T @ multipliers
        still = ca.substitute(force, e.v, ca.SX.zeros(e.nv))
        return {"force": -ca.jtimes(still, e.q, e.rate)}

    native = system.compiled.named("stiffness", outputs, {"multipliers": system.nc})
    return native(np.concatenate([system.pack(q, direction, u, t), multipliers]))


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
    """Return the rows of each part, by its name."""
    out, start = {}, 0
    for name, part in parts.items():
        out[name] = rows[start : start + part.shape[0], :]
        start += part.shape[0]
    return out


def _inertial_force(system: Evaluations, a: ca.SX) -> ca.SX:
    """Return M a + h; for a mechanism by the recursion with accelerations, which is cheaper to differentiate."""
    e = system.equations
    if e.tree is None or e.rotors:
        return e.mass_matrix @ a + e.bias_force
    return inverse_dynamics_force(e.tree, e.q, e.v, a)


def inverse_dynamics_force(tree: Tree, q: ca.SX, v: ca.SX, a: ca.SX) -> ca.SX:
    """Return M a + h by the recursive Newton–Euler algorithm (Featherstone 2008, table 5.1), armature included."""
    armature = stacked_numbers([x for node in tree.nodes for x in node.armature])
    return bias_force(tree, links(tree, q, v, a)) + armature * a
