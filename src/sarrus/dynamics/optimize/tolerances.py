"""Tolerances of the room ``optimize``: cone programs and contact problems from Python."""

from __future__ import annotations

# [1, of the terms of the optimality conditions] Duality gap and residuals that iterations aim at.
PROGRAM_TARGET = 1e-13

# [1, of the terms of the optimality conditions] Duality gap and residuals that are accepted where rounding
# ends the iterations.
PROGRAM_ACCEPTED = 1e-8

# [1, in the units of the program] A warm start begins so far inside the cone.
WARM_SHIFT = 1e-3

# [1, of the largest eigenvalue] A smaller eigenvalue of a quadratic form is zero.
FLAT_FORM = 1e-12

# [1, of 1 + the largest entry] A quadratic form is symmetric.
SYMMETRIC_FORM = 1e-12

# [1, of the largest eigenvalue] A quadratic form with eigenvalues above minus this is positive semidefinite
# but for rounding of its entries.
SEMIDEFINITE_FORM = 1e-9

# [1, of the largest term of a law of contact] An answer with a larger residual is sought again, in other units of
# forces.
DOUBTED_RESIDUAL = 1e-12

# [1, of the load] Forces balance a load.
BALANCED_LOAD = 1e-9

# [1, of the largest force] A smaller force is zero.
FORCE_OF_NONE = 1e-7

# [1, of the factor] Bisection of the factor of friction ends.
FRICTION_FACTOR_FOUND = 1e-9

# [1] A smaller factor of friction is not sought.
LEAST_FRICTION_FACTOR = 1e-3

# [1] A larger factor of friction is not sought.
MOST_FRICTION_FACTOR = 1e6

# [1, of the squares of a compromise] Added to the diagonal so that forces are found where they are not
# unique.
BALANCE_RIDGE = 1e-12

# [1, of the weight of the largest force] Weight of the sum of squares: it decides where little of the
# largest force is left to gain.
EVEN_SHARES = 1e-4

# [1, of the largest entry] A Delassus or inertia matrix that differs less from its transpose is symmetric:
# printed digits.
SYMMETRIC_DELASSUS = 1e-6

# [1, of the changes] Held rows that keep a larger velocity are not redundant along the change.
UNHELD_CHANGE = 1e-7
