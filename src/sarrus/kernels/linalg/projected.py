"""Equations of motion projected on the null space of A: multiplication by Kᵀ removes the multipliers."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import Ranked, at_rank


def projected_rates(
    basis: Array,
    mass: Array,
    force: Array,
    particular: Array,
    inertia: Array | None = None,
    unpushed: Array | None = None,
) -> Array:
    """Return y with Lᵀ(M (p + K y) + F) = 0 for a basis K of the null space of A; p + K y then solves A x = A p.

    ``force`` F and ``particular`` p are vectors or columns. ``unpushed`` is L, by default K. LᵀM K must be regular, for
    L = K so that M is positive definite on the null space of A; it may be given as ``inertia``. Raises
    `numpy.linalg.LinAlgError` if it is singular.
    """
    left = basis if unpushed is None else unpushed
    inertia = product(left.T, mass, basis) if inertia is None else inertia
    return -np.asarray(dense.solve(inertia, product(left.T, force + product(mass, particular))))


def unpushed_by(rows: Ranked, push: Array) -> Array:
    """Return a basis L of the motions on which the forces Pᵀλ do no work, P = ``push``, for λ in the range of A.

    L has as many columns as the null space of A, so that for P = A it is that space. Parts of λ that A does not
    determine do not change.
    """
    return at_rank(product(rows.left.T, push), rows.rank).null


def acceleration_change(
    rows: Ranked, mass: Array, force: Array, bias: Array, push: Array | None = None
) -> Array:
    """Return δa for changes δF and δG (columns): M δa − Pᵀδλ = −δF, A δa = −δG, in the null space of A.

    P = ``push`` is A by default; then M must be positive definite on the null space of A only. δλ is eliminated.
    """
    particular, left = -product(rows.inverse, bias), None if push is None else unpushed_by(rows, push)
    rates = projected_rates(rows.null, mass, force, particular, unpushed=left)
    return np.asarray(particular + product(rows.null, rates))


def correction(rows: Ranked, mass: Array, residual: Array) -> Array:
    """Return the shortest s in the metric of M with A s = −r, for an r (a vector or columns) in the range of A.

    The derivative of s follows from M s = Aᵀμ, μ = A⁺ᵀM s: `acceleration_change` for the changes of M s − Aᵀμ and r +
    A s with constant s and μ.
    """
    return acceleration_change(rows, mass, np.zeros((len(mass), *residual.shape[1:])), residual)
