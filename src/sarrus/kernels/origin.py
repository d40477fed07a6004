"""What the code of the kernels is made from, as a digest."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from sarrus.codegen import machine


@lru_cache(maxsize=1)
def sources() -> str:
    """Return the digest of all sources of the kernels, and of what has LLVM compile them."""
    digest = hashlib.blake2b(digest_size=32)
    for source in [*sorted(Path(__file__).parent.glob("*.py")), Path(machine.__file__)]:
        digest.update(source.read_bytes())
    return digest.hexdigest()
