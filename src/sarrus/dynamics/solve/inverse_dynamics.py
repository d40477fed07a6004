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
from sarrus.dynamics.contacts.contact_state import all_open, contact_state, takes_part
from sarrus.dynamics.contacts.support_reactions import CarriedLoad
from sarrus.dynamics.model.control_metric import control_norm
from sarrus.dynamics.results import InverseDynamics
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.support import carry
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

    The constraints are projected out with a basis Z of the null space of A, orthonormal in characteristic units
    (`sarrus.dynamics.model.characteristic`), in which λ is the shortest too, so redundant and singular rows are
    ordinary: Zᵀ S u = Zᵀ(M a + h − k − τ). Where the actuators are redundant, u is the least one: in the norm uᵀ
    diag(weights) u, or in a ``metric``, see `sarrus.dynamics.model.control_metric.control_norm`; by default motors
    are compared by their limits, or by what they exert in characteristic units, so that u does not depend on units of
    measurement. Where they cannot produce the motion, u is the least-squares answer and the status NOT_ACHIEVABLE
    (raised as `SolveError` unless ``throw`` is False). Passive joints are those no actuator acts on. Limits of the
    actuators are left aside here; the result names those that would act (``saturated``), so that this u does not give
    this motion. Rigid (``a`` or v point where A leaves velocities that no motion has, and anything at an isolated q):
    status RIGID, raised as well; u is then what holds these directions too, as far as the actuators can.

    Contacts with Coulomb friction, stops of joints and dry friction have the forces r, with exact laws: what is open or
    opens has none, what slides or begins to has its friction against the slip, what sticks any within its cone. Zero
    are velocities below 1e-8 and accelerations below 1e-6, relative in characteristic units: those of runs with
    method="moreau-jean" are means over steps and do not keep contacts closed to that. u is the least with which
    such r exist, then r is the least, see `sarrus.dynamics.contacts.support_reactions.CarriedLoad`. Where they do not
    exist no u gives this motion: status INFEASIBLE, and ``contacts.reason`` names what would have to pull, or how
    much friction it takes; u and r are those that miss it least. INCONSISTENT where v or a go into a plane. Where
    nothing is closed and there is no dry friction, ``result.contacts`` is None. q below a plane by more than 1e-5
    lengths is an `ArgumentError`, and so are contacts between geometries without closed form, which runs alone know;
    ``contacts=False`` leaves all of them out. So are activations of actuators, currents of motors with inductance
    among them: with these no u gives an acceleration, for the force is that of the state.
    """
    system.without_activations("inverse dynamics")
    q = system.normalized(q)
    jacobian, acceleration = system.constraint_jacobian(q, v, t), system.checked(a, system.nv, "a")
    non_ideal = system.evaluate("non_ideal", q, v, t=t)["non_ideal"][:, 0]
    needed = _smooth_load(system, q, v, acceleration, t, tau) - non_ideal
    rank = constraint_rank(system, q, real_array(v), t, jacobian)
    size = system.characteristic
    rows = at_rank(size.even(jacobian), rank)
    free = rows.null.T / size.columns
    actuation = system.actuation_matrix(q, v, t)
    norm = control_norm(system, weights, metric).at(actuation)
    root = np.sqrt(norm.weights)
    reach = ranked(free @ actuation / root, relative=REACHED_FORCES)
    carried: CarriedLoad | None = None
    if takes_part(system, contacts) and not all_open(system, q, t):
        state = contact_state(system, q, real_array(v), acceleration, t)
        if norm.root is not None:
            raise ArgumentError(
                f"{system.name}: with contacts the norm of the controls must be one of weights, and this metric "
                "couples controls or leaves some open; give weights= or contacts=False",
                element="metric",
            )
        u, carried = carry(system, state, free, needed, actuation, weights=norm.weights)
        needed = needed - carried.force
    else:
        u = _least(reach, norm.rows(actuation), root, free @ needed)
    missing = needed - actuation @ u
    residual = float(np.linalg.norm(free @ missing))
    multipliers = size.least_multipliers(jacobian, rank, missing)
    missed = jacobian @ acceleration + system.constraint_bias(q, v, t)
    if not data_of(system).exact:  # what dependent rows say besides is of the digits
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
    """Return the u with reach · (root u) = load of least norm |rows u|, and of these that of least |root u|."""
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
    """Return RIGID where v, a or all that is missing point out of the motions that there are; else the status."""
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
    """Return the rank of A, at most the one nearby, which is found again where A is unlike it."""
    generic, cut = generic_rank(system, q, t, v), system.options.singular_cut
    scale = system.settings().scale_of_rows
    rank = rank_of(jacobian, cut, scale)
    unlike = rank < generic or rank_of(jacobian, NO_SPLIT, scale) > generic
    if unlike or system.motions_left is not None:
        generic = generic_rank(system, q, t, v, renew=True)
        rank = rank_of(jacobian, cut, system.settings().scale_of_rows)
    return min(rank, generic)
