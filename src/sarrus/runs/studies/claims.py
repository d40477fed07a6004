"""Claims on the chunks of a store, so that processes share the work without doing a chunk twice.

A claim is a locked file, which the operating system unlocks when its process ends, however it ends. The file names its
owner and the time.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, cast

import portalocker

from sarrus.base.errors import ArgumentError, WriteError


@dataclass(frozen=True)
class Owner:
    """The owner of a claim: process and host, and the time of the claim."""

    process: int
    host: str
    since: datetime

    @property
    def age(self) -> timedelta:
        """Time since the claim."""
        return datetime.now().astimezone() - self.since

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.age.total_seconds():.0f} s"


class Claim:
    """A claim that is held; made by `claim`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def release(self) -> None:
        """Release the claim."""
        with self._file, suppress(OSError):
            self._file.truncate(0)


def claim(path: Path) -> Claim | None:
    """Return a claim on a lock file, which is made if missing; None if another process holds it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = cast(BinaryIO, path.open("ab", buffering=0))
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror}): nothing was run", element="store"
        ) from error
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.LockException as error:
        file.close()
        if isinstance(error, portalocker.AlreadyLocked):
            return None
        raise ArgumentError(
            f"store: files in {path.parent} cannot be locked ({error}): give a folder on a disk of this machine",
            element="store",
        ) from error
    held = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(),
    }
    with suppress(OSError):  # on a full disk it stays without a name
        file.truncate(0)
        file.write(json.dumps(held).encode())
    return Claim(file)


def owner(path: Path) -> Owner | None:
    """Return the owner of the claim on a lock file; None if there is none or it is unknown."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return Owner(int(said["process"]), str(said["host"]), datetime.fromisoformat(said["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
