"""Sizes and shares of solids, arrows, light and camera."""

from __future__ import annotations

import numpy as np

# [rad] Vertical field of view.
FIELD = 0.55

# [1] Room around what is in a picture.
FRAME_MARGIN = 1.12

# [m] Distance of the camera, at least.
NEAREST_CAMERA = 1e-3

# [m] Size of a mechanism, at least.
SMALLEST_SCENE = 1e-3

# [1, radii of rods] Radius of a straight arrow.
SHAFT = 0.45

# [1, radii of rods] Radius of the head of a straight arrow.
HEAD_RADIUS = 1.2

# [1, radii of rods] Length of the head of a straight arrow.
HEAD_LENGTH = 3.0

# [1, of the size of the mechanism] Arrow of a typical force.
LONGEST = 0.35

# [1, of the size of the mechanism] Radius of the arrow of a typical couple.
WIDEST = 0.11

# [1, of a typical force at the length of the mechanism] Couples up to this have smaller arrows.
LIGHT = 0.05

# [rad] Angle of an arrow that turns.
TURN = 1.6 * np.pi

# [rad] Length of its head.
TURN_HEAD = 0.5

# [1, of its radius] Radius of its head.
TURN_HEAD_RADIUS = 0.2

# [1, of its radius] Radius of its shaft.
TURN_TUBE = 0.07

# [1, radii of rods] Length of dashes.
DASH = 4.0

# [1, radii of rods] Gap between dashes.
DASH_GAP = 3.0

# [1, of the size of the motion] How far the grid goes beyond the motion.
GRID_BEYOND = 0.9

# [1, radii of rods] How far the grid is behind a planar mechanism.
GRID_BEHIND = 3.5

# [1, of the size of the mechanism] How far the grid is below a spatial mechanism.
GRID_BELOW = 1e-3

# [1, of the size of the mechanism] So much of longer arrows is in the picture.
ARROW_FRAMED = 0.5

# [1, of the loads] Share of loads whose largest is below the typical one.
TYPICAL_SHARE = 0.8

# [1, of the size of the mechanism] Radius of rods.
ROD = 0.012

# [1, radii of rods] Radius of pins.
PIN = 1.7

# [1, radii of rods] Half length of pins.
PIN_HALF = 2.2

# [1, radii of rods] Half side of blocks.
BLOCK = 2.6

# [1, radii of rods] Radius of closures.
RING = 1.72

# [1, radii of rods] Radius of springs and wires.
THIN = 0.45

# [1, of the size of the mechanism] Larger planes are not drawn.
LARGE_PLANE = 2.0

# [1] Opacity of motions laid over the first.
OVERLAY = 0.45

# [unit of the axis] Zeros sit here on a logarithmic axis, below rounding.
SMALLEST_SHOWN = 1e-17

# [unit of the axis] Height of an axis whose values are all zero.
NARROWEST_AXIS = 1e-9

# [s] Length of a time axis, at least.
SHORTEST_TIME_AXIS = 1e-12

# [1] Light from everywhere.
AMBIENT = 0.42

# [1] Light from the side of the reader.
KEY_LIGHT = 0.50

# [1] Light from above.
SKY_LIGHT = 0.18

# [1] Highlight.
GLOSS = 0.16

# [1, exponent] Sharpness of the highlight.
GLOSS_SHARPNESS = 24.0

# [1, of the distance of the camera] Nearer triangles are left out.
NEAREST_TRIANGLE = 1e-3

# [1, of the distance of the camera] What is nearer is not drawn.
NEAR_PLANE = 0.01

# [m] Length of a rod, at least: a scale of zero has no normals.
THINNEST_ROD = 1e-9

# [1, radii of rods] Radius of the shaft of an arrow that is dashed.
HIDDEN_SHAFT = 1e-3

# [1, radii of rods] Radius of wires.
WIRE_RADIUS = 0.4

# [1, radii of rods] Radius of links that are rods.
LINK_RADIUS = 0.55

# [1, of the size of the mechanism] Slant of a friction cone.
FRICTION_CONE = 0.1

# [1, of the size of the mechanism] Half side of a piece of plane.
PLANE_PIECE = 0.12
