"""Tolerances of the room ``algebra``: rounding of one operation, dependent rows."""

from __future__ import annotations

# [1, of the largest singular value] An entry of a bidiagonal matrix is zero: half the distance from 1 to
# the next number of double precision.
UNIT_ROUNDOFF = 1.1e-16

# [1, of the square of the rotated rows] Rounding that one rotation adds to the square of what is known to
# be noise: `UNIT_ROUNDOFF` squared.
UNIT_ROUNDOFF_SQUARED = 1.2e-32

# [1, of the sum of both diagonal entries] An entry between two singular values is zero: rounding of sweeps
# where values coincide, larger than that of one operation.
COUPLED_VALUES = 5e-15

# [sweeps] Sweeps for one singular value at most; convergence is cubic, so that few are needed.
SWEEPS_PER_VALUE = 60

# [steps] Steps of Lanczos' method for the largest singular value at most. Matrices with no more rows have
# it exactly.
LANCZOS_STEPS = 24

# [1, of the diagonal entry before the elimination] A pivot within a block below it is not trusted: four
# digits are left of it.
LEAST_BLOCK_PIVOT = 1e-12

# [1, cosine] Rows are orthogonal. Rotations reach it in six to ten sweeps over all pairs.
ORTHOGONAL = 1e-15

# [1, of the largest entry] Of axes with entries above it the first is taken, so that neither rounding nor a
# small change decides.
COMPARABLE_AXES = 0.6

# [1, of the largest pivot or singular value] A row below it is rounding, whatever rank is asked for: a
# hundred units of rounding.
LEAST_RANK_CUT = 1e-14
