"""Translation of the Python source of a kernel to LLVM text."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from sarrus.codegen.machine import ENTRY
from sarrus.kernels.platform.llvm_functions import module_text
from sarrus.kernels.platform.llvm_values import kind_of_argument


def kernel_text(module: str, name: str) -> str:
    """Return the LLVM text of the function ``name`` of a module of this package, under the name `ENTRY`.

    The text is not optimised and does not depend on the processor. An attribute that is already text is returned
    unchanged.
    """
    function = getattr(importlib.import_module(f"sarrus.kernels.{module}"), name)
    return function if isinstance(function, str) else function_text(function)


def function_text(function: Any) -> str:
    """Return the LLVM text of a function, under the name `ENTRY`; its annotations give the types of its arguments."""
    annotations = inspect.get_annotations(function, eval_str=True)
    annotations.pop("return", None)
    return module_text(function, list(map(kind_of_argument, annotations.values())), ENTRY)
