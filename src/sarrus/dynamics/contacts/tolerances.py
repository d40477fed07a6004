"""Tolerances of the room ``contacts``: flanks with play."""

from __future__ import annotations

from sarrus.model.mechanism.gearing import LEAST_PLAY

# [m] Gaps below it are closed where two flanks face each other: a tenth of the least play, so that only one
# is.
CLOSED_OF_FLANKS = 0.1 * LEAST_PLAY

# [m/s] Steps in time leave a flank behind at a higher speed.
LEAVING_FLANK = 1e-4

# [m] Steps in time have closed a smaller gap of a flank.
EXACT_FLANK_GAP = 1e-3 * CLOSED_OF_FLANKS

# [m] Gap of a flank that takes no part.
OUT_OF_REACH = 1e100

# [1, of a free direction of length one] A force that free directions change by less is determined: the root
# of rounding.
UNMOVED_FORCE = 1e-7
