"""Dense linear algebra with the same bits on every processor, for runs, assembly and linear models.

NumPy calls BLAS and LAPACK, whose last bits depend on the processor; for coinciding singular values they return any
basis of the space, which changes with rounding. Functions here sum in a fixed order (`sarrus.kernels.algebra.dense`),
break ties by index, and choose bases of null spaces by projecting axes, so that the bases are continuous functions of
the matrix. Matrices are small; results are arrays of float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.algebra.dense import CHOLESKY, COMPLETION, LARGEST, PRODUCT, SINGULAR, SOLUTION, VALUES
from sarrus.kernels.algebra.tolerances import LANCZOS_STEPS, LEAST_RANK_CUT
from sarrus.kernels.linalg.tolerances import EQUAL_PIVOTS
from sarrus.kernels.platform import c_function


def product(a: Array, b: Array, *others: Array) -> Array:
    """Return A B, or the product of all matrices and vectors given, from left to right."""
    result = _product(a, b)
    for other in others:
        result = _product(result, other)
    return result


def _product(a: Array, b: Array) -> Array:
    left, right = a if a.ndim == 2 else a[None], b if b.ndim == 2 else b[:, None]
    (m, k), n = left.shape, right.shape[1]
    x = np.empty(m * k + k * n + m * n)
    x[: m * k] = left.ravel()
    x[m * k : m * k + k * n] = right.ravel()
    _call(x, PRODUCT, m, n, k)
    return x[m * k + k * n :].reshape(a.shape[:-1] + b.shape[1:])


def dot(a: Array, b: Array) -> float:
    """Return the scalar product of two vectors (n,)."""
    return float(np.add.reduce(a * b))


def norm(a: Array) -> float:
    """Return the Frobenius norm, the root of the sum of squares of all entries."""
    flat = a.ravel()
    return float(np.sqrt(np.add.reduce(flat * flat)))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Singular value decomposition A = left diag(values) right, with the min(m, n) values in descending order.

    ``left`` (m × m) and ``right`` (n × n) are orthogonal. Columns of ``left`` and rows of ``right`` beyond the
    ``rank`` span the null spaces; they are continuous functions of these spaces, see `completed`.
    """

    left: Array
    values: Array
    right: Array
    rank: int

    def __iter__(self) -> Iterator[Array]:
        return iter((self.left, self.values, self.right))


def svd(matrix: Array, rank: int | None = None, *, cut: float = 0.0, relative: float = 0.0) -> Decomposition:
    """Return the singular value decomposition, by Jacobi rotations.

    The rank is ``rank``, or the number of singular values above ``cut`` and above ``relative`` × the largest singular
    value (by default above rounding). Singular vectors beyond the rank are replaced by a basis of the null space.
    Raises `numpy.linalg.LinAlgError` for a matrix that is not finite.
    """
    m, n = matrix.shape
    turned, inner, lengths, scale = _rotated(matrix)
    values, small = lengths * scale, len(lengths)
    if small == 0:
        return Decomposition(np.eye(m), values, np.eye(n), 0)
    clear = int(np.count_nonzero(lengths > LEAST_RANK_CUT * max(lengths[0], LEAST_DIVISOR)))
    if rank is None:
        above = (values > cut) & (lengths > relative * lengths[0])
        rank = int(np.count_nonzero(above)) if cut or relative else clear
    divisor = np.where(lengths > 0.0, lengths, 1.0)
    outer = completed((turned / divisor[:, None])[: min(rank, clear)])
    kept = completed(inner[:rank]) if rank < small else inner
    left, right = (kept.T, outer) if m <= n else (outer.T, kept)
    return Decomposition(np.ascontiguousarray(left), values, right, rank)


def thin_svd(matrix: Array, *, cut: float = 0.0, relative: float = 0.0) -> Decomposition:
    """Return the decomposition of a tall matrix (m × n, m ≥ n) with only the first ``rank`` columns of ``left``."""
    turned, inner, lengths, scale = _rotated(matrix)
    if matrix.shape[0] < matrix.shape[1]:
        raise ValueError(f"a tall matrix is needed, got shape {matrix.shape}")
    values = lengths * scale
    above = (values > cut) & (lengths > max(relative, LEAST_RANK_CUT) * max(lengths[:1], default=0.0))
    rank = int(np.count_nonzero(above))
    left = (turned[:rank] / lengths[:rank, None]).T
    right = completed(inner[:rank]) if rank < len(inner) else inner
    return Decomposition(np.ascontiguousarray(left), values, right, rank)


def singular_values(matrix: Array) -> Array:
    """Return the singular values in descending order; small values are as accurate as the rows."""
    _, _, lengths, scale = _rotated(matrix)
    return np.asarray(lengths * scale)


