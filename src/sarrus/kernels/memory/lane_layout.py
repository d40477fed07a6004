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
    # what follows as in `sarrus.symbolic.equations.contact_forecast.StepFields`
    trial: Any  # [x at the start | displacement]
    length: Any  # of the step
    again: Any  # 1 in the second pass
    bounds: Any  # of stops
    # of contacts and stops: gap that is closed, that is so to the digits of a file, and speed that is none at rest
    closed: Any
    reach: Any
    still: Any
    factors: Any  # units of velocities
    gap: Any  # at the start
    active: Any
    delay: Any
    ahead_gap: Any  # at the end, without contact forces
    free: Any  # velocity at the end without contact forces
    way: Any  # velocity by which gaps are forecast
    ahead: Any  # velocity at the end
    first: Any  # velocity at the end by the first pass
    smooth: Any  # acceleration with the forces of lasting contacts, without impacts
    stage: Any  # [a | q̇ | conditioning | condition number of M | factors], from ``stage``
    rows: Any  # rows J of all slots, behind the factors
    place: Any  # q ⊕ displacement
    found: Any  # from ``start``, ``forecast`` and ``more``
    products: Any  # of columns
    pushed: Any  # forces of all slots, in front of the columns
    columns: Any  # columns K Jᵀ of all slots
    problem: Any  # room for [W | b | μ and limits | r] of the slots, which follow the columns that there are
    # units of forces, the problem in these units, forces of the smallest residual, this, whether the iteration ended
    scaled: Any
    answer: Any  # of functions of the contact problem
    best: Any  # forces with the smallest residual
    # of contacts and stops
    after: Any  # gaps at the end
    lasts: Any  # 1 if it was closed at the start, and neither hits nor rebounds
    stopped: Any  # of velocities: 1 + number of the row in use of an active stop, 0 if there is none
    # of rows
    motion: Any  # velocities at the end and at the start, turn, and rows of contacts
    impulse: Any  # of the first pass
    lasting: Any  # forces of contacts that were closed before the last step
    coming: Any  # the same of this step
    # of slots
    which: Any  # its row, −1: none
    # of the rows of slots that are used, dry friction last: places of slot, row, contact or stop; 1 at a normal row
    at: Any
    row_of: Any
    unit_of: Any
    head: Any
    # the same places whose columns are known
    known_at: Any
    known_row: Any
    # of lanes
    done: Any
    counts: Any  # of active contacts with friction, of unilateral rows, of contacts
    taken: Any  # slots for both kinds
    hits: Any  # 1 where something closes within the step
    # of all
    used: Any  # number of rows of slots that are used, without and with those of dry friction
    kept: Any  # size of the problem whose columns are known, and the number of rows of its slots
    known: Any  # 1 if the rows J of this step are known
    ready: Any  # 1 if tolerances and units are there


def contact_lane_sizes(contact_table: ContactTable, table: Table, todo: BatchTable):
    """Return the lengths of the arrays of `ContactLanes`."""
    nq, nv, w = table.nq, table.nv, LANES
    contacts, single = todo.most_contacts, todo.most_single
    m, size = 3 * contacts + single + todo.dry, input_size(table)
    whole = m * (m + 1) // 2 + 2 * m + contacts + todo.dry
    k, rows = contact_table.contacts + contact_table.stops, contact_table.contact_rows + contact_table.stops
    rows += contact_table.dry - contact_table.dry_lengths
    return ContactLanes(
        middle=w * size, trial=w * (size + nv), length=w, again=w, bounds=w * contact_table.stops, closed=w * k,
        reach=w * k, still=w * k, factors=w * nv, gap=w * k, active=w * k, delay=w * k, ahead_gap=w * k, free=w * nv,
        way=w * nv, ahead=w * nv, first=w * nv, smooth=w * nv,
        stage=w * (nv + nq + N_CONDITIONING + 1 + todo.n_factors), rows=w * m * nv, place=w * nq,
        found=w * (3 * k + 2 * nv + 6), products=w * nv, pushed=w * m, columns=w * m * nv, problem=w * whole,
        scaled=w * (whole + 2 * m + 2), answer=w * (2 * m + 2), best=w * m, after=w * k, lasts=w * k, stopped=w * nv,
        motion=w * (3 * rows + contact_table.contact_rows * nv), impulse=w * rows, lasting=w * rows,
        coming=w * rows, which=w * m, at=w * m, row_of=w * m, unit_of=w * m, head=w * m, known_at=w * m,
        known_row=w * m, done=w, counts=3 * w, taken=2 * w, hits=w, used=2, kept=2, known=1, ready=1,
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
