"""The table of many runs: what Python and the kernels that step through them share.

Run k of a batch has row k of every array here. A thread has a table of its own, and works on the runs from FIRST to
before LAST.
"""

from __future__ import annotations

from sarrus.kernels import layout as la
from sarrus.kernels.run_state import N_FACTS, N_STATE

# The kernel `sarrus.kernels.run.advance`; the runs to do; what they share: the array of times below, the state of a run
# before it begins (see `sarrus.kernels.run_state`).
ADVANCE, FIRST, LAST, TIMES, TEMPLATE = 0, 1, 2, 3, 4
# Per run: x, from start to end (runs × size of x); outcome (runs × N_OUTCOME); controls that are held
# (runs × intervals × nu; 0: none) with the number of intervals; samples (runs × N_SAMPLES × width; one: the last).
STATES, OUTCOMES, INPUTS, N_INTERVALS, SAMPLES, N_SAMPLES = 5, 6, 7, 8, 9, 10
# Folds of the samples of each run (runs × width; 0: not wanted): least, greatest, sum, sum of squares.
LEAST, GREATEST, SUM, SQUARES = 11, 12, 13, 14
# Whether the energy of each run is kept; room to record in, and its number of rows.
KEEP_ENERGY, BLOCK, ROOM = 15, 16, 17
# Of runs that step side by side: straight-line functions (see `sarrus.simulation.many.lane_functions`; CONTROL 0:
# none), room to work in; number of steps in all, of one interval of the inputs, and from one sample to the next.
SLOPE, NEWTON, VELOCITY, CONTROL, WORK, STEPS, STEPS_HELD, EVERY = 18, 19, 20, 21, 22, 23, 24, 25
SIZE = 26

# Entries of the array at TIMES.
BEGIN, END, HOLD, STEP, N_TIMES = 0, 1, 2, 3, 4
# Entries of an outcome: how the run ended (`run_state`), the time reached, accepted and rejected steps, samples made.
CODE, REACHED, ACCEPTED, REJECTED, SAMPLED, N_OUTCOME = 0, 1, 2, 3, 4, 5
# What `prepare` tells of a start, in the row of its outcome: open loops, slip, and of the projected state whether it
# could be projected, the smallest pivot at the generic rank and the first beyond it, relative to the largest.
GAP, SLIP, PROJECTED, SMALLEST, BEYOND = 0, 1, 2, 3, 4

# Runs side by side, the same on all machines, so that results are. Registers hold 2, 4 or 8 numbers; more than one
# register at a time hides the time that an operation takes.
LANES = 8
# What is known of each lane: what it does, until which step it waits, its smallest pivot relative to the greatest so
# far (negative: not known), this greatest one, how far its last step left loops open, and how far apart the velocities
# of its middle stages and their slopes were (`sarrus.kernels.lane_stability`). Then come the states of runs.
MODE, UNTIL, SIZE_OF_PIVOT, GREATEST_PIVOT, OPEN, RISE, WAY, LANE_FACTS = 0, 1, 2, 3, 4, 5, 6, 7
# Rows of a stretch that one lane goes through on its own.
STRETCH = 34


def record_width(table):
    """Return the number of columns of a record."""
    return 1 + table[la.NQ] + 2 * table[la.NV] + table[la.NU] + table[la.NC] + N_FACTS


def lane_storage(table):
    """Return the length of the array at WORK of runs side by side."""
    n, size_x = table[la.NQ] + table[la.NV], la.input_size(table)
    per_lane = 2 * size_x + 4 * (n + la.N_GAUGE) + table[la.NQ] + table[la.NH] + table[la.NV] + table[la.NU]
    return LANES * (per_lane + LANE_FACTS + N_STATE)
