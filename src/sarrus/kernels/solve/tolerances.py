"""Tolerances of `sarrus.kernels.solve`: rounding of accelerations, projections and their checks."""

from __future__ import annotations

# [1, squared sine between a row and the rows before] Above this value the Gram matrix Â Âᵀ costs an answer at
# most three of its sixteen digits.
CLEARANCE_OF_ANSWER = 1e-3

# [1, squared sine between a row and the rows before] Above this value the Gram matrix keeps eleven digits for
# stages and ends of steps; a projection repeats until the residual of the rows is small.
CLEARANCE_OF_STAGE = 1e-5

# [1, squared sine between a row and the rows before] Above this value a stage may be refined: the Gram matrix
# keeps five digits, so each correction reduces the residual.
CLEARANCE_TO_REFINE = 1e-11

# [corrections] Largest number of corrections of a stage; each gains at least one digit.
REFINEMENTS = 5

# [1, of the residual before] Corrections end when a correction leaves more than this part.
REFINEMENT_GAIN = 0.1

# [1, of the largest acceleration] A smaller residual of the rows is rounding, and corrections end.
REFINEMENT_ROUNDING = 1e-15

# [1, of the rounding of the residual] Where corrections gain no more, a stage with a residual up to this
# many units of rounding is accepted: thirteen digits.
REFINED_ENOUGH = 1e3

# [1, of the longest row] A configuration is regular if the smallest pivot of ÂÂᵀ is above the square of this
# value, 1e-14, the rounding of the pivots.
REGULAR_PIVOT = 1e-7

# [1, characteristic lengths, rad] A shorter correction is rounding, and corrections end.
STAGNANT_CORRECTION = 1e-13

# [1, of the sum of magnitudes of the terms of a row] A smaller residual of A a + γ is rounding: a hundred units
# of double precision, as rows have about ten terms.
ROUNDING_OF_ROWS = 1e-14

# [1, of the terms of a row] Residual left by refinement where work.a is a, not y: the rounding of a correction
# that is itself rounding.
ROUNDING_OF_REFINEMENT = 1e-22

# [1, of the accelerations by the forces with the diagonal of M] Rows with smaller terms are at rest: γ is zero
# and a is rounding, which no correction improves.
ROWS_AT_REST = 1e-14

# [1, of the largest force] This part of the largest force counts as a term of every row of M a = f + Aᵀλ:
# forces that cancel in most rows leave rounding in the remaining ones.
CANCELLED_FORCES = 1e-4

# [1, of the rounding of rows] Residuals below this part of `ROUNDING_OF_ROWS` of the largest row are left
# out of the ratio of residual and size.
FAINT_RESIDUAL = 0.01

# [1, of the size of the invariant] An invariant counts as changed by a motion when the sum of its changes is
# larger: seven digits are conserved otherwise.
INVARIANT_CHANGED = 1e-7

# [1, of the size of the invariant] Largest error of an invariant after a projection; Newton's method reaches
# 1e-14.
INVARIANT_MET = 1e-9

# [1, of the size of the invariant; characteristic lengths, rad] Newton's method ends at a smaller error or a
# shorter correction: both are rounding.
INVARIANT_ROUNDING = 1e-14

# [1, of the largest diagonal entry] A matrix with a smaller squared Cholesky pivot is singular to rounding.
LEAST_SQUARED_PIVOT = 1e-14

# [characteristic lengths, rad] After a shorter step Newton's method has an error of its square, 1e-15: a
# residual below `CLOSED_TO_ROUNDING` is rounding then.
QUADRATIC_STEP = 3e-8

# [characteristic lengths, rad] A smaller residual of the closures that corrections no longer reduce is
# rounding: 1e-16 times the number and size of the terms of long chains.
CLOSED_TO_ROUNDING = 1e-12

# [characteristic lengths, rad] A longer position step changes M and A noticeably: they are evaluated again for
# the projection of velocities.
FAR_STEP = 1e-6

# [1, of the residual before] A correction with the factors of a nearby state leaves less than this part;
# otherwise the factors are not used.
SIMPLIFIED_CONTRACTION = 0.25

# [characteristic lengths, rad] Largest residual that the first correction with the factors of another state may
# leave: rounding of the closures.
NEARBY_FACTORS = 1e-12

# [1, of the largest velocity] Smaller residuals of ψ are rounding: a hundred units of double
# precision.
ROUNDING_OF_SPEED = 1e-14

# [1, in the units of the sum] Squares of smaller sums may underflow, and no error bound is given.
NEAR_UNDERFLOW = 1e-200

# [1, in the units of the sum] Squares of larger sums may overflow, and no error bound is given.
NEAR_OVERFLOW = 1e200

# [1, of the diagonal entry of M] No error bound is given where a pivot of M is smaller: fewer than six of its
# digits are left.
LEAST_MASS_PIVOT = 1e-10

# [1, of the diagonal entry of B Bᵀ] A row with a larger pivot is independent of the rows before it: six digits
# of its pivot are left.
INDEPENDENT_PIVOT = 1e-10

# [1, of the diagonal entry of B Bᵀ] A row with a smaller pivot depends on the rows before it: the pivot is
# rounding. Between `DEPENDENT_PIVOT` and `INDEPENDENT_PIVOT` no error bound is given.
DEPENDENT_PIVOT = 1e-13
