"""Sizes of shapes that MJCF draws in place of lines and planes."""

from __future__ import annotations

# [m] Radius of the capsule that stands for a line.
LINE_RADIUS = 0.005

# [m] Half thickness of the box that stands for a plane on a moving body.
PLANE_THICKNESS = 1e-3
