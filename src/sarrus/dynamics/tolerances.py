"""Tolerances of the wing ``dynamics``: the forecast of singular configurations."""

from __future__ import annotations

# [rad, κ] Longest step of Newton's method for a critical point.
FORECAST_STEP = 0.3

# [rad, κ] A critical point is sought no farther away: a quarter of a turn.
FORECAST_REACH = 1.5

# [iterations] Newton iterations at most.
FORECAST_ITERATIONS = 40

# [rad, κ] A critical point is found after a shorter step; the iteration may also end up to `FORECAST_ROUGH`
# times as far.
FORECAST_CONVERGED = 1e-12

# [1, of `FORECAST_CONVERGED`] A critical point counts where the last step is shorter than this multiple:
# critical points of high order converge slowly.
FORECAST_ROUGH = 1e3

# [1, characteristic units] A value of s below it is rounding of the positions: the branches cross.
BRANCHES_CROSS = 1e-13

# [1, of the largest singular value] Singular values below it vanish together.
FORECAST_TOGETHER = 1e-6

# [1, of the largest part in the left singular vectors] A closure with a larger part is named as involved.
INVOLVED_CLOSURE = 0.3

# [s] Central differences by the time of rows that are given as functions of it.
TIME_DIFFERENCE = 1e-6
