"""The equation of Udwadia and Phohomsiri, for mass matrices that may be singular."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import Refused, answered, guarded, motion_root
from sarrus.formulations.tolerances import MASSLESS, RANK_TOLERANCE


@guarded
def udwadia_phohomsiri(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration by the equation of Udwadia and Phohomsiri.

        a = [ (I − A⁺A) M ]⁺ [ Q ]
            [      A      ]  [ b ]

    Proceedings of the Royal Society A 462, 2006, 2097 to 2117. Their Q is our τ − h, b is −γ. Where M is positive
    definite it is the equation of `udwadia_kalaba`; where it is singular it has one answer just if N(M) and N(A) have
    nothing in common, so that [M; A] has rank n: every direction without inertia is held by the constraints. That is
    what `null_space` needs, too. Both blocks are brought to one size before the pseudo-inverse is taken, which changes
    nothing where the rank is n.

    Full rank: unique a and λ. Redundant and consistent: a and Aᵀλ are unique, λ is the one of minimum norm.
    Inconsistent: |A a + γ| is minimal (rows unweighted), and P (M a + h − τ) = 0; status INCONSISTENT. Singular:
    directions of A below ``tolerance`` are left unconstrained. Ill-conditioned: the answer as refined, ALMOST or
    ILL_CONDITIONED.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M may be singular, N(M) ∩ N(A) = {0}.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of the stacked matrix. Details: "stacked" (n + m, n), as published, and "mass_rank", the
        rank of M.

    Raises
    ------
    SolveError
        [M; A] has a rank below n (the message has both), or M is not positive definite on the null space of A.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    n, size = problem.n, problem.svd[1].max(initial=0.0)
    mass, rows = problem.mass_norm or 1.0, size or 1.0
    # the rows that count, so that directions below the tolerance are left unconstrained
    kept = problem.basis.shape[1]
    held = problem.svd[2][: problem.rank] * (problem.svd[1][: problem.rank, None] / rows)
    stacked = np.vstack([problem.projector @ problem.M / mass, held])
    left, sigma, right = np.linalg.svd(stacked, full_matrices=False)
    moving = problem.basis.T @ problem.M @ problem.basis
    rank = n - kept + int(np.sum(np.abs(np.linalg.eigvalsh(moving)) > MASSLESS * mass)) if kept else n
    if rank < n:
        own = int(np.linalg.matrix_rank(problem.M, hermitian=True))
        raise Refused(
            problem,
            f"[M; A] has rank {rank} of {n} (M has {own}, A {problem.rank}): {n - rank} direction(s) without inertia "
            "are not held by the constraints",
            "Give a mass or armature to massless bodies that can still move on their own, or hold them",
        )
    motion_root(problem, problem.basis)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        across = problem.svd[0][:, : problem.rank].T @ -gamma / rows
        given = np.concatenate([problem.projector @ force / mass, across])
        a = right.T @ ((left.T @ given) / sigma)
        multipliers = problem.inverse.T @ (problem.M @ a - force)
        return a, problem.A.T @ multipliers, multipliers

    return answered(
        problem,
        solve,
        float(sigma[0] / sigma[-1]),
        details={
            "stacked": np.vstack([problem.projector @ problem.M, problem.A]),
            "mass_rank": float(np.linalg.matrix_rank(problem.M, hermitian=True)),
        },
    )
