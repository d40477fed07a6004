"""Numbers that decide in every wing: what stands in for zero, rounding, times."""

from __future__ import annotations

# [unit of the divisor] A divisor, a scale or a cut that is zero is replaced by this number. It is above the
# smallest double (2e-308), so that 1 / LEAST_DIVISOR is finite, and below every quantity of a mechanism.
LEAST_DIVISOR = 1e-300

# [1, of a number] Distance from 1 to the next double; an operation rounds by half of it. A property of IEEE
# 754.
EPSILON = 2.0**-52

# [s] A shorter run shows no progress bar.
PROGRESS_DELAY = 1.0
