"""Tolerances of the room ``laws``: when a level of a hierarchy is met, limits that hold, emergency damping."""

from __future__ import annotations

# [1/s] Rate κ at which joints are damped where a law has no answer: at rest within a quarter of a second.
EMERGENCY_DAMPING_RATE = 20.0

# [rounds] Rounds over all controls at most.
EMERGENCY_ROUNDS = 200

# [1, of the largest control] Rounds end when no control changes by more.
EMERGENCY_SETTLED = 1e-9

# [1] Hashes of active sets are taken modulo this, so that they stay whole numbers of double precision.
FACE_HASH_SIZE = 1e15

# [1, of the largest slope of a level] A multiplier above it counts: the limit holds the level back.
POSITIVE_MULTIPLIER = 1e-7

# [1, of the size of the force] A force that is nearer to the boundary of its cone is on it.
ON_CONE_BOUNDARY = 1e-4

# [1, of the length of the row] A row is zero across directions of unit length: nothing that is free moves
# it.
FREE_ROW = 1e-9

# [1, of the row] A row of an active set depends on the others when its pivot is smaller.
FACE_CUT = 1e-8

# [1, of the sizes of the terms] A sum below it is rounding: controls that move nothing, or no task, have no
# gain.
CANCELLED_GAIN = 1e-13

# [1, of the least singular value] Pivots tell the least singular value to about this factor.
PIVOT_TO_SINGULAR_VALUE = 10.0

# [1, of the largest control] Limits of the first of several programs are tighter by this, each later one by
# half of the one before, so that the solution found before is inside.
TIGHTER_LIMITS = 1e-9

# [1, of the share] Unknowns up to here do not touch the limits of their shares.
WELL_WITHIN_SHARE = 1.0 - 1e-6

# [1, in the units of the program] Programs with larger demands are no start for others: four digits would
# be left.
ABSURD_DEMAND = 1e12

# [1, of the range 0 to 1] Activities that are nearer to 0, to 1 or to each other are the same.
SAME_ACTIVITY = 1e-6

# [1, of the largest unknown] Limits may be missed by this where no unknown is free.
LIMITS_MISSED = 1e-9

# [1, of the sizes of the terms] A half-line that is missed by less is kept.
HALF_LINE_ROUNDING = 1e-11

# [programs] Programs for a level at least, each with a proximal term about the solution before.
PROGRAMS_PER_LEVEL = 3

# [programs] Programs for a level at most.
MOST_PROGRAMS_PER_LEVEL = 12

# [1, of 1 + the demand] Another program is solved where it may reduce the miss by more.
WORTH_A_PROGRAM = 1e-9

# [1, of the squared size of T] First weight ε of the proximal term: small beside the level, large beside
# rounding.
PROXIMAL_WEIGHT = 1e-7

# [1, of ε] ε grows by it where rounding ends a program, and falls by it where a program leads on.
PROXIMAL_FACTOR = 100.0

# [1, of the squared size of T] ε is not smaller: rounding of T.
LEAST_PROXIMAL_WEIGHT = 1e-11

# [1, of the squared size of T] ε is not larger: the solution would hardly move.
MOST_PROXIMAL_WEIGHT = 1e-2

# [1, of 1 + the demand] A level that misses less is fulfilled.
LEVEL_MET = 1e-9

# [1, of the largest unknown] A miss proves that no better solution is nearer than this.
FAR_BEYOND_SOLUTION = 1e3

# [1, of the miss times the size of T] Slope that rounding leaves.
FLAT_SLOPE = 1e-10

# [1, of the limit] What the levels above need may be exceeded by this, so that the feasible set has an
# inside where two motors can only take from each other.
SHARE_SLACK = 1e-8
