"""Exact derivatives of constraint rows and static forces along the motions, compiled when first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array

if TYPE_CHECKING:
    from sarrus.dynamics.evaluations import Evaluations


def row_gradient(system: Evaluations, q: Array, left: Array, right: Array, t: float = 0.0) -> Array:
    """Return the derivative (nv,) along velocities of leftᵀ A(q, t) right, both held; left (nc,), right (nv,).

    Where left and right are the singular vectors of a simple singular value this is its derivative.
    """

    def outputs(left: ca.SX) -> dict[str, ca.SX]:
        e = system.equations
        product = ca.dot(left, e.jacobian @ e.v)
        return {"gradient": ca.jacobian(product, e.q) @ ca.jacobian(e.rate, e.v)}

    return _call(system, "row_gradient", outputs, system.pack(q, right, None, t), left)


def stiffness_times(
    system: Evaluations, q: Array, u: Array, multipliers: Array, direction: Array, t: float = 0.0
) -> Array:
    """Return −d/ds (k + S u − h + C + Aᵀλ) (nv,) at rest along a direction x (nv,), with u and λ held.

    At an equilibrium this is (∂²V − Σ λ_j ∂²φ_j) x in directions that A allows.
    """

    def outputs(multipliers: ca.SX) -> dict[str, ca.SX]:
        e = system.equations
        force = system.compiled.force + e.jacobian.T @ multipliers
        still = ca.substitute(force, e.v, ca.SX.zeros(e.nv))
        return {"force": -ca.jtimes(still, e.q, e.rate)}

    return _call(system, "stiffness", outputs, system.pack(q, direction, u, t), multipliers)


def _call(
    system: Evaluations,
    name: str,
    outputs: Callable[[ca.SX], Mapping[str, ca.SX]],
    x: Array,
    multipliers: Array,
) -> Array:
    """Call the function of [x | multipliers] by its name, compiling it first where it is new."""
    native = system.compiled.named(name, outputs, {"multipliers": system.nc})
    return np.asarray(native(np.concatenate([x, multipliers])))
