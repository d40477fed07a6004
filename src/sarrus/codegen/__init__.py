"""CasADi expressions as native functions: LLVM IR, machine code, disk cache.

Names are loaded at their first use, because the kernels, which are built without CasADi, use modules of this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sarrus.base.errors import CompilationError, UnsupportedOperationError
    from sarrus.codegen.cache import CacheInfo, cache_info, clear_cache
    from sarrus.codegen.compiler import compile_function
    from sarrus.codegen.native import NativeFunction

_HOMES = {
    "CacheInfo": "codegen.cache",
    "CompilationError": "base.errors",
    "NativeFunction": "codegen.native",
    "UnsupportedOperationError": "base.errors",
    "cache_info": "codegen.cache",
    "clear_cache": "codegen.cache",
    "compile_function": "codegen.compiler",
}

__all__ = [
    "CacheInfo",
    "CompilationError",
    "NativeFunction",
    "UnsupportedOperationError",
    "cache_info",
    "clear_cache",
    "compile_function",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sarrus.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
