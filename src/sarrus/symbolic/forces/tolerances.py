"""Tolerances of the room ``forces``: currents, ropes on pulleys."""

from __future__ import annotations

# [1, of the limits of the current] A current may be beyond its limit by this and stays: at the edge itself
# the source would push it up again, and steps would go to and fro.
CURRENT_WIDTH = 1e-9

# [1, of the squared radius] Smallest squared free length of a rope: √ has no derivative at 0, and t − r
# atan(t / r) is below 1e-18 r here.
ON_CIRCLE = 1e-12
