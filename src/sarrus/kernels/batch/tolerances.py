"""Tolerances of the room ``batch``: clearance of many motions at once."""

from __future__ import annotations

# [1, squared sine between a row and the rows before] Straight-line code needs more: at most two digits of
# the acceleration are lost then.
CLEARANCE_OF_LANES = 0.01
