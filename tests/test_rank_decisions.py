"""Ranks, null spaces and pseudo-inverses of matrices of integers, against exact rational arithmetic.

All r × r minors of such a matrix are integers, and the sum of their squares is the product of the r squared singular
values that are not zero. So the smallest of them is at least σ₁^(1 − r), which bounds every condition number here.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sarrus.base.arrays import Array
from sarrus.kernels.linalg.ranked import ranked

EPSILON = float(np.finfo(float).eps)
LARGEST = 4  # rows, columns
Rows = list[list[int]]


def exact_rank(rows: Rows) -> int:
    """Return the rank by elimination with fractions."""
    left, rank = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left[rank:] if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left.insert(rank, pivot)
        for k in range(rank + 1, len(left)):
            factor = left[k][column] / pivot[column]
            left[k] = [x - factor * y for x, y in zip(left[k], pivot)]
        rank += 1
    return rank


@st.composite
def integers(draw: st.DrawFn) -> Rows:
    """Draw a matrix as a product through a space that is small more often than by chance."""
    m, n, r = (draw(st.integers(1, LARGEST)) for _ in range(3))

    def factor(rows: int, columns: int) -> Array:
        entries = st.lists(st.integers(-2, 2), min_size=rows * columns, max_size=rows * columns)
        return np.array(draw(entries)).reshape(rows, columns)

    return (factor(m, r) @ factor(r, n)).tolist()


@given(integers(), st.integers(-300, 300))
def test_the_rank_is_the_exact_one_in_any_unit(rows: Rows, exponent: int) -> None:
    found = ranked(np.array(rows, dtype=float) * 2.0**exponent)
    assert found.rank == exact_rank(rows)


@given(integers())
def test_what_is_determined_is_what_exact_elimination_finds(rows: Rows) -> None:
    """A multiplier λ_j is unique in Aᵀλ if the row j is independent of the others."""
    found, rank = ranked(np.array(rows, dtype=float)), exact_rank(rows)
    for j in range(len(rows)):
        others = rows[:j] + rows[j + 1 :]
        unique = (exact_rank(others) if others else 0) < rank
        assert found.determined[j] == unique


@given(integers())
def test_subspaces_and_pseudo_inverse(rows: Rows) -> None:
    """Moore and Penrose's four conditions, and bases that are orthonormal and complete."""
    matrix = np.array(rows, dtype=float)
    found = ranked(matrix)
    size = float(np.linalg.norm(matrix))
    for basis in (np.hstack([found.left, found.left_null]), np.hstack([found.right, found.null])):
        assert_allclose(basis.T @ basis, np.eye(len(basis)), rtol=0, atol=32 * EPSILON)
    assert_allclose(matrix @ found.null, 0.0, rtol=0, atol=64 * EPSILON * size)
    assert_allclose(found.left_null.T @ matrix, 0.0, rtol=0, atol=64 * EPSILON * size)
    condition = size**found.rank if found.rank else 1.0
    allowed = 64 * EPSILON * condition
    inverse = found.inverse
    there, back = matrix @ inverse, inverse @ matrix
    assert_allclose(there @ matrix, matrix, rtol=0, atol=allowed * max(size, 1.0))
    assert_allclose(back @ inverse, inverse, rtol=0, atol=allowed * np.abs(inverse).max())
    for projection in (there, back):
        assert_allclose(projection, projection.T, rtol=0, atol=allowed)
        assert_allclose(np.trace(projection), found.rank, rtol=0, atol=4 * allowed)
