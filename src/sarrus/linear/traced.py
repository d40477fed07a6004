"""The whole linear model as straight-line code: accelerations, derivatives and elimination in one function.

It takes some columns of A as dependent, A_d, in an order of elimination that is fixed when the code is made. Everything
follows from one factorisation of A_d and one of the reduced mass KᵀMK, the accelerations too, so that nothing is
evaluated twice (Wehage and Haug 1982; Spencer 2004, section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.elimination import factor_symmetric, least, solve_symmetric
from sarrus.kernels.layout import SIMPLE_RATE
from sarrus.linear.derivatives import along
from sarrus.linear.partition import CLEAR, Factored, Partition, by_columns
from sarrus.linear.pieces import Pieces

if TYPE_CHECKING:
    from sarrus.system import System


@dataclass(frozen=True)
class Traced:
    """The model in the independent velocities of a `Partition`, for all velocities.

    ``ways``: δq = N ways (δy, δt); ``turn``: δv = turn (δy, δt) + basis δẏ; ``second``: δa for unit changes of
    (y, ẏ, u, t). The column for t is missing where nothing depends on it (``timed``).
    """

    a: ca.SX
    basis: ca.SX
    ways: ca.SX
    turn: ca.SX
    second: ca.SX
    gauge: ca.SX
    timed: bool


def trace_model(system: System, pieces: Pieces, chosen: Partition) -> Traced:
    """Eliminate the dependent velocities from the accelerations and from the equations for their changes.

    "gauge" is positive where pivots are clear of their rows, and followed by the square of the smallest pivot over √M_jj.
    """
    e = system.equations
    d, f, rows = list(chosen.dependent), list(chosen.independent), list(chosen.rows)
    count, nv, dof = len(d), e.nv, len(f)
    order = np.argsort([*d, *f]).tolist()

    def all_velocities(dependent: ca.SX, independent: ca.SX) -> ca.SX:
        return ca.vertcat(dependent, independent)[order, :]

    jacobian = pieces.jacobian[rows, :]
    factored = Factored(jacobian[:, d])
    k_d = -factored.solve(jacobian[:, f])
    basis = all_velocities(k_d, ca.SX.eye(dof))

    def reduced(matrix: ca.SX) -> ca.SX:
        """Return Kᵀ B."""
        return matrix[f, :] + k_d.T @ matrix[d, :]

    mass_basis = pieces.mass @ basis
    inertia = reduced(mass_basis)
    factor = factor_symmetric([[inertia[i, j] for j in range(i + 1)] for i in range(dof)])

    def accelerations(forces: ca.SX, particular: ca.SX) -> ca.SX:
        """Return a with A_d a_d + A_f a_f = A_d p and KᵀM a = f."""
        right = forces - mass_basis[d, :].T @ particular
        free = by_columns(right, lambda column: solve_symmetric(*factor, column))
        return all_velocities(particular + k_d @ free, free)

    a = accelerations(reduced(pieces.force), -factored.solve(pieces.bias[rows]))
    multipliers = ca.SX.zeros(e.nc)
    multipliers[rows] = factored.solve_transposed(pieces.mass[d, :] @ a - pieces.force[d])
    s = pieces.slopes(a, multipliers)

    timed = any(part.nnz() for part in (pieces.drift, pieces.slip[:, nv], s.force_q[:, nv], s.bias_q[:, nv]))
    ways = basis
    if timed:
        ways = ca.horzcat(basis, all_velocities(-factored.solve(pieces.drift[rows]), ca.SX(dof, 1)))

    def along_ways(by_place: ca.SX) -> ca.SX:
        out = by_place[:, :nv] @ ways
        return out + ca.horzcat(ca.SX(out.shape[0], dof), by_place[:, nv]) if timed else out

    turn_d = -factored.solve(along_ways(pieces.slip[rows, :]))
    slopes_v, bias_v = reduced(s.force_v), s.bias_v[rows, :]
    force = along_ways(reduced(s.force_q)) + slopes_v[:, d] @ turn_d
    bias = along_ways(s.bias_q[rows, :]) + bias_v[:, d] @ turn_d
    forces = ca.horzcat(force[:, :dof], slopes_v @ basis, -reduced(e.actuation), force[:, dof:])
    biases = ca.horzcat(bias[:, :dof], bias_v @ basis, ca.SX(count, e.nu), bias[:, dof:])
    weights = [1 / pieces.mass[j, j] for j in range(nv)]
    sizes = [pivot * pivot * weights[d[k]] for k, pivot in enumerate(factored.pivots)]
    clear = [
        size - CLEAR**2 * sum((jacobian[k, j] * jacobian[k, j] * weights[j] for j in range(nv)), ca.SX(0))
        for k, size in enumerate(sizes)
    ]
    return Traced(
        a=a,
        basis=basis,
        ways=ways,
        turn=all_velocities(turn_d, ca.SX(dof, dof + int(timed))),
        second=accelerations(-forces, -factored.solve(biases)),
        gauge=ca.vertcat(least(clear), least(sizes)),
        timed=timed,
    )


def own_model(system: System, pieces: Pieces, chosen: Partition) -> dict[str, ca.SX]:
    """Return [A | B | E | affine] of the independent velocities themselves, which are rates of coordinates."""
    traced, f = trace_model(system, pieces, chosen), list(chosen.independent)
    dof, v = len(f), system.equations.v[f]
    still = 0 if traced.timed else 1
    top = ca.horzcat(ca.SX(dof, dof), ca.SX.eye(dof), ca.SX(dof, system.nu + 1), v)
    model = ca.vertcat(top, ca.horzcat(traced.second[f, :], ca.SX(dof, still), traced.a[f]))
    return {"model": model, "gauge": traced.gauge}


def whole_model(system: System, pieces: Pieces, chosen: Partition) -> dict[str, ca.SX]:
    """Return what a model in any other coordinates consists of.

    With (y, ẏ) of the partition: "basis" (nq × dof) and "turn" (nq × (dof + 1)), changes of q with y and of q̇ with y
    and t; "second" (nq × (2 dof + nu + 1)), of q̈ with y, ẏ, u, t; "drift" (nq), of q with t; "rate" q̇, "rate2" q̈.
    """
    traced, e, dof = trace_model(system, pieces, chosen), system.equations, len(chosen.independent)
    basis, ways, turn, second = traced.basis, traced.ways, traced.turn, traced.second
    rate, rate2 = e.v, traced.a
    if not system.table[SIMPLE_RATE]:
        n, spin, given = ca.jacobian(e.rate, e.v), ca.jtimes(e.rate, e.q, e.rate), ca.SX.sym("a", e.nv)
        rate, rate2 = e.rate, n @ traced.a + spin
        rate_q = along(system, e.rate)[:, : e.nv]
        rate2_q = ca.substitute(along(system, n @ given + spin)[:, : e.nv], given, traced.a)
        spin_v = ca.jacobian(spin, e.v)
        by_place = rate2_q @ ways + spin_v @ turn
        still = ca.SX(e.nq, e.nu)
        second = n @ second + ca.horzcat(by_place[:, :dof], spin_v @ basis, still, by_place[:, dof:])
        turn = rate_q @ ways + n @ turn
        basis, ways = n @ basis, n @ ways
    drift = ways[:, dof:]
    if not traced.timed:
        drift = ca.SX(e.nq, 1)
        turn, second = ca.horzcat(turn, drift), ca.horzcat(second, drift)
    return {
        "basis": basis, "turn": turn, "second": second, "drift": drift, "rate": rate, "rate2": rate2,
        "gauge": traced.gauge,
    }  # fmt: skip
