"""Objects of Python and NumPy in memory, as their C interfaces lay them out, for kernels that Python calls."""

from __future__ import annotations

from sarrus.kernels.memory.record import Floats, Integers, Record


class ArrayObject(Record, of=int):
    """A NumPy array in memory: PyArrayObject of its C interface, for objects with a header of two words."""

    references: int
    kind: int
    numbers: Floats
    dimensions: int  # in the lower half
    lengths: Integers
    steps: Integers  # in bytes
    owner: int
    type_of_numbers: int  # address of the dtype


class FloatObject(Record):
    """A Python float in memory."""

    header: float
    kind: float
    value: float
