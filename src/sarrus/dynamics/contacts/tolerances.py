"""Tolerances of the room ``contacts``: flanks with play, contacts between geometries, borders of modes."""

from __future__ import annotations

from sarrus.model.mechanism.gearing import LEAST_PLAY

# [m] Gaps below it are closed where two flanks face each other: a tenth of the least play, so that only one
# is.
CLOSED_OF_FLANKS = 0.1 * LEAST_PLAY

# [m/s] Steps in time leave a flank behind at a higher speed.
LEAVING_FLANK = 1e-4

# [m] Steps in time have closed a smaller gap of a flank.
EXACT_FLANK_GAP = 1e-3 * CLOSED_OF_FLANKS

# [1/m] Kernels are handed distances as whole micrometres.
MICROMETRES_PER_METRE = 1e6

# [m] Tolerance of MuJoCo's general function for convex bodies: gaps are then right to rounding.
CONVEX_GAP = 1e-14

# [iterations] Iterations of that function at most.
CONVEX_ITERATIONS = 500

# [m, 1] Sizes and placements of geometries that differ by less are the same.
SAME_GEOMETRY = 1e-12

# [1, of the bounding radius; 1, cosine] A contact point that is nearer to a corner, an edge or the end of a cylinder is
# on it. Corners of meshes are stored with seven digits, and gaps of closed contacts are up to 1e-6 lengths.
ON_FEATURE = 1e-5

# [1, 1 − cosine] Faces of a mesh at a smaller angle, 1e-4 rad, are one face without an edge between them, and an edge
# at a smaller angle to a tangent plane is in it.
FLAT_SURFACE = 1e-8

# [1] A unit normal that an iteration of the features changes by less is found: a few units of rounding.
NORMAL_FOUND = 1e-15

# [iterations] Iterations for the normal of a pair of features at most; MuJoCo's, right to 1e-5, needs two.
NORMAL_STEPS = 6

# [1, of the characteristic length] A gap of a pair of features that differs by more from that of the narrow phase
# belongs to other features: MuJoCo's are right to 1e-6 lengths.
FEATURE_GAP = 1e-6

# [1] The same of unit normals. MuJoCo's are right to 1e-5, but those of edges that are nearly parallel, and of rims,
# may be wrong by 0.1.
FEATURE_NORMAL = 0.1

# [1, of the smallest radius of both features, else of the characteristic length] The same of contact points: corners of
# the polygon for the end of a cylinder are half a radius apart.
FEATURE_POINT = 0.05

# [1; 1, of the characteristic length] Normals, gaps and points of the narrow phase that are nearer to those of the
# features stay: rounding.
EXACT = 1e-14

# [1, of the largest force, of the unit of the block, or of what a velocity or an acceleration is summed of] Forces,
# gaps, speeds and accelerations that are smaller, and friction that is less below its limit, are at a border of modes:
# derivatives are one-sided there. Forces are found to 1e-10.
BORDER_OF_MODES = 1e-7

# [1, of the derivative of the velocities, or of the turn of friction; 1, of the largest share] Shares of the load that
# redundant rows leave open change derivatives if they change them by more. Rounding leaves 1e-12.
SHARES_FELT = 1e-9
