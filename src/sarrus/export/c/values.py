"""What an expression of a kernel is while it is translated to C: known now, or a C expression of some type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.codegen.c_source import c_number
from sarrus.kernels.memory.record import Record, pointee, record_fields

# Types of C expressions besides those of structs. Python's bool is an int.
INT, DOUBLE, VOID = "int", "double", "void"


@dataclass(frozen=True)
class Struct:
    """A tuple that a function returns: its members and their types, and the named tuple that it is in Python."""

    members: tuple[tuple[str, str], ...]
    python: type[tuple[Any, ...]] | None = None

    @property
    def name(self) -> str:
        """The name of the named tuple."""
        return "" if self.python is None else self.python.__name__

    def record(self, member: str) -> type[Record] | None:
        """Return the record that a member points to, None where it is numbers."""
        records = () if self.python is None else record_fields(self.python)
        return dict(zip(dict(self.members), records)).get(member)


Kind = str | Struct


@dataclass(frozen=True)
class Known:
    """A value known when the code is written: a number, a module, a function, a tuple of offsets."""

    value: Any


@dataclass(frozen=True)
class Term:
    """A C expression. ``atomic`` ones need no parentheses; ``counts`` says that it cannot be negative."""

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
    """A pointer to numbers of type ``kind``; ``length`` where it is known and asked for."""

    text: str
    kind: str
    constant: bool = False
    length: int | None = None
    record: type[Record] | None = None

    def __add__(self, count: int) -> View:
        """Return the pointer so many numbers further on."""
        return self if count == 0 else View(f"{self.text} + {count}", self.kind, self.constant)

    @property
    def type(self) -> str:
        """The pointer's type in C."""
        return f"const {self.kind} *" if self.constant else f"{self.kind} *"


@dataclass(frozen=True)
class Pack:
    """Several values that Python has as a tuple, by name where they have names."""

    values: tuple[Value, ...]
    kind: type[tuple[Any, ...]] | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the values in C."""
        return getattr(self.kind, "_fields", None) or tuple(f"r{k}" for k in range(len(self.values)))

    @property
    def is_global(self) -> bool:
        """Whether every function with the structure W knows it without being told."""
        return all(isinstance(v, Known) or (isinstance(v, View) and "W->" in v.text) for v in self.values)


@dataclass(frozen=True)
class Native:
    """A native function of the model, by the name that it has in C."""

    name: str


@dataclass(frozen=True)
class KernelCode:
    """A kernel that is called through the table: its Python source."""

    function: Any


@dataclass(frozen=True)
class Address:
    """An address in a table."""

    target: View | Table | Native | KernelCode


@dataclass(frozen=True, eq=False)
class Table:
    """The integer table of a system or a law: what the kernels find behind each entry.

    ``numbers`` is the table itself, with zeros where there are addresses; ``entries`` what is not a number known now.
    From ``room`` on it is written to: ``room_text`` is the array in C that does that service, ``text`` one of
    constants that holds all before it.
    """

    name: str
    numbers: Record
    entries: Mapping[str, Value]
    room: int
    room_text: str
    text: str

    def field(self, name: str) -> Value:
        """Return the entry of a name: a number, what it points to, or the address of a function."""
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
            raise LookupError(f"{name} of the table {self.name} is not known before the code runs")
        return found.value

    def __add__(self, place: int) -> View:
        """Return the room to work in from a place on."""
        if place < self.room:
            raise LookupError(f"entry {place} of the table {self.name} is no room to work in")
        return View(self.room_text, INT) + (place - self.room)


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
    """Return a number or a pointer as what a member of a structure can hold, or a function return."""
    return Term(value.text, value.type) if isinstance(value, View) else as_term(value)


def join(first: Kind, second: Kind) -> Kind:
    """Return the type that holds values of both."""
    if first == second:
        return first
    if {first, second} == {INT, DOUBLE}:
        return DOUBLE
    raise TypeError(f"a variable is both {first} and {second}")
