"""Tolerances of `sarrus.kernels.algebra`: rounding of one operation, dependent rows."""

from __future__ import annotations

# [1, of the largest singular value] A smaller entry of a bidiagonal matrix is zero: half the distance from 1
# to the next number of double precision.
UNIT_ROUNDOFF = 1.1e-16

# [1, of the square of the rotated rows] Rounding that one rotation adds to the squared rounding error of a
# row: `UNIT_ROUNDOFF` squared.
UNIT_ROUNDOFF_SQUARED = 1.2e-32

# [1, of the sum of both diagonal entries] A smaller off-diagonal entry is zero. Where singular values
# coincide, sweeps round more than one operation.
COUPLED_VALUES = 5e-15

# [sweeps] Largest number of sweeps for one singular value; convergence is cubic, so few are needed.
SWEEPS_PER_VALUE = 60

# [steps] Largest number of steps of Lanczos' method for the largest singular value. The value is exact for
# matrices with no more rows than steps.
LANCZOS_STEPS = 24

# [1, of the diagonal entry before the elimination] A pivot within a block below it is not trusted: four
# digits are left of it.
LEAST_BLOCK_PIVOT = 1e-12

# [1, cosine] Rows with a smaller cosine are orthogonal. Rotations reach it in six to ten sweeps over all pairs.
ORTHOGONAL = 1e-15

# [1, of the longest squared projection] The first axis with a squared projection above this is taken, so that
# neither rounding nor a small change decides.
COMPARABLE_AXES = 0.6

# [1, of the largest pivot or singular value] A row below it is rounding, whatever rank is asked for: a
# hundred units of rounding.
LEAST_RANK_CUT = 1e-14
