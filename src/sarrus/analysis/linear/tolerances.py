"""Tolerances of the room ``analysis/linear``: pivots, zero eigenvalues, rest."""

from __future__ import annotations

# [1, of the row at ordinary configurations, columns divided by √M_jj] Exported linear models refuse smaller
# pivots. The model grows with their inverse, and three digits are lost there.
VANISHING = 1e-3

# [1, of the largest row of a closure] A row counts as at least this part where pivots are measured against
# it. Rounding may keep a dead row from being zero.
ROW_PART = 1e-6

# [1, of unit rows] Coordinates are velocities of the system itself if their rows differ from unit rows by
# less. Rows are given as names or numbers, up to rounding.
OWN_VELOCITY = 1e-12

# [1, of the largest entry, in characteristic units] A velocity takes part in neutral motions if its entry is
# larger. Bases of null spaces leave 1e-12.
NEUTRAL_ENTRY = 1e-9

# [1, of the forces at work] A configuration is at rest, and is linearised, if less force is left along the
# motions. Equilibria in files have eight digits; `equilibrium` leaves 1e-14.
LINEARIZED_AT_REST = 1e-7

# [1/s, of the activation] A configuration is not at rest if an activation changes faster. Activations from
# `equilibrium` are at rest to 1e-12.
ACTIVATION_MOVING = 1e-9

# [1, of the rows] Redundant rows that become independent by more along a motion do not form a surface, which
# is refused. Printed digits leave 1e-8, and their derivatives 1e-6.
ROWS_CONTRADICT = 1e-4

# [1, of a change that does not cancel, and of the rows] A change of rows below this part cancels. Rounding
# and printed digits leave less.
CANCELLED = 1e-3

# [1, of unit rates] Entries of chosen coordinates by q below are zero. They are sums of products of −1, 0, 1
# with rounding.
NO_COORDINATE_RATE = 1e-15

# [1, of the largest singular value of A, in characteristic units] Smaller ones are zero: neutral directions.
# Derivatives of equations are exact to 1e-14.
ZERO_SINGULAR_VALUE = 1e-11

# [1, of the size of A] Error of a well-conditioned eigenvalue. Entries of A are known to that.
EIGENVALUE_ERROR = 1e-12

# [1, of the size of A] Error of an eigenvalue at most: a double one moves by the root of rounding, 1e-8 to
# 1e-6.
EIGENVALUE_WORST = 1e-6

# [1, characteristic units] How far beside a state families of equilibria are looked for. Their error is the
# square of it.
BESIDE_STATE = 1e-4

# [1, of the largest singular value of A] What is zero at BESIDE_STATE beside a state. The error is the square
# of that distance, 1e-8.
ZERO_BESIDE = 1e-6

# [1, of the row of A, columns divided by √M_jj] A partition stays as it is while its pivots are above. The
# scale makes metres and radians comparable.
CLEAR_PIVOT = 0.1

# [1, of the row of A, columns divided by √M_jj] A partition stays as it is while its pivots are above, where
# states are its own coordinates. There the model grows as its error does.
OWN_CLEAR_PIVOT = 0.05

# [1, of the largest entry of the row] Pivots above compete for the least fill-in. Growth of entries is then
# bounded by 2 for each step, as in threshold pivoting.
COMPETING = 0.5

# [1, of unit rows] An entry of a row counts as present if it is larger. Rows are scaled to size one, zeros
# leave rounding.
PRESENT_ENTRY = 1e-12

# [1, of the modulus] An eigenvalue with a smaller imaginary part is real. Real eigenvalues of A leave 1e-12.
NO_OSCILLATION = 1e-9

# [1, damping ratio] A damping ratio below is not written. Undamped modes leave 1e-12.
NO_DAMPING = 1e-9
