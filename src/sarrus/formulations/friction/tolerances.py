"""Tolerances of the room ``formulations/friction``: steps of the interior point and what it has met."""

from __future__ import annotations

# [1, of a conflict that adds up to 1] A limit with a larger share of a conflict is named. Shares of others
# are what the interior point leaves.
CONFLICT_PART = 1e-3

# [1, of the cost] Default of ``precision``: the duality gap at which the central path ends. Newton's method
# near the boundary loses four to five of sixteen digits.
COST_PRECISION = 1e-11

# [1, of η] Decrease of η from one point of the central path to the next. Newton's method then takes a few
# steps a point.
PATH_SHRINKS = 0.1

# [1, distance in the metric of the Hessian] A full Newton step from closer than this to the minimum ends the
# centring. It leaves about the square, 1e-4.
CENTRED = 1e-2

# [1, distance in the metric of the Hessian] Below this distance Newton's method takes full steps. There
# self-concordant functions converge quadratically.
QUADRATIC = 0.25

# [1, of the violation] The first phase ends with the least violation known to this part. It is reported, and
# decides nothing more.
VIOLATION_KNOWN = 1e-9

# [1, of the violation at the start] A least violation below this part counts as known, whatever its own size.
# It is rounding of the start.
NO_VIOLATION = 1e-14

# [1, of the terms of the equalities] Equalities missed by more contradict each other. Least squares leave
# 1e-14 where they do not.
EQUALITIES_CONTRADICT = 1e-8

# [1, of its terms] A gradient of the cost below this part is zero, and a feasible start is optimal. The
# difference of its terms rounds at 1e-16 each.
FLAT_COST = 1e-12

# [1, of the scale of the violations] A violated constraint counts as at least so far away, in the radius that
# bounds the first phase. Constraints that are just met would have no radius.
BARRIER_DISTANCE = 1e-3

# [1, of the first cost] The gap is measured against the cost, which counts as at least this part of the first
# one. A cost that vanishes at the optimum has no size of its own.
COST_ON_THE_WAY = 1e-4
