"""Powers for step control: square roots and products, hence the same bits on every processor."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.platform.pointers import internal

# Digits of the exponent after the point that count.
DIGITS = 20


@internal
def power(x: float, exponent: float):
    """Return x to a power, for x ≥ 0; the exponent is cut to 20 binary digits after the point."""
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
