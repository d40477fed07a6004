"""Lagrange multipliers by the inverse of the Delassus matrix A M⁻¹ Aᵀ: the textbook baseline for independent rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import (
    answered,
    definite_solve,
    general_solver,
    guarded,
    mass_root,
    require_digits,
    require_full_rank,
)
from sarrus.formulations.tolerances import RANK_TOLERANCE


@guarded
def lagrange(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration by Lagrange's multipliers.

        S λ = −γ − A M⁻¹ (τ − h),   S = A M⁻¹ Aᵀ,      a = M⁻¹ (τ − h + Aᵀλ)

    Spencer 2004, eqs. (2.4), (2.5b), where G is our A, Ġv our γ and F our τ − h; its multipliers have the
    opposite sign. Rows and columns of S are scaled to a diagonal of ones before it is solved, so that the units of the
    rows do not matter. S has the squared condition number of A M^(−1/2): close to a singular configuration twice as
    many digits are lost as by the other formulations, which refinement gains back below a condition of 1e15.

    Full rank: unique a and λ. Redundant, consistent or not: refused, ILL_POSED. Ill-conditioned: the answer as refined,
    ALMOST or ILL_CONDITIONED; refused above 1e15.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite, A of full row rank.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED, ILL_CONDITIONED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of S with a diagonal of ones. Details: "delassus" S (m, m).

    Raises
    ------
    SolveError
        Rows of A that are dependent or zero, consistent or not (the message has rank and number of rows);
        S with a condition number above 1e15; M that is not positive definite.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    root = mass_root(problem)
    require_full_rank(problem, "A M⁻¹ Aᵀ")
    response = definite_solve(root, problem.A.T)
    delassus = problem.A @ response
    scale = np.sqrt(np.diagonal(delassus))
    scaled = delassus / np.outer(scale, scale)
    condition = float(np.linalg.cond(scaled)) if len(scale) else 1.0
    require_digits(problem, "A M⁻¹ Aᵀ", condition)
    by_lu = general_solver(scaled) if len(scale) else None

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        free = definite_solve(root, force)
        if by_lu is None:
            return free, np.zeros_like(free), gamma
        multipliers = by_lu((-gamma - problem.A @ free) / scale) / scale
        return free + response @ multipliers, problem.A.T @ multipliers, multipliers

    return answered(problem, solve, condition, details={"delassus": delassus})
