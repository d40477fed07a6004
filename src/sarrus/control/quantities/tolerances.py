"""Tolerances of the room ``control/quantities``: rotations, directions, distances to singular configurations."""

from __future__ import annotations

# [1, sine of the angle] Below this sine the logarithm of a rotation is its axial vector. The relative error
# is the square, below rounding.
SMALL_ROTATION = 1e-8

# [rad²] Below this square of the angle a rotation is 1 + its axial matrix. It is the square of
# `SMALL_ROTATION`.
SMALL_ROTATION_SQUARE = 1e-16

# [m] A height above the ground of an inverted pendulum is refused if it is smaller. Its rate √(g / h) would
# have no bound.
LEAST_HEIGHT = 1e-6

# [rad, κ] Sizes of the random steps to closed configurations at which ranks are judged. Two stay near the
# start, two leave it.
TRIAL_STEPS = (0.3, 0.3, 1.0, 1.0)

# [1, of the largest singular value] A smallest singular value below this part is constant. σ² is computed,
# whose rounding is 1e-15.
SQUARED_FLOOR = 1e-7

# [1, of the largest value seen] A bound on a distance to singular configurations loosens over this part.
# Farther away the law is free.
FADE_PART = 0.1

# [1, of the logarithm] A bound on the logarithm of a volume loosens over this number. It is a factor e^0.3 =
# 1.35 of the volume.
FADE_OF_LOG = 0.3
