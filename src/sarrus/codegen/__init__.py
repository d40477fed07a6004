"""CasADi expressions as native functions: LLVM IR, machine code, disk cache."""

from sarrus.codegen.cache import CacheInfo, cache_info, clear_cache
from sarrus.codegen.compiler import compile_function
from sarrus.codegen.native import NativeFunction
from sarrus.errors import CompilationError, UnsupportedOperationError

__all__ = [
    "CacheInfo",
    "CompilationError",
    "NativeFunction",
    "UnsupportedOperationError",
    "cache_info",
    "clear_cache",
    "compile_function",
]
