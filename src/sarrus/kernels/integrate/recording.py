"""Records of a run: their contents, and the times at which records are wanted.

Each record is the end of a separate step from the start of the step that passes its time, so the steps of a run do
not depend on the times of its records.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.contact.rows import find_slot
from sarrus.kernels.integrate.step_control import Step
from sarrus.kernels.integrate.stepping import finish, slope, take_step
from sarrus.kernels.integrate.tolerances import END_OF_STEP, SAME_INSTANT
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import Slot
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import CONDITION, ENERGY, LARGEST, N_FACTS, RANK, RESIDUAL, SMALLEST
from sarrus.kernels.memory.tolerances import MOST_LOOKS, NEXT_LOOK
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal, stored_contact_at


@internal
def record(table: Table, x: Floats, rank: int, work: Workspace):
    """Write the next record: t, q, v, a, u, λ, energy, rank, largest and smallest pivot, closure residual."""
    nq, nv, nu, nh, nc = table.nq, table.nv, table.nu, table.nh, table.nc
    n = nq + nv
    touched = exists(table.contact_table) and not exists(table.batch)  # not recorded in batches
    more = tl.fixed_rows(table.contact_table) + 1 if touched else 0
    row = table.records + int(table.run.filled) * (1 + n + nv + nu + nc + N_FACTS + more)
    table.run.filled += 1.0
    row[0] = x[n + nu]
    at = 1
    copy(x, row + at, n)
    at += n
    copy(work.a, row + at, nv)
    at += nv
    copy(x + n, row + at, nu)
    at += nu
    copy(work.lam, row + at, nc)
    at += nc
    call_native(table.energy, x, row + at + ENERGY)
    row[at + RANK] = rank
    row[at + LARGEST] = work.facts.largest
    row[at + SMALLEST] = work.facts.smallest
    row[at + CONDITION] = work.facts.condition
    residual = 0.0
    if nh > 0:
        call_native(table.position, x, work.native)
        for j in range(nh):
            residual = max(residual, abs(work.native[j]))
    row[at + RESIDUAL] = residual
    if touched:
        _record_contacts(table, x, row + (at + N_FACTS))


@internal
def _record_contacts(table: Table, x: Floats, row: Floats):
    """Write the forces on the fixed rows at x and the energy lost in contacts [J] to ``row``.

    The forces are those of a time step or of a smooth phase.
    """
    contact_table, found = table.contact_table, find_slot(table, x)
    rows = tl.fixed_rows(contact_table)
    fill(row, 0.0, rows + 1)
    phase = table.n_event_functions > 0
    if phase and contact_table.n_active == 0:
        row[rows] = contact_table.settings.loss
    elif found >= 0:
        slot = tl.slot(contact_table, table.nv, found)
        copy(contact_table.forces if phase else slot.forces, row, rows)
        row[rows] = slot.facts.loss
        if exists(contact_table.geometry):
            _log_contacts(table, x[table.nq + table.nv + table.nu], slot)


@internal
def note_look(table: Table, x: Floats):
    """Write t and q of x to ``table.looks``: sample states for runs with few records, at growing numbers of steps."""
    state, nq = table.run, table.nq
    row = table.looks + int(state.looked) * (1 + nq)
    row[0] = x[nq + table.nv + table.nu]
    copy(x, row + 1, nq)
    state.looked += 1.0
    state.next_look = NEXT_LOOK * state.next_look if state.looked < MOST_LOOKS else np.inf


@internal
def _log_contacts(table: Table, time: float, slot: Slot):
    """Write the contacts between geometries in ``slot`` that have a force to the log, with their time."""
    contact_table = table.contact_table
    for k in range(int(slot.facts.kept)):
        kept = stored_contact_at(slot.kept + cl.N_KEPT * k)
        if kept.fx == 0.0 and kept.fy == 0.0 and kept.fz == 0.0:
            continue
        own = contact_table.log + cl.N_LOGGED * contact_table.logged
        own[0] = time
        copy(kept, own + 1, cl.N_KEPT)
        contact_table.logged += 1


@internal
def record_between(
    table: Table, x: Floats, step: Step, time: float, level: int, stages: Stages, work: Workspace
):
    """Record the state at ``time``, the end of a separate step from x; return False if its projection fails."""
    clock, slopes, trial = table.nq + table.nv + table.nu, stages.slopes, stages.trial
    if abs(time - x[clock]) <= END_OF_STEP * step.h:
        copy(x, trial, la.input_size(table))
    else:
        take_step(table, False, step.near, x, time - x[clock], slopes, trial, work)
        trial[clock] = time
        if not finish(table, trial, level):
            return False
    rank = slope(table, trial, la.PIVOTS, slopes, table.n_stages, work)
    record(table, trial, rank, work)
    return True


@internal
def _wanted(table: Table, k: float):
    """Return the time [s] of the k-th record, from the grid or the list; np.inf after the last one."""
    state = table.run
    if state.grid > 0.0:
        return state.grid_start + k * state.grid
    return table.times[int(k)] if k < state.n_times else np.inf


@internal
def count_wanted(table: Table, t: float, h: float):
    """Return an upper bound of the number of records in a step from t to t + h."""
    state = table.run
    if state.grid > 0.0:
        return int(h / state.grid) + 1
    count = 0
    while _wanted(table, state.grid_next + count) <= t + 1.001 * h:
        count += 1
    return count


@internal
def record_passed(table: Table, x: Floats, step: Step, level: int, stages: Stages, work: Workspace):
    """Write the records within the step from x to ``new``, projected by ``level`` as the end of the step was.

    Returns whether all projections succeeded, and whether a record is wanted at ``new``.
    """
    state, end = table.run, stages.new[table.nq + table.nv + table.nu]
    close = SAME_INSTANT * state.grid if state.grid > 0.0 else END_OF_STEP * step.h
    while True:
        wanted = _wanted(table, state.grid_next)
        if wanted > end + close:
            return True, False
        state.grid_next += 1.0
        if abs(wanted - end) <= close:
            return True, True
        if not record_between(table, x, step, wanted, level, stages, work):
            return False, False
