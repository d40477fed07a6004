"""Addresses of arrays, for ctypes and for tables, without the microsecond of ``ndarray.ctypes``."""

from __future__ import annotations

import ctypes
from typing import Any

from numpy.typing import NDArray

_NOTHING = ctypes.c_char * 0


def beginning(array: NDArray[Any]) -> Any:
    """Return a C-contiguous array as argument for a C function that expects ``c_void_p``."""
    if not array.flags.writeable or not array.size:
        return array.ctypes.data
    return _NOTHING.from_buffer(array.data)


def address(array: NDArray[Any]) -> int:
    """Return the address of the first number of a C-contiguous array."""
    first = beginning(array)
    return first if isinstance(first, int) else ctypes.addressof(first)
