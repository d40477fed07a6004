"""Functions in the language of the kernels, compiled and called from Python."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sarrus.codegen.machine import LoadedCode, build_object
from sarrus.kernels.platform.build import function_text

_C = {float: ctypes.c_double, int: ctypes.c_int64, bool: ctypes.c_int64, None: ctypes.c_int64}


class compiled:
    """A function with annotated arguments (`Floats`, `Integers`, float, int), compiled at its first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kinds = inspect.get_annotations(function, eval_str=True)

    @cached_property
    def text(self) -> str:
        """Its LLVM text."""
        return function_text(self.function)

    @cached_property
    def code(self) -> LoadedCode:
        """The code, as the kernels are compiled."""
        return LoadedCode(build_object(self.text, 2, passes=True))

    @cached_property
    def entry(self) -> Any:
        """The function for ctypes."""
        kinds = self.kinds | {}
        result = kinds.pop("return")
        arguments = [_C.get(kind, ctypes.c_void_p) for kind in kinds.values()]
        return ctypes.CFUNCTYPE(_C[result], *arguments)(self.code.address)

    def __call__(self, *arguments: Any) -> Any:
        """Call it on arrays, C-contiguous, and numbers."""
        given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        answer = self.entry(*given)
        result = self.kinds["return"]
        return None if result is None else result(answer)
