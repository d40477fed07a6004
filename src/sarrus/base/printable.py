"""Names from model files where a reader sees them: on one line, without signs that cannot be seen."""

from __future__ import annotations

import unicodedata

# Unicode's controls, formats (marks that turn the direction of text) and half signs
_UNSEEN = ("Cc", "Cf", "Cs")
_JOINERS = "\u200c\u200d"  # formats that writing needs


def printable(text: str) -> str:
    """Return text on one line with � in the place of what cannot be seen: controls, marks of direction, halves."""
    return "".join(map(_seen, text))


def _seen(sign: str) -> str:
    if sign.isspace():
        return " "
    return "�" if unicodedata.category(sign) in _UNSEEN and sign not in _JOINERS else sign
