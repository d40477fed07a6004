"""Names in figures, drawn literally whatever characters they contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from sarrus.base.printable import printable

_MOST = 200  # signs of a name that are drawn


def title(name: str) -> str:
    """Return the name of a system or a run as a heading."""
    return printable(name.replace("_", " "))


def literal(text: Text, words: str) -> Text:
    """Set a text to words literally: no mathematics, no TeX, truncated to `_MOST` characters."""
    words = printable(words)
    text.set(text=words if len(words) <= _MOST else words[: _MOST - 1] + "…", parse_math=False, usetex=False)
    return text


def legend(where: Axes | Figure, handles: Sequence[Any], names: Sequence[str], **options: Any) -> Legend:
    """Add a legend that shows every name literally, also with a leading underscore."""
    drawn = where.legend(handles, ["name"] * len(names), **options)
    for text, name in zip(drawn.get_texts(), names):
        literal(text, name)
    return drawn
