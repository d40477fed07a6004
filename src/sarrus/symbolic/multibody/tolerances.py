"""Tolerances of the room ``multibody``: fixed offsets, parameters, size of a tree."""

from __future__ import annotations

# [configurations] Configurations beside the reference pose at which rows must be unmoved too.
OFFSET_CONFIGURATIONS = 4

# [rad, m] Size of the seeded steps to them.
OFFSET_DISTANCE = 0.5

# [1, of the value] The offset of a driven number is zero: rounding of its difference.
NO_OFFSET = 1e-15

# [entries] A chain costs as much as a tree of N velocities where its M has N² over this many entries.
ENTRIES_PER_VELOCITY = 20.0
