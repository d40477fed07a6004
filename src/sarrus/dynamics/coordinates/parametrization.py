"""`Parametrization`: the local state-space form at a state, (q, v) = Ψ(y, z), which satisfies the constraints."""

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
from sarrus.dynamics.closing.closed_state import require_on_constraints
from sarrus.dynamics.coordinates.choices import Coordinates, choose_both, condition_number, rows_of_rates
from sarrus.dynamics.coordinates.relation import Relation, trace_relation
from sarrus.dynamics.coordinates.tolerances import WORST_COORDINATES
from sarrus.dynamics.coordinates.traced_relation import (
    Condition,
    Place,
    Slopes,
    TracedRelation,
    stacked_condition,
)
from sarrus.dynamics.model.tolerances import KEPT_ENTRY
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.newton import follow, newton
from sarrus.kernels.linalg.projected import projected_rates
from sarrus.kernels.linalg.ranked import at_rank


@described()
def parametrize(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    t: float = 0.0,
    coordinates: Coordinates | Relation = "partition",
) -> Parametrization:
    """Return independent coordinates y near the closed configuration q (Spencer 2004, sections 2.2 to 2.4).

    Parameters
    ----------
    coordinates : "partition", "tangent-space", "null-space" or names of coordinates, as in
        `sarrus.dynamics.coordinates.choices.choose`; or a `Relation`. The first four are y = W N(q0)⁺ (q − q0) + y0,
        linear in q, with ẏ = W v at q0. y0 is zero, except for entries of y that are entries of q: these keep their
        values. ("null-space" differs from "tangent-space" only in a simulation, where every step has a new choice.) A
        relation R_q(q, y) = 0 gives y alone; a relation with velocities also gives z, which then replaces ``ydot``.
    v : velocity (nv,); matters for constraints nonlinear in the velocity.

    Redundant constraints are legal: A is cut to its rank. With nonholonomic constraints positions have more degrees of
    freedom than velocities; then only the automatic choices and relations with velocities are possible, and ``ydot``
    are independently chosen velocities, z = W v or given by the relation, with names in ``velocity_names``, and not the
    derivatives of y. The parametrization is for the constraints active now.

    Raises `ArgumentError` if q is open or v violates the constraints by more than 1e-5, if names or relation
    do not fit, and if the coordinates do not determine q here, with the condition number and, for a relation, the
    number of the failed condition in Spencer 2004: at a singular configuration no coordinates do.
    """
    check_is("parametrize", system, System)
    system.require_no_activations("parametrizations")
    return Parametrization(system, q, v, t, coordinates)


@dataclass(frozen=True, eq=False)
class Reached(Answer):
    """The last closed configuration q before `Parametrization.to_full` failed, at a share ``part`` of the way to y.

    ``condition`` is the condition number at q.
    """

    q: Array
    y: Array
    part: float
    condition: float
    status: Status


