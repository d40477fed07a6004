"""The text of a model file: an ordinary file, decoded by its byte order mark or declared encoding."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from sarrus.base.errors import ModelFileError

# Byte order marks, longest first: the mark of UTF-32 begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings accepted in an XML declaration without a byte order mark, by the names of Python's codecs.
_DECLARED = ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252")
_DECLARATION = re.compile(rb"<\?xml[^>]*?\bencoding\s*=\s*[\"']([^\"']*)[\"']")


def file_fault(path: Path, problem: str) -> ModelFileError:
    """Return the error "FILE: problem" about a file."""
    return ModelFileError(f"{path}: {problem}", element=str(path))


def is_pipe(path: Path) -> bool:
    """Return whether a path is a pipe or a socket, which may never end; an invalid path is none."""
    try:
        return path.is_fifo() or path.is_socket()
    except (OSError, ValueError):
        return False


def read_text(path: Path) -> str:
    """Return the text of a file, decoded by its byte order mark, its XML declaration, or as UTF-8.

    A path that is no ordinary file or cannot be opened, and bytes outside the encoding, raise `ModelFileError`.
    """
    return decode(path, read_bytes(path))


def check_file(path: Path) -> None:
    """Raise `ModelFileError` unless the path is an ordinary file (no folder, pipe or device)."""
    try:
        if path.is_dir():
            raise file_fault(path, "is a folder; load takes one model file")
        if not path.exists():
            raise file_fault(path, "no such file")
        if not path.is_file():
            raise file_fault(path, "is a pipe or a device; load takes an ordinary file")
    except (OSError, ValueError) as error:
        raise _closed(path, error) from None


def read_bytes(path: Path) -> bytes:
    """Return the content of an ordinary file."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise _closed(path, error) from None


def _closed(path: Path, error: OSError | ValueError) -> ModelFileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ModelFileError(f"{path}: cannot be opened: {reason}", element=str(path))


def decode(path: Path, content: bytes) -> str:
    """Return the content of the file as text."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    if encoding is None:
        encoding = _declared(path, content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        name = encoding.removesuffix("-sig").upper()
        raise file_fault(
            path, f"byte {error.start} in line {line} is no {name}; save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise file_fault(path, f"a null character in line {line}; save the file as UTF-8")
    return text


def _declared(path: Path, content: bytes) -> str:
    found = _DECLARATION.match(content[:200].lstrip())
    if found is None:
        return "utf-8"
    given = found.group(1).decode("ascii", "replace")
    try:
        name = codecs.lookup(given).name
    except (LookupError, ValueError):
        name = ""
    if name not in _DECLARED:
        raise file_fault(path, f"declares the encoding {given!r}, which is not read; save the file as UTF-8")
    return name
