"""Equations of a system extended by the coordinates of a relation, which have no mass."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from sarrus.dynamics.coordinates.traced_relation import TracedRelation
from sarrus.symbolic.equations.equations import Equations


def with_coordinates(relation: TracedRelation) -> Equations:
    """Return the equations with y appended to q, ẏ to v and R_q(q, y, t) = 0 to the holonomic rows."""
    e, n = relation.system.equations, relation.count
    y, ydot = relation.own[:n], relation.own[n:]
    residual, velocity = relation.rows[:n], relation.rows[n:]
    bias = ca.densify(relation.flow[n:] + ca.jtimes(velocity, y, ydot))
    v = ca.vertcat(e.v, ydot)

    def insert(rows: ca.SX, new: ca.SX) -> ca.SX:
        return ca.densify(ca.vertcat(rows[: e.nh, :], new, rows[e.nh :, :]))

    return replace(
        _with_velocities(e, v),
        q=ca.vertcat(e.q, y),
        rate=ca.vertcat(e.rate, ydot),
        position_residual=ca.vertcat(e.position_residual, residual),
        velocity_residual=insert(e.velocity_residual, velocity),
        jacobian=insert(ca.horzcat(e.jacobian, ca.SX.zeros(e.nc, n)), ca.jacobian(velocity, v)),
        constraint_bias=insert(e.constraint_bias, bias),
        coordinate_names=(*e.coordinate_names, *relation.names),
        velocity_names=(*e.velocity_names, *relation.names),
        constraint_names=(*e.constraint_names[: e.nh], *relation.names, *e.constraint_names[e.nh :]),
    )


def with_state(relation: TracedRelation) -> Equations:
    """Return the equations with (y, z) appended to v and R(x, y) = 0 to the rows of velocities.

    y and z are velocities without coordinates: their "accelerations" are ẏ and ż. The constants of a chart are
    parameters.
    """
    e, n = relation.system.equations, len(relation.all_names)
    v, values = ca.vertcat(e.v, relation.own), dict(constants_of(relation))
    return replace(
        _with_velocities(e, v),
        p=ca.vertcat(e.p, relation.constants),
        parameter_values=e.parameter_values | values,
        velocity_residual=ca.densify(ca.vertcat(e.velocity_residual, relation.rows)),
        jacobian=ca.densify(
            ca.vertcat(ca.horzcat(e.jacobian, ca.SX.zeros(e.nc, n)), ca.jacobian(relation.rows, v))
        ),
        constraint_bias=ca.densify(ca.vertcat(e.constraint_bias, relation.flow)),
        velocity_names=(*e.velocity_names, *relation.all_names),
        constraint_names=(*e.constraint_names, *relation.all_names),
    )


def constants_of(relation: TracedRelation) -> dict[str, float]:
    """Return the constants of a chart as parameters of the extended system."""
    return {f"chart.{k}": float(value) for k, value in enumerate(np.asarray(relation.values))}


def _with_velocities(e: Equations, v: ca.SX) -> Equations:
    """Return the equations with additional massless velocities on which no force acts."""
    n = v.numel() - e.nv
    zero = ca.SX.zeros(n)
    momentum = None if e.linear_momentum is None else ca.vertcat(e.linear_momentum, zero)
    return replace(
        e,
        v=v,
        mass_matrix=ca.densify(ca.diagcat(e.mass_matrix, ca.SX.zeros(n, n))),
        bias_force=ca.vertcat(e.bias_force, zero),
        passive_force=ca.vertcat(e.passive_force, zero),
        non_ideal=ca.vertcat(e.non_ideal, zero),
        actuation=ca.vertcat(e.actuation, ca.SX.zeros(n, e.nu)),
        input_force=ca.vertcat(e.input_force, zero),
        linear_momentum=momentum,
        tree=None,
    )
