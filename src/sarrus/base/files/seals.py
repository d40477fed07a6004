"""Seals: the last line of a file that sarrus reads again as numbers, with the SHA-256 of all before it.

Nothing else looks at the content before its seal was found true, so that a damaged file is one clear error, whatever
the library that reads it would make of it. HDF5 and what builds on it allow bytes behind the end that they know.
"""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from sarrus.base.errors import ArgumentError

_SEAL = b"\nsarrus sha256 "
_SEAL_BYTES = len(_SEAL) + 64 + 1
_BLOCK = 1 << 20


def seal(content: bytes | memoryview) -> bytes:
    """Return the seal of content, to be written behind it."""
    return _seal_of(hashlib.sha256(content))


def add_seal(path: Path) -> None:
    """Seal a file as it is."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    with path.open("ab") as file:
        file.write(_seal_of(digest))


def unsealed(path: Path, what: str) -> bytes:
    """Return the content of a sealed file without its seal; other files are errors as in `check_seal`."""
    data = _read(path)
    content, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
    _compare(path, what, seal, hashlib.sha256(content))
    return content


def check_seal(path: Path, what: str) -> None:
    """Raise an `ArgumentError` unless a file is there, can be read and is as it was sealed; it may be large.

    ``what`` says what it should be, such as "a trajectory that sarrus saved".
    """
    try:
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, "no such file")
        left, digest = path.stat().st_size - _SEAL_BYTES, hashlib.sha256()
        with path.open("rb") as file:
            while left > 0 and (block := file.read(min(left, _BLOCK))):
                digest.update(block)
                left -= len(block)
            seal = file.read(_SEAL_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    _compare(path, what, seal, digest)


def content_of(path: Path) -> bytes:
    """Return the content of a file, sealed or not, without looking at its seal."""
    data = _read(path)
    return data[:-_SEAL_BYTES] if data[-_SEAL_BYTES:].startswith(_SEAL) else data


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ArgumentError:
    return ArgumentError(f"{path}: {(error.strerror or str(error)).lower()}", element=str(path))


def _compare(path: Path, what: str, seal: bytes, digest: hashlib._Hash) -> None:
    if not seal.startswith(_SEAL):
        raise ArgumentError(
            f"{path}: not {what}, or a damaged one: its last line is no seal, the checksum of all before it",
            element=str(path),
        )
    if seal != _seal_of(digest):
        raise ArgumentError(
            f"{path}: damaged, or changed after it was written: its content does not match its seal",
            element=str(path),
        )


def _seal_of(digest: hashlib._Hash) -> bytes:
    return _SEAL + digest.hexdigest().encode() + b"\n"
