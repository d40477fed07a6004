"""Names in figures, drawn literally whatever characters they contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from sarrus.base.printable import printable
from sarrus.pictures.symbols.style import INK, TITLE_LEFT

_MOST = 200  # signs of a name that are drawn
# Where a legend stands at the right of a panel, its top at that of the panel.
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.03), "handlelength": 1.4}


def title(name: str) -> str:
    """Return the name of a system or a run as a heading."""
    return printable(name.replace("_", " "))


def literal(text: Text, words: str) -> Text:
    """Set a text to words literally: no mathematics, no TeX, truncated to `_MOST` characters."""
    words = printable(words)
    text.set(text=words if len(words) <= _MOST else words[: _MOST - 1] + "…", parse_math=False, usetex=False)
    return text


def head(figure: Figure, words: str) -> None:
    """Write a line above all panels of a figure, as it is."""
    literal(figure.suptitle("", x=TITLE_LEFT, ha="left", size=12, color=INK, weight="bold"), words)


def legend(where: Axes | Figure, handles: Sequence[Any], names: Sequence[str], **options: Any) -> Legend:
    """Add a legend without a frame that shows every name literally, also with a leading underscore."""
    look = {"frameon": False, "fontsize": 9, "labelcolor": INK, **options}
    drawn = where.legend(handles, ["name"] * len(names), **look)
    for text, name in zip(drawn.get_texts(), names):
        literal(text, name)
    return drawn
