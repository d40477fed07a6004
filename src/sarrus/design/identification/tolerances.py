"""Tolerances of the room ``design/identification``: what a log tells, closed samples, steps of searches."""

from __future__ import annotations

# [1, steps] An adjustment of a log takes at most so many steps. It takes five to ten.
ADJUSTMENT_STEPS = 25

# [1, of a standard deviation] A step of the parameters this short ends an adjustment. Noise moves them a
# thousand times as far.
ADJUSTMENT_SETTLED = 1e-3

# [rad, characteristic lengths] Closing the loops of a sample may move its coordinates by this. More is a
# wrong sign, order or unit.
LOG_OPEN = 0.3

# [1, of the speeds of the log] Closing the loops may change velocities by this part. More is a wrong sign,
# order or unit.
SPEEDS_ASTRAY = 0.5

# [1, of the largest singular value] Smaller ones of the scaled covariance are zero. Covariances of files have
# ten digits.
COVARIANCE_CUT = 1e-10

# [rad, characteristic lengths] The loops of a sample are closed if they are open by less. Newton's method
# leaves 1e-15.
SAMPLE_CLOSED = 1e-12

# [rad, characteristic lengths] A step this short ends the closing of a sample. It is rounding.
SAMPLE_RESTS = 1e-13

# [1, of the column] A column of the regressor depends on others if less of it is left. Regressors from random
# states are exact to 1e-12.
COLUMN_CUT = 1e-7

# [1, of 1 or of the coefficient] A coefficient this near to an integer is it. Names of combinations so are
# exact.
WHOLE_COEFFICIENT = 1e-9

# [1, of the largest column] A column counts as at least this size where what is left of it is judged. Columns
# that are rounding would count as independent.
LEAST_COLUMN = 1e-3

# [1, of the ratio of the columns] A coefficient of a dependent column below is zero. Least squares leave
# 1e-12.
NO_COEFFICIENT = 1e-8

# [1, of the trace of the pseudo-inertia] A prior body with a smaller eigenvalue is thickened to it. Rods and
# points have zero, which no logarithm measures.
THIN_BODY = 1e-4

# [1, of the mass] Trace of a pseudo-inertia without extent, in characteristic units. It is a body a thirtieth
# of the characteristic length in size.
TRACE_OF_POINT = 1e-3

# [1, steps] Newton's method for consistent parameters takes at most so many steps. It takes ten to twenty.
CONSISTENT_STEPS = 60

# [1, of the weight of the prior] Squared Newton decrement at which it ends. The next step is shorter than the
# square.
CONSISTENT_DECREMENT = 1e-9

# [1, of the prior] A pseudo-inertia from the semidefinite program has eigenvalues of at least this part.
# Newton's method then starts inside.
LEAST_PSEUDO_INERTIA = 1e-6

# [unit of the parameter] Scale of a parameter that is not negative and has neither prior nor effect. Any
# positive number serves.
LEAST_PARAMETER = 1e-12

# [1, of the Newton step] A line search ends at this part. The function is then flat to rounding.
SHORTEST_BACKTRACK = 1e-10

# [1, of the column] Weighted data that leave less of a column say nothing of its parameter. Noise is above.
UNEXCITED = 1e-6

# [1, of the terms of the equations] Right sides below are zero. They are rounding of logs.
NO_RIGHT_SIDE = 1e-9

# [1, of the variance of the noise levels] Variance for each degree of freedom, at least. Logs without noise
# have none.
LEAST_VARIANCE = 1e-12

# [1, of characteristic sizes of parameters] Standard deviation that consistent numbers follow, at least.
# Exact numbers would pull without end.
LEAST_DEVIATION = 1e-6

# [1, of what other coordinates do, in characteristic units] Coordinates, velocities and accelerations that
# move less count as if they moved so much. No sensor is exact where it stands.
LEAST_LEVEL = 0.2

# [1, of the trace] Part that is added to the diagonal of a square of drive rows. Then it has an inverse; it
# is rounding.
RIDGE_OF_SQUARE = 1e-15

# [unit of the channel] Noise level of a channel, at least. Channels that do not move have none.
LEAST_NOISE = 1e-12

# [rad, characteristic lengths] Swing of an independent coordinate without limits. It excites a mechanism over
# its range.
SWING = 1.0

# [1, of a range] Part that the search stays away from the ends of a range. Samples between those it looks at
# are within, too.
INSET = 0.01

# [1, in characteristic units] The margin from singular drives counts as at least this where it divides. A
# margin of zero is no limit.
LEAST_MARGIN = 1e-3

# [1, steps] Newton's method for the loops of samples takes at most so many steps. It takes five.
CLOSING_STEPS = 20

# [rad, characteristic lengths] Longest step between samples from which loops are closed anew; longer ones are
# cut. The branch is then kept.
STRIDE = 0.2

