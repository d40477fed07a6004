"""Tolerances of the room ``coordinates``: charts and rotation vectors."""

from __future__ import annotations

# [1, of the smallest pivot of W T where the chart was chosen] Below it a chart is renewed. Energy error of
# a pendulum in x and y, 10 s by RK4 at 1 ms: 8e-9 J at 0.7, 8e-10 at 0.9, 3e-10 at 0.95 with 87 charts,
# 2e-10 at 0.98 with 140 and with a new one in every step.
WORN_CHART = 0.95

# [1, of the smallest pivot of W T where the chart was chosen] Coordinates that the user named fail below
# it: three digits are lost.
USELESS_CHART = 1e-3

# [1, condition number of [A / |A|; W] in characteristic units] Beyond it coordinates do not determine the
# others: half the digits are left.
WORST_COORDINATES = 1e8

# [1, squared sine of half the angle] Below it the angle is a series; beyond it the quotient loses few
# digits.
SMALL_HALF_ANGLE = 1e-2

# [terms] Terms of that series: 0.01⁹ is below rounding.
ANGLE_TERMS = 9

# [rad²] Squared angle below which the factor of [θ×]² is a series in it, with coefficients |B₂ₙ|/(2n)!.
SHORT_ROTATION = 0.3

# [rad] A run that fails at a larger angle does so because of π.
NEAR_HALF_TURN_ANGLE = 3.0
