"""Tolerances of the room ``model/formats/sdf``: which numbers of a file are axes, limits, unit quaternions."""

from __future__ import annotations

# [1, of unit vectors] The axis of a coupled joint is that of its gear if their cosine differs from ±1 by
# less. Files print six digits.
PARALLEL_IN_FILE = 1e-6

# [m, rad] A limit of a joint of this size or more is no limit. Older files write 1e16 for "no limit".
UNLIMITED = 1e15

# [1, of length one] A quaternion of a pose is refused if its length differs from 1 by more. Three printed
# digits pass, three angles in the place of a quaternion do not.
POSE_QUATERNION = 1e-3
