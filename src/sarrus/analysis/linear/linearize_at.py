"""`linearize_at`: the exact linear model at any state on the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.linear.in_relation import in_relation
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.outputs import output_matrix, rate_name
from sarrus.analysis.linear.reduction import Chart, Reduced, reduce
from sarrus.analysis.linear.tolerances import CANCELLED, NO_COORDINATE_RATE, ROWS_CONTRADICT
from sarrus.analysis.mobility.mobility import mobility
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError, check_is
from sarrus.base.status import Status
from sarrus.dynamics.closing.closed_state import require_on_constraints
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.contacts.contact_state import takes_part
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.coordinates.choices import (
    AUTOMATIC,
    PARTITION,
    Coordinates,
    IndependentVelocities,
    choose,
    rows_of_rates,
)
from sarrus.dynamics.coordinates.relation import Relation, extend, trace_relation
from sarrus.dynamics.coordinates.tolerances import WORST_COORDINATES
from sarrus.dynamics.model.activations import activations_of
from sarrus.dynamics.model.derivatives import Derivatives, derivatives
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.contact_phase import ContactPhase, phase_at, rubbing
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense


@described()
def linearize_at(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    *,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    coordinates: Coordinates | Relation = PARTITION,
    outputs: Sequence[str] | None = None,
    contacts: bool = True,
) -> LinearSystem:
    """Return the exact first-order `LinearSystem` at a state on the constraints, in independent coordinates.

    d/dt x = affine + A δx + B δu + E δt with x = (y, ẏ), followed by the activations of actuators (also currents of
    windings). y = W N(q0)⁺(q − q0) as in `sr.parametrize`, so that entries of y that are coordinates of the mechanism
    keep their meaning. Entries for a spherical joint, named after its velocities, are 2 vec(q0⁻¹ q), the rotation
    vector to first order, in axes of the child body; `sarrus.coordinates.RotationVector` gives the model in
    rotation vectors. Derivatives are exact (automatic differentiation of the equations at given a and λ, then one
    elimination). Spencer 2004, chapter 4 and appendix B; (B.5) there lacks a factor Kᵀ.

    Parameters
    ----------
    q, v, u : (nq,), (nv,), (nu,) the state; v and u default to zero.
    t : time [s]. tau : (nv,) applied generalized force, constant.
    coordinates : "partition", "tangent-space", "null-space" or names, as in
        `sarrus.dynamics.coordinates.choices.choose`. A `sarrus.coordinates.Relation` R(q, y) = 0 appends the
        coordinates y to the system, as in `sr.simulate`: the model is in y, and its q, v and ``system`` are those of
        the extended system. A relation with velocities, such as `sarrus.coordinates.Momenta`, does not
        extend the system: x = (y, z) has the names of y and z.
    outputs : names of coordinates and velocities of the mechanism, also dependent ones: "boom" is the coordinate,
        "boom.rate" its velocity. Default: the state.
    contacts : False leaves contacts with Coulomb friction, stops of joints and dry friction out. True: the model is
        that of the smooth phase that begins at the state, with the modes of `System.forward_dynamics` held. Closed
        contacts and stops stay closed and what sticks stays at its place, as a constraint does: these directions are
        no states. Rows of a contact that rolls are nonholonomic (at rest they hold the place too). Sliding contacts
        keep r_t = −μ r_n d, whose direction d and normal force follow the state; the dry friction of a sliding joint
        is constant. ``model.contacts`` has modes and forces, with the names of contacts on whose shares of the load the
        model depends although statics does not determine them (``ambiguous``; shares as in runs). At a border of
        modes (a closed contact without force, slip that begins, friction at its limit) derivatives are one-sided:
        `SolveError` with the name. Contacts between geometries without closed form keep the features that touch: a
        corner on a face, two edges, a rim or curved sides. Features at a border (a corner on an edge) are an error with
        the name, unless the two bodies do not move against each other.

    Redundant rows change nothing: λ is not unique, the model is. Rows that contradict each other by less than 1e-6 (as
    printed digits do) count as redundant. Massless bodies are allowed if M is positive definite on the motions that the
    constraints allow. With nonholonomic rows x = (y, η): there are more y than η, names choose η, and y are those of
    "partition". Eigenvalues do not depend on the coordinates at equilibria only.

    Raises
    ------
    ArgumentError
        q or v violate the constraints by more than 1e-5; names do not fit or do not determine the other coordinates.
    SolveError
        A border of modes, see ``contacts``; a contact closes with a velocity; no finite forces let a contact slide on;
        a contact is held and the coordinates are a relation; the configuration is singular (its rank, the rank nearby
        and the dependent closures are given); the constraints contradict each other; there is no acceleration.
    """
    check_is("linearize_at", system, System)
    acts, found = takes_part(system, contacts), None
    if isinstance(coordinates, Relation):
        if acts:
            found, tau = without_held(system, q, v, u, t, tau)
        if coordinates.has_velocities:
            system.require_no_activations("relations")
            model, reduced, a, rate = _linearize(system, q, v, u, t, tau, PARTITION, None, False)
            place = np.array(model.q), model.t, np.array(model.v)
            traced = trace_relation(system, coordinates, *place)
            return replace(in_relation(model, reduced, a, *traced, outputs, rate), contacts=found)
        system, q, v, tau, coordinates = extended(system, q, v, tau, coordinates, t)
        acts = False  # the extended system knows the mechanism's motions alone
    model = _linearize(system, q, v, u, t, tau, coordinates, outputs, acts)[0]
    return model if found is None else replace(model, contacts=found)


def _linearize(
    system: System, q: ArrayLike, v: ArrayLike | None, u: ArrayLike | None, t: float, tau: ArrayLike | None,
    coordinates: Coordinates, outputs: Sequence[str] | None, contacts: bool,
) -> tuple[LinearSystem, Reduced, Array, Array | None]:  # fmt: skip
    """Return (model in linear coordinates, its reduction, acceleration, N or None for the identity)."""
    x = on_constraints(system, q, v, u, t)
    if tau is not None:
        x[system.parts.tau] = system.checked(tau, system.nv, "tau")
    q, v = x[system.parts.q], x[system.parts.v]
    solved = system.forward_dynamics(q, v, x[system.parts.u], t, tau, contacts=contacts)
    if solved.status is not Status.OK:
        _refuse(system, solved, q, t)
    found = solved.contacts
    phase = phase_at(system, solved, x)
    d = derivatives(system, x, solved.a, solved.multipliers)
    whole = d if phase is None else phase.extended(d, solved.a)
    chart, chosen, velocities = _chart(system, coordinates, whole, solved.rank, phase)
    if max(chosen.condition, velocities.condition) > WORST_COORDINATES:
        _refuse(system, solved, q, t)
    factors = system.characteristic.rows if phase is None else phase.factors
    try:
        reduced = reduce(whole if data_of(system).exact else whole.times_rows(factors), chart, v)
    except np.linalg.LinAlgError:
        if phase is None:
            raise
        raise SolveError(
            f"{system.name}: no linear model: no finite forces let {', '.join(phase.names)} slide on",
            result=found,
        ) from None
    # what dependent rows gain along motions by digits alone tells nothing: the rank is that of forward dynamics
    if data_of(system).exact and _contradiction(system, x, solved, d, reduced, phase) > ROWS_CONTRADICT:
        _refuse(system, solved, q, t)
    if found is not None and phase is not None:
        names = phase.ambiguous(solved.a, reduced.left_null, reduced.unpushed, reduced.tangent)
        found = found.doubted(names)
    n, nu, w = reduced.tangent.shape[1], system.nu, activations_of(system, x)
    rates = dense.product(chart.rows, v), dense.product(velocities.rows, solved.a)
    if chart.own is None and d.rate2 is not None:
        rates = rates[0], dense.product(chart.coordinate_rows, d.rate2[:, 0])
    names = (*chosen.names, *(rate_name(name) for name in velocities.names))
    if outputs is None:
        output_names, c = (*names, *w.names), np.eye(n + len(w.names))
    else:
        output_names, c = output_matrix(system, outputs, reduced.tangent, d.rate_v)
        c = w.outputs(names, output_names, c)
    matrix = reduced.matrix
    by_state, by_control, by_activation = np.split(matrix[:, : n + nu + len(w.names)], [n, n + nu], axis=1)
    model = LinearSystem(
        A=read_only(w.states(np.hstack([by_state, by_activation]), reduced.tangent)),
        B=read_only(w.inputs(by_control)),
        C=read_only(c),
        D=read_only(np.zeros((len(c), nu))),
        E=read_only(w.times(matrix[:, -1], reduced.in_time)),
        affine=read_only(np.concatenate([*rates, w.rate])),
        names=(*names, *w.names),
        input_names=tuple(system.actuator_names),
        output_names=output_names,
        coordinates=chosen.names,
        velocities=velocities.names,
        coordinate_indices=chosen.indices,
        velocity_indices=velocities.indices,
        condition=max(chosen.condition, velocities.condition),
        multipliers=read_only(np.array(solved.multipliers)),
        rank=solved.rank,
        saturated=system.saturated(q, v, x[system.parts.u], t),
        tangent=read_only(w.beside(reduced.tangent)),
        q=read_only(np.array(q)),
        v=read_only(np.array(v)),
        u=read_only(x[system.parts.u].copy()),
        t=float(t),
        system=system,
        coordinate_rows=read_only(chart.coordinate_rows),
        velocity_rows=chart.own,
        tangent_rates=read_only(np.hstack([reduced.rates[:, :n], reduced.rates[:, n + nu : -1]])),
        at=partial(
            _beside,
            system,
            u=x[system.parts.u].copy(),
            t=t,
            contacts=contacts,
            held=phase is not None and len(phase.held) > 0,
        ),
        contacts=found,
    )
    return model, reduced, np.array(solved.a), d.rate_v


def _beside(
    system: System, q: Array, v: Array, *, u: Array, t: float, contacts: bool, held: bool
) -> LinearSystem:
    """Return the model at a state nearby; `SolveError` if contacts are held, which it may not close."""
    if held:
        raise SolveError(
            f"{system.name}: contacts are closed at this state, and need not be at states nearby"
        )
    return linearize_at(system, q, v, u, t=t, contacts=contacts)


def without_held(
    system: System, q: ArrayLike, v: ArrayLike | None, u: ArrayLike | None, t: float, tau: ArrayLike | None
) -> tuple[ContactForces | None, Array]:
    """Return the forces of contacts, and τ with the friction of joints that slide.

    Raises `SolveError` if contacts, stops or dry friction hold rows, of which relations know nothing.
    """
    x = on_constraints(system, q, v, u, t)
    q, v = x[system.parts.q], x[system.parts.v]
    force = np.zeros(system.nv) if tau is None else system.checked(tau, system.nv, "tau")
    solved = system.forward_dynamics(q, v, x[system.parts.u], t, force)
    phase = phase_at(system, solved, x)
    if phase is not None and phase.rubs.any():
        raise SolveError(
            f"{system.name}: the dry friction of {', '.join(phase.names)} turns with the tendon, which coordinates by "
            "a relation do not know. Give names of coordinates",
            element="coordinates",
        )
    if phase is not None:
        raise SolveError(
            f"{system.name}: a relation gives coordinates of all motions of the mechanism, and "
            f"{', '.join(phase.names)} leave fewer. Give names of coordinates",
            element="coordinates",
        )
    found = solved.contacts
    return found, force if found is None else force + rubbing(system, found)


def extended(
    system: System, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None, coordinates: Relation, t: float
) -> tuple[System, Array, Array, Array | None, tuple[str, ...]]:
    """Return (system with the coordinates of a relation, q, v, force, names of the coordinates)."""
    force = None if tau is None else system.checked(tau, system.nv, "tau")
    larger, q0, v0 = extend(system, q, v, t, relation=coordinates)
    if force is not None:
        force = np.concatenate([force, np.zeros(larger.nv - system.nv)])
    return larger, q0, v0, force, coordinates.names


def on_constraints(system: System, q: ArrayLike, v: ArrayLike | None, u: ArrayLike | None, t: float) -> Array:
    """Return x = [q | v | u | t | p | τ] of a state; raises `ArgumentError` if it violates the constraints."""
    x = system.pack(q, v, u, t)
    require_on_constraints(system, x[system.parts.q], x[system.parts.v], t)
    return x


def _chart(
    system: System, coordinates: Coordinates, d: Derivatives, rank: int, phase: ContactPhase | None
) -> tuple[Chart, IndependentVelocities, IndependentVelocities]:
    """Return the choice of y and η at a state with the rows of ``d``, those of A at ``rank``."""
    nh, factors, holonomic_rank, own = system.nh, None, rank, None
    if system.nc > nh:
        holonomic_rank = min(int(system.workspace().table.holonomic_rank), rank)
    if phase is not None:
        rank, holonomic_rank = phase.ranks(rank, holonomic_rank)
        nh, factors = nh + int(phase.placed.sum()), phase.factors
    velocities = chosen = choose(system, coordinates, d.jacobian, rank, factors)
    if len(d.jacobian) > nh:
        own = velocities.rows
        automatic = coordinates if isinstance(coordinates, str) and coordinates in AUTOMATIC else PARTITION
        part = None if factors is None else factors[:nh]
        chosen = choose(system, automatic, d.jacobian[:nh], holonomic_rank, part)
    in_q = chosen.rows
    if d.rate_v is not None:
        in_q = rows_of_rates(system, chosen.rows, d.rate_v)
        in_q[np.abs(in_q) < NO_COORDINATE_RATE] = 0.0
    return Chart(chosen.rows, in_q, own, holonomic_rank, rank, nh), chosen, velocities


def _contradiction(
    system: System,
    x: Array,
    solved: ForwardDynamics,
    d: Derivatives,
    reduced: Reduced,
    phase: ContactPhase | None,
) -> float:
    """Return the relative change of uᵀA along the motions, for a combination of rows with uᵀA = 0.

    Kᵀ ∂(Aᵀu)/∂q K = 0 if the rows are dependent nearby too; then the choice of λ does not matter.
    """
    if reduced.left_null.shape[1] == 0:
        return 0.0
    weights = np.array(np.random.default_rng(7).uniform(0.5, 1.5, reduced.left_null.shape[1]))
    combination = dense.product(reduced.left_null, weights)

    def change_with(more: Array) -> Array:
        own, forces = (more, None) if phase is None else phase.split(more, friction=False)
        change = derivatives(system, x, solved.a, solved.multipliers + own).force_q - d.force_q
        if phase is not None and forces is not None:
            change -= phase.state.tangent(solved.a, forces)["force_q"]
        return change[:, : system.nv]

    change, typical = change_with(combination), change_with(np.abs(combination))
    count = reduced.tangent.shape[1] - reduced.unpushed.shape[1]
    ways, motions = reduced.tangent[: system.nv, :count], reduced.tangent[system.nv :, count:]
    rows = np.linalg.norm(d.jacobian) * np.linalg.norm(combination)
    largest = max(np.linalg.norm(change), CANCELLED * (np.linalg.norm(typical) + rows))
    size = float(largest * np.linalg.norm(ways) * np.linalg.norm(motions))
    return float(np.linalg.norm(motions.T @ change @ ways)) / size if size > 0.0 else 0.0


def _refuse(system: System, solved: ForwardDynamics, q: Array, t: float) -> NoReturn:
    """Raise the error that explains why there is no linear model at q."""
    if solved.status is Status.INCONSISTENT:
        raise solved.status.error(system.name, result=solved)
    here = mobility(system, q, t, contacts=False)
    closures = ", ".join(map(repr, here.singular_closures))
    dependent = f"; the rows of {closures} become dependent" if closures else ""
    branches = "; ".join(f"({k}) {text}" for k, text in enumerate(here.branch_descriptions, start=1))
    meeting = f"Branches that meet here, in velocities: {branches}. " if branches else ""
    kind = "a singular configuration"
    advice = "Motions do not form a smooth surface here; linearize beside it, on the branch you mean"
    if Status.RIGID in (here.status, solved.status):
        kind, advice = f"a rigid configuration ({Status.RIGID.diagnosis})", Status.RIGID.remedy
    if here.status is Status.RIGID:
        meeting = "No motion goes on from here, the velocities are infinitesimal. "
    nearby = max(here.generic_rank, solved.rank, generic_rank(system.workspace(), q, t))
    raise SolveError(
        f"{system.name}: no linear model at {kind}: the constraints have rank {here.rank} here and "
        f"{nearby} nearby{dependent}. {meeting}{advice}",
        result=here,
        element=here.singular_closures[0] if here.singular_closures else None,
    )
