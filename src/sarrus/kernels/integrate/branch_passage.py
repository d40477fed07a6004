"""By how much a motion misses the singular configuration that it comes to: whether it goes through it, or turns.

With the left singular vector u of the smallest singular value of A, f = uᵀ φ has a critical point at the singular
configuration, and the constraints are f = 0 there: two branches that cross where its value is zero, a hyperbola that
turns from one to the other where it is not. Positions that are off by δ say that value to δ², so the motion goes on
as a parabola for most of the way there, and is asked where σ is small but its vectors can be told.
"""

from __future__ import annotations

from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled
from sarrus.kernels.integrate.singularity_crossing import measure_at
from sarrus.kernels.integrate.tolerances import CROSSING_LOOK, GAP_ROUNDING
from sarrus.kernels.memory import crossing_layout as pl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal


@internal
def passes_branch_point(table: Table, x: Floats, arrival: float, stages: Stages, work: Workspace):
    """Return True if the motion from x (slope in slopes[0]) meets the branch point at ``arrival`` [s] to rounding."""
    if table.residuals == 0 or table.nh < table.nc or not exists(table.passage):
        return False
    passages, time, trial = pl.passage_array(table), CROSSING_LOOK * arrival, stages.trial
    nq, nv, state = table.nq, table.nv, pl.state_of(table, passages, 3)
    copy(x, trial, la.input_size(table))
    copy_scaled(time, x + nq, work.step, nv)
    axpy(0.5 * time * time, stages.slopes + nq, work.step, nv)
    retract(table, trial, work.step, work.x)
    axpy(time, stages.slopes + nq, trial + nq, nv)
    trial[nq + nv + table.nu] += time
    measure_at(table, trial, passages, state, work)
    call_native(table.residuals, trial, work.native)
    factors, value = la.factors_of(table), 0.0
    for j in range(table.nh):
        value += state.left[j] * factors.rows[j] * work.native[j]
    return abs(value) <= GAP_ROUNDING
