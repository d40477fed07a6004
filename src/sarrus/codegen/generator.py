"""The modules that turn a program into object code, and the digest of their sources, which is part of every key."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from sarrus.codegen import emit, machine, operations, program
from sarrus.codegen.exact import angles, elementary, error_functions, exponentials, straight_line

MODULES = (
    angles,
    elementary,
    emit,
    error_functions,
    exponentials,
    machine,
    operations,
    program,
    straight_line,
)


@lru_cache(maxsize=1)
def generator_digest(compiler: str) -> str:
    """Return the digest of the sources of `MODULES` and of the file ``compiler``, which calls them."""
    digest = hashlib.sha256()
    for source in (*(str(module.__file__) for module in MODULES), compiler):
        digest.update(hashlib.sha256(Path(source).read_bytes()).digest())
    return digest.hexdigest()
