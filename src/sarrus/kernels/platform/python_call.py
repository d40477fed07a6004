"""Kernels that Python calls with arrays, in a tenth of the time of ctypes: for calls of a microsecond.

`BRIDGE` is a function of Python's C interface (METH_FASTCALL) that calls a kernel with a table and the addresses of
its argument objects. The kernel reads the objects as C extensions do, by the layout in the headers of NumPy and
Python. Python's lock is kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sarrus.base.errors import CompilationError
from sarrus.codegen.machine import ENTRY
from sarrus.kernels.memory.python_objects import ArrayObject
from sarrus.kernels.platform.pointers import internal

# The object that a function belongs to is a number here: the address of that of the kernel and of its table.
BRIDGE = f"""
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLongLong(i64)

define ptr @{ENTRY}(ptr %self, ptr %objects, i64 %count) {{
  %pair = call ptr @PyLong_AsVoidPtr(ptr %self)
  %kernel = load ptr, ptr %pair
  %place = getelementptr ptr, ptr %pair, i64 1
  %table = load ptr, ptr %place
  %code = call i64 %kernel(ptr %table, ptr %objects, i64 %count)
  %answer = call ptr @PyLong_FromLongLong(i64 %code)
  ret ptr %answer
}}
"""


class Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_HEADER, _FASTCALL = 16, 0x0080


@internal
def is_vector(array: ArrayObject, length: int, other: ArrayObject):
    """Return True if an array is a contiguous vector of ``length`` numbers, of the dtype of another array."""
    if array.type_of_numbers != other.type_of_numbers or array.dimensions & 0xFFFFFFFF != 1:
        return False
    return array.lengths[0] == length and (length <= 1 or array.steps[0] == 8)


def bound(address: int, bridge: int, table: NDArray[np.int64]) -> tuple[Callable[..., int], Any]:
    """Return the kernel at ``address`` with its table as a Python function, and the objects to keep alive with it.

    ``bridge`` is the address of `BRIDGE`. Arguments must have the types as which the kernel reads them; it does not
    check them.
    """
    if object.__basicsize__ != _HEADER:
        raise CompilationError("objects of this build of Python have another header than the kernels read")
    method = Method(b"kernel", bridge, _FASTCALL, None)
    pair = np.array([address, table.ctypes.data], dtype=np.int64)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function = make(ctypes.addressof(method), pair.ctypes.data, None)
    return function, (method, pair, table)
