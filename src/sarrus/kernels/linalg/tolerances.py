"""Tolerances of `sarrus.kernels.linalg`: ranks of matrices, Newton's method, quaternions."""

from __future__ import annotations

# [1, of the largest pivot] Columns with squared lengths above this are equally long, and the first column is
# taken: ties are broken by the index on every processor.
EQUAL_PIVOTS = 0.99

# [1, of the correction before] A correction must be shorter than this, so that Newton's method converges to the
# solution near the start (Newton–Kantorovich).
NEWTON_CONTRACTION = 0.5

# [1, of the largest unknown, at least 1] The iteration ends when the error bound by the contraction rate is
# smaller: a few units of rounding.
NEWTON_CONVERGED = 1e-15

# [1, of the path] Shortest step along a path; the solution counts as lost where a longer step fails: twelve
# halvings.
SHORTEST_WAY = 2.0**-12

# [1, of the length 1] A shorter quaternion has no direction: it is zero to the printed digits of a model.
NO_QUATERNION = 1e-9

# [1, of the largest singular value of A nearby] Smaller singular values are zero. The value is above the digits
# that model files print, 1e-8.
RANK_CUT = 1e-6

# [1, of the largest singular value] Smaller singular values are zero where they do not depend on printed digits
# of a model: rows known to depend on each other, stiffness, directions of actuators. The value is far above the
# rounding of a factorization.
FINE_RANK_CUT = 1e-9

# [1, cosine] Directions of orthonormal bases with a smaller cosine are normal to each other. Exact bases have 0
# or 1, and 0.5 is far from both.
NORMAL_DIRECTIONS = 0.5

# [1, of the squared length 1] A shorter row of an orthonormal basis of the left null space is zero. Rounding
# leaves squares of 1e-30, and bases from data of 1e-6 leave 1e-12.
ABSENT_ROW = 1e-9
