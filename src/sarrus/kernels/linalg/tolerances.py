"""Tolerances of the room ``linalg``: ranks of matrices, Newton's method, quaternions."""

from __future__ import annotations

# [1, of the largest pivot] Columns with pivots above it are equal, and the first one is taken: ties are
# broken by the index on every processor.
EQUAL_PIVOTS = 0.99

# [1, of the correction before] A correction must be shorter than this, so that the solution is the one that
# belongs to the start (Newton–Kantorovich).
NEWTON_CONTRACTION = 0.5

# [1, of the largest unknown, at least 1] The error that contraction foretells ends the iteration: a few
# units of rounding.
NEWTON_CONVERGED = 1e-15

# [1, of the way] The shortest part of the way that is tried before the solution counts as lost: twelve
# halvings.
SHORTEST_WAY = 2.0**-12

# [1, of the length 1] A shorter quaternion has no direction: it is zero but for printed digits.
NO_QUATERNION = 1e-9

# [1, of the largest singular value of A nearby] Singular values below it are zero. It is looser than the
# digits that model files print, 1e-8.
RANK_CUT = 1e-6

# [1, of the largest singular value] Singular values below it are zero where no data of a model blur them:
# rows known to depend on each other, stiffness, the reach of actuators. It is far above the rounding of a
# factorization.
FINE_RANK_CUT = 1e-9

# [1, cosine] Directions of orthonormal bases are normal to each other below it; exact bases have 0 or 1,
# and 0.5 is far from both.
NORMAL_DIRECTIONS = 0.5

# [1, of the squared length 1] A row of an orthonormal basis of the left null space vanishes. Rounding
# leaves squares of 1e-30, and bases from data of 1e-6 leave 1e-12.
ABSENT_ROW = 1e-9
