"""Tolerances of the room ``runs/cli``: states that are completed from a few numbers."""

from __future__ import annotations

# [rad, m] A coordinate that assembly moved by more is worth a word. Printed digits move it less.
MOVED_BY_ASSEMBLY = 1e-9

# [1, of the largest singular value] Smaller ones of constraints and given velocities are zero. Redundant rows
# of files leave 1e-10.
VELOCITY_CUT = 1e-9

# [1, of 1 + the given velocities] Given velocities are allowed if they are met to this. Least squares leave
# 1e-14.
VELOCITY_MET = 1e-9
