"""The whole linear model as straight-line code: accelerations, derivatives and elimination in one function.

It takes some columns of A as dependent, A_d, in an order of elimination that is fixed when the code is made. Everything
follows from one factorisation of A_d and one of the reduced mass KᵀMK, the accelerations too, so that nothing is
evaluated twice (Wehage and Haug 1982; Spencer 2004, section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.codegen import NativeFunction

from sarrus.elimination import Column, factor_symmetric, least, solve_symmetric
from sarrus.kernels.layout import DIRECT_RANK, GENERIC_RANK, SIMPLE_RATE
from sarrus.linear.derivatives import along
from sarrus.linear.pieces import Pieces, pieces_of
from sarrus.mechanism.pose import Array

if TYPE_CHECKING:
    from sarrus.system import System

# A pivot is believed while it is more than this fraction of its row of A, with each column divided by √M_jj, which makes
# metres and radians comparable.
CLEAR = 0.05
_NAME = "linear model of "


@dataclass(frozen=True)
class Partition:
    """Rows of A and the dependent velocities that are eliminated with them, in this order; the other velocities."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]


def partition(jacobian: Array, mass: Array, rows: Sequence[int]) -> Partition:
    """Choose dependent velocities for the given rows of A: large pivots, and little fill-in among them.

    Pivots of at least half the largest entry of their row, columns divided by √M_jj, compete by Markowitz's count.
    """
    a = jacobian[list(rows)] / np.sqrt(np.diag(mass))
    a /= np.linalg.norm(a, axis=1)[:, None]
    left, free, order = list(range(len(rows))), list(range(a.shape[1])), []
    while left:
        size = np.abs(a[np.ix_(left, free)])
        present = size > 1e-12
        cost = np.outer(present.sum(axis=1) - 1, present.sum(axis=0) - 1) - 0.5 * size
        cost[size < 0.5 * size.max(axis=1)[:, None]] = np.inf
        i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
        row, column = left.pop(int(i)), free.pop(int(j))
        order.append((rows[row], column))
        for other in left:
            a[other] -= a[other, column] / a[row, column] * a[row]
    return Partition(tuple(r for r, _ in order), tuple(c for _, c in order), tuple(free))


def native_model(system: System, x: Array) -> tuple[NativeFunction, tuple[int, ...]] | None:
    """Return the code for a state x and its independent velocities; None where rows are redundant or nonholonomic.

    Code that was made before is used where its pivots are clear at x.
    """
    rows, compiled = system.compiled.direct, system.compiled
    if rows is None or system.nc > system.nh or system.table[DIRECT_RANK] != system.table[GENERIC_RANK]:
        return None
    for name, native in compiled.compiled.items():
        if name.startswith(_NAME) and native(x)[native.outputs["gauge"][0]] > 0.0:
            return native, tuple(int(i) for i in name.removeprefix(_NAME).split())
    pieces = pieces_of(system)
    numbers = ca.Function("numbers", compiled.inputs, [pieces.jacobian, pieces.mass])
    jacobian, mass = (np.array(m) for m in numbers(*np.split(x, np.cumsum([s.numel() for s in compiled.inputs])[:-1])))
    chosen = partition(jacobian, mass, rows)
    name = _NAME + " ".join(map(str, chosen.independent))
    return compiled.named(name, lambda: traced_model(system, pieces, chosen)), chosen.independent


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

    def solve(self, columns: ca.SX) -> ca.SX:
        """Return A_d⁻¹ B."""
        return _by_columns(columns, self._solve)

    def _solve(self, x: Column) -> Column:
        n = len(x)
        for k in range(n):
            _subtract(x, [(self._a[i][k], i) for i in range(k + 1, n)], k)
        for k in range(n - 1, -1, -1):
            x[k] = x[k] * (1 / self.pivots[k])
            _subtract(x, [(self._a[i][k], i) for i in range(k)], k)
        return x

    def solve_transposed(self, columns: ca.SX) -> ca.SX:
        """Return A_d⁻ᵀ B."""
        return _by_columns(columns, self._solve_transposed)

    def _solve_transposed(self, x: Column) -> Column:
        n = len(x)
        for k in range(n):
            x[k] = x[k] * (1 / self.pivots[k])
            _subtract(x, [(self._a[k][i], i) for i in range(k + 1, n)], k)
        for k in range(n - 1, -1, -1):
            _subtract(x, [(self._a[k][i], i) for i in range(k)], k)
        return x


def _subtract(x: Column, weights: list[tuple[ca.SX, int]], k: int) -> None:
    if x[k].is_zero():
        return
    for weight, i in weights:
        if not weight.is_zero():
            x[i] = x[i] - weight * x[k]


def _by_columns(columns: ca.SX, solve) -> ca.SX:
    out = [ca.vertcat(*solve([columns[i, c] for i in range(columns.shape[0])])) for c in range(columns.shape[1])]
    return ca.sparsify(ca.horzcat(*out)) if out else ca.SX(*columns.shape)


