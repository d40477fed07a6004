"""Tolerances of the wing ``formulations``: ranks, rounding and residuals of answers."""

from __future__ import annotations

from sarrus.base.tolerances import EPSILON

# [1, of the largest row, in balanced units] A row of A this small is rounding and drops out. Sums of a few
# tens of terms of mechanisms leave that much.
DEAD_ROW = 64.0 * EPSILON

# [1, of the largest numbers of a row] Residuals of a row below this part are rounding. Numbers of that size
# are themselves known to EPSILON, and a residual has a few operations.
GRAIN = 8.0 * EPSILON

# [1, of the diagonal] A metric scaled to a unit diagonal is positive definite if its eigenvalues are above.
# Eigenvalues of unit matrices round at 1e-15 times their size.
DEFINITE_TENSOR = 1e-13

# [1, of the largest singular value of A] Default of ``tolerance``: smaller singular values count as zero.
# Rows computed from q leave 1e-15; files whose loops close to 1e-8 need a looser one, which the caller gives.
RANK_TOLERANCE = 1e-10

# [1, of the largest entry] A given matrix is symmetric if entries across the diagonal differ by less.
# Matrices printed with ten digits have it.
SYMMETRIC_MATRIX = 1e-9

# [1, of the size of the matrix and its largest diagonal entry] A pivot of a symmetric matrix below is
# rounding. Each of n eliminations rounds a few times.
PIVOT_NOISE = 4.0 * EPSILON

# [1, of the norm of M] A mass on the admissible motions below this part is zero. It is the rounding of the
# products Kᵀ M K.
MASSLESS = 1e-13

# [1, condition number] A solve whose scaled matrix has a larger condition number is refused a correction. No
# digit of it is sure: 1 / EPSILON is 5e15.
NUMERICALLY_SINGULAR = 1e15

# [1, of the largest terms] An answer is OK if its residuals are below. Well-conditioned solves leave 1e-15,
# so that six digits may be lost.
RESIDUAL_MET = 1e-9

# [1, of the largest terms] An answer with residuals between RESIDUAL_MET and this number is ALMOST right;
# above it is ILL_CONDITIONED. Six digits are what engineers read.
RESIDUAL_NEAR = 1e-6

# [1, of γ of the rows] Dependent rows that disagree by more contradict each other. Printed digits of files do
# less (1e-8).
INCONSISTENT = 1e-6

# [1, of a] An answer whose estimated relative error of a is larger is ILL_CONDITIONED. It has less than four
# digits.
ACCELERATION_LOST = 1e-4

# [1, of the needed force] Actuators cannot produce a motion if they miss more of its force. Least squares
# leave 1e-14 of what is within reach, ranks are cut at 1e-10.
FORCE_MISSING = 1e-8
