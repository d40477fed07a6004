"""Actuator forces of least loss that produce a motion and keep contacts inside their friction cones.

    minimise uᵀWu    with P B u = P τ_c,  friction cones and pushing contacts,  u_min ≤ u ≤ u_max

a quadratically constrained quadratic program (QCQP), solved by the log-barrier method on the null space of PB. If the
limits allow no such u, `relaxed_distribution` trades the missing acceleration against the loss uᵀWu with the weight ρ.

Source: Aghili 2022, Optimal control of legged robots subject to friction cone constraints, sections 3.2 to 3.4 and
appendix 5. Its condition (13), R(P) ⊆ R(B), is sufficient for every motion to be possible, not necessary: PB needs
the rank of P, which a robot on legs has although nothing drives its trunk.
`sarrus.formulations.friction.friction_cones` and `sarrus.formulations.log_barrier` name its other slips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.numbers import positive_number
from sarrus.base.status import Answer, Status
from sarrus.formulations.friction.force_limits import Condition, Limits
from sarrus.formulations.friction.friction_cones import ConeInequality, ContactForces, contact_forces
from sarrus.formulations.friction.log_barrier import BarrierResult, Cone, log_barrier
from sarrus.formulations.friction.tolerances import CONFLICT_PART, COST_PRECISION
from sarrus.formulations.metric import Weighing, by_diagonal
from sarrus.formulations.problem import Array, as_array, is_symmetric
from sarrus.formulations.requirements import definite_root
from sarrus.formulations.tolerances import FORCE_MISSING, RANK_TOLERANCE


@dataclass(frozen=True, eq=False)
class ForceDistribution(Answer):
    """Actuator and contact forces; `optimal_distribution` and `relaxed_distribution` make it.

    Attributes
    ----------
    u : (nu,) actuator forces; where the limits leave none, those with the least violation.
    multipliers : (m,) λ under u, of least norm where rows are redundant.
    cost : uᵀWu, with ρ|d|² for the relaxed problem.
    gap : bound on how far the cost is above the optimum; 0 where no limit is active; NaN without a solution.
    disturbance : (n,) d = M̄⁻¹(P τ_c − P B u), the acceleration that is missing.
    iterations : Newton steps.
    violation : 0, or the least possible value of the largest violation: |λ_t| − μ λ_n of a contact [N], excess of u
        over a limit [N, N m], deficit of an inequality. Nearly zero where the limits touch each other: a feasible set
        without interior counts as none. Where equalities contradict each other, the norm of what is missing.
    violated : the limits in conflict, the one with the largest part first: "contact 2", "lower limit of actuator 0",
        "inequality 1", "tau_c", "equalities".
    forces : the map from u to λ.
    contacts : the conditions of the contacts.
    status : OK; NOT_ACHIEVABLE; INCONSISTENT (rows of A contradict each other, and u is that of the least-squares
        acceleration).
    """

    u: Array
    multipliers: Array
    cost: float
    gap: float
    disturbance: Array
    iterations: int
    violation: float
    violated: tuple[str, ...]
    status: Status
    forces: ContactForces = field(repr=False)
    contacts: tuple[ConeInequality, ...] = field(repr=False)


def optimal_distribution(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    B: ArrayLike,
    W: ArrayLike,
    tau_c: ArrayLike,
    contacts: Sequence[Sequence[int]],
    mu: ArrayLike,
    u_min: ArrayLike | None = None,
    u_max: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    inequalities: Condition | None = None,
    equalities: Condition | None = None,
    precision: float = COST_PRECISION,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> ForceDistribution:
    """Return the u of least uᵀWu that produces τ_c with contacts that push and stick, and actuators within limits.

    (Aghili 2022, eqs. (29), (30), (34), (35).) Unique where there is one. Where no limit is active, u is the
    weighted pseudo-inverse (PB)⁺ of τ_c. Redundant rows of A: the cones hold for the λ of least norm, see
    `sarrus.formulations.friction.friction_cones.cone_inequalities`. Singular and inconsistent rows: as for
    `sarrus.formulations.friction.friction_cones.contact_forces`.

    Parameters
    ----------
    M, h, A, gamma, B, tau : as for `sarrus.formulations.friction.friction_cones.contact_forces`.
    W : (nu, nu) symmetric positive definite, or (nu,) its diagonal; R/K_t² of the motors for their copper losses (eq.
        (26)).
    tau_c : (n,) generalized force that the actuators have to replace; only its potent part P τ_c counts.
    contacts, mu : as for `sarrus.formulations.friction.friction_cones.cone_inequalities`.
    u_min, u_max : (nu,) or number, u_min < u_max; infinite or None where there is no limit.
    inequalities : (Σ, s) with Σ λ ≥ s; Σ (j, m). Moments of the ground that keep a foot from tipping, for example.
    equalities : (Σ, s) with Σ λ = s: contact forces that are regulated.
    precision : of the cost, relative.
    throw : raise `SolveError` where there is no such u; else return the one with the least violation.
    metric, row_metric, tolerance, absolute_tolerance : as for
        `sarrus.formulations.projections.constraint_inertia.projection`.

    Raises
    ------
    ArgumentError
        Named: wrong shapes, W not positive definite, u_min not below u_max, bad contacts.
    SolveError
        No u within the limits; it names those in conflict. M not positive definite on the null space of A.
    """
    forces = contact_forces(M, h, A, gamma, B, tau, **weighing)
    limits = Limits.of(forces, contacts, mu, u_min, u_max, inequalities, equalities)
    unit = _unit_losses(W, len(forces.B.T))
    motion, wanted = _motion(forces, tau_c)
    E, e = limits.equalities
    limits = replace(limits, equalities=(np.vstack([motion, E]), np.concatenate([wanted, e])))
    found = _least(unit, limits, np.eye(len(unit)), np.zeros(len(unit)), 0.0, precision)
    result = _result(forces, limits, found, found.cost, tau_c)
    if result.violated == ("equalities",) and not _reachable(motion @ unit, wanted):
        result = replace(result, violated=("tau_c",))
    if throw and result.status is Status.NOT_ACHIEVABLE:
        raise SolveError(
            f"optimal_distribution: {_conflict(result)}. Reduce tau_c, raise a limit, or use relaxed_distribution, "
            "which relaxes tau_c",
            result=result,
        )
    return result


def relaxed_distribution(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    B: ArrayLike,
    W: ArrayLike,
    tau_c: ArrayLike,
    contacts: Sequence[Sequence[int]],
    mu: ArrayLike,
    u_min: ArrayLike | None = None,
    u_max: ArrayLike | None = None,
    *,
    rho: float,
    tau: ArrayLike | None = None,
    inequalities: Condition | None = None,
    equalities: Condition | None = None,
    precision: float = COST_PRECISION,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> ForceDistribution:
    """Return the u of least uᵀWu + ρ|d|² within the limits, d = M̄⁻¹(P τ_c − P B u) the acceleration that is missing.

    (Aghili 2022, eqs. (31)–(33): W′ = W + ρ BᵀP M̄⁻² P B.) d does not depend on ν; with a metric, |d| is the
    norm in it. As ρ grows, u tends to that of `optimal_distribution` where there is one, with d of the size of 1/ρ.

    ``rho`` is a positive number, of the unit of uᵀWu over that of |d|². The other parameters, solutions and errors are
    those of `optimal_distribution`; ``equalities`` are not relaxed.
    """
    rho = positive_number(rho, "rho")
    forces = contact_forces(M, h, A, gamma, B, tau, **weighing)
    limits = Limits.of(forces, contacts, mu, u_min, u_max, inequalities, equalities)
    unit = _unit_losses(W, len(forces.B.T))
    by_u, wanted = _accelerations(forces, tau_c)
    by_y = by_u @ unit
    quadratic, linear = np.eye(len(unit)) + rho * by_y.T @ by_y, -2.0 * rho * by_y.T @ wanted
    found = _least(unit, limits, quadratic, linear, rho * float(wanted @ wanted), precision)
    missing = wanted - by_u @ found.x
    losses = np.linalg.solve(unit, found.x)
    cost = float(losses @ losses + rho * missing @ missing)  # without the cancellation of found.cost
    result = _result(forces, limits, found, cost, tau_c)
    if throw and result.status is Status.NOT_ACHIEVABLE:
        raise SolveError(
            f"relaxed_distribution: {_conflict(result)}. Raise a limit or a coefficient of friction",
            result=result,
        )
    return result


def _result(
    forces: ContactForces, limits: Limits, found: BarrierResult, cost: float, tau_c: ArrayLike
) -> ForceDistribution:
    """Return the result of the barrier method as a `ForceDistribution`."""
    ranking = np.argsort(-found.shares)
    violated = tuple(limits.names[k] for k in ranking if found.shares[k] > CONFLICT_PART)
    if found.contradiction:
        violated = ("equalities",)
    by_u, wanted = _accelerations(forces, tau_c)
    return ForceDistribution(
        u=found.x,
        multipliers=forces.at(found.x),
        cost=cost,
        gap=found.gap,
        disturbance=forces.problem.inverse_root @ (wanted - by_u @ found.x),
        iterations=found.iterations,
        violation=found.contradiction or found.violation,
        violated=violated,
        status=Status.NOT_ACHIEVABLE if violated else forces.status,
        forces=forces,
        contacts=limits.contacts,
    )


def _motion(forces: ContactForces, tau_c: ArrayLike) -> tuple[Array, Array]:
    """Return ZᵀB and Zᵀτ_c, with Z a basis of the null space of A: P B u = P τ_c without its redundant rows."""
    p = forces.problem
    return p.basis.T @ forces.B, p.basis.T @ as_array(tau_c, (p.n,), "tau_c")


def _accelerations(forces: ContactForces, tau_c: ArrayLike) -> tuple[Array, Array]:
    """Return M̄⁻¹PB and M̄⁻¹Pτ_c, in the coordinates of the metric."""
    p = forces.problem
    force = p.inverse_root @ as_array(tau_c, (p.n,), "tau_c")
    to_acceleration = np.linalg.solve(forces.inertia, p.image.projector)
    return to_acceleration @ p.inverse_root @ forces.B, to_acceleration @ force


def _reachable(motion: Array, wanted: Array) -> bool:
    """Return whether the actuators can produce τ_c without limits."""
    u, *_ = np.linalg.lstsq(motion, wanted, rcond=RANK_TOLERANCE)
    return bool(np.linalg.norm(motion @ u - wanted) <= FORCE_MISSING * np.linalg.norm(wanted))


def _unit_losses(W: ArrayLike, size: int) -> Array:
    """Return T with TᵀWT = I, or raise `ArgumentError` where W is not symmetric and positive definite."""
    given = np.diag(as_array(W, (size,), "W")) if np.ndim(W) == 1 else as_array(W, (size, size), "W")
    scale, relative = by_diagonal(given)
    root = definite_root(relative) if is_symmetric(relative) else None
    if root is None:
        raise ArgumentError("W must be symmetric and positive definite", element="W")
    return np.linalg.inv(root).T / scale[:, None]


def _least(
    unit: Array, limits: Limits, quadratic: Array, linear: Array, constant: float, precision: float
) -> BarrierResult:
    """Minimise yᵀQy + cᵀy + constant over u = T y within the limits, whatever the units of u; return u as x."""
    F, f = limits.linear
    E, e = limits.equalities
    found = log_barrier(
        2.0 * quadratic,
        linear,
        constant,
        equalities=(E @ unit, e),
        linear=(F @ unit, f),
        cones=[Cone(cone.rows @ unit, cone.offset) for cone in limits.cones],
        precision=precision,
    )
    return replace(found, x=unit @ found.x)


def _conflict(result: ForceDistribution) -> str:
    """Return the limits in conflict, as the middle of a sentence."""
    if result.violated == ("tau_c",):
        return f"the actuators cannot produce tau_c, whatever the limits; {result.violation:.3g} is missing"
    if result.violated == ("equalities",):
        return f"the equalities contradict each other or the motion by {result.violation:.3g}"
    first, *others = result.violated
    together = f" with {', '.join(others)}" if others else ""
    return f"{first} cannot be respected{together}: the least possible violation is {result.violation:.3g}"
