"""What the kernels are written with beside plain Python: marked functions and bare pointers, without Numba.

Numba's arrays test every index for being negative and count references at every slice. Measured on the
12 × 18 factorisation that costs a third of the time, so the kernels index pointers instead: to numbers, as in C, and to
records, whose numbers have names. ``x + n`` points n numbers further on.

Kernels are read as Python by the export to C, and compiled when the package is built: what Numba makes of the marks
here is in `sarrus.kernels.platform.numba_forms`, which only a build imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.kernels.memory import (
    batch_layout,
    cone_layout,
    layout,
)
from sarrus.kernels.memory import (
    crossing_layout as passage_layout,
)
from sarrus.kernels.memory import (
    geometry_layout as colliding_layout,
)
from sarrus.kernels.memory.record import Record
from sarrus.kernels.memory.run_state import Run


class Internal:
    """A function that only compiled ones call; its Python source is ``py_func``.

    Numba asks both attributes of functions that are to be copied into their callers.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.targetoptions = function, options
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: the function works on pointers."""
        raise TypeError(f"{self.__name__} is called by kernels only")


def internal(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that only compiled ones call: once per set of types, with no entry from Python."""
    return Internal(function, options)


def inlined(function: Callable[..., Any]) -> Any:
    """Have a function copied into its callers before they are compiled, which saves compiling it on its own."""
    return internal(function, inline="always")


def inserted(function: Callable[..., Any]) -> Any:
    """Have the code of a small function put into that of its callers, which saves typing it for each of them."""
    return internal(function, forceinline=True)


def exists(pointer: Any) -> Any:
    """Tell whether a pointer from a table points to anything."""
    raise TypeError("exists is for kernels only")


def flat(array: Any) -> Any:
    """Return a pointer to the first number of a C-contiguous array of float64 or int64. Nothing is checked.

    For functions that Numba compiles to be called with arrays, as tests and benchmarks do; kernels have none.
    It keeps nothing alive, and Numba frees an array after its last use by name: take pointers to arguments, or use a
    local array once more after the last use of its pointer.
    """
    raise TypeError("flat is for compiled functions only")


# What `placed` has made, and the record of each.
POINTERS: dict[Any, type[Record]] = {}


def placed(record: type[Record]) -> Any:
    """Return what makes a pointer to a record of one to numbers."""

    def at(pointer: Any) -> Any:
        raise TypeError(f"a pointer to {record.__name__} is for kernels only")

    POINTERS[at] = record
    return at


run_at, table_at = placed(Run), placed(layout.Table)
outcome_at, start_at = placed(batch_layout.Outcome), placed(batch_layout.Start)
log_facts_at, limits_at = placed(passage_layout.LogFacts), placed(cone_layout.Limits)
met_at, seen_at, kept_at = map(placed, (colliding_layout.Met, colliding_layout.Seen, colliding_layout.Kept))
