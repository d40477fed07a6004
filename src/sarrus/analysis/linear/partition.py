"""Choice of dependent velocities for straight-line code, and their elimination by LU factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.analysis.linear.tolerances import COMPETING, PRESENT_ENTRY
from sarrus.base.arrays import Array
from sarrus.symbolic.equations.sparse import Column


@dataclass(frozen=True)
class Partition:
    """Rows of A and the dependent velocities that they eliminate, in this order; the independent velocities.

    ``least`` is the smallest pivot in the measure of `CLEAR`, ``sizes`` are the sizes of rows at ordinary
    configurations.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    least: float
    sizes: tuple[float, ...] = ()


def partition(
    jacobian: Array, mass: Array, rows: Sequence[int], dependent: Sequence[int] | None = None
) -> Partition:
    """Return a choice of dependent velocities, among ``dependent`` if given: large pivots, little fill-in
    (Markowitz).
    """
    a = jacobian[list(rows)] / np.sqrt(np.diag(mass))
    a /= np.sqrt(np.add.reduce(a * a, axis=1))[:, None]
    columns = range(a.shape[1])
    left, free = list(range(len(rows))), list(columns if dependent is None else dependent)
    order: list[tuple[int, int]] = []
    least = 1.0
    while left:
        size = np.abs(a[np.ix_(left, free)])
        present = size > PRESENT_ENTRY
        cost = np.outer(present.sum(axis=1) - 1, present.sum(axis=0) - 1) - 0.5 * size
        cost[size < COMPETING * size.max(axis=1)[:, None]] = np.inf
        i, j = (int(k) for k in np.unravel_index(int(np.argmin(cost)), cost.shape))
        least = min(least, float(size[i, j]))
        row, column = left.pop(i), free.pop(j)
        order.append((rows[row], column))
        if size[i, j] > 0.0:
            a[left] -= np.outer(a[left, column] / a[row, column], a[row])
    taken = [column for _, column in order]
    return Partition(
        tuple(row for row, _ in order), tuple(taken), tuple(k for k in columns if k not in taken), least
    )


class Factored:
    """P A_d = L U without pivoting, over the structural nonzeros; L has a unit diagonal."""

    def __init__(self, matrix: ca.SX) -> None:
        n = matrix.shape[0]
        a = [[matrix[i, j] for j in range(n)] for i in range(n)]
        for k in range(n):
            inverse = 1 / a[k][k]
            for i in range(k + 1, n):
                if a[i][k].is_zero():
                    continue
                a[i][k] = a[i][k] * inverse
                for j in range(k + 1, n):
                    if not a[k][j].is_zero():
                        a[i][j] = a[i][j] - a[i][k] * a[k][j]
        self._a = a
        self.pivots = [a[k][k] for k in range(n)]

    def solve(self, columns: ca.SX, transposed: bool = False) -> ca.SX:
        """Return A_d⁻¹ B, or A_d⁻ᵀ B."""
        a = [list(row) for row in zip(*self._a)] if transposed else self._a
        n = len(a)

        def solved(x: Column) -> Column:
            for k in range(n):
                if transposed:
                    x[k] = x[k] * (1 / self.pivots[k])
                _subtract(x, [(a[i][k], i) for i in range(k + 1, n)], k)
            for k in range(n - 1, -1, -1):
                if not transposed:
                    x[k] = x[k] * (1 / self.pivots[k])
                _subtract(x, [(a[i][k], i) for i in range(k)], k)
            return x

        return by_columns(columns, solved)


def _subtract(x: Column, weights: list[tuple[ca.SX, int]], k: int) -> None:
    if x[k].is_zero():
        return
    for weight, i in weights:
        if not weight.is_zero():
            x[i] = x[i] - weight * x[k]


def by_columns(columns: ca.SX, solve: Callable[[Column], Column]) -> ca.SX:
    """Return the matrix whose columns are the solutions for the columns of another one."""
    out = [
        ca.vertcat(*solve([columns[i, c] for i in range(columns.shape[0])])) for c in range(columns.shape[1])
    ]
    return ca.sparsify(ca.horzcat(*out)) if out else ca.SX(*columns.shape)
