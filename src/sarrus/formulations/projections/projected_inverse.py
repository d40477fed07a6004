"""Projected inverse dynamics: the smallest force, or actuator torque, for a motion of a constrained mechanism.

Only the component of a force in the tangent space moves the mechanism: P f = P (M a + h − τ) for the force f of the
actuators. The component across it is free, and is chosen to make f small, or to leave passive joints without torque.

Source: Aghili, IEEE Transactions on Robotics 21, 2005 (docs/notation.md#sources), sections 4, 7.1, 7.2 and 7.4;
Aghili 2022, Optimal control of legged robots subject to friction cone constraints, eq. (14).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.errors import ArgumentError
from sarrus.base.status import ACTUATORS_FALL_SHORT, Status
from sarrus.dynamics.results import InverseDynamics
from sarrus.formulations.metric import Weighing, WeightedProblem
from sarrus.formulations.problem import Array, as_array, matrix_rank
from sarrus.formulations.tolerances import FORCE_MISSING, INCONSISTENT, RANK_TOLERANCE


@dataclass(frozen=True, eq=False)
class ProjectedInverse(InverseDynamics):
    """Actuator force for a given acceleration; made by `projected_inverse_dynamics`.

    Attributes
    ----------
    force : (n,) generalized force S u of the actuators; without actuation, P(M a + h − τ).
    u : (nu,) controls; without actuation, ``force``.
    constraint_force : (n,) Aᵀλ, the force of the constraints on the mechanism under ``force``.
    multipliers : (m,) λ, of minimum norm where rows are redundant.
    determined : (m,) bool, which multipliers are unique.
    residual : norm of the missing force in the tangent space, relative to the largest of M a, h and τ.
    acceleration_residual : norm of A⁺(A a + γ), the part of a that the constraints forbid, relative to 1 + |a|.
    rank : numerical rank of A.
    actuation_rank : rank of P S. Every motion can be produced where it is n − rank.
    status : OK; NOT_ACHIEVABLE (``force`` is the one that misses least); INCONSISTENT (a violates the constraints).
    """

    force: Array = field(kw_only=True)
    determined: NDArray[np.bool_] = field(kw_only=True)


def projected_inverse_dynamics(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    a: ArrayLike,
    *,
    tau: ArrayLike | None = None,
    actuation: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> ProjectedInverse:
    """Return the `ProjectedInverse`: the smallest force of the actuators with which the mechanism accelerates by a.

    Without ``actuation`` every coordinate has an actuator and the answer is the potent force P(M a + h − τ), the
    smallest of all (theorem 4, eqs. (45), (48), (49)). With it, S u is the smallest force of that form which has
    this potent part; for a mask of active joints that is (I + H)P(M a + h − τ) with H of (61). The norm of a
    force is √(fᵀW⁻¹f) where there is a metric. With ``weights``, u minimises Σ weightsᵢ uᵢ² instead: u =
    (PS)⁺ P(M a + h − τ) for weights of one (legged robots, eq. (14)).

    Redundant, zero and singular rows of A change nothing. M may be singular, even on the null space of A, because it is
    not inverted.

    Parameters
    ----------
    M, h, A, gamma : (n, n) symmetric, (n,), (m, n), (m,).
    a : (n,) wanted acceleration. It has to obey A a + γ = 0.
    tau : (n,) force that acts besides the actuators, or None.
    actuation : (n, nu) matrix S; or (n,) bool, which joints are active, where u is the force of these; or None.
    weights : (nu,) positive, or None.
    metric, row_metric, tolerance, absolute_tolerance : as for
        `sarrus.formulations.projections.constraint_inertia.projection`.
    throw : raise `SolveError` unless the status is OK; else return the least-squares answer with its status.

    Raises
    ------
    ArgumentError, SolveError
    """
    p = WeightedProblem.weighted(M, h, A, gamma, tau, **weighing)
    w = p.image
    acceleration = p.root @ as_array(a, (p.n,), "a")
    selection = p.inverse_root @ _actuation(actuation, p.n)
    needed = w.M @ acceleration + w.h - w.tau
    u, actuation_rank = _smallest(
        w.basis, selection, needed, weights, weighing.get("tolerance", RANK_TOLERANCE)
    )
    missing = needed - selection @ u
    multipliers = w.inverse.T @ missing
    size = max(float(np.linalg.norm(term)) for term in (w.M @ acceleration, w.h, w.tau))
    residual = float(np.linalg.norm(w.basis.T @ missing)) / (size or 1.0)
    forbidden = w.inverse @ (w.A @ acceleration + w.gamma)
    violation = float(np.linalg.norm(forbidden) / (1.0 + np.linalg.norm(acceleration)))
    status = Status.NOT_ACHIEVABLE if residual > FORCE_MISSING else Status.OK
    if violation > INCONSISTENT:
        status = Status.INCONSISTENT
    result = ProjectedInverse(
        force=p.root @ selection @ u,
        u=u,
        constraint_force=p.root @ (p.rows @ (p.rows.T @ missing)),
        multipliers=p.row_root @ multipliers,
        determined=p.determined,
        residual=residual,
        acceleration_residual=violation,
        rank=p.rank,
        actuation_rank=actuation_rank,
        status=status,
    )
    if throw and status is not Status.OK:
        size = violation if status is Status.INCONSISTENT else residual
        reason = ACTUATORS_FALL_SHORT if status is Status.NOT_ACHIEVABLE else status.diagnosis
        raise status.error(
            "projected_inverse_dynamics", f"{reason} (relative residual {size:.3g})", result=result
        )
    return result


def _actuation(actuation: ArrayLike | None, n: int) -> Array:
    """Return S (n, nu) from a matrix, a mask of active joints, or None for all of them."""
    if actuation is None:
        return np.eye(n)
    given = np.asarray(actuation)
    if given.dtype == bool:
        if given.shape != (n,):
            raise ArgumentError(
                f"actuation has shape {given.shape}; a mask of active joints must be ({n},)",
                element="actuation",
            )
        return np.eye(n)[:, given]
    if given.ndim != 2:
        raise ArgumentError(
            f"actuation must be a matrix ({n}, nu) or a bool mask ({n},), got shape {given.shape}",
            element="actuation",
        )
    return as_array(given, (n, given.shape[1]), "actuation")


def _smallest(
    basis: Array, selection: Array, needed: Array, weights: ArrayLike | None, tolerance: float
) -> tuple[Array, int]:
    """Return u with ZᵀSu nearest to Zᵀf and, of these, Su or u smallest; and the rank of ZᵀS."""
    # Columns of `controls` make orthonormal forces, or are orthonormal in the weights.
    if weights is None:
        _, sigma, right = np.linalg.svd(selection, full_matrices=False)
        keep = matrix_rank(sigma, tolerance)
        controls = right[:keep].T / sigma[:keep]
    else:
        controls = np.diag(1.0 / np.sqrt(_weights(weights, selection.shape[1])))
    left, sigma, right = np.linalg.svd(basis.T @ selection @ controls, full_matrices=False)
    rank = matrix_rank(sigma, tolerance)
    return controls @ right[:rank].T @ ((left[:, :rank].T @ basis.T @ needed) / sigma[:rank]), rank


def _weights(weights: ArrayLike, size: int) -> Array:
    array = as_array(weights, (size,), "weights")
    if not (array > 0.0).all():
        raise ArgumentError(f"weights must be {size} positive numbers, one per actuator", element="weights")
    return array
