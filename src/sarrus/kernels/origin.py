"""What the code of the kernels depends on, as a part of the key under which it is kept."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from sarrus.codegen import cache
from sarrus.codegen.machine import host


@lru_cache(maxsize=1)
def origin() -> str:
    """Return all that the code of the kernels depends on: their sources, Numba, Python, the compiler, the machine."""
    sources = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(source.read_bytes())
    parts = [sources.hexdigest(), version("numba"), sys.version, str(cache.FORMAT), host().identity]
    return "\0".join(parts)
