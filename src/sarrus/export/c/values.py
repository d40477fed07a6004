"""Values of kernel expressions during translation to C: known at export, or a C expression of some type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.codegen.c_source import c_number
from sarrus.kernels.memory.record import Record, pointee, record_fields

# Types of C expressions other than structures. Python's bool is an int.
INT, DOUBLE, VOID = "int", "double", "void"


class NotKnownError(LookupError):
    """An entry of a table is not known before the code runs."""


@dataclass(frozen=True)
class Struct:
    """A tuple returned by a function: its members, their types, and the named tuple in Python."""

    members: tuple[tuple[str, str], ...]
    python: type[tuple[Any, ...]] | None = None

    @property
    def name(self) -> str:
        """The name of the named tuple."""
        return "" if self.python is None else self.python.__name__

    def record(self, member: str) -> type[Record] | None:
        """Return the record that a member points to, None for numbers."""
        records = () if self.python is None else record_fields(self.python)
        return dict(zip(dict(self.members), records)).get(member)


Kind = str | Struct


@dataclass(frozen=True)
class Known:
    """A value known at export: a number, a module, a function, a tuple of offsets."""

    value: Any


@dataclass(frozen=True)
class Term:
    """A C expression. ``atomic``: it needs no parentheses; ``counts``: it cannot be negative."""

    text: str
    kind: Kind
    atomic: bool = True
    counts: bool = False

    @property
    def inner(self) -> str:
        """The text as an operand."""
        return self.text if self.atomic else f"({self.text})"


@dataclass(frozen=True)
class View:
    """A pointer to numbers of type ``kind``, with its ``length`` if known."""

    text: str
    kind: str
    constant: bool = False
    length: int | None = None
    record: type[Record] | None = None

    def __add__(self, count: int) -> View:
        """Return the pointer ``count`` numbers further on."""
        return self if count == 0 else View(f"{self.text} + {count}", self.kind, self.constant)

    @property
    def type(self) -> str:
        """The pointer's type in C."""
        return f"const {self.kind} *" if self.constant else f"{self.kind} *"


@dataclass(frozen=True)
class Pack:
    """Several values, a tuple in Python, by name if they have names."""

    values: tuple[Value, ...]
    kind: type[tuple[Any, ...]] | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the values in C."""
        return getattr(self.kind, "_fields", None) or tuple(f"r{k}" for k in range(len(self.values)))

    @property
    def is_global(self) -> bool:
        """Whether every function with the structure W knows it without an argument."""
        return all(isinstance(v, Known) or (isinstance(v, View) and "W->" in v.text) for v in self.values)


@dataclass(frozen=True)
class Native:
    """A native function of the model, by its name in C."""

    name: str


@dataclass(frozen=True)
class KernelCode:
    """A kernel called through the table: its Python source."""

    function: Any


@dataclass(frozen=True)
class Address:
    """An address in a table."""

    target: View | Table | Native | KernelCode


@dataclass(frozen=True, eq=False)
class Table:
    """The integer table of a system or a law: values of its entries for the kernels.

    ``numbers`` is the table, with zeros for addresses; ``entries`` are the entries other than known numbers. From index
    ``entry_count`` on it is work memory: ``room_text`` is this array in C, ``text`` the constant array of the entries
    before. ``writable``: kernels write to the entries behind the named ones, which are in the work memory, too.
    """

    name: str
    numbers: Any  # a record of integers
    entries: Mapping[str, Value]
    entry_count: int
    room_text: str
    text: str
    writable: bool = False

    def field(self, name: str) -> Value:
        """Return the entry of a name: a number, a pointer, or the address of a function."""
        found = self.entries.get(name, Known(getattr(self.numbers, name)))
        if not isinstance(found, Address) or not isinstance(found.target, View | Table):
            return found
        record = pointee(type(self.numbers).fields[name])
        if isinstance(found.target, View) and isinstance(record, type) and issubclass(record, Record):
            return replace(found.target, record=record)
        return found.target

    def __getattr__(self, name: str) -> Any:
        """Return an entry for the layout functions of the kernels."""
        if name not in type(self.numbers).fields:
            raise AttributeError(name)
        found = self.field(name)
        if isinstance(found, View | Table):
            return found
        if not isinstance(found, Known):
            raise NotKnownError(f"{name} of the table {self.name} is not known before the code runs")
        return found.value

    def __add__(self, place: int) -> View:
        """Return the work memory from an index on."""
        if place < self.entry_count:
            raise LookupError(f"entry {place} of the table {self.name} is no room to work in")
        return View(self.room_text, INT) + (place - self.entry_count)


Value = Known | Term | View | Pack | Address | Table


def as_term(value: Value) -> Term:
    """Return a number as a C expression."""
    if isinstance(value, Term):
        return value
    if not isinstance(value, Known):
        raise TypeError(f"{value} is no number")
    if isinstance(value.value, bool | np.bool_ | int | np.integer):
        number = int(value.value)
        return Term(str(number), INT, atomic=number >= 0, counts=number >= 0)
    if isinstance(value.value, float | np.floating):
        return Term(c_number(float(value.value)), DOUBLE)
    raise TypeError(f"{value.value!r} is no number that C has")


def storable(value: Value) -> Term:
    """Return a number or a pointer in a form that a structure member can hold, or a function return."""
    return Term(value.text, value.type) if isinstance(value, View) else as_term(value)


def join(first: Kind, second: Kind) -> Kind:
    """Return the type that holds values of both."""
    if first == second:
        return first
    if {first, second} == {INT, DOUBLE}:
        return DOUBLE
    raise TypeError(f"a variable is both {first} and {second}")
