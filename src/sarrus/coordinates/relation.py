"""`Relation`: independent coordinates y given by equations R(q, y) = 0, and systems extended by them.

The theory is Spencer 2004, section 2.3: y is a valid choice near (q, y) where

    |∂R/∂y| ≠ 0                   (2.21), y follows from q,
    |[∂R/∂q N; A]| ≠ 0            (2.22), q follows from y and the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.numbers import finite_array
from sarrus.coordinates.choices import WORST, condition_number
from sarrus.dynamics.model import Model
from sarrus.dynamics.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.equations.equations import Equations
from sarrus.equations.symbolic import Tracer, UserFunction, names_of
from sarrus.linalg import dense
from sarrus.linalg.newton import follow, newton


class Relation:
    """Independent coordinates y that satisfy R(q, y) = 0, R any smooth function.

    Parameters
    ----------
    function : R(q, y) of CasADi columns q (nq,) and y (dof,); returns dof rows that vanish, SX expressions or lists
        of these. It contains neither time nor parameters.
    names : names of the entries of y, none of them a coordinate of the system.
    guess : y (dof,) near which R(q, y) = 0 is solved at the starting configuration; zeros by default. It decides
        between several solutions, as with a length that R contains squared.

    Example: ``Relation(lambda q, y: [q[0] - y[0] * cos(y[1]), q[1] - y[0] * sin(y[1])], ["r", "angle"], [1.0, 0.0])``.

    Where it is used, both rank conditions are verified, and an `ArgumentError` says which one fails and by how much.
    """

    def __init__(self, function: UserFunction, names: Sequence[str], guess: ArrayLike | None = None) -> None:
        self.function = function
        self.names = names_of("relation", "names", names, len(names), "")
        near = finite_array(np.zeros(len(self.names)) if guess is None else guess)
        if near is None or near.shape != (len(self.names),):
            raise ArgumentError(
                f"relation: guess must be {len(self.names)} finite numbers ({', '.join(self.names)}), got {guess!r}",
                element="guess",
            )
        self.guess = near.copy()

    def expression(self, system: System, y: ca.SX) -> ca.SX:
        """Return R over the symbols of the equations of a system and y."""
        e = system.equations
        trace = _Tracer(e.name, e.nq, len(self.names), None)
        rows = trace.column("relation", self.function, "qy", len(self.names))
        return ca.substitute(rows, ca.vertcat(trace.q, trace.y), ca.vertcat(e.q, y))

    def __repr__(self) -> str:
        return f"Relation({', '.join(self.names)})"


class _Tracer(Tracer):
    """A tracer whose second argument is called y."""

    @property
    def y(self) -> ca.SX:
        """The symbols of y."""
        return self.v


class TracedRelation:
    """R(q, y) = 0 of one system with what its derivatives are at a state, as numbers.

    ``by_velocity`` = ∂R/∂q N (dof × nv), ``by_y`` = ∂R/∂y (dof × dof), and ``bias`` (dof,) is d²R/dt² at a = 0, ÿ = 0.
    """

    def __init__(self, system: System, names: Sequence[str], expression: ca.SX, y: ca.SX) -> None:
        e, rate = system.equations, ca.SX.sym("ydot", y.numel())
        self.system, self.names = system, tuple(names)
        velocity, bias = _motion(e.q, e.rate, y, rate, expression)
        by_velocity = ca.jacobian(velocity, e.v)
        by_y = ca.jacobian(expression, y)
        self._residual = ca.Function("residual", [e.q, y], [expression])
        self._derivatives = ca.Function("derivatives", [e.q, e.p, y], [by_velocity, by_y])
        self._bias = ca.Function("bias", [e.q, e.v, e.p, y, rate], [bias])

    @property
    def _parameters(self) -> list[float]:
        return list(self.system.parameters.values())

    def residual(self, q: Array, y: Array) -> Array:
        """Return R (dof,)."""
        return np.array(self._residual(q, y)).ravel()

    def derivatives(self, q: Array, y: Array) -> tuple[Array, Array]:
        """Return ∂R/∂q N (dof × nv) and ∂R/∂y (dof × dof)."""
        by_velocity, by_y = self._derivatives(q, self._parameters, y)
        dof = len(self.names)
        return np.array(by_velocity).reshape(dof, self.system.nv), np.array(by_y).reshape(dof, dof)

    def bias(self, q: Array, v: Array, y: Array, ydot: Array) -> Array:
        """Return what d²R/dt² is at a = 0 and ÿ = 0 (dof,)."""
        return np.array(self._bias(q, v, self._parameters, y, ydot)).ravel()

    def rates(self, q: Array, v: Array, y: Array) -> Array:
        """Return ẏ = −(∂R/∂y)⁻¹ ∂R/∂q N v."""
        by_velocity, by_y = self.derivatives(q, y)
        return -dense.solve(by_y, dense.product(by_velocity, v))

    def solve(self, q: Array, y: Array, start: Array | None = None) -> Array:
        """Return the y with R(q, y) = 0 that follows from the y given: on the way from R(start, y), by default at q.

        Both q and the residual go straight to their ends. Raises `SolveError` where the solution is lost: ∂R/∂y
        becomes singular on the way, or there is none near y.
        """
        origin = q if start is None else start
        left = self.residual(origin, y)

        def at(y: Array, s: float) -> Array | None:
            place = origin + s * (q - origin)

            def correction(y: Array) -> tuple[Array, float]:
                by_y = self.derivatives(place, y)[1]
                condition = _condition(by_y)
                if not condition < WORST:
                    return np.full(len(y), np.nan), condition
                residual = self.residual(place, y) - (1.0 - s) * left
                return dense.solve(by_y, -residual), condition

            return newton(y, correction)

        found, s = follow(y, at)
        if s < 1.0:
            raise SolveError(
                f"{self.system.name}: R(q, y) = 0 has no solution {', '.join(self.names)} that follows from y = {y}: "
                f"it is lost at {found}, {s:.1%} of the way; give a guess near the solution",
                element="relation",
            )
        return found

    def conditions(self, q: Array, y: Array, jacobian: Array, rank: int) -> tuple[float, float]:
        """Return the condition numbers of ∂R/∂y and of [∂R/∂q N; A / |A|], in characteristic units.

        Rows of the former have length one.
        """
        by_velocity, by_y = self.derivatives(q, y)
        if not by_velocity.any(axis=1).all():
            return _condition(by_y), np.inf
        return _condition(by_y), condition_number(self.system, jacobian, by_velocity, rank)

    def check_dependence(self, q: Array, y: Array) -> None:
        """Raise `ArgumentError` unless q determines y near here, condition (2.21)."""
        of_y = _condition(self.derivatives(q, y)[1])
        if not of_y < WORST:
            raise ArgumentError(
                f"{self.system.name}: relation: q does not determine {', '.join(self.names)} at y = {y}: ∂R/∂y has the "
                f"condition number {of_y:.3g}; give a guess elsewhere or choose other coordinates",
                element="relation",
            )

    def check(self, q: Array, y: Array, jacobian: Array, rank: int) -> None:
        """Raise `ArgumentError` unless both conditions of theorem 2.3.1 hold at (q, y)."""
        self.check_dependence(q, y)
        of_q = self.conditions(q, y, jacobian, rank)[1]
        if not of_q < WORST:
            raise ArgumentError(
                f"{self.system.name}: relation: {', '.join(self.names)} and the constraints (rank {rank}) do not "
                f"determine q here: [∂R/∂q N; A] has the condition number {of_q:.3g}; choose other coordinates",
                element="relation",
            )


def _motion(q: ca.SX, rate: ca.SX, y: ca.SX, ydot: ca.SX, expression: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return dR/dt along q̇ = ``rate`` and ẏ, and d²R/dt² at constant v and ẏ."""

    def derivative(x: ca.SX) -> ca.SX:
        return ca.densify(ca.jtimes(x, q, rate) + ca.jtimes(x, y, ydot))

    velocity = derivative(expression)
    return velocity, derivative(velocity)


