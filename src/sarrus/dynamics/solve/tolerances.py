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
