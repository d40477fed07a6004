"""XML of model files: the tree of elements within bounds, and the numbers in it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from sarrus.errors import ModelFileError
from sarrus.mechanism.model_text import read_text

# Deeper files are no models; MuJoCo's parser stops at 500, and readers that follow the tree need the stack.
MAX_DEPTH = 400
_NAN = re.compile(r"[+-]?nan(\(\w*\))?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)


class _Builder(ElementTree.TreeBuilder):
    """Builds the tree of one file, no deeper than `MAX_DEPTH` and without entities of the file's own."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self._path, self._text, self._depth = path, text, 0

    def start(self, tag: str, attrs: dict[Any, Any]) -> ElementTree.Element:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ModelFileError(
                f"{self._path}: <{tag}> is nested {self._depth} deep; at most {MAX_DEPTH} levels are read",
                element=tag,
            )
        return super().start(tag, attrs)

    def end(self, tag: str) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Refuse entities, which MuJoCo's parser leaves out with all that they stand for."""
        if "<!ENTITY" in self._text:
            raise ModelFileError(
                f"{self._path}: defines entities (<!ENTITY>), which are not read; write out what they stand for",
                element=name,
            )


def parse_xml(path: Path) -> ElementTree.Element:
    """Return the root element of an XML file.

    A file that is missing, in another encoding than it says, too deep or no XML, and NaN in an attribute or
    text, raise `ModelFileError`, which names the file, the line or the element.
    """
    text = read_text(path)
    parser = ElementTree.XMLParser(target=_Builder(path, text), encoding="utf-8")
    try:
        parser.feed(text.encode())
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ModelFileError(
            f"{path}: malformed XML at line {line}, column {column + 1}: {error.msg.split(':')[0]}",
            element=str(path),
        ) from None
    for element in root.iter():
        values = [*((k, v) for k, v in element.attrib.items() if k != "name"), ("text", element.text or "")]
        for key, value in values:
            if "nan" in value.lower() and any(map(_NAN.fullmatch, value.split())):
                label = label_of(element)
                raise ModelFileError(f"{path}: {label} has NaN in {key!r}: {value.strip()!r}", element=label)
    return root


def label_of(element: ElementTree.Element) -> str:
    """Return what an error calls an element: its tag and its name, if it has one."""
    name = element.get("name")
    return f"<{element.tag}>" + (f" {name!r}" if name else "")


def real(text: str) -> float:
    """Return the number that a text is, as C and XML write it: infinities are legal; else `ValueError`.

    Python's own reading takes more, such as 1_000 and the digits of other scripts.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)
