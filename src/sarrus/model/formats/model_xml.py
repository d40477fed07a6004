"""XML of model files: the tree of elements within bounds of depth and size, and the numbers in attributes.

The reference parsers of MJCF, URDF and SDF are TinyXML and TinyXML-2. They ignore namespaces, end a comment at the
first ``-->``, and accept blank lines before the declaration. `parse_xml` accepts the same and reports the lines.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.model_text import file_fault, read_text

# Largest depth of nesting; MuJoCo's parser stops at 500, and recursive readers need the stack.
MAX_DEPTH = 400
_NAN = re.compile(r"[+-]?nan(\(\w*\))?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)
_DECLARATION = re.compile(r"\s+(<\?xml\b[^>]*\?>)")
_OPENING = re.compile(r"<!--|<!\[CDATA\[|<\?")
_CLOSING = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}


class _Builder:
    """Builds the tree of one file, at most `MAX_DEPTH` deep and without entities defined in the file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text, self._depth = path, text, 0
        self._tree = ElementTree.TreeBuilder()
        self._declared: set[str] = {"xml", "xmlns"}
        self._used: dict[str, int] = {}
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._tree.data
        self._parser.StartDoctypeDeclHandler = self._doctype

    def parse(self) -> ElementTree.Element:
        """Return the root; raise `expat.ExpatError` for malformed XML."""
        self._parser.Parse(self._text.encode(), True)
        return self._tree.close()

    def unbound(self) -> Iterator[tuple[str, int]]:
        """Iterate over the prefixes that no ``xmlns:`` declares, each with the line of its first use."""
        return ((prefix, line) for prefix, line in self._used.items() if prefix not in self._declared)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ModelFileError(
                f"{self._path}: <{tag}> is nested {self._depth} deep; at most {MAX_DEPTH} levels are read",
                element=tag,
            )
        for name in (tag, *attributes):
            prefix, colon, rest = name.partition(":")
            if colon:
                self._used.setdefault(prefix, self._parser.CurrentLineNumber)
            if colon and prefix == "xmlns":
                self._declared.add(rest)
        self._tree.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        self._tree.end(tag)

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        """Refuse entities defined in the file: MuJoCo's parser drops them with their content."""
        if "<!ENTITY" in self._text:
            raise ModelFileError(
                f"{self._path}: defines entities (<!ENTITY>), which are not read; write out what they stand for",
                element=name,
            )


def parse_xml(path: Path, odd: list[tuple[int, str]] | None = None) -> ElementTree.Element:
    """Return the root element of an XML file; a prefix and its colon stay part of the name.

    Raises `ModelFileError` (with file and line or element) for a file that is missing, in an encoding other than the
    declared one, too deep or malformed, and for NaN in an attribute or text. Violations of XML that the reference
    parsers accept are accepted; their lines and reasons are appended to ``odd``.
    """
    found: list[tuple[int, str]] = []
    builder = _Builder(path, _mended(read_text(path), found))
    try:
        root = builder.parse()
    except expat.ExpatError as error:
        raise file_fault(
            path,
            f"malformed XML at line {error.lineno}, column {error.offset + 1}: {expat.ErrorString(error.code)}",
        ) from None
    found += [(line, f"the prefix {prefix!r} is not declared") for prefix, line in builder.unbound()]
    if odd is not None:
        odd += found
    for element in root.iter():
        values = [*((k, v) for k, v in element.attrib.items() if k != "name"), ("text", element.text or "")]
        for key, value in values:
            if "nan" in value.lower() and any(map(_NAN.fullmatch, value.split())):
                label = label_of(element)
                raise ModelFileError(f"{path}: {label} has NaN in {key!r}: {value.strip()!r}", element=label)
    return root


def _mended(text: str, odd: list[tuple[int, str]]) -> str:
    """Blank out text that TinyXML skips and XML forbids; lines and columns of the rest do not change."""
    declaration = _DECLARATION.match(text)
    if declaration is not None:
        odd.append((text.count("\n", 0, declaration.start(1)) + 1, "blank space before the XML declaration"))
        text = _blank(declaration.group()) + text[declaration.end() :]
    parts, at = [], 0
    for opening in _OPENING.finditer(text):
        if opening.start() < at:
            continue
        end = text.find(_CLOSING[opening.group()], opening.end())
        if end < 0:
            break
        inner = text[opening.end() : end]
        if opening.group() == "<!--" and ("--" in inner or inner.endswith("-")):
            odd.append((text.count("\n", 0, opening.start()) + 1, "'--' inside a comment"))
            inner = _blank(inner)
        parts += [text[at : opening.end()], inner]
        at = end
    return "".join([*parts, text[at:]])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def label_of(element: ElementTree.Element) -> str:
    """Return the label of an element in errors: its tag, and its name if it has one."""
    name = element.get("name")
    return f"<{element.tag}>" + (f" {name!r}" if name else "")


def real(text: str) -> float:
    """Return the number in a text in the notation of C and XML, infinities included; else `ValueError`.

    Python's float accepts more, such as 1_000 and digits of other scripts.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)


def reals(text: str, count: int | None = None) -> list[float] | None:
    """Return the numbers in a text separated by blanks; None if it has others, or not ``count`` of them."""
    try:
        values = [real(word) for word in text.split()]
    except ValueError:
        return None
    return values if count in (None, len(values)) else None
