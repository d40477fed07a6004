"""The language of the kernels: what is compiled computes what Python computes, bit for bit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernel_functions import compiled
from sarrus.codegen.machine import ENTRY
from sarrus.kernels.memory import layout
from sarrus.kernels.memory.record import Floats, Integers, view_fields
from sarrus.kernels.platform.build import function_text
from sarrus.kernels.platform.llvm_functions import module_text
from sarrus.kernels.platform.llvm_values import Pointer, kind_of_argument
from sarrus.kernels.platform.pointers import exists, force_inline, internal

RIDGES, EIGHTHS = (1e-6, 1e-8, 1e-10), np.array([1.0, 2.0, 3.0]) / 8.0
SPECIAL = (0.0, -0.0, 1.0, -1.5, 3.0, 1e300, -1e-300, np.inf, -np.inf, np.nan)


class Parts(NamedTuple):
    """Two vectors behind each other."""

    first: Any
    second: Any


def arithmetic(x: float, y: float) -> float:
    return x**3 - y**2 / (1.0 + x * y) + 3 * x - -y


def extremes(x: float, y: float) -> float:
    return max(x, y, 0.5) - min(y, x)


def functions(x: float, y: float) -> float:
    return np.sqrt(abs(x)) + np.copysign(2.0, y) + (1.0 if np.isfinite(x) else 3.0)


def conditions(x: float, y: float) -> float:
    if x < y <= 3.0 or not (x > 0.0 and y != 1.0):
        return x if x == y else 7.0
    return 1.0 if x in (1.0, 3.0) else -1.0


def remainder(x: float, y: float) -> float:
    return 0.618 * x % 1.0 if abs(x) < 1e3 else 0.0


@pytest.mark.parametrize("function", [arithmetic, extremes, functions, conditions, remainder])
def test_real_numbers(function: Callable[[float, float], float]) -> None:
    native = compiled(function)
    for x in map(np.float64, SPECIAL):
        for y in map(np.float64, SPECIAL):
            with np.errstate(all="ignore"):
                expected = function(x, y)
            np.testing.assert_array_equal(native(x, y), expected, err_msg=f"{x} {y}")


def integers(i: int, k: int) -> int:
    return 10000 * (i // k) + 100 * (i % k) + abs(i) - i**2 + (i & 6) + max(i, k) * (i > k)


def test_integers_round_down() -> None:
    native = compiled(integers)
    for i in range(-9, 10):
        for k in (-4, -3, -1, 1, 2, 5):
            assert native(i, k) == integers(i, k)


def loops(n: int, x: Floats) -> float:
    total, seen = 0, False
    for i in range(n - 1, -1, -2):
        if i == 7:
            continue
        if x[i] > 50.0:
            break
        total += x[i]
        seen = True
    count = 0
    while True:
        count += 1
        for k in range(count):
            if k == 3:
                break
        if count > n:
            break
    for ridge in RIDGES:
        total += ridge
    for a, b in ((1.0, total), (2.0, x[0])):
        total += a * b
    return total + count + EIGHTHS[n % 3] if seen else -1.0


@pytest.mark.parametrize("n", [0, 1, 2, 9, 30])
def test_loops_and_variables_that_become_real(n: int) -> None:
    x = np.arange(3.0, 40.0)
    assert compiled(loops)(n, x) == loops(n, x)


@internal
def _pair(x, k, scale=2.0):
    if k > 1:
        return k, scale * x[k]
    return 0.5, x[0]


@force_inline
def _put(x, value):
    x[0] = value
    x[1] += value


def tuples(x: Floats, places: Integers) -> float:
    parts = view_fields(x, Parts(2, 3))
    first, second = parts.second, parts.first
    first, second = second, first
    a, b = _pair(first, places[0])
    c, d = _pair(second, places[1], scale=10.0)
    places[0], places[1] = places[1], places[0]
    _put(second, a)
    chosen = parts if places[0] > places[1] else Parts(second, first)
    return a + b * c - d + chosen.second[0]


def test_tuples_and_calls() -> None:
    x, places = np.arange(1.0, 6.0), np.array([1, 2])
    # (0.5, x[0]) and (2, 10 x[4]), then x[2] is 0.5 and x[3] is 4.5; places change, so that `second` is x[2:]
    assert compiled(tuples)(x, places) == 0.5 + 1.0 * 2 - 50.0 + 0.5
    assert list(places) == [2, 1]
    assert list(x) == [1.0, 2.0, 0.5, 4.5, 5.0]


def record(table: layout.Table, x: Floats) -> int:
    table.nv = table.nq + 1
    held = table.stage
    held[0] = x[1]
    return exists(table.law) * 10 + exists(table.stage)


def test_records() -> None:
    table, answer = layout.Table.zeros(), np.zeros(1)
    table.nq, table.stage = 4, answer
    assert compiled(record)(table, np.array([1.0, 6.5])) == 1
    assert (table.nv, answer[0]) == (5, 6.5)


def _list(x: Floats) -> float:
    return [x[0]][0]


def _field(x: Floats) -> float:
    return x.length


def _mixed(x: Floats, i: int) -> float:
    value = x
    if i > 0:
        value = i
    return value


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_list, r"line \d+: \[x\[0\]\] has no form"),
        (_field, "has no field length"),
        (_mixed, "no kind holds both"),
    ],
)
def test_what_has_no_form_is_named(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        function_text(function)
    assert function.__name__ in caught.value.__notes__[0]


def test_functions_are_written_once_for_the_same_kinds() -> None:
    text = function_text(tuples)
    assert text.count("define internal") == 1 + 1 + 1  # `_pair` gets the same kinds twice
    assert text.count("alwaysinline") == 1
    assert f"define double @{ENTRY}(ptr %x0, ptr %x1)" in text
    kinds = list(map(kind_of_argument, inspect.get_annotations(tuples, eval_str=True).values()))[:-1]
    assert kinds == [Pointer("double"), Pointer("i64")]
    assert module_text(tuples, kinds, ENTRY) == text
