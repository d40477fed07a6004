"""Equations of motion projected on the motions that constraints leave: Kᵀ removes the multipliers."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.linalg import dense
from sarrus.linalg.dense import product


def projected_rates(
    basis: Array, mass: Array, force: Array, particular: Array, inertia: Array | None = None
) -> Array:
    """Return y with Kᵀ(M (p + K y) + F) = 0 for a basis K of the null space of A; p + K y then solves A x = A p.

    ``force`` F and ``particular`` p are vectors or columns. M need only be positive definite on the motions: KᵀM K,
    which may be given as ``inertia``. `numpy.linalg.LinAlgError` where it is singular.
    """
    inertia = product(basis.T, mass, basis) if inertia is None else inertia
    return -np.asarray(dense.solve(inertia, product(basis.T, force + product(mass, particular))))
