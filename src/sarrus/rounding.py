"""A second look at what seems to contradict itself: is it more than the rounding of γ?

γ = Ȧ v cancels where a mechanism turns as a whole. The kernels compare a residual with γ itself; here it is compared
with what was summed there, |Ȧ| |v|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.mechanism.pose import Array

if TYPE_CHECKING:
    from sarrus.compiled import CompiledEquations
    from sarrus.system import System

# Rounding of a sum, relative to its largest terms.
_ROUNDING = 1e-13


def only_rounding(system: System, x: Array, a: Array) -> bool:
    """Tell whether the rows of A a + γ at x = [q | v | u | t | p | τ] are zero but for the rounding of γ."""
    native = system.compiled.named("row rates", lambda: _outputs(system.compiled))
    flat, nc, nv = native(x), system.nc, system.nv
    rows, rates = (flat[native.outputs[name][0]].reshape(nc, nv) for name in ("rows", "rates"))
    gamma, v = flat[native.outputs["bias"][0]], x[system._v_part]
    turning = rates @ v
    summed = np.abs(rates) @ np.abs(v) + np.abs(gamma - turning)
    return bool((np.abs(rows @ a + gamma) <= _ROUNDING * summed).all())


def _outputs(compiled: CompiledEquations) -> dict[str, ca.SX]:
    e = compiled.equations
    flat = ca.vec(e.jacobian)
    rates = ca.jtimes(flat, e.q, e.rate) + ca.jtimes(flat, e.t, ca.SX(1))
    return {"rows": e.jacobian, "rates": ca.reshape(rates, e.nc, e.nv), "bias": e.constraint_bias}
