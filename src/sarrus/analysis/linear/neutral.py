"""Exact zero eigenvalues (neutral directions), separated from all others, and the stability of the rest.

Position and heading of a vehicle or free structure, and the rolled angle of wheels, have no effect on forces; steady
motions form families over speed. Each is a zero eigenvalue, in Jordan chains if one makes another grow, as a turn of
the heading makes a vehicle drift sideways. They are removed by a staircase of null spaces, A → Cᵀ A C with C normal to
the null space, until none is left (Golub and Wilkinson, Ill-conditioned eigensystems, SIAM Review 18, 1976). An
eigenvalue routine would scatter a chain of k zeros by rounding over a circle of radius ε^(1/k).

An eigenvalue that is zero at this state by chance, such as that of capsize at one speed, looks the same. It is nonzero
at states nearby; those of families remain zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eig, matrix_balance

from sarrus.analysis.linear.tolerances import (
    BESIDE_STATE,
    EIGENVALUE_ERROR,
    EIGENVALUE_WORST,
    ZERO_BESIDE,
    ZERO_SINGULAR_VALUE,
)
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.manifold import close
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked


class LinearModel(Protocol):
    """The attributes of `sarrus.analysis.linear.linear_system.LinearSystem` that are needed here."""

    @property
    def A(self) -> Array: ...
    @property
    def tangent(self) -> Array: ...
    @property
    def coordinates(self) -> tuple[str, ...]: ...
    @property
    def coordinate_indices(self) -> tuple[int, ...]: ...
    @property
    def velocity_indices(self) -> tuple[int, ...]: ...
    @property
    def dof(self) -> int: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def u(self) -> Array: ...
    @property
    def t(self) -> float: ...
    @property
    def system(self) -> System: ...
    @property
    def at(self) -> Callable[[Array, Array], LinearModel]: ...


@dataclass(frozen=True, eq=False)
class Staircase:
    """A matrix in characteristic units as Qᵀ A Q = [T, *; 0, R], T nilpotent and R regular.

    ``basis`` is Q (n, n), whose first ``neutral`` columns span the zero eigenvalues, ``scale`` (n,) the units.
    """

    matrix: Array
    basis: Array
    neutral: int
    scale: Array

    @property
    def rest(self) -> Array:
        """R."""
        return self.matrix[self.neutral :, self.neutral :]

    @property
    def eigenvectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (n,) and eigenvectors (n, n) in the units of the model; for zeros a basis of their space."""
        k = self.neutral
        values, vectors = np.linalg.eig(self.rest)
        whole = np.eye(len(self.matrix), dtype=complex)
        whole[k:, k:] = vectors
        for j, value in enumerate(values):
            pull = self.matrix[:k, k:] @ vectors[:, j]
            whole[:k, k + j] = np.linalg.solve(value * np.eye(k) - self.matrix[:k, :k], pull)
        return np.concatenate([np.zeros(k), values]), self.scale[:, None] * (self.basis @ whole)

    @property
    def stable(self) -> bool | None:
        """Whether R is stable; None if eigenvalues have real parts that are zero within their errors."""
        if not len(self.rest):
            return True if not len(self.matrix) else None
        balanced = matrix_balance(self.rest, permute=False)[0]
        values, left, right = eig(balanced, left=True, right=True)
        size = dense.largest(np.asarray(balanced))
        cosines = np.abs((left.conj() * right).sum(axis=0))
        error = size * np.minimum(EIGENVALUE_ERROR / np.maximum(cosines, LEAST_DIVISOR), EIGENVALUE_WORST)
        if np.any(values.real > error):
            return False
        return None if np.any(values.real >= -error) else True


def characteristic_scale(model: LinearModel) -> Array:
    """Return the scales of the entries of x (n,): lengths, and rates by the fastest eigenvalue.

    The rate scale is at least that of a pendulum of the characteristic length, because rounding has eigenvalues too.
    """
    size, mechanism = model.system.characteristic, model.system.mechanism
    columns, swing = size.columns, 0.0
    if mechanism is not None:
        swing = float(np.sqrt(dense.norm(mechanism.gravity) / size.length))
    fastest = max(float(np.abs(np.linalg.eigvals(model.A)).max(initial=0.0)), swing) or 1.0
    scale = np.ones(len(model.A))
    count = len(model.coordinates)
    if model.coordinate_indices:
        scale[:count] = 1.0 / columns[list(model.coordinate_indices)]
        scale[count : count + model.dof] = 1.0 / columns[list(model.velocity_indices)]
    scale[count : count + model.dof] *= fastest
    return scale


def staircase(model: LinearModel, zero: float = ZERO_SINGULAR_VALUE) -> Staircase:
    """Return the staircase of a model."""
    scale = characteristic_scale(model)
    matrix = model.A * scale / scale[:, None]
    basis, neutral = np.eye(len(matrix)), 0
    if matrix.any():
        cut = zero * dense.largest(matrix)
        while neutral < len(matrix):
            rest = np.ascontiguousarray(matrix[neutral:, neutral:])
            found = ranked(rest, cut) if rest.any() else None
            null = np.eye(len(rest)) if found is None else found.null
            if not null.shape[1]:
                break
            turn = null if found is None else np.hstack([null, found.right])
            basis[:, neutral:] = basis[:, neutral:] @ turn
            matrix[:neutral, neutral:] = matrix[:neutral, neutral:] @ turn
            matrix[neutral:, neutral:] = turn.T @ rest @ turn
            matrix[neutral:, neutral : neutral + null.shape[1]] = 0.0
            neutral += null.shape[1]
    return Staircase(matrix, basis, neutral, scale)


def stable(model: LinearModel, stairs: Staircase) -> bool | None:
    """Return whether all directions except the neutral ones decay; None if the linear model does not decide."""
    verdict = stairs.stable
    if verdict and stairs.neutral and model.system.nc == model.system.nh:
        return None  # a load at its critical value has a zero eigenvalue too, and the second order decides
    if verdict and stairs.neutral and model.v.any() and not _remain(model, stairs):
        return None
    return verdict


def _remain(model: LinearModel, stairs: Staircase) -> bool:
    """Return whether as many eigenvalues are zero at a state nearby, along the neutral directions."""
    system, nv = model.system, model.system.nv
    weights = np.random.default_rng(3).uniform(0.5, 1.5, stairs.neutral)
    step = stairs.scale * (stairs.basis[:, : stairs.neutral] @ (BESIDE_STATE * weights))
    change = model.tangent @ step
    q = close(system, system.move(model.q, change[:nv]), model.t)
    if q is None:
        return False
    try:
        v = system.project_velocity(q, model.v + change[nv:], model.t)
        beside = model.at(q, v)
    except SarrusError:
        return False
    return staircase(beside, ZERO_BESIDE).neutral >= stairs.neutral
