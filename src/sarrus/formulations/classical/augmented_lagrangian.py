"""The augmented Lagrangian formulation (method of multipliers), a baseline that accepts redundant rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.base.tolerances import EPSILON, LEAST_DIVISOR
from sarrus.formulations.classical.tolerances import PENALTY_ACCURACY, PENALTY_STIFFNESS, PENALTY_WEAKEST
from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import (
    Refused,
    answered,
    definite_root,
    definite_solve,
    guarded,
    motion_root,
)
from sarrus.formulations.tolerances import PIVOT_NOISE, RANK_TOLERANCE


@guarded
def augmented_lagrangian(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    penalty: float | None = None,
    iterations: int = 200,
    accuracy: float = PENALTY_ACCURACY,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration by the method of multipliers, from a = 0 and λ = 0.

        (M + ρ AᵀA) aᵏ⁺¹ = τ − h + Aᵀλᵏ − ρ Aᵀγ,      λᵏ⁺¹ = λᵏ − ρ (A aᵏ⁺¹ + γ)

    The augmented Lagrangian formulation of Bayo, García de Jalón and Serna, Comput. Methods Appl. Mech. Eng. 71, 1988
    (for accelerations alone, without its stabilising terms). Each step is solved for the change of a, so that
    rounding of the stiff matrix dies out with the iteration. Along a direction in which A M^(−1/2) has the singular
    value s the error shrinks by 1 / (1 + ρ s²) per step: a handful of steps at ordinary configurations, more than
    ``iterations`` close to a singular one, which is then reported.

    Full rank: the unique a and λ. Redundant and consistent: Aᵀλᵏ and the λ of minimum norm converge as they do without
    the redundant rows. Inconsistent: a converges to the least-squares answer of the other formulations, with
    |A a + γ| minimal (rows unweighted, as the penalty is one number) and KᵀM a = Kᵀ(τ − h) on the null space K of A.
    The part of γ outside the range of A would let λᵏ drift by −ρ times itself in every step, along directions without
    force: it is left out from the start, which changes neither aᵏ nor Aᵀλᵏ; status INCONSISTENT. Singular: directions
    below ``tolerance`` are left unconstrained. Ill-conditioned: the answer as refined, ALMOST or ILL_CONDITIONED.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite on the null space of A.
    penalty : ρ > 0; by default |M| max(1e8 / σ₁², 1e2 / σ_r²), with the largest and the smallest singular value of A
        that counts.
    iterations : largest number of steps.
    accuracy : stop where the residual that can be removed, |A⁺(A a + γ)|, and the last change of a are below
        ``accuracy`` times the size of accelerations, |a| + |A⁺γ| + |γ| / |A| + |τ − h| / |M|, or down to the rounding
        that the condition of A allows. Corrections that the check of the answer asks for are iterated alike.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED,
        ILL_CONDITIONED, NOT_CONVERGED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of M + ρ AᵀA. ``multipliers`` is the last λᵏ, found from Aᵀλᵏ = M aᵏ + h − τ, which
        does not have the rounding of ρ. Details: "iterations", "penalty" ρ, "residual" |A⁺(A a + γ)| relative to
        that size.

    Raises
    ------
    SolveError
        M is not positive definite on the null space of A; no convergence within ``iterations``.
    ArgumentError
        A penalty, accuracy or number of iterations that is not positive; other bad arguments.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    for name, value in (("penalty", penalty), ("iterations", iterations), ("accuracy", accuracy)):
        if value is not None and not 0.0 < value < np.inf:
            raise ArgumentError(f"{name} must be positive, got {value}", element=name)
    motion_root(problem, problem.basis)
    M, A = problem.M, problem.A
    sigma = problem.svd[1][: problem.rank]
    stretch = sigma[0] / sigma[-1] if len(sigma) else 1.0
    mass, length = float(np.linalg.norm(M, 2)), float(sigma[0]) if len(sigma) else 1.0
    if penalty is None:
        penalty = (mass or 1.0) * max(PENALTY_STIFFNESS, PENALTY_WEAKEST * stretch**2) / length**2
    root, condition = _stiff_root(M, A, penalty)
    if root is None:
        raise Refused(
            problem,
            f"M + ρ AᵀA is singular to working precision, condition number {condition:.1g}",
            "Choose another penalty, or use null_space",
            Status.ILL_CONDITIONED,
            condition,
        )
    enough = max(accuracy, 10.0 * problem.n * EPSILON * stretch)
    history: list[tuple[int, float, bool]] = []

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        particular = -problem.inverse @ gamma
        scale = float(np.linalg.norm(particular) + np.linalg.norm(gamma) / length)
        scale += float(np.linalg.norm(force)) / mass if mass else 0.0
        met = -A @ particular
        a, reaction, steps, converged = np.zeros(problem.n), np.zeros(problem.n), 0, False
        moved = np.inf
        while not converged and steps < iterations:
            steps += 1
            change = definite_solve(root, force + reaction - M @ a - penalty * A.T @ (A @ a + met))
            a = a + change
            offence = A @ a + met
            reaction = reaction - penalty * A.T @ offence
            size = max(float(np.linalg.norm(a)) + scale, LEAST_DIVISOR)
            residual = float(np.linalg.norm(problem.inverse @ offence)) / size
            moved, before = float(np.linalg.norm(change)), moved
            # Changes that no longer shrink are rounding of a stiff matrix, which the check sees.
            converged = residual <= enough and (moved <= enough * size or moved > 0.5 * before)
        history.append((steps, residual, converged))
        multipliers = problem.inverse.T @ (M @ a - force)
        return a, A.T @ multipliers, multipliers

    details: dict[str, Array | float] = {"penalty": float(penalty)}
    found = answered(problem, solve, condition, details=details)
    steps, residual, converged = history[0]
    if not converged:
        raise Refused(
            problem,
            f"no convergence in {iterations} iterations: residual {residual:.1g}, asked for {enough:.1g}",
            "Raise penalty or iterations, or use null_space, which does not iterate",
            Status.NOT_CONVERGED,
            condition,
        )
    details |= {"iterations": float(steps), "residual": residual}
    return found


def _stiff_root(M: Array, A: Array, penalty: float) -> tuple[Array | None, float]:
    """Return L of L Lᵀ = M + ρ AᵀA and its condition number; None where it is singular to working precision.

    With M = Gᵀ G, Lᵀ is the triangle of [G; √ρ A] (QR), so that the mass is not drowned by a stiff AᵀA.
    """
    values, vectors = np.linalg.eigh(M)
    if values[0] < -len(M) * PIVOT_NOISE * values[-1]:
        stiff = M + penalty * A.T @ A
        return definite_root(stiff), float(np.linalg.cond(stiff))
    stack = np.vstack([np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, np.sqrt(penalty) * A])
    if not np.isfinite(stack).all():
        return None, float("inf")
    triangle: Array = np.asarray(np.linalg.qr(stack, mode="r"))
    pivots = np.abs(np.diagonal(triangle))
    condition = float(np.linalg.cond(triangle)) ** 2
    return (triangle.T if (pivots > len(M) * PIVOT_NOISE * pivots.max()).all() else None), condition
