"""Tolerances of the room ``control/laws``: which demands and limits a law has met."""

from __future__ import annotations

# [1, of the largest entry] An entry of a direction below this part is left out of its name, and one this near
# to 1 is written as 1. Names print three digits.
NO_ENTRY = 1e-6

# [1, of 1 + the demanded size] A level of a law is not achieved if a larger residual is left. Solves of
# levels leave 1e-12 of well-conditioned rows, and levels that lose rank are cut at 1e-8.
ACHIEVED = 1e-7

# [1, of 1 + the size of the limit] An explanation calls a limit reached if the value is nearer to it. Cone
# programs end at 1e-8 of their data.
LIMIT_TOUCHED = 1e-6

# [1, of the largest multiplier] A limit of a law counts as reached if its multiplier is larger. Interior
# points leave 1e-8 at limits that are not active.
LIMIT_MULTIPLIER = 1e-3

# [1, of the largest entry of A] A closure that is handed over depends on other rows if less of it is left.
# The cut is looser than loops of files and of encoders are open (1e-8 to 1e-5).
HANDED_OVER = 1e-4

# [1, of the largest singular value] Rows that hold exactly lose rank below this part. Levels of a law have
# the same cut.
EQUALITY_CUT = 1e-8

# [1, of the largest limit] Limits on fixed quantities are infeasible if they are missed by more. Solves of
# the rows that hold exactly leave 1e-13.
LIMIT_MISSED = 1e-9

# [1, of the row of the demand] A row of demands is a combination of rows above it, or out of reach, if less
# of it is left. Projections leave 1e-14; closures of files are open by 1e-8.
LEVEL_CUT = 1e-8

# [unit of the input] A law is said to overflow if one of its inputs is larger. Products of three such numbers
# leave the range of doubles (2e308).
OVERFLOWING = 1e100

# [rad, characteristic lengths] A law takes a configuration whose loops are open by no more, as one that was
# measured. Encoders and soft loops of simulators leave 1e-3.
MEASURED = 3e-3

# [1, of the duration of a phase] Places within a phase at which controllability is examined. Never its ends,
# where the next phase begins.
PLACES_IN_PHASE = (0.02, 0.5, 0.98)

# [1, of 1 + the largest acceleration] Forward dynamics with the controls of a law gives its accelerations if they
# differ by no more.
SAME_ACCELERATION = 1e-9
