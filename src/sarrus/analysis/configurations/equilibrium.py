"""Equilibrium: configurations at rest, the inputs that hold a configuration, stiffness and stability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from sarrus.analysis.configurations.equilibrium_search import EquilibriumSearch
from sarrus.analysis.configurations.tolerances import ACTIVATION_AT_REST, HOLDING_WEIGHT, LEAST_SQUARES_END
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.closed_state import require_rest
from sarrus.dynamics.closing.manifold import closed_start
from sarrus.dynamics.closing.rigidity import look
from sarrus.dynamics.contacts.contact_state import all_between, between_stops, takes_part
from sarrus.dynamics.contacts.support_reactions import SupportReactions
from sarrus.dynamics.model.activations import activations_of
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.control_metric import default_weights
from sarrus.dynamics.model.joint_limits import sides_beyond, warn_beyond
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.model.mechanism.elements import Winding


@dataclass(frozen=True, eq=False)
class Equilibrium(Answer):
    """A configuration at rest.

    Attributes
    ----------
    q, u : (nq,), (nu,) configuration and inputs.
    multipliers : (nc,) λ of least norm, as in `ForwardDynamics`, with k + S u − h + τ + Aᵀλ = 0; ``determined`` marks
        the unique components.
    residual : norm of Zᵀ(k + S u − h + τ), zero at rest [N, N m].
    motions : (nv, dof) orthonormal basis Z of the motions that A, and contacts with a load, allow.
    stiffness : (dof, dof) Zᵀ(∂²V − Σ λ_j ∂²φ_j)Z with u and τ constant: the restoring force of a small motion, with the
        curvature of the constraints [N/m, N m/rad].
    eigenvalues : (dof,) of the stiffness, by real part; complex if follower forces make the stiffness unsymmetric.
    stable : True if all eigenvalues are positive, False if one is negative, None if the stiffness does not decide: a
        zero eigenvalue (``neutral`` counts them), a singular configuration, no rest. For an unsymmetric stiffness the
        eigenvalues of M⁻¹K count, which must be real as well (no flutter without damping).
    iterations : number of steps.
    contacts : forces of contacts with Coulomb friction, stops and dry friction if these act; else None.
    status : OK; SINGULAR (at rest, and the rank drops here); INFEASIBLE (the laws of contact allow no rest;
        ``contacts.reason`` says why); RIGID (q is isolated and rests under any load; ``residual`` is the force along
        velocities of A that no finite multipliers balance); NOT_ACHIEVABLE (no equilibrium found, or no inputs hold q).
    """

    q: Array
    u: Array
    multipliers: Array
    determined: np.ndarray
    residual: float
    motions: Array
    stiffness: Array
    eigenvalues: np.ndarray
    stable: bool | None
    neutral: int
    iterations: int
    status: Status
    contacts: SupportReactions | None = None

    @property
    def dof(self) -> int:
        """Number of motions that A, and contacts with a load, allow."""
        return int(self.motions.shape[1])


@described()
def equilibrium(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    hold: bool = False,
    stable: bool = False,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    within_limits: bool = True,
    contacts: bool = True,
    throw: bool = True,
) -> Equilibrium:
    """Return an `Equilibrium` near q for given inputs, or (``hold=True``) the inputs that hold q.

    At rest v = 0 and k + S u − h + τ + Aᵀλ = 0, so Zᵀ(k + S u − h + τ) = 0 with Z a basis of the null space of A.

    - Given u: Newton's method in the tangent space with the exact stiffness, with steps that reduce the residual,
      each followed by closing the loops. It finds a nearby equilibrium, stable or not. If it stagnates, and from
      the start with ``stable=True``, a descent follows the forces in steps with positive work and leaves saddles
      along their unstable direction, until the stiffness is positive.
    - ``hold``: q is kept; u has minimum norm, as in `System.inverse_dynamics`, within the actuators' limits unless
      ``within_limits`` is False.

    Contacts with Coulomb friction, stops of joints and dry friction are included if there are any. A coordinate that
    starts beyond its limit may return but goes no further out (`LimitWarning`). With stops alone, the equilibrium
    without them is the answer if it lies between the stops. Otherwise:

    - At rest k + S u − h + τ + Aᵀλ + Jᵀ r = 0 with contact forces r within their laws: r_n ≥ 0, r = 0 at open
      contacts, ‖r_t‖ ≤ μ r_n with the static coefficient. q rests if such r exist; whether a motion ends there
      depends on its history, as for a wedge that may be tight or loose. If r is not unique the least one in
      characteristic units is returned, see `sarrus.dynamics.contacts.support_reactions.SupportReactions`.
    - Given u: q itself if it rests; else the end of a slow motion that follows the forces, with friction, without
      penetration. Contacts with a load end with a gap of zero.
    - ``hold``: q is kept; u is the least one for which contact forces exist. Without actuators the result has the
      contact forces of the pose.
    - Stability is that of the motions which keep loaded contacts closed, and sticking if friction is within its
      limit (``contacts.friction_needed`` < 1); rolling contacts may roll, frictionless ones slide. None if friction
      is at its limit, or if closed contacts without force decide.

    Parameters
    ----------
    q : (nq,) start; loops open by up to 1e-5 [m, rad] are closed first, wider ones are an `ArgumentError`. Contacts
        that are open or penetrate by up to 1e-5 characteristic lengths are closed.
    u : (nu,) inputs, default zero; not with ``hold``. tau : (nv,) applied generalized force, constant.
    hold, stable, within_limits : see above.
    t : time [s] of forces and constraints that depend on it.
    contacts : False leaves contacts, stops and dry friction out. Contacts between geometries without closed form are
        found anew at each configuration.
    throw : raise `SolveError` for NOT_ACHIEVABLE and INFEASIBLE; its ``result`` is the best answer found.

    Redundant rows: λ has least norm. Rigid: the force is balanced along the finite motions; status RIGID if a force
    along other velocities of A remains, and at an isolated q. Singular: the force must vanish along every velocity that
    A allows here; status SINGULAR, ``stable`` None. Constraints that prescribe a motion (ψ ≠ 0 at v = 0) allow no rest:
    `SolveError`. With nonholonomic rows equilibria form surfaces; the nearest point is returned, with the stiffness
    along the allowed velocities.
    """
    check_is("equilibrium", system, System)
    if hold and (u is not None or stable):
        raise ArgumentError(
            f"{system.name}: hold=True computes u for the given q; leave u and stable out", element="hold"
        )
    with_contacts = takes_part(system, contacts)
    if with_contacts and between_stops(system) is not None and (system.nu or not hold):
        free = equilibrium(
            system, q, u, hold=hold, stable=stable, t=t, tau=tau, within_limits=within_limits, contacts=False,
            throw=False,
        )  # fmt: skip
        if (hold or free.status is not Status.NOT_ACHIEVABLE) and all_between(system, free.q):
            return _answer(system, free, hold, False, throw)
    if hold and system.nu == 0 and not with_contacts:
        raise ArgumentError(
            f"{system.name} has no actuators to hold it: add one with add_actuator, or leave hold out",
            element="hold",
        )
    if hold:
        system.require_no_activations("inputs that hold a place")
    place = _start(system, closed_start(system, real_array(q), t), u)
    rest = EquilibriumSearch(system, u, tau, t, place, with_contacts)
    rest.motions = look(system, place, t).motions
    require_rest(system, place, t)
    iterations = 0
    if rest.resting is not None:
        if beyond := sides_beyond(system, place):
            warn_beyond(system.name, beyond, stacklevel=2)
        place = rest.resting.contact(place)
    if hold:
        rest.limited = False  # the search for u is linear in it
        rest.u = _holding(rest, place, within_limits)
        rest.limited = within_limits
    elif rest.resting is not None:
        place, iterations = rest.settle(place, stable)
    elif not rest.is_isolated:
        place, iterations = rest.find(place, stable)
    return _answer(system, _describe(rest, place, iterations), hold, with_contacts, throw)


def _answer(system: System, result: Equilibrium, hold: bool, with_contacts: bool, throw: bool) -> Equilibrium:
    """Return the result, or raise `SolveError` if it is no equilibrium and ``throw`` is True."""
    if throw and result.status in (Status.NOT_ACHIEVABLE, Status.INFEASIBLE):
        what = "the actuators cannot hold it" if hold and system.nu else "no equilibrium found"
        if hold and with_contacts:
            what = "no contact forces and inputs hold it here"
        why = result.contacts.reason if result.contacts is not None else ""
        raise SolveError(
            f"{system.name}: {what}; a generalized force of {result.residual:.3g} remains along the motions"
            f"{f': {why}' if why else ''}",
            result=result,
        )
    return result


def _start(system: System, q: Array, u: ArrayLike | None) -> Array:
    """Return q with actuator activations at rest: a filter at its control, an integrator unchanged if its control is
    zero.

    The current of a winding is u / R, or the current limit of its drive.
    """
    e = system.equations
    if e.drift is None:
        return q
    x = system.pack(q, None, u)
    for _ in range(2):  # ẇ is linear in w within its limits
        now = activations_of(system, x)
        falls = np.diag(now.by_state)
        x[e.activation_places] -= np.divide(now.rate, falls, out=np.zeros_like(falls), where=falls != 0.0)
    for actuator in system.mechanism.actuators.values() if system.mechanism else ():
        if isinstance(actuator.activation, Winding) and actuator.activation.limits is not None:
            place = e.coordinate_names.index(actuator.activation_name)
            x[place] = np.clip(x[place], *actuator.activation.limits)
    moves = activations_of(system, x).moving(x[e.activation_places], ACTIVATION_AT_REST)
    if moves is not None:
        raise SolveError(
            f"{system.name}: activation {moves!r} changes under these inputs, so there is no equilibrium",
            element=moves,
        )
    return x[: e.nq]


def _describe(rest: EquilibriumSearch, q: Array, iterations: int) -> Equilibrium:
    """Return the `Equilibrium` at q, with its stability."""
    here = rest.balance(q)
    found, status = rest.stability(q, here), rest.status(q, here)
    return Equilibrium(
        q=read_only(q),
        u=read_only(rest.u.copy()),
        multipliers=read_only(here.multipliers),
        determined=here.determined,
        residual=here.residual,
        motions=read_only(here.motions.copy()),
        stiffness=read_only(found.stiffness),
        eigenvalues=found.eigenvalues,
        stable=found.stable if status is Status.OK else None,
        neutral=found.neutral,
        iterations=iterations,
        status=status,
        contacts=None if here.carried is None else here.carried.load,
    )


def _holding(rest: EquilibriumSearch, q: Array, within_limits: bool) -> Array:
    """Return inputs (nu,) of minimum norm (`default_weights`) with the least residual force, within limits."""
    bounds = control_bounds(rest.system) if within_limits else np.array([[-np.inf], [np.inf]])
    if rest.resting is not None:
        return rest.resting.inputs(q, rest.cut, control_bounds(rest.system) if within_limits else None)
    here = rest.balance(q)
    reach = here.motions.T @ rest.system.actuation_matrix(q, t=rest.t)
    root = np.sqrt(default_weights(rest.system))
    u = ranked(reach / root, relative=FINE_RANK_CUT).solve(-here.left) / root
    if np.all(u >= bounds[0]) and np.all(u <= bounds[1]):
        return np.asarray(u)
    bounds, reach = bounds * root, reach / root
    weight = HOLDING_WEIGHT / max(float(np.abs(reach).max(initial=0.0)), LEAST_DIVISOR)
    stacked = np.vstack([weight * reach, np.eye(len(u))])
    target = np.concatenate([-weight * here.left, np.zeros(len(u))])
    return np.asarray(
        lsq_linear(stacked, target, bounds=bounds, method="bvls", tol=LEAST_SQUARES_END).x / root
    )
