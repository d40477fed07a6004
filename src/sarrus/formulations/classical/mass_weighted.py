"""Mass-weighted orthogonal decomposition: dynamically consistent inverse and constraint null-space matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from sarrus.formulations.problem import Array, Formulation, Problem, optional_vector
from sarrus.formulations.requirements import answered, definite_solve, guarded, mass_root
from sarrus.formulations.tolerances import RANK_TOLERANCE


@guarded
def mass_weighted(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    gravity: ArrayLike | None = None,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration by the mass-weighted orthogonal decomposition.

        H = (A M⁻¹ Aᵀ)⁺                        constraint-space mass matrix           (87)
        Ā = M⁻¹ Aᵀ H                           dynamically consistent inverse of A    (6), (84)
        Θ = I − Ā A                            constraint null-space matrix           (90)
        α = H A M⁻¹ b − H γ,  ρ = H A M⁻¹ g    velocity and gravity forces at the constraints  (88), (89)
        λ = α + ρ − Āᵀτ,    a = Θ M⁻¹ (τ − h) − Ā γ

    De Sapio and Park 2010, section 4. Their Φ is our A, Φ̇ q̇ our γ (which the printed (88) has as Φ q̇), b + g our
    h; λ has our sign (100). Their inverse of A M⁻¹ Aᵀ is a pseudo-inverse here, so that redundant and zero rows do
    no harm; it is formed from the singular values of A M^(−1/2), without squaring them. Θᵀ removes from a force
    what the constraints answer, A M⁻¹ Θᵀ = 0; Θ is the projector on the null space of A that is orthogonal in the
    metric M.

    Full rank: unique a and λ. Redundant and consistent: a and Aᵀλ are unique, λ is the one of minimum norm.
    Inconsistent: |A a + γ| is minimal (rows unweighted), and among these a the one nearest to M⁻¹(τ − h) in the
    metric M; status INCONSISTENT. Singular: directions below ``tolerance`` are left unconstrained. Ill-conditioned: the
    answer as refined, ALMOST or ILL_CONDITIONED.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite.
    gravity : (n,) the part g of h, which only moves a share of α to ρ; default zero.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of A M^(−1/2) on its range. Details: "H" (m, m), "consistent_inverse" Ā (n, m),
        "theta" Θ (n, n), "alpha" (m,), "rho" (m,).

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        An argument has a wrong shape or is not finite.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    g = optional_vector(gravity, problem.n, "gravity")
    root = mass_root(problem)
    # With M = L Lᵀ and A L⁻ᵀ = U Σ Vᵀ: H = U Σ⁻² Uᵀ, Ā = L⁻ᵀ V Σ⁻¹ Uᵀ.
    left, sigma, right = np.linalg.svd(solve_triangular(root, problem.A.T, lower=True).T, full_matrices=False)
    r = problem.rank
    left, sigma, right = left[:, :r], sigma[:r], right[:r]
    H = (left / sigma**2) @ left.T
    inverse = solve_triangular(root, right.T / sigma, lower=True, trans="T") @ left.T
    theta = np.eye(problem.n) - inverse @ problem.A

    def at_the_constraints(acceleration: Array) -> Array:
        """Return H times an acceleration of the rows, with rounding that stays in its direction."""
        return left @ ((left.T @ acceleration) / sigma / sigma)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        free = definite_solve(root, force)
        multipliers = at_the_constraints(-gamma - problem.A @ free)
        return theta @ free - inverse @ gamma, problem.A.T @ multipliers, multipliers

    velocity, weight = (problem.A @ definite_solve(root, force) for force in (problem.h - g, g))
    return answered(
        problem,
        solve,
        sigma[0] / sigma[-1] if r else 1.0,
        details={
            "H": H,
            "consistent_inverse": inverse,
            "theta": theta,
            "alpha": at_the_constraints(velocity - problem.gamma),
            "rho": at_the_constraints(weight),
        },
    )
