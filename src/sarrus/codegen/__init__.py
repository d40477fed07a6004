"""CasADi expressions as native functions: LLVM IR, machine code, disk cache."""

from sarrus.base.errors import CompilationError, UnsupportedOperationError
from sarrus.codegen.cache import CacheInfo, cache_info, clear_cache
from sarrus.codegen.compiler import compile_function
from sarrus.codegen.native import NativeFunction

__all__ = [
    "CacheInfo",
    "CompilationError",
    "NativeFunction",
    "UnsupportedOperationError",
    "cache_info",
    "clear_cache",
    "compile_function",
]
