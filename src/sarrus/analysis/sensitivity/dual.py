"""`Dual`: a vector with its derivatives in several directions, so that a formula is written once for both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.dense import product


@dataclass(frozen=True, eq=False)
class Dual:
    """A vector (n,) and its derivatives (n, k) as columns; products and quotients are by entries."""

    value: Array
    along: Array

    @classmethod
    def zeros(cls, count: int, width: int) -> Dual:
        """Return zero with derivatives zero."""
        return cls(np.zeros(count), np.zeros((count, width)))

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.along + other.along)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.along - other.along)

    def __getitem__(self, places: np.ndarray | slice) -> Dual:
        return Dual(self.value[places], self.along[places])

    def times(self, factor: float | Array) -> Dual:
        """Return the product with a constant number, or a constant number for each entry."""
        by = np.broadcast_to(factor, self.value.shape)
        return Dual(by * self.value, by[:, None] * self.along)

    def by(self, other: Dual) -> Dual:
        """Return the product of entries."""
        along = self.along * other.value[:, None] + self.value[:, None] * other.along
        return Dual(self.value * other.value, along)

    def over(self, other: Dual) -> Dual:
        """Return the quotient of entries."""
        quotient = self.value / other.value
        return Dual(quotient, (self.along - quotient[:, None] * other.along) / other.value[:, None])

    def mapped(self, matrix: Array) -> Dual:
        """Return the product of a constant matrix and the vector."""
        return Dual(product(matrix, self.value), product(matrix, self.along))

    def spread(self, places: np.ndarray, count: int) -> Dual:
        """Return a vector (count,) with these entries at ``places``, and zero elsewhere."""
        out = Dual.zeros(count, self.along.shape[1])
        out.value[places], out.along[places] = self.value, self.along
        return out
