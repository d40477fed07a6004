"""Docstrings as reStructuredText: sections become definition lists, indented lines literal blocks.

An entry of a section is ``names : prose``, and its prose goes on in the lines that are indented below it.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

ENTRY = re.compile(r"[\w*][\w*., ]* : \S")
ROLE_OR_LITERAL = re.compile(r"(``.*?``|`[^`]+`)")


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    if inspect.isclass(obj) and lines and lines[0].startswith(f"{obj.__name__}("):
        lines.clear()  # a dataclass without a docstring has its signature as one
        return
    source, lines[:] = list(lines), []
    k = 0
    while k < len(source):
        line = source[k]
        if k + 1 < len(source) and line and re.fullmatch(r"-{3,}", source[k + 1]):
            lines += ["", f".. rubric:: {line}", ""]
            k += 2
        elif line.startswith(" ") and not (lines and lines[-1]):
            k = indented(source, k, lines)
        elif ENTRY.match(line):
            k = entry(source, k, lines)
        else:
            lines.append(escape(line))
            k += 1


def indented(source: list[str], k: int, lines: list[str]) -> int:
    """Take an indented block as it stands: an equation or a table."""
    lines += ["::", ""]
    while k < len(source) and (source[k].startswith(" ") or not source[k]):
        lines.append(source[k])
        k += 1
    lines.append("")
    return k


def entry(source: list[str], k: int, lines: list[str]) -> int:
    """Take an entry with the lines that are indented below it."""
    names, _, text = source[k].partition(" : ")
    lines += ["", ", ".join(f"**{name.strip()}**" for name in names.replace("*", "\\*").split(","))]
    lines.append(f"    {escape(text)}")
    k += 1
    while k < len(source) and source[k].startswith(" "):
        lines.append(f"    {escape(source[k].strip())}")
        k += 1
    lines.append("")
    return k


def escape(line: str) -> str:
    """Protect bars and stars, which are mathematics here, outside of literals and references."""
    parts = ROLE_OR_LITERAL.split(line)
    return "".join(
        part if k % 2 else re.sub(r"(?<!\w)\*(?!\*)|\|", r"\\\g<0>", part) for k, part in enumerate(parts)
    )


def signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, arguments: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Results are made by the library: their constructors are not shown."""
    home = name.rpartition(".")[0]
    if what == "class" and home not in PUBLIC:
        return "", None
    return None


PUBLIC = (
    "sarrus",
    "sarrus.control",
    "sarrus.dynamics.coordinates",
    "sarrus.formulations",
    "sarrus.dynamics.optimize",
)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
