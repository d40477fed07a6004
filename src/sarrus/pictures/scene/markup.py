"""HTML and SVG from text: the only place where text becomes markup, with every name escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from sarrus.base.printable import printable


class Html(str):
    """Text that is markup. Any other text is escaped where it becomes part of it."""

    __slots__ = ()


def html(*content: str) -> Html:
    """Return pieces of text and markup as markup."""
    return Html("".join(x if isinstance(x, Html) else escape(printable(x)) for x in content))


def element(tag: str, *content: str, **attributes: str | float) -> Html:
    """Return an element of HTML or SVG; underscores in the names of attributes stand for hyphens."""
    given = "".join(f' {name.replace("_", "-")}="{html(str(x))}"' for name, x in attributes.items())
    return Html(f"<{tag}{given}>{html(*content)}</{tag}>")


def lines(pieces: Iterable[str]) -> Html:
    """Return pieces of text and markup as lines."""
    return Html("<br>".join(html(piece) for piece in pieces))


class Pane:
    """A place of a panel that shows markup; plain text is shown literally."""

    def __init__(self, gui: Any, content: str = "") -> None:
        self._handle = gui.add_html(_plain(content))

    @property
    def content(self) -> str:
        """The displayed content."""
        return str(self._handle.content)

    @content.setter
    def content(self, content: str) -> None:
        self._handle.content = _plain(content)

    def remove(self) -> None:
        """Remove it from its panel."""
        self._handle.remove()


def _plain(content: str) -> str:
    """Return markup as viser takes it: a string of no other class."""
    return str(html(content))
