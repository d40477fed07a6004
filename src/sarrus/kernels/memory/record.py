"""Numbers with names, one after the other in memory: declared once, for Python, for the kernels and for exported C.

A `Record` has a fixed number of entries: Python has an array whose entries also have names, a kernel a pointer with
fields (`sarrus.kernels.platform.pointers`), and ``state.end`` is the same number in both. A workspace has vectors and
matrices whose sizes the model tells: a named tuple of the sizes, in their order, becomes one of pointers by
`view_fields`.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_origin, get_type_hints

import numpy as np

from sarrus.codegen.addresses import address

# Fields of records of integers that are addresses: of numbers, or of a record as ``Annotated[Any, Record]``. Where
# there is nothing they are 0 in Python; a kernel asks `sarrus.kernels.platform.pointers.exists`. Addresses of
# functions are int.
Floats = Annotated[Any, float]
Integers = Annotated[Any, int]


class _WithoutOthers(type):
    """Class of classes whose objects have no attributes but the declared ones."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any) -> Any:
        return super().__new__(cls, name, bases, {"__slots__": ()} | space, **options)


class Record(np.ndarray, metaclass=_WithoutOthers):
    """An array whose first entries have names; ``of`` is the type of all entries, float or int.

    The names are the fields of the records from which a subclass derives, in their order, then its own annotations.
    Assigning to another name is an `AttributeError`: no kernel would read it.
    """

    fields: ClassVar[dict[str, Any]] = {}
    places: ClassVar[dict[str, int]] = {}
    number: ClassVar[type] = float

    def __init_subclass__(cls, of: type = float) -> None:
        own = inspect.get_annotations(cls, eval_str=True)
        taken = [name for name in own if hasattr(np.ndarray, name)]
        if taken:
            raise TypeError(f"{cls.__name__}: arrays have {', '.join(taken)} already")
        rooms = [base.fields for base in cls.__bases__ if issubclass(base, Record)]
        cls.number, cls.fields = of, {name: kind for part in (*rooms, own) for name, kind in part.items()}
        if len(cls.fields) < len(own) + sum(map(len, rooms)):
            raise TypeError(f"{cls.__name__}: two of its rooms have a field of the same name")
        cls.places = {name: place for place, name in enumerate(cls.fields)}
        for name, kind in cls.fields.items():
            place = cls.places[name]
            setattr(cls, name, _entry(place) if pointee(kind) is None else _place_of_array(place))

    @classmethod
    def zeros(cls, more: int = 0) -> Self:
        """Return a record of zeros with room for ``more`` further numbers."""
        return np.zeros(len(cls.fields) + more, dtype=cls.number).view(cls)


def _entry(place: int) -> property:
    """Return a property that reads and writes the entry at ``place``."""

    def read(record: Record) -> Any:
        return record.item(place)

    def write(record: Record, value: Any) -> None:
        record[place] = value

    return property(read, write)


def _place_of_array(place: int) -> property:
    """Return the property of an entry that holds an address; an array assigned to it is stored as its address."""

    def read(record: Record) -> Any:
        return record.item(place)

    def write(record: Record, value: Any) -> None:
        record[place] = address(value) if isinstance(value, np.ndarray) else value

    return property(read, write)


def pointee(kind: Any) -> Any:
    """Return the type that a field points to, float, int or a record; None for a number."""
    return kind.__metadata__[0] if get_origin(kind) is Annotated else None


def view_fields(start: Any, sizes: Any) -> Any:
    """Return consecutive parts of memory from ``start`` on, as a named tuple of the type of ``sizes``.

    The parts are views of an array in Python and pointers in a kernel. A field annotated ``Annotated[Any, Record]``
    is viewed as this record.
    """
    parts, first = [], 0
    for size, record in zip(sizes, record_fields(sizes.__class__)):
        if isinstance(start, np.ndarray):
            parts.append(start[first : first + size].view(record or np.ndarray))
        else:
            parts.append(start + first)
        first += size
    return type(sizes)(*parts)


@cache
def record_fields(tuple_type: type[tuple[Any, ...]]) -> tuple[type[Record] | None, ...]:
    """Return the record of each field of a named tuple, None for a field of plain numbers."""
    found = map(pointee, get_type_hints(tuple_type, include_extras=True).values())
    return tuple(kind if isinstance(kind, type) and issubclass(kind, Record) else None for kind in found)
