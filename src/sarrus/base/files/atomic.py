"""Files that are there whole or not at all.

A file is written beside its name, flushed to the disk and renamed: whatever happens on the way (a full disk, a kill, a
power cut), its name stands for the old content or for the new one.
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

PART = ".part"  # in the name of a file that is being written
_STEM = 40  # characters of the own name in it, which may be as long as the system allows
_BLOCK = 1 << 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | Path, *, kept: str, needed: int | None = None) -> Iterator[Path]:
    """Yield the path of an empty file to write; at the end it takes the place of ``path``, flushed to the disk.

    Parameters
    ----------
    path : where the file shall be. A link is followed, the mode of an old file stays.
    kept : what an error says of the data, such as "the trajectory is still in memory".
    needed : size of the content in bytes, where it is known.

    Raises
    ------
    WriteError
        The file cannot be written; the old one is untouched. Where the disk is full it says how much is missing.
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
    """Write pieces of content one after the other; see `replacing`."""
    with replacing(path, kept=kept, needed=needed) as partial, partial.open("wb", buffering=_BLOCK) as file:
        for piece in pieces:
            file.write(piece)


def write_text(path: str | Path, text: str, *, kept: str) -> None:
    """Write a text file; see `replacing`."""
    write(path, [text.encode()], kept=kept)


def write_table(path: str | Path, headers: Iterable[str], lines: Iterable[str], *, kept: str) -> None:
    """Write a table as CSV: the headers, quoted where they must be, then lines of numbers; see `replacing`."""
    with replacing(path, kept=kept) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(headers)
        file.writelines(lines)


def flush(path: Path) -> None:
    """Have the disk hold what was written to a file, or the names in a folder."""
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
        raise ArgumentError(f"{path}: {what}: there is something that is no file", element=str(path))
    return path


def _why(error: OSError, path: Path, partial: Path, needed: int | None, kept: str) -> str:
    """Return the sentence about a write that failed."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in _NO_ROOM:
        with suppress(OSError):
            written = partial.stat().st_size if partial.exists() else 0
            free = shutil.disk_usage(path.absolute().parent).free + written
            if needed is None:
                reason += f": {_bytes(free)} are free"
            elif needed > free:
                reason += f": {_bytes(needed)} are needed, {_bytes(needed - free)} are missing"
    old = f"; {path} is as it was" if path.exists() else ""
    return f"{path}: cannot be written ({reason}): {kept}{old}"


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000.0 or unit == "GB":
            break
        count /= 1000.0
    return f"{count:.4g} {unit}"
