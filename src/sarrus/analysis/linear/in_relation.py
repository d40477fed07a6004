"""The linear model in independent coordinates given by a relation R(x, y) = 0 with velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.outputs import output_matrix
from sarrus.analysis.linear.reduction import Reduced
from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.coordinates.traced_relation import Place, TracedRelation
from sarrus.kernels.linalg import dense


def in_relation(
    model: LinearSystem,
    reduced: Reduced,
    a: Array,
    relation: TracedRelation,
    own: Array,
    outputs: Sequence[str] | None,
    rate: Array | None,
) -> LinearSystem:
    """Return the linear model in other independent coordinates w = (y, z), R(x, w, t) = 0.

    Along a motion R_w ẇ = −(R_q q̇ + R_v a + R_t) (Spencer 2004, theorem 2.3.1). With δx = T δξ + x_t δt of the model
    in ξ and δw = C δξ + c δt, where C = −R_w⁻¹ R_x T,

        δẇ = (G_ξ C⁻¹ + G_w) δw + G_u δu + (G_t − G_ξ C⁻¹ c) δt,

    G the derivatives of ẇ at the state. All derivatives are exact; C is regular under conditions (2.21) and (2.22)
    there.

    ``model`` and ``reduced`` are in ξ, ``a`` is the acceleration, ``own`` is w at the state, ``rate`` is N, None for
    the identity.
    """
    s, x = model.system, Place(model.q, model.v, model.t)
    n, nv, nu = len(model.names), s.nv, s.nu
    slopes, rates = relation.slopes(x, own), relation.rates(x, own, a)
    of_place, of_v, of_t, of_own, explicit = _curvature(relation, x, own, a, rates)
    by_state = np.hstack([slopes.by_place, slopes.by_velocity])

    def own_change(rows: Array) -> Array:
        return -dense.solve(slopes.by_own, rows)

    change = own_change(dense.product(by_state, model.tangent))
    in_time = own_change(dense.product(by_state, reduced.in_time) + explicit)
    back = dense.solve(change, np.eye(n))
    of_state, of_a = np.hstack([of_place, of_v]), slopes.by_velocity
    acceleration = reduced.rates[nv:]
    by_old = own_change(dense.product(of_state, model.tangent) + dense.product(of_a, acceleration[:, :n]))
    by_time = own_change(
        dense.product(of_state, reduced.in_time) + dense.product(of_a, acceleration[:, -1]) + of_t
    )
    by_old = dense.product(by_old, back)
    tangent, names = dense.product(model.tangent, back), relation.all_names
    output_names, c = names, np.eye(n)
    if outputs is not None:
        output_names, c = output_matrix(s, outputs, tangent, rate)
    start = Place(np.array(model.q), np.array(model.v), model.t)
    return replace(
        model,
        A=read_only(by_old + own_change(of_own)),
        B=read_only(own_change(dense.product(of_a, acceleration[:, n : n + nu]))),
        C=read_only(c),
        D=read_only(np.zeros((len(c), nu))),
        E=read_only(by_time - dense.product(by_old, in_time)),
        affine=read_only(rates),
        names=names,
        output_names=output_names,
        coordinates=relation.names,
        velocities=relation.velocity_names,
        coordinate_indices=(),
        velocity_indices=(),
        condition=max(found.number for found in relation.conditions(x, own, _ranks(model, relation))),
        tangent=read_only(tangent),
        tangent_rates=read_only(dense.product(reduced.rates[:, :n], back)),
        own=lambda q, v: relation.solve(Place(q, v, model.t), own, start) - own,
    )


def _ranks(model: LinearSystem, relation: TracedRelation) -> tuple[int, int]:
    return model.system.nv - relation.count, model.rank


def _curvature(
    relation: TracedRelation, x: Place, own: Array, a: Array, rates: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the derivatives of dR/dt with respect to position (δq = N δ), v, t and w at constant a and ẇ, and
    ∂R/∂t.
    """
    e = relation.system.equations
    held, moving = ca.SX.sym("a", e.nv), ca.SX.sym("wdot", relation.own.numel())
    whole = (
        relation.flow + ca.jtimes(relation.rows, e.v, held) + ca.jtimes(relation.rows, relation.own, moving)
    )
    parts = [
        ca.jacobian(whole, e.q) @ ca.jacobian(e.rate, e.v),
        ca.jacobian(whole, e.v),
        ca.jacobian(whole, e.t),
        ca.jacobian(whole, relation.own),
        ca.jacobian(relation.rows, e.t),
    ]
    inputs = [e.q, e.v, e.t, e.p, relation.own, relation.constants, held, moving]
    function = ca.Function("curvature", inputs, [ca.densify(part) for part in parts])
    parameters = list(relation.system.parameters.values())
    place, v, t, w, explicit = function(*x, parameters, own, relation.values, a, rates)
    count, nv = relation.own.numel(), e.nv
    return (
        np.array(place).reshape(count, nv), np.array(v).reshape(count, nv), np.array(t).ravel(),
        np.array(w).reshape(count, count), np.array(explicit).ravel(),
    )  # fmt: skip
