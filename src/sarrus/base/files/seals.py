"""Seals: the last line of a data file of sarrus, with the SHA-256 checksum of all bytes before it.

The seal is checked before the content is parsed, so that a damaged file is one clear error. HDF5 allows bytes after
the end of its data.
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
    """Return the seal of a content, to be appended to it."""
    return _seal_of(hashlib.sha256(content))


def add_seal(path: Path) -> None:
    """Append the seal to a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    with path.open("ab") as file:
        file.write(_seal_of(digest))


def unsealed(path: Path, what: str) -> bytes:
    """Return the content of a sealed file without its seal; errors as in `check_seal`."""
    data = _read(path)
    content, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
    _compare(path, what, seal, hashlib.sha256(content))
    return content


def check_seal(path: Path, what: str) -> None:
    """Raise `ArgumentError` unless a file exists, can be read and matches its seal; read in pieces, so it may be large.

    ``what`` names the expected content in errors, such as "a trajectory that sarrus saved".
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
    """Return the content of a file, sealed or not, without a check."""
    data = _read(path)
    return data[:-_SEAL_BYTES] if data[-_SEAL_BYTES:].startswith(_SEAL) else data


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # reading a pipe could wait for ever
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
