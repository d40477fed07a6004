"""What Python and `sarrus.kernels.passage` share: the array at table[PASSAGE], where singular passages are noted."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.kernels.layout import NC, NQ, NV, input_size

# Size of the smallest pivot, relative to its largest value in the run, below which a minimum is a passage.
CLOSE = 0.05

# The array begins with the number of rows in the log and its room; the number of states known (at most 3) and which of
# them is the last; a count of the stays close to a singular configuration, and the smallest size logged in this one;
# and the largest size of all.
LOGGED, ROOM, KNOWN, LAST, STAY, LOWEST, HIGHEST, HEADER = 0, 1, 2, 3, 4, 5, 6, 7

# A state: smallest pivot, relative to its largest value in the run; how the step ended there (stages projected, what
# was projected at its end); whether it was measured; σ, σ dσ/dt. Then come x, its slope, and the singular vectors u, w.
SIZE, PROJECTED, WHAT, MEASURED, SIGMA, RISE, STATE_HEADER = 0, 1, 2, 3, 4, 5, 6

# A row of the log: time; whether it was crossed; size there, and at the nearest state or stage of the step across; the
# stay. Then come σ, q and v of the state evaluated that was closest.
TIME, CROSSED, LEAST, NEAREST, STAY_OF, CLOSEST, LOG_HEADER = 0, 1, 2, 3, 4, 5, 6


# Points through which a signed σ is interpolated.
POINTS = 4


class PassageArray(NamedTuple):
    """Offsets in the array: four states, the last three of the run and one for trials, an x, points (time and value),
    the log; and in a state.
    """

    states: int
    width: int
    x: int
    slope: int
    left: int
    right: int
    shifted: int
    points: int
    log: int
    row: int


def passage_array(table):
    """Return the offsets in the array at table[PASSAGE]; the log has rows of length ``row``."""
    n, size = table[NQ] + table[NV], input_size(table)
    slope = STATE_HEADER + size
    left = slope + n
    right = left + table[NC]
    width = right + table[NV]
    shifted = HEADER + 4 * width
    points = shifted + size
    log = points + 2 * POINTS
    return PassageArray(
        HEADER, width, STATE_HEADER, slope, left, right, shifted, points, log, LOG_HEADER + n
    )  # fmt: skip


def passage_storage(table, room: int) -> int:
    """Return the length of the array with ``room`` rows in its log."""
    at = passage_array(table)
    return int(at.log + room * at.row)