# [rad, characteristic lengths] Closing may move dependent coordinates by this. More has come to another
# branch.
CLOSING_ASTRAY = 1.0

# [1, of the trace of DᵀD] Part that is added to DᵀD. A singular one is solved with rounding, which 1/‖D⁺‖
# tells.
RIDGE_OF_LEFT_INVERSE = 1e-14

# [1, of the samples] Part that is left out at either end where splines give velocities or accelerations.
# Splines are least exact there.
SPLINE_EDGE = 0.04

# [1, of a period] Part of a period that is put before and behind it for splines. Their ends are then outside.
WRAPPED_PART = 0.2

# [1, configurations] Configurations that say how noise of quaternions turns into velocities.
TURNED_POSES = 10

# [1, of the mean step] A filter is refused where steps of time differ by more. Clocks print milliseconds.
UNEVEN_FOR_FILTER = 1e-3

# [1, of its root mean square] Noise of a channel where nothing tells it. Encoders and currents of machines
# have about one percent.
NOISE_PART = 0.01

# [1, of the largest level of its kind] Standard deviation of a channel, at least. A channel that seems exact
# would outweigh all others.
NOISE_FLOOR = 1e-6

# [1, standard deviations of the velocity] Slower velocities have no sign that a dry friction could be told
# by. Three deviations leave 0.3 percent wrong signs.
SLOW_DEVIATIONS = 3.0

# [1, samples] Sample times may be off even ones, and periods off whole numbers of samples, by this. Clocks
# print milliseconds.
UNEVEN_SAMPLES = 0.01

# [1, of the swing] Periods repeat if they are this near to their mean. Machines without noise do.
PERIOD_REPEATS = 1e-3

# [1, standard deviations] Periods that are farther from their mean than PERIOD_REPEATS repeat if their means
# are within so many. Drift of sensors is less.
PERIOD_SHIFT = 8.0

# [1, of the usual scatter] Periods repeat if their scatter is no more than this multiple. Scatter of few
# samples varies by half.
PERIOD_SCATTER = 2.0

# [rad, characteristic lengths] Standard deviation of steps between random configurations. Loops close from
# there, and configurations differ.
RANDOM_STEP = 0.7

# [1, steps] Steps to random configurations that are tried at most.
RANDOM_TRIES = 2000

# [1, of the characteristic size] Typical size of a parameter, at least. Bodies without mass and friction that
# is zero have none.
FAINT_PARAMETER = 1e-3

# [1, of the size of the parameter] A log tells a parameter well if its standard deviation is less. Three of
# them are one percent.
WELL_TOLD = 1.0 / 300.0

# [1, of the size of the parameter] A log hardly tells a parameter with a larger standard deviation. Three of
# them are nine percent.
HARDLY_TOLD = 0.03

# [1, of the range of a coefficient] Step of the difference quotients of costs. It is near the root of
# rounding, 1e-8, with costs known to 1e-12.
DIFFERENCE_STEP = 1e-6

# [1, of the cost] Cost of the square of what is broken of a limit, relative to its range, summed over
# samples. One percent then costs 0.3.
LIMIT_PENALTY = 3e3

# [1, of the cost] Cost of series whose information is singular. It is above all others, which are logarithms.
SINGULAR_COST = 1e3

# [1, of the range of a coefficient] First quasi-Newton step. Series stay within their limits.
SEARCH_FIRST_STEP = 0.05

# [1, of the range of a coefficient] Longest quasi-Newton step. A quadratic model says nothing beyond.
SEARCH_LONGEST_STEP = 0.3

# [1, of the cost, a logarithm] A search ends where the cost falls by less, SLOW_FALLS times. It is 0.01
# percent of the information.
COST_FALL = 1e-4

# [1, steps] So many slow falls in a row end a search.
SLOW_FALLS = 3

# [1, of the swing found] Swings that are tried until nothing between the samples breaks a limit. Fine ones
# first: limits are broken by percents.
SMALLER_SWINGS = (1.0, 0.99, 0.98, 0.97, 0.95, 0.92, 0.88, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)

# [1, of the forces] Part of the forces that controls may miss. It is rounding of closed samples.
FORCES_MISSED = 1e-6

# [1, of the largest eigenvalue] Information with a smaller eigenvalue is singular. Squares round at 1e-15.
SINGULAR_INFORMATION = 1e-14

# [1, of the cost] The slope counts as at least this where it scales the first step. A slope of zero is a
# minimum.
LEAST_SLOPE = 1e-12

# [1, of the fall that the slope foretells] Least fall with which a line search ends. Nocedal and Wright,
# Numerical Optimization, equation 3.4.
ARMIJO = 1e-4

# [1, of the quasi-Newton step] A line search ends at this part. The fall would be below COST_FALL.
SHORTEST_SEARCH_STEP = 1e-4

# [1, cosine] Steps and changes of the slope with a smaller cosine do not update the inverse Hessian. It stays
# positive definite.
CURVED = 1e-10
