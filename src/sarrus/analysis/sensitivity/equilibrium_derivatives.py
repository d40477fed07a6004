"""Derivatives of an equilibrium, and of the eigenvalues of its linear model, with respect to the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.sensitivity.parameters import Columns, chosen_parameters
from sarrus.analysis.sensitivity.tolerances import DEFECTIVE, EIGENVALUES_APART, ROWS_FOLLOW, VERIFIED
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError, check_is
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.model.derivatives import RowTerms, Terms, residual_force, row_terms, terms, variables
from sarrus.dynamics.solve.contact_phase import ContactPhase, phase_at
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


@dataclass(frozen=True, eq=False)
class EquilibriumSensitivity:
    """Derivatives of an equilibrium with respect to parameters and inputs, with the constraints kept closed.

    Attributes
    ----------
    dq, dq_du : (nq, np), (nq, nu) derivative of the coordinates; quaternions keep unit length.
    along, along_du : (nv, np), (nv, nu) the same along velocities, q ⊕ along δp.
    constraint_force : (nv, np) derivative of Aᵀλ, which is unique even if λ is not; with the forces Jᵀr of contacts,
        stops and dry friction.
    q, u : the equilibrium. names, parameter_names, input_names : of rows and columns.
    """

    dq: Array
    dq_du: Array
    along: Array
    along_du: Array
    constraint_force: Array
    q: Array
    u: Array
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    input_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class EigenvalueSensitivity:
    """Eigenvalues s of the linear model at an equilibrium and their total derivatives; the equilibrium moves with p.

    Attributes
    ----------
    eigenvalues : (n,) complex [1/s], slowest first.
    ds : (n, np) complex, ds/dp; NaN for eigenvalues that are not simple.
    simple : (n,) False for repeated and nearly repeated eigenvalues, which split with the square root of the parameter,
        or depend on the direction, and have no derivative.
    condition : (n,) condition number of each eigenvalue, infinite for defective ones.
    mode_shapes : (nv, n) complex mode shapes of the mechanism.
    equilibrium : derivatives of the equilibrium.
    """

    eigenvalues: np.ndarray
    ds: np.ndarray
    simple: np.ndarray
    condition: Array
    mode_shapes: np.ndarray
    equilibrium: EquilibriumSensitivity
    parameter_names: tuple[str, ...]

    @property
    def natural_frequencies(self) -> Array:
        """Natural frequencies |s| (n,) [rad/s]."""
        return np.abs(self.eigenvalues)

    @property
    def natural_frequency_derivatives(self) -> Array:
        """d|s|/dp (n, np)."""
        return np.asarray(
            (self.eigenvalues.conj()[:, None] * self.ds).real / self.natural_frequencies[:, None]
        )


def equilibrium_derivatives(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    parameters: Sequence[str] | None = None,
) -> EquilibriumSensitivity:
    """Return the `EquilibriumSensitivity` of an equilibrium q under inputs u, by the implicit function theorem.

    At an equilibrium Zᵀf(q, p) = 0 with f = k + S u − h + τ, and φ(q, p) = 0; both are differentiated exactly. With
    redundant rows λ is not unique, the result is. With nonholonomic rows equilibria form a surface, and the derivative
    is the shortest way to the next one. Closed contacts and stops remain closed and what sticks remains at its place,
    as with closures (`sr.linearize`); coefficients of friction and limits are no parameters. Activations of actuators
    follow their controls, and currents of windings u / R; at a limit they are constant.

    Parameters
    ----------
    q, u : as `sr.equilibrium` returns them. t, tau : as in `sr.equilibrium`.
    parameters : names from ``system.parameters``; default: all except switches.

    Raises
    ------
    ArgumentError
        q is no equilibrium, or a name is unknown.
    SolveError
        A border of modes (see `sr.linearize_at`); a parameter moves a contact that rolls on a curved surface, whose new
        place is not known; the configuration is singular; the stiffness is singular, so that the equilibrium is not
        isolated; redundant rows cannot follow a parameter, which is named; an activation integrates its control and has
        no equilibrium.
    """
    check_is("equilibrium_derivatives", system, System)
    return _Rest(system, q, u, t, tau, parameters).sensitivity()


def eigenvalue_derivatives(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    parameters: Sequence[str] | None = None,
) -> EigenvalueSensitivity:
    """Return the `EigenvalueSensitivity` at an equilibrium: eigenvalues of `sr.linearize` and total derivatives.

    Arguments and errors are those of `equilibrium_derivatives`. With Q(s) = Zᵀ(M s² + D s + K)Z and its left and right
    null vectors w and x, ds/dp = −wᵀ dQ x / wᵀQ′x (Lancaster 1964), where dQ includes the change of the equilibrium, of
    λ and of Z, by one more pass of automatic differentiation. Redundant rows change nothing. With nonholonomic rows,
    zeros that belong to the surface of equilibria are left out.
    """
    check_is("eigenvalue_derivatives", system, System)
    system.require_no_activations("derivatives of eigenvalues")
    rest = _Rest(system, q, u, t, tau, parameters)
    if rest.phase is not None:
        name = rest.phase.names[0]
        raise SolveError(
            f"{system.name}: derivatives of eigenvalues do not know {name!r}, which is closed or sticks here; make it "
            "a constraint (a closure, or a contact with friction='stick'), or take differences of sr.linearize",
            element=name,
        )
    follows = rest.sensitivity()
    columns, z = rest.columns, rest.rows.null
    mass = z.T @ rest.terms.mass @ z
    damping = z.T @ rest.terms.force[:, columns.v] @ z
    stiffness = z.T @ rest.stiffness @ z
    dof = z.shape[1]
    companion = np.block(
        [[np.zeros((dof, dof)), np.eye(dof)], [-np.linalg.solve(mass, np.hstack([stiffness, damping]))]]
    )
    s, left, right = scipy.linalg.eig(companion, left=True, right=True)
    order = np.lexsort((s.imag, s.real, np.round(np.abs(s), 12)))
    s, left, right = s[order], left[:, order].conj(), right[:, order]
    overlap = np.abs((left * right).sum(axis=0))
    condition = 1.0 / np.maximum(overlap, LEAST_DIVISOR)
    size = float(np.abs(s).max(initial=0.0))
    apart = np.array([np.abs(np.delete(s, k) - s[k]).min(initial=np.inf) for k in range(len(s))])
    simple = (apart > EIGENVALUES_APART * size) & (condition < DEFECTIVE)
    ds = np.full((len(s), len(follows.parameter_names)), complex(np.nan, np.nan))
    for k in np.flatnonzero(simple):
        w = np.linalg.solve(mass.T.astype(complex), left[dof:, k])
        x = right[:dof, k]
        slope = w @ (2.0 * s[k] * mass + damping) @ x
        ds[k] = -rest.change_of_pencil(s[k], z @ w, z @ x) / slope
    shapes = z @ right[:dof]
    largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(len(s))]
    return EigenvalueSensitivity(
        eigenvalues=s,
        ds=ds,
        simple=simple,
        condition=condition,
        mode_shapes=shapes / np.where(largest != 0.0, largest, 1.0),
        equilibrium=follows,
        parameter_names=follows.parameter_names,
    )


class _Rest:
    """An equilibrium with its derivatives: with respect to q along velocities, to u and to the parameters."""

    def __init__(
        self,
        system: System,
        q: ArrayLike,
        u: ArrayLike | None,
        t: float,
        tau: ArrayLike | None,
        parameters: Sequence[str] | None,
    ) -> None:
        self.system, self.columns = system, Columns.of(system)
        self.names, self.places = chosen_parameters(system, parameters)
        model = linearize(system, q, u, t=t, tau=tau)
        self.x = system.pack(model.q, None, model.u, t)
        if tau is not None:
            self.x[system.parts.tau] = system.checked(tau, system.nv, "tau")
        self.multipliers, self.phase = np.asarray(model.multipliers), None
        if model.contacts is not None:
            still = np.zeros(system.nv)
            solved = system.forward_dynamics(model.q, still, model.u, t, tau)
            self.phase = phase_at(system, solved, self.x)
        self.forces = np.zeros(0) if self.phase is None else self.phase.forces
        self.terms = self._terms(self.multipliers, self.forces)
        self.row_terms: RowTerms = row_terms(system, self.x, np.zeros(system.nv), np.zeros(system.nc))
        self.jacobian, self.position, nh, rank = (
            self.terms.jacobian,
            self.row_terms.position,
            system.nh,
            model.rank,
        )
        if self.phase is not None:
            self.jacobian, self.position = self._with_contacts(self.phase)
            nh, rank = nh + int(self.phase.placed.sum()), self.phase.ranks(rank, rank)[0]
        self.rows = at_rank(self.jacobian, rank)
        ways = len(model.coordinates)
        self.holonomic = self.jacobian[:nh]
        self.closing = at_rank(self.holonomic, system.nv - ways)
        self.stiffness = self.terms.force[:, self.columns.q] @ self.row_terms.basis

    def _with_contacts(self, phase: ContactPhase) -> tuple[Array, Array]:
        """Return the rows that hold in the phase, and the derivatives by z of the positions that they hold."""
        system, order, by = self.system, phase.order, phase.scales[:, None]
        slopes = phase.state.slopes(np.ones(system.nv), phase.forces)
        for k in phase.without_place:
            moved = np.abs(slopes.forward[k, self.columns.p]) + np.abs(slopes.position[k, self.columns.p])
            for name, place in zip(self.names, self.places):
                if moved[place] > 0.0:
                    raise SolveError(
                        f"{system.name}: {name!r} moves a contact that rolls on a surface, whose new place is not "
                        "known: no derivative by it",
                        element=name,
                    )
        jacobian = np.vstack([self.terms.jacobian, by * phase.rows[phase.held]])[order]
        return jacobian, np.vstack([self.row_terms.position, by * slopes.position[phase.held]])

    def _terms(self, multipliers: Array, forces: Array) -> Terms:
        """Return the derivatives at the equilibrium, where activations follow u and the parameters.

        ``forces`` are those of contacts, stops and dry friction, all rows.
        """
        system, d = self.system, terms(self.system, self.x, np.zeros(self.system.nv), multipliers)
        if self.phase is not None:
            d = replace(d, force=d.force - self.phase.state.slopes(forces=forces).backward)
        self.settled = _settled(system, d, self.columns)
        activations = slice(system.nq - len(self.settled), system.nq)
        if not len(self.settled):
            return d
        return replace(d, force=d.force + d.force[:, activations] @ self.settled)

    @property
    def chosen(self) -> Array:
        """Columns of z of the chosen parameters, then those of u."""
        c = self.columns
        return np.array([*(c.p.start + k for k in self.places), *range(c.u.start, c.u.stop)], dtype=np.int64)

    @cached_property
    def along(self) -> Array:
        """Derivative of q along velocities with respect to the parameters and u (nv, np + nu)."""
        found = self._followed(self.terms)
        if self.rows.left_null.shape[1]:
            self._verify(found)
        return found

    def sensitivity(self) -> EquilibriumSensitivity:
        """Return the derivatives of the equilibrium."""
        system, n, basis = self.system, len(self.names), self.row_terms.basis
        along = self.along
        free = self._terms(np.zeros(system.nc), np.zeros(len(self.forces)))  # without those of rows
        force = free.force[:, self.columns.q] @ basis @ along + free.force[:, self.chosen]
        moved = basis @ along
        moved[system.nq - len(self.settled) :] = self.settled[:, self.chosen]
        return EquilibriumSensitivity(
            dq=read_only(moved[:, :n].copy()),
            dq_du=read_only(moved[:, n:].copy()),
            along=read_only(along[:, :n].copy()),
            along_du=read_only(along[:, n:].copy()),
            constraint_force=read_only(force[:, :n].copy()),
            q=read_only(self.x[system.parts.q].copy()),
            u=read_only(self.x[system.parts.u].copy()),
            coordinate_names=tuple(system.coordinate_names),
            velocity_names=tuple(system.velocity_names),
            parameter_names=self.names,
            input_names=tuple(system.actuator_names),
        )

    def _followed(self, d: Terms) -> Array:
        system, z = self.system, self.rows.null
        opened = self.position[:, self.chosen]
        closing = -self.closing.inverse @ opened
        left = np.linalg.norm(self.holonomic @ closing + opened, axis=0)
        if np.any(left > ROWS_FOLLOW * (1.0 + np.linalg.norm(opened, axis=0))):
            worst = int(left.argmax())
            name = self.names[worst]
            raise SolveError(
                f"{system.name}: the redundant constraints cannot follow {name!r}: they would open. Let {name!r} drive "
                "all numbers that must change together",
                element=name,
            )
        by_way = d.force[:, self.columns.q] @ self.row_terms.basis
        stiffness = z.T @ by_way @ self.closing.null
        push = z.T @ (by_way @ closing + d.force[:, self.chosen])
        rows = ranked(stiffness, relative=FINE_RANK_CUT)
        if rows.rank < len(rows.values):
            raise SolveError(
                f"{system.name}: the equilibrium is not isolated, as a motion has zero stiffness: no derivative"
            )
        return np.asarray(closing - self.closing.null @ rows.solve(push))

    def _verify(self, found: Array) -> None:
        """Raise `SolveError` if another λ of the same force gives another result: rows that are redundant at this state
        only.
        """
        rng = np.random.default_rng(7)
        unseen = self.rows.left_null @ rng.uniform(0.5, 1.5, self.rows.left_null.shape[1])
        size = max(1.0, float(np.linalg.norm(self.multipliers)), float(np.abs(self.forces).max(initial=0.0)))
        more, forces = (unseen, self.forces) if self.phase is None else self.phase.split(unseen)
        if self.phase is not None:
            forces = self.forces + size * forces
        other = self._followed(self._terms(self.multipliers + size * more, forces))
        gap = np.abs(other - found).max(axis=0, initial=0.0)
        if np.any(gap > VERIFIED * (1.0 + np.abs(found).max(axis=0, initial=0.0))):
            worst = [*self.names, *self.system.actuator_names][int(gap.argmax())]
            raise SolveError(
                f"{self.system.name}: rows that are redundant here are independent nearby along {worst!r}, so the "
                "equilibrium has no derivative",
                element=worst,
            )

    def change_of_pencil(self, s: complex, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return wᵀ dQ x (np,) for the parameters, with the changes of the equilibrium, of λ and of the constraints."""
        system, n = self.system, len(self.names)
        along, d = self.along[:, :n], self.terms
        columns, basis = self.columns, self.row_terms.basis
        chosen = self.chosen[:n]
        multipliers = self.rows.inverse.T @ (self.stiffness @ along + d.force[:, chosen])
        at_s = s**2 * d.mass + s * d.force[:, columns.v] + self.stiffness
        mu, nu = self.rows.inverse.T @ (at_s @ x), -self.rows.inverse.T @ (at_s.T @ w)
        native = system.compiled.named(
            "pencil",
            self._pencil,
            {"multipliers": system.nc, "w": system.nv, "nu": system.nc, "x0": system.nv, "x1": system.nv,
             "x2": system.nv, "mu": system.nc},
        )  # fmt: skip
        total = np.zeros(native.n_out, dtype=complex)
        for unit_left, part in ((1.0, np.real), (1j, np.imag)):
            for unit_right, other in ((1.0, np.real), (1j, np.imag)):
                given = [part(w), part(nu), *(other(y) for y in (x, s * x, s**2 * x, mu))]
                total += unit_left * unit_right * native(np.concatenate([self.x, self.multipliers, *given]))
        flat = native.parts(total)
        by_z = flat["by_z"][:, 0]
        return np.asarray(
            by_z[columns.q] @ basis @ along + by_z[chosen] + flat["by_multipliers"][:, 0] @ multipliers
        )

    def _pencil(
        self, multipliers: ca.SX, w: ca.SX, nu: ca.SX, x0: ca.SX, x1: ca.SX, x2: ca.SX, mu: ca.SX
    ) -> dict[str, ca.SX]:
        """Return the derivatives of wᵀ(M x2 + D x1 + K x0 − Aᵀμ) + νᵀA x0 with respect to z and λ."""
        e = self.system.equations
        force = residual_force(self.system, ca.SX.zeros(e.nv), multipliers)
        basis = ca.jacobian(e.rate, e.v)
        moved = e.mass_matrix @ x2 + ca.jtimes(force, e.v, x1) + ca.jtimes(force, e.q, basis @ x0)
        scalar = ca.dot(w, moved)
        if e.nc:
            scalar += ca.dot(nu, e.jacobian @ x0) - ca.dot(e.jacobian @ w, mu)
        return {
            "by_z": ca.gradient(scalar, variables(self.system)),
            "by_multipliers": ca.gradient(scalar, multipliers) if e.nc else ca.SX(0, 1),
        }


def _settled(system: System, d: Terms, columns: Columns) -> Array:
    """Return the derivatives of activations at rest with respect to u and the parameters (nw, nz); zero at limits."""
    count = system.equations.activations
    out = np.zeros((count, columns.p.stop))
    for k, place in enumerate(range(system.nq - count, system.nq)):
        own, given = d.rate[place, place], d.rate[place, columns.u.start :]
        if own == 0.0 and given.any():
            name = system.coordinate_names[place]
            raise SolveError(
                f"{system.name}: activation {name!r} integrates its control, so its equilibrium has no derivative",
                element=name,
            )
        if own != 0.0:
            out[k, columns.u.start :] = -given / own
    return out
