"""Object code on disk, found again by the hash of what it was made from.

An entry is one file: a seal, a line of JSON (format, key, facts about the program) and the code. The seal is a digest
of all the rest, keyed with a secret of the user's that lies beside the entries. Entries are only used in a directory
that is the user's alone (`sarrus.codegen.private`); where that cannot be had, nothing is kept, which one warning says.
An entry with a wrong seal, damaged or from elsewhere, is removed and the program compiled again; so are all of them
if the secret is lost. Nothing of an entry is looked at before its seal.

Entries are written to a temporary file and renamed, so readers see a whole entry or none, and processes that compile
the same program at the same time do not disturb one another. They are not synchronized with the disk: what a power cut
leaves half written has no seal.
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
        Where the entries are; None if there is no place to write to.
    hits, misses : int
        Compilations that found an entry, and that did not, since this process started.
    entries : int
        Number of entries in the directory.
    """

    directory: Path | None
    hits: int
    misses: int
    entries: int


@dataclass(frozen=True)
class Entry:
    """Object code and what is known about the program it was made from."""

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
    """Remove all entries and return how many there were. Functions that are loaded stay usable."""
    with _place() as place:
        return sum(place.remove(name) for name in _entries(place)) if place else 0


def directory() -> Path | None:
    """The directory in use, made if it is missing.

    ``SARRUS_CACHE_DIR`` or, if that is not set, the user's cache directory of this system; where that cannot be made or
    written to, a directory of the user's in the temporary directory. None if that cannot either, and if one of them is
    not the user's alone: then compiled code is not kept, and a `CacheWarning` says why, once.
    """
    with _place() as place:
        return place.path if place else None


def has(key: str) -> bool:
    """Tell whether there is an entry of ``key``, sound or not."""
    with _place() as place:
        return place is not None and place.has(f"{key}{_SUFFIX}")


def load(key: str) -> Entry | None:
    """Return the entry of ``key``, or None if there is none that is sound."""
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
    """Write an entry; a disk that is full or read-only only costs the next process a compilation."""
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
    """Open the directory in use; None if compiled code is not kept."""
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
    """Say once that code is not kept, and not again in the processes that this one starts."""
    from multiprocessing import parent_process

    if reason not in _warned and parent_process() is None:
        _warned.add(reason)
        remedy = "SARRUS_CACHE_DIR can name a directory that is yours alone"
        warnings.warn(f"compiled code is not kept: {reason}; {remedy}", CacheWarning, stacklevel=3)


def _entries(place: PrivateDirectory) -> list[str]:
    return [name for name in place.names() if name.endswith(_SUFFIX)]


def _secret(place: PrivateDirectory) -> bytes:
    """Return the user's secret; if there is none that is sound, the one that the first process to come here makes."""
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
