"""Stability of runs in lanes: detection of steps outside the region of stability of the method.

For single runs see `sarrus.kernels.integrate.stiffness`. A lane is checked every few steps, and at every step while
errors grow. The check of a lane depends on its own run only.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.integrate.stiffness import note_stability
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.lane_layout import Lanes, slope_width
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import N_STATE, Run
from sarrus.kernels.memory.tolerances import STABILITY_OF_RK4
from sarrus.kernels.platform.pointers import internal, run_at

W = bl.LANES
# Steps between checks where errors do not grow; value of ``rise`` for a lane that was not checked.
LOOK_EVERY, NOT_LOOKED = 8, -1.0


@internal
def measure_lanes(table: Table, step: int, lane: Lanes):
    """Write the squared differences of stages for `stiffness.classical_size` to ``rise`` and ``way`` of each lane."""
    pitch, slopes, due = slope_width(table), lane.slopes, step % LOOK_EVERY == 0
    wanted = due
    for k in range(W):
        wanted = wanted or _grows(lane, k)
        lane.rise[k] = NOT_LOOKED
    if not wanted:
        return
    for k in range(W):
        lane.rise[k] = lane.way[k] = 0.0
    for i in range(table.nq, table.nq + table.nv):
        for k in range(W):
            first, second = slopes[W * i + k], slopes[pitch + W * i + k]
            third = slopes[2 * pitch + W * i + k]
            lane.way[k] += (second - first) * (second - first)
            lane.rise[k] += (third - second) * (third - second)
    for k in range(W):
        if not (due or _grows(lane, k)):
            lane.rise[k] = NOT_LOOKED


@internal
def _grows(lane: Lanes, k: int):
    """Tell whether the errors of lane k grew in its last step."""
    return run_at(lane.states + k * N_STATE).unstable > 0.0


@internal
def note_lane(table: Table, h: float, k: int, lane: Lanes, state: Run, x: Floats):
    """Update the stability count of lane k for its last step, whose end has its slope in slopes[0].

    The slope of the last stage is in slopes[3]; x is a buffer for one state.
    """
    rise, way, pitch = lane.rise[k], lane.way[k], slope_width(table)
    if rise == NOT_LOOKED:
        return
    if 4.0 * rise <= STABILITY_OF_RK4 * STABILITY_OF_RK4 * way:
        state.unstable = state.unstable_error = 0.0
        return
    n, own = table.nq + table.nv, la.stages_of(table, la.workspace(table)).slopes
    for i in range(la.input_size(table)):
        x[i] = lane.before[W * i + k]
    for i in range(n):
        own[i], own[3 * n + i] = lane.slopes[W * i + k], lane.slopes[3 * pitch + W * i + k]
    note_stability(table, x, own, h, 2.0 * np.sqrt(rise / way) if way > 0.0 else 0.0, state)
