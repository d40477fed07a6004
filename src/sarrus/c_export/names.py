"""Names and comments of C from names of models, coordinates and settings."""

from __future__ import annotations

import re
from collections.abc import Iterable


def identifier(name: str, fallback: str = "model") -> str:
    """Return a C identifier like ``name``: letters, digits and single underscores, not at its ends."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not text:
        return fallback
    return f"{fallback}_{text}" if text[0].isdigit() else text


def macros(prefix: str, names: Iterable[str]) -> list[str]:
    """Return a name in capitals for each of ``names``, all different."""
    found: list[str] = []
    for k, name in enumerate(names):
        macro = f"{prefix}_{identifier(name, str(k))}".upper()
        while macro in found:
            macro = f"{macro}_{k}"
        found.append(macro)
    return found


def comment(text: str) -> str:
    """Return text that can stand in a comment of C."""
    text = " ".join(text.split()).replace("?", ".").replace("\\", "/")
    return text.replace("*/", "* /").replace("/*", "/ *")


def note(text: str, indent: str = "") -> str:
    """Return text as a comment of C, in lines of 100 characters."""
    words, lines, line = comment(text).split(" "), [], ""
    for word in words:
        if line and len(indent) + len(line) + len(word) > 95:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    lines.append(line)
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */"
