"""Operational space: the dynamics of a mechanism in task coordinates, with or without constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from sarrus.base.errors import SolveError
from sarrus.formulations.problem import Array, Problem, as_array, numbers, optional_vector
from sarrus.formulations.requirements import definite_root, definite_solve
from sarrus.formulations.tolerances import RANK_TOLERANCE


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """Task dynamics Λ ẍ + μ + p = f, with the force Jᵀf on the mechanism; made by `operational_space`.

    Attributes
    ----------
    inertia : Λ (m, m), under constraints Λ_c: symmetric, zero in directions in which the task cannot move.
    inverse_inertia : J Θ M⁻¹ Jᵀ (m, m); Λ is its inverse, or its pseudo-inverse if it is singular.
    velocity_force : μ (m,), under constraints μ_c. gravity_force : p (m,), under constraints p_c.
    consistent_inverse : J̄ (n, m), the dynamically consistent inverse; with constraints A J̄ = 0.
    null_space : Nᵀ (n, n). A force Nᵀτ accelerates neither the task nor a constraint.
    constraint_null_space : Θ (n, n), the identity without constraints; ẍ = J Θ M⁻¹ τ + …, A Θ = 0.
    rank : of the task on the motions that the constraints allow; J J̄ is the identity if the rank is m.
    constraint_rank : of A.
    """

    inertia: Array
    inverse_inertia: Array
    velocity_force: Array
    gravity_force: Array
    consistent_inverse: Array
    null_space: Array
    constraint_null_space: Array
    rank: int
    constraint_rank: int

    def force(self, acceleration: ArrayLike) -> Array:
        """Return f = Λ ẍ + μ + p (m,) for an acceleration of the task (m,)."""
        wanted = as_array(acceleration, self.velocity_force.shape, "acceleration")
        return self.inertia @ wanted + self.velocity_force + self.gravity_force


def operational_space(
    M: ArrayLike,
    h: ArrayLike,
    J: ArrayLike,
    bias: ArrayLike,
    A: ArrayLike | None = None,
    gamma: ArrayLike | None = None,
    *,
    gravity: ArrayLike | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> OperationalSpace:
    """Return the `OperationalSpace` of a task ẋ = J v, ẍ = J a + J̇ v.

        Λ = (J Θ M⁻¹ Jᵀ)⁻¹                                     (9),  (110)
        μ = Λ (J Θ M⁻¹ b − J̇ v + J Ā γ)                        (10), (111)
        p = Λ J Θ M⁻¹ g = J̄ᵀ g                                 (11), (112)
        J̄ = Θ M⁻¹ Jᵀ Λ                                         (12)
        Nᵀ = Θᵀ (I − Jᵀ J̄ᵀ)                                    (5),  (94)

    De Sapio and Park 2010, sections 2.1 and 4.1, after Khatib 1987. Their Φ is our A, Φ̇ q̇ our γ, b + g our h. Without
    constraints Θ = I, and the rest is that of section 2.1; with them Λ, μ, p are their Λ_c, μ_c, p_c. A force
    Jᵀ(Λ ẍ + μ + p) + Nᵀτ* then moves the task with ẍ, whatever τ* is; forces of springs and dampers count as τ.

    Redundant, zero and singular rows of A change nothing: inverses are pseudo-inverses, from A M^(−1/2). A task with
    dependent rows, or one that the constraints hold in part, has a rank below m: Λ is a pseudo-inverse, and ẍ is met in
    the least-squares sense. Inconsistent constraints: as in `sarrus.formulations.mass_weighted`.

    Parameters
    ----------
    M : (n, n) symmetric and positive definite. h : (n,).
    J : (m, n). bias : J̇ v (m,).
    A, gamma : (k, n) and (k,), or neither.
    gravity : (n,) the part g of h; default zero, so that μ has all of it.
    tolerance : singular values of A below this multiple of the largest one are zero; so are those of J Θ M^(−1/2) below
        this multiple of the largest of J M^(−1/2).

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        An argument has a wrong shape or is not finite.
    """
    n = len(np.atleast_1d(numbers(h, "h")))
    rows = np.zeros((0, n)) if A is None else A
    problem = Problem.checked(M, h, rows, np.zeros(0) if gamma is None else gamma, None, tolerance)
    task, drift = task_arrays(J, bias, n, "J")
    g = optional_vector(gravity, n, "gravity")
    root = required_root(problem.M, "operational_space")
    held, multiplied = constraint_directions(problem, root)
    seen = solve_triangular(root, task.T, lower=True).T
    own = seen - (seen @ held.T) @ held
    left, sigma, right = truncated(own, seen, tolerance)
    theta = np.eye(n) - solve_triangular(root, held.T, lower=True, trans="T") @ held @ root.T
    inverse = solve_triangular(root, right.T / sigma, lower=True, trans="T") @ left.T
    inertia = (left / sigma**2) @ left.T
    free = np.eye(n) - held.T @ held - right.T @ right
    b = definite_solve(root, problem.h - g)
    particular = solve_triangular(root, held.T @ multiplied, lower=True, trans="T")
    return OperationalSpace(
        inertia=inertia,
        inverse_inertia=own @ own.T,
        velocity_force=inertia @ (task @ (theta @ b + particular) - drift),
        gravity_force=inverse.T @ g,
        consistent_inverse=inverse,
        null_space=root @ solve_triangular(root, free.T, lower=True, trans="T").T,
        constraint_null_space=theta,
        rank=len(sigma),
        constraint_rank=problem.rank,
    )


def required_root(M: Array, name: str) -> Array:
    """Return L of L Lᵀ = M; `SolveError` in the name of a function where M is not positive definite."""
    root = definite_root(M)
    if root is None:
        smallest = np.linalg.eigvalsh(M)[0]
        raise SolveError(
            f"{name}: M must be positive definite, its smallest eigenvalue is {smallest:.2g}. Give a mass or "
            "armature to massless bodies",
            element=name,
        )
    return root


def constraint_directions(problem: Problem, root: Array) -> tuple[Array, Array]:
    """Return the orthonormal rows V of A L⁻ᵀ = U Σ Vᵀ (rank, n), and Σ⁻¹Uᵀγ (rank,)."""
    left, sigma, right = np.linalg.svd(solve_triangular(root, problem.A.T, lower=True).T, full_matrices=False)
    r = problem.rank
    return right[:r], (left[:, :r].T @ problem.gamma) / sigma[:r]


def truncated(matrix: Array, whole: Array, tolerance: float) -> tuple[Array, Array, Array]:
    """Return U, σ, Vᵀ of a matrix, without what is small beside the largest singular value of ``whole``."""
    left, sigma, right = np.linalg.svd(matrix, full_matrices=False)
    largest = float(np.linalg.norm(whole, 2)) if whole.size else 0.0
    r = int(np.count_nonzero(sigma > tolerance * largest))
    return left[:, :r], sigma[:r], right[:r]


def task_arrays(J: ArrayLike, bias: ArrayLike, n: int, name: str) -> tuple[Array, Array]:
    """Return J (m, n) and J̇ v (m,) of a task as finite floats, or raise `ArgumentError`."""
    drift = np.atleast_1d(numbers(bias, f"bias of {name}"))
    m = len(drift)
    return as_array(J, (m, n), name), as_array(drift, (m,), f"bias of {name}")
