"""Elementary functions of this package as LLVM text, each defined once for one number and for vectors.

Functions of C libraries differ between versions and, in one version, between processors. These are equal everywhere,
because they consist of operations that IEEE 754 rounds correctly. On a processor without fused products LLVM calls
``fma`` of the C library, which is exact too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sarrus.codegen.exact import angles, error_functions, exponentials
from sarrus.codegen.exact.straight_line import Lines, own_name

# Functions of one or two values; they return one value, or several.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pow": exponentials.power,
    **{
        function.__name__: function
        for function in (
            *(
                angles.sincos,
                angles.reduce_large_angle,
                angles.tan,
                angles.asin,
                angles.acos,
                angles.atan,
                angles.atan2,
                angles.hypot,
            ),
            *(exponentials.exp, exponentials.expm1, exponentials.log, exponentials.log1p),
            *(exponentials.sinh, exponentials.cosh, exponentials.tanh),
            *(exponentials.asinh, exponentials.acosh, exponentials.atanh),
            *(error_functions.erf, error_functions.erfc, error_functions.erfinv),
        )
    },
}
NAMES = tuple(_FUNCTIONS)
_BEFORE = {angles.reduce_large_angle.__name__: angles.DIGITS_OF_TWO_OVER_PI}

_USED = re.compile(r"@sarrus_([a-z0-9_]+)(?:\.(\d+))?\(")


def definitions(text: str) -> str:
    """Return the definitions of all functions of this package called in a text."""
    made: dict[tuple[str, int], str] = {}
    waiting = [text]
    while waiting:
        for function, width in _USED.findall(waiting.pop()):
            key = function, int(width or 1)
            if key not in made and function in _FUNCTIONS:
                made[key] = _definition(*key)
                waiting.append(made[key])
    return "".join(made.values())


@lru_cache(maxsize=64)
def _definition(function: str, width: int) -> str:
    lines, formula = Lines(width), _FUNCTIONS[function]
    arguments = [lines.argument(letter) for letter in "xy"[: formula.__code__.co_argcount]]
    values = formula(*arguments)
    kind, name = lines.together(values if isinstance(values, tuple) else (values,))
    given = ", ".join(f"{argument.kind} {argument.name}" for argument in arguments)
    head = f"define internal {kind} @{own_name(function, width)}({given}) noinline nounwind {{\nentry:\n"
    return f"{_BEFORE.get(function, '')}{head}{''.join(lines.text)}  ret {kind} {name}\n}}\n"
