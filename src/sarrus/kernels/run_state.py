"""What Python and the time loop (`sarrus.kernels.run`) share: the run's state, its records, and how a call ends."""

from __future__ import annotations

# How a call of `advance` ended. The numbers of failures are those of `sarrus.base.status.Status`.
RUNNING, RENEW_CHART, OTHER_METHOD, DONE = -1, -2, -3, 0
ILL_POSED, NOT_FINITE, STEP_TOO_SMALL, PROJECTION_FAILED, EVENT, CONTROL_FAILED = 5, 6, 7, 8, 10, 11
STEP_LIMIT, UNSTABLE_STEP = 20, 22

# Columns of a record after t, q, v, a, u, λ.
ENERGY, RANK, LARGEST, SMALLEST, RESIDUAL, CONDITION = 0, 1, 2, 3, 4, 5
N_FACTS = 6

# Entries of the array at table[RUN]. What one call hands to the next:
STEP, STEPS, REJECTED, UNRECORDED, START, FACTOR, LOGGED = 0, 1, 2, 3, 4, 5, 6
LARGEST_PIVOT, LAST_PIVOT, NEXT_PIVOT, LAST_STEP = 7, 8, 9, 10
TRIED_ERROR, BLOCKED, SPLIT, KEEP_LAST, TRIES, GRID_START, GRID_NEXT = 11, 12, 13, 14, 15, 16, 17
# What a call is asked for: the time to stop at, the interval of a grid of records (0: none), the number of steps from
# one record to the next, tolerances and limits of adaptive steps, the power of the error in their choice, and the
# middle of the widest gap between the stages, as a fraction of the step.
END, GRID, EVERY, RELATIVE, ABSOLUTE, LONGEST, SHORTEST, POWER, BETWEEN = 18, 19, 20, 21, 22, 23, 24, 25, 26
# What it answers besides: the number of records written.
FILLED = 27
# Samples of a control law: their period (0: none, the law acts at all times), how many there were, the time of the
# first, and after how many of them the controls reach the actuators.
PERIOD, SAMPLES, FIRST_SAMPLE, DELAY = 28, 29, 30, 31
# Stiffness (`sarrus.kernels.stiffness`): h |λ| above which an adaptive explicit method hands over to an implicit one,
# or below which that one hands back (0: neither); how many steps in a row said so, and how many did not. Where steps
# are fixed: how many in a row were unstable, the error of the last one; when that was noticed (infinite: never) and
# h |λ| then.
THRESHOLD, HINTS, DOUBTS = 32, 33, 34
UNSTABLE, UNSTABLE_ERROR, UNSTABLE_SINCE, UNSTABLE_SIZE = 35, 36, 37, 38
# The number of steps, accepted and rejected, at which to stop.
MOST_STEPS = 39
# What became of the last solve that was looked at, where it was no full answer, and of two in a row (`Status`).
DOUBTFUL, UNSOUND = 40, 41
# How many times there are at table[TIMES] at which records are wanted.
N_TIMES, N_STATE = 42, 43

# h |λ| from which on the explicit method of order 8 is held back by stability, not by accuracy (Hairer and Wanner,
# Solving Ordinary Differential Equations II, 2nd ed., IV.2).
STIFF_8 = 6.1
# h |λ| of an implicit step below which an explicit one would do: its steps are as long, and cost several times less.
EASY = 1.0
# The classical method of order 4 is stable to 2.785 on the real axis and to 2.828 on the imaginary one.
LIMIT_OF_RK4 = 2.83

# Relative size of the pivots beyond the generic rank from which redundant rows count as split at the stages.
SPLIT_PIVOT = 1e-13
