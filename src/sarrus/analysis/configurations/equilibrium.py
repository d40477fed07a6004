"""Equilibrium: where a mechanism rests, the inputs that hold it, and whether it stays there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from sarrus.analysis.configurations.equilibrium_search import Rest
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
from sarrus.dynamics.contacts.support_reactions import CarriedLoad
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
    q, u : (nq,), (nu,) the configuration and the inputs that act.
    multipliers : (nc,) λ of least norm, as in `ForwardDynamics`, with k + S u − h + τ + Aᵀλ = 0; ``determined`` says
        which are unique.
    residual : norm of the generalized force left along the motions, zero at rest [N, N m].
    motions : (nv × dof) orthonormal basis Z of the motions that A allows, and contacts that carry.
    stiffness : (dof × dof) Zᵀ(∂²V − Σ λ_j ∂²φ_j)Z with u and τ held constant: the force that a small motion
        meets, curvature of the constraints included [N/m, N m/rad].
    eigenvalues : (dof,) of the stiffness, by real part; may be complex where follower forces make it unsymmetric.
    stable : True where all eigenvalues are positive, False where one is negative, None where stiffness does not
        tell: a zero eigenvalue (``neutral`` counts them), a singular configuration, no rest.
        For an unsymmetric stiffness those of M⁻¹K count, which must be real as well (no flutter without damping).
    iterations : steps taken.
    contacts : forces of contacts with Coulomb friction, stops and dry friction where they act, else None.
    status : OK; SINGULAR (at rest, where the rank drops); INFEASIBLE (the laws of contacts allow no rest, and
        ``contacts.reason`` says why); RIGID (q is isolated and rests whatever acts; ``residual`` is
        the force along the velocities of A that no finite multipliers hold); NOT_ACHIEVABLE (no place of rest found,
        or no inputs hold q).
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
    contacts: CarriedLoad | None = None

    @property
    def dof(self) -> int:
        """Number of motions that A allows, and what carries it."""
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
    """Find a place of rest near q for given inputs, or (``hold``) the inputs that keep q at rest.

    Rest is v = 0 with k + S u − h + τ + Aᵀλ = 0, so that no force is left along the motions: Zᵀ(k + S u − h + τ)
    = 0 with Z spanning the kernel of A.

    - Given u: Newton's method in the tangent space with the exact stiffness, steps that leave less force, each
      followed by closing the loops. It finds the place of rest that is near, stable or not; where it gets
      stuck, and from the start with ``stable``, a descent goes where the forces push, in steps in which they do
      work, and leaves saddles along their unstable direction, until the stiffness is positive.
    - ``hold``: q stays, u is of minimum norm, as in `System.inverse_dynamics`, within the actuators' limits unless
      ``within_limits`` is False.

    Contacts with Coulomb friction, stops of joints and dry friction take part where there are any. A coordinate that
    begins beyond its limit may come back and goes no further out, a `LimitWarning`. Where there are stops alone, the
    place of rest found without them is the answer if it lies between them. Else:

    - Rest is then k + S u − h + τ + Aᵀλ + Jᵀ r = 0 with contact forces r within their laws: r_n ≥ 0, nothing from what
      is open, ‖r_t‖ ≤ μ r_n with the static coefficient. Where such r exist q rests; whether it comes to rest there
      depends on how it came, as for a wedge that may be tight or loose. Of several r the least in characteristic units
      is taken, see `sarrus.dynamics.contacts.support_reactions.CarriedLoad`.
    - Given u: q itself, if it rests; else where it comes to rest when it goes where the forces push, slowly, with
      friction, and without going through planes. Contacts that carry end with a gap of zero.
    - ``hold``: q stays; of the u with which contact forces exist the least is taken. Without actuators these are the
      forces of the pose.
    - Stability is that of the motions that are left while contacts that carry stay closed, and stick where friction is
      within its limit (``contacts.friction_needed`` < 1); what rolls may roll, what has no friction slides. None where
      friction is at its limit, or where closed contacts without force decide.

    Parameters
    ----------
    q : (nq,) start; loops open by up to 1e-5 are closed first, by more are an `ArgumentError`. Contacts that are open
        or deep by up to 1e-5 lengths are closed.
    u : (nu,) inputs, default zero; not with ``hold``. tau : (nv,) applied generalized force, held constant.
    t : time [s], for forces and constraints that depend on it, held fixed.
    contacts : whether contacts, stops and dry friction act, where there are any. Those between geometries without
        closed form, which runs alone know, are an `ArgumentError`, unless False leaves all of them out.
    throw : raise `SolveError` for NOT_ACHIEVABLE and INFEASIBLE; its ``result`` holds the best answer found.

    Redundant rows are ordinary; λ is of minimum norm. Rigid: force is balanced along the motions that there are; where
    some is left along other velocities of A the status is RIGID, and at an isolated q, which rests there. Singular:
    the force must vanish along every motion that A allows here; status SINGULAR, ``stable`` None. Constraints that
    move at rest (ψ ≠ 0 at v = 0) allow no rest: `SolveError`. With nonholonomic rows the places of rest form
    surfaces, of which the nearest point is found, and the stiffness is that along the allowed velocities.
    """
    check_is("equilibrium", system, System)
    if hold and (u is not None or stable):
        raise ArgumentError(
            f"{system.name}: hold=True finds u for the given q; leave out u and stable", element="hold"
        )
    touching = takes_part(system, contacts)
    if touching and between_stops(system) is not None and (system.nu or not hold):
        free = equilibrium(
            system, q, u, hold=hold, stable=stable, t=t, tau=tau, within_limits=within_limits, contacts=False,
            throw=False,
        )  # fmt: skip
        if (hold or free.status is not Status.NOT_ACHIEVABLE) and all_between(system, free.q):
            return _answer(system, free, hold, False, throw)
    if hold and system.nu == 0 and not touching:
        raise ArgumentError(f"{system.name} has no actuators to hold it; add_actuator", element="hold")
    if hold:
        system.without_activations("inputs that hold a place")
    place = _start(system, closed_start(system, real_array(q), t), u)
    rest = Rest(system, u, tau, t, place, touching)
    rest.motions = look(system, place, t).motions
    require_rest(system, place, t)
    iterations = 0
    if rest.resting is not None:
        if beyond := sides_beyond(system, place):
            warn_beyond(system.name, beyond, stacklevel=2)
        place = rest.resting.touch(place)
    if hold:
        rest.limited = False  # the search for u is linear in it
        rest.u = _holding(rest, place, within_limits)
        rest.limited = within_limits
    elif rest.resting is not None:
        place, iterations = rest.settle(place, stable)
    elif not rest.is_isolated:
        place, iterations = rest.find(place, stable)
    return _answer(system, _describe(rest, place, iterations), hold, touching, throw)


def _answer(system: System, result: Equilibrium, hold: bool, touching: bool, throw: bool) -> Equilibrium:
    """Return the answer, or raise where it is none and ``throw`` asks for it."""
    if throw and result.status in (Status.NOT_ACHIEVABLE, Status.INFEASIBLE):
        what = "the actuators cannot hold it" if hold and system.nu else "no place of rest found"
        if hold and touching:
            what = "nothing holds it here"
        why = result.contacts.reason if result.contacts is not None else ""
        raise SolveError(
            f"{system.name}: {what}; a force of {result.residual:.3g} is left along the motions"
            f"{f': {why}' if why else ''}",
            result=result,
        )
    return result


def _start(system: System, q: Array, u: ArrayLike | None) -> Array:
    """Return q with activations at rest: a filter's is its control, an integrator's stays, if its control is zero.

    The current of a winding is u / R, or the limit that its drive holds it at.
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
            f"{system.name}: {moves!r} moves under these inputs, so nothing is at rest", element=moves
        )
    return x[: e.nq]


def _describe(rest: Rest, q: Array, iterations: int) -> Equilibrium:
    """Return the answer at q with its stability."""
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


def _holding(rest: Rest, q: Array, within_limits: bool) -> Array:
    """Return inputs of minimum norm (`default_weights`) that leave the least force along the motions, within limits."""
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
