"""Tolerances shared by several packages of the kernels."""

from __future__ import annotations

# [1, of the largest term of a law of contact] Contact forces obey their laws. Solvers reach 1e-13 to 1e-10.
CONTACT_RESIDUAL = 1e-8

# [1, of the largest term of a law of contact] A rough answer has at most this residual: it is the start of
# another problem, which makes it exact.
ROUGH_RESIDUAL = 1e-7

# [1, of the largest value in the run] A minimum of the smallest pivot below it is a passage of a singular
# configuration; a higher one is a mere variation of a regular motion.
PASSAGE_PIVOT = 0.05

# [1, of the squared length 1] A quaternion has length one and is used without being normalized. Rounding of
# a step leaves 1e-16.
UNIT_QUATERNION = 1e-12

# [1, of the terms of the row A a + γ] Independent rows are met by an answer. Solves reach 1e-13; dependent
# rows are met to `Options.inconsistent`.
ROWS_MET = 1e-9

# [1, condition number of M with diagonal one] Up to here sums in the kinetic metric are about as large as
# those in A a + γ, and no digit is lost by comparing them.
FAIR_MASS = 1e4

# [1, condition number of M with diagonal one] Beyond it the accelerations may be wrong by more than 1e-6:
# that error over the rounding 2.2e-16 of double precision.
ILL_CONDITIONED_MASS = 1e-6 / 2.2e-16

# [1, condition number of M with diagonal one] Beyond it the motions in the null space of A are solved for
# instead, where the table has them: half the digits are left.
HEAVY_MASS = 1e8

# [1, condition number of M with diagonal one] Beyond it M is no metric to project in: four digits are left.
NO_METRIC = 1e12

# [1, condition number of M with diagonal one] Beyond it a pivot of M is rounding, and M is singular.
SINGULAR_MASS = 1e15

# [steps] Number of steps before the first sample state of a run is stored.
FIRST_LOOK = 6.0

# [1, of the steps up to the last sample state] Factor of the number of steps up to the next sample state:
# their number grows with the logarithm of the steps.
NEXT_LOOK = 3.0

# [states] Largest number of sample states of a run: 6 · 3¹³ is nearly ten million steps.
MOST_LOOKS = 14

# [1, h |λ|] Above it the explicit method of order 8 is held back by stability, not by accuracy (Hairer and
# Wanner, Solving Ordinary Differential Equations II, 2nd ed., IV.2).
STIFF_8 = 6.1

# [1, h |λ|] Below it an explicit step would do as well as an implicit one, which costs several times more.
EASY_STEP = 1.0

# [1, h |λ|] The classical method of order 4 is stable up to it: 2.785 on the real axis, 2.828 on the
# imaginary one.
STABILITY_OF_RK4 = 2.83

# [1, of the largest pivot] Redundant rows count as split at a stage when a pivot beyond the generic rank
# exceeds it; rounding stays below it.
SPLIT_PIVOT = 1e-13

# [1, of the largest acceleration] A smaller change of an acceleration is not examined: models have fewer
# than seven digits.
CERTAIN_ACCELERATION = 1e-7
