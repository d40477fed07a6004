"""Results in a notebook: plain HTML without scripts or styles from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from sarrus.base.printable import printable

_MOST = 40  # largest number of table rows, or of entries of a value, that are shown
_LONG = 200  # largest number of characters of a value that is shown in full


def heading(text: str) -> str:
    """Return a line of bold text."""
    return f"<p><strong>{escape(printable(text))}</strong></p>"


def preformatted(text: str) -> str:
    """Return text in a fixed-width block with its line breaks."""
    return f"<pre>{escape(text)}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; beyond 40 rows only the first ones, and the number of the remaining rows."""
    whole = list(rows)
    out = ["<table><thead><tr>", *(f"<th>{escape(name)}</th>" for name in head), "</tr></thead><tbody>"]
    for row in whole[:_MOST]:
        out += ["<tr>", *(f"<td>{escape(printable(str(cell)))}</td>" for cell in row), "</tr>"]
    if len(whole) > _MOST:
        out.append(f'<tr><td colspan="{len(head)}">and {len(whole) - _MOST} more</td></tr>')
    return "".join([*out, "</tbody></table>"])


def answer(result: Any) -> str:
    """Return a result as printed; a result without its own print as a table of its attributes."""
    if type(result).__str__ is not object.__str__ or not is_dataclass(result):
        return preformatted(str(result))
    rows = [(f.name, _short(getattr(result, f.name))) for f in fields(result) if f.repr]
    return heading(type(result).__name__) + table(("", ""), rows)


def _short(value: Any) -> str:
    """Return a value shortened to a few lines."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=6, threshold=_MOST, edgeitems=3)
        return text if value.ndim < 2 and value.size <= _MOST else f"{value.shape}: {text}"
    text = str(value)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
