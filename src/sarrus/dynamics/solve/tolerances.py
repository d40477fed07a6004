"""Tolerances of the room ``solve``: answers at one state."""

from __future__ import annotations

# [1, of the largest pivot] A pivot beyond the rank above it contradicts the rank: the state is singular,
# not inconsistent.
CONTRADICTED_ROWS = 1e-3

# [1, of the forces that are needed] Actuators and constraint forces reach a motion; singular values below
# it reach nothing.
REACHED_FORCES = 1e-8

# [1, of the largest singular value] A singular value above it beyond the rank nearby is no split of
# redundant rows.
NO_SPLIT = 1e-3

# [SI units of the state] States that are larger are not looked at: the run flew off.
FLOWN_OFF = 1e6

# [SI units of the reading] Changes of readings above it count.
READING_CHANGED = 1e-9

# [1, of the largest entry] Velocities along which a force is missing are named when they have at least this
# part.
NAMED_VELOCITY = 0.5

# [names] Velocities along which a force is missing that an error names at most.
MOST_NAMED_VELOCITIES = 4

# [s] Instants of events are found to this: at 1 m/s it is far below `ARRIVED` in metres.
EVENT_TOLERANCE = 1e-11

# [1, of the largest force, and of 1 + the largest acceleration in characteristic units] A closed contact
# with a smaller force, or that opens with a smaller acceleration, and friction that is less below its limit
# are at a border of modes: derivatives are one-sided there. Forces are found to 1e-10.
BORDER = 1e-7

# [1, of the turn of friction by the forces that act, and of the largest share] Shares of the load that
# statics does not determine change a model if their friction turns by more. Rounding leaves 1e-12.
SHARES_MATTER = 1e-7
