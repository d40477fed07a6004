"""The problem that every formulation solves, checked, and the result that every one returns.

    M a + h = τ + Aᵀλ,    A a + γ = 0

with λ the force that the constraints exert on the mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.formulations.balance import Balance
from sarrus.formulations.residuals import NOTHING, Residuals
from sarrus.formulations.tolerances import RANK_TOLERANCE, SYMMETRIC_MATRIX
from sarrus.kernels.linalg.ranked import at_rank

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """The matrices of one state: M (n, n), h (n,), A (m, n), γ (m,), τ (n,); made by `Problem.checked`."""

    M: Array
    h: Array
    A: Array
    gamma: Array
    tau: Array
    tolerance: float = RANK_TOLERANCE

    @classmethod
    def checked(
        cls,
        M: ArrayLike,
        h: ArrayLike,
        A: ArrayLike,
        gamma: ArrayLike,
        tau: ArrayLike | None,
        tolerance: float = RANK_TOLERANCE,
    ) -> Problem:
        """Return the problem as float arrays; shapes, symmetry of M and finite entries are checked.

        ``tau`` None is no force. A with no rows may have any shape with zero rows.

        Raises
        ------
        ArgumentError
            Names the argument: wrong shape, NaN or infinity, M not symmetric, tolerance not in (0, 1).
        """
        given = {"M": M, "h": h, "A": A, "gamma": gamma, "tau": 0.0 if tau is None else tau}
        arrays = {name: numbers(value, name) for name, value in given.items()}
        n = arrays["M"].shape[0] if arrays["M"].ndim == 2 else 0
        m = np.atleast_1d(arrays["gamma"]).shape[0]
        if tau is None:
            arrays["tau"] = np.zeros(n)
        if m == 0 and arrays["A"].size == 0:
            arrays["A"] = np.zeros((0, n))
        for name, shape in (("M", (n, n)), ("h", (n,)), ("A", (m, n)), ("gamma", (m,)), ("tau", (n,))):
            if arrays[name].shape != shape or n == 0:
                raise ArgumentError(
                    f"{name} has shape {arrays[name].shape}; with M (n, n) and gamma (m,) it must be {shape}",
                    element=name,
                )
            if not np.isfinite(arrays[name]).all():
                raise ArgumentError(f"{name} must be finite, got {arrays[name]}", element=name)
        if not is_symmetric(arrays["M"]):
            raise ArgumentError("M must be symmetric", element="M")
        if not 0.0 < tolerance < 1.0:
            raise ArgumentError(f"tolerance must lie between 0 and 1, got {tolerance}", element="tolerance")
        return cls(tolerance=float(tolerance), **arrays)

    @property
    def n(self) -> int:
        """Number of velocities."""
        return len(self.h)

    @cached_property
    def svd(self) -> tuple[Array, Array, Array]:
        """Full singular value decomposition U, σ, Vᵀ of A."""
        u, sigma, vt = np.linalg.svd(self.A)
        return u, sigma, vt

    @cached_property
    def mass_norm(self) -> float:
        """2-norm of M."""
        return float(np.linalg.norm(self.M, 2))

    @cached_property
    def rank(self) -> int:
        """Singular values of A above ``tolerance`` times the largest one; 0 where A is zero."""
        return matrix_rank(self.svd[1], self.tolerance)

    @cached_property
    def inverse(self) -> Array:
        """Pseudo-inverse A⁺ (n, m) with the rank above."""
        u, sigma, vt = self.svd
        r = self.rank
        return (vt[:r].T / sigma[:r]) @ u[:, :r].T

    @cached_property
    def basis(self) -> Array:
        """Orthonormal basis of the null space of A (n, n − rank)."""
        return self.svd[2][self.rank :].T

    @cached_property
    def projector(self) -> Array:
        """P = I − A⁺A, formed from the basis of the null space (symmetric to the last bit)."""
        return self.basis @ self.basis.T

    @property
    def contradiction(self) -> float:
        """Norm of the part of γ outside the range of A, |γ − A A⁺γ|: zero where the constraints agree."""
        return float(np.linalg.norm(self.svd[0][:, self.rank :].T @ self.gamma))

    @cached_property
    def determined(self) -> NDArray[np.bool_]:
        """Which multipliers are unique (m,): those of rows that take part in no dependency of rows."""
        if self.rank == len(self.gamma):
            return np.ones(len(self.gamma), dtype=bool)
        return at_rank(self.A, self.rank).determined

    @cached_property
    def balance(self) -> Balance:
        """The problem in balanced units, in which answers are checked."""
        return Balance(self.M, self.A, self.gamma, self.rank, self.tolerance)


@dataclass(frozen=True, eq=False)
class Formulation(Answer):
    """Constrained acceleration and force by one formulation.

    Attributes
    ----------
    a : (n,) acceleration.
    constraint_force : (n,) Aᵀλ (with the non-ideal force, where one was given), the force of the constraints on
        the mechanism; unique even where λ is not.
    multipliers : (m,) λ, of minimum norm where rows are redundant.
    determined : (m,) bool, which multipliers are unique.
    rank : numerical rank of A, by ``problem.tolerance``.
    condition : 2-norm condition number of the matrix that this formulation had to invert.
    status : OK if ``residuals`` are small. INCONSISTENT: rows contradict each other, A a = −γ in the least-squares
        sense. ALMOST: a residual is between 1e-9 and 1e-6. ILL_CONDITIONED: a residual is above 1e-6, or fewer than
        four digits of a are certain, or a row was dropped because of its size. Without an answer, NaN everywhere:
        ILL_POSED, NOT_FINITE, ILL_CONDITIONED or NOT_CONVERGED.
    problem : the matrices, for the self-checks.
    residuals : the `Residuals` that decide the status, NaN without an answer.
    details : by-products of the formulation by name, such as projectors; its function lists them.
    """

    a: Array
    constraint_force: Array
    multipliers: Array
    determined: NDArray[np.bool_]
    rank: int
    condition: float
    status: Status
    problem: Problem = field(repr=False)
    residuals: Residuals = NOTHING
    details: dict[str, Array | float] = field(default_factory=dict, repr=False)

    @property
    def force_residual(self) -> float:
        """Norm of M a + h − τ − constraint force, relative to the largest of the four terms."""
        p = self.problem
        terms = np.array([p.M @ self.a, p.h, -p.tau, -self.constraint_force])
        size = float(np.linalg.norm(terms, axis=1).max())
        return float(np.linalg.norm(terms.sum(axis=0))) / max(size, LEAST_DIVISOR)

    @property
    def constraint_residual(self) -> float:
        """Norm of A⁺(A a + γ), the residual that can be removed, relative to |a| + |A⁺γ|."""
        p = self.problem
        particular = p.inverse @ p.gamma
        left = p.inverse @ (p.A @ self.a) + particular
        size = float(np.linalg.norm(self.a)) + float(np.linalg.norm(particular))
        return float(np.linalg.norm(left)) / max(size, LEAST_DIVISOR)


def numbers(value: ArrayLike, name: str) -> Array:
    """Return an array of floats, or raise `ArgumentError`, which names it."""
    try:
        return real_array(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must be an array of numbers: {error}", element=name) from error


def as_array(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return a finite float array of a given shape, or raise `ArgumentError`, which names it."""
    array = numbers(value, name)
    if array.shape != shape:
        raise ArgumentError(f"{name} has shape {array.shape}; it must be {shape}", element=name)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} must be finite, got {array}", element=name)
    return array


def optional_vector(value: ArrayLike | None, size: int, name: str) -> Array:
    """Return a finite vector, zeros for None, or raise `ArgumentError`, which names it."""
    vector = np.zeros(size) if value is None else real_array(value)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ArgumentError(f"{name} must be {size} finite numbers, got {vector}", element=name)
    return vector


def is_symmetric(matrix: Array) -> bool:
    """Return whether a matrix differs from its transpose by rounding only."""
    return bool(
        np.abs(matrix - matrix.T).max(initial=0.0) <= SYMMETRIC_MATRIX * np.abs(matrix).max(initial=0.0)
    )


def matrix_rank(sigma: Array, tolerance: float) -> int:
    """Return the number of singular values above ``tolerance`` times the largest one."""
    return int(np.count_nonzero(sigma > tolerance * sigma.max(initial=0.0)))
