"""Inverse dynamics of a constrained, partly actuated system."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import ACTUATORS_FALL_SHORT, Status
from sarrus.dynamics.closing.closed_state import what_is_open
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.rigidity import is_blocked
from sarrus.dynamics.contacts.contact_state import all_open, takes_part
from sarrus.dynamics.contacts.support_reactions import SupportReactions
from sarrus.dynamics.model.control_metric import control_norm
from sarrus.dynamics.results import InverseDynamics
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.support import support_load
from sarrus.dynamics.solve.tolerances import NO_SPLIT, REACHED_FORCES
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.linalg.ranked import Ranked, at_rank, rank_of, ranked


def inverse_dynamics(
    system: Workspace,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    t: float = 0.0,
    *,
    weights: ArrayLike | None = None,
    metric: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    contacts: bool = True,
    throw: bool = True,
) -> InverseDynamics:
    """Return actuator controls u and multipliers λ with M a + h = k + S u + τ + Aᵀλ + Jᵀ r.

    The constraints are eliminated with a basis Z of the null space of A, orthonormal in characteristic units
    (`sarrus.dynamics.model.characteristic`): Zᵀ S u = Zᵀ(M a + h − k − τ). λ is the minimum-norm one in these units, so
    redundant and singular rows are legal.

    Redundant actuators: u has the least norm uᵀ diag(weights) u, or the least norm in ``metric``
    (`sarrus.dynamics.model.control_metric.control_norm`); by default motors are scaled by their limits, or by their
    force in characteristic units, so that u does not depend on units. Too few actuators: u is the least-squares
    solution, status NOT_ACHIEVABLE (raised as `SolveError` unless ``throw`` is False). Joints without an actuator are
    passive. Actuator limits are not applied; ``saturated`` names the actuators beyond their limits, with which this u
    does not give this motion. Rigid (``a`` or v has a part that A allows and no motion has; everything at an isolated
    q): status RIGID, raised too; u then also resists these directions as far as the actuators can.

    Contacts with Coulomb friction, joint stops and dry friction exert the forces r, with exact laws: open or opening,
    r = 0; slipping or starting to slip, friction against the slip; sticking, any r in the cone. Velocities below 1e-8
    and accelerations below 1e-6 (relative, characteristic units) count as zero; accelerations of runs with
    method="moreau-jean" are means over steps and do not keep contacts closed to this precision. u is the least control
    for which admissible r exist, then r the least one, see
    `sarrus.dynamics.contacts.support_reactions.SupportReactions`. If no admissible r exists for any u: status
    INFEASIBLE, and ``contacts.reason`` names the contacts that would have to pull, or the friction needed; u and r
    then have the smallest residual. INCONSISTENT: v or a penetrates a plane. If all contacts are open and no joint
    has dry friction, ``result.contacts`` is None. ``contacts=False`` ignores all of them.

    Raises `ArgumentError` for q below a plane by more than 1e-5 lengths, and for activations of actuators, currents of
    windings included: their force is given by the state, and no u changes the acceleration.
    """
    system.require_no_activations("inverse dynamics")
    q = system.normalized(q)
    jacobian, acceleration = system.constraint_jacobian(q, v, t), system.checked(a, system.nv, "a")
    non_ideal = system.evaluate("non_ideal", q, v, t=t)["non_ideal"][:, 0]
    needed = _smooth_load(system, q, v, acceleration, t, tau) - non_ideal
    rank = constraint_rank(system, q, real_array(v), t, jacobian)
    size = system.characteristic
    rows = at_rank(size.scaled_rows(jacobian), rank)
    free = rows.null.T / size.columns
    actuation = system.actuation_matrix(q, v, t)
    norm = control_norm(system, weights, metric).at(actuation)
    root = np.sqrt(norm.weights)
    reach = ranked(free @ actuation / root, relative=REACHED_FORCES)
    carried: SupportReactions | None = None
    if takes_part(system, contacts) and not all_open(system, q, t):
        if norm.root is not None:
            raise ArgumentError(
                f"{system.name}: with contacts the norm of the controls must be given by weights, and this metric "
                "couples controls or leaves some open; give weights= or contacts=False",
                element="metric",
            )
        state = q, real_array(v), acceleration, t
        u, carried = support_load(system, state, free, needed, actuation, weights=norm.weights)
        needed = needed - carried.force
    else:
        u = _least(reach, norm.rows(actuation), root, free @ needed)
    missing = needed - actuation @ u
    residual = float(np.linalg.norm(free @ missing))
    multipliers = size.least_multipliers(jacobian, rank, missing)
    missed = jacobian @ acceleration + system.constraint_bias(q, v, t)
    if not data_of(system).exact:  # the digits of the data make dependent rows contradict each other
        missed = rows.left @ (rows.left.T @ (size.rows * missed)) / size.rows
    violation = float(np.linalg.norm(missed))
    scale = float(np.linalg.norm(acceleration)) * float(np.abs(jacobian).max(initial=0.0))
    reached = residual <= REACHED_FORCES * (1.0 + float(np.linalg.norm(needed)))
    if violation > data_of(system).closed(REACHED_FORCES) * (1.0 + scale):
        status = Status.INCONSISTENT
    elif carried is not None:
        status = carried.status if reached or not carried.status.ok else Status.ALMOST
    else:
        status = Status.OK if reached else Status.NOT_ACHIEVABLE
    status = _where_rigid(system, q, real_array(v), t, acceleration, status, missing, needed)
    if is_open := what_is_open(system, q, t):
        status = Status.NOT_CLOSED
    result = InverseDynamics(
        u=read_only(u),
        multipliers=read_only(multipliers),
        constraint_force=read_only(jacobian.T @ multipliers + non_ideal),
        residual=residual,
        acceleration_residual=violation,
        rank=rank,
        actuation_rank=reach.rank,
        saturated=system.saturated(q, v, u, t),
        status=status,
        contacts=carried,
    )
    if throw and status is not Status.OK:
        worst = violation if status is Status.INCONSISTENT else residual
        reason = ACTUATORS_FALL_SHORT if status is Status.NOT_ACHIEVABLE else status.diagnosis
        if carried is not None and carried.status is status:
            reason = carried.reason
        if is_open:
            raise status.error(system.name, is_open, result=result)
        raise status.error(system.name, f"{reason} (residual {worst:.3g})", result=result)
    return result


def _least(reach: Ranked, rows: Array | None, root: Array, load: Array) -> Array:
    """Return the u with reach · (root u) = load of least norm |rows u|; if several, the one with least |root u|."""
    scaled = reach.solve(load)
    if rows is not None:
        own = rows / root
        cut = REACHED_FORCES * float(np.linalg.norm(own))
        scaled = scaled - reach.null @ ranked(own @ reach.null, cut=cut).solve(own @ scaled)
    return np.asarray(scaled / root)


def _smooth_load(
    system: Workspace, q: Array, v: ArrayLike, a: Array, t: float, tau: ArrayLike | None
) -> Array:
    """Return M a + h − k − τ."""
    load = system.mass_matrix(q, t) @ a + system.bias_force(q, v, t) - system.passive_force(q, v, t)
    return load if tau is None else load - system.checked(tau, system.nv, "tau")


def _where_rigid(
    system: Workspace, q: Array, v: Array, t: float, a: Array, status: Status, missing: Array, needed: Array
) -> Status:
    """Return RIGID if v, a or the whole missing force is outside the finite motions; else ``status``."""
    motions = system.motions_left
    if motions is None:
        return status
    if is_blocked(system, q, v, t, a, motions):
        return Status.RIGID
    along = float(np.linalg.norm(motions.T @ missing))
    if status is Status.NOT_ACHIEVABLE and along <= REACHED_FORCES * (1.0 + float(np.linalg.norm(needed))):
        return Status.RIGID
    return status


def constraint_rank(system: Workspace, q: Array, v: Array, t: float, jacobian: Array) -> int:
    """Return the rank of A, at most the generic rank nearby, which is determined again if A has changed much."""
    generic, cut = generic_rank(system, q, t, v), system.options.singular_cut
    scale = system.settings().scale_of_rows
    rank = rank_of(jacobian, cut, scale)
    unlike = rank < generic or rank_of(jacobian, NO_SPLIT, scale) > generic
    if unlike or system.motions_left is not None:
        generic = generic_rank(system, q, t, v, renew=True)
        rank = rank_of(jacobian, cut, system.settings().scale_of_rows)
    return min(rank, generic)
