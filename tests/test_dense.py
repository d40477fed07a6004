"""Dense linear algebra of our own: against LAPACK, and where LAPACK's answer is one of many."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked

SHAPES = [(1, 1), (2, 4), (4, 2), (5, 5), (9, 14), (24, 18), (0, 3), (3, 0)]


def drawn(m: int, n: int, rank: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_decomposition(shape: tuple[int, int], missing: int) -> None:
    m, n = shape
    matrix = drawn(m, n, max(min(m, n) - missing, 0))
    found = dense.svd(matrix)
    left, values, right = found
    assert_allclose(left.T @ left, np.eye(m), atol=1e-14)
    assert_allclose(right @ right.T, np.eye(n), atol=1e-14)
    size = values.max(initial=1e-300)
    k = len(values)
    assert_allclose((left[:, :k] * values) @ right[:k], matrix, atol=1e-14 * size)
    if k:
        assert_allclose(values, np.linalg.svd(matrix, compute_uv=False), atol=1e-14 * size)
    assert found.rank == max(k - missing, 0)
    assert_allclose(ranked(matrix, relative=1e-12).inverse, np.linalg.pinv(matrix, rcond=1e-12), atol=1e-11)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sizes_do_not_matter(scale: float) -> None:
    matrix = drawn(4, 6, 3)
    assert_allclose(dense.singular_values(scale * matrix) / scale, dense.singular_values(matrix), atol=1e-14)


def test_small_singular_values_keep_their_digits() -> None:
    """Where rows differ in size only, which is where units do: LAPACK has an error of ε times the largest."""
    rows = drawn(3, 5, 3) * np.array([[1.0], [1e-9], [1e-18]])
    exact = dense.singular_values(rows * np.array([[1e18], [1e18], [1e18]])) / 1e18
    assert_allclose(dense.singular_values(rows), exact, rtol=1e-12)


@pytest.mark.parametrize("shape", [*SHAPES[:6], (60, 41)])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_values_of_even_rows(shape: tuple[int, int], missing: int) -> None:
    """Also where many coincide, as those of many equal loops do, and where rows are zero."""
    m, n = shape
    small = min(m, n)
    rng = np.random.default_rng(missing)
    left, right = (np.linalg.qr(rng.standard_normal((k, small)))[0] for k in (m, n))
    alike = left * np.repeat([2.0, 0.5, 1e-9], small)[rng.integers(3 * small, size=small)] @ right.T
    sparse = np.where(rng.random((m, n)) < 0.7, 0.0, rng.standard_normal((m, n)))
    for matrix in (drawn(m, n, max(small - missing, 0)), alike, sparse, np.zeros((m, n))):
        exact = np.linalg.svd(matrix, compute_uv=False)
        assert_allclose(dense.even_singular_values(matrix), exact, atol=3e-14 * exact[0])
        assert_allclose(dense.largest(matrix), exact[0], rtol=1e-6)


def test_products_and_solutions() -> None:
    rng = np.random.default_rng(1)
    a, b, x = rng.standard_normal((7, 7)), rng.standard_normal((7, 3)), rng.standard_normal(7)
    assert_allclose(dense.product(a, b), a @ b, atol=1e-14)
    assert_allclose(dense.product(a.T, a, x), a.T @ a @ x, atol=1e-13)
    assert dense.product(x, x).shape == ()
    assert_allclose(dense.product(x, b), x @ b, atol=1e-14)
    assert dense.product(np.zeros((2, 0)), np.zeros((0, 3))).tolist() == np.zeros((2, 3)).tolist()
    assert_allclose(a @ dense.solve(a, b), b, atol=1e-12)
    assert_allclose(a @ dense.solve(a, x), x, atol=1e-12)
    lower = dense.cholesky(a @ a.T)
    assert_allclose(lower, np.linalg.cholesky(a @ a.T), atol=1e-12)
    assert_allclose(dense.condition(a), np.linalg.cond(a), rtol=1e-12)
    assert_allclose(dense.norm(a), np.linalg.norm(a), rtol=1e-15)
    for bad in (np.zeros((2, 2)), -np.eye(3), np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError):
            dense.cholesky(bad)
    for bad in (np.zeros((2, 2)), np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError):
            dense.solve(bad, np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        dense.svd(np.array([[1.0, np.inf]]))


def test_definiteness() -> None:
    assert dense.is_definite(np.diag([1.0, 1e-11]), 1e-12)
    assert not dense.is_definite(np.diag([1.0, 1e-13]), 1e-12)
    assert not dense.is_definite(np.diag([1.0, -1.0]), 1e-12)


@pytest.mark.parametrize("dof", [1, 2, 5])
def test_null_space_is_a_continuous_function_of_the_space(dof: int) -> None:
    """Other rows of the same space, or rows moved a little, give the same basis, or one moved as little."""
    n = 9
    rows = drawn(n - dof, n, n - dof, seed=dof)
    basis = dense.svd(rows).right[n - dof :]
    assert_allclose(rows @ basis.T, 0.0, atol=1e-13)
    mixed = drawn(n - dof, n - dof, n - dof, seed=7) @ rows
    assert_allclose(dense.svd(mixed).right[n - dof :], basis, atol=1e-12)
    redundant = np.vstack([rows, rows[:1] + rows[-1:]])
    assert_allclose(dense.svd(redundant).right[n - dof :], basis, atol=1e-12)
    change = np.random.default_rng(3).standard_normal(rows.shape)
    for step in (1e-3, 1e-6, 1e-9):
        moved = dense.svd(rows + step * change).right[n - dof :]
        assert np.abs(moved - basis).max() < 100.0 * step


def test_equal_columns_are_taken_by_index() -> None:
    square = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    rng = np.random.default_rng(4)
    for _ in range(20):
        assert dense.leading_columns(square + 1e-4 * rng.standard_normal(square.shape), 2) == [0, 1]
    assert dense.leading_columns(np.array([[1.0, 2.0, 3.0]]), 1) == [2]
    assert dense.leading_columns(np.zeros((0, 3)), 0) == []
