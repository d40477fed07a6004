"""Tolerances of the room ``pictures/symbols``: parallel axes, planar motions, directions that are none."""

from __future__ import annotations

# [1, sine; of the size of the mechanism for distances] Axes are drawn as parallel, or as crossing, up to
# this. Files have six digits.
PARALLEL_DRAWN = 1e-6

# [m, 1] A vector shorter than this has no direction: its unit vector is shorter than one.
NO_ARM = 1e-12

# [1, sine] A letter stands upright if its axis is off the vertical by more. Files have six digits.
UPRIGHT = 1e-6

# [1, of the extent] A motion that is flatter is planar. Walks are closed to 1e-9.
PLANAR_MOTION = 1e-6

# [1, of gravity] A plane is horizontal if its normal is off the vertical by less. Files have six digits.
VERTICAL = 1e-6

# [1, of the distance] A string to whose centre both ends are in line has any plane. Distances round at 1e-16.
STRAIGHT_STRING = 1e-12

# [1, of the distance] A point on a rim counts as this much outside of it. The arc sine stays defined.
INSIDE_RIM = 1e-12

# [1, steps] Steps that look for the height of an implicit surface over a point.
SURFACE_STEPS = 30

# [1, of the size of the mechanism] How near points come to an implicit surface. Eyes do not tell them apart.
SURFACE_MET = 1e-6