class Parametrization:
    """Independent coordinates (y, z) near a state; made by `parametrize`; immutable.

    Attributes
    ----------
    names : of y: nv − rank with holonomic constraints, else nv − rank of the holonomic rows.
    velocity_names : of z, nv − rank: the names of y with z = ẏ, except for nonholonomic constraints and relations with
        own velocities.
    dof : number of velocities, nv − rank.
    q0, v0, y0, time : the state at which it was made. ``time`` is the default of ``t`` in all methods.
    """

    def __init__(
        self, system: System, q: ArrayLike, v: ArrayLike | None, t: float, coordinates: Coordinates | Relation
    ) -> None:
        self.system, self.time = system, t
        self.q0, self.v0 = map(read_only, self._checked(q, v, t))
        work = system.workspace()
        self.rank = generic_rank(work, self.q0, t, self.v0, renew=True)
        self.holonomic_rank = int(work.table.holonomic_rank)
        if isinstance(coordinates, Relation):
            self._relation, own = trace_relation(system, coordinates, self.q0, t, self.v0)
        else:
            self._relation, own = self._choose(coordinates)
        self._own0 = own
        self.names, self.velocity_names = self._relation.names, self._relation.velocity_names
        self.y0 = read_only(self._split(own)[0])
        condition = self.condition(self.q0, self.v0)
        if not condition < WORST_COORDINATES:
            raise ArgumentError(
                f"{system.name}: {', '.join(self.names)} do not determine q here (condition number {condition:.3g}): "
                "this configuration is singular, or next to one; start elsewhere",
                element="q",
            )

    @property
    def dof(self) -> int:
        """Number of independent velocities."""
        return len(self.velocity_names)

    @property
    def coupled(self) -> bool:
        """Whether y and z come from one relation R(x, y) = 0 that does not separate positions and velocities."""
        return self._relation.coupled

    def to_independent(
        self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None
    ) -> tuple[Array, Array]:
        """Return (y, z) at a closed configuration q and an admissible velocity v (default zero); z = ẏ by default.

        Raises `ArgumentError` if q or v violate the constraints by more than 1e-5, and `SolveError` if a relation
        cannot be solved for (y, z) on the straight line from (q0, v0) to (q, v).
        """
        t = self._at(t)
        q, v = self._checked(q, v, t)
        y, z = self._split(self._solve_own(Place(q, v, t)))
        return read_only(y), read_only(z)

    def to_full(
        self,
        y: ArrayLike,
        ydot: ArrayLike | None = None,
        t: float | None = None,
        guess: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return (q, v) on the constraints for given y and z = ẏ (default zero): q = Ψ(y), v = K ẏ + v_t.

        Newton's method on φ(q, t) = 0, R(q, y) = 0 (Spencer 2004, equation (2.23) and section 2.3.1) from ``guess``,
        by default q0. If it does not contract, y is approached in shorter steps from its value at the guess, so that
        the solution is on the branch of the guess. v_t is the velocity prescribed by driven constraints. A coupled
        relation is solved for q and v at once, from v0.

        Raises `SolveError`, with the state that was reached as its ``result``, if y is outside the chart: no closed
        configuration exists for it, or none is reached without passing one where the coordinates fail.
        """
        t = self._at(t)
        aim, rate = self._vector(y, self.names, "y"), self._vector(ydot, self.velocity_names, "ydot")
        start = self.q0 if guess is None else self.system.normalized(guess)
        own, nq = np.concatenate([aim, rate]), self.system.nq
        origin = self._solve_own(Place(start, self.v0, t))
        left = aim - self._split(origin)[0]

        if self.coupled:

            def at(x: Array, s: float) -> Array | None:
                return self._close_state(x, origin + s * (own - origin), t)

            x, s = follow(np.concatenate([start, self.v0]), at)
        else:

            def at(x: Array, s: float) -> Array | None:
                return self._close(x, np.concatenate([aim - (1.0 - s) * left, rate]), t)

            x, s = follow(start, at)
        if s < 1.0:
            here = aim - (1.0 - s) * left
            failed = Status.COORDINATES_FAILED
            reached = Reached(x[:nq], here, s, self.condition(x[:nq], self.v0, t), failed)
            raise SolveError(
                f"{self.system.name}: {', '.join(self.names)} = {aim} lie outside the chart: "
                f"{reached.status.diagnosis} beyond {here}, {s:.1%} of the way, with condition number "
                f"{reached.condition:.3g} there. {reached.status.remedy}",
                result=reached,
                element="y",
            )
        if self.coupled:
            return read_only(x[:nq].copy()), read_only(x[nq:].copy())
        return read_only(x), read_only(self._velocity(x, own, t))

    def tangent(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> Array:
        """Return DΨ (2 nv × P): changes of (q along velocities, v) for unit changes of (y, z), (2.29) of Spencer 2004.

        Raises `SolveError`, with the condition number, if the coordinates fail here.
        """
        x = self._place(q, v, t)
        s, slopes = self.system, self._relation.slopes(x, self._solve_own(x))
        self._require(x)
        rows = np.hstack([slopes.by_place, slopes.by_velocity])
        still = np.zeros((s.nh + s.nc, len(rows)))
        ranks = self.holonomic_rank + self.rank
        return read_only(solve_stacked(self._relation.constraint_rows(x), rows, ranks, still, -slopes.by_own))

    def basis(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> Array:
        """Return K = ∂v/∂z (nv × dof) at a closed configuration, A K = 0 (Spencer 2004, equation (2.44)).

        ``v`` matters for constraints nonlinear in the velocity, and for relations with velocities. Raises `SolveError`,
        with the condition number, if the coordinates fail here, and `ArgumentError` if a coupled relation gives y and
        z: use `tangent`.
        """
        self._require_split("basis")
        x = self._place(q, v, t)
        rows, by_own = self._rows(self._relation.slopes(x, self._solve_own(x)))
        return read_only(self._solve(x, rows, np.zeros((self.system.nc, self.dof)), -by_own))

    def basis_bias(self, q: ArrayLike, v: ArrayLike, t: float | None = None) -> Array:
        """Return K̇ z (nv,), v̇ at ż = 0: [∂R/∂q N; A] v̇ = −[d²R/dt²; γ] (Spencer 2004, equation (2.45)).

        For driven constraints it contains their prescribed acceleration. Errors as in `basis`.
        """
        self._require_split("basis_bias")
        x = self._place(q, v, t)
        own = self._solve_own(x)
        rows, bias = self._rows(self._relation.slopes(x, own))[0], self._relation.bias(x, own)
        return read_only(self._solve(x, rows, -self.system.constraint_bias(*x), -bias))

    def conditions(
        self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None
    ) -> tuple[Condition, ...]:
        """Return the conditions of theorem 2.3.1 in Spencer 2004 at (q, v), with their numbers there.

        (2.27) and (2.28) for positions, (2.21) and (2.22) for independently chosen velocities, or for both in a coupled
        relation. Each has the condition number of its matrix, with A cut to its rank, in characteristic units and with
        rows of R scaled to length one, and ``holds``.
        """
        x = self._place(q, v, t)
        return self._relation.conditions(x, self._solve_own(x), (self.holonomic_rank, self.rank))

    def condition(self, q: ArrayLike, v: ArrayLike | None = None, t: float | None = None) -> float:
        """Return the largest condition number of `conditions`; infinite if the coordinates fail."""
        return max(found.number for found in self.conditions(q, v, t))

    def state_rate(
        self,
        y: ArrayLike,
        z: ArrayLike,
        u: ArrayLike | None = None,
        t: float | None = None,
        tau: ArrayLike | None = None,
        guess: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return (ẏ, ż), the local state-space form (2.16) of Spencer 2004: DΨ⁻¹ f(Ψ(y, z)).

        Arguments as in `reduced_dynamics`. The acceleration is the one of `System.forward_dynamics` without contacts.
        """
        s, t = self.system, self._at(t)
        q, v = self.to_full(y, z, t, guess)
        own = np.concatenate([self._vector(y, self.names, "y"), self._vector(z, self.velocity_names, "z")])
        a = s.forward_dynamics(q, v, u, t, tau, contacts=False).a
        rate, change = self._split(self._relation.rates(Place(q, v, t), own, a))
        return read_only(rate), read_only(change)

    def reduced_dynamics(
        self,
        y: ArrayLike,
        ydot: ArrayLike,
        u: ArrayLike | None = None,
        t: float | None = None,
        tau: ArrayLike | None = None,
        guess: ArrayLike | None = None,
    ) -> Array:
        """Return ż (dof,), ÿ for z = ẏ, from Kᵀ M K ż = Kᵀ (F − M K̇ z), F = k + S u + τ − h (Spencer, before (2.43)).

        u (nu,) are controls, tau (nv,) is an applied force, ``guess`` as in `to_full`. Massless bodies are legal if
        Kᵀ M K is positive definite. Raises `SolveError` if it is not, and as `to_full` does. For a coupled relation it
        is the second part of `state_rate`.
        """
        if self.coupled:
            return self.state_rate(y, ydot, u, t, tau, guess)[1]
        s, t = self.system, self._at(t)
        q, v = self.to_full(y, ydot, t, guess)
        basis, drift = self.basis(q, v, t), self.basis_bias(q, v, t)
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

    # --- helpers ------------------------------------------------------------------------------------

    def _at(self, t: float | None) -> float:
        return self.time if t is None else t

    def _split(self, own: Array) -> tuple[Array, Array]:
        n = self._relation.count
        return own[:n], own[n:]

    def _vector(self, value: ArrayLike | None, names: tuple[str, ...], what: str) -> Array:
        size = len(names)
        array = np.zeros(size) if value is None else real_array(value)
        if array.shape != (size,) or not np.isfinite(array).all():
            raise ArgumentError(
                f"{self.system.name}: {what} must be {size} finite numbers ({', '.join(names)}), got {value!r}",
                element=what,
                valid=names,
            )
        return array

    def _place(self, q: ArrayLike, v: ArrayLike | None, t: float | None) -> Place:
        q = self.system.normalized(q)
        return Place(q, self.v0 if v is None else self.system.checked(v, self.system.nv, "v"), self._at(t))

    def _solve_own(self, x: Place) -> Array:
        """Return the (y, z) of the state x."""
        return self._relation.solve(x, self._own0, Place(self.q0, self.v0, self.time))

    def _require_split(self, what: str) -> None:
        if self.coupled:
            raise ArgumentError(
                f"{self.system.name}: {what} is for velocities only, and the relation of {', '.join(self.names)} and "
                f"{', '.join(self.velocity_names)} does not separate positions and velocities; use tangent",
                element="coordinates",
            )

    def _checked(self, q: ArrayLike, v: ArrayLike | None, t: float) -> tuple[Array, Array]:
        """Return q and v (default zero) as arrays, checked to satisfy the constraints."""
        s = self.system
        q = s.normalized(q)
        v = np.zeros(s.nv) if v is None else s.checked(v, s.nv, "v").copy()
        require_on_constraints(s, q, v, t)
        return q, v

    def _rows(self, slopes: Slopes) -> tuple[Array, Array]:
        """Return V = ∂R_v/∂v and G = ∂R_v/∂z."""
        n = self._relation.count
        return slopes.by_velocity[n:], slopes.by_own[n:, n:]

    def _close(self, q: Array, own: Array, t: float) -> Array | None:
        """Return the closed configuration near q with these y, or None if Newton's method does not contract."""
        s, relation, rank, n = self.system, self._relation, self.holonomic_rank, len(self.names)

        def correction(q: Array) -> tuple[Array, float]:
            x = Place(q, self.v0, t)
            slopes, jacobian = relation.slopes(x, own), s.constraint_jacobian(q, t=t)[: s.nh]
            found = relation.dependence(x, own)[0], relation.independence(x, own, (rank, self.rank))[0]
            condition = max(one.number for one in found)
            if not condition < WORST_COORDINATES:
                return np.full(s.nv, np.nan), condition
            left = -s.constraint_residual(q, t), -relation.residual(x, own)[:n]
            return solve_stacked(jacobian, slopes.by_place[:n], rank, *left), condition

        return newton(q, correction, s.move)

    def _close_state(self, x: Array, own: Array, t: float) -> Array | None:
        """Return the state on the constraints near x with these (y, z), or None if Newton's method does not
        contract."""
        s, relation, rank = self.system, self._relation, self.holonomic_rank + self.rank

        def correction(x: Array) -> tuple[Array, float]:
            place = Place(x[: s.nq], x[s.nq :], t)
            slopes, rows = relation.slopes(place, own), relation.constraint_rows(place)
            both = np.hstack([slopes.by_place, slopes.by_velocity])
            condition = stacked_condition(s, rows, both, rank)
            if not condition < WORST_COORDINATES:
                return np.full(2 * s.nv, np.nan), condition
            left = np.concatenate([s.constraint_residual(place.q, t), s.velocity_residual(*place)])
            return solve_stacked(rows, both, rank, -left, -relation.residual(place, own)), condition

        def move(x: Array, step: Array) -> Array:
            return np.concatenate([s.move(x[: s.nq], step[: s.nv]), x[s.nq :] + step[s.nv :]])

        return newton(x, correction, move)

    def _velocity(self, q: Array, own: Array, t: float) -> Array:
        """Return the admissible velocity at q with these z."""
        s, n = self.system, len(self.names)

        def correction(v: Array) -> tuple[Array, float]:
            x = Place(q, v, t)
            jacobian, rows = s.constraint_jacobian(*x), self._rows(self._relation.slopes(x, own))[0]
            condition = condition_number(s, jacobian, rows, self.rank)
            if not condition < WORST_COORDINATES:
                return np.full(s.nv, np.nan), condition
            left = -s.velocity_residual(*x), -self._relation.residual(x, own)[n:]
            return solve_stacked(jacobian, rows, self.rank, *left), condition

        v = newton(self.v0, correction)
        if v is None:
            raise SolveError(
                f"{s.name}: {', '.join(self.velocity_names)} with the rates {own[n:]} belong to no velocity near v0 "
                "that the constraints allow",
                element="ydot",
            )
        return v

    def _require(self, x: Place) -> None:
        """Raise `SolveError` if the coordinates fail at x."""
        condition = self.condition(*x)
        if not condition < WORST_COORDINATES:
            raise SolveError(
                f"{self.system.name}: {', '.join(self.names)} do not determine the motion at q = {x.q}: condition "
                f"number {condition:.3g}. {Status.COORDINATES_FAILED.remedy}",
                element="coordinates",
            )

    def _solve(self, x: Place, rows: Array, a: Array, b: Array) -> Array:
        """Return the solution of A x = a, V x = b at a state for rows V."""
        self._require(x)
        return solve_stacked(self.system.constraint_jacobian(*x), rows, self.rank, a, b)

    def _choose(self, coordinates: Coordinates) -> tuple[TracedRelation, Array]:
        """Return rows W at q0 as the relation y = W N(q0)⁺ (q − q0) + y0; with nonholonomic rows also z = W v."""
        s, e, q0 = self.system, self.system.equations, self.q0
        jacobian = s.constraint_jacobian(q0, self.v0, self.time)
        chosen, velocities = choose_both(s, coordinates, jacobian, self.holonomic_rank, self.rank)
        rate = np.column_stack([s.coordinate_rate(q0, e) for e in np.eye(s.nv)])
        rows = rows_of_rates(s, chosen.rows, rate)
        y0 = np.zeros(len(rows))
        for k, row in enumerate(rows):
            i = int(np.argmax(row))
            if np.allclose(row, np.eye(s.nq)[i], rtol=0.0, atol=KEPT_ENTRY):
                rows[k], y0[k] = np.eye(s.nq)[i], q0[i]
        y, z = ca.SX.sym("y", len(rows)), ca.SX.sym("z", len(velocities.rows))
        linear = ca.SX(ca.DM(rows)) @ (e.q - q0) + y0 - y
        speeds = None if chosen is velocities else ca.SX(ca.DM(velocities.rows)) @ e.v - z
        found = TracedRelation(s, chosen.names, velocities.names, ca.vertcat(y, z), linear, speeds)
        guess = np.concatenate([y0, dense.product(velocities.rows, self.v0)])
        return found, found.solve(Place(q0, self.v0, self.time), guess)

    def __repr__(self) -> str:
        return f"Parametrization({self.system.name!r}: {', '.join(self.names)})"


def solve_stacked(jacobian: Array, rows: Array, rank: int, a: Array, b: Array) -> Array:
    """Return x with A x = a (least squares, A cut to its rank) and V x = b (exactly)."""
    parts = at_rank(jacobian, rank)
    top = dense.product(parts.left.T, a).T / parts.kept
    return dense.solve(np.vstack([parts.right.T, rows]), np.concatenate([top.T, b]))
