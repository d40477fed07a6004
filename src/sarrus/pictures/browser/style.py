"""Sizes, times and shares of the viewer in a browser."""

from __future__ import annotations

# [s] A name of a host is looked up within this time.
LOOKUP_SECONDS = 5.0

# [1] Opacity of bodies that are seen through.
SEEN_THROUGH = 0.3

# [s] The reader's time for one swing of a mode.
SWING_SECONDS = 2.0

# [1, frames] Frames of one swing.
SWING_FRAMES = 60

# [rad, m] Smallest amplitude of a mode, and step of its slider.
SMALLEST_AMPLITUDE = 0.01

# [1] Opacity of arrows behind something.
ARROWS_BEHIND = 0.4

# [m] Length of a rod, at least: a scale of zero has no normals.
SHORTEST_ROD = 1e-9

# [s] Shortest run that the panel offers.
SHORTEST_DURATION = 0.01

# [s] Longest run that the panel offers.
LONGEST_DURATION = 1000.0

# [1] Width over height of the part of a window that the panels leave.
PANEL_ASPECT = 1.15

# [1, of the height of the motion] Height of the plots.
PLOTS_HEIGHT = 0.36

# [1, of the size of the mechanism] Room around a mechanism that is to be dragged.
DRAG_ROOM = 0.12

# [s] Time between two readouts while something plays.
READOUT_SECONDS = 0.15

# [s] Time between two looks at whether a viewer that is waited for has been stopped.
POLL_SECONDS = 1.0

# [s] A server comes up within this time.
START_SECONDS = 30.0

# [s] A server stops within this time.
STOP_SECONDS = 15.0

# [s] "Next" goes on from passages that are nearer.
BACK_SECONDS = 0.2

# [s] Length of a timeline and of its steps, at least.
SHORTEST_TIMELINE = 1e-6

# [1, steps] Steps of a timeline.
TIMELINE_STEPS = 5000.0

# [s] Time between two pictures while something moves by itself.
TICK = 1.0 / 40.0

# [s] A program waits so long for its turn and its answer.
TIMEOUT = 120.0

# [s] The request at hand is waited for.
CLOSING_SECONDS = 10.0

# [s] Time between two looks at whether the thread still lives.
LOOK_SECONDS = 0.1

# [s] A thread that is late waits so long, so that others run.
SHORTEST_WAIT = 1e-4
