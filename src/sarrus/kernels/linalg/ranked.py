"""`Ranked`: a matrix at its numerical rank, with its four subspaces, its pseudo-inverse and its gap of singular
values.

All rank decisions are made here, by singular values with the same bits on every machine
(`sarrus.kernels.linalg.dense`). The caller chooses metric, units and cut, by scaling rows and columns, as with
`in_metric`. Cuts used by several callers are in `sarrus.kernels.linalg.tolerances`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.tolerances import ABSENT_ROW, RANK_CUT


@dataclass(frozen=True, eq=False)
class Ranked:
    """A matrix (m × n) with the singular values beyond ``rank`` set to zero; orthonormal bases by columns.

    Attributes
    ----------
    values : (min(m, n),) all singular values, the largest first.
    left, left_null : (m × rank), (m × (m − rank)) bases of its range and of its left null space (uᵀA = 0).
    right, null : (n × rank), (n × (n − rank)) bases of the range of its transpose and of its null space (A x = 0).
        Null spaces are continuous functions of the matrix, see `sarrus.kernels.linalg.dense.completed`.
    """

    values: Array
    rank: int
    left: Array
    left_null: Array
    right: Array
    null: Array

    @property
    def kept(self) -> Array:
        """The nonzero singular values (rank,)."""
        return self.values[: self.rank]

    @property
    def gap(self) -> float:
        """Ratio of the smallest nonzero singular value to the largest value set to zero; inf if no value is set to
        zero."""
        if self.rank == 0 or self.rank == len(self.values) or self.values[self.rank] == 0.0:
            return float("inf")
        return float(self.values[self.rank - 1] / self.values[self.rank])

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse A⁺ (n × m)."""
        return product(self.right / self.kept, np.ascontiguousarray(self.left.T))

    def solve(self, b: Array) -> Array:
        """Return A⁺ b, the least-squares solution of least norm, for a vector (m,) or columns (m × k)."""
        return product(self.right, (product(self.left.T, b).T / self.kept).T)

    def solve_transposed(self, b: Array) -> Array:
        """Return A⁺ᵀ b: the x of least norm with Aᵀx closest to b, for (n,) or (n × k)."""
        return product(self.left, (product(self.right.T, b).T / self.kept).T)

    def damped(self, b: Array, damping: float) -> Array:
        """Return (AᵀA + damping)⁻¹ Aᵀ b (n,) for a vector (m,): minus a Levenberg–Marquardt step for residual b."""
        return product(self.right, self.kept * product(self.left.T, b) / (self.kept**2 + damping))

    @property
    def determined(self) -> np.ndarray:
        """Mask (m,) of the entries of λ that Aᵀλ determines: e_j in the range of A; False for a zero row."""
        return np.asarray((self.left_null**2).sum(axis=1) < ABSENT_ROW)


def at_rank(matrix: Array, rank: int) -> Ranked:
    """Return the `Ranked` form of a matrix with a known rank."""
    return _parts(dense.svd(matrix, rank))


def ranked(matrix: Array, cut: float = 0.0, relative: float = 0.0) -> Ranked:
    """Return the `Ranked` form of a matrix.

    Singular values up to ``cut``, and up to ``relative`` × the largest singular value, are set to zero. Without both
    arguments, singular values that are rounding are set to zero.
    """
    return _parts(dense.svd(matrix, cut=cut, relative=relative))


def spanned(columns: Array, cut: float = 0.0, relative: float = 0.0) -> Ranked:
    """Return the `Ranked` form of a tall matrix without the basis of its left null space, which would take most of
    the work.

    For a wide matrix the basis is included.
    """
    if columns.shape[0] < columns.shape[1]:
        return ranked(columns, cut, relative)
    found = dense.thin_svd(columns, cut=cut, relative=relative)
    (left, values, right), rank = found, found.rank
    return Ranked(values, rank, left, np.zeros((len(left), 0)), right[:rank].T, right[rank:].T)


def _parts(found: dense.Decomposition) -> Ranked:
    (left, values, right), rank = found, found.rank
    return Ranked(values, rank, left[:, :rank], left[:, rank:], right[:rank].T, right[rank:].T)


def rank_of(matrix: Array, relative: float = RANK_CUT, scale: float = 0.0) -> int:
    """Return the number of singular values above ``relative`` × the larger of ``scale`` and the largest singular
    value."""
    return rank_by(dense.even_singular_values(matrix), relative, scale)


def rank_by(values: Array, relative: float = RANK_CUT, scale: float = 0.0) -> int:
    """Return the number of ``values`` above ``relative`` × the larger of ``scale`` and the largest value."""
    return int(np.count_nonzero(values > relative * max(values.max(initial=0.0), scale)))


def are_independent(columns: Array) -> bool:
    """Tell whether the smallest singular value of the columns exceeds `RANK_CUT` × the largest singular value."""
    rows, count = columns.shape
    return count == 0 or (rows >= count and rank_of(columns) == count)


def independent_rows(matrix: Array, rank: int, share: float = 0.3) -> list[int]:
    """Return the indices of ``rank`` independent rows that span the rows of a matrix well, early rows first.

    Threshold pivoting: each is the first row whose part normal to the chosen rows is at least ``share`` of the
    largest normal part.
    """
    left, chosen = matrix.copy(), []
    for _ in range(rank):
        sizes = np.sqrt(np.add.reduce(left * left, axis=1))
        i = int(np.argmax(sizes > share * sizes.max()))
        along = left[i] / sizes[i]
        left = left - np.multiply.outer(product(left, along), along)
        chosen.append(i)
    return sorted(chosen)


def in_metric(rows: Array, root: Array) -> Array:
    """Return A C⁻ᵀ for the metric M = C Cᵀ of the columns, C (``root``) a lower triangle.

    The singular values of A C⁻ᵀ equal those of A M^(−1/2).
    """
    return dense.solve(root, rows.T).T


def beyond(columns: Array, others: Array) -> Array:
    """Return an orthonormal basis (n × k) of the part of the space ``columns`` that is normal to the space
    ``others``.

    Both spaces are given by orthonormal columns. k is the difference of their dimensions; the basis is empty for k ≤
    0.
    """
    excess = max(columns.shape[1] - others.shape[1], 0)
    return dense.svd(columns - product(others, product(others.T, columns))).left[:, :excess]
