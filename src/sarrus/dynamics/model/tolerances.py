"""Tolerances of the room ``model``: precision of the data of a model, inertia, units."""

from __future__ import annotations

from sarrus.kernels.memory.tolerances import NO_METRIC

# [1, of the largest singular value of A nearby] Default of `Options.singular_cut`: looser than rounding in
# long chains, tighter than what a motion near a singular configuration passes.
SINGULAR_CUT = 1e-10

# [1, of the terms of the row] Default of `Options.inconsistent`: printed digits of model files, 1e-8, leave
# less.
INCONSISTENT_ROWS = 1e-6

# [rad, characteristic lengths] Default of `Options.position_tolerance`: some units of rounding.
POSITION_TOLERANCE = 1e-14

# [rad, characteristic lengths] Loops open by less are closed exactly: rounding of long chains is below it,
# printed digits of files are above it.
EXACT_GAP = 1e-12

# [1, of the largest singular value] Singular values below it are rounding.
EXACT_RANK_CUT = 1e-12

# [rad, characteristic lengths] Loops open by more are open, not closed to few digits: models print three
# digits at least.
ROUGH_GAP = 3e-3

# [1, of the largest singular value] A singular value above it is not zero to few digits: models print three
# digits at least.
ROUGH_RANK_CUT = 3e-3

# [1, of the next singular value] Singular values that are zero to the digits of the model are this many
# times smaller than the one before.
SINGULAR_VALUE_DROP = 15.0

# [rad, characteristic lengths] Length of the walk that tells redundant rows with few digits from a singular
# configuration.
PRECISION_WALK = 0.2

# [directions] Directions of that walk besides those of the singular values in question.
PRECISION_DRAWS = 2

# [1, of the closing error of the data] The walk that judges the precision of a model may open its loops by
# this multiple.
PRECISION_SPREAD = 5.0

# [iterations] Newton iterations with a given rank at most.
PRECISION_ITERATIONS = 20

# [rad, characteristic lengths] Length of the last one: rounding.
PRECISION_CONVERGED = 1e-13

# [rad, characteristic lengths] Where steps no longer contract, one of this length is enough: below the
# digits of the data.
PRECISION_ENOUGH = 1e-9

# [1, of the multiplications of the elimination by G] The elimination of the whole saddle matrix is taken
# when it needs less: its conditioning costs more.
SADDLE_SHARE = 0.85

# [1, of a definite metric] Added to a singular M where the constraints do not make it definite: 1e-12, a
# power of two, so that it adds no rounding.
SINGULAR_MASS_RIDGE = 2.0**-40

# [1, eigenvalue of M with diagonal one] A direction with a smaller eigenvalue has no inertia with a digit.
NO_INERTIA = 1.0 / NO_METRIC

# [1, eigenvalue of M with diagonal one] M of a seeded state is definite above it.
DEFINITE_MASS = 1e-12

# [1, of the roots of both diagonal entries] SᵀW⁻¹S is diagonal when its other entries are smaller:
# rounding.
DIAGONAL_METRIC = 1e-14

# [1, of the diagonal, set to one] A metric of controls is symmetric to this and has larger eigenvalues, or
# it is not definite.
DEFINITE_METRIC = 1e-13

# [1, of the weight of all bodies] A small force: solvers multiply their tolerances by it at the least. A
# power of two, so that scaling adds no rounding.
SMALL_FORCE = 1.0 / 64.0

# [1, of the largest entry] Entries of a direction without inertia that errors name.
NAMED_ENTRY = 0.05

# [1, of the largest entry of M] Inertia that a coordinate without inertia has where a size of its
# compliance is needed.
INERTIA_OF_NONE = 1e-6

# [1, of `NO_INERTIA`] Directions up to this multiple are named where M is singular.
LOST_INERTIA = 1e3

# [1, of the closing error of the data] Loops open by less count as closed where configurations are sought.
CLOSED_AS_DATA = 10.0

# [1, of the closing error of the data] Loops open by less count as closed on the way of a motion.
ACCEPTED_AS_DATA = 30.0

# [1, of the root of the closing error] Nearer to a singular configuration the digits of the data decide
# nothing.
PASSING_AS_DATA = 10.0

# [s] A projection that fails after a shorter step is not tried again: the loops jam.
SHORTEST_PROJECTED_STEP = 1e-9

# [1, of the speed] A smaller change between both sides of an instant is that of a smooth motion within
# rounding of the time.
SMOOTH_SPEED = 1e-11

# [1, units of rounding of the time, or of 1 s] Distance of the sides of an instant.
SIDE_OF_INSTANT = 4.0

# [s] Moments after the last state of a run at which rows are evaluated to find what ended it.
MOMENTS_AFTER = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

# [1, of the largest terms] Rounding of a sum along a chain.
SUM_ROUNDING = 1e-13

# [1] A row that differs by less from a unit vector keeps the entry of q as it is, without rounding.
KEPT_ENTRY = 1e-12
