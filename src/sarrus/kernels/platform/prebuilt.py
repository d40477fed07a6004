"""The kernels shipped in the package: one file, written by `sarrus.kernels.platform.build_prebuilt`.

The file holds the object code of each kernel for the baseline of its kind of machine
(`sarrus.codegen.machine.baseline`). Its first line is JSON: sources and target of the code, and the places of its
parts. A kernel made from other sources than those beside the file counts as missing, and so does a file for another
kind of machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sarrus.codegen.machine import baseline

FILE = Path(__file__).parents[1] / "prebuilt.bin"
FORMAT = 3


def facts() -> dict[str, Any]:
    """Return the facts that a file of kernels must match to be used here."""
    made_for = baseline()
    return {
        "format": FORMAT,
        "platform": made_for.platform,
        "cpu": made_for.cpu,
        "features": made_for.features,
    }


@dataclass(frozen=True)
class Prebuilt:
    """A file of kernels: ``places`` has offset, size and digest of each part, ``sources`` the source digest."""

    path: Path
    start: int
    places: dict[str, tuple[int, int, str]]
    sources: dict[str, str]

    def code(self, name: str, source: str) -> bytes | None:
        """Return the object code of a kernel; None if it is missing, damaged or made from other sources."""
        if self.sources.get(name) != source:
            return None
        offset, size, digest = self.places.get(name, (0, 0, ""))
        try:
            with self.path.open("rb") as file:
                file.seek(self.start + offset)
                part = file.read(size)
        except OSError:
            return None
        return part if digest == _digest(part) else None


def _digest(part: bytes) -> str:
    return hashlib.blake2b(part, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def shipped() -> Prebuilt | None:
    """Return the file beside the sources; None if it is missing or does not match this machine."""
    return read(FILE)


def read(path: Path) -> Prebuilt | None:
    """Return a file of kernels; None if it is missing or does not match this machine."""
    try:
        with path.open("rb") as file:
            line = file.readline()
        header = json.loads(line)
        if any(header[name] != fact for name, fact in facts().items()):
            return None
        return Prebuilt(path, len(line), header["places"], header["sources"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def pieces(objects: Mapping[str, bytes], sources: Mapping[str, str]) -> Iterable[bytes]:
    """Return the content of a file of these kernels, in pieces; ``sources`` are the digests of their sources."""
    places, end = {}, 0
    for name, code in objects.items():
        places[name] = end, len(code), _digest(code)
        end += len(code)
    header = facts() | {"places": places, "sources": dict(sources)}
    return [json.dumps(header).encode() + b"\n", *objects.values()]
