"""The kernels as the package ships them: one file, written when it is built (`sarrus.kernels.ship`).

It holds the object code of each kernel for the baseline of its kind of machine (`sarrus.codegen.machine.baseline`), and
the LLVM text of all of them, from before it was optimised for a processor, compressed. It begins with a line of JSON:
what it was made from and for, and where everything lies. A file that was made from other sources than those beside it,
or for another kind of machine, counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import llvmlite

from sarrus.codegen.machine import baseline
from sarrus.kernels.origin import sources

FILE = Path(__file__).with_name("prebuilt.bin")
FORMAT = 1
_TEXTS = "texts"


def facts() -> dict[str, Any]:
    """Return what a file must have been made from and for, to be used here."""
    made_for = baseline()
    return {
        "format": FORMAT,
        "sources": sources(),
        "platform": made_for.platform,
        "cpu": made_for.cpu,
        "features": made_for.features,
    }


@dataclass(frozen=True)
class Prebuilt:
    """A file of kernels: ``places`` has offset, size and digest of each part."""

    path: Path
    start: int
    places: dict[str, tuple[int, int, str]]
    llvmlite: str

    def code(self, name: str) -> bytes | None:
        """Return the object code of a kernel; None where it is not there or damaged."""
        return self._part(name)

    def text(self, name: str) -> str | None:
        """Return the LLVM text of a kernel; None where it is not there or damaged."""
        return self._texts.get(name)

    @cached_property
    def _texts(self) -> dict[str, str]:
        packed = self._part(_TEXTS)
        return {} if packed is None else json.loads(lzma.decompress(packed))

    def _part(self, name: str) -> bytes | None:
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
    """Return the file beside the sources; None where it is missing or does not belong here."""
    return read(FILE)


def read(path: Path) -> Prebuilt | None:
    """Return a file of kernels; None where there is none that belongs here."""
    try:
        with path.open("rb") as file:
            line = file.readline()
        header = json.loads(line)
        if any(header[name] != fact for name, fact in facts().items()):
            return None
        return Prebuilt(path, len(line), header["places"], header["llvmlite"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def pieces(objects: Mapping[str, bytes], texts: Mapping[str, str]) -> Iterable[bytes]:
    """Return the content of a file of these kernels, in pieces."""
    packed = lzma.compress(json.dumps(dict(texts)).encode(), preset=9 | lzma.PRESET_EXTREME)
    parts, places, end = {**objects, _TEXTS: packed}, {}, 0
    for name, part in parts.items():
        places[name] = end, len(part), _digest(part)
        end += len(part)
    header = facts() | {"llvmlite": llvmlite.__version__, "places": places}
    return [json.dumps(header).encode() + b"\n", *parts.values()]
