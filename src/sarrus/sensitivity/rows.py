"""The constraint matrix at its rank, and how the solves with it change."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.linalg import dense
from sarrus.linalg.dense import product


class RankedRows:
    """A cut to its rank: A⁺, and an orthonormal basis Z of the motions that it leaves."""

    def __init__(self, jacobian: Array, rank: int) -> None:
        m, n = jacobian.shape
        if rank == 0:
            self.inverse, self.motions, self.left_null = np.zeros((n, m)), np.eye(n), np.eye(m)
            return
        left, sigma, right = dense.svd(jacobian, rank)
        self.inverse = product(right[:rank].T / sigma[:rank], left[:, :rank].T)
        self.motions, self.left_null = right[rank:].T, left[:, rank:]

    def acceleration_change(self, mass: Array, force: Array, bias: Array) -> Array:
        """Return δa for changes δF and δG (columns): M δa − Aᵀδλ = −δF, A δa = −δG, in the null space of A.

        M need only be positive definite on the motions; δλ does not enter.
        """
        z, particular = self.motions, -product(self.inverse, bias)
        reduced = product(z.T, mass, z)
        pushed = product(z.T, force + product(mass, particular))
        return np.asarray(particular - product(z, dense.solve(reduced, pushed)))

    def correction(self, mass: Array, residual: Array) -> Array:
        """Return the shortest s in the metric of M with A s = −r (a vector or columns), for an r in the range of A.

        Its change follows from M s = Aᵀμ, μ = A⁺ᵀM s: by `acceleration_change` for the changes of M s − Aᵀμ and
        r + A s with s and μ held.
        """
        return self.acceleration_change(mass, np.zeros((len(mass), *residual.shape[1:])), residual)
