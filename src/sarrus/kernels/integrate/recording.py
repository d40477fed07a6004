"""Records of a run: what is written, and the times at which records are wanted.

Each wanted record is the end of a step of its own from where the step that passes it began, so the steps of a run do
not depend on when it is looked at.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.contact.rows import find_slot
from sarrus.kernels.integrate.stepping import finish, slope, take_step
from sarrus.kernels.integrate.tolerances import END_OF_STEP, SAME_INSTANT
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.run_state import CONDITION, ENERGY, LARGEST, N_FACTS, RANK, RESIDUAL, SMALLEST
from sarrus.kernels.memory.tolerances import MOST_LOOKS, NEXT_LOOK
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal, kept_at


@internal
def record(table, x, rank, work):
    """Write the next record: t, q, v, a, u, λ, energy, rank, largest and smallest pivot, closure residual."""
    nq, nv, nu, nh, nc = table.nq, table.nv, table.nu, table.nh, table.nc
    n = nq + nv
    touched = exists(table.touching) and not exists(table.batch)  # of many runs these are not kept
    more = tl.fixed_rows(table.touching) + 1 if touched else 0
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
        _record_touching(table, x, row + (at + N_FACTS))


@internal
def _record_touching(table, x, row):
    """Write the forces, those of a time step or of a smooth phase at x, and the energy that contacts have taken."""
    touching, found = table.touching, find_slot(table, x)
    rows = tl.fixed_rows(touching)
    fill(row, 0.0, rows + 1)
    phase = table.n_margins > 0
    if phase and touching.acting == 0:
        row[rows] = touching.settings.loss
    elif found >= 0:
        slot = tl.slot(touching, table.nv, found)
        copy(touching.forces if phase else slot.forces, row, rows)
        row[rows] = slot.facts.loss
        if exists(touching.colliding):
            _log_contacts(table, x[table.nq + table.nv + table.nu], slot)


@internal
def note_look(table, x):
    """Note t and q at ``table.looks``: some states on the way of runs with few records, more steps apart each time."""
    state, nq = table.run, table.nq
    row = table.looks + int(state.looked) * (1 + nq)
    row[0] = x[nq + table.nv + table.nu]
    copy(x, row + 1, nq)
    state.looked += 1.0
    state.next_look = NEXT_LOOK * state.next_look if state.looked < MOST_LOOKS else np.inf


@internal
def _log_contacts(table, time, slot):
    """Log the contacts between geometries of the last step that had a force."""
    touching = table.touching
    for k in range(int(slot.facts.kept)):
        kept = kept_at(slot.kept + cl.N_KEPT * k)
        if kept.fx == 0.0 and kept.fy == 0.0 and kept.fz == 0.0:
            continue
        own = touching.log + cl.N_LOGGED * touching.logged
        own[0] = time
        copy(kept, own + 1, cl.N_KEPT)
        touching.logged += 1


@internal
def record_between(table, x, step, time, what, stages, work):
    """Record the state at ``time``, by a step of its own from x. False where it cannot be projected."""
    clock, slopes, trial = table.nq + table.nv + table.nu, stages.slopes, stages.trial
    if abs(time - x[clock]) <= END_OF_STEP * step.h:
        copy(x, trial, la.input_size(table))
    else:
        take_step(table, False, step.near, x, time - x[clock], slopes, trial, work)
        trial[clock] = time
        if not finish(table, trial, what):
            return False
    rank = slope(table, trial, la.PIVOTS, slopes, table.n_stages, work)
    record(table, trial, rank, work)
    return True


@internal
def _wanted(table, k):
    """Return the k-th time at which a record is wanted: of a grid, or of a list; infinite after the last one."""
    state = table.run
    if state.grid > 0.0:
        return state.grid_start + k * state.grid
    return table.times[int(k)] if k < state.n_times else np.inf


@internal
def count_wanted(table, t, h):
    """Return how many records, at most, are wanted in a step from t to t + h."""
    state = table.run
    if state.grid > 0.0:
        return int(h / state.grid) + 1
    count = 0
    while _wanted(table, state.grid_next + count) <= t + 1.001 * h:
        count += 1
    return count


@internal
def record_passed(table, x, step, what, stages, work):
    """Record what is wanted within the step from x to ``new``; ``what`` is what its end was projected on.

    Returns whether each can be projected, and whether ``new`` is wanted.
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
        if not record_between(table, x, step, wanted, what, stages, work):
            return False, False
