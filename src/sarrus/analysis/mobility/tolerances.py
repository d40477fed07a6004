"""Tolerances of the room ``analysis/mobility``: motions, rows that can go, exchanges of joints."""

from __future__ import annotations

# [1, of a unit row and the forces] A row of length one that forces can hold up to less is locked. Cone
# programs are solved to 1e-11.
LOCKED_ROW = 1e-9

# [1, of unit forces] Forces squeeze with friction if they are inside of their cones by more. Cone programs
# are solved to 1e-9.
SQUEEZED = 1e-7

# [1, of the largest relative velocity] Relative velocities have no part in a direction if that is smaller.
# Motions are found to 1e-9.
IDLE_VELOCITY = 1e-6

# [1, of the rows of before] How well a kind of closure must measure the velocities that are to go: at first,
# and at least. Good exchanges are found first.
EXCHANGE_SHARES = (0.1, 0.002)

# [rad, characteristic lengths] Length of the steps that try whether a motion goes on. It is beyond what
# higher orders of a rigid structure allow (1e-3), and short of other branches.
TRIAL_STEP = 0.1

# [1, of a unit motion] A motion is new if more of it is left beside those found. Bases leave 1e-12.
NEW_MOTION = 1e-6

# [1, of a unit motion] A body does not take part in a motion, or does not turn, if its twist is smaller.
# Motions are found to 1e-12.
NO_TWIST = 1e-9

# [1, of the most that a freedom does] New freedoms must act on redundant rows by at least this part. Less is
# geometry that nearly fails.
FREEDOM_SHARE = 1e-3

# [1, combinations] Combinations of freedoms that are tried at most.
COMBINATIONS_TRIED = 2000

# [1, combinations] Combinations of freedoms that are built into a mechanism at most.
COMBINATIONS_BUILT = 3

# [characteristic lengths, rad] A rebuilt mechanism has its bodies in place up to this. Poses are computed to
# 1e-15.
BODY_PLACED = 1e-9

# [1, of a unit motion] Entries of motions below are zero. They are rounding of an inverse.
NO_MOTION_ENTRY = 1e-14

# [1, entries] Entries of a motion that are written out.
WRITTEN_ENTRIES = 8

# [1, of the largest entry] Entries of a motion below are left out of its text. Texts have three digits.
SMALL_ENTRY = 1e-5

# [1, condition number] Independent velocities serve for all branches if their rows of the tangents have
# smaller condition numbers. Two digits are lost.
CLEAR_CONDITION = 100.0

# [1, of a unit vector] Entries of a direction below are written as zero. Texts have four digits.
NO_DIRECTION_ENTRY = 1e-9

# [1, of the largest curvature] Combinations of curvatures below vanish. Printed digits of models give more,
# and raise it.
FLAT_CURVATURE = 1e-6

# [1, configurations] Other configurations of the motion at which rows are examined.
OTHER_PLACES = 3

# [1, of unit rows] A row can go if at least so much of it is left in the combinations that are free. First
# rows that go easily, at last all that are not rounding; no number that the proportions of a mechanism have
# by themselves.
ROW_SHARES = (0.23, 0.017, 3.2e-5)

# [1, of unit rows] Below this share of what is left of rows in free combinations, rows go one by one. Groups
# of rows would take too many.
LEAST_GROUP_SHARE = 1e-3

# [1, steps] Steps that try whether the motion stays the same without the rows.
ROW_TRIALS = 6

# [1, of the largest violation] A row that was taken out comes back if it is violated by more. Rows that
# depend on it are violated less.
VIOLATED_PART = 0.3

# [rad, characteristic lengths] Rows are closed after a step that tries a motion if they are open by less, or
# by what the data leave. Newton's method leaves 1e-14.
ROWS_CLOSED = 1e-10
