"""Tolerances of the room ``kinematics``: directions of short lengths."""

from __future__ import annotations

# [m²] Keeps the direction of a length of zero finite; far below any length that matters.
ZERO_LENGTH = 1e-30
