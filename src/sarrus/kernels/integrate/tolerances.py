"""Tolerances of time integration: instants, events, step sizes, crossings of singular configurations."""

from __future__ import annotations

from sarrus.kernels.contact.tolerances import ARRIVED, EVENT_SLACK, IMPACT_GAP

# [1, of the step, or of the duration of the run] Times that differ by less are the same instant. After a
# million steps the rounding of t is 1e-10 of a step.
SAME_INSTANT = 1e-9

# [1, of the step, or of the time] A time that is nearer to an end of a step is that end: rounding of t + h.
END_OF_STEP = 1e-12

# [1, of the way to the singular configuration] Place of the state that decides on the branch of the motion:
# near the configuration, before rounding decides.
CROSSING_LOOK = 0.9

# [1, characteristic units] A smaller value of f = uᵀ φ is rounding of φ.
GAP_ROUNDING = 1e-15

# [1, of the diagonal of W] Ridge on the diagonal of W for redundant rows; iterative refinement removes its
# effect.
MODES_RIDGE = 1e-8

# [refinements] Fewest refinements of a solution with the ridge: 1e-8 cubed is below rounding.
MODES_REFINEMENTS = 3

# [refinements] Most refinements of a solution with the ridge.
MOST_MODES_REFINEMENTS = 12

# [1, of the accelerations of the rows] Refinement ends with a smaller residual.
MODES_REFINED = 1e-13

# [1, of the diagonal entries of W] A smaller entry between two contacts does not couple them: rounding of
# compliances is 1e-13.
COUPLED_CONTACTS = 1e-9

# [1, of the accelerations of the mechanism] A row that the constraints hold may accelerate by this and
# still count as held.
HELD_ACCELERATION = 1e-6

# [1, of `ARRIVED`] Corrections of positions close gaps to this part.
EXACT_GAP_OF_MODES = 1e-4

# [1, of the speed that is zero, `STILL`] Corrections of velocities stop rows to this part.
EXACT_SPEED_OF_MODES = 1e-6

# [corrections] Corrections of positions and velocities at most.
MODES_CORRECTIONS = 2

# [1, of the time to the stop of a sliding contact] An implicit step before the stop ends here.
STOP_APPROACH = 0.9

# [1, of the tolerance of instants of events] A step over the stop of a sliding contact is no longer.
STOP_NEAR = 1e3

# [1, units of the event function] An event function that begins below zero may not fall below it: for gaps
# that is twenty times `ARRIVED`, for speeds twenty times `STILL`.
UNSEEN_EVENT = -2e3

# [1, units of the event function] A step that begins with a gap above it ends at an event with a gap of
# zero: there is one such instant in the step.
CLEAR_GAP = 2.0

# [1, of the unit of the block] Unit of event functions of gaps.
GAP_EVENT_UNIT = EVENT_SLACK * ARRIVED

# [1, units of the event function] Value of an event function of a gap where the gap is zero.
ZERO_GAP_EVENT = 1.0

# [1, units of the event function] A gap is zero if its event function differs from `ZERO_GAP_EVENT` by less.
EXACT_GAP_EVENT = IMPACT_GAP / GAP_EVENT_UNIT

# [1, of the largest coordinate, or of the step] Two units of rounding: an instant is not found better.
DIGITS_OF_COORDINATES = 4e-16

# [1, of the interval] Regula falsi tries no point that is nearer to an end, so that the interval shrinks.
BISECTION_MARGIN = 1e-3

# [characteristic lengths, rad] Distance of central differences: the cube root of the rounding of one.
JACOBIAN_DIFFERENCE = 6e-6

# [steps] Fixed steps end this number of steps before independent coordinates fail.
CHART_AHEAD = 4.0

# [1, of the conditioning at which coordinates fail] Along a relation, coordinates are predicted to fail only
# below this: the conditioning of (q, v) is no cosine, and may halve within a step and rise again.
CHART_NEARLY = 100.0

