"""Powers for step control by square roots and products: the same bits on every processor."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.platform.pointers import internal

# Number of binary digits of the exponent after the point that are used.
DIGITS = 20


@internal
def power(x: float, exponent: float):
    """Return x to the power ``exponent``, for x ≥ 0; the exponent is cut to 20 binary digits after the point."""
    left = abs(exponent)
    result, factor = 1.0, x
    while left >= 1.0 and result > 0.0 and result < np.inf:
        result *= x
        left -= 1.0
    for _ in range(DIGITS):
        if left == 0.0:
            break
        factor = np.sqrt(factor)
        left *= 2.0
        if left >= 1.0:
            result *= factor
            left -= 1.0
    return result if exponent >= 0.0 else 1.0 / result
