"""What a formulation needs of a problem, how it refuses one that lacks it, and how it answers: checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrs

from sarrus.base.errors import SarrusError, SolveError
from sarrus.base.status import Status
from sarrus.formulations.balance import Solve
from sarrus.formulations.checked import refine
from sarrus.formulations.problem import Array, Formulation, Problem

Method = TypeVar("Method", bound=Callable[..., Formulation])

# A pivot of a symmetric matrix below this multiple of its size and its largest diagonal entry is rounding noise.
NOISE = 4.0 * float(np.finfo(float).eps)
# A mass on the motions left below this multiple of the norm of M is the rounding of the products that make it.
MASSLESS = 1e-13
# Above this condition number of a scaled matrix a correction gains nothing: no digit of a solve is sure.
NUMERICALLY_SINGULAR = 1e15


def definite_root(matrix: Array, floor: float | None = None) -> Array | None:
    """Return the lower triangle L of L Lᵀ = matrix, or None where the matrix is not positive definite.

    Pivots up to ``floor`` count as zero; by default those that are rounding noise of the matrix.
    """
    try:
        root = np.asarray(np.linalg.cholesky(matrix), dtype=float)
    except np.linalg.LinAlgError:
        return None
    if floor is None:
        floor = len(matrix) * NOISE * float(np.diagonal(matrix).max(initial=0.0))
    return root if (np.diagonal(root) ** 2 > floor).all() else None


def motion_root(M: Array, basis: Array) -> Array | None:
    """Return L of L Lᵀ = KᵀM K for a basis K, or None where M is not positive definite on the motions K z.

    The columns of K may have any length.
    """
    lengths = np.linalg.norm(basis, axis=0)
    unit = basis / lengths
    root = definite_root(unit.T @ M @ unit, MASSLESS * float(np.linalg.norm(M, 2)))
    return None if root is None else lengths[:, None] * root


def definite_solve(root: Array, right: Array) -> Array:
    """Return (L Lᵀ)⁻¹ right."""
    solution: Array = dpotrs(root, right, lower=1)[0] if right.size else np.zeros(right.shape)
    return solution


def general_solver(matrix: Array) -> Callable[[Array], Array]:
    """Return the function right → matrix⁻¹ right, by LU with partial pivoting."""
    factor, pivots, _ = dgetrf(matrix)

    def solve(right: Array) -> Array:
        solution: Array = dgetrs(factor, pivots, right)[0]
        return solution

    return solve


def guarded(method: Method) -> Method:
    """Decorate a formulation: what overflows, underflows to a division by zero or stops LAPACK is no answer.

    It is refused with status NOT_FINITE; nothing is warned about on the way.
    """

    @wraps(method)
    def call(
        M: ArrayLike, h: ArrayLike, A: ArrayLike, gamma: ArrayLike, *args: Any, **options: Any
    ) -> Formulation:
        with np.errstate(all="ignore"):
            try:
                return method(M, h, A, gamma, *args, **options)
            except SarrusError:
                raise
            except (ValueError, ArithmeticError) as error:
                tau = args[0] if args else options.get("tau")
                problem = Problem.checked(M, h, A, gamma, tau)
                throw = options.get("throw", True)
                return not_finite(problem, method.__name__, throw=throw, reason=str(error))

    return cast(Method, call)


def not_finite(
    problem: Problem, method: str, *, throw: bool, condition: float = float("inf"), reason: str = "overflow"
) -> Formulation:
    """Refuse a problem whose numbers overflow on the way to an answer, or have no finite answer."""
    return refused(
        problem,
        method,
        f"{Status.NOT_FINITE.diagnosis} on the way to the answer ({reason})",
        "Scale rows and coordinates: entries of M, A, gamma or forces are too large, too small or too far apart",
        throw=throw,
        condition=condition,
        status=Status.NOT_FINITE,
    )


def answered(
    problem: Problem,
    method: str,
    solve: Solve,
    condition: float,
    *,
    throw: bool,
    non_ideal: Array | None = None,
    details: dict[str, Array | float] | None = None,
) -> Formulation:
    """Return the answer of ``solve``, refined, with the status that its residuals deserve.

    ``solve`` takes a force (n,) and γ (m,) and returns a, the ideal constraint force and λ; it must be linear in both.
    ``non_ideal`` (n,) is a force of the constraints that is known before. An answer that is not finite is refused.
    """
    other = np.zeros(problem.n) if non_ideal is None else non_ideal
    answer = refine(problem, solve, problem.tau - problem.h + other)
    status = answer.residuals.status
    if status is Status.NOT_FINITE:
        return not_finite(problem, method, throw=throw, condition=condition)
    return problem.result(
        answer.a, answer.multipliers, answer.force + other, condition, status, answer.residuals, details
    )


def refused(
    problem: Problem,
    method: str,
    reason: str,
    remedy: str,
    *,
    throw: bool,
    condition: float = float("inf"),
    status: Status = Status.ILL_POSED,
) -> Formulation:
    """Raise `SolveError` with the reason and the remedy, or return NaN with a status that says there is no answer."""
    nothing = np.full(problem.n, np.nan)
    result = problem.result(nothing, np.full(len(problem.gamma), np.nan), nothing, condition, status)
    if throw:
        raise SolveError(f"{method}: {reason}. {remedy}", result=result, element=method)
    return result


def refused_mass(problem: Problem, method: str, *, throw: bool) -> Formulation:
    """Refuse a mass matrix that the method cannot invert."""
    smallest = np.linalg.eigvalsh(problem.M)[0]
    return refused(
        problem,
        method,
        f"M must be positive definite, its smallest eigenvalue is {smallest:.2g}",
        "Give a mass or armature to massless bodies, scale coordinates whose units hide their mass, or use null_space, "
        "which needs M to be positive definite on the null space of A alone",
        throw=throw,
    )


def refused_motion(problem: Problem, method: str, *, throw: bool) -> Formulation:
    """Refuse a mass matrix that is not positive definite on the motions that the constraints leave."""
    smallest = np.linalg.eigvalsh(problem.basis.T @ problem.M @ problem.basis)[0]
    return refused(
        problem,
        method,
        f"{Status.ILL_POSED.diagnosis}: its smallest eigenvalue there is {smallest:.2g}",
        Status.ILL_POSED.remedy + ", or scale coordinates whose units hide their mass",
        throw=throw,
    )


def refused_rank(problem: Problem, method: str, matrix: str, *, throw: bool) -> Formulation:
    """Refuse dependent rows of A."""
    rows = len(problem.gamma)
    return refused(
        problem,
        method,
        f"A has {rows} rows of rank {problem.rank}, so that {matrix} is singular",
        f"Remove {rows - problem.rank} redundant or zero row(s), or use null_space, udwadia_kalaba, "
        "mass_weighted or a projection, which need no full rank",
        throw=throw,
    )
