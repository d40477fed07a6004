"""Compiled kernels (Numba): factorisation, constrained solves, projections, integrators. They know no mechanism.

Numba caches each function by its own file alone, and would go on using an old copy of a function inlined from
another file. So the cache beside the sources is emptied whenever any of them has changed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def _discard_stale_cache(folder: Path) -> None:
    """Delete Numba's cache files in ``folder``/__pycache__ unless they belong to the sources as they are now."""
    sources = sorted(folder.glob("*.py"))
    state = "\n".join(
        f"{source.name} {source.stat().st_mtime_ns} {source.stat().st_size}" for source in sources
    )
    cache = folder / "__pycache__"
    mark = cache / "sources.txt"
    with suppress(OSError):  # a folder that cannot be written holds no cache either
        if mark.exists() and mark.read_text() == state:
            return
        for pattern in ("*.nbi", "*.nbc"):
            for file in cache.glob(pattern):
                file.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        mark.write_text(state)


_discard_stale_cache(Path(__file__).parent)
