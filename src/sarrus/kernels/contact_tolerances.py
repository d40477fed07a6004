"""Tolerances of contacts, stops, dry friction, play of gears and cables: what is at a bound, closed, still.

Every level reads them from here (states, accelerations, events, steps in time, statics), so that "closed" and "still"
mean one number everywhere. Lengths are parts of a characteristic length or of a range, speeds of that length a second.
"""

from __future__ import annotations

# Part of the range of a stop, or of a characteristic length, by which a bound may be passed and the coordinate still be
# at the bound: printed digits of model files and keyframes explain that much.
AT_BOUND = 1e-6
