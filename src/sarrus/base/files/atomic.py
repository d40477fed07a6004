"""Atomic writes: after a full disk, a kill or a power cut a file has its old content or its new content, never a part.

A file is written under another name in the same folder, flushed to the disk, and renamed.
"""

from __future__ import annotations

import csv
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sarrus.base.errors import ArgumentError, SarrusError, WriteError

PART = ".part"  # marks the name of a file while it is written
_STEM = 40  # characters of the final name in the temporary name, whose length systems limit
_BLOCK = 1 << 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | Path, *, kept: str, needed: int | None = None) -> Iterator[Path]:
    """Yield the path of an empty file to write; at the end it replaces ``path`` and is flushed to the disk.

    Parameters
    ----------
    path : the final path. A link is followed; the mode of an old file is kept.
    kept : end of the error message about the data, such as "the trajectory is still in memory".
    needed : size of the content in bytes, if known.

    Raises
    ------
    WriteError
        The file cannot be written; the old one is unchanged. On a full disk the error says how much space is missing.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    mark = f"{os.getpid()}-{secrets.token_hex(4)}"
    partial = target.with_name(f".{target.stem[:_STEM]}.{mark}{PART}{target.suffix}")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if target.exists():
            shutil.copymode(target, partial)
        yield partial
        flush(partial)
        os.replace(partial, target)
    except OSError as error:
        if isinstance(error, SarrusError):
            raise
        raise WriteError(_why(error, path, partial, needed, kept), element=str(path)) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    try:
        flush(target.parent)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WriteError(
            f"{path}: written, but a power cut may lose it: its folder could not be flushed ({reason})",
            element=str(path),
        ) from error


def write(
    path: str | Path, pieces: Iterable[bytes | memoryview], *, kept: str, needed: int | None = None
) -> None:
    """Write pieces of content in order; see `replacing`."""
    with replacing(path, kept=kept, needed=needed) as partial, partial.open("wb", buffering=_BLOCK) as file:
        for piece in pieces:
            file.write(piece)


def write_text(path: str | Path, text: str, *, kept: str) -> None:
    """Write a text file; see `replacing`."""
    write(path, [text.encode()], kept=kept)


def write_table(path: str | Path, headers: Iterable[str], lines: Iterable[str], *, kept: str) -> None:
    """Write a table as CSV: the headers, quoted if necessary, then the lines of numbers; see `replacing`."""
    with replacing(path, kept=kept) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(headers)
        file.writelines(lines)


def flush(path: Path) -> None:
    """Flush the content of a file, or the entries of a folder, to the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # Windows flushes no folders
        return
    descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checked_path(path: str | Path, suffixes: tuple[str, ...], what: str) -> Path:
    """Return the path if its suffix is one of ``suffixes`` and its folder exists."""
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        valid = " or ".join(suffixes) if len(suffixes) < 3 else "one of " + ", ".join(suffixes)
        raise ArgumentError(
            f"{path}: {what}: the name must end in {valid}", element=str(path), valid=suffixes
        )
    if not path.parent.is_dir():
        raise ArgumentError(f"{path}: no such folder: {path.parent}", element=str(path))
    if path.exists() and not path.is_file():
        raise ArgumentError(f"{path}: {what}: the path exists and is not a file", element=str(path))
    return path


def _why(error: OSError, path: Path, partial: Path, needed: int | None, kept: str) -> str:
    """Return the sentence about a failed write."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in _NO_ROOM:
        with suppress(OSError):
            written = partial.stat().st_size if partial.exists() else 0
            free = shutil.disk_usage(path.absolute().parent).free + written
            if needed is None:
                reason += f": {_bytes(free)} are free"
            elif needed > free:
                reason += f": {_bytes(needed)} are needed, {_bytes(needed - free)} are missing"
    old = f"; {path} is unchanged" if path.exists() else ""
    return f"{path}: cannot be written ({reason}): {kept}{old}"


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000.0 or unit == "GB":
            break
        count /= 1000.0
    return f"{count:.4g} {unit}"
