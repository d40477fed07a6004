"""Stretches of the time of a run: how long a step may be in each of them, and breaks of functions of time between two.

A row of ``table.stretches``: when the stretch ends, its longest step, and when the next one begins [s]. These times
are the same where steps may go from one to the other, and apart by rounding on the two sides of a break, where a step
ends and the clock is put to the other side.
"""

from __future__ import annotations

from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

END, LONGEST, NEXT, WIDTH = 0, 1, 2, 3


@internal
def bounded(table: Table, t: float, h: float, halt: float):
    """Return how long a step of length h from t may be, and the time at which it has to stop, ``halt`` or before."""
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
    """Put the clock of x behind a break that it has come to; False where it is at none."""
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
