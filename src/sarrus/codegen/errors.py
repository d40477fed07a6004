"""Errors of the code generator."""

from __future__ import annotations

from sarrus.errors import SarrusError


class CompilationError(SarrusError):
    """Expressions cannot be turned into a native function: wrong inputs, free symbols, or LLVM refused."""


class UnsupportedOperationError(CompilationError):
    """An expression uses an operation that has no native form; ``element`` is the name of the operation."""
