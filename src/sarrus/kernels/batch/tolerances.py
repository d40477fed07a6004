"""Tolerances of `sarrus.kernels.batch`: independence of rows in lanes."""

from __future__ import annotations

# [1, squared sine between a row and the rows before] Straight-line code is used above this value: it costs at
# most two digits of the acceleration.
CLEARANCE_OF_LANES = 0.01
