"""Tolerances of the room ``pictures/plots``: what moves, what is planar, which forces are zero."""

from __future__ import annotations

# [m] A point that moves by more leaves a trace. Poses round at 1e-15 m.
POINT_MOVES = 1e-9

# [1, cosine] An edge this normal to a plane is drawn with hatching. Axes of files have six digits.
EDGE_NORMAL = 1e-6

# [1, of the number of frames] A motion has a last frame at its end up to this. Quotients of times round at
# 1e-16.
WHOLE_FRAMES = 1e-12

# [units of the map] A point of a locus that lies on a node belongs to it up to this.
NODE_TOUCHED = 1e-9

# [1, of the extent] A mechanism is drawn in its plane if it is thinner. Positions round at 1e-15.
FLAT_MECHANISM = 1e-9

# [1, of the largest force] Smaller forces have no arrow, as axes that are normal to the picture. Solves leave
# 1e-13.
NO_ARROW = 1e-9

# [1, of the least reach] Reaches of forces along axes that differ by less are equal, and the last axis is
# left out.
EQUAL_REACH = 1e-9

# [rad, m] A piece of a locus that is shorter is drawn as a point.
LOCUS_POINT = 1e-6

# [m] Points of a body that are nearer are one. Files have six digits.
SAME_POINT = 1e-9

# [1, of the largest distance] A point of an outline this near to its centre is the hub.
AT_CENTRE = 1e-6
