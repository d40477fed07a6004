"""Softened inverses, to compare: damped least squares, truncated singular values, and Tikhonov's regularisation.

Close to a singular configuration −A⁺γ has a term with 1/σ. The functions of this file keep it small by meeting the
rows only in part: with a damping ζ in the unit of A, a singular value σ counts as

    1/σ   →   σ / (σ² + ζ²)  (damped),      1/σ or 0  (truncated).

ζ is not relative to σ₁, which would be no measure where all rows vanish together: the one row of a slider-crank does.

Spencer 2004, section 3.3, names the two as ways "to soften (or, ignore) the constraints", whose accuracy "cannot be
guaranteed". So it is: where a spike belongs to the motion, because the mechanism is turned back there, the softened
acceleration is that of another mechanism. Status OK therefore stays with answers whose rows hold to 1e-9; others are
SOFTENED, with the residual. None of the three is needed at the singular configuration itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import positive_number
from sarrus.base.status import Status
from sarrus.base.tolerances import EPSILON
from sarrus.formulations.balance import Solve
from sarrus.formulations.classical.null_space import motion_solver
from sarrus.formulations.classical.tolerances import SOFTNESS
from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.requirements import definite_solve, guarded, mass_root, motion_root, not_finite
from sarrus.formulations.residuals import Residuals
from sarrus.formulations.tolerances import RANK_TOLERANCE, RESIDUAL_MET, RESIDUAL_NEAR
from sarrus.kernels.linalg.ranked import at_rank


@guarded
def damped_least_squares(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    damping: float = SOFTNESS,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the null-space acceleration with the damped least-squares inverse instead of A⁺.

        a = K z − A^ζ γ,     A^ζ = Aᵀ (A Aᵀ + ζ² I)⁻¹,     KᵀM K z = Kᵀ(τ − h + M A^ζ γ)

    Spencer 2004, eq. (3.5b) with the inverse of section 3.3; Maciejewski, IEEE Computer Graphics and Applications 10,
    1990, for the equations of motion; Nakamura and Hanafusa, Wampler, both 1986, for the inverse. A^ζ γ is the y that
    minimises |A y − γ|² + ζ² |y|². Along the singular value σ the rows are met to the part σ² / (σ² + ζ²), so that

        A a + γ = Σ u uᵀγ ζ² / (σ² + ζ²),

    of order ζ² at regular configurations, and the whole of γ where σ ≪ ζ. The term of the spike is at most
    |uᵀγ| / (2 ζ). The equations of motion hold along K, so with A v = 0 the constraint force does no work.

    Full rank: unique a, off by that; ζ → 0 gives that of `null_space`. Redundant and consistent: unique a and Aᵀλ, λ of
    minimum norm; a row that is written twice counts twice in σ and is softened less. Inconsistent: ζ → 0 gives the
    least-squares answer of `null_space`; INCONSISTENT. Singular: directions below ``tolerance`` are left unconstrained,
    and those next to them nearly are not accelerated at all. Ill-conditioned: as softened, with a small |a|.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite on the null space of A.
    damping : ζ ≥ 0, in the unit of the singular values of A; 0 is the pseudo-inverse.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        Status SOFTENED where a row that can be met is missed by more than 1e-9 of its terms. ``multipliers`` are
        A⁺ᵀ(M a + h − τ), not damped. ``condition`` is that of A Aᵀ + ζ² I. Details: "kept" (r,) the parts
        σ²/(σ² + ζ²) to which the rows are met, "singular_values" (r,), "violation" A a + γ (m,).

    Raises
    ------
    SolveError
        M is not positive definite on the null space of A.
    ArgumentError
        A damping that is negative or not finite; other bad arguments.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    u, sigma, vt = problem.svd
    r, soft = problem.rank, _softness("damping", damping)
    sigma = sigma[:r]
    part = sigma**2 / (sigma**2 + soft**2)
    softened = (vt[:r].T * (part / sigma)) @ u[:, :r].T
    root = motion_root(problem, problem.basis)
    solve = motion_solver(problem, problem.basis, root, problem.inverse, softened)
    ends = sigma[[0, -1]] ** 2 + soft**2 if r else np.ones(2)
    details: dict[str, Array | float] = {"kept": part, "singular_values": sigma}
    return _answered(problem, solve, r, float(ends[0] / ends[1]), details)


@guarded
def truncated_svd(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    cut: float = SOFTNESS,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the null-space acceleration without the singular values of A up to ``cut``.

        a = K z − A_k⁺ γ,     A_k = Σ u σ wᵀ over σ > cut,     A_k K = 0

    Spencer 2004, section 3.3: "changing how small σ_m must be before G is considered singular"; Golub and Van Loan,
    Matrix Computations, 4th ed., §5.5.4. It is `null_space` with ``tolerance=cut / σ₁``, judged by all rows: the
    directions of small σ are free to move, by the forces alone. As σ falls below the cut, a jumps.

    Full rank: exact where all σ count, else unique, with rows left out. Redundant and consistent: unique a and Aᵀλ, λ
    of minimum norm. Inconsistent: least squares over the singular values that count; INCONSISTENT. Singular: as
    `null_space`, and nearby as at the singular configuration. Ill-conditioned: left out, SOFTENED.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite on the null space of A_k.
    cut : > 0, in the unit of the singular values of A; below ``tolerance`` · σ₁ it leaves out what `null_space` does.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        Status SOFTENED where a row that can be met is missed by more than 1e-9 of its terms. ``rank`` and
        ``determined`` are those of A_k. ``condition`` is σ₁ over the smallest σ that counts. Details: "kept" (r,) 1 or
        0, "singular_values" (r,) of the rank by ``tolerance``, "violation" A a + γ (m,).

    Raises
    ------
    SolveError
        M is not positive definite on the null space of A_k.
    ArgumentError
        A cut that is not positive; other bad arguments.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    cut = positive_number(cut, "cut")
    u, sigma, vt = problem.svd
    sigma = sigma[: problem.rank]
    kept = int(np.count_nonzero(sigma > cut))
    basis, inverse = vt[kept:].T, (vt[:kept].T / sigma[:kept]) @ u[:, :kept].T
    solve = motion_solver(problem, basis, motion_root(problem, basis), inverse)
    details: dict[str, Array | float] = {
        "kept": (np.arange(problem.rank) < kept).astype(float),
        "singular_values": sigma,
    }
    found = _answered(problem, solve, kept, float(sigma[0] / sigma[kept - 1]) if kept else 1.0, details)
    return found if kept == problem.rank else replace(found, determined=at_rank(problem.A, kept).determined)


@guarded
def tikhonov(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    damping: float = SOFTNESS,
    tolerance: float = RANK_TOLERANCE,
    throw: bool = True,
) -> Formulation:
    """Return the acceleration of least deviation from the free one, with the rows as a penalty.

        min over a of (a − M⁻¹(τ − h))ᵀ M (a − M⁻¹(τ − h)) + |A a + γ|² / ζ²
        (A M⁻¹ Aᵀ + ζ² I) λ = −γ − A M⁻¹ (τ − h),     a = M⁻¹ (τ − h + Aᵀλ)

    Tikhonov's regularisation of Gauss's principle: the second line is that of `lagrange` (Spencer 2004, eqs. (2.4),
    (2.5b)) with ζ² on the diagonal, as Petzold, Ren and Maly, SIAM J. Sci. Comput. 18, 1997, regularise rank-deficient
    constraints, and as engines of games soften contacts. With B = A L⁻ᵀ, M = L Lᵀ, s its singular values, it is
    damped least squares in the kinetic metric: B^ζ in the place of the B⁺ of `udwadia_kalaba`. So

        A a + γ = −ζ² λ,

    of order ζ² at regular configurations: here forces give way, too, not only γ as in `damped_least_squares`.
    Nothing is decided by a rank, and a is a smooth function of A.

    Full rank: unique a, off by that; ζ → 0 gives that of the other formulations. Redundant and consistent: unique a
    and λ; ζ → 0 gives the λ of minimum norm. Inconsistent: ζ → 0 gives the least-squares answer of the other
    formulations; the part of γ outside the range of A moves nothing and is left out of λ; INCONSISTENT. Singular: as
    close by. Ill-conditioned: as softened.

    Parameters
    ----------
    M, h, A, gamma, tau, tolerance : see `Problem`. M must be positive definite.
    damping : ζ ≥ 0, in the unit of the singular values of B, that of A over √kg: ζ² is a compliance. 0 is the
        pseudo-inverse of B, with the rank of A by ``tolerance``.
    throw : raise where there is no answer; False returns NaN with status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        Status SOFTENED where a row that can be met is missed by more than 1e-9 of its terms. ``condition`` is that of
        A M⁻¹ Aᵀ + ζ² I. Details: "kept" the parts s²/(s² + ζ²) to which the rows are met, "singular_values" s,
        "violation" A a + γ (m,).

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        A damping that is negative or not finite; other bad arguments.
    """
    problem = Problem.checked(M, h, A, gamma, tau, tolerance)
    soft = _softness("damping", damping)
    root = mass_root(problem)
    left, sigma, _ = np.linalg.svd(np.linalg.solve(root, problem.A.T).T, full_matrices=False)
    noise = EPSILON * max(problem.A.shape) * sigma.max(initial=0.0)
    r = int(np.count_nonzero(sigma > noise)) if soft > 0.0 else problem.rank
    left, sigma = left[:, :r], sigma[:r]
    part = sigma**2 / (sigma**2 + soft**2)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        free = definite_solve(root, force)
        pull = left.T @ (-gamma - problem.A @ free) / (sigma**2 + soft**2)
        multipliers = left @ pull
        push = problem.A.T @ multipliers
        return free + definite_solve(root, push), push, multipliers

    ends = sigma[[0, -1]] ** 2 + soft**2 if r else np.ones(2)
    details: dict[str, Array | float] = {"kept": part, "singular_values": sigma}
    return _answered(problem, solve, problem.rank, float(ends[0] / ends[1]), details)


def _softness(name: str, value: float) -> float:
    """Return a damping, or raise `ArgumentError`."""
    if not 0.0 <= value < np.inf:
        raise ArgumentError(f"{name} must be a number from 0 on, got {value}", element=name)
    return float(value)


def _answered(
    problem: Problem, solve: Solve, rank: int, condition: float, details: dict[str, Array | float]
) -> Formulation:
    """Return the answer of a softened solve, with the status from the original equations.

    The equations of motion are refined; refining the rows would undo the softening. The rows that could be met are
    judged on the null space of A.
    """
    applied = problem.tau - problem.h
    answer = solve(applied, problem.gamma)
    left = applied + problem.A.T @ answer[2] - problem.M @ answer[0]
    a, force, multipliers = map(np.add, answer, solve(left, np.zeros_like(problem.gamma)))
    exact = motion_solver(problem, problem.basis, motion_root(problem, problem.basis), problem.inverse)
    residuals, _, _ = problem.balance.judge((a, force, multipliers), exact, applied)
    residuals = problem.balance.verdict(a, force, residuals, applied)
    status = _status(residuals)
    if status is Status.NOT_FINITE:
        raise not_finite(problem, condition)
    details["violation"] = problem.A @ a + problem.gamma
    return Formulation(
        a, force, multipliers, problem.determined, rank, condition, status, problem, residuals, details
    )


def _status(residuals: Residuals) -> Status:
    """Return the status of a softened answer: that of an exact one, except for the rows that it misses."""
    if max(residuals.force, residuals.multipliers) > RESIDUAL_NEAR:
        return residuals.status
    if residuals.contradiction > 0.0:
        return Status.INCONSISTENT
    return Status.SOFTENED if residuals.constraint > RESIDUAL_MET else residuals.status
