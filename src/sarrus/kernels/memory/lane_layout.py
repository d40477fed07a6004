"""The workspace of runs side by side; number i of lane k lies at ``part[LANES * i + k]``."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.memory.batch_layout import LANES, BatchTable
from sarrus.kernels.memory.contact_layout import ContactTable
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


class ContactLanes(NamedTuple):
    """Arrays of time stepping in lanes, behind `Lanes`."""

    middle: Any  # x in the middle of a step
    probe: Any  # x with the velocity by which gaps are forecast
    trial: Any  # [x | displacement]
    place: Any  # q ⊕ displacement
    stage: Any  # [a | q̇ | conditioning | condition number of M | factors], from ``stage``
    rows: Any  # rows J of all slots, behind the factors, and two velocities
    smooth: Any  # acceleration with the forces of lasting contacts, without impacts
    free: Any  # velocity at the end without contact forces
    first: Any  # velocity at the end by the first pass
    way: Any  # velocity by which gaps are forecast
    shifted: Any  # the same with contact forces
    ahead: Any  # velocity at the end
    products: Any  # of rows and columns
    pushed: Any  # forces of all slots, in front of the columns
    columns: Any  # columns K Jᵀ of all slots
    problem: Any  # room for [W | b | μ | r] of the slots, which follow the columns that there are
    scaled: Any  # the same in its units, and these behind
    answer: Any  # of functions of the contact problem
    best: Any  # forces with the smallest residual
    # of contacts and stops
    gap: Any  # at the start
    after: Any  # at the end
    rate: Any  # of contacts alone
    ahead_gap: Any  # at the end, without contact forces
    active: Any
    delay: Any
    before: Any  # velocity of the normal row at the start
    # of rows
    motion: Any  # velocities, bias and rows of contacts
    impulse: Any  # of the first pass
    lasting: Any  # forces of contacts that were closed before the last step
    coming: Any  # the same of this step
    # of slots
    which: Any  # its row, −1: none
    owner: Any  # contact or stop
    used: Any  # rows of the slots whose columns are known
    bounds: Any  # of stops
    # of lanes
    residual: Any
    done: Any
    counts: Any  # of contacts, then of unilateral rows
    sums: Any  # of products
    kept: Any  # size of the problem whose columns are known
    known: Any  # 1 if the rows J of this step are known


def contact_lane_sizes(contact_table: ContactTable, table: Table, todo: BatchTable):
    """Return the lengths of the arrays of `ContactLanes`."""
    nq, nv, w = table.nq, table.nv, LANES
    contacts, single = todo.most_contacts, todo.most_single
    m, size = 3 * contacts + single, input_size(table)
    whole = m * (m + 1) // 2 + 2 * m + contacts
    k, rows = contact_table.contacts + contact_table.stops, contact_table.contact_rows + contact_table.stops
    return ContactLanes(
        middle=w * size, probe=w * size, trial=w * (size + nv), place=w * nq,
        stage=w * (nv + nq + N_CONDITIONING + 1 + todo.n_factors), rows=w * (m + 2) * nv, smooth=w * nv, free=w * nv,
        first=w * nv, way=w * nv, shifted=w * nv, ahead=w * nv, products=w * max(2 * m, nv), pushed=w * m,
        columns=w * m * nv, problem=w * whole, scaled=w * (whole + m + 1), answer=w * (m + 1), best=w * m,
        gap=w * k, after=w * k, rate=w * k, ahead_gap=w * k, active=w * k, delay=w * k, before=w * k,
        motion=w * contact_table.contact_rows * (2 + nv), impulse=w * rows, lasting=w * rows, coming=w * rows,
        which=w * m, owner=w * m, used=w * m, bounds=w * contact_table.stops, residual=w, done=w, counts=2 * w,
        sums=w, kept=1, known=1,
    )  # fmt: skip


def contact_lanes_of(table: Table, todo: BatchTable):
    """Return the arrays of time stepping in lanes, views of ``todo.contact_work``."""
    return view_fields(todo.contact_work, contact_lane_sizes(table.contact_table, table, todo))


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
