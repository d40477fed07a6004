"""Exact derivatives of the equations by coordinates, velocities, inputs and parameters, as native functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, unknown_name
from sarrus.linear.derivatives import bias_rows, residual_force

if TYPE_CHECKING:
    from sarrus.dynamics.evaluations import Evaluations


@dataclass(frozen=True)
class Columns:
    """Where coordinates, velocities, inputs and the design parameters lie among the columns z = (q, v, u, p)."""

    q: slice
    v: slice
    u: slice
    p: slice

    @classmethod
    def of(cls, system: Evaluations) -> Columns:
        """Return the places for a system."""
        ends = np.cumsum([0, system.nq, system.nv, system.nu, len(system.equations.design_parameters)])
        return cls(*(slice(int(a), int(b)) for a, b in pairwise(ends)))


@dataclass(frozen=True, eq=False)
class Terms:
    """Derivatives by z of F = M a + h − k − S u − C − τ − Aᵀλ, of G = A a + γ and of r = N v, and M, A themselves.

    Coordinates count as they are, unit quaternions or not: the stages of a step leave them a little longer than one.
    """

    mass: Array
    jacobian: Array
    force: Array
    bias: Array
    rate: Array


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Derivatives by z of φ, of ψ, and of A w, Aᵀμ, M w and N w with w and μ held; A, N and the metric M themselves.

    M is that of `CompiledEquations.metric`.
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
    """Evaluate the derivatives of the equations at x = [q | v | u | t | p | τ], a (nv,) and λ (nc,)."""
    native = system.compiled.named(
        "sensitivity", partial(_terms, system), {"a": system.nv, "multipliers": system.nc}
    )
    flat = native(np.concatenate([x, a, multipliers]))
    return Terms(**{name: flat[part].reshape(shape) for name, (part, shape) in native.outputs.items()})


def row_terms(system: Evaluations, x: Array, w: Array, mu: Array) -> RowTerms:
    """Evaluate the derivatives of the constraints at x, w (nv,) and μ (nc,)."""
    native = system.compiled.named(
        "row_sensitivity", partial(_row_terms, system), {"w": system.nv, "mu": system.nc}
    )
    flat = native(np.concatenate([x, w, mu]))
    return RowTerms(**{name: flat[part].reshape(shape) for name, (part, shape) in native.outputs.items()})


def chosen_parameters(system: Evaluations, names: Sequence[str] | None) -> tuple[tuple[str, ...], list[int]]:
    """Return names of parameters, all by default, and their places among the design parameters."""
    known = system.equations.design_parameters
    if names is None:
        names = known
    if isinstance(names, str):
        raise ArgumentError(
            f"{system.name}: parameters must be names, such as [{names!r}]", element="parameters"
        )
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"{system.name}: parameters: {unknown_name('parameter', name, known)}. Give the System parameters= "
                "that say what they drive",
                element=str(name),
                valid=known,
            )
    return tuple(names), [known.index(name) for name in names]


def variables(system: Evaluations) -> ca.SX:
    """Return the symbols z = (q, v, u, p)."""
    e = system.equations
    design = [list(e.parameter_values).index(name) for name in e.design_parameters]
    return ca.vertcat(e.q, e.v, e.u, e.p[design])


def _terms(system: Evaluations, a: ca.SX, multipliers: ca.SX) -> dict[str, ca.SX]:
    e = system.equations
    force, bias = residual_force(system, a, multipliers), bias_rows(system, a)
    return {
        "mass": e.mass_matrix,
        "jacobian": e.jacobian,
        **_jacobians({"force": force, "bias": bias, "rate": e.rate}, variables(system)),
    }


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
    return {"jacobian": e.jacobian, "basis": basis, "metric": metric} | _jacobians(parts, variables(system))


def _jacobians(parts: dict[str, ca.SX], z: ca.SX) -> dict[str, ca.SX]:
    """Return the derivatives of several columns, which share what they have in common."""
    whole = ca.jacobian(ca.vertcat(*parts.values()), z)
    ends = np.cumsum([0, *(part.shape[0] for part in parts.values())])
    return {name: whole[int(i) : int(j), :] for name, i, j in zip(parts, ends, ends[1:])}
