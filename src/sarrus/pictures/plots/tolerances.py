"""Tolerances of the room ``pictures/plots``: what moves, what is planar, which forces are zero."""

from __future__ import annotations

# [m] A point that moves by more leaves a trace. Poses round at 1e-15 m.
POINT_MOVES = 1e-9

# [1, cosine] An edge this normal to a plane is drawn with hatching. Axes of files have six digits.
EDGE_NORMAL = 1e-6

# [1, of the number of frames] A motion has a last frame at its end up to this. Quotients of times round at
# 1e-16.
WHOLE_FRAMES = 1e-12

# [units of the map] A point of a locus that lies on a node belongs to it up to this. Grids round at 1e-15.
NODE_TOUCHED = 1e-9

# [1, of the extent] A mechanism is drawn in its plane if it is thinner. Positions round at 1e-15.
FLAT_MECHANISM = 1e-9

# [1, of the largest force] Smaller forces have no arrow, as axes that are normal to the picture. Solves leave
# 1e-13.
NO_ARROW = 1e-9

# [1, of the least reach] Reaches of forces along axes that differ by less are equal, and the last axis is
# left out. Rounding must not choose.
EQUAL_REACH = 1e-9

# [rad, m] A piece of a locus that is shorter is drawn as a point. A line of that length is not seen.
LOCUS_POINT = 1e-6

# [m] Points of a body that are nearer are one. Files have six digits.
SAME_POINT = 1e-9

# [1, of the largest distance] A point of an outline this near to its centre is the hub. Outlines round at
# 1e-15.
AT_CENTRE = 1e-6
