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

# [1, of `FLAT_CIRCLE`] Between circles that are level and circles that have a lowest point alone, both touch.
BORDER_OF_LEVEL = 0.1

# [1, of the radius] A point of a rim that is deeper below a plane is a contact whatever the lean; above rounding and
# below the gap of an impact.
OVERLAP = 1e-9

# [1, of the smallest half size of two boxes] A corner touches a face up to so far beyond its edges, and opens at twice
# that. Corners that are flush with an edge touch.
BESIDE_FACE = 1e-8

# [1, of the smallest half size of two boxes] Two edges touch if their common perpendicular is twice as far from their
# ends, and open at this distance. Less than `BESIDE_FACE`: where a corner leaves a face, two edges take over.
INSIDE_EDGES = 2e-9

# [1, of the smallest half size of two boxes] Features whose gap is below the separation by less touch together; gaps of
# closed contacts are far below, 1e-11.
BESIDE_SEPARATION = 1e-7

# [1, of the smallest half size of two boxes] Relative motion in a step beyond their separation: a corner that dips into
# a face and leaves within it is missed by less than a thousandth of the size.
SEEN_WAY = 0.25

# [1, sine] A normal may be so far outside the cone of normals of a corner or an edge: faces that are flush to rounding
# have it at the border. Wrong normals of flush boxes are at 1.
NORMAL_CONE = 0.05

# [1, sine] Edges at a smaller angle have no common normal; faces that lie on each other touch at other features, too.
PARALLEL_EDGES = 1e-5

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
