"""Tolerances of the room ``rows``: half turns of welds, rolling, contact of surfaces."""

from __future__ import annotations

# [1, of the squared length 1] Keeps the half-turn of a weld finite; elsewhere it scales the residual by
# rounding and moves no zero.
HALF_TURN = 2e-15

# [1, trace of a rotation] Below it a weld is at its half turn, and the residual is twice the axis.
NEAR_HALF_TURN = -1 + 1e-8

# [1] A direction that is not perpendicular to any axis in use.
AXIS_WEIGHTS = (0.8, 0.51, 0.32)

# [1, sine between the axis of a circle and the normal] From it on a circle has a lowest point.
FLAT_CIRCLE = 1e-6

# [1, of the radius] Longest step of the search for a point of contact.
SURFACE_STEP = 0.5

# [1, of the square of the longest step] Keeps the length of a step of zero differentiable.
SURFACE_NO_STEP = 1e-30

# [1, of the radius and the distance of the centre] Residual that ends the search: rounding of d and N with
# a margin.
SURFACE_CONVERGED = 1e-11

# [1, of the radius] A second place is not higher than this above the one that was found.
SECOND_PLACE_HIGHER = 1e-6

# [1, of the radius] A second place is at least so far from the one that was found.
SECOND_PLACE_APART = 0.05

# [1, of the radius] A place of a curve is inside the rolling body if it is deeper.
PLACE_INSIDE = 1e-3

# [1, difference of a cosine from 1] A wheel with its axis nearer to the normal of the plane of a curve
# rolls in that plane: 4e-5 rad.
ROLLS_IN_PLANE = 1e-9

# [1, squared sine] Two axes with less are parallel.
PARALLEL_AXES = 1e-12
