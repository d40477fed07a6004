"""Task-level orthogonalization: the recursive algorithms 1 and 2 of De Sapio and Park 2010."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from sarrus.base.errors import ArgumentError
from sarrus.base.status import Answer, Status
from sarrus.formulations.problem import Array, Problem, as_array, optional_vector
from sarrus.formulations.tasks.operational_space import (
    constraint_directions,
    required_root,
    task_arrays,
    truncated,
)
from sarrus.formulations.tolerances import FORCE_MISSING, RANK_TOLERANCE

# J (m, n), the acceleration that is wanted (m,), J̇ v (m,)
TaskRows = tuple[ArrayLike, ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class OrthogonalTask:
    """A task in the recursion: Q (m, n) is J on the motions left by tasks above, z (m,) its force, Nᵀ (n, n) the rest.

    ``rank`` is that of Q; below m the task depends on tasks above it, on the constraints, or its own rows are
    dependent. ``residual`` is the norm of its missing acceleration.
    """

    Q: Array
    z: Array
    null_space: Array
    rank: int
    residual: float


@dataclass(frozen=True, eq=False)
class TaskOrthogonalization(Answer):
    """Force for tasks in order of priority; made by `task_orthogonalization` and its constrained form.

    Attributes
    ----------
    tau : (n,) τ, the force of the actuators. u : (nu,) controls with S u = τ; τ itself without ``actuation``.
    total : (n,) η = τ + Aᵀλ, the force of actuators and constraints; τ without constraints.
    multipliers : (m,) λ of the constraints, the force on the mechanism, of minimum norm where rows are redundant.
    a : (n,) acceleration M⁻¹(η − h).
    tasks : an `OrthogonalTask` for each task, in their order.
    constraint_rank : of A.
    residual : norm of the part of η along the motions that the actuators cannot produce, relative to η.
    status : OK; NOT_ACHIEVABLE if the residual is not zero: ``u`` then has the least residual, and a is not the actual
        acceleration.
    """

    tau: Array
    u: Array
    total: Array
    multipliers: Array
    a: Array
    tasks: tuple[OrthogonalTask, ...]
    constraint_rank: int
    residual: float
    status: Status


def task_orthogonalization(
    M: ArrayLike,
    h: ArrayLike,
    tasks: Sequence[TaskRows],
    *,
    rest: ArrayLike | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> TaskOrthogonalization:
    """Return the force for tasks in order of priority (algorithm 1 of De Sapio and Park 2010).

        Qᵢᵀ = Nᵢ₋₁ᵀ Jᵢᵀ                                                       (55)
        zᵢ = (Jᵢ M⁻¹ Qᵢᵀ)⁺ (ẍᵢ + Jᵢ M⁻¹ (h − τᵢ₋₁) − J̇ᵢ v)                   (70)
        Nᵢᵀ = Nᵢ₋₁ᵀ (I − Qᵢᵀ Q̄ᵢᵀ),   Q̄ᵢᵀ = (Qᵢ M⁻¹ Qᵢᵀ)⁺ Qᵢ M⁻¹              (36), (54)
        τᵢ = τᵢ₋₁ + Qᵢᵀ zᵢ,   τ = τₙ + Nₙᵀ τ*                                 (69), (71)

    Their b + g is our h. The inverses are pseudo-inverses here: a task that depends on those above it, or is singular,
    loses rank, is met in the least-squares sense and disturbs none. Every joint has a motor.

    Parameters
    ----------
    M : (n, n) symmetric and positive definite. h : (n,).
    tasks : for each, the most important first, J (m, n), the acceleration ẍ (m,) and J̇ v (m,).
    rest : τ* (n,), a force for the motions that no task uses; default zero.
    tolerance : singular values of Qᵢ M^(−1/2) below this multiple of the largest of Jᵢ M^(−1/2) are zero.

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        An argument has a wrong shape or is not finite; it names the task by its place.
    """
    n = np.shape(h)[0] if np.ndim(h) == 1 else 0
    return constrained_task_orthogonalization(
        M, h, np.zeros((0, n)), np.zeros(0), tasks, rest=rest, tolerance=tolerance
    )


def constrained_task_orthogonalization(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tasks: Sequence[TaskRows],
    *,
    actuation: ArrayLike | None = None,
    rest: ArrayLike | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> TaskOrthogonalization:
    """Return the force for tasks in order of priority under constraints (algorithm 2 of De Sapio and Park 2010).

    The constraints A a = −γ are task 0: N₀ᵀ = Θᵀ, η₀ = Aᵀ(α + ρ) (85), (86). The recursion is that of
    `task_orthogonalization`, for the total force η (91) to (96), of which τ = η − Aᵀλ is the actuators' (97). Their Φ
    is our A, Φ̇ q̇ our γ. λ follows from the condition on joints without motors, S̃ τ = 0 (98), and where that leaves a
    choice the controls are the smallest: S u + Aᵀλ = η with least |u|.

    Redundant and zero rows are ordinary, and so are singular configurations, where directions of A below ``tolerance``
    are left unconstrained. Inconsistent constraints: least squares. Tasks: as in `task_orthogonalization`.
    `sarrus.control.TaskHierarchy` asks for the same, and uses what no task needs to keep joints without motors free of
    torque where this recursion, with a given τ*, is NOT_ACHIEVABLE.

    Parameters
    ----------
    M, h, tasks, rest, tolerance : as in `task_orthogonalization`. A, gamma : (m, n), (m,).
    actuation : S (n, nu), the force on coordinates per control; default the identity, every joint with a motor.

    Raises
    ------
    SolveError
        M is not positive definite.
    ArgumentError
        An argument has a wrong shape or is not finite; it names the task by its place.
    """
    problem = Problem.checked(M, h, A, gamma, None, tolerance)
    n, name = problem.n, "task_orthogonalization"
    if not tasks:
        raise ArgumentError(f"{name}: at least one task is needed", element="tasks")
    root = required_root(problem.M, name)
    used, multiplied = constraint_directions(problem, root)
    # In the coordinates of L⁻¹ forces of different tasks are orthogonal; `total` is η there, `used` what is taken.
    bias = solve_triangular(root, problem.h, lower=True)
    total = used.T @ (used @ bias - multiplied)
    found, wanted = [], []
    for k, task in enumerate(tasks):
        J, acceleration, drift = _task(task, n, f"tasks[{k}]")
        seen = solve_triangular(root, J.T, lower=True).T
        own = seen - (seen @ used.T) @ used
        left, sigma, right = truncated(own, seen, tolerance)
        right -= (right @ used.T) @ used
        lacking = left.T @ (acceleration - drift + seen @ (bias - total)) / sigma
        total = total + right.T @ lacking
        used = np.vstack([used, right])
        found.append((root @ own.T, left @ (lacking / sigma), _null_space(root, used), len(sigma)))
        wanted.append((J, acceleration - drift))
    rest_force = solve_triangular(root, optional_vector(rest, n, "rest"), lower=True)
    total = total + rest_force - used.T @ (used @ rest_force)
    eta = root @ total
    a = solve_triangular(root, total - bias, lower=True, trans="T")
    S = np.eye(n) if actuation is None else _actuation(actuation, n)
    motions = problem.basis.T
    u = np.linalg.pinv(motions @ S, rcond=tolerance) @ (motions @ eta)
    missing = float(np.linalg.norm(motions @ (S @ u - eta))) / (float(np.linalg.norm(eta)) or 1.0)
    return TaskOrthogonalization(
        tau=S @ u,
        u=u,
        total=eta,
        multipliers=problem.inverse.T @ (eta - S @ u),
        a=a,
        tasks=tuple(
            OrthogonalTask(Q.T, z, N, rank, float(np.linalg.norm(J @ a - r)))
            for (Q, z, N, rank), (J, r) in zip(found, wanted)
        ),
        constraint_rank=problem.rank,
        residual=missing,
        status=Status.NOT_ACHIEVABLE if missing > FORCE_MISSING else Status.OK,
    )


def _null_space(root: Array, used: Array) -> Array:
    """Return Nᵀ = L (I − Vᵀ V) L⁻¹."""
    free = np.eye(len(root)) - used.T @ used
    return root @ solve_triangular(root, free.T, lower=True, trans="T").T


def _task(task: TaskRows, n: int, name: str) -> tuple[Array, Array, Array]:
    if len(task) != 3:
        raise ArgumentError(
            f"{name} must be three arrays, J (m, n), acceleration (m,) and J̇ v (m,), got {len(task)}",
            element=name,
        )
    J, drift = task_arrays(task[0], task[2], n, name)
    return J, as_array(np.atleast_1d(task[1]), drift.shape, f"acceleration of {name}"), drift


def _actuation(actuation: ArrayLike, n: int) -> Array:
    shape = np.shape(actuation)
    return as_array(actuation, (n, shape[1] if len(shape) == 2 else 0), "actuation")
