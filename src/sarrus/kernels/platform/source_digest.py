"""Digest of the sources of a kernel: its module, all modules that its imports reach, and the compiler."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from sarrus.base import tolerances
from sarrus.codegen import machine

OPTIMIZATION = 2  # level of LLVM's code generator
# Modules with straight-line code for blocks of six numbers, which LLVM packs into vectors.
PACKED = frozenset({"contact.contact_problem"})
HERE = Path(__file__).parents[1]  # the wing of the kernels
# What every kernel is made with, whether its module imports it or not: files of other wings, modules of this one.
_OF_OTHER_WINGS = (machine.__file__, tolerances.__file__)
_TOOLS = (
    "memory.record",
    "platform.build",
    "platform.native_call",
    "platform.pointers",
    "platform.source_digest",
    *(f"platform.{path.stem}" for path in HERE.glob("platform/llvm_*.py")),
)
_IMPORT = re.compile(
    r"^[ \t]*from sarrus\.kernels(?:\.(?P<module>\w+(?:\.\w+)*))?[ \t]+import[ \t]+(?P<names>\([^)]*\)|.*)",
    re.MULTILINE,
)
# Imports of kernels stand before it; functions for Python may have their own.
_FIRST_DEFINITION = re.compile(r"^(?:def |class |@)", re.MULTILINE)


def sources(module: str) -> str:
    """Return the digest of the sources of a kernel in a module of this package, and of the compiler's sources."""
    return _digest(tuple(sorted({*reached(module), *_TOOLS})))


@cache
def reached(module: str) -> frozenset[str]:
    """Return the modules of this package that ``module`` imports, directly or indirectly, and itself."""
    found, left = {module}, [module]
    while left:
        for name in _imported(left.pop()):
            if name not in found:
                found.add(name)
                left.append(name)
    return frozenset(found)


@cache
def _source(module: str) -> bytes:
    return _path(module).read_bytes()


@cache
def _imported(module: str) -> tuple[str, ...]:
    head = _FIRST_DEFINITION.split(_source(module).decode(), maxsplit=1)[0]
    return tuple(name for name in _names(head) if _path(name).exists())


def _path(module: str) -> Path:
    return HERE / f"{module.replace('.', '/')}.py"


def _names(text: str) -> Iterable[str]:
    """Return the modules that imports may name: the module of each import, and each name imported from it."""
    for match in _IMPORT.finditer(text):
        room = match["module"] or ""
        yield room
        for part in match["names"].strip("()").split(","):
            if part.strip():
                yield f"{room}.{part.split()[0]}".strip(".")


@cache
def _digest(modules: tuple[str, ...]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in _OF_OTHER_WINGS:
        digest.update(Path(file).read_bytes())
    for module in modules:
        digest.update(hashlib.blake2b(_source(module), digest_size=16).digest())
    return digest.hexdigest()
