"""Tolerances of the room ``analysis/sensitivity``: derivatives through crossings, of equilibria, of motions."""

from __future__ import annotations

# [1, of its largest in the run] Smallest singular value from which, and to which, the long step across a
# singular configuration goes. Derivatives by q grow with its inverse.
CROSSING_AWAY = 0.05

# [1, of its largest in the run] Smallest singular value that the nearest stage of the long step is to have.
# The shortest step for which it has is taken.
CROSSING_NEAREST = 6e-3

# [1, of the step] Room without stages that there must be about a crossing. Derivatives of a stage nearer
# would be lost in rounding.
CROSSING_ROOM = 0.04

# [1, of a given step] The long step across a singular configuration is at least this part of a given step. A
# shorter one ends where it began.
CROSSING_PART = 2e-2

# [1, of its largest in the run] Records with a smaller singular value are interpolated and have no
# derivatives of their own. Rounding goes with the square of its inverse.
CROSSING_BESIDE = 1e-2

# [1, records] Derivatives are interpolated through so many records on either side.
CROSSING_THROUGH = 4

# [rad, characteristic lengths, per second] Changes of neighbouring motions that check derivatives. The
# smaller one where a slow crossing has no room for the other.
CROSSING_CHANGES = (1e-4, 1e-6)

# [1, of its size] The difference of neighbouring motions over their change may be off by this part. Second
# order of the change is less.
CROSSING_AGREES = 1e-2

# [1, of 1 + the state] Tolerances of the neighbouring motions; each next one is taken if the run does not get
# to its end.
CROSSING_TOLERANCES = (1e-10, 1e-11, 1e-9)

# [1, of the largest singular value] Directions of starts below are none. Derivatives of starts are exact to
# 1e-12.
START_DIRECTIONS = 1e-9

# [1, of 1 + the derivative of the rows] Redundant closures cannot follow a parameter that opens them by more.
# Printed digits leave less.
ROWS_FOLLOW = 1e-7

# [1, of the largest eigenvalue] Eigenvalues that are closer are not simple, and have no derivatives. Double
# eigenvalues split by 1e-8.
EIGENVALUES_APART = 1e-6

# [1, condition number of an eigenvalue] Eigenvalues with a larger one are not simple. Half of the digits are
# lost.
DEFECTIVE = 1e8

# [1, of 1 + the derivative] Derivatives of an equilibrium found by two ways agree to this. The equilibrium is
# found to 1e-10.
VERIFIED = 1e-5

# [1, of a step] Part of a step after which the fall of singular values is measured. The difference keeps half
# of the digits.
LOOK_AHEAD = 1e-3

# [1] Weight of rows with friction beside rows of gaps. A change that contradicts both keeps the gap: its error
# falls by the square of this in each correction.
WEIGHT_OF_PLACES = 1e-3

# [rounds] Corrections after the first one at the end of a step; each is of the order of the square of the one before.
PHASE_CLOSINGS = 3

# [1, of the largest entry of the row] Normal rows of contacts between geometries that are nearer are of one pair of
# features: those of MuJoCo's points are right to 1e-9 where the features are known.
SAME_FEATURE = 1e-6

# [1, of 1 + the largest entry] Velocities and coordinates of a step in time agree with those of its kernel to this,
# for derivatives. Compliances that are differences of accelerations have ten digits.
KERNEL_AGREES = 1e-9

# [1, of the friction] Friction of a sliding contact of a step in time is opposite to its slip to this. The direction
# of the slowest slips that are told from rest has six digits.
AGAINST_SLIP = 1e-5
