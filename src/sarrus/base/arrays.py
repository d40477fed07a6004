"""Array types, and read-only arrays for results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def read_only(array: Array) -> Array:
    """Return the array with its writeable flag cleared."""
    array.flags.writeable = False
    return array
