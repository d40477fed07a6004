"""The rank-revealing factorisation and its solves against NumPy's SVD, and the Cholesky variants."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_functions import compiled
from sarrus.base.arrays import Array
from sarrus.kernels.algebra import factor as kernels
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.pointers import internal

CUT = 1e-9


@internal
def _matrix(room, perm, m, n, big):
    """A, at the start of the room, and the vectors behind it."""
    end = room + m * n
    return kernels.Matrix(room, m, n, perm, end, end + big, end + 2 * big, end + 3 * big)


@compiled
def factor(
    room: Floats, perm: Integers, m: int, n: int, big: int, limit: int, cut: float, scale: float
) -> int:
    A = _matrix(room, perm, m, n, big)
    rank = kernels.factor(A, limit, cut, scale)
    if 0 <= rank < m:
        kernels.reduce(A, rank)
    return rank


@compiled
def least_squares(
    room: Floats, perm: Integers, m: int, n: int, big: int, rank: int, b: Floats, y: Floats, x: Floats
) -> float:
    return kernels.least_squares(_matrix(room, perm, m, n, big), rank, b, y, x)


@compiled
def transposed_solve(
    room: Floats, perm: Integers, m: int, n: int, big: int, rank: int, g: Floats, work: Floats, lam: Floats
) -> None:
    A = _matrix(room, perm, m, n, big)
    kernels.apply_q_transposed(A, rank, g)
    kernels.multipliers(A, rank, g, work, lam)


@compiled
def cholesky_ltl(a: Floats, n: int) -> bool:
    return kernels.cholesky_ltl(a, n)


@compiled
def solve_l(a: Floats, n: int, x: Floats) -> None:
    kernels.solve_l(a, n, x)


@compiled
def solve_l_transposed(a: Floats, n: int, x: Floats) -> None:
    kernels.solve_l_transposed(a, n, x)


SHAPES = [(1, 1), (1, 5), (5, 1), (4, 4), (3, 7), (7, 3), (12, 12), (20, 6), (6, 20)]


class Factored:
    """A factored copy of a matrix, with room for the vectors of the factorisation behind it."""

    def __init__(self, matrix: Array, limit: int | None = None, scale: float = 0.0, cut: float = CUT) -> None:
        self.m, self.n = m, n = matrix.shape
        big = max(m, n) + 1
        room, self.perm = np.full(m * n + 4 * big, np.nan), np.zeros(m, np.int64)
        room[: m * n] = np.ravel(matrix)
        self.parts, self.big = (room, self.perm, m, n, big), big
        limit = min(m, n) if limit is None else limit
        pivots = room[m * n :][: min(m, n)]
        self.rank = factor(*self.parts, limit, cut, scale)
        self.pivots = np.abs(pivots)

    def solve(self, b: Array) -> tuple[Array, float]:
        """A⁺ b and the least-squares residual."""
        x = np.full(self.big, np.nan)
        left = least_squares(*self.parts, self.rank, np.array(b, float), np.full(self.big, np.nan), x)
        return x[: self.n], left

    def transposed_solve(self, g: Array) -> Array:
        """(Aᵀ)⁺ g."""
        lam, g = np.full(self.big, np.nan), np.concatenate([g, np.zeros(self.big)])
        transposed_solve(*self.parts, self.rank, g, np.full(self.big, np.nan), lam)
        return lam[: self.m]


def check_against_svd(matrix: Array, rank: int, tolerance: float, limit: int | None = None) -> None:
    rng = np.random.default_rng(matrix.size)
    factored = Factored(matrix, limit)
    assert factored.rank == rank
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    inverse = right[:rank].T @ (left[:, :rank] / values[:rank]).T
    b, g = rng.standard_normal(matrix.shape[0]), rng.standard_normal(matrix.shape[1])
    if rank:
        b, g = b * values[0], g * values[0]
    x, residual = factored.solve(b)
    np.testing.assert_allclose(
        x, inverse @ b, atol=tolerance * max(1.0, np.abs(inverse @ b).max(initial=0.0))
    )
    assert residual == pytest.approx(
        np.linalg.norm(b - matrix @ inverse @ b), abs=tolerance * np.linalg.norm(b)
    )
    lam = factored.transposed_solve(g)
    np.testing.assert_allclose(
        lam, inverse.T @ g, atol=tolerance * max(1.0, np.abs(inverse.T @ g).max(initial=0.0))
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8, 1e-100, 1e100])
def test_full_rank_at_any_scale(shape: tuple[int, int], scale: float) -> None:
    matrix = scale * np.random.default_rng(sum(shape)).standard_normal(shape)
    check_against_svd(matrix, min(shape), 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("missing", [1, 2])
def test_rank_deficient(shape: tuple[int, int], missing: int) -> None:
    rank = max(min(shape) - missing, 0)
    rng = np.random.default_rng(sum(shape) + missing)
    matrix = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    check_against_svd(matrix, rank, 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_zero_and_repeated_rows_and_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((3, 6))
    base[:, rng.integers(6)] = 0.0
    matrix = np.vstack([base, np.zeros((2, 6)), 2.0 * base[:2], base[:1] - base[1:2]])[rng.permutation(8)]
    check_against_svd(matrix, 3, 1e-11)
    weights = Factored(matrix).transposed_solve(matrix.T @ np.ones(8))
    assert not weights[~matrix.any(axis=1)].any(), "a dead row gets no multiplier"


def test_zero_matrix() -> None:
    check_against_svd(np.zeros((3, 4)), 0, 1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_graded_rows_keep_their_rank(seed: int) -> None:
    """Rows of very different units, all above the cut."""
    rng = np.random.default_rng(seed)
    matrix = np.diag(10.0 ** -np.arange(6)) @ rng.standard_normal((6, 9))
    factored = Factored(matrix[rng.permutation(6)])
    assert factored.rank == 6
    assert (np.diff(factored.pivots) <= 0.0).all()
    b = matrix @ rng.standard_normal(9)
    x, residual = Factored(matrix).solve(b)
    np.testing.assert_allclose(matrix @ x, b, rtol=1e-9)
    assert residual == 0.0


@pytest.mark.parametrize("small", [1e-7, 1e-11])
def test_cut(small: float) -> None:
    """A singular value between the cut and one counts, one below the cut does not."""
    rng = np.random.default_rng(5)
    left, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    right, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    matrix = left @ np.diag([1.0, 0.8, 0.5, small]) @ right[:4]
    assert Factored(matrix).rank == (4 if small > CUT else 3)
    if small < CUT:
        x, _ = Factored(matrix).solve(left[:, :3] @ np.ones(3))
        np.testing.assert_allclose(x, np.array([1.0, 1 / 0.8, 2.0]) @ right[:3], atol=1e-10)


def test_limit_of_the_rank_cuts_what_a_tolerance_would_keep() -> None:
    """A redundant row that is off by 1e-6 stays redundant: the solution moves by as much, not by 1e6."""
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((2, 5))
    matrix = np.vstack([rows, rows.sum(axis=0) + 1e-6 * rng.standard_normal(5)])
    b = np.array([1.0, 2.0, 3.0])
    expected = np.linalg.pinv(np.vstack([rows, rows.sum(axis=0)])) @ b
    assert np.abs(Factored(matrix, limit=2).solve(b)[0] - expected).max() < 1e-5
    assert Factored(matrix).rank == 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_cholesky(n: int, seed: int) -> None:
    """LᵀL = M, and the two triangular solves."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n + 3))
    mass = root @ root.T
    factor = mass.ravel().copy()
    assert cholesky_ltl(factor, n)
    lower = np.tril(factor.reshape(n, n))
    np.testing.assert_allclose(lower.T @ lower, mass, rtol=1e-12, atol=1e-12)
    b = rng.standard_normal(n)
    x = b.copy()
    solve_l_transposed(factor, n, x)
    np.testing.assert_allclose(lower.T @ x, b, rtol=1e-9, atol=1e-11)
    x = b.copy()
    solve_l(factor, n, x)
    np.testing.assert_allclose(lower @ x, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "bad", [[[1, 0], [0, -1]], [[0, 0], [0, 1]], [[1, 2], [2, 1]], [[np.nan, 0], [0, 1]]]
)
def test_cholesky_says_no(bad: Array) -> None:
    assert not cholesky_ltl(np.ravel(bad).astype(float), 2)
