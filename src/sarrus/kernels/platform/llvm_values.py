"""Values of a kernel while its LLVM text is written (constants, LLVM values, tuples), and their kinds."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from sarrus.kernels.memory.record import Record, pointee

# Kinds of numbers, as LLVM calls them; a pointer has a kind of its own, and so have several values.
REAL, INTEGER, SINGLE, TRUTH = "double", "i64", "float", "i1"
_NUMBERS: dict[Any, str] = {float: REAL, int: INTEGER, np.float32: SINGLE}


@dataclass(frozen=True)
class Pointer:
    """Kind of a pointer to numbers, or to a record of numbers."""

    number: str
    record: type[Record] | None = None


@dataclass(frozen=True)
class Bundle:
    """Kind of a tuple; ``python`` is its class if it has names."""

    kinds: tuple[Kind, ...]
    python: type[Any] | None = None


@dataclass(frozen=True)
class Known:
    """A value known when the text is written: a number, a function, a module, a class."""

    value: Any


@dataclass(frozen=True)
class Term:
    """A number or a pointer of LLVM: a register or a constant."""

    text: str
    kind: str | Pointer


@dataclass(frozen=True)
class Pack:
    """A tuple of values; ``python`` is its named-tuple class in Python."""

    values: tuple[Value, ...]
    python: type[Any] | None = None


Kind = str | Pointer | Bundle | Known | None
Value = Known | Term | Pack


def pointer_to(target: Any) -> Pointer:
    """Return the kind of a pointer to float, int, `numpy.float32` or a record."""
    if target in _NUMBERS:
        return Pointer(_NUMBERS[target])
    return Pointer(_NUMBERS[target.number], target)


def kind_of_argument(annotation: Any) -> str | Pointer:
    """Return the kind of an argument from its annotation: a record, a pointer to numbers, float or int."""
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return pointer_to(annotation)
    target = pointee(annotation)
    return pointer_to(target) if target is not None else _NUMBERS[annotation]


def number_kind(value: Any) -> str | None:
    """Return the kind of a Python number; None for any other object."""
    if isinstance(value, bool | np.bool_):
        return TRUTH
    if isinstance(value, int | np.integer):
        return INTEGER
    return REAL if isinstance(value, float | np.floating) else None


def kind_of(value: Value) -> Kind:
    """Return the kind of a value; a known value that is no number is its own kind."""
    if isinstance(value, Term):
        return value.kind
    if isinstance(value, Pack):
        return Bundle(tuple(map(kind_of, value.values)), value.python)
    if isinstance(value.value, tuple):
        return kind_of(opened(value))
    return None if value.value is None else number_kind(value.value) or value


def opened(value: Value) -> Pack:
    """Return a tuple as a `Pack` of its values."""
    if isinstance(value, Pack):
        return value
    if isinstance(value, Known) and isinstance(value.value, tuple):
        python = type(value.value)
        return Pack(tuple(map(Known, value.value)), python if hasattr(python, "_fields") else None)
    raise TypeError(f"{value} is no tuple")


def join(one: Kind, other: Kind) -> Kind:
    """Return the kind that can hold values of both kinds."""
    if one == other:
        return one
    if isinstance(one, Bundle) and isinstance(other, Bundle) and len(one.kinds) == len(other.kinds):
        same = one.python if one.python is other.python else None
        return Bundle(tuple(map(join, one.kinds, other.kinds)), same)
    if not (isinstance(one, str) and isinstance(other, str)):
        raise TypeError(f"no kind holds both {one} and {other}")
    return INTEGER if {one, other} == {TRUTH, INTEGER} else REAL


def joined(kinds: list[Kind]) -> Kind:
    """Return the kind that can hold values of all kinds."""
    return reduce(join, kinds)


def constant(number: Any) -> Term:
    """Return a Python number as an LLVM constant, bit for bit."""
    kind = number_kind(number)
    if kind is None:
        raise TypeError(f"{number!r} is no number")
    if kind == TRUTH:
        return Term("true" if number else "false", TRUTH)
    if kind == INTEGER:
        return Term(str(int(number)), INTEGER)
    return Term(f"0x{struct.pack('>d', float(number)).hex().upper()}", REAL)


def llvm_name(kind: Kind) -> str:
    """Return the LLVM name of a kind."""
    if kind is None:
        return "void"
    if isinstance(kind, Bundle):
        return f"{{{', '.join(llvm_name(part) for part in parts(kind))}}}"
    return "ptr" if isinstance(kind, Pointer) else str(kind)


def parts(kind: Kind) -> list[str | Pointer]:
    """Return the kinds of the numbers and pointers that a kind consists of."""
    if isinstance(kind, Bundle):
        return [inner for part in kind.kinds for inner in parts(part)]
    return [kind] if isinstance(kind, str | Pointer) else []


def gathered(kind: Kind, texts: list[str]) -> Value:
    """Return the value of a kind from the texts of its numbers and pointers, which are removed from the list."""
    if isinstance(kind, Bundle):
        return Pack(tuple(gathered(part, texts) for part in kind.kinds), kind.python)
    if isinstance(kind, Known):
        return kind
    return Known(None) if kind is None else Term(texts.pop(0), kind)
