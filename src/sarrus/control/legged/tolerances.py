"""Tolerances of the room ``control/legged``: what stands, steps and holds."""

from __future__ import annotations

# [1, ω d] Below this product of rate and duration the first three terms of a series replace x / (1 − e⁻ˣ).
# Their error is x⁴ / 720, below rounding.
SHORT_STEP = 1e-4

# [s] A double support shorter than this counts as this long where a step is divided by it. It is far below a
# control period.
LEAST_DOUBLE_SUPPORT = 1e-6

# [m, m/s or 1] A vector in the plane shorter than this has no direction: its unit vector is shorter than one.
# It is far below any step of a robot; expressions of CasADi so stay finite.
NO_HEADING = 1e-9

# [1, of a period] Two groups of feet are opposite if their offsets differ from half a period by less. Offsets
# are given as decimal fractions.
OPPOSITE_PHASE = 1e-9

# [1, of the force of the contact] A contact with a smaller share of its force is open. Shares rise from zero
# within a ramp of tens of milliseconds, of which this is the first sample.
LEAST_SHARE = 1e-3

# [1, of the weight of a control that exerts as much] Weight of contact forces in the cost of a law. It
# decides among equal u alone: it changes u by less than the tolerance of the program.
FORCE_WEIGHT = 1e-9

# [m] In a pose in which a robot stands its feet are on one plane up to this distance. Soles and rubber feet
# of models differ by a centimetre or two.
UNEVEN_FEET = 0.03

# [1, of the distance of the farthest foot] In a pose in which a robot stands its centre of mass is at least
# so high above its feet. A lower one is a robot that lies.
FLAT_STANCE = 0.1

# [m/s] Largest velocity with which a walking robot returns to its line of travel. Feet reach the line within
# steps of that size.
RETURN_SPEED = 0.15

# [1, periods] Whole periods that are added to a phase before its fraction is taken. The remainder of a
# negative number would be negative; offsets are far smaller.
PERIODS_AHEAD = 1e3

# [s] A foot that stands since the start of a gait, up to this time, takes nothing over. Sums of control
# periods round at 1e-15 s.
STOOD_BEFORE = 1e-9

# [1, of a period] A swing counts as at least this part of a period where its progress is divided by it. With
# duty 1 no foot swings.
LEAST_SWING = 1e-3

# [1, gradient] A steeper estimate of the ground is cut to this gradient. Feet with friction 0.6 hold on no
# steeper ground.
STEEPEST_GROUND = 0.6

# [m²] A gradient of the ground is kept where the spread of the feet is below this area. Feet 0.14 m apart
# tell it half.
FEET_SPREAD = 0.02

# [s] Time constant with which the place of a standing foot is smoothed. Some ten control periods, and far
# below a step.
FOOT_SMOOTHING = 0.02

# [m] A descending foot is on something if it lags its reference by more. Tracking errors of a swing are below
# a millimetre or two.
FOOT_HELD_UP = 0.004
