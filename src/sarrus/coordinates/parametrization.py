"""`Parametrization`: the local state-space form at a configuration, q = Ψ(y) with the constraints fulfilled."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.coordinates.choices import WORST, Coordinates, choose_both, condition_number, rows_of_rates
from sarrus.coordinates.relation import Relation, TracedRelation, trace_relation
from sarrus.dynamics.closed_state import require_on_constraints
from sarrus.dynamics.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.linalg import dense
from sarrus.linalg.newton import follow, newton
from sarrus.linalg.projected import projected_rates
from sarrus.linalg.ranked import at_rank


@described()
def parametrize(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    t: float = 0.0,
    coordinates: Coordinates | Relation = "partition",
) -> Parametrization:
    """Choose independent coordinates y near the closed configuration q (Spencer 2004, sections 2.2 to 2.4).

    Parameters
    ----------
    coordinates : "partition", "tangent-space", "null-space" or names of coordinates, as in
        `sarrus.coordinates.choices.choose`; or a `Relation` R(q, y) = 0. The former are y = W N(q0)⁺ (q − q0) + y0,
        linear in q, where y0 is zero but for entries of y that are entries of q: these keep their values. At q0
        ẏ = W v. ("null-space" differs from "tangent-space" only in a simulation, where every step chooses anew.)
    v : velocity (nv,), which matters where constraints are nonlinear in it.

    Redundant constraints change nothing: A is cut to its rank. With nonholonomic constraints positions have more
    freedom than velocities; then only the automatic choices are possible, and ``ydot`` are velocities chosen on their
    own, ẏ = W v, with names in ``velocity_names``, and not the derivatives of y. The parametrization holds for the
    constraints that are switched on now.

    Raises `ArgumentError` where q is open or v violates the constraints by more than 1e-5, where names or relation
    do not fit, and where the coordinates do not determine q here, with the condition number: at a singular
    configuration none do.
    """
    check_is("parametrize", system, System)
    system.without_activations("parametrizations")
    return Parametrization(system, q, v, t, coordinates)


@dataclass(frozen=True, eq=False)
class Reached(Answer):
    """How far `Parametrization.to_full` came before it failed: q, closed, on a ``part`` of the way to the y asked for.

    ``condition`` is the condition number there.
    """

    q: Array
    y: Array
    part: float
    condition: float
    status: Status


class Parametrization:
    """Independent coordinates y near a configuration; made by `parametrize`. Nothing in it changes.

    Attributes
    ----------
    names : of y; with holonomic constraints these are nv − rank, with others nv − rank of the holonomic rows.
    velocity_names : of ẏ, the same but for nonholonomic constraints.
    dof : number of velocities, nv − rank.
    q0, v0, y0, time : where it was made. ``time`` stands in for a ``t`` that a method is not given.
    """

    def __init__(
        self, system: System, q: ArrayLike, v: ArrayLike | None, t: float, coordinates: Coordinates | Relation
    ) -> None:
        self.system, self.time = system, t
        self.q0, self.v0 = map(read_only, self._checked(q, v, t))
        work = system.workspace()
        self.rank = generic_rank(work, self.q0, t, self.v0, renew=True)
        self.holonomic_rank = int(work.table.holonomic_rank)
        self._velocity_rows: Array | None = None
        if isinstance(coordinates, Relation):
            self._relation, self.y0 = trace_relation(system, coordinates, self.q0, t, self.v0)
            self.velocity_names = self._relation.names
        else:
            self._choose(coordinates)
        self.names = self._relation.names
        condition = self.condition(self.q0, self.v0)
        if not condition < WORST:
            raise ArgumentError(
                f"{system.name}: {', '.join(self.names)} do not determine q here (condition number {condition:.3g}): "
                "this configuration is singular, or next to one; start elsewhere",
                element="q",
            )

    @property
    def dof(self) -> int:
        """Number of independent velocities."""
        return len(self.velocity_names)

    def to_independent(
        self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None
    ) -> tuple[Array, Array]:
        """Return (y, ẏ) at a closed configuration q and an admissible velocity v (default zero).

        Raises `ArgumentError` where q or v violate the constraints by more than 1e-5, and `SolveError` where a
        relation R(q, y) = 0 cannot be solved for y on the straight way from q0 to q.
        """
        q, v = self._checked(q, v, self._at(t))
        y = self._relation.solve(q, self.y0, self.q0)
        ydot = (
            self._relation.rates(q, v, y)
            if self._velocity_rows is None
            else dense.product(self._velocity_rows, v)
        )
        return read_only(y), read_only(ydot)

    def to_full(
        self,
        y: ArrayLike,
        ydot: ArrayLike | None = None,
        t: float | None = None,
        guess: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return (q, v) with the constraints fulfilled for given y and ẏ (default zero): q = Ψ(y), v = K ẏ + v_t.

        Newton's method on φ(q, t) = 0, R(q, y) = 0 (Spencer 2004, equation (2.23) and section 2.3.1) from ``guess``,
        by default q0; where it does not contract, y is approached in shorter steps from its value at the guess. So the
        solution is the one that belongs to the guess. v_t is the motion that driven constraints impose.

        Raises `SolveError` where y lies outside the chart, with ``Reached`` as its ``result``: there is no closed
        configuration for it, or none that can be reached without passing one where the coordinates fail.
        """
        t = self._at(t)
        aim, rate = self._vector(y, len(self.names), "y"), self._vector(ydot, self.dof, "ydot")
        start = self.q0 if guess is None else self.system.normalized(guess)
        origin = self._relation.solve(start, self.y0, self.q0)

        def at(q: Array, s: float) -> Array | None:
            return self._close(q, origin + s * (aim - origin), t)

        q, s = follow(start, at)
        if s < 1.0:
            here = origin + s * (aim - origin)
            reached = Reached(q, here, s, self.condition(q, self.v0, t), Status.COORDINATES_FAILED)
            raise SolveError(
                f"{self.system.name}: {', '.join(self.names)} = {aim} lie outside the chart: "
                f"{reached.status.diagnosis} beyond {here}, {s:.1%} of the way, with condition number "
                f"{reached.condition:.3g} there. {reached.status.remedy}",
                result=reached,
                element="y",
            )
        return read_only(q), read_only(self._velocity(q, aim, rate, t))

    def basis(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> Array:
        """Return K = ∂v/∂ẏ (nv × dof) at a closed configuration, A K = 0 (Spencer 2004, equation (2.44)).

        ``v`` matters where constraints are nonlinear in the velocity. Raises `SolveError`, with the condition number,
        where the coordinates fail.
        """
        q, v = self._place(q, v)
        rows, by_y = self._rows(q, self._relation.solve(q, self.y0, self.q0))
        return read_only(self._solve(q, v, self._at(t), rows, np.zeros((self.system.nc, self.dof)), -by_y))

    def basis_rate(self, q: ArrayLike, v: ArrayLike, t: float | None = None) -> Array:
        """Return K̇ ẏ (nv,), what v̇ is at ÿ = 0: [∂R/∂q N; A] v̇ = −[d²R/dt²; γ] (Spencer 2004, equation (2.45)).

        For driven constraints it contains the acceleration that they impose. Raises as `basis` does.
        """
        (q, v), t = self._place(q, v), self._at(t)
        y = self._relation.solve(q, self.y0, self.q0)
        bias = np.zeros(self.dof)
        if self._velocity_rows is None:
            bias = -self._relation.bias(q, v, y, self._relation.rates(q, v, y))
        return read_only(
            self._solve(q, v, t, self._rows(q, y)[0], -self.system.constraint_bias(q, v, t), bias)
        )

    def condition(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> float:
        """Return the condition number of [∂R/∂q N; A / |A|], A cut to its rank: infinite where the coordinates fail.

        In characteristic units, rows of ∂R/∂q N scaled to length one, and that of ∂R/∂y counts too. With nonholonomic
        constraints it is the worse one of positions and velocities.
        """
        q, v = self._place(q, v)
        jacobian = self.system.constraint_jacobian(q, v, self._at(t))
        y = self._relation.solve(q, self.y0, self.q0)
        of_positions = max(self._relation.conditions(q, y, jacobian[: self.system.nh], self.holonomic_rank))
        if self._velocity_rows is None:
            return of_positions
        return max(of_positions, condition_number(self.system, jacobian, self._velocity_rows, self.rank))

    def reduced_dynamics(
        self,
        y: ArrayLike,
        ydot: ArrayLike,
        u: ArrayLike | None = None,
        t: float | None = None,
        tau: ArrayLike | None = None,
        guess: ArrayLike | None = None,
    ) -> Array:
        """Return ÿ (dof,) from Kᵀ M K ÿ = Kᵀ (F − M K̇ ẏ), F = k + S u + τ − h (Spencer 2004, before (2.43)).

        u (nu,) are controls, tau (nv,) is an applied force, ``guess`` as in `to_full`. Massless bodies are legal where
        Kᵀ M K is positive definite. Raises `SolveError` where it is not, and as `to_full` does.
        """
        s, t = self.system, self._at(t)
        q, v = self.to_full(y, ydot, t, guess)
        basis, drift = self.basis(q, v, t), self.basis_rate(q, v, t)
        controls = np.zeros(s.nu) if u is None else s.checked(u, s.nu, "u")
        force = s.passive_force(q, v, t) + s.input_force(q, v, controls, t) - s.bias_force(q, v, t)
        force += s.evaluate("non_ideal", q, v, t=t)["non_ideal"][:, 0]
        if tau is not None:
            force += s.checked(tau, s.nv, "tau")
        mass = s.mass_matrix(q, t)
        inertia = dense.product(basis.T, mass, basis)
        try:
            dense.cholesky(inertia)
        except np.linalg.LinAlgError:
            raise Status.ILL_POSED.error(s.name) from None
        return read_only(projected_rates(basis, mass, -force, drift, inertia))

    # --- what the methods need ---------------------------------------------------------------------

    def _at(self, t: float | None) -> float:
        return self.time if t is None else t

    def _vector(self, value: ArrayLike | None, size: int, what: str) -> Array:
        names = self.names if what == "y" else self.velocity_names
        array = np.zeros(size) if value is None else real_array(value)
        if array.shape != (size,) or not np.isfinite(array).all():
            raise ArgumentError(
                f"{self.system.name}: {what} must be {size} finite numbers ({', '.join(names)}), got {value!r}",
                element=what,
                valid=names,
            )
        return array

    def _place(self, q: ArrayLike, v: ArrayLike | None) -> tuple[Array, Array]:
        q = self.system.normalized(q)
        return q, self.v0 if v is None else self.system.checked(v, self.system.nv, "v")

    def _checked(self, q: ArrayLike, v: ArrayLike | None, t: float) -> tuple[Array, Array]:
        """Return q and v (default zero) as arrays, verified to lie on the constraints."""
        s = self.system
        q = s.normalized(q)
        v = np.zeros(s.nv) if v is None else s.checked(v, s.nv, "v").copy()
        require_on_constraints(s, q, v, t)
        return q, v

    def _rows(self, q: Array, y: Array) -> tuple[Array, Array]:
        """Return V and G with V v + G ẏ = 0."""
        if self._velocity_rows is None:
            return self._relation.derivatives(q, y)
        return self._velocity_rows, -np.eye(self.dof)

    def _close(self, q: Array, y: Array, t: float) -> Array | None:
        """Return the closed configuration near q with this y, or None where Newton does not contract."""
        s, relation, rank = self.system, self._relation, self.holonomic_rank

        def correction(q: Array) -> tuple[Array, float]:
            jacobian = s.constraint_jacobian(q, t=t)[: s.nh]
            condition = max(relation.conditions(q, y, jacobian, rank))
            if not condition < WORST:
                return np.full(s.nv, np.nan), condition
            rows = relation.derivatives(q, y)[0]
            left = -s.constraint_residual(q, t), -relation.residual(q, y)
            return solve_stacked(jacobian, rows, rank, *left), condition

        return newton(q, correction, s.move)

    def _velocity(self, q: Array, y: Array, ydot: Array, t: float) -> Array:
        """Return the admissible velocity with this ẏ at q."""
        s = self.system
        rows, by_y = self._rows(q, y)

        def correction(v: Array) -> tuple[Array, float]:
            jacobian = s.constraint_jacobian(q, v, t)
            condition = condition_number(s, jacobian, rows, self.rank)
            if not condition < WORST:
                return np.full(s.nv, np.nan), condition
            left = -s.velocity_residual(q, v, t), -(dense.product(rows, v) + dense.product(by_y, ydot))
            return solve_stacked(jacobian, rows, self.rank, *left), condition

        v = newton(self.v0, correction)
        if v is None:
            raise SolveError(
                f"{s.name}: {', '.join(self.velocity_names)} with the rates {ydot} belong to no velocity near v0 that "
                "the constraints allow",
                element="ydot",
            )
        return v

    def _solve(self, q: Array, v: Array, t: float, rows: Array, a: Array, b: Array) -> Array:
        """Return x with A x = a, V x = b at (q, v), V given by rows."""
        jacobian, condition = self.system.constraint_jacobian(q, v, t), self.condition(q, v, t)
        if not condition < WORST:
            raise SolveError(
                f"{self.system.name}: {', '.join(self.names)} do not determine the motion at q = {q}: condition "
                f"number {condition:.3g}. {Status.COORDINATES_FAILED.remedy}",
                element="coordinates",
            )
        return solve_stacked(jacobian, rows, self.rank, a, b)

    def _choose(self, coordinates: Coordinates) -> None:
        """Take rows W at q0, and the relation y = W N(q0)⁺ (q − q0) + y0."""
        s, q0 = self.system, self.q0
        jacobian = s.constraint_jacobian(q0, self.v0, self.time)
        chosen, velocities = choose_both(s, coordinates, jacobian, self.holonomic_rank, self.rank)
        if chosen is not velocities:
            self._velocity_rows = velocities.rows
        self.velocity_names = velocities.names
        rate = np.column_stack([s.coordinate_rate(q0, e) for e in np.eye(s.nv)])
        rows = rows_of_rates(s, chosen.rows, rate)
        self.y0 = np.zeros(len(rows))
        for k, row in enumerate(rows):
            i = int(np.argmax(row))
            if np.allclose(row, np.eye(s.nq)[i], rtol=0.0, atol=1e-12):
                rows[k], self.y0[k] = np.eye(s.nq)[i], q0[i]
        y = ca.SX.sym("y", len(rows))
        linear = ca.SX(ca.DM(rows)) @ (s.equations.q - q0) + self.y0 - y
        self._relation = TracedRelation(s, chosen.names, linear, y)

    def __repr__(self) -> str:
        return f"Parametrization({self.system.name!r}: {', '.join(self.names)})"


def solve_stacked(jacobian: Array, rows: Array, rank: int, a: Array, b: Array) -> Array:
    """Return x with A x = a in the least-squares sense, A cut to its rank, and V x = b exactly."""
    parts = at_rank(jacobian, rank)
    top = dense.product(parts.left.T, a).T / parts.kept
    return dense.solve(np.vstack([parts.right.T, rows]), np.concatenate([top.T, b]))
