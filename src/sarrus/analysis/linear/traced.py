"""The whole linear model as straight-line code: accelerations, derivatives and elimination in one function.

Some columns of A are dependent, A_d, in an order of elimination that is fixed when the code is generated. All results
follow from one factorisation of A_d and one of the reduced mass KᵀMK, also the accelerations, so that nothing is
evaluated twice (Wehage and Haug 1982; Spencer 2004, section 4.2).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.analysis.linear.partition import Factored, Partition, by_columns
from sarrus.analysis.linear.pieces import Pieces
from sarrus.analysis.linear.tolerances import CLEAR_PIVOT, OWN_CLEAR_PIVOT
from sarrus.dynamics.model.derivatives import along
from sarrus.dynamics.system import System
from sarrus.symbolic.equations.sparse import Column, factor_symmetric, least, rows_of


class Elimination:
    """Accelerations and multipliers, and the elimination of their changes with the state.

    With the independent velocities f of a `Partition` and A K = 0, K_f = 1:

    Attributes
    ----------
    basis, ways : K, and K with a column for δq at constant y and δt = 1 for rheonomic systems (``timed``).
    a, slopes : accelerations, and the derivatives of the equations there.
    conditioning : positive if pivots are clear of zero; the square of the smallest pivot, over √M_jj, relative to the
        size of its row at ordinary configurations.
    """

    def __init__(self, system: System, pieces: Pieces, chosen: Partition, clear: float) -> None:
        d, f, rows = list(chosen.dependent), list(chosen.independent), list(chosen.rows)
        self.dependent, self.independent, self.rows, nv = d, f, rows, system.nv
        self._order = np.argsort([*d, *f]).tolist()
        jacobian = pieces.jacobian[rows, :]
        self.factored = Factored(jacobian[:, d])
        self.k_d = -self.factored.solve(jacobian[:, f])
        self.basis = self.all_velocities(self.k_d, ca.SX.eye(len(f)))
        self.momentum = pieces.mass @ self.basis
        inertia = self.reduced(self.momentum)
        self._inertia = factor_symmetric(rows_of(inertia))
        self.a = self.accelerations(self.reduced(pieces.force), -self.factored.solve(pieces.bias[rows]))
        multipliers = ca.SX.zeros(system.nc)
        multipliers[rows] = self.factored.solve(
            pieces.mass[d, :] @ self.a - pieces.force[d, :], transposed=True
        )
        s = self.slopes = pieces.slopes(self.a, multipliers)
        by_time = (pieces.drift, pieces.velocity[:, nv], s.force_q[:, nv], s.bias_q[:, nv])
        self.timed = any(part.nnz() for part in by_time)
        self.ways = self.basis
        if self.timed:
            drift = self.all_velocities(-self.factored.solve(pieces.drift[rows]), ca.SX(len(f), 1))
            self.ways = ca.horzcat(self.basis, drift)
        weights = [1 / pieces.mass[j, j] for j in range(nv)]
        sizes = [pivot * pivot * weights[j] for j, pivot in zip(d, self.factored.pivots)]
        margins = [
            size - clear**2 * sum((jacobian[k, j] ** 2 * weights[j] for j in range(nv)), ca.SX(0))
            for k, size in enumerate(sizes)
        ]
        parts = [size * (1.0 / one**2) for size, one in zip(sizes, chosen.sizes, strict=True)]
        self.conditioning = ca.vertcat(least(margins), least(parts))

    def all_velocities(self, dependent: ca.SX, independent: ca.SX) -> ca.SX:
        """Return rows for all velocities in their order, from those of dependent and independent ones."""
        return ca.vertcat(dependent, independent)[self._order, :]

    def reduced(self, matrix: ca.SX) -> ca.SX:
        """Return Kᵀ B."""
        return matrix[self.independent, :] + self.k_d.T @ matrix[self.dependent, :]

    def free(self, forces: ca.SX) -> ca.SX:
        """Return (KᵀMK)⁻¹ f."""

        def solved(column: Column) -> Column:
            found = self._inertia.solve({i: value for i, value in enumerate(column) if not value.is_zero()})
            return [found.get(i, ca.SX(0)) for i in range(len(column))]

        return by_columns(forces, solved)

    def accelerations(self, forces: ca.SX, particular: ca.SX) -> ca.SX:
        """Return a with A a = A_d p and KᵀM a = f."""
        free = self.free(forces - self.momentum[self.dependent, :].T @ particular)
        return self.all_velocities(particular + self.k_d @ free, free)

    def along_ways(self, by_place: ca.SX) -> ca.SX:
        """Return changes with y, and with t for rheonomic systems, from those along velocities and by time."""
        nv = self.basis.shape[0]
        out = by_place[:, :nv] @ self.ways
        return (
            out + ca.horzcat(ca.SX(out.shape[0], self.k_d.shape[1]), by_place[:, nv]) if self.timed else out
        )


def own_model(system: System, pieces: Pieces, chosen: Partition) -> dict[str, ca.SX]:
    """Return [A | B | E | affine] in the independent velocities, which are rates of coordinates.

    The two numbers of the conditioning are in the first row, where A and E are zero. Only the accelerations of these
    velocities are needed, so the rows of the equations are combined before the multiplication by the many directions:
    Kᵀ ∂F − Uᵀ ∂G − Yᵀ ∂ψ with A_dᵀ U = (M K)_d, and Y likewise, is independent of changes of dependent accelerations
    and velocities.
    """
    e = Elimination(system, pieces, chosen, OWN_CLEAR_PIVOT)
    d, f, rows, dof = e.dependent, e.independent, e.rows, len(e.independent)
    u = e.factored.solve(e.momentum[d, :], transposed=True)
    by_v = e.reduced(e.slopes.force_v) - u.T @ e.slopes.bias_v[rows, :]
    y = e.factored.solve(by_v[:, d].T, transposed=True)
    by_place = e.reduced(e.slopes.force_q) - u.T @ e.slopes.bias_q[rows, :] - y.T @ pieces.velocity[rows, :]
    place = e.along_ways(by_place)
    controls = e.reduced(system.equations.input_jacobian)
    bottom = e.free(ca.horzcat(-place[:, :dof], -(by_v @ e.basis), controls, -place[:, dof:]))
    if not e.timed:
        bottom = ca.horzcat(bottom, ca.SX(dof, 1))
    top = ca.horzcat(ca.SX(dof, dof), ca.SX.eye(dof), ca.SX(dof, system.nu + 1), system.equations.v[f])
    top[0, 0], top[0, 2 * dof + system.nu] = e.conditioning[0], e.conditioning[1]
    return {"model": ca.vertcat(top, ca.horzcat(bottom, e.a[f]))}


def whole_model(
    system: System, pieces: Pieces, chosen: Partition, clear: float = CLEAR_PIVOT
) -> dict[str, ca.SX]:
    """Return the parts of a model in any other coordinates, one matrix with a row for each entry of q.

    Columns, with (y, ẏ) of the partition: ∂q/∂y (dof), ∂q/∂t, ∂q̇/∂y (dof), ∂q̇/∂t, ∂q̈/∂(y, ẏ, u, t), q̇ and q̈.
    """
    e, equations = Elimination(system, pieces, chosen, clear), system.equations
    d, rows, dof, nu = e.dependent, e.rows, len(e.independent), system.nu
    turn_d = -e.factored.solve(e.along_ways(pieces.velocity[rows, :]))
    by_v, bias_v = e.reduced(e.slopes.force_v), e.slopes.bias_v[rows, :]
    force = e.along_ways(e.reduced(e.slopes.force_q)) + by_v[:, d] @ turn_d
    bias = e.along_ways(e.slopes.bias_q[rows, :]) + bias_v[:, d] @ turn_d
    forces = ca.horzcat(force[:, :dof], by_v @ e.basis, -e.reduced(equations.input_jacobian), force[:, dof:])
    biases = ca.horzcat(bias[:, :dof], bias_v @ e.basis, ca.SX(len(d), nu), bias[:, dof:])
    basis, ways, rate, rate2 = e.basis, e.ways, equations.v, e.a
    turn = e.all_velocities(turn_d, ca.SX(dof, turn_d.shape[1]))
    second = e.accelerations(-forces, -e.factored.solve(biases))
    if not system.workspace().table.simple_rate:
        n, given = ca.jacobian(equations.rate, equations.v), ca.SX.sym("a", system.nv)
        spin = ca.jtimes(equations.rate, equations.q, equations.rate)
        spin_v, rate_q = ca.jacobian(spin, equations.v), along(system, equations.rate)[:, : system.nv]
        rate2_q = ca.substitute(along(system, n @ given + spin)[:, : system.nv], given, ca.densify(e.a))
        place = rate2_q @ ways + spin_v @ turn
        still = ca.SX(system.nq, nu)
        second = n @ second + ca.horzcat(place[:, :dof], spin_v @ basis, still, place[:, dof:])
        turn, rate, rate2 = rate_q @ ways + n @ turn, equations.rate, n @ e.a + spin
        basis, ways = n @ basis, n @ ways
    drift = ways[:, dof:]
    if not e.timed:
        drift = ca.SX(system.nq, 1)
        turn, second = ca.horzcat(turn, drift), ca.horzcat(second, drift)
    return {"changes": ca.horzcat(basis, drift, turn, second, rate, rate2), "conditioning": e.conditioning}
