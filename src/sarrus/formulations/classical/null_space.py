"""The null-space formulation, by SVD, by QR or with a given basis, and the indicator of spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.tolerances import EPSILON
from sarrus.formulations.balance import Solve
from sarrus.formulations.classical.tolerances import TANGENT_BASIS
from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import answered, definite_solve, guarded, motion_root
from sarrus.formulations.tolerances import RANK_TOLERANCE


@guarded
def null_space(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    basis: ArrayLike | str | None = None,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the constrained acceleration in independent accelerations z.

        a = K z − A⁺γ,     A K = 0,     KᵀM K z = Kᵀ(τ − h + M A⁺γ)

    Spencer 2004, eqs. (2.42b), (2.43b), and (3.5b) for the SVD form. Its G is our A, Ġv our γ, F our τ − h, ÿ_q our
    z, K̇ẏ_q our −A⁺γ; its multipliers have the opposite sign. M need only be positive definite on the null space of
    A, so bodies without mass may be part of a mechanism that carries them along.

    Full rank: unique a and λ. Redundant and consistent: a and Aᵀλ are unique, λ is the one of minimum norm.
    Inconsistent: |A a + γ| is minimal (rows unweighted), and on the directions left KᵀM a = Kᵀ(τ − h): where M is
    positive definite, a is of all minimisers the one nearest to M⁻¹(τ − h) in the metric M (Gauss's principle). Status
    INCONSISTENT. Singular: directions below ``tolerance`` are left unconstrained. Ill-conditioned: the answer as
    refined, ALMOST or ILL_CONDITIONED. The basis has no influence on any of these.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite on the null space of A.
    basis : "svd" (default): orthonormal K = V₂ (3.2). "qr": K and A⁺ from QR with column pivoting of Aᵀ (Golub and
        Van Loan, Matrix Computations, 4th ed., §5.4.2, §5.4.7), orthonormal too and cheaper; only the rank is that
        of the SVD. Or K (n, n − rank) itself, of full column rank.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        ``condition`` is that of KᵀM K. Details: "basis" K (n, n − rank), "independent_acceleration" z, "particular"
        −A⁺γ (n,), "reduced_mass" KᵀM K, "constraint_condition" σ₁/σ_r, and the indicator of spikes for the smallest
        singular value that counts, σ_r, with γ in place of Ȧv: "spike_indicator", "spike_acceleration",
        "spike_rounding", as explained in `SpikeIndicator`.

    Raises
    ------
    SolveError
        M is not positive definite on the null space of A.
    ArgumentError
        A given basis of the wrong shape, outside the null space, or with dependent columns; other bad arguments.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    if basis is None or (isinstance(basis, str) and basis == "svd"):
        K, inverse = problem.basis, problem.inverse
    elif isinstance(basis, str) and basis == "qr":
        K, inverse = _by_qr(problem)
    else:
        K, inverse = _given(problem, basis), problem.inverse
    reduced = K.T @ problem.M @ K
    root = motion_root(problem, K)
    particular = -inverse @ problem.gamma
    spike = _spike(problem, problem.rank, problem.gamma)
    sigma = problem.svd[1]
    return answered(
        problem,
        motion_solver(problem, K, root, inverse),
        float(np.linalg.cond(reduced)) if reduced.size else 1.0,
        details={
            "basis": K,
            "independent_acceleration": _independent(problem, K, root, problem.tau - problem.h, particular),
            "particular": particular,
            "reduced_mass": reduced,
            "constraint_condition": float(sigma[0] / sigma[problem.rank - 1]) if problem.rank else 1.0,
            "spike_indicator": spike.indicator,
            "spike_acceleration": spike.acceleration,
            "spike_rounding": spike.rounding,
        },
    )


def motion_solver(
    problem: Problem, basis: Array, root: Array, inverse: Array, softened: Array | None = None
) -> Solve:
    """Return the function (force, γ) → (a, Aᵀλ, λ) of a basis K of the motions, L Lᵀ = KᵀM K and A⁺.

    ``softened`` (n, m) takes the place of A⁺ in −A⁺γ. λ = A⁺ᵀ(M a − force) either way, so that the equations of motion
    hold along K whatever becomes of the rows.
    """
    across = inverse if softened is None else softened

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        particular = -across @ gamma
        a = basis @ _independent(problem, basis, root, force, particular) + particular
        multipliers = inverse.T @ (problem.M @ a - force)
        return a, problem.A.T @ multipliers, multipliers

    return solve


def _independent(problem: Problem, basis: Array, root: Array, force: Array, particular: Array) -> Array:
    """Return z, the accelerations along the basis, of K z + particular."""
    return definite_solve(root, basis.T @ (force - problem.M @ particular))


def _by_qr(problem: Problem) -> tuple[Array, Array]:
    """Return K and A⁺ from Aᵀ Π = Q R, and a second factorisation of the kept rows of R, R₁ᵀ = Q₂ R₂."""
    r = problem.rank
    Q, R, order = qr(problem.A.T, pivoting=True)
    Q2, R2 = np.linalg.qr(R[:r].T)
    inverse = np.zeros((problem.n, len(problem.gamma)))
    inverse[:, order] = Q[:, :r] @ solve_triangular(R2, Q2.T)
    return Q[:, r:], inverse


def _given(problem: Problem, basis: ArrayLike | str) -> Array:
    """Return a basis given by the user, checked."""
    free = problem.n - problem.rank
    try:
        K = real_array(basis)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"basis must be 'svd', 'qr' or an array ({problem.n}, {free}), got {basis!r}", element="basis"
        ) from error
    if K.shape != (problem.n, free) or not np.isfinite(K).all():
        raise ArgumentError(
            f"basis must have shape ({problem.n}, {free}), one column per degree of freedom, and finite entries; "
            f"got shape {K.shape}",
            element="basis",
        )
    lengths = np.linalg.norm(K, axis=0)
    unit = K / np.where(lengths > 0.0, lengths, 1.0)
    if free and np.linalg.svd(unit)[1][-1] <= problem.tolerance:
        raise ArgumentError("basis must have independent columns", element="basis")
    limit = max(TANGENT_BASIS, 10.0 * problem.tolerance) * problem.svd[1].max(initial=0.0)
    offence = np.linalg.norm(problem.A @ unit, axis=0)
    if (offence > limit).any():
        raise ArgumentError(
            f"basis must span the null space of A, but |A K| is {offence.max():.2g} for column "
            f"{int(offence.argmax())} at unit length, above {limit:.2g}",
            element="basis",
        )
    return K


@dataclass(frozen=True)
class SpikeIndicator:
    """Spike indicator: the term of −A⁺Ȧv that belongs to one singular value σ of A, with singular vectors u and w.

    −A⁺Ȧv = −Σ wᵢ uᵢᵀȦv / σᵢ (Spencer 2004, eqs. (3.6), (3.7), section 3.1.1). Near a singular configuration one σ goes
    to zero. If the motion passes through, the indicator goes to zero at the same rate and the ratio stays finite. If
    the indicator stays finite the acceleration is truly large: the mechanism locks up or is turned back. If the ratio
    is not above its rounding, A is merely ill-conditioned.

    Attributes
    ----------
    sigma : the singular value σ.
    indicator : |w uᵀȦv| = |uᵀȦv|.
    acceleration : indicator / σ, the size of the term; infinite for σ = 0, unless the indicator is zero.
    rounding : effect of relative errors of 2.2e-16 in A and Ȧv on it, ε (|Ȧv| + σ₁ · acceleration) / σ.
    direction : (n,) w, the direction of the term.
    """

    sigma: float
    indicator: float
    acceleration: float
    rounding: float
    direction: Array

    @property
    def genuine(self) -> bool:
        """True if the term is at least ten times its rounding: it belongs to the motion, not to the arithmetic."""
        return self.acceleration > 0.0 and self.acceleration >= 10.0 * self.rounding


def spike_indicator(A: ArrayLike, Adot: ArrayLike, v: ArrayLike, rank: int | None = None) -> SpikeIndicator:
    """Return the `SpikeIndicator` |w_m u_mᵀ Ȧ v| of a state near a singular configuration.

    Spencer 2004, eq. (3.7), section 3.1.1, with v_m written w_m. Any A is accepted.

    Parameters
    ----------
    A, Adot : (m, n) constraint Jacobian and its rate along the motion.
    v : (n,) velocity.
    rank : which singular value, counted from the largest one, is watched: the rank that A has nearby. Default the
        smaller of m and n, right for independent rows; redundant rows need their rank, as their last singular value is
        zero everywhere.

    Raises
    ------
    ArgumentError
        Wrong shapes, entries that are not finite, or a rank outside 1 … min(m, n).
    """
    jacobian, velocity = real_array(A), real_array(v)
    rate = real_array(Adot)
    if jacobian.ndim != 2 or rate.shape != jacobian.shape or velocity.shape != jacobian.shape[1:]:
        raise ArgumentError(
            f"A and Adot must be (m, n) and v (n,), got {jacobian.shape}, {rate.shape} and {velocity.shape}",
            element="Adot" if rate.shape != jacobian.shape else "v",
        )
    n, most = jacobian.shape[1], min(jacobian.shape)
    gamma = rate @ velocity
    problem = Problem.checked(np.eye(n), np.zeros(n), jacobian, gamma, None)
    watched = most if rank is None else rank
    if not 1 <= watched <= most:
        raise ArgumentError(f"rank must lie between 1 and {most}, got {watched}", element="rank")
    return _spike(problem, watched, gamma)


def _spike(problem: Problem, rank: int, gamma: Array) -> SpikeIndicator:
    """Return the indicator of the singular value number ``rank``; zero where there is none."""
    if rank == 0:
        return SpikeIndicator(0.0, 0.0, 0.0, 0.0, np.zeros(problem.n))
    left, sigmas, right = problem.svd
    sigma, indicator = float(sigmas[rank - 1]), abs(float(left[:, rank - 1] @ gamma))
    if sigma == 0.0:
        size = np.inf if indicator > 0.0 else 0.0
        return SpikeIndicator(sigma, indicator, size, size, right[rank - 1])
    acceleration = indicator / sigma
    rounding = EPSILON * (float(np.linalg.norm(gamma)) + float(sigmas[0]) * acceleration) / sigma
    return SpikeIndicator(sigma, indicator, acceleration, rounding, right[rank - 1])
