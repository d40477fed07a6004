"""Contact forces and bounds of a run in a lane, lent to the table of the kernel of single runs and taken back."""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.batch.contact_slots import rows_of_slots
from sarrus.kernels.contact.rows import find_slot, forget
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.lane_layout import contact_lanes_of
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

W = bl.LANES


@internal
def begin_contacts(table: Table, todo: BatchTable, count: int):
    """Take over the bounds of the runs that begin in ``count`` lanes, which have no contact forces yet.

    Spare lanes repeat the last run.
    """
    contact_table, own = table.contact_table, contact_lanes_of(table, todo)
    for k in range(W):
        bounds = todo.bounds + (todo.first + min(k, count - 1)) * contact_table.stops
        for s in range(contact_table.stops):
            own.bounds[W * s + k] = bounds[s]
    fill(own.lasting, 0.0, W * tl.fixed_rows(contact_table))


@internal
def lend_bounds(table: Table, todo: BatchTable, k: int):
    """Write the bounds of lane k to the table."""
    contact_table, own = table.contact_table, contact_lanes_of(table, todo)
    for s in range(contact_table.stops):
        contact_table.bounds[s] = own.bounds[W * s + k]


@internal
def keep_forces(table: Table, todo: BatchTable, k: int):
    """Keep the forces of lasting contacts of the step that lane k has taken; of all lanes, if k is −1."""
    own, rows = contact_lanes_of(table, todo), tl.fixed_rows(table.contact_table)
    if k < 0:
        copy(own.coming, own.lasting, W * rows)
    for row in range(rows if k >= 0 else 0):
        own.lasting[W * row + k] = own.coming[W * row + k]


@internal
def lend_contacts(table: Table, todo: BatchTable, k: int, x: Floats):
    """Write bounds and lasting forces of lane k, whose last step ended at x, to the table: slot 1.

    The generalized force is that of the rows in the middle of the step.
    """
    contact_table, own, nv = table.contact_table, contact_lanes_of(table, todo), table.nv
    forget(table)
    lend_bounds(table, todo, k)
    slot, time = tl.slot(contact_table, nv, 1), x[table.nq + nv + table.nu]
    if not time > todo.times.begin:
        return
    slot.facts.time, slot.facts.length = time, todo.times.step
    for row in range(tl.fixed_rows(contact_table)):
        slot.forces[row] = slot.lasting[row] = own.lasting[W * row + k]
    chosen = int(own.kept[0])
    for s in range(rows_of_slots(todo, chosen) if chosen >= 0 else 0):
        row = int(own.which[W * s + k])
        if row >= 0 and own.lasting[W * row + k] != 0.0:
            for i in range(nv):
                slot.applied[i] += own.lasting[W * row + k] * own.rows[W * (s * nv + i) + k]


@internal
def take_contacts(table: Table, todo: BatchTable, k: int, x: Floats):
    """Take bounds and lasting forces of a run, advanced alone to x, back to lane k."""
    contact_table, own = table.contact_table, contact_lanes_of(table, todo)
    found = find_slot(table, x)
    for s in range(contact_table.stops):
        own.bounds[W * s + k] = contact_table.bounds[s]
    for row in range(tl.fixed_rows(contact_table)):
        own.lasting[W * row + k] = 0.0
        if found >= 0:
            own.lasting[W * row + k] = tl.slot(contact_table, table.nv, found).lasting[row]
