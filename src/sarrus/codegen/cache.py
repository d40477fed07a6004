"""Object code on disk, found again by the hash of what it was made from.

An entry is one file: a line of JSON (format, key, digest of the code, facts about the program) and the code.
It is written to a temporary file and renamed, so readers see a whole entry or none, and processes that
compile the same program at the same time do not disturb one another. An entry whose format, key or digest is
wrong is removed and the program compiled again. The digest guards against damage, not against malice: whoever
can write to the directory can run code in the user's name, so directory and files are private to the user.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FORMAT = 1
_SUFFIX = ".sarrus"
_counts: Counter[str] = Counter()


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
    place = directory()
    entries = sum(1 for _ in place.glob(f"*{_SUFFIX}")) if place else 0
    return CacheInfo(place, _counts["hits"], _counts["misses"], entries)


def clear_cache() -> int:
    """Remove all entries and return how many there were. Functions that are loaded stay usable."""
    place = directory()
    removed = 0
    for path in place.glob(f"*{_SUFFIX}") if place else ():
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def directory() -> Path | None:
    """The directory in use, made if it is missing.

    The first of these that can be written to: ``SARRUS_CACHE_DIR`` or, if that is not set, the user's cache
    directory of this system; a directory of the user in the temporary directory. None if neither can.
    """
    with suppress(OSError, RuntimeError):  # RuntimeError: the user has no home directory
        return _writable(_preferred())
    if hasattr(os, "getuid"):
        with suppress(OSError):
            path = _writable(Path(tempfile.gettempdir()) / f"sarrus-{os.getuid()}")
            status = path.lstat()
            if status.st_uid == os.getuid() and not status.st_mode & 0o022 and not path.is_symlink():
                return path
    return None


def _preferred() -> Path:
    chosen = os.environ.get("SARRUS_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sarrus" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sarrus"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sarrus"


def _writable(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(path)
    return path


def has(key: str) -> bool:
    """Tell whether there is an entry of ``key``, sound or not."""
    place = directory()
    return place is not None and (place / f"{key}{_SUFFIX}").exists()


def load(key: str) -> Entry | None:
    """Return the entry of ``key``, or None if there is none that is sound."""
    place = directory()
    if place is None:
        return None
    try:
        return _decode((place / f"{key}{_SUFFIX}").read_bytes(), key)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        discard(key)
        return None


def store(key: str, entry: Entry) -> None:
    """Write an entry; a disk that is full or read-only only costs the next process a compilation."""
    place = directory()
    if place is None:
        return
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(prefix=key[:16], suffix=".tmp", dir=place)  # mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_encode(key, entry))
            os.replace(temporary, place / f"{key}{_SUFFIX}")
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def discard(key: str) -> None:
    """Remove the entry of ``key``."""
    place = directory()
    if place is not None:
        with suppress(OSError):
            (place / f"{key}{_SUFFIX}").unlink()


def count(hit: bool) -> None:
    """Count one use of the cache."""
    _counts["hits" if hit else "misses"] += 1


def _encode(key: str, entry: Entry) -> bytes:
    header = {
        "format": FORMAT,
        "key": key,
        "sha256": hashlib.sha256(entry.code).hexdigest(),
        "n_instructions": entry.n_instructions,
        "chunks": entry.chunks,
    }
    return json.dumps(header).encode() + b"\n" + entry.code


def _decode(data: bytes, key: str) -> Entry:
    line, _, code = data.partition(b"\n")
    header = json.loads(line)
    if header["format"] != FORMAT or header["key"] != key:
        raise ValueError("an entry of another program or another version")
    if header["sha256"] != hashlib.sha256(code).hexdigest():
        raise ValueError("a damaged entry")
    return Entry(code, int(header["n_instructions"]), int(header["chunks"]))
