"""Requirements of a formulation on a problem, the refusal of a problem that lacks one, and the checked answer."""

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
from sarrus.formulations.tolerances import MASSLESS, NUMERICALLY_SINGULAR, PIVOT_NOISE

Method = TypeVar("Method", bound=Callable[..., Formulation])


class Refused(Exception):
    """A problem without an answer by this formulation, with reason and remedy; caught by `guarded`."""

    def __init__(
        self,
        problem: Problem,
        reason: str,
        remedy: str,
        status: Status = Status.ILL_POSED,
        condition: float = float("inf"),
    ) -> None:
        super().__init__(reason)
        self.problem, self.reason, self.remedy = problem, reason, remedy
        self.status, self.condition = status, condition


def definite_root(matrix: Array, floor: float | None = None) -> Array | None:
    """Return the lower triangle L of L Lᵀ = matrix, or None where the matrix is not positive definite.

    Pivots up to ``floor`` count as zero; by default those that are rounding noise of the matrix.
    """
    try:
        root = np.asarray(np.linalg.cholesky(matrix), dtype=float)
    except np.linalg.LinAlgError:
        return None
    if floor is None:
        floor = len(matrix) * PIVOT_NOISE * float(np.diagonal(matrix).max(initial=0.0))
    return root if (np.diagonal(root) ** 2 > floor).all() else None


def mass_root(problem: Problem) -> Array:
    """Return L of L Lᵀ = M; `Refused` where the method cannot invert M."""
    root = definite_root(problem.M)
    if root is None:
        smallest = np.linalg.eigvalsh(problem.M)[0]
        raise Refused(
            problem,
            f"M must be positive definite, its smallest eigenvalue is {smallest:.2g}",
            "Give a mass or armature to massless bodies, scale coordinates whose units hide their mass, or use "
            "null_space, which needs M to be positive definite on the null space of A alone",
        )
    return root


def motion_root(problem: Problem, basis: Array) -> Array:
    """Return L of L Lᵀ = KᵀM K for a basis K, its columns of any length, of the motions that the constraints leave.

    `Refused` where M is not positive definite on these.
    """
    lengths = np.linalg.norm(basis, axis=0)
    unit = basis / lengths
    root = definite_root(unit.T @ problem.M @ unit, MASSLESS * float(np.linalg.norm(problem.M, 2)))
    if root is None:
        smallest = np.linalg.eigvalsh(problem.basis.T @ problem.M @ problem.basis)[0]
        raise Refused(
            problem,
            f"{Status.ILL_POSED.diagnosis}: its smallest eigenvalue there is {smallest:.2g}",
            Status.ILL_POSED.remedy + ", or scale coordinates whose units hide their mass",
        )
    return lengths[:, None] * root


def require_full_rank(problem: Problem, matrix: str) -> None:
    """Refuse dependent rows of A, for which ``matrix`` is singular."""
    rows = len(problem.gamma)
    if problem.rank < rows:
        raise Refused(
            problem,
            f"A has {rows} rows of rank {problem.rank}, so that {matrix} is singular",
            f"Remove {rows - problem.rank} redundant or zero row(s), or use null_space, udwadia_kalaba, "
            "mass_weighted or a projection, which need no full rank",
        )


def require_digits(problem: Problem, matrix: str, condition: float) -> None:
    """Refuse a scaled matrix with a condition number beyond double precision."""
    if condition > NUMERICALLY_SINGULAR:
        raise Refused(
            problem,
            f"the scaled {matrix} is too ill-conditioned, condition number {condition:.1g}",
            "Use null_space or udwadia_kalaba, which do not square the condition number of A",
            Status.ILL_CONDITIONED,
            condition,
        )


def definite_solve(root: Array, right: Array) -> Array:
    """Return (L Lᵀ)⁻¹ right."""
    return dpotrs(root, right, lower=1)[0] if right.size else np.zeros(right.shape)


def general_solver(matrix: Array) -> Callable[[Array], Array]:
    """Return the function right → matrix⁻¹ right, by LU with partial pivoting."""
    factor, pivots, _ = dgetrf(matrix)

    def solve(right: Array) -> Array:
        return dgetrs(factor, pivots, right)[0]

    return solve


def guarded(method: Method) -> Method:
    """Decorate a formulation: a problem without an answer raises or returns NaN, as ``throw`` says.

    Overflow, division by zero after underflow, and failure of LAPACK give the status NOT_FINITE, without NumPy
    warnings.
    """

    @wraps(method)
    def call(
        M: ArrayLike, h: ArrayLike, A: ArrayLike, gamma: ArrayLike, *args: Any, **options: Any
    ) -> Formulation:
        with np.errstate(all="ignore"):
            try:
                return method(M, h, A, gamma, *args, **options)
            except Refused as error:
                refusal = error
            except SarrusError:
                raise
            except (ValueError, ArithmeticError) as error:
                tau = args[0] if args else options.get("tau")
                refusal = not_finite(Problem.checked(M, h, A, gamma, tau), reason=str(error))
            p = refusal.problem
            nothing, multipliers = np.full(p.n, np.nan), np.full(len(p.gamma), np.nan)
            result = Formulation(
                nothing, nothing, multipliers, p.determined, p.rank, refusal.condition, refusal.status, p
            )
        if options.get("throw", True):
            name = method.__name__
            raise SolveError(f"{name}: {refusal.reason}. {refusal.remedy}", result=result, element=name)
        return result

    return cast(Method, call)


def not_finite(problem: Problem, condition: float = float("inf"), reason: str = "overflow") -> Refused:
    """Return the refusal of numbers that overflow on the way to an answer, or have no finite answer."""
    return Refused(
        problem,
        f"{Status.NOT_FINITE.diagnosis} on the way to the answer ({reason})",
        "Scale rows and coordinates: entries of M, A, gamma or forces are too large, too small or too far apart",
        Status.NOT_FINITE,
        condition,
    )


def answered(
    problem: Problem,
    solve: Solve,
    condition: float,
    *,
    non_ideal: Array | None = None,
    details: dict[str, Array | float] | None = None,
) -> Formulation:
    """Return the refined answer of ``solve``, with the status from its residuals.

    ``solve`` takes a force (n,) and γ (m,) and returns a, the ideal constraint force and λ; it must be linear in both.
    ``non_ideal`` (n,) is a known non-ideal constraint force. An answer that is not finite is refused.
    """
    other = np.zeros(problem.n) if non_ideal is None else non_ideal
    (a, force, multipliers), residuals = refine(problem, solve, problem.tau - problem.h + other)
    status = residuals.status
    if status is Status.NOT_FINITE:
        raise not_finite(problem, condition)
    return Formulation(
        a,
        force + other,
        multipliers,
        problem.determined,
        problem.rank,
        float(condition),
        status,
        problem,
        residuals,
        details or {},
    )
