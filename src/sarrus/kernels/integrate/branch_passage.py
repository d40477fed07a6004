"""Test whether a motion goes through the singular configuration ahead of it, or turns back before it.

With the left singular vector u of the smallest singular value σ of A, f = uᵀ φ has a critical point at the singular
configuration, and the constraints are f = 0 there. Two branches cross if the critical value of f is zero; otherwise f
= 0 is a hyperbola that turns from one branch to the other. An error δ of the position changes f by δ². The motion is
therefore extrapolated as a parabola over most of the way, to a state where σ is small but u is still well defined.
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
