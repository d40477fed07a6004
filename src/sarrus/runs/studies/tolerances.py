"""Tolerances of the room ``runs/studies``: closed starts, chunks of a sweep, figures of a machine."""

from __future__ import annotations

# [characteristic units] Starts of runs are closed, and their velocities admissible, if less is left. It is
# rounding; what is accepted is DATA_TOLERANCE.
START_CLOSED = 1e-14

# [1, of the squared residual] Starts whose damping is larger are given up, and kicked. Nothing falls any
# more.
HOPELESS_DAMPING = 1e12

# [1, of the squared residual] Least damping of starts. It vanishes with the residual, so that steps converge
# quadratically.
LEAST_START_DAMPING = 1e-4

# [1, of the largest singular value] Smaller ones of the rows of a start are zero. Redundant rows of files
# leave 1e-10.
START_CUT = 1e-9

# [s] Length of one repeat of a timing. Clocks resolve a microsecond.
REPEAT_SECONDS = 0.02

# [s] Step of the motions that are timed. It is that of the tables in the documentation.
FIGURES_STEP = 1e-3

# [s] A call counts as at least this long where repeats are counted. Clocks resolve no less.
SHORTEST_TIMED_CALL = 1e-9

# [1, probability] Probabilities are kept this far from 0. Distributions without bounds are infinite there.
PROBABILITY_EDGE = 2.0**-54

# [bytes] Records of a chunk of a sweep, at most. Writing one takes a tenth of a second.
CHUNK_BYTES = 16e6

# [1, steps] Steps of a chunk of a sweep, at most; of 1 ms where they are adaptive. It is some seconds of
# work.
CHUNK_STEPS = 2e6

# [1, chunks] Number of chunks of a sweep, at most. Each is a file.
CHUNKS = 2000

# [s] Time between two looks at what other processes do: at first, and at most.
STORE_WAIT = (0.02, 0.5)

# [s] A process that waits for others longer says so. Shorter waits are not noticed.
SAY_AFTER = 1.0

# [1, probability] Probabilities are kept this far from 1. It is the distance to the largest double below 1.
PROBABILITY_STEP = 2.0**-53
