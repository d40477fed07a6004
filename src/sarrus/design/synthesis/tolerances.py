"""Tolerances of the room ``design/synthesis``: closed designs, goals, optimality, steps of solvers."""

from __future__ import annotations

# [1, steps] Iterations that bring a design back to where it closes.
RESTORATION_STEPS = 100

# [rad, characteristic lengths] A design closes if its loops are open by less. Newton's method leaves 1e-15.
DESIGN_CLOSED = 1e-10

# [1, of the squares before] A restoration whose steps leave more ends. There is no closed design near.
SLOW_RESTORATION = 0.999

# [1, of the weight of open loops] Weights of goals against open loops, one after the other. The last one
# closes the loops.
GOAL_PULLS = (1.0, 0.1, 0.01)

# [1, of the way] Parts of the way of a restoration that are tried beyond its end. The edge of what closes is
# left.
BEYOND_RESTORATION = (0.1, 0.3, 1.0)

# [m, rad] Default of ``within``: points and poses count as reached. Machines are built to 1e-5 m at best.
GOAL_REACHED = 1e-6

# [rad, characteristic lengths] A configuration that is held is closed if it is open by less. Assembly leaves
# 1e-13.
HELD_CLOSED = 1e-9

# [1, of the square of the load or of the largest one] Forces without effect may change a load by this part,
# squared, and it is unique. Bases of null spaces leave 1e-24.
LOAD_UNIQUE = 1e-9

# [1, scaled error of the conditions of optimality] IPOPT ends at this error. Exact derivatives reach it.
INTERIOR_OPTIMAL = 1e-10

# [1, scaled error of the conditions of optimality] IPOPT also ends where it stays below this error. Rounding
# ends it there.
INTERIOR_ACCEPTED = 1e-9

# [1, of a bound and of its range] IPOPT moves a start this far inside of its bounds. A start that is pushed
# far might not close.
INTERIOR_PUSH = 1e-6

# [1, of the largest diagonal entry of JᵀJ] First damping of least squares. It is small beside JᵀJ where that
# is regular.
DAMPING_FIRST = 1e-3

# [1, of the largest diagonal entry of JᵀJ] Least damping of least squares. It moves no digit that counts.
DAMPING_LEAST = 1e-12

# [1, of the largest diagonal entry of JᵀJ] Damping at which least squares end. Nothing falls any more.
DAMPING_MOST = 1e12

# [1, of the fall that the linear model foretells] Damping grows where squares fall by less. Nocedal and
# Wright, Numerical Optimization, algorithm 4.1.
POOR_FALL = 0.25

# [1, of the fall that the linear model foretells] Damping falls where squares fall by more. The same source.
GOOD_FALL = 0.75

# [1, of the scales] A step with smaller entries ends least squares. It is rounding.
SMALLEST_STEP = 1e-15

# [1, steps] So many steps in a row that leave nearly all of the squares end least squares.
IDLE_STEPS = 5

# [1, of the squares] A step is idle if the squares fall by less. It is above their rounding.
IDLE_FALL = 1e-12

# [1, of the scale of a variable or a constraint] A design is at a bound if it is nearer. Solvers end at
# INTERIOR_OPTIMAL.
AT_DESIGN_BOUND = 1e-6

# [1, of the peak] Values this near to a peak take part in it. Solvers end at INTERIOR_OPTIMAL.
PEAK_HIGH = 1e-6

# [1, of the peak at the start] A peak below is zero. It is what a solver leaves.
PEAK_FLAT = 1e-9

# [1, of the scales] Residuals that all vanish count as those of a step of this size, in the size of a
# gradient. A gradient of zero has no size.
RESIDUAL_STEP = 1e-2

# [1, of a unit gradient] Weight of the condition that shares of a peak add up to one. It holds to six digits.
SHARES_WEIGHT = 1e3

# [1, of its terms] A design whose gradient leaves less is a local minimum. Solvers that end at rounding of
# the cost leave its root, 1e-8.
OPTIMAL_GRADIENT = 1e-6

# [1, of the size of the constraint] A constraint counts as kept if it is broken by less. Solvers end at
# INTERIOR_OPTIMAL.
CONSTRAINT_KEPT = 1e-7

# [1, of the cost] Costs that differ by less are the same. Minima are flat: x is then known to 1e-3.
SAME_COST = 1e-6

# [1, of cost and gradient at a start] A cost below is zero. It is rounding of the squares.
ZERO_COST = 1e-15

# [unit of the constraint or peak] Size of a constraint or of a peak, at least. Bounds that are zero have
# none.
LEAST_SIZE = 1e-12

# [1, of the scaled cost] SLSQP ends at this change of the cost. It is rounding.
SEQUENTIAL_FALL = 1e-15

# [1, of the largest singular value] Loops and drivers with a smaller one do not determine a configuration.
# Derivatives grow with its inverse.
DRIVERS_DETERMINE = 1e-9

# [1, of the scale of the variable] A variable nearer to its bound is named as at it. Solvers end at
# INTERIOR_OPTIMAL.
NEAR_VARIABLE_BOUND = 1e-7
