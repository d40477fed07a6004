"""Numba functions that Python calls with arrays, kept in the cache of the models.

Numba's own cache unpickles whatever lies in ``__pycache__`` or ``NUMBA_CACHE_DIR``, and takes code for fresh as long as
the file of the function is the same, though what is inlined from other files has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from sarrus.codegen import cache
from sarrus.kernels.origin import origin


def kept(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function as `numba.njit` does, and keep its compiled code in the cache of the models.

    It is compiled when it is first called with arguments of other types; with a ``signature`` at once, for these types
    alone.
    The code depends on the sources of the kernels and on the file of the function: what it calls lies in these.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(function)
        dispatcher._cache = _Kept(function)  # noqa: SLF001  Numba has no public way
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return dispatcher

    return decorate


class _Kept(_Cache):
    """What Numba asks for the code of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        source = Path(inspect.getfile(function)).read_bytes()
        self._parts = [function.__qualname__, hashlib.sha256(source).hexdigest(), origin()]

    @property
    def cache_path(self) -> str:
        """Return where the code is, for Numba's statistics."""
        return str(cache.directory())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the code for arguments of given types, None if there is none that is sound."""
        target_context.refresh()
        entry = cache.load(self._key(sig, target_context.codegen()))
        return None if entry is None else CompileResult._rebuild(target_context, *pickle.loads(entry.code))  # noqa: SLF001  Numba has no public way

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep the code for arguments of given types."""
        cache.store(self._key(sig, data.codegen), cache.Entry(dumps(data._reduce()), 0, 1))  # noqa: SLF001  Numba has no public way

    def enable(self) -> None:
        """Do nothing: it is always in use."""

    def disable(self) -> None:
        """Do nothing: it is always in use."""

    def flush(self) -> None:
        """Do nothing: `sarrus.codegen.clear_cache` does."""

    def _key(self, signature: Any, codegen: Any) -> str:
        parts = [*self._parts, str(signature), str(codegen.magic_tuple())]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()
