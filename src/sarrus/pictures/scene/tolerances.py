"""Tolerances of the room ``pictures/scene``: places that are one, multipliers and loops that are zero."""

from __future__ import annotations

# [rad, m] Length of the trial motions that show in which plane a mechanism at rest can move. Loops close from
# there.
TRIAL_MOTION = 0.3

# [m] Arrows at places that are nearer are added up. Eyes do not tell them apart.
SAME_SPOT = 1e-6

# [1, of unit vectors] Entries of points of a sphere below are zero: rounding at its poles. Sines of π leave
# 1e-16.
POLE_ROUNDING = 1e-12

# [1, of the largest value] A curve whose range is smaller is drawn in the middle of its axis. It is rounding.
FLAT_CURVE = 1e-12

# [1, of the largest multiplier] Multipliers below are shown as zero. Solves leave 1e-14.
ZERO_MULTIPLIER = 1e-12

# [rad, m] Loops that are open by more are closed before they are shown. Files with ten digits are shown as
# they are.
SHOWN_CLOSED = 1e-9
