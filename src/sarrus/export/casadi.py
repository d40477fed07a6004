"""`system.to_casadi(name)`: the constrained dynamics as CasADi functions, for optimal control and estimation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.numbers import real_array
from sarrus.base.status import Status
from sarrus.control.quantities.quantities import quantity as traced_quantity
from sarrus.dynamics.closing.assembly import rank_analysis
from sarrus.dynamics.closing.manifold import closed_start
from sarrus.dynamics.coordinates.choices import PARTITION, Coordinates, choose
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.export.casadi_contacts import SymbolicPhase, contact_expressions, forces_as_inputs
from sarrus.export.topologies import switches_of, topologies
from sarrus.kernels.linalg.ranked import independent_rows, rank_of
from sarrus.symbolic.equations.elimination import direct_solution, live_rows, weighted
from sarrus.symbolic.equations.least_norm import Basis, LeastNorm
from sarrus.symbolic.equations.sparse import column_of, eliminate, matrix_of, rows_of
from sarrus.symbolic.multibody.model import body_placements

INDEPENDENT, FORCES = "independent", "forces"
# Largest number of switchable constraints in one function; with more the function holds for the present active set.
_MOST_SWITCHES = 6

# Quantities of the equations by name: the attribute of `Equations`, and the symbols in it.
_QUANTITIES = {
    "mass_matrix": ("mass_matrix", "qtp"),
    "bias_force": ("bias_force", "qvtp"),
    "passive_force": ("passive_force", "qvtp"),
    "actuation_matrix": ("actuation", "qvtp"),
    "constraint_residual": ("position_residual", "qtp"),
    "velocity_residual": ("velocity_residual", "qvtp"),
    "constraint_jacobian": ("jacobian", "qvtp"),
    "constraint_bias": ("constraint_bias", "qvtp"),
    "kinetic_energy": ("kinetic_energy", "qvtp"),
    "potential_energy": ("potential_energy", "qtp"),
    "rate": ("rate", "qvp"),
}
# Quantities of contacts, stops and dry friction: the attribute of `ContactExpressions`, and the symbols in it.
_CONTACTS = {
    "contact_gaps": ("gaps", "qtp"),
    "contact_jacobian": ("rows", "qtp"),
    "contact_velocity": ("rates", "qvtp"),
    "contact_bias": ("bias", "qvtp"),
}


def casadi_function(
    system: System,
    name: str,
    *,
    rows: Sequence[str] | str | None = None,
    coordinates: Coordinates = PARTITION,
    quantity: Any = None,
    contacts: Mapping[str, Any] | str | None = None,
    q: ArrayLike | None = None,
    t: float = 0.0,
) -> ca.Function:
    """Return a CasADi function of the system: differentiable, callable with numbers, SX and MX, serialisable.

    Inputs and outputs have names: ``f(q=q, v=v, u=u)["a"]``. Inputs come in the order (q, v, u, t, p); omitted named
    inputs are zero. p are the values of ``system.parameters``, in their order, empty without parameters. Quaternions in
    q must have length one: they are not normalized here.

    name : one of

    ===================== ================= ===================================================================
    name                  inputs            outputs
    ===================== ================= ===================================================================
    forward_dynamics      q, v, u, t, p     a (nv,), multipliers (nc,), constraint_force (nv,), rate q̇ (nq,)
    reduced_dynamics      q, ydot, u, t, p  yddot (dof,), v (nv,), a (nv,), rate q̇ (nq,)
    mass_matrix           q, t, p           M (nv × nv)
    bias_force            q, v, t, p        h (nv,)
    passive_force         q, v, t, p        k (nv,)
    actuation_matrix      q, v, t, p        S (nv × nu)
    inverse_dynamics      q, v, a,          M a + h − k − Aᵀλ (nv,): the force that S u must provide
                          multipliers, t, p
    constraint_residual   q, t, p           φ (nh,)
    velocity_residual     q, v, t, p        ψ (nc,)
    constraint_jacobian   q, v, t, p        A (nc × nv)
    constraint_bias       q, v, t, p        γ (nc,)
    kinetic_energy        q, v, t, p        T [J]
    potential_energy      q, t, p           V [J]
    rate                  q, v, p           N v (nq,): q̇ without activations
    body_placements       q, p              positions (nb × 3), rotations (3 nb × 3), one block for each body;
                                            q, t, p with driven bodies
    quantity              q, v, t, p        value (m,) and rate (m,) of a ``quantity``
    contact_gaps          q, t, p           gaps of contacts, ropes and flanks, then of stops [m, rad]
    contact_jacobian      q, t, p           J (m × nv): rows of all contacts, stops and dry friction
    contact_velocity      q, v, t, p        velocities of these rows (m,), J v without prescribed motions
    contact_bias          q, v, t, p        J̇ v (m,): J a + J̇ v are their accelerations
    ===================== ================= ===================================================================

    Contacts with Coulomb friction, ropes, limits of joints and dry friction of joints act as ``contacts`` says, because
    expressions are smooth and these are not. The m rows and forces are those of ``contact_row_names`` of trajectories:
    of a contact its normal row, then its tangents. By default their forces are left out.

    contacts="forces", with the solves and inverse_dynamics: the forces r (m,) on the mechanism are a further input
    ``forces``, after u or the multipliers. With gaps and rows this is what optimal control by complementarity needs.

    contacts={name: mode}, with forward_dynamics: the smooth phase in which these modes are held, such as
    ``forward_dynamics(...).contacts.modes``. Modes are "open" (default of contacts and stops), "sticking" (closed, and
    stops and ropes that carry) and "sliding"; each dry friction needs one. The friction of what slides is opposite to
    its slip, or to a given direction: ("sliding", d). A slip below 1e-8 has no direction: results are infinite or NaN.

    Further outputs in a phase: forces (m,), and what must not be negative as long as it lasts, each in the order of the
    elements: gaps of open ones; normals, the normal forces of closed ones; cones, (μ_s r_n)² − ‖r_t‖² of sticking
    ones, limit² − r² of dry friction; slips of sliding ones, ‖J_t v‖², or d·J_t v along a given direction. Where these
    hold, and what closes or sticks has no velocity, a is that of `System.forward_dynamics`. Where statics leaves
    forces open, give rows="independent": normal forces are then those on equal springs, other dependent forces zero.
    Where sliding contacts that share a load slide in different directions, a depends on the share; it is that of
    `System.forward_dynamics` if all of them push.

    The first two solve the constrained equations as straight-line expressions, without a rank decision:
    λ = (Â Âᵀ)⁻¹(−γ − Â f̂) after elimination of M, and Kᵀ M K ÿ = Kᵀ(f − M K̇ ẏ) for independent velocities ẏ. Their
    rows must be independent wherever the function is used. Full rank: the same answer as `System.forward_dynamics`.
    Redundant rows are an error that names them; ``rows`` omits them, which changes neither a nor Aᵀλ, but λ is zero in
    omitted rows instead of the minimum-norm λ. Structurally zero rows are omitted automatically. Singular: infinity or
    NaN at singular configurations, loss of digits near them. Massless bodies: "reduced_dynamics" only, if Kᵀ M K is
    positive definite. Inconsistent rows and open loops are not detected. The functions have no status: if products of
    the inputs overflow (speeds above 1e155), results are infinite or NaN; test them with `numpy.isfinite`.

    Switchable constraints follow p in "forward_dynamics": an inactive row has λ = 0, and rows="independent" chooses
    anew for each active set, for up to six switches. If the remaining rows are not as many independent ones as the
    rank, and in "reduced_dynamics" for every active set other than the present one, all results are infinite or NaN.

    Parameters
    ----------
    rows : names of the constraint rows kept in the solve; by default all; "independent" for a choice at q, which
        prefers early rows.
    coordinates : for "reduced_dynamics", names of independent coordinates or joints whose rates are ẏ, or "partition".
    contacts : "forces", or the mode of each contact, stop and dry friction by its name, see above.
    quantity : for "quantity", any quantity of a control task: `sarrus.control.singularity_measure`, `clearance`, a
        point, names of coordinates, … Bounded from below in optimal control, a singularity measure keeps motions away
        from singularities.
    q, t : closed configuration and time at which rows and coordinates are chosen; by default the reference pose with
        closed loops.

    Raises
    ------
    ArgumentError
        A name is unknown; rows are dependent or too few, with the names to drop or to add; M is singular; ``contacts``
        with contacts that MuJoCo's narrow phase finds, or with a function that does not take it.
    """
    check_is("casadi_function", system, System)
    known = (*_SOLVES, "inverse_dynamics", *_QUANTITIES, *_CONTACTS, "body_placements", "quantity")
    check_known("CasADi function", name, known, system.name)
    if contacts is not None:
        _require_contacts(system, name, contacts)
    if name in _CONTACTS:
        attribute, letters = _CONTACTS[name]
        return _function(
            name, _symbols(system, letters), {name: getattr(contact_expressions(system), attribute)}
        )
    if name == "inverse_dynamics":
        return _inverse(system, contacts == FORCES)
    if name in _QUANTITIES:
        attribute, letters = _QUANTITIES[name]
        return _function(name, _symbols(system, letters), {name: getattr(system.equations, attribute)})
    if name == "body_placements":
        return _placements(system)
    if name == "quantity":
        found = traced_quantity(system, quantity)
        return _function(name, _symbols(system, "qvtp"), {"value": found.value, "rate": found.rate})
    place = _Place(system, q, t)
    kept = place.rows(rows)
    if isinstance(contacts, Mapping):
        return _in_phase(system, place, kept, contacts, rows == INDEPENDENT)
    applied = _Applied(system, contacts == FORCES)
    if name == "forward_dynamics" and place.switches:
        return _switched(applied, *place.topology(rows, kept))
    return _SOLVES[name](applied, place, kept, coordinates)


def _refused(system: System, element: str, reason: str, valid: Sequence[str] = ()) -> ArgumentError:
    """Return the error about an argument that does not fit a system."""
    return ArgumentError(f"{system.name}: {reason}", element=element, valid=valid)


def _function(name: str, inputs: dict[str, ca.SX], outputs: dict[str, ca.SX]) -> ca.Function:
    """Return a function with named inputs and outputs; columns are dense."""
    values = [ca.densify(value) if value.is_column() else value for value in outputs.values()]
    return ca.Function(name, list(inputs.values()), values, list(inputs), list(outputs))


def _symbols(system: System, letters: str) -> dict[str, ca.SX]:
    return {letter: getattr(system.equations, letter) for letter in letters}


def _placements(system: System) -> ca.Function:
    mechanism, tree = system.mechanism, system.equations.tree
    if mechanism is None or tree is None:
        raise _refused(system, "mechanism", "only a system made from a Mechanism has bodies")
    flat = ca.vertsplit(body_placements(tree, mechanism.bodies, system.equations.q), 12)
    outputs = {
        "positions": ca.vertcat(*(place[:3].T for place in flat)),
        "rotations": ca.vertcat(*(ca.reshape(place[3:], 3, 3).T for place in flat)),
    }
    return _function("body_placements", _symbols(system, "qtp" if tree.driven else "qp"), outputs)


class _Place:
    """A closed configuration, and the rank and rows of A there."""

    def __init__(self, system: System, q: ArrayLike | None, t: float) -> None:
        self.system, self.t = system, t
        if q is not None:
            self.q = closed_start(system, real_array(q), t)
        else:
            closed = system.assemble(system.neutral(), t=t, throw=False)
            if closed.status is Status.NOT_CLOSED:
                reason = "the loops do not close from the reference pose; give a closed configuration, q="
                raise _refused(system, "q", reason)
            self.q = np.array(closed.q)
        self.jacobian = system.constraint_jacobian(self.q, t=t)
        self.rank = rank_analysis(system, self.q, t).rank
        self.switches = switches_of(system, system.equations.shaping_parameters)

    def rows(self, wanted: Sequence[str] | str | None) -> list[int]:
        """Return the indices of the rows to keep, independent at generic configurations."""
        names, live = self.system.constraint_names, live_rows(self.system.equations)
        if live is None:
            raise _refused(self.system, "rows", "a row of A is zero, but its γ is not")
        if isinstance(wanted, str):
            if wanted == INDEPENDENT:
                return self._independent(live)
            reason = f"rows must be {INDEPENDENT!r} or names of rows, got {wanted!r}"
            raise _refused(self.system, "rows", reason)
        kept = live
        if wanted is not None:
            for name in wanted:
                check_known("row", name, names, self.system.name)
            kept = sorted({names.index(name) for name in wanted})
        if len(kept) == self.rank and (wanted is None or rank_of(self.jacobian[kept]) == self.rank):
            return kept
        chosen = self._independent(live)
        extra = [names[j] for j in kept if j not in chosen]
        missing = [names[j] for j in chosen if j not in kept]
        advice = "; ".join(
            [f"drop {', '.join(extra)}"] * bool(extra) + [f"add {', '.join(missing)}"] * bool(missing)
        )
        right = [names[j] for j in chosen]
        reason = (
            f"{len(kept)} constraint rows are not {self.rank} independent ones, as this function needs: {advice}. "
            f"That is rows={right}, or rows={INDEPENDENT!r}"
        )
        raise _refused(self.system, "rows", reason, right)

    def topology(self, wanted: Sequence[str] | str | None, kept: list[int]) -> tuple[list[int], ca.SX, ca.SX]:
        """Return rows, a column (1 for a used row, 0 for an inactive or dependent one), and a number (1 if the used
        rows are as many as the rank, else 0); both are expressions of p.
        """
        system, nc, live = self.system, self.system.nc, live_rows(self.system.equations) or []
        if len(self.switches) > _MOST_SWITCHES:
            return kept, ca.SX.ones(len(kept)), self.as_now

        def look(work: Workspace, q: Array) -> tuple[float, ...]:
            jacobian, rank = work.constraint_jacobian(q, t=self.t), rank_analysis(work, q, self.t).rank
            holds = [j for j in (live if wanted == INDEPENDENT else kept) if jacobian[j].any()]
            if wanted == INDEPENDENT and rank_of(jacobian[holds]) == rank:
                holds = [holds[k] for k in independent_rows(jacobian[holds], rank)]
            good = len(holds) == rank == rank_of(jacobian[holds])
            return *(float(j in holds) for j in range(nc)), float(good)

        names = system.equations.shaping_parameters
        known = topologies(system, self.q, names, look, [0.0] * (nc + 1), 0, self.t)
        assert known is not None
        rows = [j for j in range(nc) if known.values[:, j].any()]
        counts = [self._chosen(known.values[:, j].tolist()) for j in rows]
        return rows, ca.vertcat(ca.SX(0, 1), *counts), self._chosen(known.values[:, nc].tolist())

    def _chosen(self, values: list[Any]) -> ca.SX:
        """Return the value for the active set in p; the first switch is the lowest bit of its index."""
        p = self.system.equations.p
        for index in self.switches:
            pairs = zip(values[::2], values[1::2])
            values = [
                off
                if isinstance(off, float) and isinstance(on, float) and off == on
                else ca.if_else(p[index] != 0.0, on, off)
                for off, on in pairs
            ]
        return ca.SX(values[0])

    @property
    def as_now(self) -> ca.SX:
        """1 if the active set in p is the present one, else 0."""
        p, now = self.system.equations.p, list(self.system.parameters.values())
        same = ca.SX(1.0)
        for index in self.switches:
            same *= ca.if_else(p[index] != 0.0, float(now[index] != 0.0), float(now[index] == 0.0))
        return same

    def _independent(self, live: list[int]) -> list[int]:
        here = rank_of(self.jacobian[live])
        if here < self.rank:
            reason = f"the configuration is singular (rank {here} here, {self.rank} nearby), so that rows cannot be "
            raise _refused(self.system, "q", reason + "chosen there; give another one, q=")
        return [live[j] for j in independent_rows(self.jacobian[live], self.rank)]


def _forces(system: System) -> ca.SX:
    """Return f in M a = f + Aᵀλ without an applied force."""
    e = system.equations
    return e.passive_force + e.input_force - e.bias_force + e.non_ideal


class _Applied:
    """A system with the symbols of contact forces as inputs, if ``with_forces``; ``force`` is f with them."""

    def __init__(self, system: System, with_forces: bool) -> None:
        self.system, self.inputs, self.force = system, dict[str, ca.SX](), _forces(system)
        if with_forces:
            self.inputs[FORCES], force = forces_as_inputs(system)
            self.force += force


def _require_contacts(system: System, name: str, contacts: Any) -> None:
    """Raise `ArgumentError` unless ``contacts`` fits the function ``name``."""
    phase = isinstance(contacts, Mapping)
    if not phase and contacts != FORCES:
        reason = f"contacts must be {FORCES!r} or modes by name, got {contacts!r}"
        raise _refused(system, "contacts", reason)
    takers = ("forward_dynamics",) if phase else (*_SOLVES, "inverse_dynamics")
    if name not in takers:
        what = "modes" if phase else repr(FORCES)
        raise _refused(
            system, "contacts", f"{name!r} takes no contacts={what}; {', '.join(takers)} do", takers
        )


def _inverse(system: System, with_forces: bool) -> ca.Function:
    """Return M a + h − k − Aᵀλ, and − Jᵀ r with contact forces as inputs."""
    e = system.equations
    a, multipliers = ca.SX.sym("a", e.nv), ca.SX.sym("multipliers", e.nc)
    inputs = _symbols(system, "qv") | {"a": a, "multipliers": multipliers}
    force = e.mass_matrix @ a + e.bias_force - e.passive_force - e.non_ideal - e.jacobian.T @ multipliers
    if with_forces:
        inputs[FORCES], pushed = forces_as_inputs(system)
        force -= pushed
    return _function("inverse_dynamics", inputs | _symbols(system, "tp"), {"force": force})


def _in_phase(
    system: System, place: _Place, kept: list[int], modes: Mapping[str, Any], choose: bool
) -> ca.Function:
    """Return the solve in the phase with these modes."""
    _require_definite(system)
    phase = SymbolicPhase(system, modes)
    rows = phase.independent(place.jacobian[kept], place.q, place.t, choose)
    outputs = phase.solved(weighted(system.equations, _forces(system) + phase.force), kept, rows)
    if place.switches:
        outputs = {name: value / place.as_now for name, value in outputs.items()}
    return _function(
        "forward_dynamics", _symbols(system, "qvutp"), outputs | phase.margins(outputs["forces"])
    )


def _require_definite(system: System) -> None:
    if system.compiled.mass_is_singular:
        reason = "M is singular; give every body a mass or an armature, or take 'reduced_dynamics'"
        raise _refused(system, "forward_dynamics", reason)


def _switched(applied: _Applied, kept: list[int], counts: ca.SX, good: ca.SX) -> ca.Function:
    """Return the solve with switchable rows: with D = diag(counts), (D Â Âᵀ D + 1 − D) λ = −D(γ + Â f̂)."""
    system = applied.system
    _require_definite(system)
    e = system.equations
    problem = weighted(e, applied.force)
    rows = ca.diag(counts) @ matrix_of([problem.rows[j] for j in kept], e.nv)
    force = column_of(problem.force, e.nv)
    gram = rows @ rows.T + ca.diag(1.0 - counts)
    right = -counts * (e.constraint_bias[kept] + matrix_of([problem.rows[j] for j in kept], e.nv) @ force)
    multipliers = ca.SX.zeros(e.nc)
    if kept:
        factor = eliminate(gram)
        (column,) = rows_of(right.T)
        multipliers[kept] = column_of(factor.solve(factor.solve_transposed(column)), len(kept))
    (along,) = rows_of((force + rows.T @ multipliers[kept]).T)
    outputs = {
        "a": column_of(problem.factor.solve(along), e.nv) / good,
        "multipliers": multipliers / good,
        "constraint_force": (e.jacobian.T @ multipliers + e.non_ideal) / good,
        "rate": e.whole_rate,
    }
    return _function("forward_dynamics", _inputs(applied, "qvu"), outputs)


def _inputs(applied: _Applied, letters: str) -> dict[str, ca.SX]:
    """Return the inputs of a solve: the symbols of the letters, contact forces, t and p."""
    return _symbols(applied.system, letters) | applied.inputs | _symbols(applied.system, "tp")


def _forward(applied: _Applied, place: _Place, kept: list[int], coordinates: Coordinates) -> ca.Function:
    system = applied.system
    _require_definite(system)
    e = system.equations
    problem = weighted(e, applied.force)
    solved = direct_solution(e, problem, LeastNorm(problem.rows, Basis(tuple(kept)), system.compiled.units))
    solved["constraint_force"] += e.non_ideal
    names = ("a", "multipliers", "constraint_force", "rate")
    return _function("forward_dynamics", _inputs(applied, "qvu"), {name: solved[name] for name in names})


def _reduced(applied: _Applied, place: _Place, kept: list[int], coordinates: Coordinates) -> ca.Function:
    """Return the solve in velocities ẏ = W v: K = (−A_d⁻¹ A_y, 1), A split into dependent and independent columns."""
    system = applied.system
    e = system.equations
    if ca.depends_on(e.jacobian, e.v):
        reason = "constraints that are not linear in the velocity leave no linear K; use 'forward_dynamics'"
        raise _refused(system, "reduced_dynamics", reason)
    own = list(choose(system, coordinates, place.jacobian, place.rank).indices)
    if len(own) != system.nv - place.rank:
        reason = f"coordinates must be 'partition' or names of velocities, got {coordinates!r}"
        raise _refused(system, "coordinates", reason, system.velocity_names)
    dependent = [i for i in range(system.nv) if i not in own]
    ydot = ca.SX.sym("ydot", len(own))
    order = np.argsort([*dependent, *own]).tolist()

    def whole(of_dependent: ca.SX, of_own: ca.SX) -> ca.SX:
        return ca.vertcat(of_dependent, of_own)[order, :]

    rows = e.jacobian[kept, :]
    drift = ca.substitute(e.velocity_residual[kept], e.v, ca.SX.zeros(e.nv))
    top = ca.horzcat(-rows[:, own], -drift)
    ratios = _solve(rows[:, dependent], top)
    basis = whole(ratios[:, :-1], ca.SX.eye(len(own)))
    v = whole(ratios[:, :-1] @ ydot + ratios[:, -1], ydot)
    force, bias, rate = ca.substitute([applied.force, e.constraint_bias[kept], e.whole_rate], [e.v], [v])
    bent = whole(_solve(rows[:, dependent], -bias), ca.SX.zeros(len(own)))
    mass = basis.T @ e.mass_matrix
    factor = eliminate(mass @ basis)  # positive definite: independent of the scales of its rows
    (right,) = rows_of((basis.T @ force - mass @ bent).T)
    yddot = column_of(factor.solve(factor.solve_transposed(right)), len(own))
    outputs = {"yddot": yddot, "v": v, "a": bent + basis @ yddot, "rate": rate}
    if place.switches:
        outputs = {name: value / place.as_now for name, value in outputs.items()}
    inputs = _symbols(system, "q") | {"ydot": ydot} | _inputs(applied, "u")
    return _function("reduced_dynamics", inputs, outputs)


def _solve(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Return matrix⁻¹ right by a sparse QR traced over the structural nonzeros."""
    return ca.solve(matrix, right) if matrix.shape[0] else right


_SOLVES: dict[str, Callable[[_Applied, _Place, list[int], Coordinates], ca.Function]] = {
    "forward_dynamics": _forward,
    "reduced_dynamics": _reduced,
}
