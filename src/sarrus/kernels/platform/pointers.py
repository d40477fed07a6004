"""Language of the kernels beside plain Python: marked functions and bare pointers.

Pointers are to numbers, as in C, and to records, whose numbers have names; no index is checked. ``x + n`` points n
numbers further on.

The export to C reads kernels as Python; the build of the package compiles them. The meaning of the marks in LLVM is
in `sarrus.kernels.platform.llvm_expressions`.
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
    geometry_layout as geometry_layout,
)
from sarrus.kernels.memory.record import Record
from sarrus.kernels.memory.run_state import Run


class Internal:
    """A function that only compiled functions call; its Python source is ``py_func``.

    ``force_inline`` is True if its code is inserted into its callers, however large it is.
    """

    def __init__(self, function: Callable[..., Any], force_inline: bool) -> None:
        self.py_func, self.force_inline = function, force_inline
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Raise an error: the function works on pointers."""
        raise TypeError(f"{self.__name__} is called by kernels only")


def internal(function: Callable[..., Any]) -> Any:
    """Return a function as `Internal`: compiled once per set of types, with no entry from Python."""
    return Internal(function, force_inline=False)


def force_inline(function: Callable[..., Any]) -> Any:
    """Return a function as `Internal`, with its code inserted into its callers."""
    return Internal(function, force_inline=True)


def exists(pointer: Any) -> Any:
    """Return True if a pointer from a table is not null."""
    raise TypeError("exists is for kernels only")


# What `record_pointer` has made, and the record of each.
POINTERS: dict[Any, type[Record]] = {}


def record_pointer(record: type[Record]) -> Any:
    """Return a function that converts a pointer to numbers to a pointer to a record."""

    def at(pointer: Any) -> Any:
        raise TypeError(f"a pointer to {record.__name__} is for kernels only")

    POINTERS[at] = record
    return at


run_at, table_at = record_pointer(Run), record_pointer(layout.Table)
outcome_at, start_at = record_pointer(batch_layout.Outcome), record_pointer(batch_layout.Start)
log_facts_at, limits_at = record_pointer(passage_layout.LogFacts), record_pointer(cone_layout.Limits)
raw_contact_at, contact_point_at, stored_contact_at = map(
    record_pointer, (geometry_layout.RawContact, geometry_layout.ContactPoint, geometry_layout.StoredContact)
)
