"""Kernels that are C functions ``int64 f(int64 *table, double *x, int64 what)``, called through the table.

Numba copies what a compiled function calls into it and optimises it again, at every level of the calls. So the large
kernels are called by their addresses instead: each is compiled once, and not before it is needed. Functions of the same
form from elsewhere, a Python callback say, can take their place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.extending import intrinsic

from sarrus.kernels.flat import data_pointer, flat_type

SIGNATURE = types.int64(types.CPointer(types.int64), types.CPointer(types.float64), types.int64)
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Kernel:
    """A kernel as a C function, compiled or fetched from the cache when its address is first asked for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _compiled(self) -> Any:
        return cfunc(SIGNATURE, nopython=True, cache=True, error_model="numpy")(self.function)

    @property
    def address(self) -> int:
        """Address of the function, valid as long as this object lives."""
        return int(self._compiled.address)

    @cached_property
    def _entry(self) -> Any:
        return PROTOTYPE(self.address)

    def __call__(self, table: np.ndarray, x: np.ndarray, what: int) -> int:
        """Call it from Python on arrays of int64 and float64, C-contiguous; nothing is checked."""
        return int(self._entry(table.ctypes.data, x.ctypes.data, what))


@intrinsic
def call_kernel(typing_context: Any, address: Any, table: Any, x: Any, what: Any) -> Any:
    """Call the kernel at ``address`` with a table (array of int64), x (flat) and an integer; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, integer = ir.PointerType(), ir.IntType(64)
        function = builder.inttoptr(
            arguments[0], ir.FunctionType(integer, [pointer, pointer, integer]).as_pointer()
        )
        data = [data_pointer(context, builder, signature.args[k], arguments[k]) for k in (1, 2)]
        return builder.call(function, [*(builder.bitcast(d, pointer) for d in data), arguments[3]])

    if not isinstance(table, types.Array) or table.dtype != types.int64 or x != flat_type:
        return None
    return types.int64(types.int64, table, x, types.int64), generate