# [1, of a number, at least 1] A step begins where the last one ended if no number differs by more.
SAME_STATE = 1e-12

# [1, of the largest smallest-pivot of the run] Below it every state is measured; a little above
# `PASSAGE_PIVOT`, so that a minimum has neighbours.
WATCHED_PIVOT = 0.06

# [1, of the largest smallest-pivot of the run] Below it the first and the last state of a run are measured,
# which have one neighbour only.
WATCHED_PIVOT_AT_ENDS = 0.5

# [1, of the size of the smallest pivot] Distance between the points through which a signed σ is
# interpolated.
POINTS_APART = 1e-3

# [rounds] Rounds of inverse iteration for the singular vectors: each gains the ratio of two singular
# values.
INVERSE_ITERATIONS = 4

# [rad, characteristic lengths] Distance between the states by whose difference Ȧ is found: near the cube
# root of rounding.
SHIFT_FOR_RATE = 1e-5

# [rad/s, characteristic lengths/s] Lower bound of the speed that converts the distance for Ȧ to a time.
SLOWEST_FOR_RATE = 1e-2

# [1, of the longest row] Above it straight-line code finds σ to ten digits; see
# `sarrus.symbolic.equations.measure`.
MEASURED_SIGMA = 1e-7

# [1, characteristic units] Rounding of positions of the order of one: near a singular configuration
# accelerations are uncertain by it over σ².
POSITION_ROUNDING = 4e-15

# [1, estimate of the relative error] An estimate up to this may be rounding near a singular configuration.
LEAST_CROSSING_ERROR = 1e-8

# [rejections] The estimate that may be rounding near a singular configuration grows tenfold with this
# number of rejections of one step.
CROSSING_PATIENCE = 20.0

# [1, of the estimate with twice the distance] The estimate of a step across a singular configuration grows
# by this from half the way before, where it is rounding.
CROSSING_GROWTH = 3.0

# [1, estimate of the relative error] A larger estimate is no rounding in any case.
MOST_CROSSING_ERROR = 1e-3

# [1, of the step] A cut nearer than this to an end of the step leaves the step whole.
WHOLE_STEP = 1e-3

# [1, of the squared distance to a singular configuration] Largest distance of an unprojected stage from the
# constraints. Its error of the acceleration is 1e-10 of the acceleration after a step of RK4.
STAGE_BESIDE = 1e-5

# [1] Weight of the square of the estimate of order 3 beside that of order 5 (DOP853 of Hairer and Wanner).
SECOND_ERROR_WEIGHT = 0.01

# [steps] Steps in a row that are held back by stability before the method changes (as in Hairer's codes).
STIFF_STEPS = 15.0

# [steps] Steps in a row that are not held back by stability before that count is cleared (as in Hairer's
# codes).
EASY_STEPS = 6.0

# [steps] Steps in a row beyond the limit of stability before the run is called unstable.
UNSTABLE_STEPS = 4.0

# [1, of the largest velocity] Errors of unstable steps exceed it; smaller ones may be rounding.
NOTICED_ERROR = 1e-10

# [1, of the step] Gaps between nodes of a tableau that differ by less are equal.
EQUAL_NODES = 1e-9

# [1, of the step] The forces at the start of a run are those of a part of a step of this length.
LEADING_INSTANT = 1e-2

# [1, of the least speed of a rebound] A contact that closes at a lower speed has no impact.
STANDING_SPEED = 0.1

# [1, of the largest velocity] A part of a step whose two passes differ by more is divided into four parts.
CALM_STEP = 0.1

# [parts] Shortest parts of a step, a power of four.
MOST_PARTS = 256

# [rad, characteristic lengths] Allowed difference of both passes over a step in models with geometries.
PASSES_NEARBY = 0.1

# [corrections] Corrections of positions at most.
POSITION_CORRECTIONS = 3

# [1, of the diagonal] Keeps corrections of positions regular where rows are redundant.
CORRECTION_RIDGE = 1e-12
