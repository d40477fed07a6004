"""Factors of symmetric matrices of expressions over their structural nonzeros: M = LᵀL, and G = C D Cᵀ.

No decision is made by numbers: order and fill-in follow from the sparsity pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

import casadi as ca

Row = dict[int, ca.SX]
Column = list[ca.SX]


def rows_of(matrix: ca.SX) -> list[Row]:
    """Return the nonzeros of every row by column, ascending."""
    transposed = matrix.T
    starts, columns = transposed.colind(), transposed.row()
    values = cast(list[ca.SX], transposed.nonzeros())
    return [
        {columns[k]: values[k] for k in range(first, last) if not values[k].is_zero()}
        for first, last in pairwise(starts)
    ]


def matrix_of(rows: Sequence[Row], width: int) -> ca.SX:
    """Return the sparse matrix with these rows."""
    entries = [(j, c, value) for j, row in enumerate(rows) for c, value in row.items()]
    places = [j for j, _, _ in entries], [c for _, c, _ in entries]
    values = ca.vertcat(ca.SX(0, 1), *(value for _, _, value in entries))
    return ca.SX.triplet(*places, values, len(rows), width)


def column_of(entries: Row, length: int) -> ca.SX:
    """Return the column with these entries, zeros elsewhere."""
    return ca.vertcat(ca.SX(0, 1), *(entries.get(i, ca.SX(0)) for i in range(length)))


def dot(a: Row, b: Row) -> ca.SX:
    """Return aᵀb."""
    total = ca.SX(0)
    for i, value in a.items():
        if i in b:
            total = total + value * b[i]
    return total


def add(x: Row, i: int, value: ca.SX) -> None:
    """Add a value to an entry of a sparse row."""
    x[i] = x[i] + value if i in x else value


def substitute(below: list[Row], right: Row, inverse: Column | None = None) -> Row:
    """Return the solution of a lower triangular system: rows left of the diagonal; unit diagonal or ``inverse``."""
    x: Row = {}
    for k, row in enumerate(below):
        value = right.get(k)
        for j, entry in row.items():
            if j in x:
                part = entry * x[j]
                value = -part if value is None else value - part
        if value is not None:
            x[k] = value if inverse is None else value * inverse[k]
    return x


def substitute_transposed(below: list[Row], right: Row, inverse: Column | None = None) -> Row:
    """Return the solution of the transposed lower triangular system, with arguments as `substitute`."""
    x = dict(right)
    for k in range(len(below) - 1, -1, -1):
        if k in x:
            if inverse is not None:
                x[k] = x[k] * inverse[k]
            for j, entry in below[k].items():
                add(x, j, -(entry * x[k]))
    return x


@dataclass(frozen=True)
class Triangle:
    """L of M = LᵀL: its entries left of the diagonal by rows, and the diagonal."""

    below: list[Row]
    diagonal: Column

    @cached_property
    def inverse(self) -> Column:
        """The inverses of the entries on the diagonal."""
        return [1 / value for value in self.diagonal]

    @property
    def matrix(self) -> ca.SX:
        """L, sparse."""
        rows = [{**row, k: value} for k, (row, value) in enumerate(zip(self.below, self.diagonal))]
        return matrix_of(rows, len(self.diagonal))

    def solve_transposed(self, right: Row) -> Row:
        """Return L⁻ᵀ b."""
        return substitute_transposed(self.below, right, self.inverse)

    def solve(self, right: Row) -> Row:
        """Return L⁻¹ b."""
        return substitute(self.below, right, self.inverse)


def eliminate(matrix: ca.SX) -> Triangle:
    """Return L with LᵀL = M.

    In the order of a kinematic tree this factor has no fill-in (Featherstone 2005, branch-induced sparsity).
    """
    rest = [{j: value for j, value in row.items() if j <= i} for i, row in enumerate(rows_of(matrix))]
    n = len(rest)
    below: list[Row] = [{} for _ in range(n)]
    diagonal = [ca.SX(0)] * n
    for k in range(n - 1, -1, -1):
        diagonal[k] = root = ca.sqrt(rest[k].get(k, ca.SX(0)))
        inverse = 1 / root
        below[k] = {j: rest[k][j] * inverse for j in sorted(rest[k]) if j < k}
        for i, left in below[k].items():
            for j, right in below[k].items():
                if j <= i:
                    add(rest[i], j, -(left * right))
    return Triangle(below, diagonal)


@dataclass(frozen=True)
class Symmetric:
    """G = C D Cᵀ in an order of elimination: rows of C in this order without the unit diagonal, and the pivots D."""

    order: list[int]
    below: list[Row]
    pivots: Column

    def solve(self, right: Row) -> Row:
        """Return G⁻¹ b."""
        place = {i: k for k, i in enumerate(self.order)}
        x = substitute(self.below, {place[i]: value for i, value in right.items()})
        x = substitute_transposed(self.below, {k: value * self.inverse[k] for k, value in x.items()})
        return {i: x[k] for k, i in enumerate(self.order) if k in x}

    @cached_property
    def inverse(self) -> Column:
        """The inverses of the pivots."""
        return [1 / pivot for pivot in self.pivots]


def factor_symmetric(matrix: list[Row], order: list[int] | None = None) -> Symmetric:
    """Return C D Cᵀ of a symmetric matrix given by rows; entries right of the diagonal are not used.

    The order has minimum degree (Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17, 1996) unless given.
    """
    order = elimination_order(matrix) if order is None else order
    place = {i: k for k, i in enumerate(order)}
    rest: list[Row] = [{} for _ in matrix]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            if j <= i:
                k, m = place[i], place[j]
                rest[max(k, m)][min(k, m)] = value
    touched: list[list[int]] = [[] for _ in matrix]  # rows with an entry in a column, without the diagonal
    for i, row in enumerate(rest):
        for j in row:
            if j < i:
                touched[j].append(i)
    below: list[Row] = [{} for _ in matrix]
    pivots: Column = []
    for k in range(len(matrix)):
        pivot = rest[k].get(k, ca.SX(0))
        inverse = 1 / pivot
        pivots.append(pivot)
        rows = sorted(touched[k])
        for i in rows:
            below[i][k] = rest[i][k] * inverse
        for i in rows:
            for j in rows:
                if j <= i:
                    if j not in rest[i] and j < i:
                        touched[j].append(i)
                    add(rest[i], j, -(below[i][k] * rest[j][k]))
    return Symmetric(order, below, pivots)


def elimination_order(matrix: list[Row]) -> list[int]:
    """Return an order of the rows of a symmetric matrix with little fill-in."""
    if not matrix:
        return []
    entries = [(i, j) for i, row in enumerate(matrix) for j in row if j < i]
    rows = [i for pair in entries for i in pair] + list(range(len(matrix)))
    columns = [j for pair in entries for j in pair[::-1]] + list(range(len(matrix)))
    return [int(i) for i in ca.Sparsity.triplet(len(matrix), len(matrix), rows, columns).amd()]


def elimination_work(matrix: list[Row], order: Iterable[int]) -> int:
    """Return the approximate number of multiplications to eliminate the rows of a symmetric matrix in an order."""
    return elimination_size(matrix, order)[0]


def elimination_size(matrix: list[Row], order: Iterable[int]) -> tuple[int, int]:
    """Return the approximate number of multiplications of an elimination, and of off-diagonal entries of the factor."""
    near: list[set[int]] = [set() for _ in matrix]
    for i, row in enumerate(matrix):
        for j in row:
            if i != j:
                near[i].add(j)
                near[j].add(i)
    work = entries = 0
    for k in order:
        left = near[k]
        work += len(left) * (len(left) + 3) // 2
        entries += len(left)
        for i in left:
            near[i] |= left
            near[i] -= {i, k}
    return work, entries


def gram_work(rows: list[Row], solves: int = 0) -> int:
    """Return the approximate number of multiplications to make and factor G = A Aᵀ, and of ``solves`` solves."""
    touching = rows_coupled(rows)
    gram: list[Row] = [
        {i: ca.SX(0) for i in neighbours(row, touching) if i < k} for k, row in enumerate(rows)
    ]
    order = elimination_order(gram)
    entries = sum(len(among) * (len(among) + 1) // 2 for among in touching.values())
    return entries + elimination_work(gram, order) + 4 * solves * sum(map(len, gram))


def rows_coupled(rows: Sequence[Row]) -> dict[int, list[int]]:
    """Return for each column the rows that have an entry there."""
    touching: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        for c in row:
            touching.setdefault(c, []).append(k)
    return touching


def neighbours(row: Row, touching: dict[int, list[int]]) -> list[int]:
    """Return the rows of `rows_coupled` that share a column with a row."""
    return sorted({k for c in row for k in touching.get(c, ())})


def largest(values: Column) -> ca.SX:
    """Return the largest of the values, none of them NaN, by a binary tree; zero without values."""
    if len(values) < 2:
        return values[0] if values else ca.SX(0)
    middle = len(values) // 2
    one, other = largest(values[:middle]), largest(values[middle:])
    return ca.if_else(one >= other, one, other)


def least(values: Column) -> ca.SX:
    """Return the smallest of the values, one without values; NaN if one of them is NaN."""
    smallest = values[0] if values else ca.SX(1)
    for value in values[1:]:
        smallest = ca.if_else(value >= smallest, smallest, value)
    return smallest
