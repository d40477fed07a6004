"""`Ranked`: a matrix at its numerical rank, with its four subspaces, its pseudo-inverse and its gap.

Every decision about a rank is made here, by singular values with the same bits on every machine
(`sarrus.kernels.linalg.dense`). The metric, the units and the cut are the caller's: it measures rows and columns
before, as with `in_metric`, and says what counts as zero. Cuts that several have in common are here.
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
    """A matrix (m × n) whose singular values beyond the ``rank`` count as zero; orthonormal bases by columns.

    Attributes
    ----------
    values : (min(m, n),) all singular values, the largest first.
    left, left_null : (m × rank), (m × (m − rank)) its range, and the combinations of rows that vanish.
    right, null : (n × rank), (n × (n − rank)) the range of its transpose, and its null space: the motions that rows
        leave. Null spaces are continuous functions of the matrix, see `sarrus.kernels.linalg.dense.completed`.
    """

    values: Array
    rank: int
    left: Array
    left_null: Array
    right: Array
    null: Array

    @property
    def kept(self) -> Array:
        """The singular values that count (rank,)."""
        return self.values[: self.rank]

    @property
    def gap(self) -> float:
        """Ratio of the smallest singular value kept to the largest one dropped; inf where there is none."""
        if self.rank == 0 or self.rank == len(self.values) or self.values[self.rank] == 0.0:
            return float("inf")
        return float(self.values[self.rank - 1] / self.values[self.rank])

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse A⁺ (n × m)."""
        return product(self.right / self.kept, np.ascontiguousarray(self.left.T))

    def solve(self, b: Array) -> Array:
        """Return A⁺ b, of least squares and least norm, for a vector (m,) or columns (m × k)."""
        return product(self.right, (product(self.left.T, b).T / self.kept).T)

    def solve_transposed(self, b: Array) -> Array:
        """Return A⁺ᵀ b, the least of the vectors whose image under Aᵀ comes nearest to b, for (n,) or (n × k)."""
        return product(self.left, (product(self.right.T, b).T / self.kept).T)

    def damped(self, b: Array, damping: float) -> Array:
        """Return (AᵀA + damping)⁻¹ Aᵀ b (n,) for a vector (m,): a Levenberg–Marquardt step but for its sign."""
        return product(self.right, self.kept * product(self.left.T, b) / (self.kept**2 + damping))

    @property
    def determined(self) -> np.ndarray:
        """Which entries of λ in Aᵀλ are unique (m,): those with e_j in the range of A. A zero row's never is."""
        return np.asarray((self.left_null**2).sum(axis=1) < ABSENT_ROW)


def at_rank(matrix: Array, rank: int) -> Ranked:
    """Return a matrix at a rank that is known."""
    return _parts(dense.svd(matrix, rank))


def ranked(matrix: Array, cut: float = 0.0, relative: float = 0.0) -> Ranked:
    """Return a matrix whose singular values up to ``cut``, and to ``relative`` times the largest one, are zero.

    With neither, those are which are rounding.
    """
    return _parts(dense.svd(matrix, cut=cut, relative=relative))


def spanned(columns: Array, cut: float = 0.0, relative: float = 0.0) -> Ranked:
    """Return the same of columns, fewer than their entries, without the left null space, which is most of the work."""
    if columns.shape[0] < columns.shape[1]:
        return ranked(columns, cut, relative)
    found = dense.thin_svd(columns, cut=cut, relative=relative)
    (left, values, right), rank = found, found.rank
    return Ranked(values, rank, left, np.zeros((len(left), 0)), right[:rank].T, right[rank:].T)


def _parts(found: dense.Decomposition) -> Ranked:
    (left, values, right), rank = found, found.rank
    return Ranked(values, rank, left[:, :rank], left[:, rank:], right[:rank].T, right[rank:].T)


def rank_of(matrix: Array, relative: float = RANK_CUT, scale: float = 0.0) -> int:
    """Return the number of singular values above ``relative`` × the largest one, or × ``scale`` if that is more."""
    return rank_by(dense.even_singular_values(matrix), relative, scale)


def rank_by(values: Array, relative: float = RANK_CUT, scale: float = 0.0) -> int:
    """Return the same from the singular values."""
    return int(np.count_nonzero(values > relative * max(values.max(initial=0.0), scale)))


def are_independent(columns: Array, share: float = RANK_CUT) -> bool:
    """Tell whether the smallest singular value of columns keeps this share of the largest one."""
    return columns.shape[1] == 0 or (
        columns.shape[0] >= columns.shape[1] and rank_of(columns, share) == columns.shape[1]
    )


def independent_rows(matrix: Array, rank: int, share: float = 0.3) -> list[int]:
    """Return ``rank`` rows of a matrix that span the others well, early ones first (threshold pivoting).

    Of what is left of each row the first counts that keeps this share of the largest.
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
    """Return A C⁻ᵀ with the metric C Cᵀ of the columns, C a lower triangle: the singular values of A M^(−1/2)."""
    return dense.solve(root, rows.T).T


def beyond(columns: Array, others: Array) -> Array:
    """Return an orthonormal basis of what a space has more dimensions of than another one, the part normal to that.

    Both by orthonormal columns; (n × k), k the difference of their dimensions, nothing where there is none.
    """
    excess = max(columns.shape[1] - others.shape[1], 0)
    return dense.svd(columns - product(others, product(others.T, columns))).left[:, :excess]
