"""Tolerances of `sarrus.kernels.batch`: independence of rows in lanes."""

from __future__ import annotations

# [1, squared sine between a row and the rows before] Straight-line code is used above this value: it costs at
# most two digits of the acceleration.
CLEARANCE_OF_LANES = 0.01

# [1, of the compliance without constraints] A row of a contact with less compliance is held by the constraints, or
# nearly: such a run leaves the lanes, for the kernel that tells rounding from compliance.
HELD_IN_LANES = 1e-6
