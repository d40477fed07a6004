"""Equations of motion projected on the null space of A: multiplication by Kᵀ removes the multipliers."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import Ranked


def projected_rates(
    basis: Array, mass: Array, force: Array, particular: Array, inertia: Array | None = None
) -> Array:
    """Return y with Kᵀ(M (p + K y) + F) = 0 for a basis K of the null space of A; p + K y then solves A x = A p.

    ``force`` F and ``particular`` p are vectors or columns. M must be positive definite on the null space of A only;
    KᵀM K may be given as ``inertia``. Raises `numpy.linalg.LinAlgError` if it is singular.
    """
    inertia = product(basis.T, mass, basis) if inertia is None else inertia
    return -np.asarray(dense.solve(inertia, product(basis.T, force + product(mass, particular))))


def acceleration_change(rows: Ranked, mass: Array, force: Array, bias: Array) -> Array:
    """Return δa for changes δF and δG (columns): M δa − Aᵀδλ = −δF, A δa = −δG, in the null space of A.

    M must be positive definite on the null space of A only; δλ is eliminated.
    """
    particular = -product(rows.inverse, bias)
    return np.asarray(particular + product(rows.null, projected_rates(rows.null, mass, force, particular)))


def correction(rows: Ranked, mass: Array, residual: Array) -> Array:
    """Return the shortest s in the metric of M with A s = −r, for an r (a vector or columns) in the range of A.

    The derivative of s follows from M s = Aᵀμ, μ = A⁺ᵀM s: `acceleration_change` for the changes of M s − Aᵀμ and r +
    A s with constant s and μ.
    """
    return acceleration_change(rows, mass, np.zeros((len(mass), *residual.shape[1:])), residual)
