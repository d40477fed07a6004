"""Tolerances of the room ``solve``: rounding of accelerations, projections and their checks."""

from __future__ import annotations

# [1, squared sine between a row and the rows before] Above it the Gram matrix costs an answer no more than
# three of its sixteen digits.
CLEARANCE_OF_ANSWER = 1e-3

# [1, squared sine between a row and the rows before] Above it the Gram matrix keeps eleven digits for
# stages and ends of steps; a projection repeats until the rows are met.
CLEARANCE_OF_STAGE = 1e-5

# [1, squared sine between a row and the rows before] Above it a stage may be refined: the Gram matrix keeps
# five digits, so each correction gains some.
CLEARANCE_TO_REFINE = 1e-11

# [corrections] Corrections of a stage at most; each gains at least one digit.
REFINEMENTS = 5

# [1, of the residual before] A correction leaves less than this, or the next one is not tried.
REFINEMENT_GAIN = 0.1

# [1, of the largest acceleration] A residual of the rows is rounding, and corrections end.
REFINEMENT_ROUNDING = 1e-15

# [1, of the rounding of the residual] Where corrections gain no more, a stage with a residual up to this
# many units of rounding is accepted: thirteen digits.
REFINED_ENOUGH = 1e3

# [1, of the longest row] The smallest pivot of ÂÂᵀ is that of a regular configuration above the square of
# this: the root of the 1e-14 that rounding leaves.
REGULAR_PIVOT = 1e-7

# [1, characteristic lengths, rad] A correction that is shorter is rounding, and no further one is made.
STAGNANT_CORRECTION = 1e-13

# [1, of the terms that add up to the row] A residual of A a + γ is rounding: a hundred units of double
# precision, as rows have about ten terms.
ROUNDING_OF_ROWS = 1e-14

# [1, of the terms that add up to the row] Rounding of rounding, which refinement leaves where the whole
# system of equations was solved.
ROUNDING_OF_REFINEMENT = 1e-22

# [1, of the accelerations by the forces if M were its diagonal] Rows with terms below it are at rest: γ is
# zero and a is rounding, which no correction improves.
ROWS_AT_REST = 1e-14

# [1, of the largest force] This part of the largest force counts as a term of every row of M a = f + Aᵀλ:
# forces that cancel in all rows but a few leave rounding there.
CANCELLED_FORCES = 1e-4

# [1, of the rounding of rows] Residuals below this part of `ROUNDING_OF_ROWS` of the largest row are left
# out of the ratio of residual and size.
FAINT_RESIDUAL = 0.01

# [1, of the size of the invariant] An invariant counts as changed by a motion when its rate adds up to
# more: seven digits are kept otherwise.
INVARIANT_CHANGED = 1e-7

# [1, of the size of the invariant] An invariant is met where a projection ends; Newton's method reaches
# 1e-14.
INVARIANT_MET = 1e-9

# [1, of the size of the invariant; characteristic lengths, rad] Neither a smaller error nor a shorter
# correction improves an invariant.
INVARIANT_ROUNDING = 1e-14

# [1, of the largest diagonal entry] The square of a Cholesky pivot must exceed it, or the matrix is
# singular to rounding.
LEAST_SQUARED_PIVOT = 1e-14

# [characteristic lengths, rad] After a shorter step Newton's method leaves its square, 1e-15: the residual
# is rounding if it is below `CLOSED_TO_ROUNDING`.
QUADRATIC_STEP = 3e-8

# [characteristic lengths, rad] A residual of the closures is rounding where corrections no longer reduce
# it: 1e-16 times the number and size of the terms of long chains.
CLOSED_TO_ROUNDING = 1e-12

# [characteristic lengths, rad] A longer position step changes M and A, so that the projection of velocities
# takes them anew.
FAR_STEP = 1e-6

# [1, of the residual before] A correction with old factors leaves no more than this, or the factors are not
# those of a state nearby.
SIMPLIFIED_CONTRACTION = 0.25

# [characteristic lengths, rad] A first correction with the factors of another state may leave so much, the
# rounding of the closures.
NEARBY_FACTORS = 1e-12

# [1, of the largest velocity] Velocities of rows below it are rounding: a hundred units of double
# precision.
ROUNDING_OF_SPEED = 1e-14

# [1, in the units of the sum] Sums of squares below it may underflow, and no error bound is given.
NEAR_UNDERFLOW = 1e-200

# [1, in the units of the sum] Sums of squares above it may overflow, and no error bound is given.
NEAR_OVERFLOW = 1e200

# [1, of the diagonal entry of M] The pivots of M must exceed it for an error bound with digits: six are
# left.
LEAST_MASS_PIVOT = 1e-10

# [1, of the diagonal entry of B Bᵀ] A row is independent of the rows before it: six digits of its pivot are
# left.
INDEPENDENT_PIVOT = 1e-10

# [1, of the diagonal entry of B Bᵀ] A row depends on the rows before it: its pivot is rounding. Between
# both no error bound is given.
DEPENDENT_PIVOT = 1e-13
