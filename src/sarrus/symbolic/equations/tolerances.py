"""Tolerances of the room ``equations``: least norms and singular values as straight-line code."""

from __future__ import annotations

# [1, of the longest row] Counts as a sum beside a contradiction, so that rounding, 1e-13 of it, stays below
# 1e-6.
BESIDE_CONTRADICTION = 1e-7

# [1] The smallest normal number keeps 0/0 out of relative residuals.
SMALLEST_NORMAL = 2.3e-308

# [1, squared sine between a row and the rows before] A row depends on them: redundant rows of closed loops
# are at rounding, and in the stages of a step at the fourth power of its length.
DEPENDENT_SINE = 1e-8

# [1, of the trace] Eigenvalues that are nearer are equal: no curvature between them.
MEETING_EIGENVALUES = 1e-9

# [1] Numbers below 2 are kept to 2⁻⁵⁰, so that ties are ties on every processor.
KEPT_DIGITS = 2.0**50

# [units of the matrix] Added to the trace by which is divided, so that a matrix of zeros has eigenvalues of
# zero.
ZERO_TRACE = 1e-30

# [1, of the squared floor of σ] Pivots of a positive definite matrix are (floor / 1000)² at least, so that
# all is finite at singular configurations.
FLOOR_OF_PIVOTS = 1e-6

# [1, of the largest value] An expression of the user is zero if it is below this at seeded states.
PROBE_ROUNDING = 1e-9

# [1, of the trace of W of a contact] Added to the diagonal of W, in rows of contacts with friction, in Newton steps of
# contact problems in lanes, so that redundant rows need no pivoting. The residual is without it: two to four steps end
# at rounding; with 1e-6 Ant at rest takes twice as many, with 1e-8 a seventh more.
RIDGE_OF_CONTACTS = 1e-10

# [1, of the diagonal of W] The same in rows of stops and of dry friction. With 1e-10 six times as many steps of robots
# with dry friction find no forces: a joint that rests at its stop has two equal rows.
RIDGE_OF_SINGLE_ROWS = 1e-8

# [1, of the diagonal of W] Least divisor where pivots of dependent rows are rounding.
DEPENDENT_ROUNDING = 1e-14

# [1, of the diagonal of W] Normal rows of which one has a smaller pivot may depend on each other: rounding leaves
# 1e-14.
SHARED_PIVOT = 1e-9

# [1, of the normal force] Friction of two contacts that differs by less from the same part of their normal forces has
# the same direction and coefficient: the motion does not depend on how they share the load.
SAME_FRICTION = 1e-6