def trace_relation(
    system: System, relation: Relation, q: Array, t: float, v: Array
) -> tuple[TracedRelation, Array]:
    """Return the relation traced for a system, and y at the closed configuration q, both conditions verified."""
    rank = generic_rank(system.workspace(), q, t, v, renew=True)
    if system.nc > system.nh:
        raise ArgumentError(
            f"{system.name}: with nonholonomic constraints positions have more freedom than velocities; a relation "
            "between q and y cannot give both",
            element="relation",
        )
    if len(relation.names) != system.nv - rank:
        raise ArgumentError(
            f"{system.name}: relation must give {system.nv - rank} independent coordinates (nv − rank = {system.nv} − "
            f"{rank}), got {len(relation.names)} ({', '.join(relation.names)})",
            element="relation",
        )
    taken = sorted({*relation.names} & {*system.coordinate_names, *system.velocity_names})
    if taken:
        raise ArgumentError(
            f"{system.name}: relation: {taken[0]!r} is a coordinate of the system already; choose another name",
            element=taken[0],
        )
    y = ca.SX.sym("y", len(relation.names))
    traced = TracedRelation(system, relation.names, relation.expression(system, y), y)
    traced.check_dependence(q, relation.guess)
    value = traced.solve(q, relation.guess)
    traced.check(q, value, system.constraint_jacobian(q, v, t), rank)
    return traced, value


