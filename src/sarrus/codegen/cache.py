"""Disk cache of object code, with the hash of its origin as key.

An entry is one file: a seal, a line of JSON (format, key, facts about the program) and the code. The seal is a digest
of the rest, keyed with a secret of the user stored beside the entries. Entries are used only in a directory that is
private to the user (`sarrus.codegen.private`); without one nothing is stored, and one warning says so. An entry with a
wrong seal, damaged or of other origin, is removed and the program compiled again; so are all entries if the secret is
lost. No part of an entry is read before its seal is verified.

Entries are written to a temporary file and renamed, so readers see a whole entry or none, and several processes may
compile the same program at once. They are not synchronized with the disk: after a power cut a partial entry has no
valid seal.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from sarrus.base.errors import CacheWarning
from sarrus.codegen.private import NotPrivateError, PrivateDirectory, open_private

FORMAT = 2
_SUFFIX, _SECRET = ".sarrus", "secret"
_SECRET_SIZE, _SEAL_SIZE = 32, 32
_counts: Counter[str] = Counter()
_warned: set[str] = set()


@dataclass(frozen=True)
class CacheInfo:
    """State of the disk cache.

    Attributes
    ----------
    directory : Path or None
        The directory of the entries; None if there is none to write to.
    hits, misses : int
        Compilations since the start of this process with and without an entry in the cache.
    entries : int
        Number of entries in the directory.
    """

    directory: Path | None
    hits: int
    misses: int
    entries: int


@dataclass(frozen=True)
class Entry:
    """Object code and facts about its program."""

    code: bytes
    n_instructions: int
    chunks: int


def cache_info() -> CacheInfo:
    """Return the directory in use, hits and misses since this process started, and the number of entries."""
    with _place() as place:
        path = place.path if place else None
        entries = len(_entries(place)) if place else 0
    return CacheInfo(path, _counts["hits"], _counts["misses"], entries)


def clear_cache() -> int:
    """Remove all entries and return their number. Loaded functions stay usable."""
    with _place() as place:
        return sum(place.remove(name) for name in _entries(place)) if place else 0


def directory() -> Path | None:
    """Return the directory in use, made if it is missing.

    ``SARRUS_CACHE_DIR`` or, if it is not set, the user's cache directory of this system; if it cannot be made or
    written to, a directory of the user in the temporary directory. None if that fails too, and if one of them is not
    private to the user: compiled code is then not stored, and a `CacheWarning` gives the reason, once.
    """
    with _place() as place:
        return place.path if place else None


def has(key: str) -> bool:
    """Tell whether an entry of ``key`` exists, valid or not."""
    with _place() as place:
        return place is not None and place.has(f"{key}{_SUFFIX}")


def load(key: str) -> Entry | None:
    """Return the entry of ``key``, or None without a valid one."""
    with _place() as place:
        if place is None:
            return None
        try:
            return _decode(place.read(f"{key}{_SUFFIX}"), key, _secret(place))
        except FileNotFoundError:
            return None
        except (OSError, NotPrivateError, ValueError, KeyError, TypeError):
            place.remove(f"{key}{_SUFFIX}")
            return None


def store(key: str, entry: Entry) -> None:
    """Write an entry; if the disk is full or read-only, the next process compiles again."""
    with _place() as place, suppress(OSError, NotPrivateError):
        if place is not None:
            place.write(f"{key}{_SUFFIX}", _encode(key, entry, _secret(place)))


def discard(key: str) -> None:
    """Remove the entry of ``key``."""
    with _place() as place:
        if place is not None:
            place.remove(f"{key}{_SUFFIX}")


def count(hit: bool) -> None:
    """Count one use of the cache."""
    _counts["hits" if hit else "misses"] += 1


def _place() -> PrivateDirectory | nullcontext[None]:
    """Open the directory in use; None if compiled code is not stored."""
    try:
        try:
            return open_private(_preferred())
        except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
            if not hasattr(os, "geteuid"):
                raise
            return open_private(Path(tempfile.gettempdir()) / f"sarrus-{os.geteuid()}")
    except (OSError, RuntimeError, NotPrivateError) as error:
        _warn(str(error))
        return nullcontext()


def _preferred() -> Path:
    chosen = os.environ.get("SARRUS_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sarrus" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sarrus"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sarrus"


def _warn(reason: str) -> None:
    """Warn once that code is not stored, and not in processes started by this one."""
    from multiprocessing import parent_process

    if reason not in _warned and parent_process() is None:
        _warned.add(reason)
        remedy = "SARRUS_CACHE_DIR can name a directory that is yours alone"
        warnings.warn(f"compiled code is not kept: {reason}; {remedy}", CacheWarning, stacklevel=3)


def _entries(place: PrivateDirectory) -> list[str]:
    return [name for name in place.names() if name.endswith(_SUFFIX)]


def _secret(place: PrivateDirectory) -> bytes:
    """Return the user's secret; without a valid one the first process makes it."""
    for _ in range(2):
        try:
            secret = place.read(_SECRET, secret=True)
            if len(secret) == _SECRET_SIZE:
                return secret
            place.remove(_SECRET)
        except FileNotFoundError:
            pass
        except (OSError, NotPrivateError):
            place.remove(_SECRET)
        place.write(_SECRET, secrets.token_bytes(_SECRET_SIZE), keep=True)
    raise OSError(f"{place.path / _SECRET} does not stay as it was written")


def _seal(data: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(data, key=secret, digest_size=_SEAL_SIZE, person=b"sarrus entry").digest()


def _encode(key: str, entry: Entry, secret: bytes) -> bytes:
    header = {"format": FORMAT, "key": key, "n_instructions": entry.n_instructions, "chunks": entry.chunks}
    data = json.dumps(header).encode() + b"\n" + entry.code
    return _seal(data, secret) + data


def _decode(data: bytes, key: str, secret: bytes) -> Entry:
    seal, data = data[:_SEAL_SIZE], data[_SEAL_SIZE:]
    if not hmac.compare_digest(seal, _seal(data, secret)):
        raise ValueError("a damaged entry, or one from elsewhere")
    line, _, code = data.partition(b"\n")
    header = json.loads(line)
    if header["format"] != FORMAT or header["key"] != key:
        raise ValueError("an entry of another program or another version")
    return Entry(code, int(header["n_instructions"]), int(header["chunks"]))
