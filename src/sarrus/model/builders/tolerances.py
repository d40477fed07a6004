"""Tolerances of the room ``model/builders``: which arguments of builders are refused."""

from __future__ import annotations

# [1, sine of the angle] Rollers of an omni wheel may not be parallel to its axle: the sine of the angle
# between them is larger. Below it the wheel has no row that holds it sideways.
LEAST_ROLLER_ANGLE = 1e-6
