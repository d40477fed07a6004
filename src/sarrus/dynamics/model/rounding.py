"""Second test of a contradiction of dependent rows: does it exceed the rounding of γ?

γ = Ȧ v cancels if a mechanism rotates as a whole. The kernels compare a residual with γ; here it is compared with the
size of the summed terms, |Ȧ| |v|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.tolerances import SUM_ROUNDING
from sarrus.kernels.linalg.ranked import at_rank
from sarrus.kernels.memory.tolerances import ROWS_MET

if TYPE_CHECKING:
    from sarrus.dynamics.model.compiled import CompiledEquations
    from sarrus.dynamics.model.evaluations import Evaluations


def only_rounding(system: Evaluations, x: Array, a: Array, rank: int) -> bool:
    """Tell whether dependent rows contradict each other at x = [q | v | u | t | p | τ] by the rounding of γ alone.

    If so, a, found with this rank of A, satisfies A a + γ = 0, and the part of γ outside the range of A is rounding of
    the terms summed in it.
    """
    native = system.compiled.named("row rates", lambda: _outputs(system.compiled))
    outputs, nc = native.evaluate(x), system.nc
    rows, rates, gamma, v = outputs["rows"], outputs["rates"], outputs["bias"][:, 0], x[system.parts.v]
    summed = np.abs(rates) @ np.abs(v) + np.abs(gamma - rates @ v)
    terms = np.abs(rows) @ np.abs(a)
    if rank == nc or not (np.abs(rows @ a + gamma) <= ROWS_MET * terms + SUM_ROUNDING * summed).all():
        return False
    mass = outputs["mass"][:, 0]
    even = rows / np.sqrt(np.where(mass > 0.0, mass, 1.0))
    length = np.linalg.norm(even, axis=1)
    length = np.where(length > 0.0, length, 1.0)
    left = at_rank(even / length[:, None], rank).left_null
    return bool(np.linalg.norm(left.T @ (gamma / length)) <= SUM_ROUNDING * np.linalg.norm(summed / length))


def _outputs(compiled: CompiledEquations) -> dict[str, ca.SX]:
    e = compiled.equations
    flat = ca.vec(e.jacobian)
    rates = ca.jtimes(flat, e.q, e.rate) + ca.jtimes(flat, e.t, ca.SX(1))
    return {
        "rows": e.jacobian,
        "rates": ca.reshape(rates, e.nc, e.nv),
        "bias": e.constraint_bias,
        "mass": ca.diag(e.mass_matrix),
    }
