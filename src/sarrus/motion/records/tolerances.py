"""Tolerances of the room ``records``: what a recorded state tells."""

from __future__ import annotations

# [1, of the largest singular value] A smaller singular value is rounding, and the condition number
# infinite.
SINGULAR_MATRIX = 1e-15

# [1, of the smallest singular value] Singular values nearer to the smallest one count together with it:
# their vectors are not unique.
ALIKE_SINGULAR_VALUES = 1e-6

# [1, of the largest singular value] Singular values nearer to the smallest one count together with it where
# that is zero to rounding.
LEVEL_SINGULAR_VALUES = 1e-9

# [1, of the largest singular value] The ratio of the indicator to a smaller singular value is rounding.
UNKNOWN_INDICATOR = 1e-12
