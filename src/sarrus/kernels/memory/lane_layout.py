"""The workspace of runs side by side; number i of lane k lies at ``part[LANES * i + k]``."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.memory.batch_layout import LANES, BatchTable
from sarrus.kernels.memory.layout import N_CONDITIONING, Table, input_size
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.memory.run_state import N_STATE

# Numbers of a `Conditioning`, see `sarrus.kernels.memory.layout.Conditioning`.
CLEARANCE, LEAST_PIVOT, LARGEST_ENTRY = range(N_CONDITIONING)


class Lanes(NamedTuple):
    """Arrays of the runs in the lanes of the processor."""

    before: Any  # x where a step begins
    after: Any  # and where it ends
    slopes: Any  # (q̇, a, conditioning) of the four stages
    answer: Any  # of native functions
    # what is known of each lane
    mode: Any  # what it does
    until: Any  # until which step it waits
    pivot: Any  # the smallest, relative to the greatest so far; negative: not known
    greatest: Any  # pivot so far
    open: Any  # how far its last step left loops open
    # how far apart the slopes of its middle stages and these were (`sarrus.kernels.batch.lane_stability`)
    rise: Any
    way: Any
    states: Any  # of the runs


def slope_width(table: Table):
    """Return the number of entries of the slopes of one stage, of all lanes."""
    return LANES * (table.nq + table.nv + N_CONDITIONING)


def lane_sizes(table: Table):
    """Return the lengths of the arrays of `Lanes`."""
    x, w = LANES * input_size(table), LANES
    return Lanes(
        before=x, after=x, slopes=4 * slope_width(table), answer=w * (table.nq + table.nh + table.nv + table.nu),
        mode=w, until=w, pivot=w, greatest=w, open=w, rise=w, way=w, states=w * N_STATE,
    )  # fmt: skip


def lanes_of(table: Table, todo: BatchTable):
    """Return the arrays of the workspace of runs side by side, views of ``todo.work``."""
    return view_fields(todo.work, lane_sizes(table))
