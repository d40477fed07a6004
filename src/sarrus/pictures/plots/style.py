"""Sizes, times and shares of plots."""

from __future__ import annotations

# [s, of film] Length of the tails of moving points.
TAIL_SECONDS = 0.5

# [1, decades] Least height of a logarithmic panel.
PANEL_DECADES = 3.0

# [1, zorder] Earlier models are drawn over later ones by this.
LAYER_STEP = 0.01

# [1, of the size of the mechanism] Slant of a friction cone.
CONE_SLANT = 0.13

# [1, of the size of the mechanism] Border of a contact plane.
PLANE_BORDER = 0.1

# [1, of the size of the mechanism] Mesh of a contact plane.
PLANE_MESH = 0.06

# [1, of the size of the mechanism] A smaller gap is drawn as none.
NO_GAP = 0.02

# [m] Size of a mechanism, at least, where marks are measured by it.
SMALLEST_MECHANISM = 1e-3

# [1, of the median] Larger first-order distances are not shown.
DISTANCES_SHOWN = 3.0

# [degrees] Least transmission angle that designers ask for.
GOOD_ANGLE = 40.0

# [s, of film] A passage is noted so long before and after.
PASSAGE_SECONDS = 0.12

# [1, of the largest spike] Smaller spikes are not shown: they are rounding.
SPIKES_SHOWN = 1e-10

# [1, of the largest value] Value beyond the edge of a map, where none is known: the edge is drawn between.
EDGE_OUTSIDE = 1e-3

# [1, modes] Modes that are drawn at most.
MODES_DRAWN = 4

# [inch] Side of the drawing of a mode.
MODE_SIDE = 4.2

# [1, of the distance to the nearest node of any mode] A point of a locus belongs to a mode whose nodes are
# nearer.
NODES_NEAR = 4.0

# [1, of the distance between neighbours] A point of a locus belongs to a mode whose nodes are nearer than
# this.
NODES_SPACED = 4.0

# [1, of the panel] Side of the drawing of the mechanism.
INSET_SIDE = 0.22

# [1, of the size of the mechanism] Arrow of the largest force.
LONGEST_ARROW = 0.35

# [1, of the size of the mechanism] Radius of the arrow of the largest couple.
WIDEST_ARROW = 0.11

# [1, of the largest force at the length κ] Couples up to this have smaller arrows.
LIGHT_COUPLES = 0.05

# [1, of the largest couple] Smaller couples have no arrow.
FINEST_COUPLE = 0.05

# [1, of the width] Room for the names of arrows.
NAMES_ROOM = 0.1

# [inch] Long side of a drawing.
LONG_SIDE = 7.0

# [1] Least ratio of the short to the long side of a drawing.
SLIMMEST = 0.35

# [unit of the axis] Zeros sit here on a logarithmic axis, below rounding, rather than vanish.
ZERO_SHOWN = 1e-17

# [1, of the time shown] Room for the label of a passage.
LABEL_ROOM = 0.06

# [s] Time shown, at least, where labels are measured by it.
SHORTEST_SHOWN = 1e-9
