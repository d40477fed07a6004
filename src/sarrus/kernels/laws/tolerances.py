"""Tolerances of `sarrus.kernels.laws`: levels of a hierarchy that are met, limits that are active, emergency
damping."""

from __future__ import annotations

# [1/s] Rate κ at which joints are damped where a law has no answer: at rest within a quarter of a second.
EMERGENCY_DAMPING_RATE = 20.0

# [rounds] Largest number of rounds of coordinate descent over all controls.
EMERGENCY_ROUNDS = 200

# [1, of the largest control] Rounds end when no control changes by more than this part.
EMERGENCY_SETTLED = 1e-9

# [1] Hashes of active sets are taken modulo this, so that they stay whole numbers of double precision.
FACE_HASH_SIZE = 1e15

# [1, of the largest slope of a level] A limit with a multiplier above this is active.
POSITIVE_MULTIPLIER = 1e-7

# [1, of the size of the multiplier z₀] A multiplier nearer to the boundary of its cone is on it.
ON_CONE_BOUNDARY = 1e-4

# [1, of the length of the row] A row shorter than this in the free directions is zero: no free direction
# changes it.
FREE_ROW = 1e-9

# [1, of the row] A row of an active set depends on the rows before it when its pivot is smaller.
FACE_CUT = 1e-8

# [1, of the sizes of the terms] A sum below this is rounding. The gain of a control without effect on a task
# is set to zero.
CANCELLED_GAIN = 1e-13

# [1, of the least singular value] The smallest pivot is at most about this factor above it.
PIVOT_TO_SINGULAR_VALUE = 10.0

# [1, of the largest control] Margin by which limits are tightened in the first of several programs. It is
# halved after each program, so that the solution before is strictly feasible.
TIGHTER_LIMITS = 1e-9

# [1, of the share] Unknowns below this part of their shares do not touch the reduced limits.
WELL_WITHIN_SHARE = 1.0 - 1e-6

# [1, in the units of the program] Programs with larger right-hand sides are no start for the next ones:
# only four digits would be left.
ABSURD_DEMAND = 1e12

# [1, of the range 0 to 1] Activities that differ by less are equal, and activities below it are zero.
SAME_ACTIVITY = 1e-6

# [1, of the largest unknown] Limits may be violated by this where no unknown is free.
LIMITS_MISSED = 1e-9

# [1, of the sizes of the terms] A smaller violation of a half-line is rounding.
HALF_LINE_ROUNDING = 1e-11

# [programs] Least number of programs for a level, each with a proximal term about the solution before.
PROGRAMS_PER_LEVEL = 3

# [programs] Largest number of programs for a level.
MOST_PROGRAMS_PER_LEVEL = 12

# [1, of 1 + ‖d‖] Another program is solved where it may reduce the residual of a level by more.
WORTH_A_PROGRAM = 1e-9

# [1, of the squared size of T] First weight ε of the proximal term: small beside the level, large beside
# rounding.
PROXIMAL_WEIGHT = 1e-7

# [1, of ε] ε is multiplied by this where rounding ends a program, and divided by it where another program
# may reduce the residual.
PROXIMAL_FACTOR = 100.0

# [1, of the squared size of T] ε is not smaller: rounding of T.
LEAST_PROXIMAL_WEIGHT = 1e-11

# [1, of the squared size of T] ε is not larger: the solution would hardly move.
MOST_PROXIMAL_WEIGHT = 1e-2

# [1, of 1 + ‖d‖] A level with a smaller residual is met.
LEVEL_MET = 1e-9

# [1, of the largest unknown] A residual proves infeasibility if every better solution is farther than this.
FAR_BEYOND_SOLUTION = 1e3

# [1, of the residual times the size of T] Slope that rounding leaves.
FLAT_SLOPE = 1e-10

# [1, of the limit] The values that the hard levels need may be exceeded by this, so that the feasible set
# has an interior where two motors can only shift load to each other.
SHARE_SLACK = 1e-8

# [1, of the weight of an equal force of the motors] Weight of the forces of contacts of the plant in the cost of a
# law: what motors do counts, and forces that statics leaves open are the least ones.
PLANT_FORCE_WEIGHT = 1e-6

# [units/s², of 1 + the largest acceleration] A row of a contact of the plant that a law accelerates less does not move.
# Solutions of levels leave 1e-13; forward dynamics takes the motion as exact.
UNMOVED = 1e-11

# [1, of the largest force] A normal force in a solution without the laws of contact pulls if it is below this part.
UNPULLED = 1e-9

# [1, squared sine] Slip of the solution of a law that deviates less from the direction of its friction is along it.
SAME_DIRECTION = 1e-20

# [rounds] Solutions of a law after which modes of contacts that still change are reported as unsettled.
MODE_ROUNDS = 24

# [1, of the coefficient or the limit] Friction that a law counts on where something sticks. Cone programs end at 1e-8
# of their data, and friction beyond its limit slides.
INSIDE_CONE = 1.0 - 1e-6

# [1, of 1 + the demanded size] Residuals of a level with two choices of modes that differ by less are equal.
SAME_MISS = 1e-6
