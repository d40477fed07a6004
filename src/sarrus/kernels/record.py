"""Numbers with names, one after the other in an array: declared once, for Python, for the kernels and for C.

A subclass of `Record` annotates its fields in their order. Python has an array whose entries also have names, a kernel
a pointer with fields (`sarrus.kernels.flat`): ``state.end`` is the same number in both.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np


class Record(np.ndarray):
    """An array whose first entries have names; ``of`` is the type of all, float or int."""

    fields: ClassVar[dict[str, Any]] = {}
    places: ClassVar[dict[str, int]] = {}
    number: ClassVar[type] = float

    def __init_subclass__(cls, of: type = float) -> None:
        own = inspect.get_annotations(cls, eval_str=True)
        taken = [name for name in own if hasattr(np.ndarray, name)]
        if taken:
            raise TypeError(f"{cls.__name__}: arrays have {', '.join(taken)} already")
        cls.number, cls.fields = of, own
        cls.places = {name: place for place, name in enumerate(own)}
        for name, place in cls.places.items():
            setattr(cls, name, _entry(place))

    @classmethod
    def zeros(cls, more: int = 0) -> Self:
        """Return a record of zeros with room for so many more numbers."""
        return np.zeros(len(cls.fields) + more, dtype=cls.number).view(cls)


def _entry(place: int) -> property:
    """Return the entry at a place as an attribute."""

    def read(record: Record) -> Any:
        return record.item(place)

    def write(record: Record, value: Any) -> None:
        record[place] = value

    return property(read, write)
