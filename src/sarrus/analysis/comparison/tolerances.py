"""Tolerances of the room ``analysis/comparison``: runs of models side by side."""

from __future__ import annotations

# [s] Length of the trial run that finds bad arguments before the first long run; times that differ by less
# are equal. Far below a step.
BRIEF_RUN = 1e-6

# [s] Step of runs that are given neither a step nor a tolerance. All runs of a comparison then have the same
# one.
COMPARISON_STEP = 1e-3
