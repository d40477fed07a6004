"""The scalar operations on several numbers at once: the text of each for any number of lanes.

Straight-line code without branches runs on W states as well as on one: every number becomes a vector of W,
the state k in lane k. What one lane holds never depends on the others, and is what the code for one number
would give, in every bit.
"""

from __future__ import annotations

from functools import lru_cache

from sarrus.codegen.elementary import definitions
from sarrus.codegen.operations import OPERATIONS, Operation, declarations
from sarrus.codegen.straight_line import REAL, Lines, Value


@lru_cache(maxsize=8)
def templates(width: int) -> dict[int, str]:
    """Return the text of all operations on ``width`` numbers at once.

    ``{r}`` names the result, ``{a}`` and ``{b}`` the operands; intermediate results are called ``{r}.1``, ``{r}.2``.
    """
    return {op: _template(operation, width) for op, operation in OPERATIONS.items()}


def _template(operation: Operation, width: int) -> str:
    lines = Lines(width, "{r}.")
    result = operation(Value(lines, "{a}", REAL), Value(lines, "{b}", REAL))
    *before, last = lines.text
    text = "".join([*before, last.replace(f"{result.name} =", "{r} =")])
    return text.replace("{ ", "{{ ").replace(" }", " }}")  # structures, not names


def prelude(text: str, width: int) -> str:
    """Return what a module with this text on ``width`` numbers must declare and define."""
    return declarations(width) + definitions(text)
