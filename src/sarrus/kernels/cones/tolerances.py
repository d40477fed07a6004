"""Tolerances of `sarrus.kernels.cones`: cone programs that are solved, infeasible or degenerate."""

from __future__ import annotations

# [1, of the row] An active row depends on the rows before it when its pivot is smaller.
ACTIVE_ROWS_CUT = 1e-10

# [1, of the size of the program] Slacks and multipliers down to minus this value count as nonnegative:
# rounding of a solve.
SIGN_SLACK = 1e-12

# [1, of 1 + the largest entry] Added to the diagonal of the reduced Hessian so that it is definite; further
# Newton steps correct its effect.
ACTIVE_ROWS_RIDGE = 1e-12

# [1, of the terms of the optimality conditions] An error accepted where further steps do not reduce it.
OPTIMAL_ENOUGH = 1e-11

# [1, of the terms of the optimality conditions] An error at which no further step is taken: rounding.
OPTIMAL_TO_ROUNDING = 1e-14

# [1, of the length of s₁ at the guess] The direction of a ray follows s₁ unless s₁ became shorter than this.
LEAST_RAY = 0.1

# [1, of the row] A row of the equalities depends on the rows before it when its pivot is smaller.
EQUALITIES_CUT = 1e-11

# [1, of the right-hand side] A larger residual of a dependent equality is a contradiction.
EQUALITIES_MISSED = 1e-9

# [1, of the sizes of the terms] A smaller sum is rounding, and set to zero.
CANCELLATION = 1e-14

# [1, of the sizes of the terms] The limit of a row that the equalities determine is zero when it is smaller:
# x was solved for, and has fewer digits.
CANCELLATION_OF_FIXED_ROWS = 1e-11

# [1, of the largest entry of P] Largest difference of P and its transpose: rounding of the sums in P.
ASYMMETRY = 1e-10

# [1, of the largest row] A smaller row of the limits is rounding.
NEGLIGIBLE_ROW = 1e-12

# [1, of the size of x at the minimum without limits] Limits farther away than this set no unit of x.
LIMITS_BEYOND_OPTIMUM = 10.0

# [1, of the size of x at the minimum without limits] Nearer limits leave a negligible feasible set.
NEGLIGIBLE_LIMITS = 1e-8

# [1, of slope over curvature] A cost whose minimum is farther away counts as unbounded: seven digits of the
# curvature are rounding then.
BOUNDED_COST = 1e9

# [1, of the largest entry of P] Added to the diagonal of P for its square root; refinement corrects its
# effect.
COST_RIDGE = 1e-15

# [1, of the way to the boundary] A step goes no farther, so that the next point is inside (usual in
# interior-point codes).
STEP_TO_BOUNDARY = 0.99

# [1, of the mean complementarity before] After a step that leaves more, the next step aims at the centre.
SLOW_PROGRESS = 0.9

# [1, of the mean complementarity] Least σ of a step that aims at the centre.
CENTRING = 0.3

# [1, of the steepest slope] A direction proves infeasibility to this precision where τ is so far below κ that
# rounding allows no higher precision.
LATE_PROOF = 1e-7

# [1, of κ] A smaller τ is rounding, and a proof to `LATE_PROOF` is accepted.
LATE_HOMOGENEITY = 1e-18

# [1, of the sizes of the terms] A smaller hᵀz is rounding and proves nothing.
CANCELLATION_OF_PROOFS = 1e-13

# [1, mean complementarity over τ²] Above this value the normal matrix is factored, below it the stack of √P and
# W⁻¹G, which keeps twice the digits and costs more.
NORMAL_MATRIX_AT = 1e-5

# [1, relative error of the program] At a smaller error the active set is guessed and solved for.
GUESS_ACTIVE_AT = 1e-3

# [1, in the units of the limits] Where the solution is larger, limits nearly pass through zero and give no
# unit of x.
NO_LIMITS_BEYOND = 1e4

# [1, of the whole step] The iteration ends after a shorter step: it makes no progress.
SHORTEST_INTERIOR_STEP = 1e-10

# [1, in the units of the program] A start less deep inside its cone is shifted to a depth of one.
START_INSIDE = 1e-8

# [1, in the units of the program] Added to the cost by which the duality gap is divided, so that a cost of
# zero has a relative gap.
LEAST_COST_UNIT = 1e-3

# [1, of the steepest slope] A direction along which the constraints change by less proves that a program is
# infeasible or unbounded.
INFEASIBILITY_PROOF = 1e-9

# [1, in the units of the program] Least value of the largest entry of P in the ridge of its square root, for a P
# that is zero or tiny.
LEAST_CURVATURE_UNIT = 1e-6

# [1, of the largest entry of P] A negative eigenvalue of P up to this size may be rounding of its entries.
NEGATIVE_CURVATURE = 1e-10

# [1, of the column] A column of G and P together depends on the columns before it when its pivot is smaller.
DEPENDENT_COLUMNS = 1e-11
