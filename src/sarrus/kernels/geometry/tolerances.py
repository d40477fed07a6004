"""Tolerances of the room ``geometry``: the search for the largest separation of two bodies."""

# [1, of the size of a pair] Centres of two geometries at a smaller distance give no direction.
SAME_CENTRE = 1e-9

# [1, of the size of a pair] Smoothing μ with which the search for the largest separation begins: edges are as round as
# a tenth of the bodies.
FIRST_SMOOTHING = 1e-1

# [1, of the size of a pair] Smoothing with which it goes on from a direction that is found already.
NEXT_SMOOTHING = 1e-3

# [1, of the size of a pair] Smoothing at which it ends: n is known to it, and y to rounding over it.
LAST_SMOOTHING = 1e-8

# [1] A Newton step that is taken in full, or turns n by less than the smoothing, divides the smoothing by five.
LESS_SMOOTH = 0.2

# [1] Bodies that overlap are searched at this relative size first.
SHRUNK = 0.9

# [steps] Steps of the search at most; 15 to 25 are usual.
SEARCH_STEPS = 60

# [rad] A step of the search turns n by this at most.
LONGEST_TURN = 0.5

# [rad] A last step that turns n by less is rounding.
LAST_TURN = 1e-12

# [1, of the size of a pair] Least eigenvalue of Newton's matrix in the search: a step goes uphill.
LEAST_BEND = 1e-4

# [1, of the size of a pair] A separation that differs by less is the same: rounding.
SAME_SEPARATION = 1e-15

# [halvings] Halvings of a step of n at most.
HALVINGS_OF_TURN = 8

# [1, of the size of a pair] Terms with |B n| below it are active after the search: a hundred times the smoothing.
ACTIVE_TERM = 1e-6

# [rounds] Rounds in which terms that are active wrongly are let go.
ROUNDS_OF_TERMS = 5

# [1] An active term whose y is longer than 1 by more is not active.
SHARE_BEYOND = 1e-9

# [1, of the size of a pair] Points and normal are found if x₂ − x₁ differs from s n by less.
POINTS_FOUND = 1e-11

# [steps] Newton steps without smoothing at most.
LAST_STEPS = 12

# [1, of the size of a pair] Newton's matrix without smoothing is singular below it.
SINGULAR_BEND = 1e-12

# [1, sine] Axes of active terms at a smaller angle are parallel.
PARALLEL_TERMS = 1e-8