def traced_model(system: System, pieces: Pieces, chosen: Partition) -> dict[str, ca.SX]:
    """Trace the model of the independent velocities of a `Partition`, with the whole mechanism's part in it.

    Returns
    -------
    dict
        Changes with (y, ẏ, u, t), the independent coordinates and their rates: "basis" (nq × dof) and "turn"
        (nq × (dof + 1)), of q with y and of q̇ with y and t, "second" (nq × (2 dof + nu + 1)), of q̈, "drift" (nq), of
        q with t; "rate" q̇ and "rate2" q̈; "gauge": positive where pivots are clear.
    """
    e = system.equations
    d, f, rows = list(chosen.dependent), list(chosen.independent), list(chosen.rows)
    count, nv, dof = len(d), e.nv, len(f)
    order = np.argsort([*d, *f]).tolist()
    jacobian = pieces.jacobian[rows, :]
    factored = Factored(jacobian[:, d])
    k_d = -factored.solve(jacobian[:, f])
    basis = _rows([k_d, ca.SX.eye(dof)], order)
    mass_basis = pieces.mass @ basis
    of_dependent = mass_basis[d, :].T
    reduced_mass = mass_basis[f, :] + k_d.T @ mass_basis[d, :]
    factor = factor_symmetric([[reduced_mass[i, j] for j in range(i + 1)] for i in range(dof)])

    def free(forces: ca.SX, particular: ca.SX) -> ca.SX:
        """Accelerations of the independent velocities, (KᵀMK)⁻¹ (Kᵀf − Kᵀ M_d p)."""
        right = forces - of_dependent @ particular
        return _by_columns(right, lambda column: solve_symmetric(*factor, column))

    particular = -factored.solve(pieces.bias[rows])
    reduced = free(pieces.force[f] + k_d.T @ pieces.force[d], particular)
    a = _rows([particular + k_d @ reduced, reduced], order)
    left = factored.solve_transposed(pieces.mass[d, :] @ a - pieces.force[d])
    multipliers = ca.SX.zeros(e.nc)
    for row, value in zip(rows, ca.vertsplit(left)):
        multipliers[row] = value
    slopes = pieces.slopes(a, multipliers)

    timed = any(m.nnz() for m in (pieces.drift, pieces.slip[:, nv], slopes.force_q[:, nv], slopes.bias_q[:, nv]))
    ways = ca.horzcat(basis, ca.SX(nv, int(timed)))
    if timed:
        ways[:, dof] = _rows([-factored.solve(pieces.drift[rows]), ca.SX(dof, 1)], order)
    time = slice(nv, nv + 1)

    def along_ways(by_place: ca.SX) -> ca.SX:
        out = by_place[:, :nv] @ ways
        if timed:
            out[:, dof] += by_place[:, time]
        return out

    turn_d = -factored.solve(along_ways(pieces.slip[rows, :]))
    bias_q = along_ways(slopes.bias_q[rows, :]) + slopes.bias_v[rows, :][:, d] @ turn_d
    bias_v = slopes.bias_v[rows, :] @ basis
    places = along_ways(_reduced(slopes.force_q, k_d, d, f))
    by_v = _reduced(slopes.force_v, k_d, d, f)
    places, speeds = places + by_v[:, d] @ turn_d, by_v @ basis
    controls = _reduced(e.actuation, k_d, d, f)
    apart = -factored.solve(ca.horzcat(bias_q[:, :dof], bias_v, ca.SX(count, e.nu), bias_q[:, dof:]))
    forces = -ca.horzcat(places[:, :dof], speeds, -controls, places[:, dof:])
    second_f = free(forces, apart)
    second = _rows([apart + k_d @ second_f, second_f], order)
    turn = _rows([turn_d, ca.SX(dof, dof + int(timed))], order)
    drift = ways[:, dof:]
    rate, rate2 = e.v, a
    if not system.table[SIMPLE_RATE]:
        n = ca.jacobian(e.rate, e.v)
        rate, rate2 = e.rate, n @ a + ca.jtimes(e.rate, e.q, e.rate)
        given = ca.SX.sym("a", nv)
        spin = n @ given + ca.jtimes(e.rate, e.q, e.rate)
        rate_q, rate2_q = along(system, e.rate), ca.substitute(along(system, spin), given, a)
        rate2_v = ca.jacobian(ca.jtimes(e.rate, e.q, e.rate), e.v)
        by_y = rate2_q[:, :nv] @ ways + rate2_v @ turn
        by_u = ca.SX(e.nq, e.nu)
        second = n @ second + ca.horzcat(by_y[:, :dof], rate2_v @ basis, by_u, by_y[:, dof:])
        turn = rate_q[:, :nv] @ ways + n @ turn
        basis, drift = n @ basis, n @ drift
    if not timed:
        turn, drift = ca.horzcat(turn, ca.SX(e.nq, 1)), ca.SX(e.nq, 1)
        second = ca.horzcat(second, ca.SX(e.nq, 1))
    weights = [1 / pieces.mass[j, j] for j in range(nv)]
    clear = [
        pivot * pivot * weights[d[k]]
        - CLEAR**2 * sum((jacobian[k, j] * jacobian[k, j] * weights[j] for j in range(nv)), ca.SX(0))
        for k, pivot in enumerate(factored.pivots)
    ]
    return {
        "basis": basis, "turn": turn, "second": second, "drift": drift, "rate": rate, "rate2": rate2,
        "gauge": least(clear),
    }  # fmt: skip


def _reduced(matrix: ca.SX, k_d: ca.SX, d: list[int], f: list[int]) -> ca.SX:
    """Return Kᵀ B."""
    return matrix[f, :] + k_d.T @ matrix[d, :]


def _rows(blocks: list[ca.SX], order: list[int]) -> ca.SX:
    """Return the rows of the blocks in the order of the velocities."""
    return ca.vertcat(*blocks)[order, :]
