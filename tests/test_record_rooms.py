"""Records that Python and the kernels share have their fields in rooms: a reader meets few of them at a time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import sarrus.kernels
from sarrus.kernels.memory.record import Record

MOST = 30  # fields that one class declares


def records() -> list[type[Record]]:
    """Return all records of the kernels."""
    for module in pkgutil.walk_packages(sarrus.kernels.__path__, "sarrus.kernels."):
        importlib.import_module(module.name)
    found, left = [], [Record]
    while left:
        kinds = left.pop().__subclasses__()
        found += [kind for kind in kinds if kind.__module__.startswith("sarrus.")]
        left += kinds
    return found


def test_no_record_declares_more_than_thirty_fields() -> None:
    for kind in records():
        assert len(inspect.get_annotations(kind)) <= MOST, kind.__name__


class Front(Record, of=int):
    """Two numbers."""

    first: int
    second: int


class Whole(Front, of=int):
    """The same, and one more."""

    third: int


def test_fields_of_rooms_come_first_and_are_one_array() -> None:
    whole = Whole.zeros(2)
    whole.second, whole.third = 5, 7
    assert list(Whole.places) == ["first", "second", "third"]
    np.testing.assert_array_equal(whole, [0, 5, 7, 0, 0])
    assert whole.second == 5


def test_two_rooms_with_the_same_field_are_refused() -> None:
    with pytest.raises(TypeError, match="two of its rooms have a field of the same name"):

        class _Twice(Front, of=int):
            second: int


def test_a_name_that_is_no_field_is_refused() -> None:
    """It would be an attribute of the array in Python, which no kernel reads."""
    for kind in records():
        with pytest.raises(AttributeError):
            kind.zeros().no_such_field = 1
