"""Intervals of a run with a largest step size each, and breaks of functions of time between two intervals.

A row of ``table.stretches`` has the end of the interval, its largest step size, and the start of the next interval
[s]. End and next start are equal if a step may lead from one interval to the next. At a break they differ by
rounding: a step ends there, and the clock is set to the other side.
"""

from __future__ import annotations

from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

END, LONGEST, NEXT, WIDTH = 0, 1, 2, 3


@internal
def bounded(table: Table, t: float, h: float, halt: float):
    """Return the step size from t [s], at most h, and the time at which the step must stop, ``halt`` or before."""
    state, rows = table.run, table.stretches
    count, k = int(state.n_stretches), int(state.stretch)
    while k < count and rows[WIDTH * k + END] <= t:
        k += 1
    state.stretch = float(k)
    begins = t
    while k < count:
        row = rows + WIDTH * k
        if h > row[LONGEST]:
            h = max(row[LONGEST], begins - t)
        if row[NEXT] > row[END]:
            return h, min(halt, row[END])
        if t + h <= row[END]:
            break
        begins = row[END]
        k += 1
    return h, halt


@internal
def passes_break(table: Table, x: Floats):
    """Set the clock of x to the other side of a break that it has reached; return False if there is none."""
    state, clock, k = table.run, table.nq + table.nv + table.nu, int(table.run.stretch)
    rows, count = table.stretches, int(state.n_stretches)
    while k < count and rows[WIDTH * k + NEXT] <= x[clock]:
        k += 1
    state.stretch = float(k)
    if k == count or x[clock] < rows[WIDTH * k + END] or rows[WIDTH * k + NEXT] == rows[WIDTH * k + END]:
        return False
    x[clock] = rows[WIDTH * k + NEXT]
    state.stretch += 1.0
    return True
