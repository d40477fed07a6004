"""Elementary functions of our own as text of LLVM: one description each, for one number and for several at
once.

The C library's differ between its versions and, in one version, between processors; these differ nowhere, for
they are made of operations that IEEE 754 rounds correctly. Where a processor has no fused products LLVM calls
the C library's ``fma``, which is exact too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sarrus.codegen import angles, error_functions, exponentials
from sarrus.codegen.error_functions import name
from sarrus.codegen.straight_line import REAL, Lines, Value, kind

SINCOS = "sincos"

_OF_ONE: dict[str, Callable[[Value], Value]] = {
    function.__name__: function
    for function in (
        *(angles.tan, angles.asin, angles.acos, angles.atan),
        *(exponentials.exp, exponentials.expm1, exponentials.log, exponentials.log1p),
        *(exponentials.sinh, exponentials.cosh, exponentials.tanh),
        *(exponentials.asinh, exponentials.acosh, exponentials.atanh),
        *(error_functions.erf, error_functions.erfc, error_functions.erfinv),
    )
}
_OF_TWO: dict[str, Callable[[Value, Value], Value]] = {
    "atan2": angles.atan2,
    "hypot": angles.hypot,
    "pow": exponentials.power,
}
NAMES = (SINCOS, *_OF_ONE, *_OF_TWO)

_USED = re.compile(r"@(sarrus_[a-z0-9_]+(?:\.\d+)?)\(")


def pair_of(width: int) -> str:
    """Return the type of what `SINCOS` returns."""
    return f"{{ {kind(REAL, width)}, {kind(REAL, width)} }}"


def definitions(text: str, width: int) -> str:
    """Return the definitions of all functions of ours that a text calls, on ``width`` numbers."""
    known = {name(function, width): function for function in NAMES}
    made: dict[str, str] = {}
    waiting = [text]
    while waiting:
        for found in _USED.findall(waiting.pop()):
            if found in made:
                continue
            if found in known:
                made[found] = _definition(known[found], width)
            elif found == angles.REDUCTION:
                made[found] = angles.REDUCTION_DEFINITION
            else:
                continue
            waiting.append(made[found])
    return "".join(made.values())


@lru_cache(maxsize=64)
def _definition(function: str, width: int) -> str:
    lines, numbers = Lines(width), kind(REAL, width)
    x, y = lines.argument("x"), lines.argument("y")
    arguments = f"{numbers} %x"
    result, value = numbers, ""
    if function == SINCOS:
        result = pair_of(width)
        sine, cosine = angles.sincos(x)
        half = lines.let(f"insertvalue {result} poison, {numbers} {sine.name}, 0", REAL)
        value = lines.let(f"insertvalue {result} {half.name}, {numbers} {cosine.name}, 1", REAL).name
    elif function in _OF_TWO:
        arguments += f", {numbers} %y"
        value = _OF_TWO[function](x, y).name
    else:
        value = _OF_ONE[function](x).name
    head = f"define internal {result} @{name(function, width)}({arguments}) noinline nounwind {{\nentry:\n"
    return head + "".join(lines.text) + f"  ret {result} {value}\n}}\n"
