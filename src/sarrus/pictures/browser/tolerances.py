"""Tolerances of the room ``pictures/browser``: what moved, what oscillates, what is at its end."""

from __future__ import annotations

# [rad, m] Limits that are nearer to each other leave no room for a slider. A slider has some hundred steps.
NO_SLIDER = 1e-3

# [rad, m] A mode is shown until a coordinate is moved by more. Sliders that are not touched give rounding.
MODE_LEFT = 1e-9

# [s] A timeline is at its end if it is nearer. Sums of ticks round at 1e-13.
AT_END = 1e-9

# [s] The next passage is later by this. The slider stands where the last one was, up to its rounding.
NEXT_PASSAGE = 1e-6