def extend(
    system: System, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0, *, relation: Relation
) -> tuple[System, Array, Array]:
    """Return the system with the coordinates y of a relation appended to q, and the state (q, v) extended by (y, ẏ).

    y has no mass; R(q, y) = 0 are holonomic rows after the others, named as y is. So y are ordinary coordinates: they
    are recorded, can be locked, named in ``coordinates=`` and used in control laws, the first nq and nv entries being
    those of the system given. Forces have nv + dof entries then. The mechanism is left behind: motions of the extended
    system cannot be drawn.

    q must be closed. Redundant constraints change nothing. Raises `ArgumentError` where the relation fails the rank
    conditions at q, at a singular configuration among others, and `SolveError` where R(q, y) = 0 has no solution near
    the guess.
    """
    check_is("extend", system, System)
    system.without_activations("relations")
    q0 = system.normalized(q)
    v0 = system.checked(np.zeros(system.nv) if v is None else v, system.nv, "v")
    traced, y0 = trace_relation(system, relation, q0, t, v0)
    extended = System.of_model(Model(_extended(system, relation)), system.parameters, system.options)
    return extended, np.concatenate([q0, y0]), np.concatenate([v0, traced.rates(q0, v0, y0)])


def _extended(system: System, relation: Relation) -> Equations:
    e, n = system.equations, len(relation.names)
    y, ydot = ca.SX.sym("y", n), ca.SX.sym("ydot", n)
    residual = relation.expression(system, y)
    velocity, bias = _motion(e.q, e.rate, y, ydot, residual)
    v, zero = ca.vertcat(e.v, ydot), ca.SX.zeros(n)

    def insert(rows: ca.SX, new: ca.SX) -> ca.SX:
        return ca.densify(ca.vertcat(rows[: e.nh, :], new, rows[e.nh :, :]))

    return replace(
        e,
        q=ca.vertcat(e.q, y),
        v=v,
        mass_matrix=ca.densify(ca.diagcat(e.mass_matrix, ca.SX.zeros(n, n))),
        bias_force=ca.vertcat(e.bias_force, zero),
        passive_force=ca.vertcat(e.passive_force, zero),
        non_ideal=ca.vertcat(e.non_ideal, zero),
        actuation=ca.vertcat(e.actuation, ca.SX.zeros(n, e.nu)),
        input_force=ca.vertcat(e.input_force, zero),
        rate=ca.vertcat(e.rate, ydot),
        position_residual=ca.vertcat(e.position_residual, residual),
        velocity_residual=insert(e.velocity_residual, velocity),
        jacobian=insert(ca.horzcat(e.jacobian, ca.SX.zeros(e.nc, n)), ca.jacobian(velocity, v)),
        constraint_bias=insert(e.constraint_bias, bias),
        coordinate_names=(*e.coordinate_names, *relation.names),
        velocity_names=(*e.velocity_names, *relation.names),
        constraint_names=(*e.constraint_names[: e.nh], *relation.names, *e.constraint_names[e.nh :]),
        tree=None,
    )


def _condition(matrix: Array) -> float:
    if matrix.size == 0:
        return 1.0
    return dense.condition(matrix) if np.isfinite(matrix).all() else np.inf
