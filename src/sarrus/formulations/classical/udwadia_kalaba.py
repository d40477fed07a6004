"""The equation of Udwadia and Kalaba, with ideal and non-ideal constraint forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sarrus.formulations.problem import Array, Formulation, Problem, optional_vector
from sarrus.formulations.requirements import answered, guarded, mass_root
from sarrus.formulations.tolerances import RANK_TOLERANCE


@guarded
def udwadia_kalaba(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    non_ideal: ArrayLike | None = None,
    *,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration by the equation of Udwadia and Kalaba.

        M a = Q + Q_id + Q_nid                                      (13)
        Q_id = M^½ B⁺ (b − A M⁻¹ Q),      B = A M^(−½)              (11)
        Q_nid = M^½ (I − B⁺B) M^(−½) c                              (12)

    Liu et al. 2015, section I.A. Their Q is our τ − h, b is −γ, and the constraint force Q_id + Q_nid is ours,
    on the mechanism. c is the force whose work in every virtual displacement the constraints do, friction for
    instance: wᵀQ_nid = wᵀc for A w = 0 (8). Only that part of c acts; along Aᵀ the ideal force stands in for it.
    M^½ is the symmetric root; with inertias of very different size it costs as many digits as the condition number of
    M has, where `null_space` and `mass_weighted` lose fewer; refinement gains them back.

    Full rank: unique a and λ. Redundant and consistent: a and the forces are unique, λ is the one of minimum norm.
    Inconsistent (A A⁺ b ≠ b): |A a + γ| is minimal (rows unweighted), and among these a the one nearest to
    M⁻¹(Q + c) in the metric M (Gauss's principle); status INCONSISTENT. Singular: directions of A below
    ``tolerance`` are left unconstrained. Ill-conditioned: the answer as refined, ALMOST or ILL_CONDITIONED.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite.
    non_ideal : (n,) c, default zero.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``constraint_force`` = Q_id + Q_nid; ``multipliers`` λ with Aᵀλ = Q_id; ``condition`` is that of B on its
        range. Details: "ideal" Q_id (n,), "non_ideal" Q_nid (n,), "root" M^½ (n, n), "free_acceleration" M⁻¹Q (n,),
        "contradiction" |b − A A⁺ b|, the consistency test.

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        An argument has a wrong shape or is not finite.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    c = optional_vector(non_ideal, problem.n, "non_ideal")
    mass_root(problem)
    values, vectors = np.linalg.eigh(problem.M)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    left, sigma, right = np.linalg.svd(problem.A @ inverse_root)
    r = problem.rank
    left, sigma, right = left[:, :r], sigma[:r], right[:r]
    # I − B⁺B as it acts on c, less a force along Aᵀ: the work of c on admissible velocities is kept to the last digit.
    friction = c - problem.A.T @ (left @ ((right @ (inverse_root @ c)) / sigma))

    def free(force: Array) -> Array:
        return inverse_root @ (inverse_root @ force)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        shortfall = left.T @ (-gamma - problem.A @ free(force)) / sigma
        ideal = root @ (right.T @ shortfall)
        return free(force + ideal), ideal, left @ (shortfall / sigma)

    found = answered(
        problem,
        solve,
        sigma[0] / sigma[-1] if r else 1.0,
        non_ideal=friction,
        details={
            "non_ideal": friction,
            "root": root,
            "free_acceleration": free(problem.tau - problem.h),
            "contradiction": problem.contradiction,
        },
    )
    found.details["ideal"] = found.constraint_force - friction
    return found
