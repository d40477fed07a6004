"""Records of a run: what is written, and the times at which records are wanted.

Each wanted record is the end of a step of its own from where the step that passes it began, so the steps of a run do
not depend on when it is looked at.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.native_call import call_native
from sarrus.kernels.run_state import CONDITION, ENERGY, LARGEST, N_FACTS, RANK, RESIDUAL, SMALLEST
from sarrus.kernels.stepping import finish, slope, take_step


@internal
def record(table, x, rank, index, s, ws):
    """Fill the record ``index``: t, q, v, a, u, λ, energy, rank, largest and smallest pivot, closure residual."""
    nq, nv, nu, nh, nc = table[la.NQ], table[la.NV], table[la.NU], table[la.NH], table[la.NC]
    n = nq + nv
    row = flat_at(table[la.RECORDS] + 8 * index * (1 + n + nv + nu + nc + N_FACTS))
    row[0] = x[n + nu]
    at = 1
    for i in range(n):
        row[at + i] = x[i]
    at += n
    for i in range(nv):
        row[at + i] = s[ws.a + i]
    at += nv
    for i in range(nu):
        row[at + i] = x[n + i]
    at += nu
    for j in range(nc):
        row[at + j] = s[ws.lam + j]
    at += nc
    call_native(table[la.ENERGY], x, 0, row, at + ENERGY)
    row[at + RANK] = rank
    row[at + LARGEST] = s[ws.facts + la.LARGEST]
    row[at + SMALLEST] = s[ws.facts + la.SMALLEST]
    row[at + CONDITION] = s[ws.facts + la.CONDITION]
    residual = 0.0
    if nh > 0:
        call_native(table[la.POSITION], x, 0, s, ws.native)
        for j in range(nh):
            residual = max(residual, abs(s[ws.native + j]))
    row[at + RESIDUAL] = residual


@internal
def record_between(table, near, x, time, slopes, trial, s, ws, what, row):
    """Record the state at ``time``, by a step of its own from x. False where it cannot be projected."""
    clock = table[la.NQ] + table[la.NV] + table[la.NU]
    take_step(table, False, near, x, time - x[clock], slopes, trial, s, ws)
    trial[clock] = time
    if not finish(table, trial, what):
        return False
    rank = slope(table, trial, la.PIVOTS, slopes, table[la.N_STAGES], s, ws)
    record(table, trial, rank, row, s, ws)
    return True


@internal
def _wanted(table, state, k):
    """Return the k-th time at which a record is wanted: of a grid, or of a list; infinite after the last one."""
    if state.grid > 0.0:
        return state.grid_start + k * state.grid
    return flat_at(table[la.TIMES])[int(k)] if k < state.n_times else np.inf


@internal
def count_wanted(table, state, t, h):
    """Return how many records, at most, are wanted in a step from t to t + h."""
    if state.grid > 0.0:
        return int(h / state.grid) + 1
    count = 0
    while _wanted(table, state, state.grid_next + count) <= t + 1.001 * h:
        count += 1
    return count


@internal
def record_passed(table, state, near, x, new, h, slopes, trial, s, ws, what, row):
    """Record what is wanted within the step of length h from x to ``new``; ``what`` is what its end was projected on.

    Returns how many were written, from ``row`` on, or −1 where one cannot be projected; and whether ``new`` is wanted.
    """
    clock = table[la.NQ] + table[la.NV] + table[la.NU]
    close = 1e-9 * state.grid if state.grid > 0.0 else 1e-12 * h
    written = 0
    while True:
        wanted = _wanted(table, state, state.grid_next)
        if wanted > new[clock] + close:
            return written, False
        state.grid_next += 1.0
        if abs(wanted - new[clock]) <= close:
            return written, True
        if not record_between(table, near, x, wanted, slopes, trial, s, ws, what, row + written):
            return -1, False
        written += 1
