"""Loops that jam: a run stops in a plastic impact where redundant rows disagree by more than the digits of the model.

Redundant rows that contradict each other by the digits of their data are met in the least-squares sense, and the
residual changes along the motion (`sarrus.dynamics.model.model_precision`). Once it exceeds what the digits explain,
the dependent combinations of rows are constraints after all: the links would have to stretch. The run adds the first
such combination at velocity level. The motion along it ends in an ideal plastic stop, and the remaining motion goes
on. The added row holds in both directions from then on. Points that are apart by the residual give its force a
moment, so the status of such a run is INACCURATE.
"""

from __future__ import annotations

import numpy as np

from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.model.tolerances import SHORTEST_PROJECTED_STEP
from sarrus.kernels.linalg.ranked import rank_of
from sarrus.kernels.memory import layout as la
from sarrus.kernels.platform.c_function import projection
from sarrus.motion.loop.time_loop import TimeLoop
from sarrus.motion.loop.tolerances import RESTARTED_STEP
from sarrus.motion.records.records import EventRecord

# The event in a trajectory.
JAM = "loops jam"


def jam(loop: TimeLoop) -> bool:
    """Stop the motion that the loops no longer allow at the last state of a run; return False if there is none."""
    s, x = loop.system, loop.x
    if data_of(s).exact or loop.chart is not None or loop.solver is not None or not np.isfinite(x).all():
        return False
    rows = s.characteristic.scaled_rows(s.constraint_jacobian(loop.q, loop.v, loop.time))
    rank, known = rank_of(rows, data_of(s).rank_cut(0.0)), int(loop.table.generic_rank)
    if rank <= known:
        return False
    loop.table.generic_rank = known + 1  # one at a time: what the motion ran into
    loop.settings.singular_cut = s.options.singular_cut  # the new rows are weak, and count
    loop.settings.accepted_residual *= 2.0  # the place is where it was just too much
    projection(loop.table, x, la.VELOCITIES)
    if loop.adaptive:
        loop.state.step = max(loop.state.step, RESTARTED_STEP * SHORTEST_PROJECTED_STEP)
    loop.renew(probe=False)
    loop.state.largest_pivot = 0.0  # the new rows are what they are from here on
    loop.records.append(EventRecord(JAM, loop.time))
    return True


def note(loop: TimeLoop) -> str:
    """Return the message about loops that jammed; "" if none did."""
    times = [record.time for record in loop.records if record.name == JAM]
    if not times:
        return ""
    return (
        f"at t = {times[0]:.6g} s the loops jam: further on, redundant rows would contradict each other by more than "
        f"the {data_of(loop.system).accepted(0.0):.2g} characteristic lengths that the digits of the model explain. "
        "The motion is stopped there by a plastic impact, and the rest of the run is accurate to that length only"
    )
