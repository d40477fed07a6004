"""The KKT matrix of acceleration and multipliers, solved at once by LU: the second baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.formulations.classical.tolerances import LEAST_SCALE_OF_MASS
from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import (
    answered,
    general_solver,
    guarded,
    motion_root,
    require_digits,
    require_full_rank,
)
from sarrus.formulations.tolerances import RANK_TOLERANCE


@guarded
def kkt(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration from the optimality conditions of Gauss's principle.

        [ M  −Aᵀ ] [ a ]   [ τ − h ]
        [ A   0  ] [ λ ] = [  −γ   ]

    by LU with partial pivoting (Golub and Van Loan, Matrix Computations, 4th ed., §3.4), in coordinates of unit inertia
    and with rows of unit length, so that units hardly matter. M may be singular where it is positive definite on the
    null space of A, which is verified: without it the equations would give a stationary point of no mechanical
    meaning, or none. Close to a singular configuration the smallest eigenvalue falls with the square of that of A, as
    in `lagrange`.

    Full rank: unique a and λ. Redundant, consistent or not: refused, ILL_POSED. Ill-conditioned: the answer as refined,
    ALMOST or ILL_CONDITIONED; refused above 1e15.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. A must have full row rank.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED, ILL_CONDITIONED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of the scaled matrix. Details: "matrix" (n + m, n + m), as given.

    Raises
    ------
    SolveError
        Rows of A that are dependent or zero, consistent or not (the message has rank and number of rows);
        M that is not positive definite on the null space of A; a condition number above 1e15.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    n, m = problem.n, len(problem.gamma)
    require_full_rank(problem, "the KKT matrix")
    motion_root(problem, problem.basis)
    matrix = np.block([[problem.M, -problem.A.T], [problem.A, np.zeros((m, m))]])
    inertia = np.diagonal(problem.M)
    column = 1.0 / np.sqrt(
        np.maximum(inertia, LEAST_SCALE_OF_MASS * inertia.max()) if inertia.any() else np.ones(n)
    )
    scale = np.concatenate([column, 1.0 / np.linalg.norm(problem.A * column, axis=1)])
    scaled = np.outer(scale, scale) * matrix
    condition = float(np.linalg.cond(scaled))
    require_digits(problem, "KKT matrix", condition)
    by_lu = general_solver(scaled)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        solution = scale * by_lu(scale * np.concatenate([force, -gamma]))
        return solution[:n], problem.A.T @ solution[n:], solution[n:]

    return answered(problem, solve, condition, details={"matrix": matrix})