def even_singular_values(matrix: Array) -> Array:
    """Return the singular values, in descending order, of a matrix with rows of similar size.

    Their errors are rounding of the largest singular value. This takes a tenth of the work of `singular_values`.
    """
    m, n = sorted(matrix.shape)
    if m == 0:
        return np.zeros(0)
    x, scale = _scaled(matrix, 2 * m + n)
    if _call(x, VALUES, m, n) < 0:
        return singular_values(matrix)
    return np.asarray(np.sort(x[m * n : m * n + m])[::-1] * scale)


def _rotated(matrix: Array) -> tuple[Array, Array, Array, float]:
    """Return V A with orthogonal rows, V, the lengths of these rows, and the scale by which V A and the lengths are
    divided.

    For m > n the matrix Aᵀ takes the place of A.
    """
    m, n = sorted(matrix.shape)
    x, scale = _scaled(matrix, m * m + 2 * m)
    if m:
        _call(x, SINGULAR, m, n)
    begins, ends = m * n, m * n + m * m
    return x[:begins].reshape(m, n), x[begins:ends].reshape(m, m), x[ends : ends + m], scale


def _scaled(matrix: Array, room: int) -> tuple[Array, float]:
    """Return the entries of A divided by a scale, followed by ``room`` free numbers, and the scale.

    The entries are by rows of A or Aᵀ, whichever has fewer rows. Raises `numpy.linalg.LinAlgError` for a matrix that
    is not finite.
    """
    x = np.empty(matrix.size + room)
    entries = x[: matrix.size]
    entries[:] = (matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T).ravel()
    if not matrix.size:
        return x, 1.0
    size = float(np.abs(entries).max())
    if not np.isfinite(size):
        raise np.linalg.LinAlgError("the matrix is not finite")
    scale = math.ldexp(1.0, min(math.frexp(size)[1], 1000))  # squares neither overflow nor underflow
    entries /= scale
    return x, scale


def largest(matrix: Array) -> float:
    """Return the largest singular value, zero for an empty matrix."""
    if not matrix.size:
        return 0.0
    m, n = sorted(matrix.shape)
    x, scale = _scaled(matrix, 2 * LANCZOS_STEPS + m + n)
    if _call(x, LARGEST, m, n) < 0:
        return float(singular_values(matrix)[0])
    return float(x[m * n] * scale)


def condition(matrix: Array) -> float:
    """Return the ratio of the largest to the smallest singular value, infinite if the smallest is zero."""
    values = singular_values(matrix)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf


def completed(rows: Array) -> Array:
    """Return an orthogonal matrix (n × n) whose first rows are the orthonormal ``rows`` (m × n).

    The additional rows are axes projected on the complement: the first axis whose projection is not much shorter than
    the longest projection. They change no faster than the space of ``rows``, except where the projection of an axis
    becomes too short and another axis replaces it.
    """
    m, n = rows.shape
    x = np.empty((n, n))
    x[:m] = rows
    _call(x, COMPLETION, m, n)
    return x


def solve(matrix: Array, right: Array) -> Array:
    """Return A⁻¹ B for a square A; raises `numpy.linalg.LinAlgError` if A is singular."""
    m, columns = len(matrix), right if right.ndim == 2 else right[:, None]
    x = np.concatenate([np.ravel(matrix), columns.ravel()]).astype(np.float64)
    if _call(x, SOLUTION, m, columns.shape[1]) < 0:
        raise np.linalg.LinAlgError("the matrix is singular")
    return x[m * m :].reshape(right.shape)


def cholesky(matrix: Array) -> Array:
    """Return the lower triangle L with L Lᵀ = A; raises `numpy.linalg.LinAlgError` if A is not positive definite."""
    x = np.array(matrix, dtype=np.float64, order="C")
    if _call(x, CHOLESKY, len(x), 0) < 0:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return x


def is_definite(matrix: Array, least: float) -> bool:
    """Tell whether all eigenvalues of a symmetric matrix are above ``least`` > 0."""
    try:
        cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return len(matrix) == 0 or bool(even_singular_values(matrix)[-1] > least)


def leading_columns(matrix: Array, count: int) -> list[int]:
    """Return the indices of ``count`` independent columns, each with the longest part normal to the earlier columns.

    Of equally long columns the first is taken. Golub and Van Loan, Matrix Computations, 4th ed., §5.4.2 (QR with
    column pivoting).
    """
    left = np.array(matrix, dtype=np.float64)
    order: list[int] = []
    for _ in range(count):
        size = np.add.reduce(left * left, axis=0)
        size[order] = -1.0
        best = int(np.argmax(size >= EQUAL_PIVOTS * size.max()))
        order.append(best)
        if size[best] > 0.0:
            unit = left[:, best] / np.sqrt(size[best])
            left = left - unit[:, None] * np.add.reduce(unit[:, None] * left, axis=0)
    return order


def _call(x: Array, level: int, *sizes: int) -> int:
    table = np.array(sizes, dtype=np.int64)
    return c_function.dense(table, x, level)
