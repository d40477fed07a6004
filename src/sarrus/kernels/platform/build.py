"""From the Python source of a kernel to LLVM text."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from sarrus.codegen.machine import ENTRY
from sarrus.kernels.platform.llvm_functions import module_text
from sarrus.kernels.platform.llvm_values import kind_of_argument


def kernel_text(module: str, name: str) -> str:
    """Return the LLVM text of the function ``name`` of a module of this package, under the name `ENTRY`.

    It has not been optimised, and does not depend on the processor. What is text already is returned as it is.
    """
    function = getattr(importlib.import_module(f"sarrus.kernels.{module}"), name)
    return function if isinstance(function, str) else function_text(function)


def function_text(function: Any) -> str:
    """Return the LLVM text of a function, under the name `ENTRY`: its annotations say what its arguments are."""
    annotations = inspect.get_annotations(function, eval_str=True)
    annotations.pop("return", None)
    return module_text(function, list(map(kind_of_argument, annotations.values())), ENTRY)
