"""Samples of a control law inside the loop: measured states, held controls, delay."""

from __future__ import annotations

from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import copy
from sarrus.kernels.integrate.stepping import apply_control, find_control
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import Run
from sarrus.kernels.platform.pointers import exists, internal


@internal
def next_sample(state: Run, end: float):
    """Return the time [s] of the next sample, ``end`` if no sample is due before."""
    if state.period == 0.0:
        return end
    return min(end, state.first_sample + state.samples * state.period)


@internal
def is_due(state: Run, time: float):
    """Return True if a sample of the control law is due at ``time``."""
    return state.period > 0.0 and time >= state.first_sample + (state.samples - SAME_INSTANT) * state.period


@internal
def measures(table: Table):
    """Return True if the law measures multipliers, which are known only after an acceleration."""
    return table.law.n_measured > 0


@internal
def take_sample(table: Table, x: Floats, known: bool, work: Workspace):
    """Sample the control law at x with noise and write the delayed controls to x; return False if the law fails.

    ``known``: the multipliers of the plant are in the workspace. The controls wait in a ring of delay + 1 entries.
    """
    nq, nv, nu = table.nq, table.nv, table.nu
    state = table.run
    sample, length = int(state.samples), int(state.delay) + 1
    law, ring, own = table.law, table.ring, table.law.own
    if known:
        if law.n_measured > 0:
            own[law.measured] = 1.0
        for k in range(law.n_measured):
            own[law.measured + 1 + k] = work.lam[law[ll.LEVELS + 3 * law.n_levels + k]]
    seen = table.seen
    copy(x, seen, la.input_size(table))
    if exists(table.noise):
        noise = table.noise + 2 * sample * nv
        for i in range(nv):
            work.step[i] = noise[i]
            seen[nq + i] += noise[nv + i]
        retract(table, seen, work.step, work.x)
    found = find_control(table, seen, ll.SAMPLE, work)
    copy(work.x, ring + (sample % length * nu), nu)
    if sample >= length - 1:
        apply_control(table, ring + ((sample + 1) % length) * nu, x)
    state.samples += 1.0
    return found
