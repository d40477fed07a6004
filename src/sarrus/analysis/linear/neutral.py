"""Zero eigenvalues that are exact, told from the others, and what the others say about stability.

Where a vehicle or a free structure is and where it points acts on nothing, nor how far wheels have turned; and steady
motions come in families, one for every speed. Each is a zero eigenvalue, in chains where one makes another grow, as a
turn of the heading makes a vehicle drift aside. They are taken out by a staircase of null spaces, A → Cᵀ A C with C
normal to the null space, until nothing is left (Golub and Wilkinson, Ill-conditioned eigensystems, SIAM Review 18,
1976). Rounding would scatter a chain of k zeros over a circle of radius ε^(1/k).

An eigenvalue that is zero at this state by chance, as that of capsize is at one speed, looks the same. It is not zero
at the states beside it; those of families are.
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
    """What this needs of a `sarrus.analysis.linear.linear_system.LinearSystem`."""

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

    ``basis`` is Q (n × n), whose first ``neutral`` columns span the zero eigenvalues, ``scale`` (n,) the units.
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
        """Eigenvalues (n,) and eigenvectors (n × n) in the units of the model; of zeros what spans their space."""
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
        """Whether R decays; None where it has eigenvalues whose real parts are zero within their errors."""
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
    """Return what the entries of x are measured by (n,): lengths, and rates by the fastest eigenvalue.

    Or by how fast a pendulum of the characteristic length swings, if that is faster: rounding has eigenvalues too.
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
    """Return whether all but the neutral directions decays; None where the linear model does not tell."""
    verdict = stairs.stable
    if verdict and stairs.neutral and model.system.nc == model.system.nh:
        return None  # a load at its critical value has a zero eigenvalue too, and the second order decides
    if verdict and stairs.neutral and model.v.any() and not _remain(model, stairs):
        return None
    return verdict


def _remain(model: LinearModel, stairs: Staircase) -> bool:
    """Tell whether as many eigenvalues are zero at a state beside this one, along the neutral directions."""
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
