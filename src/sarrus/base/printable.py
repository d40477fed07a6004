"""Names from model files, made safe to print: on one line, without invisible characters."""

from __future__ import annotations

import unicodedata

# Unicode categories: controls, format characters (such as text direction), surrogates.
_UNSEEN = ("Cc", "Cf", "Cs")
_JOINERS = "\u200c\u200d"  # format characters that are part of words in some scripts


def printable(text: str) -> str:
    """Return text on one line with � for invisible characters: controls, direction marks, surrogates."""
    return "".join(map(_seen, text))


def _seen(sign: str) -> str:
    if sign.isspace():
        return " "
    return "�" if unicodedata.category(sign) in _UNSEEN and sign not in _JOINERS else sign
