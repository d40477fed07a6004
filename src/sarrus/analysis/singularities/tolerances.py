"""Tolerances of the room ``analysis/singularities``: searches for singular configurations and loci."""

from __future__ import annotations

# [1, steps] The secant method onto a locus takes at most so many steps. It takes five.
LOCUS_STEPS = 12

# [rad, characteristic lengths] A step of the secant method, or of a bisection, this short ends it. It is
# rounding.
LOCUS_MET = 1e-14

# [rad, characteristic lengths] Step of the difference quotients along the locus. Error of second order and
# rounding are both 1e-10.
LOCUS_DIFFERENCE = 1e-5

# [rad, characteristic lengths] How far off the locus left singular vectors are taken. On it they are not
# unique where ranks drop.
LOCUS_OFF = 2e-3

# [1, of the first step] Steps along a locus are halved down to this share. Shorter ones mean a cusp or an
# end.
LOCUS_SHORTEST = 1e-2

# [1, of the rank cut] A zero of the signed singular value is on the locus if the value is below this multiple
# of the cut. A jump of the sign is not.
LOCUS_CUT = 1e3

# [1, of the singular value] The two sides of a locus tie if their singular values differ by less; then the
# first is taken. Rounding must not choose.
LARGER_GAP = 1e-6

# [rad, characteristic lengths] No step of a descent to a singular configuration is longer. Singular values
# are linear over less.
MEASURE_LONGEST = 0.2

# [1, steps] A descent to a singular configuration takes at most so many steps.
MEASURE_DESCENT = 60

# [1, steps] The final Newton method takes at most so many steps. It takes five.
MEASURE_NEWTON = 20

# [1, of 1 + the singular value, for each rad or characteristic length] A gradient of the singular value below
# is zero. Gradients are exact to 1e-12.
SLOPE_ZERO = 1e-9

# [rad, characteristic lengths] A descent whose steps are shorter, and that gains less than a tenth, ends. The
# minimum is not zero.
SLOW_STEP = 1e-6

# [rad, characteristic lengths] A step of the final Newton method this short ends it. It is rounding.
CONVERGED_STEP = 1e-13

# [rad, characteristic lengths] How far walks go with several degrees of freedom. It is a turn of a crank.
WALK_REACH = 7.0

# [rad, characteristic lengths] How far a walk goes with one degree of freedom. A closed curve comes back
# before.
WALK_CURVE = 50.0

# [1, directions] Directions that are walked with several degrees of freedom.
WALK_RAYS = 12

# [1, of the distance to the start] A point of a locus is nearest to the start if less of the way to the start
# lies along the locus. Loci are met to 1e-12.
HOME_DIRECTION = 1e-6

# [rad, characteristic lengths] The distance of a point of a locus to the start counts as at least this. A
# start on the locus has none.
LEAST_AWAY = 1e-3

# [rad, characteristic lengths] A point of the locus is nearer if its distance is less by this. It is above
# rounding.
NEARER = 1e-12

# [1, of the first step] Steps towards the nearest point are quartered down to this part. The distance is then
# flat.
SHORTEST_HOME = 1e-3
